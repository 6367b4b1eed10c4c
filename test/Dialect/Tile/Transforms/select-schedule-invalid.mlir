// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=wraps=4 2>&1 | FileCheck %s --check-prefix=KNOB
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=warps=5 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=warps 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=chunk=-4 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=stages=0 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=stage_inputs=yes 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=block=4y4 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=block=4x4 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=warps=64 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=block=64,warps=1,chunk=0,cluster=never 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=atom=wmma 2>&1 | FileCheck %s --check-prefix=ATOM
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=warp_tile=64 2>&1 | FileCheck %s --check-prefix=WARP
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule=precision=fp8 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not deplo-opt %s --deplo-select-schedule 2>&1 | FileCheck %s --check-prefix=TARGET

// KNOB: error: schedule: there is no knob 'wraps', expected one of block, warps, vector, cluster, chunk, unroll, thread, stages, split_k, atom, warp_tile, stage_inputs, transpose_smem, async_copy, swizzle_smem, pad_smem, programmatic_launch
// POWER: error: schedule: warps is '5', expected a power of two
// EMPTY: error: schedule: warps is '', expected a power of two
// CHUNK: error: schedule: chunk is '-4', expected 0 or a power of two
// STAGES: error: schedule: stages is '0', expected a positive number
// CHOICE: error: schedule: stage_inputs is 'yes', expected auto, always or never
// ATOM: error: schedule: atom is 'wmma', expected fma, mma_sync or wgmma
// WARP: error: schedule: warp_tile is '64', expected two powers of two such as 8x4, rows and columns
// PRECISION: error: schedule: precision is 'fp8', expected ieee, f32, f32-fast or tf32
// BLOCK: error: schedule: block is '4y4', expected powers of two such as 1x64, one for each parallel axis
// AXES: error: 'loop.kernel' op has no schedule: block has 2 sizes, and the kernel has 1 parallel axis
// THREADS: error: 'loop.kernel' op has no schedule: 64 warps are 2048 threads, and sm_90a runs at most 1024 in a block; use fewer warps
// REGISTERS: error: 'loop.kernel' op has no schedule: a thread would hold {{.+}} elements in about {{.+}} registers; use more warps, a smaller block or a smaller chunk
// TARGET: error: no target: the module has no tile.target attribute; run deplo-attach-target first
loop.kernel @row_sum(%x: memref<64x512xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %s = loop.reduce add %k = 0 to 512 : f32 {
      %a = loop.load %x[%i, %k] : memref<64x512xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<64xf32>
  }
}
