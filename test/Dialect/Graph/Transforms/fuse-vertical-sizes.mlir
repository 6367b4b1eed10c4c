// RUN: deplo-opt %s --deplo-attach-target --deplo-fuse-vertical | FileCheck %s

// A size that is known when the program runs is an inner loop as any other, or the
// parallel one.
// CHECK-LABEL: func.func @inner
// CHECK:         graph.fused @reduce_max_n
// CHECK-NOT:     graph.fused
// CHECK-LABEL: func.func @rows
// CHECK:         graph.fused @reduce_max_64
// CHECK-NOT:     graph.fused
// Products of so many rows are not in pieces, which would need the operand in memory.
// CHECK-LABEL: func.func @product
// CHECK:         graph.fused @contract
// CHECK-NOT:     graph.fused
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 5000>}} {
  func.func @inner(%z: tensor<4096x1048583xf32>) -> tensor<4096x1048583xf32> {
    %m = graph.reduce max %z axes [1] : tensor<4096x1048583xf32> -> tensor<4096xf32>
    %b = graph.index_map %m by affine_map<(d0, d1) -> (d0)> : tensor<4096xf32> -> tensor<4096x1048583xf32>
    %y = graph.map (%a = %z : tensor<4096x1048583xf32>, %c = %b : tensor<4096x1048583xf32>) -> tensor<4096x1048583xf32> {
      %0 = arith.subf %a, %c : f32
      graph.yield %0 : f32
    }
    return %y : tensor<4096x1048583xf32>
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
  func.func @product(%x: tensor<1048583x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<1048583x2048xf32> {
    %e = graph.map (%a = %x : tensor<1048583x2048xf32>) -> tensor<1048583x2048xf32> {
      %0 = arith.mulf %a, %a : f32
      graph.yield %0 : f32
    }
    %y = graph.contract %e by affine_map<(m, n, k) -> (m, k)>, %w by affine_map<(m, n, k) -> (n, k)> : (tensor<1048583x2048xf32>, tensor<2048x2048xf32>) -> tensor<1048583x2048xf32>
    return %y : tensor<1048583x2048xf32>
  }
}
