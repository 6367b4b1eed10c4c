// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-register-tile --split-input-file --verify-diagnostics

// expected-error @+1 {{'tile.kernel' op has no number of warps; run deplo-blockify-launch first}}
tile.kernel @no_warps(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}

// -----

tile.kernel @odd_size(%x: memref<33xf32>, %y: memref<33xf32>) axes(%i = 33 tile) warps(1) {
  // expected-error @+1 {{'tile.load' op has the tile 'tensor<33xf32>', expected sizes that are powers of two; run deplo-blockify-launch first}}
  %a = tile.load %x[%i] : memref<33xf32> -> tensor<33xf32>
  tile.store %a, %y[%i] : tensor<33xf32>, memref<33xf32>
}

// -----

tile.kernel @branch(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %true = arith.constant true
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  // expected-error @+1 {{'scf.if' op has tiles that register_tile can't give layouts; run the tile passes in order}}
  %s = scf.if %true -> tensor<32xf32> {
    scf.yield %a : tensor<32xf32>
  } else {
    scf.yield %a : tensor<32xf32>
  }
  tile.store %s, %y[%i] : tensor<32xf32>, memref<32xf32>
}

// -----

// expected-error @+1 {{'tile.kernel' op holds tiles of 513 registers in each of 32 threads, and sm_90a has 255 for each; choose a smaller block or chunk, or more warps}}
tile.kernel @too_many_registers(%x: memref<4x16384xf32>, %y: memref<4x16384xf32>) axes(%i = 4 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<4x16384xf32> -> tensor<1x16384xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<1x16384xf32> -> tensor<1xf32>
  %b = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x16384xf32>
  %q = arith.divf %a, %b : tensor<1x16384xf32>
  tile.store %q, %y[%i, %c0] : tensor<1x16384xf32>, memref<4x16384xf32>
}
