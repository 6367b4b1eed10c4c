// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce{chunk=3}))' 2>&1 | FileCheck %s

// CHECK: error: 'tile.kernel' op chunk must be 0 or a power of two, got 3
tile.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}
