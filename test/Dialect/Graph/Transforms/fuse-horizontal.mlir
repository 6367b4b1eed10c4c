// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-decompose --deplo-fuse-vertical --deplo-fuse-horizontal | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-decompose --deplo-fuse-vertical --deplo-fuse-horizontal --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-horizontal -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-decompose --deplo-fuse-vertical --deplo-fuse-horizontal=policy=never | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-decompose --deplo-fuse-vertical --deplo-fuse-horizontal=policy=always | FileCheck %s --check-prefix=ALWAYS

// Reductions and a map of one input are one kernel, which reads it once.
// CHECK-LABEL: func.func @statistics
// CHECK-SAME:    (%[[X:.*]]: tensor<64x2048xf32>)
// CHECK-NEXT:    %[[R:.*]]:3 = graph.fused @sum_amax_2048 (%[[P:.*]] = %[[X]] : tensor<64x2048xf32>) -> (tensor<64xf32>, tensor<64x2048xf32>, tensor<64xf32>) {
// CHECK-DAG:       graph.reduce add %[[P]]
// CHECK-DAG:       graph.reduce max %[[P]]
// CHECK-DAG:       math.exp
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2
// REMARK: remark: [Passed] Fused | Category:deplo-fuse-horizontal | Function=sum_amax_2048 | Remark="sum's reduce and exp's map in @sum_amax_2048: they share 524288 bytes, 1048832 bytes instead of 1573120, {{.*}} us instead of {{.*}} us"
// REMARK: remark: [Analysis] Kernel | Category:deplo-fuse-horizontal | Function=sum_amax_2048 | Remark="@sum_amax_2048: 3 primitives, reads 524288 bytes, writes 524800, {{.*}}"
// NEVER-LABEL: func.func @statistics
// NEVER-COUNT-3: graph.fused @
func.func @statistics(%x: tensor<64x2048xf32>) -> (tensor<64xf32>, tensor<64x2048xf32>, tensor<64xf32>) {
  %s = graph.sum %x axes [1] : tensor<64x2048xf32> -> tensor<64xf32>
  %e = graph.exp %x : tensor<64x2048xf32>
  %m = graph.amax %x axes [1] : tensor<64x2048xf32> -> tensor<64xf32>
  return %s, %e, %m : tensor<64xf32>, tensor<64x2048xf32>, tensor<64xf32>
}

// -----

