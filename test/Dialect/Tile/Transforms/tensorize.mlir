// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tensorize))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tensorize))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-tensorize -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tensorize{warp-tile=16,16}))' --split-input-file | FileCheck %s --check-prefix=OPTION
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tensorize{warp-tile=16}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: error: 'tile.kernel' op has a warp tile of other sizes than two powers of two, expected rows and columns such as 64,64

// As many warps along rows and columns as there are warp tiles.

// CHECK-LABEL: tile.kernel @halves
// CHECK:         tile.dot {{.+}} atom<mma_sync, warps = [2, 1]>
// REMARK:        [Passed] Tensorize | Category:deplo-tensorize | Function=halves | Remark="mma_sync, 2x1 warps of tiles of 32x32"
// OPTION-LABEL:  tile.kernel @halves
// OPTION:        atom<mma_sync
tile.kernel @halves(%x: memref<64x64xf16>, %w: memref<64x32xf16>, %y: memref<64x32xf32>) axes(%i = 64 step 64 grid, %j = 32 step 32 grid) warps(2) attributes {schedule = #tile.schedule<block = [64, 32], warps = 2, vector = 8, atom = mma_sync, warp_tile = [32, 32]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.load %x[%i, %c0] : memref<64x64xf16> -> tensor<64x64xf16>
  %b = tile.load %w[%c0, %j] : memref<64x32xf16> -> tensor<64x32xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<64x64xf16>, tensor<64x32xf16>, tensor<64x32xf32>
  tile.store %d, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// Tensor cores round f32, so that the dot must allow it.

// CHECK-LABEL: tile.kernel @singles
// CHECK:         tile.dot {{.+}} precision tf32 atom<mma_sync, warps = [1, 1]>
// CHECK-LABEL: tile.kernel @exact_singles
// CHECK-NOT:     atom<
// REMARK:        [Missed] Tensorize | Category:deplo-tensorize | Function=exact_singles | Remark="tensor cores multiply f16, bf16 or, with precision f32, f32_fast or tf32, f32 into f32, or i8 into i32"
tile.kernel @singles(%x: memref<16x8xf32>, %w: memref<8x16xf32>, %y: memref<16x16xf32>) axes(%i = 16 step 16 grid, %j = 16 step 16 grid) warps(1) attributes {schedule = #tile.schedule<block = [16, 16], warps = 1, vector = 4, atom = mma_sync, warp_tile = [16, 16]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%i, %c0] : memref<16x8xf32> -> tensor<16x8xf32>
  %b = tile.load %w[%c0, %j] : memref<8x16xf32> -> tensor<8x16xf32>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros precision tf32 : tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x16xf32>
  tile.store %d, %y[%i, %j] : tensor<16x16xf32>, memref<16x16xf32>
}
tile.kernel @exact_singles(%x: memref<16x8xf32>, %w: memref<8x16xf32>, %y: memref<16x16xf32>) axes(%i = 16 step 16 grid, %j = 16 step 16 grid) warps(1) attributes {schedule = #tile.schedule<block = [16, 16], warps = 1, vector = 4, atom = mma_sync, warp_tile = [16, 16]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%i, %c0] : memref<16x8xf32> -> tensor<16x8xf32>
  %b = tile.load %w[%c0, %j] : memref<8x16xf32> -> tensor<8x16xf32>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x16xf32>
  tile.store %d, %y[%i, %j] : tensor<16x16xf32>, memref<16x16xf32>
}

// -----

// A chunk is a whole number of instructions deep, and warp tiles are those of
// the kernel's warps.

// CHECK-LABEL: tile.kernel @short
// CHECK-NOT:     atom<
// REMARK:        Function=short | Remark="a chunk has 8 summed elements, an instruction takes 16"
// REMARK:        Function=warps | Remark="tiles of 16x16 are of 1x1 warps, the kernel has 2"
tile.kernel @short(%x: memref<16x8xf16>, %w: memref<8x16xf16>, %y: memref<16x16xf32>) axes(%i = 16 step 16 grid, %j = 16 step 16 grid) warps(1) attributes {schedule = #tile.schedule<block = [16, 16], warps = 1, vector = 4, atom = mma_sync, warp_tile = [16, 16]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%i, %c0] : memref<16x8xf16> -> tensor<16x8xf16>
  %b = tile.load %w[%c0, %j] : memref<8x16xf16> -> tensor<8x16xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x8xf16>, tensor<8x16xf16>, tensor<16x16xf32>
  tile.store %d, %y[%i, %j] : tensor<16x16xf32>, memref<16x16xf32>
}
tile.kernel @warps(%x: memref<16x16xf16>, %w: memref<16x16xf16>, %y: memref<16x16xf32>) axes(%i = 16 step 16 grid, %j = 16 step 16 grid) warps(2) attributes {schedule = #tile.schedule<block = [16, 16], warps = 2, vector = 4, atom = mma_sync, warp_tile = [16, 16]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%i, %c0] : memref<16x16xf16> -> tensor<16x16xf16>
  %b = tile.load %w[%c0, %j] : memref<16x16xf16> -> tensor<16x16xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  tile.store %d, %y[%i, %j] : tensor<16x16xf32>, memref<16x16xf32>
}

// -----

// REMARK: Function=scheduled | Remark="the schedule says multiply-adds"
tile.kernel @scheduled(%x: memref<16x16xf16>, %w: memref<16x16xf16>, %y: memref<16x16xf32>) axes(%i = 16 step 16 grid, %j = 16 step 16 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%i, %c0] : memref<16x16xf16> -> tensor<16x16xf16>
  %b = tile.load %w[%c0, %j] : memref<16x16xf16> -> tensor<16x16xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  tile.store %d, %y[%i, %j] : tensor<16x16xf32>, memref<16x16xf32>
}

// -----

// REMARK: Function=copy | Remark="the kernel has no contraction"
tile.kernel @copy(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 step 32 grid) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
