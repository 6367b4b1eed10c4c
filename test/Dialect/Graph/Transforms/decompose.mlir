// RUN: deplo-opt %s --deplo-decompose --canonicalize --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-decompose --canonicalize --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// One map for each pointwise operator; its location names the operator.
// CHECK-LABEL: func.func @silu
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT:    %[[Y:.*]] = graph.map (%a = %[[X]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      %[[NEG:.*]] = arith.negf %a : f32
// CHECK-NEXT:      %[[EXP:.*]] = math.exp %[[NEG]] : f32
// CHECK-NEXT:      %[[DEN:.*]] = arith.addf %[[EXP]], %[[ONE]] : f32
// CHECK-NEXT:      %[[QUOTIENT:.*]] = arith.divf %a, %[[DEN]] fastmath<arcp> : f32
// CHECK-NEXT:      graph.yield %[[QUOTIENT]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
// LOC:         #[[$PLACE:.*]] = loc("model.py":3:7)
// LOC:         loc(fused<"silu">[#[[$PLACE]]])
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.silu %x : tensor<4x8xf32> loc("model.py":3:7)
  return %0 : tensor<4x8xf32>
}

// -----

// Narrow floats compute in f32 and round once; an error in the last bits of e^x
// is lost when they do.
// CHECK-LABEL: func.func @silu_bf16
// CHECK:         %[[A:.*]] = arith.extf %a : bf16 to f32
// CHECK-NOT:     truncf
// CHECK:         math.exp %{{.*}} fastmath<afn> : f32
// CHECK:         %[[QUOTIENT:.*]] = arith.divf %[[A]], %{{.*}} fastmath<arcp> : f32
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[QUOTIENT]] : f32 to bf16
// CHECK-NEXT:    graph.yield %[[R]] : bf16
func.func @silu_bf16(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = graph.silu %x : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// -----

// Each operator rounds: two in a row are no wider than one by one.
// CHECK-LABEL: func.func @rounds_between
// CHECK:         arith.truncf
// CHECK:         arith.extf
// CHECK:         arith.truncf
func.func @rounds_between(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = graph.exp %x : tensor<4xf16>
  %1 = graph.log %0 : tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// Operands of lower rank are read through a broadcast.
// CHECK:       #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK:       #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @broadcast
// CHECK:         %[[A:.*]] = graph.index_map %{{.*}} by #[[$ROW]] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK:         %[[B:.*]] = graph.index_map %{{.*}} by #[[$COLUMN]] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK:         graph.map (%a = %[[A]] : tensor<4x8xf32>, %b = %[[B]] : tensor<4x8xf32>)
// CHECK:           arith.divf %a, %b : f32
func.func @broadcast(%x: tensor<4x1xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.div %x, %y : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// maximum, minimum and relu keep NaN.
// CHECK-LABEL: func.func @nan
// CHECK:         arith.maximumf
// CHECK:         arith.minimumf
// CHECK:         arith.maximumf
func.func @nan(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.maximum %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.minimum %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.relu %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Every other operator of one and two operands, by its scalar operation.
// CHECK-LABEL: func.func @pointwise
// CHECK:         arith.negf
// CHECK:         math.absf
// CHECK:         math.exp
// CHECK:         math.log
// CHECK:         math.sqrt
// CHECK:         math.rsqrt
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00
// CHECK:         arith.divf %[[ONE]], %a
// CHECK:         math.sin
// CHECK:         math.cos
// CHECK:         math.tanh
// CHECK:         math.erf
// CHECK:         %[[E:.*]] = math.exp
// CHECK:         %[[D:.*]] = arith.addf %[[E]]
// CHECK:         arith.divf %{{.*}}, %[[D]]
// CHECK:         arith.addf
// CHECK:         arith.subf
// CHECK:         arith.mulf
// CHECK:         math.powf
func.func @pointwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : tensor<4xf32>
  %1 = graph.abs %0 : tensor<4xf32>
  %2 = graph.exp %1 : tensor<4xf32>
  %3 = graph.log %2 : tensor<4xf32>
  %4 = graph.sqrt %3 : tensor<4xf32>
  %5 = graph.rsqrt %4 : tensor<4xf32>
  %6 = graph.reciprocal %5 : tensor<4xf32>
  %7 = graph.sin %6 : tensor<4xf32>
  %8 = graph.cos %7 : tensor<4xf32>
  %9 = graph.tanh %8 : tensor<4xf32>
  %10 = graph.erf %9 : tensor<4xf32>
  %11 = graph.sigmoid %10 : tensor<4xf32>
  %12 = graph.add %11, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = graph.sub %12, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = graph.mul %13, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %15 = graph.pow %14, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %15 : tensor<4xf32>
}

// -----

// x / 2 * (1 + erf(x / sqrt 2)).
// CHECK-LABEL: func.func @gelu
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG:     %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 0.707106769 : f32
// CHECK:         %[[U:.*]] = arith.mulf %a, %[[SCALE]] : f32
// CHECK:         %[[ERF:.*]] = math.erf %[[U]] : f32
// CHECK:         %[[H:.*]] = arith.mulf %a, %[[HALF]] : f32
// CHECK:         %[[P:.*]] = arith.addf %[[ERF]], %[[ONE]] : f32
// CHECK:         arith.mulf %[[H]], %[[P]] : f32
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// For narrow floats without branches: half of e^(-x^2 / 2) times a polynomial
// of 1 / (1 + p |x|) is what lies beyond |x|.
// CHECK-LABEL: func.func @gelu_bf16
// CHECK:         %[[X:.*]] = arith.extf %a : bf16 to f32
// CHECK:         %[[ABS:.*]] = math.absf %[[X]] : f32
// CHECK:         %[[D:.*]] = math.fma %[[ABS]],
// CHECK:         %[[T:.*]] = arith.divf %{{.*}}, %[[D]] fastmath<afn> : f32
// CHECK-COUNT-4: math.fma %{{.*}}, %[[T]],
// CHECK:         math.exp %{{.*}} fastmath<afn> : f32
// CHECK:         %[[NEGATIVE:.*]] = arith.cmpf olt, %[[X]],
// CHECK:         %[[PHI:.*]] = arith.select %[[NEGATIVE]],
// CHECK:         arith.mulf %[[X]], %[[PHI]] : f32
func.func @gelu_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = graph.gelu %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// The tanh form as a logistic function: x / (1 + e^-2u).
// CHECK-LABEL: func.func @gelu_tanh
// CHECK-DAG:     %[[CUBIC:.*]] = arith.constant 4.471500e-02 : f32
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 1.59576917 : f32
// CHECK:         %[[SQUARE:.*]] = arith.mulf %a, %a : f32
// CHECK:         %[[CUBE:.*]] = arith.mulf %[[SQUARE]], %a : f32
// CHECK:         %[[TERM:.*]] = arith.mulf %[[CUBE]], %[[CUBIC]] : f32
// CHECK:         %[[INNER:.*]] = arith.addf %a, %[[TERM]] : f32
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[INNER]], %[[SCALE]] : f32
// CHECK:         %[[NEG:.*]] = arith.negf %[[SCALED]] : f32
// CHECK:         math.exp %[[NEG]] : f32
// CHECK:         arith.divf %a, %{{.*}} fastmath<arcp> : f32
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.gelu_tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Casts are maps that round: between f16 and bf16 through f32, where both fit.
// CHECK-LABEL: func.func @cast
// CHECK:         %[[W:.*]] = arith.extf %a : f16 to f32
// CHECK:         arith.truncf %[[W]] : f32 to bf16
func.func @cast(%x: tensor<4xf16>) -> tensor<4xbf16> {
  %0 = graph.cast %x : tensor<4xf16> to tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// x * rsqrt(sum(x * x) * 1/n + eps) * w.
// CHECK:       #[[$ROWS:.*]] = affine_map<(d0, d1, d2) -> (0, d1)>
// CHECK:       #[[$COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<1x32x2048xf32>, %[[W:.*]]: tensor<2048xf32>)
// CHECK:         %[[SQUARES:.*]] = graph.map (%a = %[[X]] : tensor<1x32x2048xf32>)
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %a, %a : f32
// CHECK:         %[[SUM:.*]] = graph.reduce add %[[SQUARES]] axes [2] : tensor<1x32x2048xf32> -> tensor<1x32xf32>
// CHECK:         %[[SCALE:.*]] = graph.map (%a = %[[SUM]] : tensor<1x32xf32>)
// CHECK-DAG:       %[[EPS:.*]] = arith.constant 9.99999997E-7 : f32
// CHECK-DAG:       %[[INVERSE:.*]] = arith.constant 4.8828125E-4 : f32
// CHECK:           %[[MEAN:.*]] = arith.mulf %a, %[[INVERSE]] : f32
// CHECK-NEXT:      %[[E:.*]] = arith.addf %[[MEAN]], %[[EPS]] : f32
// CHECK-NEXT:      math.rsqrt %[[E]] : f32
// CHECK:         %[[R:.*]] = graph.index_map %[[SCALE]] by #[[$ROWS]]
// CHECK:         %[[G:.*]] = graph.index_map %[[W]] by #[[$COLUMNS]]
// CHECK:         graph.map (%a = %[[X]] : {{.*}}, %b = %[[R]] : {{.*}}, %c = %[[G]] : {{.*}})
// CHECK-NEXT:      %[[N:.*]] = arith.mulf %a, %b : f32
// CHECK-NEXT:      arith.mulf %[[N]], %c : f32
func.func @rms_norm(%x: tensor<1x32x2048xf32>, %w: tensor<2048xf32>) -> tensor<1x32x2048xf32> {
  %0 = graph.rms_norm %x weight %w : tensor<2048xf32> rank 1 eps 1.0e-06 : tensor<1x32x2048xf32>
  return %0 : tensor<1x32x2048xf32>
}

// -----

// In bf16, everything between is f32; the weight is widened where it is read.
// CHECK-LABEL: func.func @rms_norm_bf16
// CHECK:         graph.map (%a = %arg0 : tensor<4x8xbf16>) -> tensor<4x8xf32> {
// CHECK:         graph.reduce add %{{.*}} axes [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK:         graph.map ({{.*}}, %c = %{{.*}} : tensor<4x8xbf16>) -> tensor<4x8xbf16> {
// CHECK-NEXT:      %[[G:.*]] = arith.extf %c : bf16 to f32
// CHECK-NEXT:      %[[N:.*]] = arith.mulf %a, %b : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[N]], %[[G]] : f32
// CHECK-NEXT:      arith.truncf %[[Y]] : f32 to bf16
func.func @rms_norm_bf16(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %0 = graph.rms_norm %x weight %w : tensor<8xbf16> rank 1 eps 1.0e-06 : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// -----

// The corrected two-pass variance: what the deviations add up to goes out of the
// sum of their squares, which stays at least 0, and out of each deviation.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK:         %[[SUM:.*]] = graph.reduce add %[[X]] axes [1]
// CHECK:         arith.divf %a, %{{.*}} : f32
// CHECK:         %[[DEVIATION:.*]] = graph.map (%a = %[[X]] : {{.*}}, %b = %{{.*}} : {{.*}})
// CHECK-NEXT:      arith.subf %a, %b : f32
// CHECK:         %[[RESIDUE:.*]] = graph.reduce add %[[DEVIATION]] axes [1]
// CHECK:         %[[SQUARED:.*]] = graph.map (%a = %[[DEVIATION]] : {{.*}})
// CHECK-NEXT:      arith.mulf %a, %a : f32
// CHECK:         %[[SQUARES:.*]] = graph.reduce add %[[SQUARED]] axes [1]
// CHECK:         %[[N:.*]] = arith.constant 8.000000e+00 : f32
// CHECK:         %[[R2:.*]] = arith.mulf %b, %b : f32
// CHECK-NEXT:    %[[CORRECTION:.*]] = arith.divf %[[R2]], %[[N]] : f32
// CHECK-NEXT:    %[[DIFFERENCE:.*]] = arith.subf %a, %[[CORRECTION]] : f32
// CHECK-NEXT:    %[[POSITIVE:.*]] = arith.maximumf %[[DIFFERENCE]], %{{.*}} : f32
// CHECK-NEXT:    %[[VARIANCE:.*]] = arith.divf %[[POSITIVE]], %[[N]] : f32
// CHECK-NEXT:    %[[E:.*]] = arith.addf %[[VARIANCE]], %{{.*}} : f32
// CHECK-NEXT:    math.rsqrt %[[E]] : f32
// CHECK:         graph.map (%a = %[[DEVIATION]] : {{.*}}, %b = {{.*}}, %c = {{.*}}, %d = {{.*}}, %e = {{.*}})
// CHECK-NEXT:      %[[CENTERED:.*]] = arith.subf %a, %b : f32
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[CENTERED]], %c : f32
// CHECK-NEXT:      %[[WEIGHTED:.*]] = arith.mulf %[[SCALED]], %d : f32
// CHECK-NEXT:      arith.addf %[[WEIGHTED]], %e : f32
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.layer_norm %x weight %w : tensor<8xf32> bias %b : tensor<8xf32> rank 1 eps 1.0e-05 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The maximum comes off before e^x; each row has one division.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK:         %[[MAX:.*]] = graph.reduce max %[[X]] axes [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK:         %[[M:.*]] = graph.index_map %[[MAX]]
// CHECK:         %[[SHIFTED:.*]] = graph.map (%a = %[[X]] : {{.*}}, %b = %[[M]] : {{.*}})
// CHECK-NEXT:      arith.subf %a, %b : f32
// CHECK:         %[[EXP:.*]] = graph.map (%a = %[[SHIFTED]] : {{.*}})
// CHECK-NEXT:      math.exp %a : f32
// CHECK:         %[[SUM:.*]] = graph.reduce add %[[EXP]] axes [0]
// CHECK:         %[[S:.*]] = graph.index_map %[[SUM]]
// CHECK:         %[[INVERSE:.*]] = graph.map (%a = %[[S]] : tensor<1x8xf32>)
// CHECK:           arith.divf %{{.*}}, %a : f32
// CHECK:         %[[I:.*]] = graph.index_map %[[INVERSE]]
// CHECK:         graph.map (%a = %[[EXP]] : {{.*}}, %b = %[[I]] : {{.*}})
// CHECK-NEXT:      arith.mulf %a, %b : f32
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.softmax %x axis 0 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// x - max - ln sum.
// CHECK-LABEL: func.func @log_softmax
// CHECK:         %[[SHIFTED:.*]] = graph.map
// CHECK-NEXT:      arith.subf %a, %b : f32
// CHECK:         math.exp
// CHECK:         graph.map (%a = %{{.*}} : tensor<4x1xf32>)
// CHECK-NEXT:      math.log %a : f32
// CHECK:         graph.map (%a = %[[SHIFTED]] : {{.*}}, %b = %{{.*}} : {{.*}})
// CHECK-NEXT:      arith.subf %a, %b : f32
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.log_softmax %x axis 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Reductions accumulate in f32; kept axes are a view of the result.
// CHECK-LABEL: func.func @sum_keepdims
// CHECK:         %[[W:.*]] = graph.map (%a = %arg0 : tensor<4x8xf16>) -> tensor<4x8xf32> {
// CHECK:         %[[S:.*]] = graph.reduce add %[[W]] axes [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK:         %[[N:.*]] = graph.map (%a = %[[S]] : tensor<8xf32>) -> tensor<8xf16> {
// CHECK:         %[[R:.*]] = graph.index_map %[[N]] by #{{.*}} : tensor<8xf16> -> tensor<1x8xf16>
// CHECK-NEXT:    return %[[R]]
func.func @sum_keepdims(%x: tensor<4x8xf16>) -> tensor<1x8xf16> {
  %0 = graph.sum %x axes [0] keepdims : tensor<4x8xf16> -> tensor<1x8xf16>
  return %0 : tensor<1x8xf16>
}

// -----

// The monoid of each reduction; a mean divides.
// CHECK-LABEL: func.func @monoids
// CHECK:         graph.reduce mul
// CHECK:         graph.reduce max
// CHECK:         graph.reduce min
// CHECK:         %[[S:.*]] = graph.reduce add
// CHECK:         graph.map (%a = %[[S]] : tensor<4xf32>)
// CHECK-NEXT:      %[[N:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT:      arith.divf %a, %[[N]] : f32
func.func @monoids(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.prod %x axes [1] : tensor<4x3xf32> -> tensor<4xf32>
  %1 = graph.amax %x axes [1] : tensor<4x3xf32> -> tensor<4xf32>
  %2 = graph.amin %x axes [1] : tensor<4x3xf32> -> tensor<4xf32>
  %3 = graph.mean %x axes [1] : tensor<4x3xf32> -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The divisor of a variance is n - correction, never negative.
// CHECK-LABEL: func.func @var
// CHECK:         arith.maximumf
// CHECK-NEXT:    arith.divf %{{.*}}, %[[SEVEN:.*]] : f32
// CHECK:         arith.maximumf
// CHECK-NEXT:    arith.divf %{{.*}}, %{{.*}} : f32
func.func @var(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x1xf32>) {
  %0 = graph.var %x axes [1] correction 1.0 : tensor<4x8xf32> -> tensor<4xf32>
  %1 = graph.var %x axes [1] correction 9.0 keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x1xf32>
}

// -----

// Over nothing: a sum is 0, a mean and a variance are NaN; results without
// elements are constants.
// CHECK-LABEL: func.func @empty
// CHECK-DAG:     %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[NAN:.*]] = graph.constant dense<{{0x7FC00000|0xFFC00000}}> : tensor<4xf32>
// CHECK-DAG:     %[[NOTHING:.*]] = graph.constant dense<> : tensor<4x0xf32>
// CHECK:         return %[[ZERO]], %[[NAN]], %[[NAN]], %[[NOTHING]]
func.func @empty(%x: tensor<4x0xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x0xf32>) {
  %0 = graph.sum %x axes [1] : tensor<4x0xf32> -> tensor<4xf32>
  %1 = graph.mean %x axes [1] : tensor<4x0xf32> -> tensor<4xf32>
  %2 = graph.var %x axes [1] correction 0.0 : tensor<4x0xf32> -> tensor<4xf32>
  %3 = graph.softmax %x axis 1 : tensor<4x0xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x0xf32>
}

// -----

// A gather that reads nothing is a constant; one of two sources loses the empty
// one, and is a view then.
// CHECK-LABEL: func.func @gather_of_nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<0xf32>,
// CHECK-DAG:     %[[FILL:.*]] = graph.constant dense<2.000000e+00> : tensor<3xf32>
// CHECK-DAG:     %[[NOTHING:.*]] = graph.constant dense<> : tensor<0xf32>
// CHECK-DAG:     %[[REST:.*]] = graph.index_map %[[X]]
// CHECK:         return %[[FILL]], %[[NOTHING]], %[[REST]]
func.func @gather_of_nothing(%x: tensor<4xf32>, %e: tensor<0xf32>, %n: tensor<3xi64>) -> (tensor<3xf32>, tensor<0xf32>, tensor<3xf32>) {
  %0 = graph.gather %e by affine_map<(d0)[s0] -> (s0)> at %n else 2.0 : f32 : (tensor<0xf32>, tensor<3xi64>) -> tensor<3xf32>
  %1 = graph.gather %x by affine_map<(d0) -> (d0)> : (tensor<4xf32>) -> tensor<0xf32>
  %2 = graph.gather %e by affine_map<(d0)[s0] -> (s0)> where affine_map<(d0)[s0] -> (s0)>, %x by affine_map<(d0)[s0] -> (d0)> at %n : (tensor<0xf32>, tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<0xf32>, tensor<3xf32>
}

// -----

// Views are index maps.
// CHECK-DAG:   #[[$PERMUTE:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG:   #[[$MERGE:.*]] = affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>
// CHECK-DAG:   #[[$DIVIDE:.*]] = affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2)>
// CHECK-DAG:   #[[$EXPAND:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[$SLICE:.*]] = affine_map<(d0, d1) -> (d0 * 2 + 1, d1)>
// CHECK-LABEL: func.func @views
// CHECK-DAG:     graph.index_map %arg0 by #[[$PERMUTE]] : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK-DAG:     graph.index_map %arg0 by #[[$MERGE]] : tensor<4x8xf32> -> tensor<32xf32>
// CHECK-DAG:     graph.index_map %arg0 by #[[$DIVIDE]] : tensor<4x8xf32> -> tensor<2x2x8xf32>
// CHECK-DAG:     graph.index_map %arg0 by #[[$EXPAND]] : tensor<4x8xf32> -> tensor<3x4x8xf32>
// CHECK-DAG:     graph.index_map %arg0 by #[[$SLICE]] : tensor<4x8xf32> -> tensor<2x8xf32>
func.func @views(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<32xf32>, tensor<2x2x8xf32>, tensor<3x4x8xf32>, tensor<2x8xf32>) {
  %0 = graph.permute %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = graph.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %2 = graph.reshape %x : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %3 = graph.expand %x : tensor<4x8xf32> -> tensor<3x4x8xf32>
  %4 = graph.slice %x offsets [1, 0] strides [2, 1] : tensor<4x8xf32> -> tensor<2x8xf32>
  return %0, %1, %2, %3, %4 : tensor<8x4xf32>, tensor<32xf32>, tensor<2x2x8xf32>, tensor<3x4x8xf32>, tensor<2x8xf32>
}
