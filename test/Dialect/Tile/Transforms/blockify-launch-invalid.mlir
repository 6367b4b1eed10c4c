// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-blockify-launch))' --split-input-file --verify-diagnostics
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=3 warps=2}))' 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=4 warps=3}))' 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=4,4 warps=4}))' 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=4 warps=64}))' 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=1 warps=1}))' 2>&1 | FileCheck %s --check-prefix=BLOCKS

// BLOCK: error: 'tile.kernel' op block size must be a power of two, got 3
// WARPS: error: 'tile.kernel' op warps must be a power of two, got 3
// AXES: error: 'tile.kernel' op has 1 axes, and block has 2 sizes; give one size for each axis
// THREADS: error: 'tile.kernel' op wants 2048 threads in a block, and sm_90a runs at most 1024; use fewer warps
// BLOCKS: error: 'tile.kernel' op wants more than 2147483647 blocks, the most of a launch; use a larger block

// expected-error @below {{has no schedule; run deplo-select-schedule first, or give the options block and warps}}
tile.kernel @copy(%x: memref<4294967296xf32>, %y: memref<4294967296xf32>) axes(%i = 4294967296 tile) {
  %a = tile.load %x[%i] : memref<4294967296xf32> -> tensor<4294967296xf32>
  tile.store %a, %y[%i] : tensor<4294967296xf32>, memref<4294967296xf32>
}

// -----

// expected-error @below {{no target: the module has no tile.target attribute; run deplo-attach-target first}}
tile.kernel @no_target(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 tile) attributes {schedule = #tile.schedule<block = [8], warps = 1, vector = 1>} {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760, blocks_per_cluster = 16, multiprocessors_per_group = 16, mma_flops_per_second = 613000000000000, wgmma_flops_per_second = 989000000000000>} {
  // expected-error @below {{axis 0 is in blocks of 1 already, and block wants 2}}
  tile.kernel @parts(%x: memref<8xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid) attributes {schedule = #tile.schedule<block = [2], warps = 1, vector = 1>} {
    %s = loop.reduce add %k = 0 to 8 part %i of 4 : tensor<f32> {
      %a = tile.load %x[%k] dims [] : memref<8xf32> -> tensor<f32>
      loop.yield %a : tensor<f32>
    }
    tile.store %s, %y[%i] : tensor<f32>, memref<4xf32>
  }
}
