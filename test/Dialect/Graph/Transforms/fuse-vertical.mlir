// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-vertical -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical=policy=never | FileCheck %s --check-prefix=NEVER

// A map and the reduction that reads it are one kernel.
// CHECK-LABEL: func.func @map_reduce
// CHECK-SAME:    (%[[X:.*]]: tensor<32x2048xf32>)
// CHECK-NEXT:    %[[S:.*]] = graph.fused @reduce_add_2048 (%[[P:.*]] = %[[X]] : tensor<32x2048xf32>) -> (tensor<32xf32>) {
// CHECK-NEXT:      %[[E:.*]] = graph.map (%a = %[[P]] : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
// CHECK:           %[[R:.*]] = graph.reduce add %[[E]] axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
// CHECK-NEXT:      graph.yield %[[R]] : tensor<32xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[S]]
// REMARK: remark: [Passed] Fused | Category:deplo-fuse-vertical | Function=reduce_add_2048 | Remark="map and reduce_add's reduce in @reduce_add_2048: 262272 bytes instead of 786560, {{.*}} us instead of {{.*}} us"
// REMARK: remark: [Analysis] Kernel | Category:deplo-fuse-vertical | Function=reduce_add_2048 | Remark="@reduce_add_2048: 2 primitives, reads 262144 bytes, writes 128, {{.*}} operations, 32 independent pieces, {{.*}} us"
// On request each primitive is a kernel.
// NEVER-LABEL: func.func @map_reduce
// NEVER:         %[[E:.*]] = graph.fused @map_2048
// NEVER:         graph.fused @reduce_add_2048 (%{{.*}} = %[[E]] : tensor<32x2048xf32>)
func.func @map_reduce(%x: tensor<32x2048xf32>) -> tensor<32xf32> {
  %e = graph.map (%a = %x : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
  return %s : tensor<32xf32>
}

// -----

// A row statistic and the map that uses it, through a broadcast, are one kernel.
// The broadcast moves along.
// CHECK-LABEL: func.func @statistic
// CHECK-NEXT:    %[[Y:.*]] = graph.fused @reduce_max_64 ({{.*}}) -> (tensor<8x64xf32>) {
// CHECK:           graph.reduce max
// CHECK:           graph.index_map
// CHECK:           graph.map
// CHECK:         return %[[Y]]
func.func @statistic(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %m = graph.reduce max %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %b = graph.index_map %m by affine_map<(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x64xf32>
  %y = graph.map (%a = %x : tensor<8x64xf32>, %c = %b : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = arith.subf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<8x64xf32>
}

// -----

// Reductions of one kernel keep the same axes: rows, then columns, are two.
// CHECK-LABEL: func.func @rows_then_columns
// CHECK-NEXT:    %[[E:.*]]:2 = graph.fused @reduce_add_64 ({{.*}}) -> (tensor<8x64xf32>, tensor<8xf32>) {
// CHECK:         graph.fused @reduce_add_8 (%{{.*}} = %[[E]]#0 : tensor<8x64xf32>) -> (tensor<64xf32>)
// REMARK: remark: [Missed] KeptApart | Category:deplo-fuse-vertical | Function=reduce_add_8 | Remark="map (@reduce_add_64) and reduce_add's reduce (@reduce_add_8): their reductions or scans keep different axes"
func.func @rows_then_columns(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<64xf32>) {
  %e = graph.map (%a = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %t = graph.reduce add %e axes [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %s, %t : tensor<8xf32>, tensor<64xf32>
}

// -----

// Subtracting the mean of everything is two kernels: one multiprocessor would do
// all the work of both.
// CHECK-LABEL: func.func @global_mean
// CHECK:         %[[S:.*]] = graph.fused @reduce_add_67108864 ({{.*}}) -> (tensor<f32>)
// CHECK:         graph.fused @map_8192 (%{{.*}} = %arg0 : tensor<8192x8192xf32>, %{{.*}} = %[[S]] : tensor<f32>)
// REMARK: remark: [Missed] KeptApart | Category:deplo-fuse-vertical | Function=map_8192 | Remark="reduce_add's reduce (@reduce_add_67108864) and map (@map_8192): it doesn't pay: 536870912 bytes instead of {{.*}}"
func.func @global_mean(%x: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  %s = graph.reduce add %x axes [0, 1] : tensor<8192x8192xf32> -> tensor<f32>
  %b = graph.index_map %s by affine_map<(d0, d1) -> ()> : tensor<f32> -> tensor<8192x8192xf32>
  %y = graph.map (%a = %x : tensor<8192x8192xf32>, %c = %b : tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
    %0 = arith.subf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<8192x8192xf32>
}

// -----

// A power for each column is worth computing again for a few rows, ...
// CHECK-LABEL: func.func @recompute_few
// CHECK-NEXT:    graph.fused @map_8192 ({{.*}}) -> (tensor<4x8192xf32>)
// CHECK-NOT:     graph.fused
// CHECK:         return
// REMARK: Remark="map and map in @map_8192: {{.*}} more operations
func.func @recompute_few(%x: tensor<4x8192xf32>, %w: tensor<8192xf32>) -> tensor<4x8192xf32> {
  %p = graph.map (%a = %w : tensor<8192xf32>) -> tensor<8192xf32> {
    %0 = math.powf %a, %a : f32
    graph.yield %0 : f32
  }
  %b = graph.index_map %p by affine_map<(d0, d1) -> (d1)> : tensor<8192xf32> -> tensor<4x8192xf32>
  %y = graph.map (%a = %x : tensor<4x8192xf32>, %c = %b : tensor<4x8192xf32>) -> tensor<4x8192xf32> {
    %0 = arith.mulf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<4x8192xf32>
}

// -----

// ... but not for thousands.
// CHECK-LABEL: func.func @recompute_many
// CHECK:         graph.fused @map_8192 ({{.*}}) -> (tensor<8192xf32>)
// CHECK:         graph.fused @map_8192_1 ({{.*}}) -> (tensor<8192x8192xf32>)
func.func @recompute_many(%x: tensor<8192x8192xf32>, %w: tensor<8192xf32>) -> tensor<8192x8192xf32> {
  %p = graph.map (%a = %w : tensor<8192xf32>) -> tensor<8192xf32> {
    %0 = math.powf %a, %a : f32
    graph.yield %0 : f32
  }
  %b = graph.index_map %p by affine_map<(d0, d1) -> (d1)> : tensor<8192xf32> -> tensor<8192x8192xf32>
  %y = graph.map (%a = %x : tensor<8192x8192xf32>, %c = %b : tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
    %0 = arith.mulf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<8192x8192xf32>
}

// -----

// A value that is needed elsewhere is not computed again in each row: kept apart.
// CHECK-LABEL: func.func @shared_column
// CHECK:         %[[P:.*]] = graph.fused @map_64 ({{.*}}) -> (tensor<64xf32>)
// CHECK:         graph.fused @map_64_1 ({{.*}}%[[P]]
// REMARK: Remark="map (@map_64) and map (@map_64_1): map is needed elsewhere and would be computed more than once"
func.func @shared_column(%x: tensor<4x64xf32>, %w: tensor<64xf32>) -> (tensor<4x64xf32>, tensor<64xf32>) {
  %p = graph.map (%a = %w : tensor<64xf32>) -> tensor<64xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %b = graph.index_map %p by affine_map<(d0, d1) -> (d1)> : tensor<64xf32> -> tensor<4x64xf32>
  %y = graph.map (%a = %x : tensor<4x64xf32>, %c = %b : tensor<4x64xf32>) -> tensor<4x64xf32> {
    %0 = arith.mulf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y, %p : tensor<4x64xf32>, tensor<64xf32>
}

// -----

// A kernel does not read what it computes in another order: the transpose is read
// from memory.
// CHECK-LABEL: func.func @symmetric
// CHECK:         %[[E:.*]] = graph.fused @map_64 ({{.*}}) -> (tensor<64x64xf32>)
// CHECK:         graph.fused @map_64_1 (%{{.*}} = %[[E]] : tensor<64x64xf32>)
// REMARK: Remark="map (@map_64) and map (@map_64_1): a kernel can't read a diagonal of what it computes"
func.func @symmetric(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = graph.map (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %t = graph.index_map %e by affine_map<(d0, d1) -> (d1, d0)> : tensor<64x64xf32> -> tensor<64x64xf32>
  %y = graph.map (%a = %e : tensor<64x64xf32>, %b = %t : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = arith.addf %a, %b : f32
    graph.yield %0 : f32
  }
  return %y : tensor<64x64xf32>
}

// -----

// Nor a part of it.
// CHECK-LABEL: func.func @part
// CHECK:         graph.fused @map_64
// CHECK:         graph.fused @reduce_add_63
// REMARK: Remark="map (@map_64) and reduce_add's reduce (@reduce_add_63): reduce_add's reduce reads map in another order than it is computed, or a part of it"
func.func @part(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4xf32>) {
  %e = graph.map (%a = %x : tensor<4x64xf32>) -> tensor<4x64xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %p = graph.index_map %e by affine_map<(d0, d1) -> (d0, d1 + 1)> : tensor<4x64xf32> -> tensor<4x63xf32>
  %s = graph.reduce add %p axes [1] : tensor<4x63xf32> -> tensor<4xf32>
  return %e, %s : tensor<4x64xf32>, tensor<4xf32>
}

// -----

// A transpose between maps is no obstacle: the loops are the same.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT:    graph.fused @map_4 ({{.*}}) -> (tensor<64x4xf32>)
// CHECK-NOT:     graph.fused
// CHECK:         return
func.func @transposed(%x: tensor<4x64xf32>, %y: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %e = graph.map (%a = %x : tensor<4x64xf32>) -> tensor<4x64xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %t = graph.index_map %e by affine_map<(d0, d1) -> (d1, d0)> : tensor<4x64xf32> -> tensor<64x4xf32>
  %z = graph.map (%a = %t : tensor<64x4xf32>, %b = %y : tensor<64x4xf32>) -> tensor<64x4xf32> {
    %0 = arith.addf %a, %b : f32
    graph.yield %0 : f32
  }
  return %z : tensor<64x4xf32>
}

// -----

// Nor is a reshape whose sizes nest, before and after a reduction.
// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT:    graph.fused @reduce_add_8 ({{.*}}) -> (tensor<32x8xf32>)
// CHECK-NOT:     graph.fused
// CHECK:         return
func.func @reshaped(%x: tensor<2x16x8xf32>) -> tensor<32x8xf32> {
  %e = graph.map (%a = %x : tensor<2x16x8xf32>) -> tensor<2x16x8xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [2] : tensor<2x16x8xf32> -> tensor<2x16xf32>
  %r = graph.index_map %e by affine_map<(d0, d1) -> (d0 floordiv 16, d0 mod 16, d1)> : tensor<2x16x8xf32> -> tensor<32x8xf32>
  %b = graph.index_map %s by affine_map<(d0, d1) -> (d0 floordiv 16, d0 mod 16)> : tensor<2x16xf32> -> tensor<32x8xf32>
  %y = graph.map (%a = %r : tensor<32x8xf32>, %c = %b : tensor<32x8xf32>) -> tensor<32x8xf32> {
    %0 = arith.divf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<32x8xf32>
}

// -----

// Sizes that do not nest keep kernels apart; a view of the tensor between them
// costs nothing.
// CHECK-LABEL: func.func @reshaped_across
// CHECK:         graph.fused @map_6
// CHECK:         graph.fused @map_4
// REMARK: Remark="map (@map_6) and map (@map_4): map reads map in another order than it is computed, or a part of it"
func.func @reshaped_across(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %e = graph.map (%a = %x : tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %r = graph.index_map %e by affine_map<(d0, d1) -> ((d0 * 4 + d1) floordiv 6, (d0 * 4 + d1) mod 6)> : tensor<4x6xf32> -> tensor<6x4xf32>
  %y = graph.map (%a = %r : tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = math.sqrt %a : f32
    graph.yield %0 : f32
  }
  return %y : tensor<6x4xf32>
}

// -----

// Two groups do not merge around a third that must run between them: the last map
// reads the first, and what the reductions between them make of it.
// CHECK-LABEL: func.func @between
// CHECK:         %[[A:.*]]:2 = graph.fused @reduce_add_4096 ({{.*}}) -> (tensor<4096x4096xf32>, tensor<4096xf32>)
// CHECK:         %[[B:.*]] = graph.fused @reduce_add_4096_1 (%{{.*}} = %[[A]]#1 : tensor<4096xf32>) -> (tensor<f32>)
// CHECK:         graph.fused @map_4096 (%{{.*}} = %[[A]]#0 : {{.*}}, %{{.*}} = %[[B]] : tensor<f32>)
// REMARK: Remark="map (@reduce_add_4096) and map (@map_4096): another kernel runs between them"
func.func @between(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %e = graph.map (%a = %x : tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
  %t = graph.reduce add %s axes [0] : tensor<4096xf32> -> tensor<f32>
  %b = graph.index_map %t by affine_map<(d0, d1) -> ()> : tensor<f32> -> tensor<4096x4096xf32>
  %y = graph.map (%a = %e : tensor<4096x4096xf32>, %c = %b : tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = arith.divf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<4096x4096xf32>
}

// -----

// A widening conversion is read again by each kernel, from the narrow tensor.
// CHECK-LABEL: func.func @widening
// CHECK:         graph.fused @reduce_add_64 (%{{.*}} = %arg0 : tensor<8x64xbf16>) -> (tensor<8xf32>) {
// CHECK:           arith.extf
// CHECK:         graph.fused @reduce_add_8 (%{{.*}} = %arg0 : tensor<8x64xbf16>) -> (tensor<64xf32>) {
// CHECK:           arith.extf
func.func @widening(%x: tensor<8x64xbf16>) -> (tensor<8xf32>, tensor<64xf32>) {
  %w = graph.map (%a = %x : tensor<8x64xbf16>) -> tensor<8x64xf32> {
    %0 = arith.extf %a : bf16 to f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %w axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %t = graph.reduce add %w axes [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %s, %t : tensor<8xf32>, tensor<64xf32>
}

// -----

// Within one kernel it is there once.
// CHECK-LABEL: func.func @widening_once
// CHECK:         arith.extf
// CHECK-NOT:     arith.extf
// CHECK:         return
func.func @widening_once(%x: tensor<8x64xbf16>) -> tensor<8x64xf32> {
  %w = graph.map (%a = %x : tensor<8x64xbf16>) -> tensor<8x64xf32> {
    %0 = arith.extf %a : bf16 to f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %w axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %b = graph.index_map %s by affine_map<(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x64xf32>
  %y = graph.map (%a = %w : tensor<8x64xf32>, %c = %b : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = arith.divf %a, %c : f32
    graph.yield %0 : f32
  }
  return %y : tensor<8x64xf32>
}

// -----

// Results that nothing computes are copies: an argument, a view, a constant, and
// a result that is there twice.
// CHECK-LABEL: func.func @copies
// CHECK-DAG:     %[[X:.*]] = graph.fused @copy_4 (%{{.*}} = %arg0 : tensor<6x4xf32>) -> (tensor<6x4xf32>)
// CHECK-DAG:     %[[T:.*]] = graph.fused @copy_6 (%{{.*}} = %arg0 : tensor<6x4xf32>) -> (tensor<4x6xf32>)
// CHECK-DAG:     %[[C:.*]] = graph.fused @copy_3 () -> (tensor<3xf32>)
// CHECK-DAG:     %[[E:.*]]:2 = graph.fused @map_2 ({{.*}}) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK:         return %[[X]], %[[T]], %[[C]], %[[E]]#0, %[[E]]#1
func.func @copies(%x: tensor<6x4xf32>, %y: tensor<2xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %t = graph.index_map %x by affine_map<(d0, d1) -> (d1, d0)> : tensor<6x4xf32> -> tensor<4x6xf32>
  %c = graph.constant dense<1.0> : tensor<3xf32>
  %e = graph.map (%a = %y : tensor<2xf32>) -> tensor<2xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  return %x, %t, %c, %e, %e : tensor<6x4xf32>, tensor<4x6xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A reshape of a strided argument is read from a row-major copy.
// CHECK-LABEL: func.func @strided
// CHECK:         %[[C:.*]] = graph.fused @copy_6 (%{{.*}} = %arg0 : tensor<4x6xf32>) -> (tensor<4x6xf32>)
// CHECK:         graph.fused @map_4 (%{{.*}} = %[[C]] : tensor<4x6xf32>) -> (tensor<6x4xf32>)
func.func @strided(%x: tensor<4x6xf32> {graph.strides = array<i64: 12, 2>}) -> tensor<6x4xf32> {
  %r = graph.index_map %x by affine_map<(d0, d1) -> ((d0 * 4 + d1) floordiv 6, (d0 * 4 + d1) mod 6)> : tensor<4x6xf32> -> tensor<6x4xf32>
  %y = graph.map (%a = %r : tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = math.sqrt %a : f32
    graph.yield %0 : f32
  }
  return %y : tensor<6x4xf32>
}

// -----

// Groups that are there already stay as they are; new names differ from theirs.
// CHECK-LABEL: func.func @fused_already
// CHECK-NEXT:    %[[A:.*]] = graph.fused @mine_4 (%{{.*}} = %arg0 : tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK:         graph.fused @mine_4_1 (%{{.*}} = %[[A]] : tensor<4xf32>) -> (tensor<4xf32>) {
func.func @fused_already(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.fused @mine_4 (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.map (%a = %p : tensor<4xf32>) -> tensor<4xf32> {
      %2 = math.exp %a : f32
      graph.yield %2 : f32
    }
    graph.yield %e : tensor<4xf32>
  }
  %1 = graph.map (%a = %0 : tensor<4xf32>) -> tensor<4xf32> {
    %2 = math.sqrt %a : f32
    graph.yield %2 : f32
  } loc(fused<"mine">["x"])
  return %1 : tensor<4xf32>
}

// -----

// What nobody needs is not computed.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT:    return
func.func @dead(%x: tensor<4xf32>) {
  %1 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %2 = math.sqrt %a : f32
    graph.yield %2 : f32
  }
  return
}

// -----

// Kernels are called after the operators they come from.
// CHECK-LABEL: func.func @names
// CHECK:         graph.fused @silu_mul_4
func.func @names(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %2 = math.sqrt %a : f32
    graph.yield %2 : f32
  } loc(fused<"silu">["a.py":1:1])
  %1 = graph.map (%a = %0 : tensor<4xf32>) -> tensor<4xf32> {
    %2 = arith.mulf %a, %a : f32
    graph.yield %2 : f32
  } loc(fused<"mul">["a.py":2:1])
  return %1 : tensor<4xf32>
}

// -----

// Four operators are too many for a name.
// CHECK-LABEL: func.func @many_names
// CHECK:         graph.fused @pointwise_4
func.func @many_names(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %4 = math.sqrt %a : f32
    graph.yield %4 : f32
  } loc(fused<"sqrt">["a.py":1:1])
  %1 = graph.map (%a = %0 : tensor<4xf32>) -> tensor<4xf32> {
    %4 = math.exp %a : f32
    graph.yield %4 : f32
  } loc(fused<"exp">["a.py":2:1])
  %2 = graph.map (%a = %1 : tensor<4xf32>) -> tensor<4xf32> {
    %4 = math.log %a : f32
    graph.yield %4 : f32
  } loc(fused<"log">["a.py":3:1])
  %3 = graph.map (%a = %2 : tensor<4xf32>) -> tensor<4xf32> {
    %4 = math.sin %a : f32
    graph.yield %4 : f32
  } loc(fused<"sin">["a.py":4:1])
  return %3 : tensor<4xf32>
}

// -----

// A kernel with reductions of two operators is called after both.
// CHECK-LABEL: func.func @two_reductions
// CHECK:         graph.fused @rms_norm_softmax_8
func.func @two_reductions(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = graph.map (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %4 = math.exp %a : f32
    graph.yield %4 : f32
  }
  %0 = graph.reduce add %e axes [1] : tensor<4x8xf32> -> tensor<4xf32> loc(fused<"rms_norm">["a.py":1:1])
  %1 = graph.reduce max %e axes [1] : tensor<4x8xf32> -> tensor<4xf32> loc(fused<"softmax">["a.py":2:1])
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Coordinates that are no loops over a box, not even of a copy, are gathered.
// CHECK-LABEL: func.func @coordinates
// CHECK:         graph.fused
// CHECK:           %[[G:.*]] = graph.gather %{{.*}} by #{{.*}} : (tensor<16xf32>) -> tensor<4x4xf32>
// CHECK:           graph.map (%a = %[[G]] : tensor<4x4xf32>)
func.func @coordinates(%x: tensor<16xf32>) -> tensor<4x4xf32> {
  %0 = graph.index_map %x by affine_map<(d0, d1) -> ((d0 * 3 + d1 * 2) floordiv 2 + d1 mod 2)> : tensor<16xf32> -> tensor<4x4xf32>
  %1 = graph.map (%a = %0 : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %2 = math.exp %a : f32
    graph.yield %2 : f32
  }
  return %1 : tensor<4x4xf32>
}

// -----

// A reshape of a slice: its coordinates divide a sum that does not start at 0.
// CHECK-LABEL: func.func @reshaped_slice
// CHECK:         graph.fused
func.func @reshaped_slice(%x: tensor<7x13xf32>) -> tensor<13x4xf32> {
  %0 = graph.index_map %x by affine_map<(d0, d1) -> ((d0 * 4 + d1) floordiv 13 + 3, (d0 * 4 + d1) mod 13)> : tensor<7x13xf32> -> tensor<13x4xf32>
  %1 = graph.map (%a = %0 : tensor<13x4xf32>) -> tensor<13x4xf32> {
    %2 = math.exp %a : f32
    graph.yield %2 : f32
  }
  return %1 : tensor<13x4xf32>
}

// -----

// Embedded rows and their norm are one kernel: the index is read in its loops.
// CHECK-LABEL: func.func @embedding_norm
// CHECK:         graph.fused
// CHECK:           graph.gather
// CHECK:           graph.reduce
// CHECK-NOT:     graph.fused
func.func @embedding_norm(%w: tensor<100x64xf32>, %n: tensor<8xi64>) -> tensor<8xf32> {
  %0 = graph.index_map %n by affine_map<(d0, d1) -> (d0)> : tensor<8xi64> -> tensor<8x64xi64>
  %1 = graph.gather %w by affine_map<(d0, d1)[s0] -> (s0, d1)> at %0 : (tensor<100x64xf32>, tensor<8x64xi64>) -> tensor<8x64xf32>
  %2 = graph.reduce add %1 axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// What a gather reads is in memory, so it is computed by another kernel.
// CHECK-LABEL: func.func @gathered_sum
// CHECK:         graph.fused
// CHECK:           graph.reduce
// CHECK:         graph.fused
// CHECK:           graph.gather
func.func @gathered_sum(%x: tensor<16x64xf32>) -> tensor<18xf32> {
  %0 = graph.reduce add %x axes [1] : tensor<16x64xf32> -> tensor<16xf32>
  %1 = graph.gather %0 by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1, 16 - d0)> : (tensor<16xf32>) -> tensor<18xf32>
  return %1 : tensor<18xf32>
}

// -----

// What a scan reads and what reads it run in its sweep, and so does a scan of
// what another computes.
// CHECK-LABEL: func.func @scan
// CHECK-NEXT:    graph.fused @scan_max_64
// CHECK-NEXT:      graph.map
// CHECK:           graph.scan add
// CHECK-NEXT:      graph.map
// CHECK:           graph.scan max
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @scan(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = graph.map (%a = %x : tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = arith.addf %a, %a : f32
    graph.yield %s : f32
  }
  %1 = graph.scan add %0 axis 1 : tensor<512x64xf32>
  %2 = graph.map (%a = %1 : tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = math.absf %a : f32
    graph.yield %s : f32
  }
  %3 = graph.scan max %2 axis 1 : tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
}

// -----

// A scan of a normalised row: the reduction comes first.
// CHECK-LABEL: func.func @scan_of_reduced
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.reduce add
// CHECK:           graph.scan add
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @scan_of_reduced(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = graph.reduce add %x axes [1] : tensor<512x64xf32> -> tensor<512xf32>
  %1 = graph.index_map %0 by affine_map<(d0, d1) -> (d0)> : tensor<512xf32> -> tensor<512x64xf32>
  %2 = graph.map (%a = %x : tensor<512x64xf32>, %b = %1 : tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = arith.divf %a, %b : f32
    graph.yield %s : f32
  }
  %3 = graph.scan add %2 axis 1 : tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
}

// -----

// A reduction of what a scan computes is another kernel.
// CHECK-LABEL: func.func @reduced_scan
// CHECK:         graph.fused @scan_add_64
// CHECK:         graph.fused @reduce_max_64
// REMARK: a reduction of what a scan computes has a sweep of its own
func.func @reduced_scan(%x: tensor<512x64xf32>) -> tensor<512xf32> {
  %0 = graph.scan add %x axis 1 : tensor<512x64xf32>
  %1 = graph.reduce max %0 axes [1] : tensor<512x64xf32> -> tensor<512xf32>
  return %1 : tensor<512xf32>
}

// -----

// So is a scan along another axis.
// CHECK-LABEL: func.func @two_axes
// CHECK:         graph.fused @scan_add_64
// CHECK:         graph.fused @scan_add_512
// REMARK: their reductions or scans keep different axes
func.func @two_axes(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = graph.scan add %x axis 1 : tensor<512x64xf32>
  %1 = graph.scan add %0 axis 0 : tensor<512x64xf32>
  return %1 : tensor<512x64xf32>
}

// -----

// What repeats a scan would compute it again and again.
// CHECK-LABEL: func.func @repeated
// CHECK:         graph.fused @scan_add_64
// CHECK:         graph.fused @map_4
// REMARK: has loops inside of a scan
func.func @repeated(%x: tensor<512x64xf32>, %y: tensor<512x64x4xf32>) -> tensor<512x64x4xf32> {
  %0 = graph.scan add %x axis 1 : tensor<512x64xf32>
  %1 = graph.index_map %0 by affine_map<(d0, d1, d2) -> (d0, d1)> : tensor<512x64xf32> -> tensor<512x64x4xf32>
  %2 = graph.map (%a = %1 : tensor<512x64x4xf32>, %b = %y : tensor<512x64x4xf32>) -> tensor<512x64x4xf32> {
    %s = arith.addf %a, %b : f32
    graph.yield %s : f32
  }
  return %2 : tensor<512x64x4xf32>
}

// -----

// Windows of a contraction are taken apart: an element for each point.
// CHECK:         #[[$WINDOWS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + d4, d2 * 2 + d5)>
// CHECK:         #[[$POINTS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2, d3, d4, d5, d6)>
// CHECK-LABEL: func.func @windows
// CHECK:         graph.gather %{{.*}} by #[[$WINDOWS]]
// CHECK-SAME:      tensor<2x6x3x3x3x3xf32>
// CHECK:         graph.contract %{{.*}} by #[[$POINTS]], %{{.*}} by
func.func @windows(%x: tensor<2x3x8x7xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x6x3xf32> {
  %0 = graph.contract %x by affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 * 2 + d6)>, %w by affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)> : (tensor<2x3x8x7xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x3xf32>
  return %0 : tensor<2x4x6x3xf32>
}
