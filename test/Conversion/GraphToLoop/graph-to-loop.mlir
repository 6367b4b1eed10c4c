// RUN: deplo-opt %s --split-input-file --deplo-graph-to-loop | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-graph-to-loop --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-graph-to-loop -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// RMSNorm: a parallel loop over rows, the sum of squares, the row's scale once,
// and the inner loop. The plan launches the kernel; buffers keep their names.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<1x32x2048xf32> {graph.name = "input"}, %[[W:.*]]: memref<2048xf32> {graph.name = "weight"}, %[[Y:.*]]: memref<1x32x2048xf32> {loop.result}) {
// CHECK-NEXT:    loop.launch @rms_norm_2048(%[[X]], %[[W]], %[[Y]]) : memref<1x32x2048xf32>, memref<2048xf32>, memref<1x32x2048xf32>
// CHECK-NEXT:    return
// CHECK:       loop.kernel @rms_norm_2048(%input: memref<1x32x2048xf32>, %weight: memref<2048xf32>, %y: memref<1x32x2048xf32>) {
// CHECK-DAG:     %[[EPS:.*]] = arith.constant 9.99999997E-7 : f32
// CHECK-DAG:     %[[INVERSE:.*]] = arith.constant 4.8828125E-4 : f32
// CHECK:         loop.for %i = 0 to 32 {
// CHECK-NEXT:      %[[SS:.*]] = loop.reduce add %k = 0 to 2048 : f32 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %input[0, %i, %k] : memref<1x32x2048xf32>
// CHECK-NEXT:        %[[B:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT:        loop.yield %[[B]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[SS]], %[[INVERSE]] : f32
// CHECK-NEXT:      %[[E:.*]] = arith.addf %[[M]], %[[EPS]] : f32
// CHECK-NEXT:      %[[R:.*]] = math.rsqrt %[[E]] : f32
// CHECK-NEXT:      loop.for %j = 0 to 2048 {
// CHECK-NEXT:        %[[C:.*]] = loop.load %input[0, %i, %j] : memref<1x32x2048xf32>
// CHECK-NEXT:        %[[G:.*]] = loop.load %weight[%j] : memref<2048xf32>
// CHECK-NEXT:        %[[S:.*]] = arith.mulf %[[C]], %[[R]] : f32
// CHECK-NEXT:        %[[O:.*]] = arith.mulf %[[S]], %[[G]] : f32
// CHECK-NEXT:        loop.store %[[O]], %y[0, %i, %j] : memref<1x32x2048xf32>
// REMARK: [Analysis] Kernel | Category:deplo-graph-to-loop | Function=rms_norm_2048 | Remark="@rms_norm_2048: parallel loops [32], 1 reductions, 3 buffers, 0 accesses through a view"
func.func @main(%x: tensor<1x32x2048xf32> {graph.name = "input"}, %w: tensor<2048xf32> {graph.name = "weight"}) -> tensor<1x32x2048xf32> {
  %0 = graph.fused @rms_norm_2048 (%p = %x : tensor<1x32x2048xf32>, %q = %w : tensor<2048xf32>) -> (tensor<1x32x2048xf32>) {
    %1 = graph.map (%a = %p : tensor<1x32x2048xf32>) -> tensor<1x32x2048xf32> {
      %b = arith.mulf %a, %a : f32
      graph.yield %b : f32
    }
    %2 = graph.reduce add %1 axes [2] : tensor<1x32x2048xf32> -> tensor<1x32xf32>
    %3 = graph.map (%a = %2 : tensor<1x32xf32>) -> tensor<1x32xf32> {
      %inverse = arith.constant 4.8828125E-4 : f32
      %eps = arith.constant 9.99999997E-7 : f32
      %m = arith.mulf %a, %inverse : f32
      %e = arith.addf %m, %eps : f32
      %r = math.rsqrt %e : f32
      graph.yield %r : f32
    }
    %4 = graph.index_map %3 by affine_map<(d0, d1, d2) -> (0, d1)> : tensor<1x32xf32> -> tensor<1x32x2048xf32>
    %5 = graph.index_map %q by affine_map<(d0, d1, d2) -> (d2)> : tensor<2048xf32> -> tensor<1x32x2048xf32>
    %6 = graph.map (%a = %p : tensor<1x32x2048xf32>, %b = %4 : tensor<1x32x2048xf32>, %c = %5 : tensor<1x32x2048xf32>) -> tensor<1x32x2048xf32> {
      %s = arith.mulf %a, %b : f32
      %o = arith.mulf %s, %c : f32
      graph.yield %o : f32
    }
    graph.yield %6 : tensor<1x32x2048xf32>
  }
  return %0 : tensor<1x32x2048xf32>
}

