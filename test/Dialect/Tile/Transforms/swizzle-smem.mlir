// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-swizzle-smem --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-swizzle-smem --split-input-file --remark-format=emitRemark --remarks-filter=deplo-swizzle-smem -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target --deplo-swizzle-smem=mode=never --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --deplo-attach-target --deplo-swizzle-smem=mode=always --split-input-file | FileCheck %s --check-prefix=ALWAYS
// NEVER-NOT: swizzle =

// ldmatrix reads eight rows at one column. Rows of 128 bytes start in one bank,
// rows of 64 bytes in two; of longer ones the chunks move as well.

#a64 = #tile.layout<[16, 64], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a32 = #tile.layout<[16, 32], register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<[16, 128], register = [[1, 0], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
// CHECK-LABEL: tile.kernel @rows
// CHECK:         tile.alloc : !tile.buffer<16x64xf16, #tile.shared<swizzle = 128>>
// CHECK:         tile.alloc : !tile.buffer<16x32xf16, #tile.shared<swizzle = 64>>
// CHECK:         tile.alloc : !tile.buffer<16x128xf16, #tile.shared<swizzle = 128>>
// REMARK:      [Passed] SwizzleSmem | Category:deplo-swizzle-smem | Function=rows | Remark="accesses of the buffer of %x: 8-way -> conflict-free with a swizzle of 128"
// REMARK:      Function=rows | Remark="accesses of the buffer of %y: 4-way -> conflict-free with a swizzle of 64"
// REMARK:      Function=rows | Remark="accesses of the buffer of %w: 8-way -> conflict-free with a swizzle of 128"
tile.kernel @rows(%x: memref<16x64xf16>, %y: memref<16x32xf16>, %w: memref<16x128xf16>, %o: memref<16x64xf16>, %p: memref<16x32xf16>, %q: memref<16x128xf16>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %r = tile.alloc : !tile.buffer<16x64xf16, #tile.shared<>>
  %s = tile.alloc : !tile.buffer<16x32xf16, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<16x128xf16, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %r : memref<16x64xf16>, !tile.buffer<16x64xf16, #tile.shared<>>
  tile.copy %y[%c0, %c0] to %s : memref<16x32xf16>, !tile.buffer<16x32xf16, #tile.shared<>>
  tile.copy %w[%c0, %c0] to %t : memref<16x128xf16>, !tile.buffer<16x128xf16, #tile.shared<>>
  tile.barrier
  %a = tile.read %r[%c0, %c0] : !tile.buffer<16x64xf16, #tile.shared<>> -> tensor<16x64xf16, #a64>
  %b = tile.read %s[%c0, %c0] : !tile.buffer<16x32xf16, #tile.shared<>> -> tensor<16x32xf16, #a32>
  %c = tile.read %t[%c0, %c0] : !tile.buffer<16x128xf16, #tile.shared<>> -> tensor<16x128xf16, #b>
  tile.store %a, %o[%c0, %c0] : tensor<16x64xf16, #a64>, memref<16x64xf16>
  tile.store %b, %p[%c0, %c0] : tensor<16x32xf16, #a32>, memref<16x32xf16>
  tile.store %c, %q[%c0, %c0] : tensor<16x128xf16, #b>, memref<16x128xf16>
}

// -----

// Reads of single words are left to pads, unless the schedule says otherwise.

#column = #tile.layout<[32, 32], register = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
// CHECK-LABEL:  tile.kernel @words
// CHECK-NOT:      swizzle =
// ALWAYS-LABEL: tile.kernel @words
// ALWAYS:         tile.alloc : !tile.buffer<32x32xf32, #tile.shared<swizzle = 128>>
// REMARK:       [Missed] SwizzleSmem | Category:deplo-swizzle-smem | Function=words | Remark="the buffer of %x is not read by ldmatrix alone"
tile.kernel @words(%x: memref<32x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %b vector 1 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %b[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32, #column>
  tile.store %a, %y[%c0, %c0] : tensor<32x32xf32, #column>, memref<32x32xf32>
}

// -----

// REMARK: Function=none | Remark="the kernel has no shared buffer"
tile.kernel @none(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 step 32 grid) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
