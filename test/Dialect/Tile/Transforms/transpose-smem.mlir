// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-transpose-smem=mode=always --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-transpose-smem=mode=always --split-input-file --remark-format=emitRemark --remarks-filter=deplo-transpose-smem -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-transpose-smem=mode=never --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --deplo-transpose-smem --split-input-file | FileCheck %s --check-prefix=NEVER
// NEVER-NOT: tile.copy {{.*}} dims

// Both operands of x @ w.T lie along what is summed over: the masks of a copy
// go with its dimensions.

// CHECK-LABEL: tile.kernel @nt
// CHECK:         %[[S:.*]] = tile.alloc : !tile.buffer<16x128xf32, #tile.shared<>>
// CHECK:         %[[T:.*]] = tile.alloc : !tile.buffer<16x64xf32, #tile.shared<>>
// CHECK:         tile.copy %{{.*}} to %[[S]] dims [1, 0] bounds [10, 100]
// CHECK:         tile.copy %{{.*}} to %[[T]] dims [1, 0] bounds [10, 50]
// CHECK:         %[[A:.*]] = tile.read %[[S]]{{.*}} -> tensor<16x128xf32>
// CHECK:         %[[B:.*]] = tile.read %[[T]]{{.*}} -> tensor<16x64xf32>
// CHECK:         tile.dot %[[A]] dims [2, 0], %[[B]] dims [2, 1]
// REMARK:      [Passed] TransposeSmem | Category:deplo-transpose-smem | Function=nt | Remark="chunks of %x have a row for each summed element: 64 multiply-adds for each element that is copied"
// REMARK:      Function=nt | Remark="chunks of %w have a row for each summed element: 128 multiply-adds for each element that is copied"
tile.kernel @nt(%x: memref<100x10xf32>, %w: memref<50x10xf32>, %y: memref<100x50xf32>) axes(%i = 1 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %s = tile.alloc : !tile.buffer<128x16xf32, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %s bounds [100, 10] : memref<100x10xf32>, !tile.buffer<128x16xf32, #tile.shared<>>
  tile.copy %w[%c0, %c0] to %t bounds [50, 10] : memref<50x10xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %s[%c0, %c0] : !tile.buffer<128x16xf32, #tile.shared<>> -> tensor<128x16xf32>
  %b = tile.read %t[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
  %d = tile.dot %a dims [0, 2], %b dims [1, 2], %zero : tensor<128x16xf32>, tensor<64x16xf32>, tensor<128x64xf32>
  tile.store %d, %y[%c0, %c0] bounds [100, 50] : tensor<128x64xf32>, memref<100x50xf32>
}

// -----

// Rows along the sums are what fragments of tensor cores have.

// CHECK-LABEL:  tile.kernel @fragments
// CHECK:          tile.dot %{{.*}} dims [0, 2], %{{.*}} dims [2, 1]
// REMARK:       Function=fragments | Remark="no chunk of an operand has rows along what is summed over"
tile.kernel @fragments(%x: memref<64x16xf16>, %w: memref<16x64xf16>, %y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = tile.alloc : !tile.buffer<64x16xf16, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<16x64xf16, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %s : memref<64x16xf16>, !tile.buffer<64x16xf16, #tile.shared<>>
  tile.copy %w[%c0, %c0] to %t : memref<16x64xf16>, !tile.buffer<16x64xf16, #tile.shared<>>
  tile.barrier
  %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf16, #tile.shared<>> -> tensor<64x16xf16>
  %b = tile.read %t[%c0, %c0] : !tile.buffer<16x64xf16, #tile.shared<>> -> tensor<16x64xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zero atom<mma_sync, warps = [1, 1]> : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>
  tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

// Neighbours in a row are what a thread reads at once: the batch, of which a
// block has one, stays in front.

// CHECK-LABEL: tile.kernel @batch
// CHECK:         %[[S:.*]] = tile.alloc : !tile.buffer<1x16x64xf32, #tile.shared<>>
// CHECK:         tile.copy %{{.*}} to %[[S]] dims [1, 2, 0]
// CHECK:         %[[A:.*]] = tile.read %[[S]]{{.*}} -> tensor<1x16x64xf32>
// CHECK:         tile.dot %[[A]] dims [2, 3, 0]
tile.kernel @batch(%x: memref<64x4x16xf32>, %w: memref<4x16x64xf32>, %y: memref<64x64x4xf32>) axes(%p = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %s = tile.alloc : !tile.buffer<64x1x16xf32, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<1x16x64xf32, #tile.shared<>>
  tile.copy %x[%c0, %p, %c0] to %s : memref<64x4x16xf32>, !tile.buffer<64x1x16xf32, #tile.shared<>>
  tile.copy %w[%p, %c0, %c0] to %t : memref<4x16x64xf32>, !tile.buffer<1x16x64xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %s[%c0, %c0, %c0] : !tile.buffer<64x1x16xf32, #tile.shared<>> -> tensor<64x1x16xf32>
  %b = tile.read %t[%c0, %c0, %c0] : !tile.buffer<1x16x64xf32, #tile.shared<>> -> tensor<1x16x64xf32>
  %d = tile.dot %a dims [0, 2, 3], %b dims [2, 3, 1], %zero : tensor<64x1x16xf32>, tensor<1x16x64xf32>, tensor<64x64x1xf32>
  tile.store %d, %y[%c0, %c0, %p] : tensor<64x64x1xf32>, memref<64x64x4xf32>
}
