// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-double-buffer{stages=3}))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-double-buffer{stages=3},deplo-async-copy,deplo-pipeline-k-outer))' | FileCheck %s --check-prefix=PIPELINE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-double-buffer{stages=3}))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-double-buffer 2>&1 >/dev/null | FileCheck %s --check-prefix=THREE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-double-buffer{stages=1}))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-double-buffer 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The buffer becomes a ring; the barrier at the end goes.
// CHECK-LABEL: tile.kernel @sum
// CHECK:         %[[RING:.+]] = tile.alloc : !tile.buffer<3x64xf32, #tile.shared<>>
// CHECK:         scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %[[STEP:.+]] iter_args
// CHECK-NEXT:      %[[N:.+]] = arith.divui %[[K]], %[[STEP]]
// CHECK-NEXT:      %[[I:.+]] = arith.remui %[[N]], %c3
// CHECK-NEXT:      %[[SLOT:.+]] = tile.slot %[[RING]][%[[I]]]
// CHECK-NEXT:      tile.copy %{{.+}}[%[[K]]] to %[[SLOT]]
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      tile.read %[[SLOT]]
// CHECK-NOT:       tile.barrier
// CHECK:           scf.yield

// Two chunks are on their way before the loop; each iteration awaits the first
// and starts another. What is left in flight is awaited at the end.
// PIPELINE-LABEL: tile.kernel @sum
// PIPELINE:         %[[T0:.+]] = tile.async_copy
// PIPELINE:         %[[T1:.+]] = tile.async_copy
// PIPELINE:         %[[LOOP:.+]]:3 = scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[A:.+]] = %[[T0]], %[[B:.+]] = %[[T1]])
// PIPELINE-NEXT:      tile.await %[[A]]
// PIPELINE-NEXT:      tile.barrier
// PIPELINE:           %[[C:.+]] = tile.async_copy %{{.+}} bounds [512]
// PIPELINE:           tile.read
// PIPELINE:           scf.yield %{{.+}}, %[[B]], %[[C]]
// PIPELINE:         tile.await %[[LOOP]]#1, %[[LOOP]]#2

// THREE: [Passed] {{.*}} Function=sum | Remark="3 chunks at once, 768 bytes"
// REMARK: [Missed] {{.*}} Function=sum | Remark="the schedule says one stage"
module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
tile.kernel @sum(%x: memref<512xf32>, %y: memref<64xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<64xf32>
  %s = tile.alloc : !tile.buffer<64xf32, #tile.shared<>>
  %sum = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %zeros) -> (tensor<64xf32>) {
    tile.copy %x[%k] to %s : memref<512xf32>, !tile.buffer<64xf32, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0] : !tile.buffer<64xf32, #tile.shared<>> -> tensor<64xf32>
    %b = arith.addf %acc, %a : tensor<64xf32>
    tile.barrier
    scf.yield %b : tensor<64xf32>
  }
  tile.store %sum, %y[%c0] : tensor<64xf32>, memref<64xf32>
}

// The chunk that is read was copied in the iteration before: one slot holds it.

// CHECK-LABEL: tile.kernel @carried
// CHECK:         tile.alloc : !tile.buffer<64xf32, #tile.shared<>>
// THREE: [Missed] {{.*}} Function=carried | Remark="no loop fills a shared buffer in each iteration"
tile.kernel @carried(%x: memref<512xf32>, %y: memref<512xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %s = tile.alloc : !tile.buffer<64xf32, #tile.shared<>>
  tile.copy %x[%c0] to %s : memref<512xf32>, !tile.buffer<64xf32, #tile.shared<>>
  tile.barrier
  scf.for %k = %c0 to %c512 step %c64 {
    %a = tile.read %s[%c0] : !tile.buffer<64xf32, #tile.shared<>> -> tensor<64xf32>
    tile.store %a, %y[%k] : tensor<64xf32>, memref<512xf32>
    tile.barrier
    tile.copy %x[%k] to %s : memref<512xf32>, !tile.buffer<64xf32, #tile.shared<>>
    tile.barrier
  }
}

// CHECK-LABEL: tile.kernel @budget
// CHECK:         tile.alloc : !tile.buffer<32768xf32, #tile.shared<>>
// THREE: [Missed] {{.*}} Function=budget | Remark="3 stages take 262144 bytes more, and sm_90a has 101376 left for them"
tile.kernel @budget(%x: memref<65536xf32>, %y: memref<32768xf32>) axes(%i = 1 step 1 grid) warps(32) {
  %c0 = arith.constant 0 : index
  %c32768 = arith.constant 32768 : index
  %c65536 = arith.constant 65536 : index
  %zeros = arith.constant dense<0.0> : tensor<32768xf32>
  %s = tile.alloc : !tile.buffer<32768xf32, #tile.shared<>>
  %sum = scf.for %k = %c0 to %c65536 step %c32768 iter_args(%acc = %zeros) -> (tensor<32768xf32>) {
    tile.copy %x[%k] to %s : memref<65536xf32>, !tile.buffer<32768xf32, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0] : !tile.buffer<32768xf32, #tile.shared<>> -> tensor<32768xf32>
    %b = arith.addf %acc, %a : tensor<32768xf32>
    tile.barrier
    scf.yield %b : tensor<32768xf32>
  }
  tile.store %sum, %y[%c0] : tensor<32768xf32>, memref<32768xf32>
}
}
