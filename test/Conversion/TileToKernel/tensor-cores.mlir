// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-tile-to-kernel --split-input-file | FileCheck %s

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#acc = #tile.layout<[16, 8], register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[16, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[16, 8], register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#shared = #tile.shared<swizzle = 32>
#plain = #tile.shared<>

// Rows along the summed dimension are read as they are, others transposed. The
// place of a chunk in its row is exclusive-ored with the row's number.
// CHECK-LABEL: llvm.func @halves
//       CHECK:   %[[ROW:.+]] = arith.shrui %{{.+}}, %c3_i32
//       CHECK:   %[[MOVED:.+]] = arith.andi %[[ROW]], %c16_i32
//       CHECK:   arith.xori %{{.+}}, %[[MOVED]]
//       CHECK:   nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
//       CHECK:   nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 2 : i32
//       CHECK:   nvvm.mma.sync A[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]  B[%{{.+}}, %{{.+}}]  C[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}] {{.+}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
//   CHECK-NOT:   nvvm.mma.sync
module attributes {tile.target = #target} {
  tile.kernel @halves(%x: memref<16x16xf16>, %w: memref<16x8xf16>, %y: memref<16x8xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
    %s = tile.alloc : !tile.buffer<16x16xf16, #shared>
    %t = tile.alloc : !tile.buffer<16x8xf16, #plain>
    tile.copy %x[%c0, %c0] to %s vector 8 : memref<16x16xf16>, !tile.buffer<16x16xf16, #shared>
    tile.copy %w[%c0, %c0] to %t vector 8 : memref<16x8xf16>, !tile.buffer<16x8xf16, #plain>
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<16x16xf16, #shared> -> tensor<16x16xf16, #lhs>
    %b = tile.read %t[%c0, %c0] : !tile.buffer<16x8xf16, #plain> -> tensor<16x8xf16, #rhs>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros atom<mma_sync, warps = [1, 1]> : tensor<16x16xf16, #lhs>, tensor<16x8xf16, #rhs>, tensor<16x8xf32, #acc>
    tile.store %d, %y[%c0, %c0] vector 2 : tensor<16x8xf32, #acc>, memref<16x8xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#acc = #tile.layout<[16, 8], register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[16, 16], register = [[8, 0], [0, 4], [0, 8]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[16, 8], register = [[4, 0], [8, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// f32 in three pieces of bf16: six products of nine, those of a scale after the
// smaller ones. The pieces of both operands are made once.
// CHECK-LABEL: llvm.func @pieces
// CHECK-COUNT-18: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK-COUNT-6: nvvm.mma.sync {{.+}} multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
//   CHECK-NOT:   nvvm.mma.sync
// Sums that are not finite are added up again.
//       CHECK:   arith.cmpi ult, %{{.+}}, %c2139095040_i32
//       CHECK:   scf.if
//       CHECK:     scf.yield
//       CHECK:   } else {
//       CHECK:     %[[SUMS:.+]]:4 = scf.for {{.+}} = %c0_i32{{.*}} to %c16_i32
// CHECK-COUNT-4:     llvm.intr.fma
//       CHECK:     arith.select %{{.+}}, %{{.+}}, %[[SUMS]]#0
module attributes {tile.target = #target} {
  tile.kernel @pieces(%x: memref<16x16xf32>, %w: memref<16x8xf32>, %y: memref<16x8xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
    %a = tile.load %x[%c0, %c0] : memref<16x16xf32> -> tensor<16x16xf32, #lhs>
    %b = tile.load %w[%c0, %c0] : memref<16x8xf32> -> tensor<16x8xf32, #rhs>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros precision f32 atom<mma_sync, warps = [1, 1]> : tensor<16x16xf32, #lhs>, tensor<16x8xf32, #rhs>, tensor<16x8xf32, #acc>
    %e = tile.recompute %d, %x[] affine_map<(d0, d1, d2) -> (d0, d2)>, %w[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 16 : tensor<16x8xf32, #acc>, memref<16x16xf32>, memref<16x8xf32>
    tile.store %e, %y[%c0, %c0] vector 2 : tensor<16x8xf32, #acc>, memref<16x8xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#acc = #tile.layout<[16, 8], register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[16, 8], register = [[8, 0], [0, 4]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[8, 8], register = [[4, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// f32 is rounded to tf32; what is not summed over in rows is read word by word.
// CHECK-LABEL: llvm.func @singles
//       CHECK:   nvvm.ldmatrix %{{.+}} {{.+}} num = 4 : i32
//   CHECK-NOT:   nvvm.ldmatrix
//     CHECK-2:   llvm.load %{{.+}} : !llvm.ptr<3> -> vector<1xf32>
// CHECK-COUNT-6: nvvm.convert.float.to.tf32
//       CHECK:   nvvm.mma.sync {{.+}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
module attributes {tile.target = #target} {
  tile.kernel @singles(%x: memref<16x8xf32>, %w: memref<8x8xf32>, %y: memref<16x8xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
    %s = tile.alloc : !tile.buffer<16x8xf32, #tile.shared<>>
    %t = tile.alloc : !tile.buffer<8x8xf32, #tile.shared<>>
    tile.copy %x[%c0, %c0] to %s vector 4 : memref<16x8xf32>, !tile.buffer<16x8xf32, #tile.shared<>>
    tile.copy %w[%c0, %c0] to %t vector 4 : memref<8x8xf32>, !tile.buffer<8x8xf32, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<16x8xf32, #tile.shared<>> -> tensor<16x8xf32, #lhs>
    %b = tile.read %t[%c0, %c0] : !tile.buffer<8x8xf32, #tile.shared<>> -> tensor<8x8xf32, #rhs>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros precision tf32 atom<mma_sync, warps = [1, 1]> : tensor<16x8xf32, #lhs>, tensor<8x8xf32, #rhs>, tensor<16x8xf32, #acc>
    tile.store %d, %y[%c0, %c0] vector 2 : tensor<16x8xf32, #acc>, memref<16x8xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[1, 32], register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// 6 x 4 blocks down groups of 4 rows: 16 blocks in a group, of which the last
// has 2 rows.
// CHECK-LABEL: llvm.func @raster
//       CHECK:   %[[GROUP:.+]] = arith.divui %{{.+}}, %c16_i32
//       CHECK:   %[[IN:.+]] = arith.remui %{{.+}}, %c16_i32
//       CHECK:   %[[FIRST:.+]] = arith.muli %[[GROUP]], %c4_i32
//       CHECK:   %[[LEFT:.+]] = arith.subi %c6_i32, %[[FIRST]]
//       CHECK:   %[[HEIGHT:.+]] = arith.minsi %{{.+}}, %[[LEFT]]
//       CHECK:   arith.divui %[[IN]], %[[HEIGHT]]
//       CHECK:   %[[ROW:.+]] = arith.remui %[[IN]], %[[HEIGHT]]
//       CHECK:   arith.addi %[[FIRST]], %[[ROW]]
module attributes {tile.target = #target} {
  tile.kernel @raster(%x: memref<6x128xf32>, %y: memref<6x128xf32>) axes(%i = 6 step 1 grid, %j = 128 step 32 grid) warps(1) attributes {tile.raster = 4 : i64} {
    %a = tile.load %x[%i, %j] : memref<6x128xf32> -> tensor<1x32xf32, #pointwise>
    tile.store %a, %y[%i, %j] : tensor<1x32xf32, #pointwise>, memref<6x128xf32>
  }
}
