// RUN: deplo-opt %s --canonicalize="test-convergence" | FileCheck %s

// CHECK-DAG: #[[$COMPOSED:.*]] = affine_map<(d0, d1) -> (d0 * 2 + 1)>
// CHECK-DAG: #[[$SIMPLE:.*]] = affine_map<(d0, d1) -> (d0 floordiv 4, d0 mod 4, d1)>

// -(-x) is x.
// CHECK-LABEL: func.func @neg_neg
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @neg_neg(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : tensor<4xf32>
  %1 = graph.neg %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// x + 0 is not x: it turns -0.0 into 0.0.
// CHECK-LABEL: func.func @add_zero
// CHECK:         graph.add
func.func @add_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<0.0> : tensor<4xf32>
  %0 = graph.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Nor does x + 0 fold in the region of a map.
// CHECK-LABEL: func.func @map_add_zero
// CHECK:         arith.addf
func.func @map_add_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<0.0> : tensor<4xf32>
  %0 = graph.map (%a = %x : tensor<4xf32>, %b = %c : tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %a, %b : f32
    graph.yield %s : f32
  }
  return %0 : tensor<4xf32>
}

// x - x is not 0: it is NaN for infinities.
// CHECK-LABEL: func.func @sub_self
// CHECK:         arith.subf
func.func @sub_self(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.subf %a, %a : f32
    graph.yield %s : f32
  }
  return %0 : tensor<4xf32>
}

// To a wider type and back is exact.
// CHECK-LABEL: func.func @cast_wide_and_back
// CHECK-SAME:    (%[[X:.*]]: tensor<4xbf16>)
// CHECK-NEXT:    return %[[X]]
func.func @cast_wide_and_back(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = graph.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = graph.cast %0 : tensor<4xf32> to tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// To a narrower type and back rounds.
// CHECK-LABEL: func.func @cast_narrow_and_back
// CHECK:         graph.cast
// CHECK:         graph.cast
func.func @cast_narrow_and_back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.cast %x : tensor<4xf32> to tensor<4xf16>
  %1 = graph.cast %0 : tensor<4xf16> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// f16 has a smaller range than bf16, bf16 fewer bits than f16.
// CHECK-LABEL: func.func @cast_incomparable
// CHECK:         graph.cast
// CHECK:         graph.cast
func.func @cast_incomparable(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = graph.cast %x : tensor<4xf16> to tensor<4xbf16>
  %1 = graph.cast %0 : tensor<4xbf16> to tensor<4xf16>
  return %1 : tensor<4xf16>
}

// Rounding to f16 inside a map stays, too.
// CHECK-LABEL: func.func @map_narrow_and_back
// CHECK:         arith.truncf
// CHECK:         arith.extf
func.func @map_narrow_and_back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %n = arith.truncf %a : f32 to f16
    %w = arith.extf %n : f16 to f32
    graph.yield %w : f32
  }
  return %0 : tensor<4xf32>
}

// A reshape of a reshape is one reshape; back to the start it is none.
// CHECK-LABEL: func.func @reshape_reshape
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[X]] : tensor<4x6xf32> -> tensor<8x3xf32>
// CHECK-NEXT:    return %[[R]], %[[X]]
func.func @reshape_reshape(%x: tensor<4x6xf32>) -> (tensor<8x3xf32>, tensor<4x6xf32>) {
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
  %1 = graph.reshape %0 : tensor<24xf32> -> tensor<8x3xf32>
  %2 = graph.reshape %1 : tensor<8x3xf32> -> tensor<4x6xf32>
  return %1, %2 : tensor<8x3xf32>, tensor<4x6xf32>
}

