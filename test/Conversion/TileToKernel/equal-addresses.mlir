// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-tile-to-kernel | FileCheck %s

// Four neighbours of a thread read one element: it is loaded once for them. The
// second tile has runs of two, and two loads.

// CHECK-LABEL: llvm.func @runs
// CHECK-COUNT-3: llvm.load {{.*}} -> vector<1xf32>
// CHECK-NOT:     llvm.load
#tile = #tile.layout<[128], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @runs(%w: memref<8xf32>, %v: memref<64xf32>, %y: memref<128xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %sixteen = arith.constant dense<16> : tensor<128xi32, #tile>
    %two = arith.constant dense<2> : tensor<128xi32, #tile>
    %k = tile.iota %c0 : tensor<128xi32, #tile>
    %p = arith.divui %k, %sixteen : tensor<128xi32, #tile>
    %q = arith.divui %k, %two : tensor<128xi32, #tile>
    %a = tile.gather %w[%p] : (memref<8xf32>, tensor<128xi32, #tile>) -> tensor<128xf32, #tile>
    %b = tile.gather %v[%q] : (memref<64xf32>, tensor<128xi32, #tile>) -> tensor<128xf32, #tile>
    %s = arith.addf %a, %b : tensor<128xf32, #tile>
    tile.store %s, %y[%c0] vector 4 : tensor<128xf32, #tile>, memref<128xf32>
  }
}
