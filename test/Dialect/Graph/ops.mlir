// RUN: deplo-opt %s | FileCheck %s
// RUN: deplo-opt %s --mlir-print-op-generic | deplo-opt | FileCheck %s
// RUN: deplo-opt %s --emit-bytecode | deplo-opt | FileCheck %s

// Arguments keep their names and strides.
// CHECK-LABEL: func.func @arguments
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32> {graph.name = "x", graph.strides = array<i64: 16, 2>})
func.func @arguments(%x: tensor<4x8xf32> {graph.name = "x", graph.strides = array<i64: 16, 2>}) {
  return
}

// Symbolic sizes have names.
// CHECK-LABEL: func.func @symbolic
// CHECK:         graph.neg %{{.*}} : tensor<?x8xf32, #graph.dims<"batch", "">>
func.func @symbolic(%x: tensor<?x8xf32, #graph.dims<"batch", "">>) -> tensor<?x8xf32, #graph.dims<"batch", "">> {
  %0 = graph.neg %x : tensor<?x8xf32, #graph.dims<"batch", "">>
  return %0 : tensor<?x8xf32, #graph.dims<"batch", "">>
}

// Operators of one operand.
// CHECK-LABEL: func.func @unary
// CHECK:         graph.neg %{{.*}} : tensor<4xf32>
// CHECK:         graph.abs
// CHECK:         graph.exp
// CHECK:         graph.log
// CHECK:         graph.sqrt
// CHECK:         graph.rsqrt
// CHECK:         graph.reciprocal
// CHECK:         graph.sin
// CHECK:         graph.cos
// CHECK:         graph.tanh
// CHECK:         graph.erf
// CHECK:         graph.sigmoid
// CHECK:         graph.relu
// CHECK:         graph.silu
// CHECK:         graph.gelu %{{.*}} : tensor<4xf32>
// CHECK:         graph.gelu_tanh %{{.*}} : tensor<4xf32>
func.func @unary(%x: tensor<4xf32>) -> tensor<4xf32> {
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
  %12 = graph.relu %11 : tensor<4xf32>
  %13 = graph.silu %12 : tensor<4xf32>
  %14 = graph.gelu %13 : tensor<4xf32>
  %15 = graph.gelu_tanh %14 : tensor<4xf32>
  return %15 : tensor<4xf32>
}

