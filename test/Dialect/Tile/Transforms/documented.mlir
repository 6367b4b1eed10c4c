// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples in the descriptions of the passes, which are these lines.

// RUN: deplo-opt %s --deplo-tileify | FileCheck %s --check-prefix=TILEIFY
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-tileify,tile.kernel(deplo-cooperative-reduce))' | FileCheck %s --check-prefix=COOPERATIVE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,deplo-tileify,tile.kernel(deplo-cooperative-reduce,deplo-blockify-launch{block=2 warps=8}))' | FileCheck %s --check-prefix=BLOCKIFY
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,deplo-tileify,tile.kernel(deplo-cooperative-reduce,deplo-blockify-launch{block=2 warps=8},deplo-chunk-reduce{chunk=512}))' | FileCheck %s --check-prefix=CHUNK

loop.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) {
  loop.for %i = 0 to 33 {
    %s = loop.reduce add %k = 0 to 3584 : f32 {
      %a = loop.load %x[%i, %k] : memref<33x3584xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<33xf32>
  }
}

// TILEIFY:      tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
// TILEIFY-NEXT:   %0 = loop.reduce add %k = 0 to 3584 : tensor<33xf32> {
// TILEIFY-NEXT:     %1 = tile.load %x[%i, %k] dims [0] : memref<33x3584xf32> -> tensor<33xf32>
// TILEIFY-NEXT:     loop.yield %1 : tensor<33xf32>
// TILEIFY-NEXT:   }
// TILEIFY-NEXT:   tile.store %0, %y[%i] : tensor<33xf32>, memref<33xf32>
// TILEIFY-NEXT: }

// COOPERATIVE:      tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
// COOPERATIVE-NEXT:   %c0 = arith.constant 0 : index
// COOPERATIVE-NEXT:   %0 = tile.load %x[%i, %c0] : memref<33x3584xf32> -> tensor<33x3584xf32>
// COOPERATIVE-NEXT:   %1 = tile.reduce [add] %0 axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
// COOPERATIVE-NEXT:   tile.store %1, %y[%i] : tensor<33xf32>, memref<33xf32>
// COOPERATIVE-NEXT: }

// BLOCKIFY:      tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 step 2 grid) warps(8) {
// BLOCKIFY-NEXT:   %c0 = arith.constant 0 : index
// BLOCKIFY-NEXT:   %0 = tile.load %x[%i, %c0] bounds [33, 3584] : memref<33x3584xf32> -> tensor<2x4096xf32>
// BLOCKIFY-NEXT:   %1 = tile.in_bounds[%c0, %c0] bounds [2, 3584] : tensor<2x4096xi1>
// BLOCKIFY-NEXT:   %cst = arith.constant dense<0.000000e+00> : tensor<2x4096xf32>
// BLOCKIFY-NEXT:   %2 = arith.select %1, %0, %cst : tensor<2x4096xi1>, tensor<2x4096xf32>
// BLOCKIFY-NEXT:   %3 = tile.reduce [add] %2 axis 1 : tensor<2x4096xf32> -> tensor<2xf32>
// BLOCKIFY-NEXT:   tile.store %3, %y[%i] bounds [33] : tensor<2xf32>, memref<33xf32>
// BLOCKIFY-NEXT: }

// CHUNK:      tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 step 2 grid) warps(8) {
// CHUNK-NEXT:   %c0 = arith.constant 0 : index
// CHUNK-NEXT:   %cst = arith.constant dense<0.000000e+00> : tensor<2x512xf32>
// CHUNK-NEXT:   %c3584 = arith.constant 3584 : index
// CHUNK-NEXT:   %c512 = arith.constant 512 : index
// CHUNK-NEXT:   %0 = scf.for %arg0 = %c0 to %c3584 step %c512 iter_args(%arg1 = %cst) -> (tensor<2x512xf32>) {
// CHUNK-NEXT:     %2 = tile.load %x[%i, %arg0] bounds [33, 3584] : memref<33x3584xf32> -> tensor<2x512xf32>
// CHUNK-NEXT:     %3 = arith.addf %arg1, %2 : tensor<2x512xf32>
// CHUNK-NEXT:     scf.yield %3 : tensor<2x512xf32>
// CHUNK-NEXT:   }
// CHUNK-NEXT:   %1 = tile.reduce [add] %0 axis 1 : tensor<2x512xf32> -> tensor<2xf32>
// CHUNK-NEXT:   tile.store %1, %y[%i] bounds [33] : tensor<2xf32>, memref<33xf32>
// CHUNK-NEXT: }
