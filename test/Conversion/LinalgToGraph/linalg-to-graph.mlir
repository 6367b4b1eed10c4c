// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(deplo-linalg-to-graph,cse))' | FileCheck %s

// A named pointwise operation is a map of what its region does.
// CHECK-LABEL: func.func @named
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>)
// CHECK-NEXT:    %[[SUM:.*]] = graph.map (%a = %[[X]] : tensor<4x8xf32>, %b = %[[Y]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[S:.*]] = arith.addf %a, %b : f32
// CHECK-NEXT:      graph.yield %[[S]] : f32
// CHECK:         %[[EXP:.*]] = graph.map (%a = %[[SUM]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[E:.*]] = math.exp %a : f32
// CHECK-NEXT:      graph.yield %[[E]] : f32
// CHECK:         return %[[EXP]]
func.func @named(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.add ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.exp ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Operands are read through their indexing maps; constants from outside and
// scalar operands move into the region.
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @maps
// CHECK-SAME:    (%[[X:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-DAG:     %[[XT:.*]] = graph.index_map %[[X]] by #[[$SWAP]] : tensor<8x4xf32> -> tensor<4x8xf32>
// CHECK-DAG:     %[[BB:.*]] = graph.index_map %[[B]] by #[[$ROW]] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK:         graph.map ({{.*}} = %[[XT]] : tensor<4x8xf32>, {{.*}} = %[[BB]] : tensor<4x8xf32>)
// CHECK-DAG:       arith.constant 2.000000e+00 : f32
// CHECK-DAG:       arith.constant 3.000000e+00 : f32
func.func @maps(%x: tensor<8x4xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b, %two : tensor<8x4xf32>, tensor<8xf32>, f32) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32, %out: f32):
    %1 = arith.mulf %a, %d : f32
    %2 = arith.addf %1, %c : f32
    %3 = arith.addf %2, %three : f32
    linalg.yield %3 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A reduction that starts from the identity is the graph.reduce alone; the term
// may be any function of the operands.
// CHECK-LABEL: func.func @reduce_from_identity
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK:         %[[MAX:.*]] = graph.reduce max %[[X]] axes [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    return %[[MAX]]
func.func @reduce_from_identity(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce {arith.maximumf} ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  return %0 : tensor<4xf32>
}

// -----

// Any other start is combined with the reduction, once.
// CHECK-LABEL: func.func @reduce_from_a_tensor
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xi32>, %[[INIT:.*]]: tensor<8xi32>)
// CHECK:         %[[SUM:.*]] = graph.reduce add %[[X]] axes [0] : tensor<4x8xi32> -> tensor<8xi32>
// CHECK-NEXT:    %[[ALL:.*]] = graph.map (%a = %[[INIT]] : tensor<8xi32>, %b = %[[SUM]] : tensor<8xi32>)
// CHECK-NEXT:      arith.addi %a, %b : i32
// CHECK:         return %[[ALL]]
func.func @reduce_from_a_tensor(%x: tensor<4x8xi32>, %init: tensor<8xi32>) -> tensor<8xi32> {
  %0 = linalg.reduce {arith.addi} ins(%x : tensor<4x8xi32>) outs(%init : tensor<8xi32>) dimensions = [0]
  return %0 : tensor<8xi32>
}

// -----

// Two results reduce on their own; the second writes an axis of size 1 and is
// transposed.
// CHECK-DAG: #[[$KEEP:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-LABEL: func.func @two_results
// CHECK-DAG:     graph.reduce add {{.*}} axes [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
// CHECK-DAG:     %[[MAX:.*]] = graph.reduce max {{.*}} axes [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
// CHECK-DAG:     graph.index_map %[[MAX]] by #[[$KEEP]] : tensor<2x4xf32> -> tensor<4x1x2xf32>
func.func @two_results(%x: tensor<2x3x4xf32>, %a: tensor<2x4xf32>, %b: tensor<4x1x2xf32>) -> (tensor<2x4xf32>, tensor<4x1x2xf32>) {
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i, k, j) -> (i, k, j)>, affine_map<(i, k, j) -> (i, j)>,
                       affine_map<(i, k, j) -> (j, 0, i)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%a, %b : tensor<2x4xf32>, tensor<4x1x2xf32>) {
  ^bb0(%in: f32, %sum: f32, %max: f32):
    %1 = arith.addf %in, %sum : f32
    %2 = arith.maximumf %max, %in : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<2x4xf32>, tensor<4x1x2xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<4x1x2xf32>
}

