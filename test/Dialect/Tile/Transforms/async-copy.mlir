// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-async-copy --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-async-copy --split-input-file --remark-format=emitRemark --remarks-filter=deplo-async-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-async-copy=alignment=4 --split-input-file | FileCheck %s --check-prefix=ALIGN4
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-async-copy=mode=never --split-input-file | FileCheck %s --check-prefix=NEVER

// Copies before a barrier are awaited together.

// CHECK-LABEL: tile.kernel @two_copies
// CHECK:         %[[T0:.+]] = tile.async_copy {{.*}} vector 4 : memref<8x1024xf32>
// CHECK:         %[[T1:.+]] = tile.async_copy {{.*}} vector 8 : memref<1024xbf16>
// CHECK-NEXT:    tile.await %[[T0]], %[[T1]]
// CHECK-NEXT:    tile.barrier
// REMARK: [Passed] AsyncCopy | Category:deplo-async-copy | Function=two_copies | Remark="%x is copied 16 bytes at a time"
// REMARK: [Passed] AsyncCopy | Category:deplo-async-copy | Function=two_copies | Remark="%w is copied 16 bytes at a time"

// ALIGN4-LABEL: tile.kernel @two_copies
// ALIGN4:         tile.async_copy {{.*}} vector 1 : memref<8x1024xf32>
// ALIGN4:         tile.async_copy {{.*}} vector 2 : memref<1024xbf16>
// NEVER-NOT:    async_copy
tile.kernel @two_copies(%x: memref<8x1024xf32>, %w: memref<1024xbf16>) axes(%i = 8 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b : memref<8x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  %d = tile.alloc : !tile.buffer<1024xbf16, #tile.shared<>>
  tile.copy %w[%c0] to %d : memref<1024xbf16>, !tile.buffer<1024xbf16, #tile.shared<>>
  tile.barrier
}

// -----

// Strides and bounds decide how much is copied at once: rows of 1022 elements
// start at multiples of 8 bytes, and a bound of 1021 may end within a copy.

// CHECK-LABEL: tile.kernel @granules
// CHECK:         tile.async_copy %{{.*}} to %{{.*}} vector 2 : memref<8x1022xf32>
// CHECK:         tile.async_copy %{{.*}} to %{{.*}} bounds [8, 1021] vector 4 : memref<8x1024xf32>
tile.kernel @granules(%x: memref<8x1022xf32>, %z: memref<8x1024xf32>) axes(%i = 8 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<1x512xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b : memref<8x1022xf32>, !tile.buffer<1x512xf32, #tile.shared<>>
  %d = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.copy %z[%i, %c0] to %d bounds [8, 1021] : memref<8x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.barrier
}

// -----

// Single elements of 2 bytes, transposed boxes of them, and copies without a
// barrier stay as they are.

// CHECK-LABEL: tile.kernel @too_small
// CHECK-NOT:     tile.async_copy
// REMARK: [Missed] {{.*}} Function=too_small | Remark="no neighbours of 4 bytes that are aligned and masked alike, before a barrier: %x, %z, %w"
tile.kernel @too_small(%x: memref<8x1023xbf16>, %z: memref<64x64xf16>, %w: memref<64xf32>) axes(%i = 8 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<1x512xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b : memref<8x1023xbf16>, !tile.buffer<1x512xbf16, #tile.shared<>>
  %d = tile.alloc : !tile.buffer<64x64xf16, #tile.shared<>>
  tile.copy %z[%c0, %c0] to %d dims [1, 0] : memref<64x64xf16>, !tile.buffer<64x64xf16, #tile.shared<>>
  tile.barrier
  %e = tile.alloc : !tile.buffer<64xf32, #tile.shared<>>
  tile.copy %w[%c0] to %e : memref<64xf32>, !tile.buffer<64xf32, #tile.shared<>>
}

// -----

// REMARK: [Missed] {{.*}} Function=no_copy | Remark="nothing is copied to shared memory"
tile.kernel @no_copy(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
