// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce))' | FileCheck %s

// Of four parts, each has every fourth chunk.

// CHECK-LABEL: tile.kernel @part
// CHECK-SAME:    axes(%[[I:.+]] = 4 step 1 grid)
// CHECK-DAG:     %[[CHUNK:.+]] = arith.constant 256 : index
// CHECK-DAG:     %[[STEP:.+]] = arith.constant 1024 : index
// CHECK-DAG:     %[[END:.+]] = arith.constant 7168 : index
// CHECK-DAG:     %[[FIRST:.+]] = arith.muli %[[I]], %[[CHUNK]] : index
// CHECK:         %[[P:.+]] = scf.for %[[K:[^ ]+]] = %[[FIRST]] to %[[END]] step %[[STEP]]
// CHECK-NEXT:      tile.load %{{.+}}[%[[K]]] bounds [7000] : memref<7000xf32> -> tensor<256xf32>
// CHECK-NEXT:      tile.in_bounds[%[[K]]] bounds [7000]
// CHECK:         tile.reduce [add] %[[P]] axis 0 : tensor<256xf32> -> tensor<f32>
tile.kernel @part(%x: memref<7000xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid) warps(4) attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 2, chunk = 256>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] bounds [7000] : memref<7000xf32> -> tensor<8192xf32>
  %mask = tile.in_bounds[%c0] bounds [7000] : tensor<8192xi1>
  %none = arith.constant dense<0.0> : tensor<8192xf32>
  %in = arith.select %mask, %a, %none : tensor<8192xi1>, tensor<8192xf32>
  %s = tile.reduce [add] %in axis 0 part %i of 4 : tensor<8192xf32> -> tensor<f32>
  tile.store %s, %y[%i] : tensor<f32>, memref<4xf32>
}
