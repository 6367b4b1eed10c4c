// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMSNorm of a residual sum as one kernel of loops. Its schedule, step by step:
//   deplo compile examples/ir/rms-norm-loop.mlir --ir tile -vv

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
module attributes {tile.target = #target} {
  func.func @main(%arg0: memref<512x3584xf32> {graph.name = "x"}, %arg1: memref<512x3584xf32> {graph.name = "r"}, %arg2: memref<3584xf32> {graph.name = "w"}, %arg3: memref<512x3584xf32> {loop.result}) {
    loop.launch @rms_norm_3584(%arg0, %arg1, %arg2, %arg3) : memref<512x3584xf32>, memref<512x3584xf32>, memref<3584xf32>, memref<512x3584xf32>
    return
  }
  loop.kernel @rms_norm_3584(%x: memref<512x3584xf32>, %r: memref<512x3584xf32>, %w: memref<3584xf32>, %y: memref<512x3584xf32>) {
    %cst = arith.constant 9.99999997E-7 : f32
    %cst_0 = arith.constant 2.7901787E-4 : f32
    loop.for %i = 0 to 512 {
      %0 = loop.reduce add %k = 0 to 3584 : f32 {
        %4 = loop.load %x[%i, %k] : memref<512x3584xf32>
        %5 = loop.load %r[%i, %k] : memref<512x3584xf32>
        %6 = arith.addf %4, %5 : f32
        %7 = arith.mulf %6, %6 : f32
        loop.yield %7 : f32
      }
      %1 = arith.mulf %0, %cst_0 : f32
      %2 = arith.addf %1, %cst : f32
      %3 = math.rsqrt %2 : f32
      loop.for %j = 0 to 3584 {
        %4 = loop.load %x[%i, %j] : memref<512x3584xf32>
        %5 = loop.load %r[%i, %j] : memref<512x3584xf32>
        %6 = arith.addf %4, %5 : f32
        %7 = loop.load %w[%j] : memref<3584xf32>
        %8 = arith.mulf %6, %3 : f32
        %9 = arith.mulf %8, %7 : f32
        loop.store %9, %y[%i, %j] : memref<512x3584xf32>
      }
    }
  }
}
