// RUN: deplo-opt %s --deplo-attach-target --deplo-fuse-vertical --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-vertical 2>&1 | FileCheck %s

// A size that is known when the program runs is no inner loop: the map over it is
// a kernel of its own. As rows it is the parallel loop.
// CHECK: remark: [Missed] KeptApart {{.*}} would be computed in inner loops over n elements, a number that is known when the program runs"
// CHECK-LABEL: func.func @inner
// CHECK:         graph.fused @reduce_max_64
// CHECK:         graph.fused @map_n
// CHECK-LABEL: func.func @rows
// CHECK:         graph.fused @reduce_max_64
// CHECK-NOT:     graph.fused
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 5000>}} {
  func.func @inner(%x: tensor<8x64xf32>, %z: tensor<8x1048583xf32>) -> tensor<8x1048583xf32> {
    %m = graph.reduce max %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
    %b = graph.index_map %m by affine_map<(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1048583xf32>
    %y = graph.map (%a = %z : tensor<8x1048583xf32>, %c = %b : tensor<8x1048583xf32>) -> tensor<8x1048583xf32> {
      %0 = arith.subf %a, %c : f32
      graph.yield %0 : f32
    }
    return %y : tensor<8x1048583xf32>
  }
  func.func @rows(%x: tensor<1048583x64xf32>) -> tensor<1048583x64xf32> {
    %m = graph.reduce max %x axes [1] : tensor<1048583x64xf32> -> tensor<1048583xf32>
    %b = graph.index_map %m by affine_map<(d0, d1) -> (d0)> : tensor<1048583xf32> -> tensor<1048583x64xf32>
    %y = graph.map (%a = %x : tensor<1048583x64xf32>, %c = %b : tensor<1048583x64xf32>) -> tensor<1048583x64xf32> {
      %0 = arith.subf %a, %c : f32
      graph.yield %0 : f32
    }
    return %y : tensor<1048583x64xf32>
  }
}
