// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-graph-to-loop | FileCheck %s

// A conversion to a wider type that is read along two loops is computed in
// each: row by row for the result, and down the column that is added to it.
// CHECK-LABEL: loop.kernel @plus_column_sum
// CHECK-SAME:    (%[[X:.*]]: memref<5x5xf16>
// CHECK:         loop.for %[[I:.*]] = 0 to 5 {
// CHECK-NEXT:      loop.for %[[J:.*]] = 0 to 5 {
// CHECK-NEXT:        loop.reduce add %[[K:.*]] = 0 to 5 : f32 {
// CHECK-NEXT:          %[[A:.*]] = loop.load %[[X]][%[[K]], %[[J]]]
// CHECK-NEXT:          arith.extf %[[A]]
// CHECK:             %[[B:.*]] = loop.load %[[X]][%[[I]], %[[J]]]
// CHECK-NEXT:        arith.extf %[[B]]
#terms = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%x: tensor<5x5xf16> {graph.name = "x"}) -> tensor<5x5xf32> {
  %0 = graph.fused @plus_column_sum (%a = %x : tensor<5x5xf16>) -> (tensor<5x5xf32>) {
    %1 = graph.map (%e = %a : tensor<5x5xf16>) -> tensor<5x5xf32> {
      %w = arith.extf %e : f16 to f32
      graph.yield %w : f32
    }
    %2 = graph.index_map %1 by #terms : tensor<5x5xf32> -> tensor<5x5x5xf32>
    %3 = graph.reduce add %2 axes [2] : tensor<5x5x5xf32> -> tensor<5x5xf32>
    %4 = graph.map (%s = %3 : tensor<5x5xf32>, %e = %1 : tensor<5x5xf32>) -> tensor<5x5xf32> {
      %t = arith.addf %s, %e : f32
      graph.yield %t : f32
    }
    graph.yield %4 : tensor<5x5xf32>
  }
  return %0 : tensor<5x5xf32>
}
