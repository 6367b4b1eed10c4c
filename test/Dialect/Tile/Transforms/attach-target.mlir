// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_86 | FileCheck %s --check-prefix=SM86
// RUN: deplo-opt %s --deplo-attach-target --deplo-attach-target=chip=sm_120a | FileCheck %s --check-prefix=AGAIN
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_100a --remark-format=emitRemark --remarks-filter=deplo-attach-target -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not deplo-opt %s --deplo-attach-target=chip=sm_12 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: #[[T:.+]] = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760, blocks_per_cluster = 16, multiprocessors_per_group = 16, mma_flops_per_second = 613000000000000, wgmma_flops_per_second = 989000000000000>
// CHECK: module attributes {tile.target = #[[T]]}

// SM86: chip = "sm_86", multiprocessors = 82, warps_per_multiprocessor = 48

// A second target takes the place of the first.
// AGAIN-NOT: sm_90a
// AGAIN: chip = "sm_120a"

// REMARK: [Passed] AttachTarget | Category:deplo-attach-target | Remark="sm_100a, with the numbers of B200"

// UNKNOWN: error: unknown target 'sm_12', expected one of sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a
module {
}
