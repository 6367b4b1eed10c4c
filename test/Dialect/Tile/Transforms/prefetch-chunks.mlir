// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-prefetch-chunks))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-prefetch-chunks))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-prefetch-chunks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Both operands are loaded ahead; what is the same in all chunks is not.
// REMARK: 2 tiles of the next chunk are loaded ahead
// CHECK-LABEL: tile.kernel @two
// CHECK:         %[[A0:.*]] = tile.load %{{.*}}[%i, %c0] : memref<8x4096xf32>
// CHECK:         %[[B0:.*]] = tile.load %{{.*}}[%i, %c0] bounds [8, 4000] : memref<8x4096xf32>
// CHECK:         scf.for %[[K:.*]] = %c0 to %c4096 step %c1024 iter_args(%[[C:.*]] = %{{.*}}, %[[A:.*]] = %[[A0]], %[[B:.*]] = %[[B0]])
// CHECK-NEXT:      %[[N:.*]] = arith.addi %[[K]], %c1024 : index
// CHECK-NEXT:      %[[A1:.*]] = tile.load %{{.*}}[%i, %[[N]]] bounds [8, 4096]
// CHECK-NEXT:      %[[B1:.*]] = tile.load %{{.*}}[%i, %[[N]]] bounds [8, 4000]
// CHECK-NEXT:      %[[W:.*]] = tile.load %{{.*}}[%c0] : memref<1024xf32>
// CHECK:           tile.scan add
// CHECK:           scf.yield %{{.*}}, %[[A1]], %[[B1]]
tile.kernel @two(%x: memref<8x4096xf32>, %z: memref<8x4096xf32>, %w: memref<1024xf32>, %y: memref<8x4096xf32>) axes(%i = 8 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %end = scf.for %k = %c0 to %c4096 step %c1024 iter_args(%carry = %zero) -> (tensor<1xf32>) {
    %a = tile.load %x[%i, %k] : memref<8x4096xf32> -> tensor<1x1024xf32>
    %b = tile.load %z[%i, %k] bounds [8, 4000] : memref<8x4096xf32> -> tensor<1x1024xf32>
    %u = tile.load %w[%c0] : memref<1024xf32> -> tensor<1024xf32>
    %v = tile.broadcast %u dims [1] : tensor<1024xf32> -> tensor<1x1024xf32>
    %p = arith.mulf %a, %b : tensor<1x1024xf32>
    %q = arith.mulf %p, %v : tensor<1x1024xf32>
    %s, %next = tile.scan add %q carry %carry axis 1 : (tensor<1x1024xf32>, tensor<1xf32>) -> (tensor<1x1024xf32>, tensor<1xf32>)
    tile.store %s, %y[%i, %k] : tensor<1x1024xf32>, memref<8x4096xf32>
    scf.yield %next : tensor<1xf32>
  }
}

// -----

// Loops in which no thread waits stay.
// REMARK: no loop scans chunks
// CHECK-LABEL: tile.kernel @pointwise
// CHECK:         scf.for
// CHECK-NEXT:      tile.load
tile.kernel @pointwise(%x: memref<8x4096xf32>, %y: memref<8x4096xf32>) axes(%i = 8 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  scf.for %k = %c0 to %c4096 step %c1024 {
    %a = tile.load %x[%i, %k] : memref<8x4096xf32> -> tensor<1x1024xf32>
    tile.store %a, %y[%i, %k] : tensor<1x1024xf32>, memref<8x4096xf32>
  }
}

// -----

// Nor can a load move that follows what another one brings.
// REMARK: what the loops load can't be loaded ahead
// CHECK-LABEL: tile.kernel @dependent
// CHECK:         scf.for
// CHECK-NEXT:      tile.iota
tile.kernel @dependent(%x: memref<4096xi32>, %y: memref<4096xi32>) axes(%i = 1 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0> : tensor<i32>
  %end = scf.for %k = %c0 to %c4096 step %c1024 iter_args(%carry = %zero) -> (tensor<i32>) {
    %n = tile.iota %k : tensor<1024xi32>
    %a = tile.gather %x[%n] : (memref<4096xi32>, tensor<1024xi32>) -> tensor<1024xi32>
    %s, %next = tile.scan add %a carry %carry axis 0 : (tensor<1024xi32>, tensor<i32>) -> (tensor<1024xi32>, tensor<i32>)
    tile.store %s, %y[%k] : tensor<1024xi32>, memref<4096xi32>
    scf.yield %next : tensor<i32>
  }
}
