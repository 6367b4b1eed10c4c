// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-mark-unroll --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-mark-unroll --split-input-file --remark-format=emitRemark --remarks-filter=deplo-mark-unroll -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-mark-unroll=unroll=8 --split-input-file | FileCheck %s --check-prefix=EIGHT

// The factor divides the trip count: 4 of 12 iterations, and 3 of 9; but rather
// than 3 where 8 fit, 8 and a remainder.

// CHECK-LABEL: tile.kernel @divides
// CHECK:         scf.for
// CHECK:         } {tile.unroll = 4 : i64}
// CHECK:         scf.for
// CHECK:         } {tile.unroll = 3 : i64}
// REMARK: [Passed] MarkUnroll | Category:deplo-mark-unroll | Function=divides | Remark="4 of 12 iterations at once"
// REMARK: [Passed] MarkUnroll | Category:deplo-mark-unroll | Function=divides | Remark="3 of 9 iterations at once"

// EIGHT-LABEL: tile.kernel @divides
// EIGHT:         } {tile.unroll = 6 : i64}
// EIGHT:         } {tile.unroll = 8 : i64}
tile.kernel @divides(%x: memref<3072xf32>, %y: memref<3072xf32>) axes(%i = 1 step 1 grid) warps(1) attributes {schedule = #tile.schedule<block = [], warps = 1, vector = 1, unroll = 4>} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c2304 = arith.constant 2304 : index
  %c3072 = arith.constant 3072 : index
  scf.for %k = %c0 to %c3072 step %c256 {
    %a = tile.load %x[%k] : memref<3072xf32> -> tensor<256xf32>
    tile.store %a, %y[%k] : tensor<256xf32>, memref<3072xf32>
  }
  scf.for %k = %c0 to %c2304 step %c256 {
    %a = tile.load %x[%k] : memref<3072xf32> -> tensor<256xf32>
    tile.store %a, %y[%k] : tensor<256xf32>, memref<3072xf32>
  }
}

// -----

// A body of 3 times 512 elements in a thread fills the instruction cache by
// itself.

// CHECK-LABEL: tile.kernel @large_body
// CHECK-NOT:     tile.unroll
// EIGHT-LABEL: tile.kernel @large_body
// EIGHT-NOT:     tile.unroll
#layout = #tile.layout<[16384], register = [[32], [64], [128], [256], [512], [1024], [2048], [4096], [8192]], lane = [[1], [2], [4], [8], [16]], warp = []>
tile.kernel @large_body(%x: memref<65536xf32>, %y: memref<65536xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c16384 = arith.constant 16384 : index
  %c65536 = arith.constant 65536 : index
  scf.for %k = %c0 to %c65536 step %c16384 {
    %a = tile.load %x[%k] : memref<65536xf32> -> tensor<16384xf32, #layout>
    %b = arith.addf %a, %a : tensor<16384xf32, #layout>
    tile.store %b, %y[%k] : tensor<16384xf32, #layout>, memref<65536xf32>
  }
}

// -----

// The loop over chunks of a contraction is marked as one that isn't unrolled,
// where the products of a chunk fill the instruction cache: 64 sums in a thread,
// 32 products of each.

// CHECK-LABEL: tile.kernel @chunks
// CHECK:         } {tile.unroll = 1 : i64}
// EIGHT-LABEL: tile.kernel @chunks
// REMARK: [Passed] {{.*}} Function=chunks | Remark="a loop over chunks stays one"
#sums = #tile.layout<[64, 32], register = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], lane = [[8, 0], [16, 0], [32, 0], [0, 8], [0, 16]], warp = []>
#lhs = #tile.layout<[64, 32], register = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[8, 0], [16, 0], [32, 0], [0, 0], [0, 0]], warp = []>
#rhs = #tile.layout<[32, 32], register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 1], [0, 2], [0, 4]], lane = [[0, 0], [0, 0], [0, 0], [0, 8], [0, 16]], warp = []>
tile.kernel @chunks(%x: memref<64x64xf32>, %w: memref<64x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) warps(1) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32, #sums>
  %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %zeros) -> tensor<64x32xf32, #sums> {
    %a = tile.load %x[%i, %k] : memref<64x64xf32> -> tensor<64x32xf32, #lhs>
    %b = tile.load %w[%k, %j] : memref<64x32xf32> -> tensor<32x32xf32, #rhs>
    %next = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x32xf32, #lhs>, tensor<32x32xf32, #rhs>, tensor<64x32xf32, #sums>
    scf.yield %next : tensor<64x32xf32, #sums>
  }
  tile.store %sum, %y[%i, %j] : tensor<64x32xf32, #sums>, memref<64x32xf32>
}

