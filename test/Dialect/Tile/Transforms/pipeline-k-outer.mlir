// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-pipeline-k-outer))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-pipeline-k-outer))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-pipeline-k-outer -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Three slots: two chunks are on their way before the loop, and an iteration
// starts the one two further. What it would read beyond the last is out of
// bounds. Both copies of a chunk are awaited at once, each token once.

// CHECK-LABEL: tile.kernel @chunks
// CHECK:         %[[A0:.+]] = tile.async_copy %x[%i, %{{.+}}] to %{{.+}} bounds [64, 500] vector 4
// CHECK:         %[[B0:.+]] = tile.async_copy %z[%i, %{{.+}}] to %{{.+}} bounds [64, 512] vector 4
// CHECK:         %[[A1:.+]] = tile.async_copy %x
// CHECK:         %[[B1:.+]] = tile.async_copy %z
// CHECK:         %[[LOOP:.+]]:4 = scf.for %[[K:.+]] = %c0 to %c512 step %c16 iter_args(%[[A:.+]] = %[[A0]], %[[B:.+]] = %[[B0]], %[[C:.+]] = %[[A1]], %[[D:.+]] = %[[B1]])
// CHECK-NEXT:      tile.await %[[A]], %[[B]]
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      %[[LATER:.+]] = arith.addi %[[K]], %c32
// CHECK:           %[[A2:.+]] = tile.async_copy %x[%i, %[[LATER]]]
// CHECK:           %[[B2:.+]] = tile.async_copy %z[%i, %[[LATER]]]
// CHECK:           tile.read
// CHECK:           scf.yield %[[C]], %[[D]], %[[A2]], %[[B2]]
// CHECK:         tile.await %[[LOOP]]#0, %[[LOOP]]#1, %[[LOOP]]#2, %[[LOOP]]#3
// REMARK: [Passed] PipelineKOuter | Category:deplo-pipeline-k-outer | Function=chunks | Remark="copies run 2 iterations ahead"
tile.kernel @chunks(%x: memref<64x500xf32>, %z: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 step 64 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %r = tile.alloc : !tile.buffer<3x64x16xf32, #tile.shared<>>
  %q = tile.alloc : !tile.buffer<3x64x16xf32, #tile.shared<>>
  scf.for %k = %c0 to %c512 step %c16 {
    %n = arith.divui %k, %c16 : index
    %m = arith.remui %n, %c3 : index
    %s = tile.slot %r[%m] : !tile.buffer<3x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
    %t = tile.slot %q[%m] : !tile.buffer<3x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
    %u = tile.async_copy %x[%i, %k] to %s bounds [64, 500] vector 4 : memref<64x500xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
    %v = tile.async_copy %z[%i, %k] to %t vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
    tile.await %u, %v
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
    %b = tile.read %t[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
    %c = arith.addf %a, %b : tensor<64x16xf32>
    tile.store %c, %y[%i, %k] bounds [64, 512] : tensor<64x16xf32>, memref<64x512xf32>
  }
}

// -----

// One buffer: the next chunk would overwrite what is read.

// CHECK-LABEL: tile.kernel @one_buffer
// CHECK:         scf.for
// CHECK-NEXT:      tile.async_copy
// REMARK: [Missed] PipelineKOuter | Category:deplo-pipeline-k-outer | Function=one_buffer | Remark="no loop fills the slots of a ring by asynchronous copies"
tile.kernel @one_buffer(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 step 64 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %s = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
  scf.for %k = %c0 to %c512 step %c16 {
    %u = tile.async_copy %x[%i, %k] to %s vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
    tile.await %u
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
    tile.store %a, %y[%i, %k] : tensor<64x16xf32>, memref<64x512xf32>
    tile.barrier
  }
}

// -----

// What an iteration does before its copies has an effect: it can't run earlier.

// CHECK-LABEL: tile.kernel @stores_first
// CHECK:         scf.for
// CHECK-NOT:       iter_args
// REMARK: [Missed] {{.*}} Function=stores_first | Remark="no loop fills the slots of a ring by asynchronous copies"
tile.kernel @stores_first(%x: memref<64x512xf32>, %y: memref<64x512xf32>, %z: memref<64x16xf32>) axes(%i = 64 step 64 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %ones = arith.constant dense<1.0> : tensor<64x16xf32>
  %r = tile.alloc : !tile.buffer<2x64x16xf32, #tile.shared<>>
  scf.for %k = %c0 to %c512 step %c16 {
    tile.store %ones, %z[%i, %c0] : tensor<64x16xf32>, memref<64x16xf32>
    %n = arith.divui %k, %c16 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
    %u = tile.async_copy %x[%i, %k] to %s vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
    tile.await %u
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
    tile.store %a, %y[%i, %k] : tensor<64x16xf32>, memref<64x512xf32>
  }
}

// -----

// Where the copies of an iteration start is known when the one before is done.

// CHECK-LABEL: tile.kernel @carried
// CHECK:         scf.for {{.*}} iter_args(%[[O:.+]] = %c0) -> (index)
// CHECK:           tile.async_copy %x[%i, %[[O]]]
// REMARK: [Missed] {{.*}} Function=carried | Remark="no loop fills the slots of a ring by asynchronous copies"
tile.kernel @carried(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 step 64 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %r = tile.alloc : !tile.buffer<2x64x16xf32, #tile.shared<>>
  %z = scf.for %k = %c0 to %c512 step %c16 iter_args(%o = %c0) -> (index) {
    %n = arith.divui %k, %c16 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
    %u = tile.async_copy %x[%i, %o] to %s bounds [64, 512] vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
    tile.await %u
    tile.barrier
    %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
    tile.store %a, %y[%i, %k] : tensor<64x16xf32>, memref<64x512xf32>
    %p = arith.addi %o, %c16 : index
    scf.yield %p : index
  }
}
