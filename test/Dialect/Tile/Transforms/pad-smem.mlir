// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-pad-smem --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-pad-smem --split-input-file --remark-format=emitRemark --remarks-filter=deplo-pad-smem -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-pad-smem=mode=always --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-pad-smem=mode=never --split-input-file | FileCheck %s --check-prefix=NEVER

// Lanes read down a column of 32 words a row: all hit one bank, until each row
// is shifted by one.

// CHECK-LABEL: tile.kernel @column
// CHECK:         tile.alloc : !tile.buffer<32x32xf32, #tile.shared<pad = 1>>
// REMARK: [Passed] PadSmem | Category:deplo-pad-smem | Function=column | Remark="accesses of the buffer of %x: 32-way -> conflict-free with a pad of 1"
// NEVER-NOT:   pad =
#column = #tile.layout<[32, 32], register = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
tile.kernel @column(%x: memref<32x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %b vector 1 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %b[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32, #column>
  tile.store %a, %y[%c0, %c0] : tensor<32x32xf32, #column>, memref<32x32xf32>
}

// -----

// Copies of 16 bytes need rows that start at multiples of them: the pad is four
// words, and leaves reads of one word 4-way.

// CHECK-LABEL: tile.kernel @keeps_vectors
// CHECK:         tile.alloc : !tile.buffer<32x32xf32, #tile.shared<pad = 4>>
// REMARK: Function=keeps_vectors | Remark="accesses of the buffer of %x: 32-way -> 4-way with a pad of 4"
#column = #tile.layout<[32, 32], register = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
tile.kernel @keeps_vectors(%x: memref<32x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
  %t = tile.async_copy %x[%c0, %c0] to %b vector 4 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
  tile.await %t
  tile.barrier
  %a = tile.read %b[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32, #column>
  tile.store %a, %y[%c0, %c0] : tensor<32x32xf32, #column>, memref<32x32xf32>
}

// -----

// Rows that lanes read along have no conflicts, in chunks as well.

// CHECK-LABEL: tile.kernel @row
// CHECK:         tile.alloc : !tile.buffer<2x8192xf32, #tile.shared<>>
// REMARK: [Missed] {{.*}} Function=row | Remark="the buffer of %x has conflict-free accesses"
#row = #tile.layout<[2, 512], register = [[0, 1], [0, 2], [0, 128], [0, 256]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[1, 0]]>
tile.kernel @row(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 2 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c8192 = arith.constant 8192 : index
  %b = tile.alloc : !tile.buffer<2x8192xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b : memref<32x8192xf32>, !tile.buffer<2x8192xf32, #tile.shared<>>
  tile.barrier
  scf.for %k = %c0 to %c8192 step %c512 {
    %a = tile.read %b[%c0, %k] : !tile.buffer<2x8192xf32, #tile.shared<>> -> tensor<2x512xf32, #row>
    tile.store %a, %y[%i, %k] : tensor<2x512xf32, #row>, memref<32x8192xf32>
  }
}

// -----

// A pad of more than a quarter of the buffer is for `always` only.

// CHECK-LABEL: tile.kernel @budget
// CHECK:         tile.alloc : !tile.buffer<32x2xf32, #tile.shared<>>
// REMARK: Function=budget | Remark="the buffer of %x keeps 2-way accesses: no pad of up to 64 bytes lowers that"
// ALWAYS-LABEL: tile.kernel @budget
// ALWAYS:         tile.alloc : !tile.buffer<32x2xf32, #tile.shared<pad = 1>>
#column = #tile.layout<[32, 2], register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
tile.kernel @budget(%x: memref<32x3xf32>, %y: memref<32x3xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<32x2xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %b : memref<32x3xf32>, !tile.buffer<32x2xf32, #tile.shared<>>
  tile.barrier
  %c1 = arith.constant 1 : index
  %a = tile.read %b[%c0, %c1] : !tile.buffer<32x2xf32, #tile.shared<>> -> tensor<32x2xf32, #column>
  tile.store %a, %y[%c0, %c0] : tensor<32x2xf32, #column>, memref<32x3xf32>
}

// -----

// Rows are evenly spaced in a step of a chunk, too, if what is in front of them
// has one element.

// CHECK-LABEL: tile.kernel @step
// CHECK:         tile.alloc : !tile.buffer<1x64x32xf32, #tile.shared<pad = 1>>
#column = #tile.layout<[1, 32, 32], register = [[0, 0, 16], [0, 0, 8], [0, 0, 4], [0, 0, 2], [0, 0, 1]], lane = [[0, 1, 0], [0, 2, 0], [0, 4, 0], [0, 8, 0], [0, 16, 0]], warp = []>
tile.kernel @step(%x: memref<1x64x32xf32>, %y: memref<1x32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %b = tile.alloc : !tile.buffer<1x64x32xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0, %c0] to %b vector 1 : memref<1x64x32xf32>, !tile.buffer<1x64x32xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %b[%c0, %c32, %c0] : !tile.buffer<1x64x32xf32, #tile.shared<>> -> tensor<1x32x32xf32, #column>
  tile.store %a, %y[%c0, %c0, %c0] : tensor<1x32x32xf32, #column>, memref<1x32x32xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=no_layout | Remark="a buffer has accesses without layouts or evenly spaced rows"
tile.kernel @no_layout(%y: memref<32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<32xf32, #tile.shared<>>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  tile.write %zero, %b[%c0] : tensor<32xf32>, !tile.buffer<32xf32, #tile.shared<>>
}

// -----

// REMARK: [Missed] {{.*}} Function=no_buffer | Remark="the kernel has no shared buffer"
tile.kernel @no_buffer(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