// -----

// A loop over chunks has no remainder: 4 of 8 iterations, but 1 of 7, and 1 where
// each element is copied with an address of its own.

// CHECK-LABEL: tile.kernel @rings
// CHECK:         scf.for {{.*}} to %c64
// CHECK:         } {tile.unroll = 2 : i64}
// CHECK:         } {tile.unroll = 4 : i64}
// CHECK:         scf.for {{.*}} to %c56
// CHECK:         } {tile.unroll = 2 : i64}
// CHECK:         } {tile.unroll = 1 : i64}
// CHECK:         scf.for {{.*}} to %c64
// CHECK:         } {tile.unroll = 2 : i64}
// CHECK:         } {tile.unroll = 1 : i64}
// EIGHT-LABEL: tile.kernel @rings
#sums = #tile.layout<[8, 4], register = [], lane = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warp = []>
#lhs = #tile.layout<[8, 4], register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [0, 0], [0, 0]], warp = []>
#rhs = #tile.layout<[4, 4], register = [[1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 1], [0, 2]], warp = []>
tile.kernel @rings(%x: memref<8x64xf32>, %w: memref<64x4xf32>, %y: memref<8x4xf32>) axes(%i = 8 tile, %j = 4 tile) warps(1) attributes {schedule = #tile.schedule<block = [8, 4], warps = 1, vector = 1, unroll = 4>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c56 = arith.constant 56 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<8x4xf32, #sums>
  %buffer = tile.alloc : !tile.buffer<64x4xf32, #tile.shared<>>
  %even = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %zeros) -> tensor<8x4xf32, #sums> {
    %p = scf.for %s = %c0 to %c8 step %c4 iter_args(%part = %acc) -> tensor<8x4xf32, #sums> {
      %a = tile.load %x[%i, %s] : memref<8x64xf32> -> tensor<8x4xf32, #lhs>
      %b = tile.load %w[%s, %j] : memref<64x4xf32> -> tensor<4x4xf32, #rhs>
      %next = tile.dot %a dims [0, 2], %b dims [2, 1], %part : tensor<8x4xf32, #lhs>, tensor<4x4xf32, #rhs>, tensor<8x4xf32, #sums>
      scf.yield %next : tensor<8x4xf32, #sums>
    }
    scf.yield %p : tensor<8x4xf32, #sums>
  }
  %odd = scf.for %k = %c0 to %c56 step %c8 iter_args(%acc = %even) -> tensor<8x4xf32, #sums> {
    %p = scf.for %s = %c0 to %c8 step %c4 iter_args(%part = %acc) -> tensor<8x4xf32, #sums> {
      %a = tile.load %x[%i, %s] : memref<8x64xf32> -> tensor<8x4xf32, #lhs>
      %b = tile.load %w[%s, %j] : memref<64x4xf32> -> tensor<4x4xf32, #rhs>
      %next = tile.dot %a dims [0, 2], %b dims [2, 1], %part : tensor<8x4xf32, #lhs>, tensor<4x4xf32, #rhs>, tensor<8x4xf32, #sums>
      scf.yield %next : tensor<8x4xf32, #sums>
    }
    scf.yield %p : tensor<8x4xf32, #sums>
  }
  %copied = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %odd) -> tensor<8x4xf32, #sums> {
    %token = tile.async_copy %w[%k, %j] to %buffer vector 1 : memref<64x4xf32>, !tile.buffer<64x4xf32, #tile.shared<>>
    tile.await %token
    %p = scf.for %s = %c0 to %c8 step %c4 iter_args(%part = %acc) -> tensor<8x4xf32, #sums> {
      %a = tile.load %x[%i, %s] : memref<8x64xf32> -> tensor<8x4xf32, #lhs>
      %b = tile.load %w[%s, %j] : memref<64x4xf32> -> tensor<4x4xf32, #rhs>
      %next = tile.dot %a dims [0, 2], %b dims [2, 1], %part : tensor<8x4xf32, #lhs>, tensor<4x4xf32, #rhs>, tensor<8x4xf32, #sums>
      scf.yield %next : tensor<8x4xf32, #sums>
    }
    scf.yield %p : tensor<8x4xf32, #sums>
  }
  tile.store %copied, %y[%i, %j] : tensor<8x4xf32, #sums>, memref<8x4xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=no_loop | Remark="the kernel has no loop"
tile.kernel @no_loop(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
