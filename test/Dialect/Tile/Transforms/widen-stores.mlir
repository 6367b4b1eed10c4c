// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-widen-stores --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-widen-stores --split-input-file --remark-format=emitRemark --remarks-filter=deplo-widen-stores -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Four lanes hold a run of eight: of 32 columns, each lane gets one run whole.

#lhs = #tile.layout<[16, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[16, 32], register = [[1, 0], [8, 0], [0, 8], [0, 16]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#acc = #tile.layout<[16, 32], register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
// CHECK: #[[$ROWS:.+]] = #tile.layout<[16, 32], register = {{\[\[}}0, 1], [0, 2], [0, 4], [8, 0]], lane = {{\[\[}}0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = []>
// CHECK-LABEL: tile.kernel @halves
// CHECK:         %[[B:.+]] = tile.convert_layout {{.+}} -> tensor<16x32xf16, #[[$ROWS]]>
// CHECK:         tile.store %[[B]]
// REMARK: [Passed] WidenStores | Category:deplo-widen-stores | Function=halves | Remark="%y is written 16 bytes at a time"
tile.kernel @halves(%x: memref<16x16xf16>, %w: memref<16x32xf16>, %y: memref<16x32xf16>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32, #acc>
  %a = tile.load %x[%c0, %c0] : memref<16x16xf16> -> tensor<16x16xf16, #lhs>
  %b = tile.load %w[%c0, %c0] : memref<16x32xf16> -> tensor<16x32xf16, #rhs>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros atom<mma_sync, warps = [1, 1]> : tensor<16x16xf16, #lhs>, tensor<16x32xf16, #rhs>, tensor<16x32xf32, #acc>
  %e = arith.truncf %d : tensor<16x32xf32, #acc> to tensor<16x32xf16, #acc>
  tile.store %e, %y[%c0, %c0] : tensor<16x32xf16, #acc>, memref<16x32xf16>
}

// -----

// Rows of 33 elements are not aligned.

#lhs = #tile.layout<[16, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[16, 32], register = [[1, 0], [8, 0], [0, 8], [0, 16]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#acc = #tile.layout<[16, 32], register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
// CHECK-LABEL: tile.kernel @unaligned
// CHECK-NOT:     tile.convert_layout
// REMARK: [Missed] WidenStores | Category:deplo-widen-stores | Function=unaligned | Remark="no exchange between lanes makes accesses wider"
tile.kernel @unaligned(%x: memref<16x16xf16>, %w: memref<16x32xf16>, %y: memref<16x33xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32, #acc>
  %a = tile.load %x[%c0, %c0] : memref<16x16xf16> -> tensor<16x16xf16, #lhs>
  %b = tile.load %w[%c0, %c0] : memref<16x32xf16> -> tensor<16x32xf16, #rhs>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros atom<mma_sync, warps = [1, 1]> : tensor<16x16xf16, #lhs>, tensor<16x32xf16, #rhs>, tensor<16x32xf32, #acc>
  tile.store %d, %y[%c0, %c0] : tensor<16x32xf32, #acc>, memref<16x33xf32>
}

// -----

// REMARK: Function=copy | Remark="the kernel has no fragments of tensor cores"
tile.kernel @copy(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 step 32 grid) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
