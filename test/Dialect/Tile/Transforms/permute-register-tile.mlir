// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-permute-register-tile))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-permute-register-tile))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-permute-register-tile 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Lanes read rows that are eight apart: 8 * (32 + pad) words, the same banks
// whatever the pad. In strips of two they are not.
#acc = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 4], [0, 8], [0, 16]], warp = []>
#lhs = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 0], [0, 0], [0, 0]], warp = []>
#rhs = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = []>
// CHECK-DAG: #[[$LEFT:.+]] = #tile.layout<[8, 4], register = {{\[\[}}0, 1], [0, 2], [1, 0]], lane = {{\[\[}}2, 0], [4, 0], [0, 0], [0, 0], [0, 0]], warp = []>
// CHECK-DAG: #[[$LHS:.+]] = #tile.layout<[32, 4], register = {{\[\[}}0, 1], [0, 2], [1, 0], [8, 0], [16, 0]], lane = {{\[\[}}2, 0], [4, 0], [0, 0], [0, 0], [0, 0]], warp = []>
// CHECK-LABEL: tile.kernel @nn
// CHECK:         tile.read {{.+}} -> tensor<32x4xf32, #[[$LHS]]>
// REMARK: strips of 2 along dimension 0: reads of shared memory 4-way -> conflict-free
tile.kernel @nn(%x: memref<32x32xf32>, %w: memref<32x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  %s = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %s : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
  tile.copy %w[%c0, %c0] to %t : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %s[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x4xf32, #lhs>
  %b = tile.read %t[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<4x32xf32, #rhs>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x4xf32, #lhs>, tensor<4x32xf32, #rhs>, tensor<32x32xf32, #acc>
  tile.store %d, %y[%c0, %c0] : tensor<32x32xf32, #acc>, memref<32x32xf32>
}

// Lanes read rows that are two apart, in different banks: strips change nothing.
#best = #tile.layout<[8, 32], register = [[0, 1], [0, 2], [1, 0]], lane = [[2, 0], [4, 0], [0, 4], [0, 8], [0, 16]], warp = []>
#left = #tile.layout<[8, 4], register = [[0, 1], [0, 2], [1, 0]], lane = [[2, 0], [4, 0], [0, 0], [0, 0], [0, 0]], warp = []>
// CHECK-LABEL: tile.kernel @no_conflicts
// CHECK:         tile.read {{.+}} -> tensor<8x4xf32, #[[$LEFT]]>
// REMARK: [Missed] {{.*}} Function=no_conflicts | Remark="no strips lower the bank conflicts of its reads"
tile.kernel @no_conflicts(%x: memref<8x4xf32>, %w: memref<4x32xf32>, %y: memref<8x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32, #best>
  %s = tile.alloc : !tile.buffer<8x4xf32, #tile.shared<>>
  %t = tile.alloc : !tile.buffer<4x32xf32, #tile.shared<>>
  tile.copy %x[%c0, %c0] to %s : memref<8x4xf32>, !tile.buffer<8x4xf32, #tile.shared<>>
  tile.copy %w[%c0, %c0] to %t : memref<4x32xf32>, !tile.buffer<4x32xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %s[%c0, %c0] : !tile.buffer<8x4xf32, #tile.shared<>> -> tensor<8x4xf32, #left>
  %b = tile.read %t[%c0, %c0] : !tile.buffer<4x32xf32, #tile.shared<>> -> tensor<4x32xf32, #rhs>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<8x4xf32, #left>, tensor<4x32xf32, #rhs>, tensor<8x32xf32, #best>
  tile.store %d, %y[%c0, %c0] : tensor<8x32xf32, #best>, memref<8x32xf32>
}

// REMARK: [Missed] {{.*}} Function=no_contraction | Remark="the kernel has no register tile of a contraction"
tile.kernel @no_contraction(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
