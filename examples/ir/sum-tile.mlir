// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scheduled kernel: a sum over rows longer than registers hold. The program of one thread:
//   deplo-opt --deplo-tile-to-kernel examples/ir/sum-tile.mlir

#layout = #tile.layout<[1, 16384], register = [[0, 1], [0, 2], [0, 4096], [0, 8192]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128], [0, 256], [0, 512], [0, 1024], [0, 2048]]>
#layout1 = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0], [0], [0], [0]]>
#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
module attributes {tile.target = #target} {
  func.func @main(%arg0: memref<64x1048576xf32> {graph.name = "x"}, %arg1: memref<64xf32> {loop.result}) {
    loop.launch @sum_1048576(%arg0, %arg1) : memref<64x1048576xf32>, memref<64xf32>
    return
  }
  tile.kernel @sum_1048576(%x: memref<64x1048576xf32>, %y: memref<64xf32>) axes(%i = 64 step 1 grid) warps(32) attributes {schedule = #tile.schedule<block = [1], warps = 32, vector = 4, chunk = 16384>} {
    %cst = arith.constant dense<0.000000e+00> : tensor<1x16384xf32, #layout>
    %c0 = arith.constant 0 : index
    %c1048576 = arith.constant 1048576 : index
    %c16384 = arith.constant 16384 : index
    %0 = scf.for %arg0 = %c0 to %c1048576 step %c16384 iter_args(%arg1 = %cst) -> (tensor<1x16384xf32, #layout>) {
      %2 = tile.load %x[%i, %arg0] vector 4 : memref<64x1048576xf32> -> tensor<1x16384xf32, #layout>
      %3 = arith.addf %arg1, %2 : tensor<1x16384xf32, #layout>
      scf.yield %3 : tensor<1x16384xf32, #layout>
    }
    %1 = tile.reduce [add] %0 axis 1 : tensor<1x16384xf32, #layout> -> tensor<1xf32, #layout1>
    tile.store %1, %y[%i] : tensor<1xf32, #layout1>, memref<64xf32>
  }
}
