// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-pipeline-k-outer,deplo-prefetch-fragments))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-pipeline-k-outer,deplo-prefetch-fragments))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-prefetch-fragments -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Three slots: the first chunk is awaited before the loop, the next one at the
// end of each iteration, before the last step of the chunk at hand.

#acc = #tile.layout<[16, 8], register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[16, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[8, 16], register = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#shared = #tile.shared<swizzle = 64>
// REMARK: [Passed] PrefetchFragments | Category:deplo-prefetch-fragments | Function=chunks | Remark="fragments are read a step ahead"
// CHECK-LABEL: tile.kernel @chunks
// CHECK:         tile.await %[[T0:.+]], %[[U0:.+]]
// CHECK-NEXT:    tile.barrier
// CHECK:         %[[A0:.+]] = tile.read
// CHECK-NEXT:    %[[B0:.+]] = tile.read
// CHECK:         %[[R:.+]]:5 = scf.for %[[K:.+]] = {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[T:.+]] = %{{.+}}, %[[U:.+]] = %{{.+}}, %[[A:.+]] = %[[A0]], %[[B:.+]] = %[[B0]])
// CHECK-NOT:       tile.await
// CHECK:           %[[V:.+]] = tile.async_copy
// CHECK:           %[[W:.+]] = tile.async_copy
// CHECK:           %[[A1:.+]] = tile.read %{{.+}}[%{{.+}}, %c16{{.*}}]
// CHECK:           %[[B1:.+]] = tile.read %{{.+}}[%{{.+}}, %c16{{.*}}]
// CHECK:           %[[D:.+]] = tile.dot %[[A]] dims [0, 2], %[[B]] dims [1, 2], %[[ACC]]
// CHECK:           tile.await %[[T]], %[[U]]
// CHECK-NEXT:      tile.barrier
// CHECK:           %[[A2:.+]] = tile.read
// CHECK:           %[[B2:.+]] = tile.read
// CHECK:           %[[E:.+]] = tile.dot %[[A1]] dims [0, 2], %[[B1]] dims [1, 2], %[[D]]
// CHECK:           scf.yield %[[E]], %[[V]], %[[W]], %[[A2]], %[[B2]]
// CHECK:         tile.await %[[R]]#1, %[[R]]#2
// CHECK-NOT:     tile.await
// CHECK:         tile.store %[[R]]#0
tile.kernel @chunks(%x: memref<16x128xf16>, %w: memref<8x128xf16>, %y: memref<16x8xf32>) axes(%i = 16 step 16 grid, %j = 8 step 8 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zeros = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %r = tile.alloc : !tile.buffer<3x16x32xf16, #shared>
  %q = tile.alloc : !tile.buffer<3x8x32xf16, #shared>
  %d = scf.for %k = %c0 to %c128 step %c32 iter_args(%acc = %zeros) -> (tensor<16x8xf32, #acc>) {
    %n = arith.divui %k, %c32 : index
    %m = arith.remui %n, %c3 : index
    %s = tile.slot %r[%m] : !tile.buffer<3x16x32xf16, #shared> -> !tile.buffer<16x32xf16, #shared>
    %p = tile.slot %q[%m] : !tile.buffer<3x8x32xf16, #shared> -> !tile.buffer<8x32xf16, #shared>
    %t = tile.async_copy %x[%i, %k] to %s vector 8 : memref<16x128xf16>, !tile.buffer<16x32xf16, #shared>
    %u = tile.async_copy %w[%j, %k] to %p vector 8 : memref<8x128xf16>, !tile.buffer<8x32xf16, #shared>
    tile.await %t, %u
    tile.barrier
    %e = scf.for %kk = %c0 to %c32 step %c16 iter_args(%c = %acc) -> (tensor<16x8xf32, #acc>) {
      %a = tile.read %s[%c0, %kk] : !tile.buffer<16x32xf16, #shared> -> tensor<16x16xf16, #lhs>
      %b = tile.read %p[%c0, %kk] : !tile.buffer<8x32xf16, #shared> -> tensor<8x16xf16, #rhs>
      %f = tile.dot %a dims [0, 2], %b dims [1, 2], %c atom<mma_sync, warps = [1, 1]> : tensor<16x16xf16, #lhs>, tensor<8x16xf16, #rhs>, tensor<16x8xf32, #acc>
      scf.yield %f : tensor<16x8xf32, #acc>
    }
    scf.yield %e : tensor<16x8xf32, #acc>
  }
  tile.store %d, %y[%i, %j] : tensor<16x8xf32, #acc>, memref<16x8xf32>
}

// -----

// Multiply-adds read their operands where they are used.

#acc = #tile.layout<[8, 16], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[8, 4], register = [[0, 1], [0, 2]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[4, 16], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 4], [0, 8], [0, 0], [0, 0], [0, 0]], warp = []>
// REMARK: [Missed] PrefetchFragments | Category:deplo-prefetch-fragments | Function=multiply_adds | Remark="no pipelined loop reads fragments of tensor cores in several steps"
// CHECK-LABEL: tile.kernel @multiply_adds
// CHECK:         scf.for
// CHECK:           tile.await
// CHECK:           scf.for
tile.kernel @multiply_adds(%x: memref<8x64xf32>, %w: memref<64x16xf32>, %y: memref<8x16xf32>) axes(%i = 8 step 8 grid, %j = 16 step 16 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<8x16xf32, #acc>
  %r = tile.alloc : !tile.buffer<2x8x8xf32, #tile.shared<>>
  %q = tile.alloc : !tile.buffer<2x8x16xf32, #tile.shared<>>
  %d = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %zeros) -> (tensor<8x16xf32, #acc>) {
    %n = arith.divui %k, %c8 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !tile.buffer<2x8x8xf32, #tile.shared<>> -> !tile.buffer<8x8xf32, #tile.shared<>>
    %p = tile.slot %q[%m] : !tile.buffer<2x8x16xf32, #tile.shared<>> -> !tile.buffer<8x16xf32, #tile.shared<>>
    %t = tile.async_copy %x[%i, %k] to %s vector 4 : memref<8x64xf32>, !tile.buffer<8x8xf32, #tile.shared<>>
    %u = tile.async_copy %w[%k, %j] to %p vector 4 : memref<64x16xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    tile.await %t, %u
    tile.barrier
    %e = scf.for %kk = %c0 to %c8 step %c4 iter_args(%c = %acc) -> (tensor<8x16xf32, #acc>) {
      %a = tile.read %s[%c0, %kk] : !tile.buffer<8x8xf32, #tile.shared<>> -> tensor<8x4xf32, #lhs>
      %b = tile.read %p[%kk, %c0] : !tile.buffer<8x16xf32, #tile.shared<>> -> tensor<4x16xf32, #rhs>
      %f = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<8x4xf32, #lhs>, tensor<4x16xf32, #rhs>, tensor<8x16xf32, #acc>
      scf.yield %f : tensor<8x16xf32, #acc>
    }
    scf.yield %e : tensor<8x16xf32, #acc>
  }
  tile.store %d, %y[%i, %j] : tensor<8x16xf32, #acc>, memref<8x16xf32>
}
