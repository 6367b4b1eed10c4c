// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(deplo-linalg-to-graph))' --verify-diagnostics

func.func @integers(%x: tensor<4x8xi8>, %y: tensor<8x4xi8>, %z: tensor<4x4xi32>) -> tensor<4x4xi32> {
  // expected-error @below {{'linalg.matmul' op is a contraction of 'tensor<4x8xi8>' and 'tensor<8x4xi8>', expected floats of one type; leave it to a function that deplo isn't given}}
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xi8>, tensor<8x4xi8>) outs(%z : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}

// -----

func.func @symbolic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{'math.exp' op has 'tensor<?xf32>', expected a tensor of fixed sizes}}
  %0 = math.exp %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @f64(%x: tensor<8xf64>) -> tensor<8xf64> {
  // expected-error @below {{'math.exp' op has 'tensor<8xf64>', expected elements f16, bf16, f32, i1, i8, i32 or i64}}
  %0 = math.exp %x : tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

// maxnumf ignores NaN, which the monoid max doesn't.
func.func @monoid(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'linalg.reduce' op result 0 is not reduced by one addf, mulf, maximumf, minimumf, addi, muli, maxsi or minsi of the accumulator and a term}}
  %0 = linalg.reduce {arith.maxnumf} ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}

// -----

// A term that depends on the accumulator is a scan in disguise.
func.func @accumulator(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'linalg.generic' op result 0 is not reduced by one addf}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %1 = arith.mulf %a, %acc : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @scalar_argument(%s: f32, %e: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'linalg.fill' op operand 0 is a scalar that is not a constant, pass it as a tensor}}
  %0 = linalg.fill ins(%s : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @splat_argument(%s: f32) -> tensor<8xf32> {
  // expected-error @below {{'tensor.splat' op fills with a scalar that is not a constant, pass it as a tensor of rank 0}}
  %0 = tensor.splat %s : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @select_scalar(%c: i1, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'arith.select' op operand 0 is a scalar that is not a constant, pass it as a tensor}}
  %0 = arith.select %c, %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @outside(%x: tensor<8xf32>, %s: f32) -> tensor<8xf32> {
  // expected-error @below {{'linalg.map' op region uses a value from outside that is not a constant, pass it as an operand}}
  %0 = linalg.map ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) (%a: f32, %o: f32) {
    %1 = arith.addf %a, %s : f32
    linalg.yield %1 : f32
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @branch(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.map ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) (%a: f32, %o: f32) {
    %c = arith.cmpf olt, %a, %zero : f32
    // expected-error @below {{'scf.if' op is not arith or math on scalars with one result, which is all that the region of graph.map holds}}
    %1 = scf.if %c -> f32 {
      scf.yield %zero : f32
    } else {
      scf.yield %a : f32
    }
    linalg.yield %1 : f32
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @offset(%x: tensor<8xf32>, %i: index) -> tensor<4xf32> {
  // expected-error @below {{'tensor.extract_slice' op has offsets or strides that are not constants}}
  %0 = tensor.extract_slice %x[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @buffers(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{'linalg.exp' op is on memrefs, expected tensors}}
  linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  %e = tensor.empty() : tensor<8xf32>
  return
}

// -----

func.func @other(%x: tensor<8xf32>, %i: index) -> f32 {
  // expected-error @below {{'tensor.extract' op has no counterpart in the graph dialect; leave it to a function that deplo isn't given}}
  %0 = tensor.extract %x[%i] : tensor<8xf32>
  return %0 : f32
}

// -----

// expected-error @below {{'func.func' op has branches, expected one block to convert to graph}}
func.func @blocks(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32>
  cf.cond_br %c, ^a, ^b
^a:
  return %0 : tensor<8xf32>
^b:
  return %x : tensor<8xf32>
}

// -----

func.func @pad_with_coordinates(%x: tensor<8xi64>) -> tensor<9xi64> {
  // expected-error @below {{'tensor.pad' op pads with something other than a constant}}
  %0 = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    %1 = arith.index_cast %i : index to i64
    tensor.yield %1 : i64
  } : tensor<8xi64> to tensor<9xi64>
  return %0 : tensor<9xi64>
}

// -----

func.func @pad_by_an_argument(%x: tensor<8xf32>, %n: index, %m: index) -> tensor<12xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' op has a padding whose size is not a constant}}
  %0 = tensor.pad %x low[%n] high[%m] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<12xf32>
  return %0 : tensor<12xf32>
}

// -----

func.func @insert_at(%x: tensor<3xf32>, %y: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  // expected-error @below {{'tensor.insert_slice' op has offsets that are not constants}}
  %0 = tensor.insert_slice %x into %y[%i] [3] [1] : tensor<3xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @insert_strided(%x: tensor<3xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tensor.insert_slice' op has strides other than 1}}
  %0 = tensor.insert_slice %x into %y[0] [3] [2] : tensor<3xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}