// -----

// Windows are affine reads.
// CHECK: #[[$WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d2 * 2 + d4, d3 * 2 + d5)>
// CHECK-LABEL: func.func @pooling
// CHECK:         %[[W:.*]] = graph.index_map %{{.*}} by #[[$WINDOW]] : tensor<1x2x6x6xf32> -> tensor<1x2x3x3x2x2xf32>
// CHECK-NEXT:    graph.reduce max %[[W]] axes [4, 5]
func.func @pooling(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x2x3x3xf32>
  %init = linalg.fill ins(%low : f32) outs(%e : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %0 = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %window : tensor<1x2x6x6xf32>, tensor<2x2xf32>) outs(%init : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %0 : tensor<1x2x3x3xf32>
}

// -----

// A matrix with a vector reads each element of the matrix once.
// CHECK-LABEL: func.func @matvec
// CHECK:         arith.mulf
// CHECK:         graph.reduce add %{{.*}} axes [1] : tensor<4x8xf32> -> tensor<4xf32>
func.func @matvec(%m: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.matvec ins(%m, %v : tensor<4x8xf32>, tensor<8xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A pointwise operation may read what it overwrites.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK-NEXT:    graph.map (%a = %[[Y]] : tensor<8xf32>, %b = %[[X]] : tensor<8xf32>)
// CHECK-NEXT:      arith.subf %a, %b : f32
func.func @accumulate(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.subf %out, %a : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_and_broadcast
// CHECK:         graph.index_map {{.*}} : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK:         graph.index_map {{.*}} : tensor<8x4xf32> -> tensor<8x2x4xf32>
func.func @transpose_and_broadcast(%x: tensor<4x8xf32>) -> tensor<8x2x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<8x2x4xf32>
  %1 = linalg.broadcast ins(%0 : tensor<8x4xf32>) outs(%f : tensor<8x2x4xf32>) dimensions = [1]
  return %1 : tensor<8x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @softmax
// CHECK:         graph.softmax %{{.*}} axis 1 : tensor<4x8xf32>
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Views of tensors are views of graph; a slice may drop axes of size 1.
// CHECK-LABEL: func.func @views
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT:    %[[CUBE:.*]] = graph.reshape %[[X]] : tensor<4x8xf32> -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[PART:.*]] = graph.slice %[[CUBE]] offsets [1, 0, 1] strides [1, 2, 1] : tensor<2x4x4xf32> -> tensor<1x2x3xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %[[PART]] : tensor<1x2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @views(%x: tensor<4x8xf32>) -> tensor<2x3xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1, 2]] output_shape [2, 4, 4] : tensor<32xf32> into tensor<2x4x4xf32>
  %2 = tensor.extract_slice %1[1, 0, 1] [1, 2, 3] [1, 2, 1] : tensor<2x4x4xf32> to tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// Arithmetic on whole tensors, with its attributes.
// CHECK-LABEL: func.func @arith
// CHECK:         graph.map (%a = %{{.*}} : tensor<8xf32>) -> tensor<8xi1> {
// CHECK:           %[[C:.*]] = arith.cmpf olt, %a, %{{.*}} : f32
// CHECK:         graph.map (%a = %{{.*}} : tensor<8xi1>, %b = %{{.*}} : tensor<8xf32>, %c = %{{.*}} : tensor<8xf32>)
// CHECK-NEXT:      arith.select %a, %b, %c : f32
func.func @arith(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %0 = arith.cmpf olt, %x, %zero : tensor<8xf32>
  %1 = arith.select %0, %y, %x : tensor<8xi1>, tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What is graph's already stays.
// CHECK-LABEL: func.func @mixed
// CHECK:         graph.silu
// CHECK:         math.tanh %a : f32
func.func @mixed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.silu %x : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Coordinates are numbers, i64 in place of index.
// CHECK-LABEL: func.func @coordinates
// CHECK:         graph.map (%a = %{{.*}} : tensor<4x8xi32>) -> tensor<4x8xi32> {
// CHECK-DAG:       %[[I:.*]] = graph.index 1 : i64
// CHECK-DAG:       %[[C:.*]] = arith.constant 3 : i64
// CHECK:           %[[N:.*]] = arith.muli %[[I]], %[[C]] : i64
// CHECK-NEXT:      %[[W:.*]] = arith.trunci %[[N]] : i64 to i32
// CHECK-NEXT:      arith.addi %a, %[[W]] : i32
func.func @coordinates(%x: tensor<4x8xi32>) -> tensor<4x8xi32> {
  %three = arith.constant 3 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xi32>) outs(%x : tensor<4x8xi32>) {
  ^bb0(%a: i32, %out: i32):
    %1 = linalg.index 1 : index
    %2 = arith.muli %1, %three : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.addi %a, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}

// -----

// Boxes of a larger tensor are read where their guards hold.
// CHECK-DAG: #[[$PADDED:.*]] = affine_map<(d0, d1) -> (d0 - 1, d1)>
// CHECK-DAG: #[[$INSIDE:.*]] = affine_map<(d0, d1) -> (d0 - 1, -d0 + 4)>
// CHECK-LABEL: func.func @pad
// CHECK-NEXT:    graph.gather %{{.*}} by #[[$PADDED]] where #[[$INSIDE]] else 1.000000e+00 : f32 : (tensor<4x8xf32>) -> tensor<6x8xf32>
func.func @pad(%x: tensor<4x8xf32>) -> tensor<6x8xf32> {
  %one = arith.constant 1.0 : f32
  %0 = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<4x8xf32> to tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

// CHECK-DAG: #[[$SAME:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$FIRST:.*]] = affine_map<(d0, d1) -> (-d1 + 7)>
// CHECK-DAG: #[[$MOVED:.*]] = affine_map<(d0, d1) -> (d0, d1 - 8)>
// CHECK-LABEL: func.func @concat
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xi32>, %[[Y:.*]]: tensor<4x3xi32>)
// CHECK-NEXT:    graph.gather %[[X]] by #[[$SAME]] where #[[$FIRST]], %[[Y]] by #[[$MOVED]]
func.func @concat(%x: tensor<4x8xi32>, %y: tensor<4x3xi32>) -> tensor<4x11xi32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<4x8xi32>, tensor<4x3xi32>) -> tensor<4x11xi32>
  return %0 : tensor<4x11xi32>
}

