// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-batch-loads --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-batch-loads --split-input-file --remark-format=emitRemark --remarks-filter=deplo-batch-loads -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Two iterations load before they store, and the third is left over.

// CHECK-LABEL: tile.kernel @remainder
// CHECK:         scf.for %[[K:.*]] = %c0{{.*}} to %c512{{.*}} step %c512{{.*}} {
// CHECK-NEXT:      %[[A:.*]] = tile.load %x[%[[K]]]
// CHECK-NEXT:      %[[N:.*]] = arith.addi %[[K]], %c256
// CHECK-NEXT:      %[[B:.*]] = tile.load %x[%[[N]]]
// CHECK-NEXT:      tile.store %[[A]], %y[%[[K]]]
// CHECK-NEXT:      tile.store %[[B]], %y[%[[N]]]
// CHECK-NEXT:    }
// CHECK:         scf.for %[[K:.*]] = %c512{{.*}} to %c768{{.*}} step %c256{{.*}} {
// CHECK-NEXT:      %[[A:.*]] = tile.load %x[%[[K]]]
// CHECK-NEXT:      tile.store %[[A]], %y[%[[K]]]
// CHECK-NEXT:    }
// REMARK: [Passed] BatchLoads | Category:deplo-batch-loads | Function=remainder | Remark="the loads of 2 iterations start before their stores"
#row = #tile.layout<[256], register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = []>
#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
module attributes {tile.target = #target} {
  tile.kernel @remainder(%x: memref<768xf32>, %y: memref<768xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c768 = arith.constant 768 : index
    scf.for %k = %c0 to %c768 step %c256 {
      %a = tile.load %x[%k] : memref<768xf32> -> tensor<256xf32, #row>
      tile.store %a, %y[%k] : tensor<256xf32, #row>, memref<768xf32>
    } {tile.unroll = 2 : i64}
  }
}

// -----

// With 1024 threads there are registers for the loads of 4 of 8 iterations: the
// rest of the factor stays a mark.

// CHECK-LABEL: tile.kernel @registers
// CHECK:         scf.for
// CHECK-COUNT-4:   tile.load
// CHECK-COUNT-4:   tile.store
// CHECK-NEXT:    } {tile.unroll = 2 : i64}
#row = #tile.layout<[8192], register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512], [1024], [2048], [4096]]>
#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
module attributes {tile.target = #target} {
  tile.kernel @registers(%x: memref<131072xf32>, %y: memref<131072xf32>) axes(%i = 1 step 1 grid) warps(32) {
    %c0 = arith.constant 0 : index
    %c8192 = arith.constant 8192 : index
    %c131072 = arith.constant 131072 : index
    scf.for %k = %c0 to %c131072 step %c8192 {
      %a = tile.load %x[%k] : memref<131072xf32> -> tensor<8192xf32, #row>
      tile.store %a, %y[%k] : tensor<8192xf32, #row>, memref<131072xf32>
    } {tile.unroll = 8 : i64}
  }
}

// -----

// What the kernel stores to is not loaded earlier, and a loop that carries a
// value stays.

// CHECK-LABEL: tile.kernel @stays
// CHECK:         scf.for
// CHECK-COUNT-1:   tile.load
// CHECK:         } {tile.unroll = 2 : i64}
// CHECK:         scf.for
// CHECK-COUNT-1:   tile.load
// CHECK:         } {tile.unroll = 2 : i64}
// REMARK: [Missed] BatchLoads | Category:deplo-batch-loads | Function=stays | Remark="no unrolled loop without carried values loads and stores"
#row = #tile.layout<[256], register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = []>
#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
module attributes {tile.target = #target} {
  tile.kernel @stays(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    scf.for %k = %c0 to %c1024 step %c256 {
      %a = tile.load %y[%k] : memref<1024xf32> -> tensor<256xf32, #row>
      tile.store %a, %y[%k] : tensor<256xf32, #row>, memref<1024xf32>
    } {tile.unroll = 2 : i64}
    %zero = arith.constant dense<0.0> : tensor<256xf32, #row>
    scf.for %k = %c0 to %c1024 step %c256 iter_args(%s = %zero) -> (tensor<256xf32, #row>) {
      %a = tile.load %x[%k] : memref<1024xf32> -> tensor<256xf32, #row>
      %b = arith.addf %s, %a : tensor<256xf32, #row>
      tile.store %b, %y[%k] : tensor<256xf32, #row>, memref<1024xf32>
      scf.yield %b : tensor<256xf32, #row>
    } {tile.unroll = 2 : i64}
  }
}