// -----

// Axes that always run together are one loop, in a view of each buffer.
// CHECK-LABEL: func.func @merged
// CHECK-SAME:    (%[[X:.*]]: memref<4x8x16xf32>, %[[Y:.*]]: memref<4x8x16xf32> {loop.result})
// CHECK-NEXT:    %[[XV:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1, 2]] : memref<4x8x16xf32> into memref<512xf32>
// CHECK-NEXT:    %[[YV:.*]] = memref.collapse_shape %[[Y]] {{\[\[}}0, 1, 2]] : memref<4x8x16xf32> into memref<512xf32>
// CHECK-NEXT:    loop.launch @k(%[[XV]], %[[YV]])
// CHECK:       loop.kernel @k
// CHECK-NEXT:    loop.for %i = 0 to 512 {
// CHECK-NEXT:      loop.load %x[%i] : memref<512xf32>
// REMARK: Remark="@k: parallel loops [512], 0 reductions, 2 buffers, 2 accesses through a view"
func.func @merged(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %0 = graph.fused @k (%p = %x : tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>) {
    %1 = graph.map (%a = %p : tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    graph.yield %1 : tensor<4x8x16xf32>
  }
  return %0 : tensor<4x8x16xf32>
}

// -----

// Kept axes merge, reduced axes merge, one of each kind does not.
// CHECK-LABEL: func.func @merged_reduction
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] : memref<2x3x4x5xf32> into memref<6x20xf32>
// CHECK:       loop.kernel @k(%x: memref<6x20xf32>, %y: memref<6xf32>)
// CHECK-NEXT:    loop.for %i = 0 to 6 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce max %k = 0 to 20 : f32 {
// CHECK:           loop.store %[[S]], %y[%i] : memref<6xf32>
func.func @merged_reduction(%x: tensor<2x3x4x5xf32>) -> tensor<2x3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<2x3x4x5xf32>) -> (tensor<2x3xf32>) {
    %1 = graph.reduce max %p axes [2, 3] : tensor<2x3x4x5xf32> -> tensor<2x3xf32>
    graph.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// -----

// Reduced axes with a kept one between them are two loops.
// CHECK-LABEL: func.func @apart(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %k = 0 to 2 : f32 {
// CHECK-NEXT:        %[[T:.*]] = loop.reduce add %[[K:.*]] = 0 to 4 : f32 {
// CHECK-NEXT:          %[[A:.*]] = loop.load %x[%k, %i, %[[K]]] : memref<2x3x4xf32>
// CHECK-NEXT:          loop.yield %[[A]] : f32
// CHECK:             loop.yield %[[T]] : f32
// CHECK:           loop.store %[[S]], %y[%i]
func.func @apart(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<2x3x4xf32>) -> (tensor<3xf32>) {
    %1 = graph.reduce add %p axes [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
    graph.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

// A reduction to one element has no parallel loop.
// CHECK-LABEL: func.func @full(
// CHECK:       loop.kernel @k
// CHECK-NEXT:    %[[S:.*]] = loop.reduce add %k = 0 to 12 : f32 {
// CHECK:         loop.store %[[S]], %y[] : memref<f32>
func.func @full(%x: tensor<3x4xf32>) -> tensor<f32> {
  %0 = graph.fused @k (%p = %x : tensor<3x4xf32>) -> (tensor<f32>) {
    %1 = graph.reduce add %p axes [0, 1] : tensor<3x4xf32> -> tensor<f32>
    graph.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// bf16 accumulates in f32 and is rounded once.
// CHECK-LABEL: func.func @narrow(
// CHECK:       loop.kernel @k
// CHECK:         %[[S:.*]] = loop.reduce add %k = 0 to 4 : f32 {
// CHECK-NEXT:      %[[A:.*]] = loop.load %x[%i, %k] : memref<3x4xbf16>
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT:      loop.yield %[[W]] : f32
// CHECK:         %[[R:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT:    loop.store %[[R]], %y[%i] : memref<3xbf16>
func.func @narrow(%x: tensor<3x4xbf16>) -> tensor<3xbf16> {
  %0 = graph.fused @k (%p = %x : tensor<3x4xbf16>) -> (tensor<3xbf16>) {
    %1 = graph.reduce add %p axes [1] : tensor<3x4xbf16> -> tensor<3xbf16>
    graph.yield %1 : tensor<3xbf16>
  }
  return %0 : tensor<3xbf16>
}

// -----

// Index maps become coordinates: a transpose, a slice, a broadcast.
// CHECK-LABEL: func.func @index_maps(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 4 {
// CHECK-NEXT:      loop.for %j = 0 to 3 {
// CHECK-NEXT:        %{{.*}} = loop.load %x[%j, %i] : memref<3x4xf32>
// CHECK-NEXT:        %{{.*}} = loop.load %{{.*}}[%i * 2 + 1, %j + 2] : memref<9x5xf32>
// CHECK-NEXT:        %{{.*}} = loop.load %{{.*}}[%j] : memref<3xf32>
func.func @index_maps(%x: tensor<3x4xf32>, %s: tensor<9x5xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<3x4xf32>, %q = %s : tensor<9x5xf32>, %r = %b : tensor<3xf32>) -> (tensor<4x3xf32>) {
    %1 = graph.index_map %p by affine_map<(d0, d1) -> (d1, d0)> : tensor<3x4xf32> -> tensor<4x3xf32>
    %2 = graph.index_map %q by affine_map<(d0, d1) -> (d0 * 2 + 1, d1 + 2)> : tensor<9x5xf32> -> tensor<4x3xf32>
    %3 = graph.index_map %r by affine_map<(d0, d1) -> (d1)> : tensor<3xf32> -> tensor<4x3xf32>
    %4 = graph.map (%a = %1 : tensor<4x3xf32>, %b2 = %2 : tensor<4x3xf32>, %c = %3 : tensor<4x3xf32>) -> tensor<4x3xf32> {
      %d = arith.addf %a, %b2 : f32
      %e = arith.addf %d, %c : f32
      graph.yield %e : f32
    }
    graph.yield %4 : tensor<4x3xf32>
  }
  return %0 : tensor<4x3xf32>
}

// -----

// A transpose inside a kernel costs nothing: loops are those of the last result.
// CHECK-LABEL: func.func @transposed(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK-NEXT:      loop.for %j = 0 to 4 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %x[%i, %j] : memref<3x4xf32>
// CHECK-NEXT:        %[[E:.*]] = math.exp %[[A]] : f32
// CHECK-NEXT:        loop.store %[[E]], %y[%j, %i] : memref<4x3xf32>
// CHECK-NEXT:        loop.store %[[E]], %y_0[%i, %j] : memref<3x4xf32>
func.func @transposed(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %0:2 = graph.fused @k (%p = %x : tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
    %1 = graph.map (%a = %p : tensor<3x4xf32>) -> tensor<3x4xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    %2 = graph.index_map %1 by affine_map<(d0, d1) -> (d1, d0)> : tensor<3x4xf32> -> tensor<4x3xf32>
    %3 = graph.index_map %2 by affine_map<(d0, d1) -> (d1, d0)> : tensor<4x3xf32> -> tensor<3x4xf32>
    graph.yield %2, %3 : tensor<4x3xf32>, tensor<3x4xf32>
  }
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<3x4xf32>
}

// -----

// A reshape is another view of a buffer, where the loops do not divide, ...
// CHECK-LABEL: func.func @reshape
// CHECK-SAME:    (%[[X:.*]]: memref<4x6xf32>, %[[Y:.*]]: memref<8x3xf32> {loop.result})
// CHECK-DAG:     %[[XV:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1]] : memref<4x6xf32> into memref<24xf32>
// CHECK-DAG:     %[[YV:.*]] = memref.collapse_shape %[[Y]] {{\[\[}}0, 1]] : memref<8x3xf32> into memref<24xf32>
// CHECK:         loop.launch @k(%[[XV]], %[[YV]])
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<4x6xf32>) -> (tensor<8x3xf32>) {
    %1 = graph.index_map %p by affine_map<(d0, d1) -> ((d0 * 3 + d1) floordiv 6, (d0 * 3 + d1) mod 6)> : tensor<4x6xf32> -> tensor<8x3xf32>
    graph.yield %1 : tensor<8x3xf32>
  }
  return %0 : tensor<8x3xf32>
}

// -----

// ... and divides a loop where it has to.
// CHECK-LABEL: func.func @divide
// CHECK-SAME:    (%[[X:.*]]: memref<12xf32>, %[[B:.*]]: memref<3xf32>, %[[Y:.*]]: memref<12xf32> {loop.result})
// CHECK-DAG:     %[[XV:.*]] = memref.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [3, 4] : memref<12xf32> into memref<3x4xf32>
// CHECK-DAG:     %[[YV:.*]] = memref.expand_shape %[[Y]] {{\[\[}}0, 1]] output_shape [3, 4] : memref<12xf32> into memref<3x4xf32>
// CHECK:         loop.launch @k(%[[XV]], %[[B]], %[[YV]])
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK-NEXT:      loop.for %j = 0 to 4 {
// CHECK:             loop.load %{{.*}}[%i] : memref<3xf32>
func.func @divide(%x: tensor<12xf32>, %b: tensor<3xf32>) -> tensor<12xf32> {
  %0 = graph.fused @k (%p = %x : tensor<12xf32>, %q = %b : tensor<3xf32>) -> (tensor<12xf32>) {
    %1 = graph.index_map %q by affine_map<(d0) -> (d0 floordiv 4)> : tensor<3xf32> -> tensor<12xf32>
    %2 = graph.map (%a = %p : tensor<12xf32>, %c = %1 : tensor<12xf32>) -> tensor<12xf32> {
      %d = arith.addf %a, %c : f32
      graph.yield %d : f32
    }
    graph.yield %2 : tensor<12xf32>
  }
  return %0 : tensor<12xf32>
}

// -----

// Strided arguments are strided buffers; their loops do not merge.
// CHECK-LABEL: func.func @strided
// CHECK-SAME:    (%[[X:.*]]: memref<4x8xf32, strided<[16, 1]>> {graph.name = "x"}, %[[Y:.*]]: memref<4x8xf32> {loop.result})
// CHECK-NEXT:    loop.launch @k(%[[X]], %[[Y]])
func.func @strided(%x: tensor<4x8xf32> {graph.name = "x", graph.strides = array<i64: 16, 1>}) -> tensor<4x8xf32> {
  %0 = graph.fused @k (%p = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %1 = graph.map (%a = %p : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    graph.yield %1 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

// What one kernel hands to another is a temporary; a result that another kernel
// reads is read where it is.
// CHECK-LABEL: func.func @two_kernels
// CHECK-SAME:    (%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32> {loop.result}, %[[Z:.*]]: memref<4xf32> {loop.result})
// CHECK-NEXT:    %[[T:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT:    loop.launch @first(%[[X]], %[[T]])
// CHECK-NEXT:    loop.launch @second(%[[T]], %[[Y]])
// CHECK-NEXT:    loop.launch @first_0(%[[Y]], %[[Z]])
// CHECK:       loop.kernel @first(%x: memref<4xf32>, %t: memref<4xf32>)
// CHECK:       loop.kernel @second(%t: memref<4xf32>, %y: memref<4xf32>)
// CHECK:       loop.kernel @first_0(%y: memref<4xf32>, %y_0: memref<4xf32>)
func.func @two_kernels(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.fused @first (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %3 = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    graph.yield %3 : tensor<4xf32>
  }
  %1 = graph.fused @second (%p = %0 : tensor<4xf32>) -> (tensor<4xf32>) {
    %3 = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %b = math.sqrt %a : f32
      graph.yield %b : f32
    }
    graph.yield %3 : tensor<4xf32>
  }
  %2 = graph.fused @first (%p = %1 : tensor<4xf32>) -> (tensor<4xf32>) {
    %3 = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %b = math.sqrt %a : f32
      graph.yield %b : f32
    }
    graph.yield %3 : tensor<4xf32>
  }
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A group may yield an argument, a constant and the same value twice.
// CHECK-LABEL: func.func @yields(
// CHECK:       loop.kernel @k(%x: memref<4xf32>, %y: memref<4xf32>, %y_0: memref<4xf32>, %y_1: memref<4xf32>, %y_2: memref<4xf32>)
// CHECK:         %[[C:.*]] = arith.constant 1.000000e+00 : f32
// CHECK:           %[[A:.*]] = loop.load %x[%i]
// CHECK:           %[[E:.*]] = math.exp %[[A]]
// CHECK-DAG:       loop.store %[[A]], %y[%i]
// CHECK-DAG:       loop.store %[[C]], %y_0[%i]
// CHECK-DAG:       loop.store %[[E]], %y_1[%i]
// CHECK-DAG:       loop.store %[[E]], %y_2[%i]
func.func @yields(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:4 = graph.fused @k (%p = %x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = graph.constant dense<1.0> : tensor<4xf32>
    %1 = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    graph.yield %p, %c, %1, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What simplification left unconnected shares loops where it reads alike: a copy,
// a map and a reduction of one argument.
// CHECK-LABEL: func.func @parts(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %k = 0 to 4
// CHECK:           loop.store %[[S]], %{{.*}}[%i] : memref<3xf32>
// CHECK-NEXT:      loop.for %j = 0 to 4 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %x[%i, %j] : memref<3x4xf32>
// CHECK-DAG:         loop.store %[[A]], %{{.*}}[%i, %j] : memref<3x4xf32>
// CHECK-DAG:         %[[E:.*]] = math.exp %[[A]] : f32
// CHECK-DAG:         loop.store %[[E]], %{{.*}}[%i, %j] : memref<3x4xf32>
func.func @parts(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>) {
  %0:3 = graph.fused @k (%p = %x : tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>) {
    %1 = graph.reduce add %p axes [1] : tensor<3x4xf32> -> tensor<3xf32>
    %2 = graph.map (%a = %p : tensor<3x4xf32>) -> tensor<3x4xf32> {
      %b = math.exp %a : f32
      graph.yield %b : f32
    }
    graph.yield %p, %1, %2 : tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>
}

// -----

// A load that inner loops do not move stands outside of them.
// CHECK-LABEL: func.func @hoisted(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK-NEXT:      %[[B:.*]] = loop.load %{{.*}}[%i] : memref<3xf32>
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %k = 0 to 4 : f32 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %x[%i, %k] : memref<3x4xf32>
// CHECK-NEXT:        arith.mulf %[[A]], %[[B]] : f32
func.func @hoisted(%x: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.fused @k (%p = %x : tensor<3x4xf32>, %q = %b : tensor<3xf32>) -> (tensor<3xf32>) {
    %1 = graph.index_map %q by affine_map<(d0, d1) -> (d0)> : tensor<3xf32> -> tensor<3x4xf32>
    %2 = graph.map (%a = %p : tensor<3x4xf32>, %c = %1 : tensor<3x4xf32>) -> tensor<3x4xf32> {
      %d = arith.mulf %a, %c : f32
      graph.yield %d : f32
    }
    %3 = graph.reduce add %2 axes [1] : tensor<3x4xf32> -> tensor<3xf32>
    graph.yield %3 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

// Results with the same inner loops share them.
// CHECK-LABEL: func.func @shared_loops(
// CHECK:       loop.kernel @k
// CHECK:         loop.for %i = 0 to 3 {
// CHECK:           loop.reduce max
// CHECK:           loop.for %j = 0 to 4 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %x[%i, %j] : memref<3x4xf32>
// CHECK-NEXT:        %[[D:.*]] = arith.subf %[[A]], %{{.*}} : f32
// CHECK-NEXT:        %[[E:.*]] = math.exp %[[D]] : f32
// CHECK-NEXT:        loop.store %[[D]], %y[%i, %j] : memref<3x4xf32>
// CHECK-NEXT:        loop.store %[[E]], %y_0[%i, %j] : memref<3x4xf32>
func.func @shared_loops(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0:2 = graph.fused @k (%p = %x : tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
    %m = graph.reduce max %p axes [1] : tensor<3x4xf32> -> tensor<3xf32>
    %1 = graph.index_map %m by affine_map<(d0, d1) -> (d0)> : tensor<3xf32> -> tensor<3x4xf32>
    %2 = graph.map (%a = %p : tensor<3x4xf32>, %c = %1 : tensor<3x4xf32>) -> tensor<3x4xf32> {
      %d = arith.subf %a, %c : f32
      graph.yield %d : f32
    }
    %3 = graph.map (%a = %2 : tensor<3x4xf32>) -> tensor<3x4xf32> {
      %d = math.exp %a : f32
      graph.yield %d : f32
    }
    graph.yield %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>
  }
  return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// Integers reduce as they are; a result without elements needs no kernel.
// CHECK-LABEL: func.func @integers
// CHECK-SAME:    (%{{.*}}: memref<4xi32>, %{{.*}}: memref<i32> {loop.result}, %{{.*}}: memref<0xf32> {loop.result})
// CHECK:       loop.kernel @k
// CHECK-NEXT:    loop.reduce min %k = 0 to 4 : i32 {
func.func @integers(%x: tensor<4xi32>) -> (tensor<i32>, tensor<0xf32>) {
  %c = graph.constant dense<> : tensor<0xf32>
  %0 = graph.fused @k (%p = %x : tensor<4xi32>) -> (tensor<i32>) {
    %1 = graph.reduce min %p axes [0] : tensor<4xi32> -> tensor<i32>
    graph.yield %1 : tensor<i32>
  }
  return %0, %c : tensor<i32>, tensor<0xf32>
}

// -----

// Functions that are launch plans already stay.
// CHECK-LABEL: func.func @plan(%arg0: memref<4xf32>)
func.func @plan(%x: memref<4xf32>) {
  return
}

// -----

// A bool is a byte in memory, and callers are told.
// CHECK-LABEL: func.func @bools
// CHECK-SAME:    (%{{.*}}: memref<4x8xi8> {loop.dtype = "bool"}, %{{.*}}: memref<4xi8> {loop.dtype = "u8"}, %{{.*}}: memref<4xi8> {loop.dtype = "bool", loop.result})
// CHECK:       loop.kernel @k
// CHECK:         %[[ANY:.*]] = loop.reduce max %k = 0 to 8 : i32 {
// CHECK-NEXT:      %[[BYTE:.*]] = loop.load
// CHECK-NEXT:      %[[BIT:.*]] = arith.trunci %[[BYTE]] : i8 to i1
// CHECK-NEXT:      %[[NUMBER:.*]] = arith.extui %[[BIT]] : i1 to i32
// CHECK-NEXT:      loop.yield %[[NUMBER]] : i32
// CHECK:         %[[RESULT:.*]] = arith.trunci %[[ANY]] : i32 to i1
// CHECK-NEXT:    %[[STORED:.*]] = arith.extui %[[RESULT]] : i1 to i8
// CHECK-NEXT:    loop.store %[[STORED]]
func.func @bools(%x: tensor<4x8xi1>, %u: tensor<4xi8> {graph.unsigned}) -> tensor<4xi1> {
  %0 = graph.fused @k (%p = %x : tensor<4x8xi1>) -> (tensor<4xi1>) {
    %1 = graph.reduce max %p axes [1] : tensor<4x8xi1> -> tensor<4xi1>
    graph.yield %1 : tensor<4xi1>
  }
  return %0 : tensor<4xi1>
}

// -----

// Coordinates as numbers: axes that loops count through together are one loop.
// CHECK-LABEL: loop.kernel @coordinates
// CHECK:         loop.for %i = 0 to 6
// CHECK:           loop.for %j = 0 to 20
// CHECK:             %[[J:.*]] = arith.index_cast %j : index to i64
func.func @coordinates(%x: tensor<2x3x4x5xi64>) -> tensor<2x3x20xi64> {
  %0 = graph.fused @coordinates (%p = %x : tensor<2x3x4x5xi64>) -> (tensor<2x3x20xi64>) {
    %1 = graph.index_map %p by affine_map<(d0, d1, d2) -> (d0, d1, d2 floordiv 5, d2 mod 5)> : tensor<2x3x4x5xi64> -> tensor<2x3x20xi64>
    %2 = graph.map (%a = %1 : tensor<2x3x20xi64>) -> tensor<2x3x20xi64> {
      %j = graph.index 2 : i64
      %s = arith.addi %a, %j : i64
      graph.yield %s : i64
    }
    graph.yield %2 : tensor<2x3x20xi64>
  }
  return %0 : tensor<2x3x20xi64>
}

// -----

// A gather: the last source first, each with the value of those after it where
// its guard does not hold. The guard of the first source always holds or not by
// the row alone.
// CHECK-LABEL: loop.kernel @cat
// CHECK:         loop.for %i = 0 to 7 {
// CHECK:           loop.for %j = 0 to 8 {
// CHECK:             %[[LOW:.+]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i32
// CHECK:             %[[B:.+]] = loop.load %x_0[%i - 4, %j] if %[[LOW]] else %{{.*}} : memref<3x8xf32>
// CHECK:             %[[HIGH:.+]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i32
// CHECK:             %[[A:.+]] = loop.load %x[%i, %j] if %[[HIGH]] else %[[B]] : memref<4x8xf32>
// CHECK:             loop.store %[[A]], %y[%i, %j]
func.func @cat(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) -> tensor<7x8xf32> {
  %0 = graph.fused @cat (%p = %a : tensor<4x8xf32>, %q = %b : tensor<3x8xf32>) -> (tensor<7x8xf32>) {
    %1 = graph.gather %p by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d0)>, %q by affine_map<(d0, d1) -> (d0 - 4, d1)> where affine_map<(d0, d1) -> (d0 - 4)> : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<7x8xf32>
    graph.yield %1 : tensor<7x8xf32>
  }
  return %0 : tensor<7x8xf32>
}

// -----

// An index is loaded once for each row; out of range, the row is zero.
// CHECK-LABEL: loop.kernel @rows
// CHECK:             %[[N:.+]] = loop.load %x_0[%i] : memref<4xi64>
// CHECK:             %[[I:.+]] = arith.index_cast %[[N]] : i64 to index
// CHECK:             %[[IN:.+]] = arith.andi
// CHECK:             loop.load %x[%[[I]], %j] if %[[IN]] else %{{.*}} : memref<100x8xf32>
func.func @rows(%w: tensor<100x8xf32>, %n: tensor<4xi64>) -> tensor<4x8xf32> {
  %0 = graph.fused @rows (%p = %w : tensor<100x8xf32>, %q = %n : tensor<4xi64>) -> (tensor<4x8xf32>) {
    %1 = graph.index_map %q by affine_map<(d0, d1) -> (d0)> : tensor<4xi64> -> tensor<4x8xi64>
    %2 = graph.gather %p by affine_map<(d0, d1)[s0] -> (s0, d1)> at %1 : (tensor<100x8xf32>, tensor<4x8xi64>) -> tensor<4x8xf32>
    graph.yield %2 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

// Windows are read in the reduction's loops. A constant source is a selection;
// a bool is a byte.
// CHECK-LABEL: loop.kernel @windows
// CHECK:         loop.for %i = 0 to 3
// CHECK:           loop.reduce max %k = 0 to 3 : i32
// CHECK:             %[[SELECT:.+]] = arith.select %{{.*}}, %true, %false
// CHECK:             %[[BYTE:.+]] = arith.extui %[[SELECT]] : i1 to i8
// CHECK:             loop.load %x[%i * 2 + %k - 1] if %{{.*}} else %[[BYTE]] : memref<4xi8>
func.func @windows(%x: tensor<4xi1>) -> tensor<3xi1> {
  %0 = graph.fused @windows (%p = %x : tensor<4xi1>) -> (tensor<3xi1>) {
    %c = graph.constant dense<true> : tensor<1xi1>
    %1 = graph.gather %p by affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)> where affine_map<(d0, d1) -> (d0 * 2 + d1 - 1, 4 - d0 * 2 - d1)>, %c by affine_map<(d0, d1) -> (0)> where affine_map<(d0, d1) -> (-d0)> : (tensor<4xi1>, tensor<1xi1>) -> tensor<3x3xi1>
    %2 = graph.reduce max %1 axes [1] : tensor<3x3xi1> -> tensor<3xi1>
    graph.yield %2 : tensor<3xi1>
  }
  return %0 : tensor<3xi1>
}

// -----

// A scan is a sweep with running values; narrow floats run in f32. The axes
// that it keeps are parallel.
// CHECK-LABEL: loop.kernel @scan
// CHECK-NEXT:    loop.for %i = 0 to 4 {
// CHECK-NEXT:      loop.for %j = 0 to 3 {
// CHECK-NEXT:        loop.scan %k = 0 to 8 {
// CHECK-NEXT:          %[[A:.*]] = loop.load %{{.*}}[%i, %k, %j] : memref<4x8x3xbf16>
// CHECK-NEXT:          %[[W:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT:          %[[S:.*]] = loop.running add %[[W]] : f32
// CHECK-NEXT:          %[[N:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT:          loop.store %[[N]], %{{.*}}[%i, %k, %j]
func.func @main(%x: tensor<4x8x3xbf16>) -> tensor<4x8x3xbf16> {
  %0 = graph.fused @scan (%a = %x : tensor<4x8x3xbf16>) -> (tensor<4x8x3xbf16>) {
    %s = graph.scan add %a axis 1 : tensor<4x8x3xbf16>
    graph.yield %s : tensor<4x8x3xbf16>
  }
  return %0 : tensor<4x8x3xbf16>
}

// -----

// A reduction of the row, then the sweep, with one running value of another.
// CHECK-LABEL: loop.kernel @after_reduction
// CHECK-NEXT:    loop.for %i = 0 to 4 {
// CHECK-NEXT:      %[[R:.*]] = loop.reduce max %k = 0 to 8 : f32 {
// CHECK:           loop.scan %k = 0 to 8 {
// CHECK:             %[[D:.*]] = arith.subf %{{.*}}, %[[R]]
// CHECK-NEXT:        %[[S:.*]] = loop.running add %[[D]] : f32
// CHECK-NEXT:        %[[M:.*]] = loop.running min %[[S]] : f32
// CHECK-NEXT:        loop.store %[[M]]
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.fused @after_reduction (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %r = graph.reduce max %a axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %b = graph.index_map %r by affine_map<(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4x8xf32>
    %d = graph.map (%c = %a : tensor<4x8xf32>, %e = %b : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %f = arith.subf %c, %e : f32
      graph.yield %f : f32
    }
    %s = graph.scan add %d axis 1 : tensor<4x8xf32>
    %m = graph.scan min %s axis 1 : tensor<4x8xf32>
    graph.yield %m : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}