// -----

// CHECK-LABEL: func.func @insert
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<4x8xf32>)
// CHECK-NEXT:    %[[ROW:.*]] = graph.reshape %[[X]] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    graph.gather %[[ROW]] by #{{.*}} where #{{.*}}, %[[Y]] by
func.func @insert(%x: tensor<3xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.insert_slice %x into %y[2, 1] [1, 3] [1, 1] : tensor<3xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Products of matrices: the accumulator's type is the result's.
// CHECK:         #[[$LHS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK:         #[[$RHS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func.func @matmul
// CHECK-SAME:      %[[X:.*]]: tensor<4x8xf16>, %[[Y:.*]]: tensor<8x5xf16>
// CHECK:         %[[C:.*]] = graph.contract %[[X]] by #[[$LHS]], %[[Y]] by #[[$RHS]] : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf32>
// CHECK-NEXT:    return %[[C]]
func.func @matmul(%x: tensor<4x8xf16>, %y: tensor<8x5xf16>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf16>, tensor<8x5xf16>) outs(%init : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// A matrix of the right orientation is read as it is; what was in the result
// before is added once.
// CHECK:         #[[$LHS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK:         #[[$RHS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-LABEL: func.func @batches_of_transposed
// CHECK:         %[[C:.*]] = graph.contract %{{.*}} by #[[$LHS]], %{{.*}} by #[[$RHS]]
// CHECK:         graph.map (%{{.*}} = %{{.*}} : tensor<2x4x5xf32>, %{{.*}} = %[[C]] : tensor<2x4x5xf32>)
// CHECK:           arith.addf
func.func @batches_of_transposed(%x: tensor<2x4x8xf32>, %w: tensor<5x8xf32>, %init: tensor<2x4x5xf32>) -> tensor<2x4x5xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x4x8xf32>, tensor<5x8xf32>) outs(%init : tensor<2x4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

// -----

// Windows: the reduced coordinates are the filter's by themselves.
// CHECK:         #[[$LHS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
// CHECK:         #[[$RHS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
// CHECK-LABEL: func.func @convolution
// CHECK:         graph.contract %{{.*}} by #[[$LHS]], %{{.*}} by #[[$RHS]]
func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x6x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%init : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}
