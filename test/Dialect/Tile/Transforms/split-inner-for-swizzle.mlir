// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-split-inner-for-swizzle))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-split-inner-for-swizzle))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-inner-for-swizzle -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Rows along what is summed over are one atom of the swizzle, those along
// columns are split in several. Copies and reads go through coordinates.

// CHECK-LABEL: tile.kernel @mm
// CHECK:         %[[A:.+]] = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>
// CHECK:         %[[B:.+]] = tile.alloc : !tile.buffer<64x128xbf16, #tile.shared<swizzle = 128, split = true>>
// CHECK:         tile.copy %x[%i, %c0] to %[[A]]
// CHECK:         tile.async_dot %[[A]] dims [0, 2], %[[B]] dims [2, 1]
// REMARK: [Passed] SplitInnerForSwizzle | Category:deplo-split-inner-for-swizzle | Function=mm | Remark="the buffer of %x has rows of one swizzle of 128 bytes"
// REMARK: [Passed] {{.*}} Function=mm | Remark="the buffer of %w has rows of one swizzle of 128 bytes"
tile.kernel @mm(%x: memref<64x64xbf16>, %w: memref<64x128xbf16>, %y: memref<64x128xf32>) axes(%i = 64 step 64 grid, %j = 128 step 128 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<64x128xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %b = tile.alloc : !tile.buffer<64x128xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %a : memref<64x64xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
  tile.copy %w[%c0, %j] to %b : memref<64x128xbf16>, !tile.buffer<64x128xbf16, #tile.shared<>>
  tile.barrier
  %d, %t = tile.async_dot %a dims [0, 2], %b dims [2, 1], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x128xbf16, #tile.shared<>>, tensor<64x128xf32>
  tile.await %t
  tile.store %d, %y[%i, %j] : tensor<64x128xf32>, memref<64x128xf32>
}

// -----

// Short rows have a shorter swizzle; the slots of a ring are one buffer.

// CHECK-LABEL: tile.kernel @ring
// CHECK:         %[[RING:.+]] = tile.alloc : !tile.buffer<2x64x32xbf16, #tile.shared<swizzle = 64>>
// CHECK:         tile.slot %[[RING]][%c0] : !tile.buffer<2x64x32xbf16, #tile.shared<swizzle = 64>> -> !tile.buffer<64x32xbf16, #tile.shared<swizzle = 64>>
// REMARK: Function=ring | Remark="the buffer of %x has rows of one swizzle of 64 bytes"
tile.kernel @ring(%x: memref<64x32xbf16>, %y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.alloc : !tile.buffer<2x64x32xbf16, #tile.shared<>>
  %s = tile.slot %r[%c0] : !tile.buffer<2x64x32xbf16, #tile.shared<>> -> !tile.buffer<64x32xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %s : memref<64x32xbf16>, !tile.buffer<64x32xbf16, #tile.shared<>>
  tile.barrier
  %d, %t = tile.async_dot %s dims [0, 2], %s dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x32xbf16, #tile.shared<>>, !tile.buffer<64x32xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

// What is read into registers keeps its layout.

// CHECK-LABEL: tile.kernel @registers
// CHECK:         tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
// REMARK: [Missed] {{.*}} Function=registers | Remark="wgmma reads no buffer of the kernel"
tile.kernel @registers(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %a : memref<64x64xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>
  tile.barrier
  %b = tile.read %a[%c0, %c0] : !tile.buffer<64x64xbf16, #tile.shared<>> -> tensor<64x64xbf16>
  tile.store %b, %y[%i, %c0] : tensor<64x64xbf16>, memref<64x64xbf16>
}
