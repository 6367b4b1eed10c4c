// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-async-copy | FileCheck %s
// RUN: deplo-opt %s --deplo-async-copy --remark-format=emitRemark --remarks-filter=deplo-async-copy -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Processors before sm_80 have no asynchronous copies.

// CHECK-LABEL: tile.kernel @old_target
// CHECK-NOT:     tile.async_copy
// REMARK: [Missed] {{.*}} Function=old_target | Remark="sm_75 has no asynchronous copies, sm_80 and later do"
module attributes {tile.target = #tile.target<chip = "sm_75", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 66900000000000, launch_nanoseconds = 2000>} {
  tile.kernel @old_target(%x: memref<1024xf32>) axes(%i = 1 step 1 grid) warps(4) {
    %c0 = arith.constant 0 : index
    %b = tile.alloc : !tile.buffer<1024xf32, #tile.shared<>>
    tile.copy %x[%c0] to %b : memref<1024xf32>, !tile.buffer<1024xf32, #tile.shared<>>
    tile.barrier
  }
}
