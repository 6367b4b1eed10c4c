// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-rasterize-grid))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-rasterize-grid{group=4}))' --split-input-file | FileCheck %s --check-prefix=FOUR
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-rasterize-grid))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-rasterize-grid -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-rasterize-grid{group=-1}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: 'tile.kernel' op can't be numbered in groups of -1 rows, expected a positive number

// 132 blocks of 16x32 at once: 16 rows of blocks by 8 columns are 256x256.

// CHECK-LABEL: tile.kernel @square
// CHECK-SAME:    tile.raster = 16 : i64
// FOUR:          tile.raster = 4 : i64
// REMARK:      [Passed] RasterizeGrid | Category:deplo-rasterize-grid | Function=square | Remark="blocks go down 16 rows before the next column"
tile.kernel @square(%x: memref<1024x16xf16>, %w: memref<16x1024xf16>, %y: memref<1024x1024xf32>) axes(%i = 1024 step 16 grid, %j = 1024 step 32 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %a = tile.load %x[%i, %c0] : memref<1024x16xf16> -> tensor<16x16xf16>
  %b = tile.load %w[%c0, %j] : memref<16x1024xf16> -> tensor<16x32xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x32xf16>, tensor<16x32xf32>
  tile.store %d, %y[%i, %j] : tensor<16x32xf32>, memref<1024x1024xf32>
}

// -----

// REMARK: [Missed] RasterizeGrid | Category:deplo-rasterize-grid | Function=row | Remark="blocks have no two axes with several along each"
tile.kernel @row(%x: memref<16x16xf16>, %w: memref<16x1024xf16>, %y: memref<16x1024xf32>) axes(%i = 16 step 16 grid, %j = 1024 step 32 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %a = tile.load %x[%i, %c0] : memref<16x16xf16> -> tensor<16x16xf16>
  %b = tile.load %w[%c0, %j] : memref<16x1024xf16> -> tensor<16x32xf16>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x32xf16>, tensor<16x32xf32>
  tile.store %d, %y[%i, %j] : tensor<16x32xf32>, memref<16x1024xf32>
}

// -----

// REMARK: Function=copy | Remark="blocks share no operand of a contraction"
tile.kernel @copy(%x: memref<64x64xf32>, %y: memref<64x64xf32>) axes(%i = 64 step 32 grid, %j = 64 step 32 grid) warps(1) {
  %a = tile.load %x[%i, %j] : memref<64x64xf32> -> tensor<32x32xf32>
  tile.store %a, %y[%i, %j] : tensor<32x32xf32>, memref<64x64xf32>
}

// -----

// Groups are as high as where the launch gives many rows; a lower grid has one
// group of fewer.

// CHECK-LABEL: tile.kernel @rows
// CHECK-SAME:    tile.raster = 16 : i64
// REMARK:      Function=rows | Remark="blocks go down 16 rows before the next column"
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 1000>}} {
  tile.kernel @rows(%x: memref<1048583x16xf16>, %w: memref<16x1024xf16>, %y: memref<1048583x1024xf32>) axes(%i = 1048583 step 16 grid, %j = 1024 step 32 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
    %a = tile.load %x[%i, %c0] bounds [1048583, 16] : memref<1048583x16xf16> -> tensor<16x16xf16>
    %b = tile.load %w[%c0, %j] : memref<16x1024xf16> -> tensor<16x32xf16>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x32xf16>, tensor<16x32xf32>
    tile.store %d, %y[%i, %j] bounds [1048583, 1024] : tensor<16x32xf32>, memref<1048583x1024xf32>
  }
}

// -----

// CHECK-LABEL: tile.kernel @few_rows
// CHECK-NOT:     tile.raster
// REMARK:      Function=few_rows | Remark="blocks have no two axes with several along each"
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 16>}} {
  tile.kernel @few_rows(%x: memref<1048583x16xf16>, %w: memref<16x1024xf16>, %y: memref<1048583x1024xf32>) axes(%i = 1048583 step 16 grid, %j = 1024 step 32 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
    %a = tile.load %x[%i, %c0] bounds [1048583, 16] : memref<1048583x16xf16> -> tensor<16x16xf16>
    %b = tile.load %w[%c0, %j] : memref<16x1024xf16> -> tensor<16x32xf16>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<16x16xf16>, tensor<16x32xf16>, tensor<16x32xf32>
    tile.store %d, %y[%i, %j] bounds [1048583, 1024] : tensor<16x32xf32>, memref<1048583x1024xf32>
  }
}
