// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-programmatic-launch --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-programmatic-launch --split-input-file --remark-format=emitRemark --remarks-filter=deplo-programmatic-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-programmatic-launch=mode=never --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-programmatic-launch=mode=always --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_89 --deplo-programmatic-launch=mode=always --split-input-file | FileCheck %s --check-prefix=NEVER

// NEVER-NOT: tile.launch_dependents
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_89 --deplo-programmatic-launch=mode=always --split-input-file --remark-format=emitRemark --remarks-filter=deplo-programmatic-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLD

// What touches no global memory comes before the wait: shared memory too.

// CHECK-LABEL: tile.kernel @load
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    tile.alloc
// CHECK-NEXT:    tile.wait_dependencies
// CHECK-NEXT:    tile.launch_dependents
// CHECK-NEXT:    tile.copy
// CHECK-NOT:     tile.wait_dependencies
// REMARK: [Passed] ProgrammaticLaunch | Category:deplo-programmatic-launch | Function=load | Remark="starts before the kernels that it depends on are complete, and waits for them before its first access to global memory"
// OLD: [Missed] ProgrammaticLaunch | Category:deplo-programmatic-launch | Function=load | Remark="sm_89 has no programmatic dependent launch, sm_90 and later do"
tile.kernel @load(%x: memref<8x1024xf32>, %w: memref<1024xf32>) axes(%i = 8 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b : memref<8x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.barrier
  %a = tile.load %w[%c0] : memref<1024xf32> -> tensor<1024xf32>
}

// -----

// Accesses in a loop: the wait is before the loop, where every thread passes
// whatever its trip count.

// CHECK-LABEL: tile.kernel @loop
// CHECK:         tile.wait_dependencies
// CHECK-NEXT:    tile.launch_dependents
// CHECK-NEXT:    scf.for
// CHECK-NOT:     tile.wait_dependencies
tile.kernel @loop(%x: memref<4096xf32>, %y: memref<4096xf32>) axes(%i = 4096 step 4096 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  scf.for %k = %c0 to %c4096 step %c512 {
    %a = tile.load %x[%k] : memref<4096xf32> -> tensor<512xf32>
    tile.store %a, %y[%k] : tensor<512xf32>, memref<4096xf32>
  }
}

// -----

// A store alone: what it overwrites may still be read by grids before it.

// CHECK-LABEL: tile.kernel @fill
// CHECK:         arith.constant
// CHECK-NEXT:    tile.wait_dependencies
// CHECK-NEXT:    tile.launch_dependents
// CHECK-NEXT:    tile.store
tile.kernel @fill(%y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
  %one = arith.constant dense<1.0> : tensor<256xf32>
  tile.store %one, %y[%i] : tensor<256xf32>, memref<1024xf32>
}

// -----

// The schedule decides where the pass's option is empty.

// CHECK-LABEL: tile.kernel @scheduled
// CHECK-NOT:     tile.wait_dependencies
// REMARK: [Missed] {{.*}} Function=scheduled | Remark="the schedule says never"
tile.kernel @scheduled(%y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2)
    attributes {schedule = #tile.schedule<block = [256], warps = 2, vector = 4, programmatic_launch = never>} {
  %one = arith.constant dense<1.0> : tensor<256xf32>
  tile.store %one, %y[%i] : tensor<256xf32>, memref<1024xf32>
}

// -----

// The step is done once.

// CHECK-LABEL: tile.kernel @twice
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    tile.wait_dependencies
// CHECK-NEXT:    tile.store
// REMARK: [Missed] {{.*}} Function=twice | Remark="the kernel accesses no global memory, or waits already"
tile.kernel @twice(%y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
  %one = arith.constant dense<1.0> : tensor<256xf32>
  tile.wait_dependencies
  tile.store %one, %y[%i] : tensor<256xf32>, memref<1024xf32>
}

// -----

// 4 blocks of 8 warps for each multiprocessor, and room for 8: the next grid
// would fill the rest of it, unevenly.

// CHECK-LABEL: tile.kernel @half_full
// CHECK-NEXT:    tile.wait_dependencies
// CHECK-NEXT:    tile.load
// CHECK-NEXT:    tile.store
// CHECK-NEXT:    tile.launch_dependents
tile.kernel @half_full(%x: memref<524288xf32>, %y: memref<524288xf32>) axes(%i = 524288 step 1024 grid) warps(8) {
  %a = tile.load %x[%i] : memref<524288xf32> -> tensor<1024xf32>
  tile.store %a, %y[%i] : tensor<1024xf32>, memref<524288xf32>
}

// -----

// 4096 blocks of 4 warps are two waves, 16 MiB fit in L2.

// CHECK-LABEL: tile.kernel @waves
// CHECK-NOT:     tile.wait_dependencies
// REMARK: [Missed] {{.*}} Function=waves | Remark="a grid of several waves, whose data fit in L2, is faster where its blocks go to the same multiprocessors each time"
// ALWAYS-LABEL: tile.kernel @waves
// ALWAYS-NEXT:    tile.wait_dependencies
// ALWAYS-NEXT:    tile.launch_dependents
tile.kernel @waves(%x: memref<2097152xf32>, %y: memref<2097152xf32>) axes(%i = 2097152 step 512 grid) warps(4) {
  %a = tile.load %x[%i] : memref<2097152xf32> -> tensor<512xf32>
  tile.store %a, %y[%i] : tensor<512xf32>, memref<2097152xf32>
}

// -----

// 128 MiB don't.

// CHECK-LABEL: tile.kernel @large
// CHECK-NEXT:    tile.wait_dependencies
tile.kernel @large(%x: memref<16777216xf32>, %y: memref<16777216xf32>) axes(%i = 16777216 step 512 grid) warps(4) {
  %a = tile.load %x[%i] : memref<16777216xf32> -> tensor<512xf32>
  tile.store %a, %y[%i] : tensor<512xf32>, memref<16777216xf32>
}

// -----

#acc = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 4], [0, 8], [0, 16]], warp = []>
#lhs = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 0], [0, 0], [0, 0]], warp = []>
#rhs = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = []>

// A hundred blocks of multiply-adds leave places free, and should be spread
// evenly.
// CHECK-LABEL: tile.kernel @partial_wave
// CHECK-NOT:     tile.launch_dependents
// ALWAYS-LABEL: tile.kernel @partial_wave
// ALWAYS:        tile.launch_dependents
// REMARK: [Missed] ProgrammaticLaunch | Category:deplo-programmatic-launch | Function=partial_wave | Remark="blocks of multiply-adds that leave places free are spread evenly if none of the kernel before are left"
tile.kernel @partial_wave(%x: memref<3200x4xf32>, %w: memref<4x32xf32>, %y: memref<3200x32xf32>) axes(%i = 3200 step 32 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  %a = tile.load %x[%i, %c0] : memref<3200x4xf32> -> tensor<32x4xf32, #lhs>
  %b = tile.load %w[%c0, %c0] : memref<4x32xf32> -> tensor<4x32xf32, #rhs>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x4xf32, #lhs>, tensor<4x32xf32, #rhs>, tensor<32x32xf32, #acc>
  tile.store %d, %y[%i, %c0] : tensor<32x32xf32, #acc>, memref<3200x32xf32>
}