// Small kernels of one shape that have no input in common are one launch.
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    graph.fused @exp_tanh_sigmoid_64 ({{.*}}) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
// CHECK-NOT:     graph.fused
// REMARK: remark: [Passed] Fused {{.*}} Remark="exp's map and tanh's map in @exp_tanh_sigmoid_64: most of the time is the launch, 1024 bytes instead of 1024, {{.*}}"
func.func @small(%x: tensor<64xf32>, %y: tensor<64xf32>, %z: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %a = graph.exp %x : tensor<64xf32>
  %b = graph.tanh %y : tensor<64xf32>
  %c = graph.sigmoid %z : tensor<64xf32>
  return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Large ones gain nothing.
// CHECK-LABEL: func.func @large
// CHECK:         graph.fused @exp_8192
// CHECK:         graph.fused @tanh_8192
func.func @large(%x: tensor<8192x8192xf32>, %y: tensor<8192x8192xf32>) -> (tensor<8192x8192xf32>, tensor<8192x8192xf32>) {
  %a = graph.exp %x : tensor<8192x8192xf32>
  %b = graph.tanh %y : tensor<8192x8192xf32>
  return %a, %b : tensor<8192x8192xf32>, tensor<8192x8192xf32>
}

// -----

// Sums of rows and of columns have other parallel loops.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK:         graph.fused @sum_64
// CHECK:         graph.fused @sum_8
// REMARK: remark: [Missed] KeptApart | Category:deplo-fuse-horizontal | Function=sum_8 | Remark="sum's reduce (@sum_64) and sum's reduce (@sum_8): their reductions or scans keep different axes"
// ALWAYS-LABEL: func.func @rows_and_columns
// ALWAYS:         graph.fused @sum_64
// ALWAYS:         graph.fused @sum_8
func.func @rows_and_columns(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<64xf32>) {
  %s = graph.sum %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %t = graph.sum %x axes [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %s, %t : tensor<8xf32>, tensor<64xf32>
}

// -----

// A path from one to the other, through a third kernel that sums columns: the
// last map shares x with the first and needs what it leads to.
// CHECK-LABEL: func.func @path
// CHECK:         %[[A:.*]] = graph.fused @sum_4096
// CHECK:         %[[B:.*]] = graph.fused @sum_64 ({{.*}} = %[[A]] : tensor<4096xf32>
// CHECK:         graph.fused @{{.*}} = %[[B]]
// REMARK: remark: [Missed] KeptApart {{.*}} one of them needs what the other computes"
// ALWAYS-LABEL: func.func @path
// ALWAYS-COUNT-3: graph.fused @
func.func @path(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %s = graph.sum %x axes [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
  %q = graph.index_map %s by affine_map<(d0, d1) -> (d0 * 64 + d1)> : tensor<4096xf32> -> tensor<64x64xf32>
  %t = graph.sum %q axes [0] : tensor<64x64xf32> -> tensor<64xf32>
  %b = graph.index_map %t by affine_map<(d0, d1) -> (d0 mod 64)> : tensor<64xf32> -> tensor<4096x4096xf32>
  %y = graph.add %x, %b : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %y : tensor<4096x4096xf32>
}

// -----

// Both rows do not stay on chip, though each does: 64 Ki floats are 256 KB.
// CHECK-LABEL: func.func @budget
// CHECK:         graph.fused @softmax_65536
// CHECK:         graph.fused @softmax_65536_1
// REMARK: remark: [Missed] KeptApart {{.*}} a row of both, {{[0-9]+}} bytes, doesn't stay on chip"
func.func @budget(%x: tensor<512x65536xf32>, %y: tensor<512x65536xf32>, %w: tensor<65536xf32>) -> (tensor<512x65536xf32>, tensor<512x65536xf32>) {
  %v = graph.index_map %w by affine_map<(d0, d1) -> (d1)> : tensor<65536xf32> -> tensor<512x65536xf32>
  %xv = graph.mul %x, %v : (tensor<512x65536xf32>, tensor<512x65536xf32>) -> tensor<512x65536xf32>
  %yv = graph.mul %y, %v : (tensor<512x65536xf32>, tensor<512x65536xf32>) -> tensor<512x65536xf32>
  %a = graph.softmax %xv axis 1 : tensor<512x65536xf32>
  %b = graph.softmax %yv axis 1 : tensor<512x65536xf32>
  return %a, %b : tensor<512x65536xf32>, tensor<512x65536xf32>
}

// -----

// What reads the later kernel's result moves behind the merged one.
// CHECK-LABEL: func.func @order
// CHECK:         %[[R:.*]]:2 = graph.fused @sum_amax_64
// CHECK:         graph.fused @{{.*}} = %[[R]]#0 : tensor<64xf32>
func.func @order(%x: tensor<64x64xf32>) -> (tensor<f32>, tensor<64xf32>) {
  %s = graph.fused @a (%p = %x : tensor<64x64xf32>) -> (tensor<64xf32>) {
    %r = graph.reduce add %p axes [1] : tensor<64x64xf32> -> tensor<64xf32> loc(fused<"sum">["m.py":1:0])
    graph.yield %r : tensor<64xf32>
  }
  %t = graph.fused @total (%p = %s : tensor<64xf32>) -> (tensor<f32>) {
    %r = graph.reduce add %p axes [0] : tensor<64xf32> -> tensor<f32>
    graph.yield %r : tensor<f32>
  }
  %m = graph.fused @b (%p = %x : tensor<64x64xf32>) -> (tensor<64xf32>) {
    %r = graph.reduce max %p axes [1] : tensor<64x64xf32> -> tensor<64xf32> loc(fused<"amax">["m.py":2:0])
    graph.yield %r : tensor<64xf32>
  }
  return %t, %m : tensor<f32>, tensor<64xf32>
}

// -----

// A kernel that stores a view is on the way, too.
// CHECK-LABEL: func.func @through_view
// CHECK-COUNT-3: graph.fused
func.func @through_view(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.fused @first (%a = %x : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
    %3 = graph.map (%b = %a : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %4 = math.exp %b : f32
      graph.yield %4 : f32
    }
    graph.yield %3 : tensor<8x4xf32>
  }
  %1 = graph.fused @view (%a = %0 : tensor<8x4xf32>) -> (tensor<4x8xf32>) {
    %3 = graph.map (%b = %a : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %5 = math.log %b : f32
      graph.yield %5 : f32
    }
    %4 = graph.index_map %3 by affine_map<(i, j) -> (j, i)> : tensor<8x4xf32> -> tensor<4x8xf32>
    graph.yield %4 : tensor<4x8xf32>
  }
  %2 = graph.fused @last (%a = %x : tensor<8x4xf32>, %c = %1 : tensor<4x8xf32>) -> (tensor<8x4xf32>) {
    %4 = graph.index_map %c by affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8x4xf32>
    %3 = graph.map (%b = %a : tensor<8x4xf32>, %d = %4 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %5 = arith.addf %b, %d : f32
      graph.yield %5 : f32
    }
    graph.yield %3 : tensor<8x4xf32>
  }
  return %2 : tensor<8x4xf32>
}