// Operators of two operands broadcast.
// CHECK-LABEL: func.func @binary
// CHECK:         %[[A:.*]] = graph.add %{{.*}}, %{{.*}} : (tensor<4x1xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// CHECK:         graph.sub %[[A]], %{{.*}} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// CHECK:         graph.mul
// CHECK:         graph.div
// CHECK:         graph.pow
// CHECK:         graph.maximum
// CHECK:         graph.minimum %{{.*}}, %{{.*}} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
func.func @binary(%x: tensor<4x1xbf16>, %y: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %0 = graph.add %x, %y : (tensor<4x1xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %1 = graph.sub %0, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %2 = graph.mul %1, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %3 = graph.div %2, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %4 = graph.pow %3, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %5 = graph.maximum %4, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %6 = graph.minimum %5, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  return %6 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @cast
// CHECK:         graph.cast %{{.*}} : tensor<4xf32> to tensor<4xf16>
func.func @cast(%x: tensor<4xf32>) -> tensor<4xf16> {
  %0 = graph.cast %x : tensor<4xf32> to tensor<4xf16>
  return %0 : tensor<4xf16>
}

// Reductions remove axes or keep them with size 1.
// CHECK-LABEL: func.func @reductions
// CHECK:         graph.sum %{{.*}} axes [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
// CHECK:         graph.mean %{{.*}} axes [2] keepdims : tensor<2x4x8xf32> -> tensor<2x4x1xf32>
// CHECK:         graph.prod
// CHECK:         graph.amax
// CHECK:         graph.amin
// CHECK:         graph.var %{{.*}} axes [1, 2] correction 1.000000e+00 keepdims : tensor<2x4x8xf32> -> tensor<2x1x1xf32>
func.func @reductions(%x: tensor<2x4x8xf32>) {
  %0 = graph.sum %x axes [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  %1 = graph.mean %x axes [2] keepdims : tensor<2x4x8xf32> -> tensor<2x4x1xf32>
  %2 = graph.prod %x axes [1] : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %3 = graph.amax %x axes [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
  %4 = graph.amin %x axes [0] keepdims : tensor<2x4x8xf32> -> tensor<1x4x8xf32>
  %5 = graph.var %x axes [1, 2] correction 1.000000e+00 keepdims : tensor<2x4x8xf32> -> tensor<2x1x1xf32>
  return
}

// Normalisations over trailing axes, with and without weights.
// CHECK-LABEL: func.func @normalizations
// CHECK:         graph.rms_norm %{{.*}} weight %{{.*}} : tensor<8xf32> rank 1 eps 1.000000e-01 : tensor<2x4x8xf32>
// CHECK:         graph.rms_norm %{{.*}} rank 2 eps 1.000000e-01 : tensor<2x4x8xf32>
// CHECK:         graph.layer_norm %{{.*}} weight %{{.*}} : tensor<8xf32> bias %{{.*}} : tensor<8xf32> rank 1 eps 1.000000e-01 : tensor<2x4x8xf32>
// CHECK:         graph.softmax %{{.*}} axis 2 : tensor<2x4x8xf32>
// CHECK:         graph.log_softmax %{{.*}} axis 0 : tensor<2x4x8xf32>
func.func @normalizations(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) {
  %0 = graph.rms_norm %x weight %w : tensor<8xf32> rank 1 eps 1.000000e-01 : tensor<2x4x8xf32>
  %1 = graph.rms_norm %x rank 2 eps 1.000000e-01 : tensor<2x4x8xf32>
  %2 = graph.layer_norm %x weight %w : tensor<8xf32> bias %w : tensor<8xf32> rank 1 eps 1.000000e-01 : tensor<2x4x8xf32>
  %3 = graph.softmax %x axis 2 : tensor<2x4x8xf32>
  %4 = graph.log_softmax %x axis 0 : tensor<2x4x8xf32>
  return
}

// Scans along an axis, of floats and of integers.
// CHECK-LABEL: func.func @scans
// CHECK:         graph.scan add %{{.*}} axis 1 : tensor<4x8xf32>
// CHECK:         graph.scan max %{{.*}} axis 0 : tensor<4x8xi64>
func.func @scans(%x: tensor<4x8xf32>, %n: tensor<4x8xi64>) {
  %0 = graph.scan add %x axis 1 : tensor<4x8xf32>
  %1 = graph.scan max %n axis 0 : tensor<4x8xi64>
  return
}

// CHECK-LABEL: func.func @views
// CHECK:         graph.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
// CHECK:         graph.permute %{{.*}} by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK:         graph.expand %{{.*}} : tensor<4x8xf32> -> tensor<3x4x8xf32>
// CHECK:         graph.slice %{{.*}} offsets [1, 0] strides [2, 1] : tensor<4x8xf32> -> tensor<2x3xf32>
func.func @views(%x: tensor<4x8xf32>) {
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  %1 = graph.permute %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %2 = graph.expand %x : tensor<4x8xf32> -> tensor<3x4x8xf32>
  %3 = graph.slice %x offsets [1, 0] strides [2, 1] : tensor<4x8xf32> -> tensor<2x3xf32>
  return
}

// Primitives: constants, maps of any number of operands, reductions, index maps.
// CHECK-LABEL: func.func @primitives
// CHECK:         %[[CST:.*]] = graph.constant dense<5.000000e-01> : tensor<4x8xf32>
// CHECK:         %[[MAP:.*]] = graph.map (%a = %{{.*}} : tensor<4x8xf32>, %b = %[[CST]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[S:.*]] = arith.addf %a, %b : f32
// CHECK-NEXT:      graph.yield %[[S]] : f32
// CHECK-NEXT:    }
// CHECK:         graph.map () -> tensor<4xi1> {
// CHECK:         %sum = graph.reduce add %[[MAP]] axes [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK:         %prod = graph.reduce mul
// CHECK:         %max = graph.reduce max
// CHECK:         %min = graph.reduce min
// CHECK:         graph.index_map %sum by #{{.*}} : tensor<4xf32> -> tensor<4x8xf32>
func.func @primitives(%x: tensor<4x8xf32>) {
  %c = graph.constant dense<5.000000e-01> : tensor<4x8xf32>
  %0 = graph.map (%a = %x : tensor<4x8xf32>, %b = %c : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %s = arith.addf %a, %b : f32
    graph.yield %s : f32
  }
  %1 = graph.map () -> tensor<4xi1> {
    %true = arith.constant true
    graph.yield %true : i1
  }
  %2 = graph.reduce add %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %3 = graph.reduce mul %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %4 = graph.reduce max %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %5 = graph.reduce min %0 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %6 = graph.index_map %2 by affine_map<(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4x8xf32>
  return
}

// A group of primitives with two results, and one with none of anything.
// CHECK-LABEL: func.func @fused
// CHECK:         %{{.*}}:2 = graph.fused @double (%[[P:.*]] = %{{.*}} : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {note} {
// CHECK:           %[[D:.*]] = graph.map (%a = %[[P]] : tensor<4xf32>) -> tensor<4xf32> {
// CHECK:           graph.yield %[[D]], %[[D]] : tensor<4xf32>, tensor<4xf32>
// CHECK:         graph.fused @nothing () -> () {
func.func @fused(%x: tensor<4xf32>) {
  %0:2 = graph.fused @double (%p = %x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {note} {
    %d = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %s = arith.addf %a, %a : f32
      graph.yield %s : f32
    }
    graph.yield %d, %d : tensor<4xf32>, tensor<4xf32>
  }
  graph.fused @nothing () -> () {
    graph.yield
  }
  return
}

// Coordinates as numbers.
// CHECK-LABEL: @index
// CHECK:         graph.map () -> tensor<4x8xi32> {
// CHECK:           graph.index 1 : i32
// CHECK:           graph.index 0 : i32
func.func @index() -> tensor<4x8xi32> {
  %0 = graph.map () -> tensor<4x8xi32> {
    %j = graph.index 1 : i32
    %i = graph.index 0 : i32
    %s = arith.addi %i, %j : i32
    graph.yield %s : i32
  }
  return %0 : tensor<4x8xi32>
}

// Unsigned numbers for the caller.
// CHECK-LABEL: @unsigned
// CHECK-SAME:    tensor<4xi8> {graph.unsigned}) -> (tensor<4xi8> {graph.unsigned})
func.func @unsigned(%x: tensor<4xi8> {graph.unsigned}) -> (tensor<4xi8> {graph.unsigned}) {
  return %x : tensor<4xi8>
}

// Names in a region may be those of values outside of it.
// CHECK-LABEL: @shadowed
// CHECK:         graph.map (%a = %{{.*}} : tensor<4xf32>, %b = %{{.*}} : tensor<4xf32>)
func.func @shadowed(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.map (%a = %b : tensor<4xf32>, %b = %a : tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.subf %a, %b : f32
    graph.yield %c : f32
  }
  return %c : tensor<4xf32>
}

// Gathers: guarded sources in turn, index tensors, what to fill with.
// CHECK-LABEL: func.func @gathers
// CHECK:         graph.gather %[[X:.*]] by #{{.*}} where #{{.*}}, %[[X]] by #{{.*}} else 1.000000e+00 : f32 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
// CHECK:         graph.gather %[[X]] by #{{.*}} at %{{.*}} : (tensor<4x8xf32>, tensor<3x8xi64>) -> tensor<3x8xf32>
// CHECK:         graph.gather %{{.*}} by #{{.*}} where #{{.*}} at %{{.*}}, %{{.*}} else true : (tensor<4x8xi1>, tensor<3x8xi64>, tensor<3x8xi64>) -> tensor<3x8xi1>
func.func @gathers(%x: tensor<4x8xf32>, %b: tensor<4x8xi1>, %n: tensor<3x8xi64>) {
  %0 = graph.gather %x by affine_map<(d0, d1) -> (d0 - 1, d1)> where affine_map<(d0, d1) -> (d0 - 1)>, %x by affine_map<(d0, d1) -> (3, d1)> else 1.0 : f32 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
  %1 = graph.gather %x by affine_map<(d0, d1)[s0] -> (s0, d1)> at %n : (tensor<4x8xf32>, tensor<3x8xi64>) -> tensor<3x8xf32>
  %2 = graph.gather %b by affine_map<(d0, d1)[s0, s1] -> (s0, s1)> where affine_map<(d0, d1)[s0, s1] -> (s0 - s1)> at %n, %n else true : (tensor<4x8xi1>, tensor<3x8xi64>, tensor<3x8xi64>) -> tensor<3x8xi1>
  return
}

// A size that is known when the program runs, as a number.
// CHECK-LABEL: func.func @size
// CHECK:           graph.size 1048583 : i64
func.func @size() -> tensor<8xi64> {
  %0 = graph.map () -> tensor<8xi64> {
    %n = graph.size 1048583 : i64
    graph.yield %n : i64
  }
  return %0 : tensor<8xi64>
}

// Sums of products: a matrix product, a window that moves along the rows.
// CHECK-LABEL: func.func @contract
// CHECK:         %product = graph.contract %{{.+}} by #{{.+}}, %{{.+}} by #{{.+}} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
// CHECK:         graph.contract %{{.+}} by #{{.+}}, %{{.+}} by #{{.+}} : (tensor<16xf16>, tensor<3xf16>) -> tensor<14xf32>
func.func @contract(%x: tensor<4x8xf32>, %y: tensor<8x5xf32>, %s: tensor<16xf16>, %w: tensor<3xf16>) -> (tensor<4x5xf32>, tensor<14xf32>) {
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %1 = graph.contract %s by affine_map<(d0, d1) -> (d0 + d1)>, %w by affine_map<(d0, d1) -> (d1)> : (tensor<16xf16>, tensor<3xf16>) -> tensor<14xf32>
  return %0, %1 : tensor<4x5xf32>, tensor<14xf32>
}
