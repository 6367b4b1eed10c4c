// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-graph-to-loop --split-input-file | FileCheck %s

// A group of two channels is one row, and the weight of a channel is read along
// half of it, also where it is converted first.

// CHECK-LABEL: loop.kernel @group
// CHECK:         loop.reduce add %[[K:.*]] = 0 to 32
// CHECK-NEXT:      loop.load %x[%i, %j, %[[K]]] : memref<2x2x32xf32>
// CHECK:         loop.for %[[L:.*]] = 0 to 32 {
// CHECK:           loop.load %x[%i, %j, %[[L]]] : memref<2x2x32xf32>
// CHECK:           loop.load %w[%j, %[[L]] floordiv 16] : memref<2x2xbf16>
// CHECK:           arith.extf
// CHECK:           loop.store %{{.*}}, %y[%i, %j, %[[L]]] : memref<2x2x32xf32>
#rows = affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2 floordiv 16, d2 mod 16)>
#sums = affine_map<(d0, d1, d2) -> (d0, d1)>
#channels = affine_map<(d0, d1, d2) -> (d0, d1 floordiv 2, (d1 mod 2) * 16 + d2)>
#weights = affine_map<(d0, d1, d2) -> (d1)>
func.func @group(%x: tensor<2x4x16xf32> {graph.name = "x"}, %w: tensor<4xbf16> {graph.name = "w"}) -> tensor<2x4x16xf32> {
  %0 = graph.fused @group (%a = %x : tensor<2x4x16xf32>, %b = %w : tensor<4xbf16>) -> (tensor<2x4x16xf32>) {
    %g = graph.index_map %a by #rows : tensor<2x4x16xf32> -> tensor<2x2x32xf32>
    %s = graph.reduce add %g axes [2] : tensor<2x2x32xf32> -> tensor<2x2xf32>
    %t = graph.index_map %s by #sums : tensor<2x2xf32> -> tensor<2x2x32xf32>
    %d = graph.map (%p = %g : tensor<2x2x32xf32>, %q = %t : tensor<2x2x32xf32>) -> tensor<2x2x32xf32> {
      %r = arith.subf %p, %q : f32
      graph.yield %r : f32
    }
    %c = graph.index_map %d by #channels : tensor<2x2x32xf32> -> tensor<2x4x16xf32>
    %v = graph.map (%p = %b : tensor<4xbf16>) -> tensor<4xf32> {
      %r = arith.extf %p : bf16 to f32
      graph.yield %r : f32
    }
    %u = graph.index_map %v by #weights : tensor<4xf32> -> tensor<2x4x16xf32>
    %e = graph.map (%p = %c : tensor<2x4x16xf32>, %q = %u : tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
      %r = arith.mulf %p, %q : f32
      graph.yield %r : f32
    }
    graph.yield %e : tensor<2x4x16xf32>
  }
  return %0 : tensor<2x4x16xf32>
}

// -----

// Without a buffer that goes through both loops there is nothing to gain.

// CHECK-LABEL: loop.kernel @outer
// CHECK:         loop.reduce add %{{.*}} = 0 to 4
// CHECK:           loop.reduce add %{{.*}} = 0 to 16
#left = affine_map<(d0, d1, d2) -> (d0, d1)>
#right = affine_map<(d0, d1, d2) -> (d0, d2)>
func.func @outer(%x: tensor<2x4xf32>, %y: tensor<2x16xf32>) -> tensor<2xf32> {
  %0 = graph.fused @outer (%a = %x : tensor<2x4xf32>, %b = %y : tensor<2x16xf32>) -> (tensor<2xf32>) {
    %l = graph.index_map %a by #left : tensor<2x4xf32> -> tensor<2x4x16xf32>
    %r = graph.index_map %b by #right : tensor<2x16xf32> -> tensor<2x4x16xf32>
    %m = graph.map (%p = %l : tensor<2x4x16xf32>, %q = %r : tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
      %t = arith.maximumf %p, %q : f32
      graph.yield %t : f32
    }
    %s = graph.reduce add %m axes [1, 2] : tensor<2x4x16xf32> -> tensor<2xf32>
    graph.yield %s : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
