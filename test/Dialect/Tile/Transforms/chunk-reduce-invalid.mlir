// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce{chunk=3}))' 2>&1 | FileCheck %s
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce{chunk=0}))' 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK: error: 'tile.kernel' op chunk must be 0 or a power of two, got 3
tile.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}

// WHOLE: error: 'tile.reduce' op folds one of 4 parts, which are chunks, and chunk is 0; use a smaller chunk
tile.kernel @part(%x: memref<8xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : memref<8xf32> -> tensor<8xf32>
  %s = tile.reduce [add] %a axis 0 part %i of 4 : tensor<8xf32> -> tensor<f32>
  tile.store %s, %y[%i] : tensor<f32>, memref<4xf32>
}
