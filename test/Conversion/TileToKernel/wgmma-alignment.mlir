// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A buffer of 128 bytes in front of an operand of wgmma. Tensor maps and wgmma
// swizzle addresses, so the operand begins at a multiple of the swizzle's
// period, 1024 bytes, and so does the whole of shared memory.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle),deplo-tile-to-kernel)' | FileCheck %s

// CHECK:       llvm.mlir.global {{.*}} @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: llvm.func @mm
// Barriers, which come last, %w's ring, %x's, the small buffer.
// CHECK:         llvm.getelementptr %{{.+}}[33792] : {{.*}} i8
// CHECK:         llvm.getelementptr %{{.+}}[17408] : {{.*}} i8
// CHECK:         llvm.getelementptr %{{.+}}[1024] : {{.*}} i8
// CHECK:         llvm.getelementptr %{{.+}}[0] : {{.*}} i8

tile.kernel @mm(%x: memref<64x256xbf16>, %w: memref<256x256xbf16>, %v: memref<32xf32>, %y: memref<64x256xf32>) axes(%i = 64 step 64 grid, %j = 256 step 64 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 64], warps = 4, vector = 8, chunk = 64, stages = 2, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %first = tile.alloc : !tile.buffer<32xf32, #tile.shared<>>
  tile.copy %v[%c0] to %first : memref<32xf32>, !tile.buffer<32xf32, #tile.shared<>>
  tile.barrier
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = scf.for %k = %c0 to %c256 step %c64 iter_args(%c = %zeros) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %b = tile.load %w[%j, %k] : memref<256x256xbf16> -> tensor<64x64xbf16>
    %n = tile.dot %a dims [0, 2], %b dims [1, 2], %c : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %n : tensor<64x64xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<64x256xf32>
}
