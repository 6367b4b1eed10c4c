// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical | FileCheck %s

// The exponential of one long row is computed in the kernel that sums it and in
// the one that divides it: neither stores it.
// CHECK-LABEL: @softmax_of_one_row
// CHECK:         graph.fused @{{.+}} (%{{.+}} = %arg0 : tensor<4194304xf32>) -> (tensor<f32>) {
// CHECK:           math.exp
// CHECK:           graph.reduce add
// CHECK:         graph.fused @{{.+}} (%{{.+}} = %arg0 : tensor<4194304xf32>, %{{.+}} = %0 : tensor<f32>) -> (tensor<4194304xf32>) {
// CHECK:           math.exp
// CHECK:           arith.divf
// CHECK-NOT:     graph.fused
func.func @softmax_of_one_row(%x: tensor<4194304xf32>) -> tensor<4194304xf32> {
  %e = graph.map (%a = %x : tensor<4194304xf32>) -> tensor<4194304xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [0] : tensor<4194304xf32> -> tensor<f32>
  %t = graph.index_map %s by affine_map<(d0) -> ()> : tensor<f32> -> tensor<4194304xf32>
  %y = graph.map (%a = %e : tensor<4194304xf32>, %b = %t : tensor<4194304xf32>) -> tensor<4194304xf32> {
    %0 = arith.divf %a, %b : f32
    graph.yield %0 : f32
  }
  return %y : tensor<4194304xf32>
}

// -----

// A result of the function is stored anyhow.
// CHECK-LABEL: @needed_elsewhere
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
func.func @needed_elsewhere(%x: tensor<4194304xf32>) -> (tensor<f32>, tensor<4194304xf32>, tensor<4194304xf32>) {
  %e = graph.map (%a = %x : tensor<4194304xf32>) -> tensor<4194304xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %e axes [0] : tensor<4194304xf32> -> tensor<f32>
  %t = graph.index_map %s by affine_map<(d0) -> ()> : tensor<f32> -> tensor<4194304xf32>
  %y = graph.map (%a = %e : tensor<4194304xf32>, %b = %t : tensor<4194304xf32>) -> tensor<4194304xf32> {
    %0 = arith.divf %a, %b : f32
    graph.yield %0 : f32
  }
  return %s, %y, %e : tensor<f32>, tensor<4194304xf32>, tensor<4194304xf32>
}

// -----

// A table that two larger kernels repeat is computed once: rows of one, columns
// of the other.
// CHECK-LABEL: @table
// CHECK-COUNT-1: math.sin
// CHECK-NOT:     math.sin
func.func @table(%x: tensor<512xf32>, %a: tensor<4096x512xf32>, %b: tensor<512x4096xf32>) -> (tensor<4096xf32>, tensor<512x4096xf32>) {
  %e = graph.map (%p = %x : tensor<512xf32>) -> tensor<512xf32> {
    %0 = math.sin %p : f32
    graph.yield %0 : f32
  }
  %r = graph.index_map %e by affine_map<(d0, d1) -> (d1)> : tensor<512xf32> -> tensor<4096x512xf32>
  %c = graph.index_map %e by affine_map<(d0, d1) -> (d0)> : tensor<512xf32> -> tensor<512x4096xf32>
  %u = graph.map (%p = %a : tensor<4096x512xf32>, %q = %r : tensor<4096x512xf32>) -> tensor<4096x512xf32> {
    %0 = arith.mulf %p, %q : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %u axes [1] : tensor<4096x512xf32> -> tensor<4096xf32>
  %v = graph.map (%p = %b : tensor<512x4096xf32>, %q = %c : tensor<512x4096xf32>) -> tensor<512x4096xf32> {
    %0 = arith.mulf %p, %q : f32
    graph.yield %0 : f32
  }
  return %s, %v : tensor<4096xf32>, tensor<512x4096xf32>
}