// Permutations compose: result axis 0 is axis 2 of the middle, axis 0 of x.
// CHECK-LABEL: func.func @permute_permute
// CHECK:         graph.permute %{{.*}} by [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:    return
func.func @permute_permute(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = graph.permute %x by [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = graph.permute %0 by [2, 1, 0] : tensor<3x4x2xf32> -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @permute_identity
// CHECK-NEXT:    return %arg0
func.func @permute_identity(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.permute %x by [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @expand_expand
// CHECK:         graph.expand %arg0 : tensor<1x4xf32> -> tensor<5x3x4xf32>
// CHECK-NEXT:    return
func.func @expand_expand(%x: tensor<1x4xf32>) -> tensor<5x3x4xf32> {
  %0 = graph.expand %x : tensor<1x4xf32> -> tensor<3x4xf32>
  %1 = graph.expand %0 : tensor<3x4xf32> -> tensor<5x3x4xf32>
  return %1 : tensor<5x3x4xf32>
}

// Offsets of a slice of a slice are counted in strides of the first.
// CHECK-LABEL: func.func @slice_slice
// CHECK:         graph.slice %arg0 offsets [7] strides [6] : tensor<20xf32> -> tensor<2xf32>
// CHECK-NEXT:    return
func.func @slice_slice(%x: tensor<20xf32>) -> tensor<2xf32> {
  %0 = graph.slice %x offsets [1] strides [3] : tensor<20xf32> -> tensor<6xf32>
  %1 = graph.slice %0 offsets [2] strides [2] : tensor<6xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Views of equal elements are constants.
// CHECK-LABEL: func.func @splat_views
// CHECK-DAG:     %[[A:.*]] = graph.constant dense<2.000000e+00> : tensor<3x2xf32>
// CHECK-DAG:     %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<5x6xf32>
// CHECK:         return %[[A]], %[[B]]
func.func @splat_views() -> (tensor<3x2xf32>, tensor<5x6xf32>) {
  %c = graph.constant dense<2.0> : tensor<2x3xf32>
  %0 = graph.permute %c by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = graph.reshape %c : tensor<2x3xf32> -> tensor<6xf32>
  %2 = graph.expand %1 : tensor<6xf32> -> tensor<5x6xf32>
  return %0, %2 : tensor<3x2xf32>, tensor<5x6xf32>
}

// Operands that are unused or there twice go; splat constants move inside.
// CHECK-LABEL: func.func @map_operands
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-NEXT:    %[[M:.*]] = graph.map (%a = %[[X]] : tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      %[[C:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %a, %a : f32
// CHECK-NEXT:      %[[T:.*]] = arith.mulf %[[S]], %[[C]] : f32
// CHECK-NEXT:      graph.yield %[[T]] : f32
func.func @map_operands(%x: tensor<4xf32>, %unused: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<3.0> : tensor<4xf32>
  %0 = graph.map (%a = %x : tensor<4xf32>, %b = %unused : tensor<4xf32>, %d = %x : tensor<4xf32>, %e = %c : tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.mulf %a, %d : f32
    %t = arith.mulf %s, %e : f32
    graph.yield %t : f32
  }
  return %0 : tensor<4xf32>
}

// The identity is its operand, a constant function a constant.
// CHECK-LABEL: func.func @map_trivial
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[C:.*]] = graph.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:    return %[[X]], %[[C]]
func.func @map_trivial(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    graph.yield %a : f32
  }
  %1 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    graph.yield %c : f32
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A sum over nothing is 0, a maximum over nothing -inf; no axes change nothing.
// CHECK-LABEL: func.func @reduce_trivial
// CHECK-SAME:    (%{{.*}}: tensor<4x0xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[LOWEST:.*]] = graph.constant dense<0xFF800000> : tensor<4xf32>
// CHECK:         return %[[ZERO]], %[[LOWEST]], %[[Y]]
func.func @reduce_trivial(%x: tensor<4x0xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.reduce add %x axes [1] : tensor<4x0xf32> -> tensor<4xf32>
  %1 = graph.reduce max %x axes [1] : tensor<4x0xf32> -> tensor<4xf32>
  %2 = graph.reduce add %y axes [] : tensor<4xf32> -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A read through two maps is one read.
// CHECK-LABEL: func.func @index_map_compose
// CHECK:         graph.index_map %arg0 by #[[$COMPOSED]] : tensor<8xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    return
func.func @index_map_compose(%x: tensor<8xf32>) -> tensor<4x3xf32> {
  %0 = graph.index_map %x by affine_map<(d0) -> (d0 * 2 + 1)> : tensor<8xf32> -> tensor<4xf32>
  %1 = graph.index_map %0 by affine_map<(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// An identity in the range of the coordinates is no read at all.
// CHECK-LABEL: func.func @index_map_identity
// CHECK-SAME:    (%[[X:.*]]: tensor<1x8xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @index_map_identity(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %0 = graph.index_map %x by affine_map<(d0, d1) -> (0, (d0 * 8 + d1) mod 8)> : tensor<1x8xf32> -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// Divisions that the range of the coordinates makes exact go away.
// CHECK-LABEL: func.func @index_map_simplify
// CHECK:         graph.index_map %arg0 by #[[$SIMPLE]] : tensor<2x4x8xf32> -> tensor<8x8xf32>
func.func @index_map_simplify(%x: tensor<2x4x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.index_map %x by affine_map<(d0, d1) -> ((d0 * 8 + d1) floordiv 32, ((d0 * 8 + d1) floordiv 8) mod 4, (d0 * 8 + d1) mod 8)> : tensor<2x4x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A permutation between two reshapes that do not nest stays apart from one.
// CHECK-LABEL: func.func @index_map_apart
// CHECK:         graph.index_map
// CHECK:         graph.index_map
func.func @index_map_apart(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = graph.index_map %x by affine_map<(d0, d1) -> (d1, d0)> : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = graph.index_map %0 by affine_map<(d0, d1) -> ((d0 * 3 + d1) floordiv 4, (d0 * 3 + d1) mod 4)> : tensor<6x4xf32> -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// Inputs and outputs of a group that nobody uses go.
// CHECK-LABEL: func.func @fused
// CHECK:         %[[F:.*]] = graph.fused @kernel (%[[P:.*]] = %arg0 : tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK:           graph.yield %{{.*}} : tensor<4xf32>
// CHECK:         return %[[F]]
func.func @fused(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = graph.fused @kernel (%p = %x : tensor<4xf32>, %q = %x : tensor<4xf32>, %r = %y : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %d = graph.map (%a = %p : tensor<4xf32>, %b = %q : tensor<4xf32>) -> tensor<4xf32> {
      %s = arith.addf %a, %b : f32
      graph.yield %s : f32
    }
    graph.yield %r, %d : tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// A view of coordinates is computed from those of the view.
// CHECK-LABEL: @view_of_iota
// CHECK:         graph.map () -> tensor<4x2xi64> {
// CHECK-DAG:       %[[TWO:.+]] = arith.constant 2 : i64
// CHECK:           %[[I:.+]] = graph.index 0 : i64
// CHECK:           %[[P:.+]] = arith.muli %[[I]], %[[TWO]] : i64
// CHECK:           %[[J:.+]] = graph.index 1 : i64
// CHECK:           arith.addi %[[P]], %[[J]] : i64
// CHECK-NOT:     graph.index_map
func.func @view_of_iota() -> tensor<4x2xi64> {
  %0 = graph.map () -> tensor<8xi64> {
    %i = graph.index 0 : i64
    graph.yield %i : i64
  }
  %1 = graph.index_map %0 by affine_map<(d0, d1) -> (d0 * 2 + d1)> : tensor<8xi64> -> tensor<4x2xi64>
  return %1 : tensor<4x2xi64>
}

// -----

// A map computes the coordinates that it needs itself.
// CHECK-LABEL: @inline_iota
// CHECK-NEXT:    graph.map (%a = %{{.*}} : tensor<8xi64>) -> tensor<8xi64> {
// CHECK-NEXT:      graph.index 0 : i64
func.func @inline_iota(%x: tensor<8xi64>) -> tensor<8xi64> {
  %0 = graph.map () -> tensor<8xi64> {
    %i = graph.index 0 : i64
    graph.yield %i : i64
  }
  %1 = graph.map (%a = %x : tensor<8xi64>, %b = %0 : tensor<8xi64>) -> tensor<8xi64> {
    %s = arith.addi %a, %b : i64
    graph.yield %s : i64
  }
  return %1 : tensor<8xi64>
}

// -----

// A source that is never read goes, and those after one that always is.
// CHECK-LABEL: @gather_sources
// CHECK-NEXT:    graph.gather %arg0 by #{{.*}} where #{{.*}}, %arg1 by #{{.*}} : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
func.func @gather_sources(%x: tensor<4xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.gather %z by affine_map<(d0) -> (d0)> where affine_map<(d0) -> (d0 - 8)>, %x by affine_map<(d0) -> (d0)> where affine_map<(d0) -> (d0, 3 - d0)>, %y by affine_map<(d0) -> (d0)>, %z by affine_map<(d0) -> (d0)> : (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One source that is always read is a view if loops can read it as a box.
// CHECK-LABEL: @gather_of_one
// CHECK:         graph.index_map %arg0
// CHECK:         graph.gather %arg0
func.func @gather_of_one(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = graph.gather %x by affine_map<(d0) -> (d0 * 2)> : (tensor<8xf32>) -> tensor<4xf32>
  %1 = graph.gather %x by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<4xf32>, tensor<8xf32>
}

// -----

// A part of a concatenation is a part of what was put together.
// CHECK-LABEL: @part_of_cat
// CHECK-NEXT:    graph.index_map %arg1 by #{{.*}} : tensor<4xf32> -> tensor<3xf32>
func.func @part_of_cat(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<3xf32> {
  %0 = graph.gather %x by affine_map<(d0) -> (d0)> where affine_map<(d0) -> (3 - d0)>, %y by affine_map<(d0) -> (d0 - 4)> where affine_map<(d0) -> (d0 - 4)> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = graph.index_map %0 by affine_map<(d0) -> (d0 + 5)> : tensor<8xf32> -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// Gathers of gathers read the first sources, through views too.
// CHECK-LABEL: @gather_of_gather
// CHECK-NEXT:    graph.gather %arg0 by #{{.*}} where #{{.*}} : (tensor<2x2xf32>) -> tensor<8xf32>
func.func @gather_of_gather(%x: tensor<2x2xf32>) -> tensor<8xf32> {
  %0 = graph.index_map %x by affine_map<(d0) -> (d0 floordiv 2, d0 mod 2)> : tensor<2x2xf32> -> tensor<4xf32>
  %1 = graph.gather %0 by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1, 4 - d0)> : (tensor<4xf32>) -> tensor<6xf32>
  %2 = graph.gather %1 by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1, 6 - d0)> : (tensor<6xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// The fill of a padded tensor is not that of the tensor it becomes a part of.
// CHECK-LABEL: @fills_differ
// CHECK:         graph.gather
// CHECK:         graph.gather
func.func @fills_differ(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = graph.gather %x by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1, 4 - d0)> else 1.0 : f32 : (tensor<4xf32>) -> tensor<6xf32>
  %1 = graph.gather %0 by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1, 6 - d0)> : (tensor<6xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// An index into a view that is smaller than its tensor stays checked against
// the view.
// CHECK-LABEL: @index_into_slice
// CHECK:         graph.gather %arg0 by #{{.+}} where #{{.+}} at %arg1
func.func @index_into_slice(%x: tensor<8xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %0 = graph.index_map %x by affine_map<(d0) -> (d0)> : tensor<8xf32> -> tensor<6xf32>
  %1 = graph.gather %0 by affine_map<(d0)[s0] -> (s0)> at %n : (tensor<6xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Index tensors that nothing follows go; nothing but fills is a constant.
// CHECK-LABEL: @gather_folds
// CHECK-DAG:     graph.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-DAG:     graph.gather %arg0 by #{{.*}} : (tensor<8xf32>) -> tensor<8xf32>
func.func @gather_folds(%x: tensor<8xf32>, %n: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = graph.constant dense<2.0> : tensor<4xf32>
  %0 = graph.gather %c by affine_map<(d0) -> (d0)> where affine_map<(d0) -> (3 - d0)> else 2.0 : f32 : (tensor<4xf32>) -> tensor<8xf32>
  %1 = graph.gather %x by affine_map<(d0)[s0] -> (7 - d0)> at %n : (tensor<8xf32>, tensor<8xi64>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// A sum over nothing is zero.
// CHECK-LABEL: func.func @contract_nothing
// CHECK-NEXT:    graph.constant dense<0.000000e+00> : tensor<4x5xf32>
func.func @contract_nothing(%x: tensor<4x0xf32>, %y: tensor<0x5xf32>) -> tensor<4x5xf32> {
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x0xf32>, tensor<0x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
