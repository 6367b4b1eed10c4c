// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-warp-specialize))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-warp-specialize))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-warp-specialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_120a},tile.kernel(deplo-warp-specialize))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-warp-specialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER

!ring = !tile.buffer<2x64x64xbf16, #tile.shared<swizzle = 128>>
!slot = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// CHECK-LABEL: tile.kernel @mm
// CHECK:         %[[FULL:.+]] = tile.mbarriers arrivals 1
// CHECK:         %[[EMPTY:.+]] = tile.mbarriers arrivals 4 : !tile.mbarriers<2>
// CHECK-NEXT:    tile.producer
// CHECK:           tile.mbarrier_wait %[[EMPTY]]
// CHECK-NEXT:      tile.tma_copy %x[%i, %{{.+}}] to %{{.+}} on %[[FULL]]
// CHECK:         scf.for
// CHECK-NOT:       tile.tma_copy
// CHECK:           tile.mbarrier_wait %[[FULL]]
// CHECK-NOT:       tile.barrier
// CHECK:           tile.await
// CHECK-NEXT:      tile.mbarrier_arrive %[[EMPTY]]
// REMARK: [Passed] WarpSpecialize | Category:deplo-warp-specialize | Function=mm | Remark="a warpgroup of {{[0-9]+}} registers a thread starts copies, 4 warps of {{[0-9]+}} compute"
// OTHER:  [Missed] WarpSpecialize | Category:deplo-warp-specialize | Function=mm | Remark="sm_120a gives all warps as many registers, sm_90a can change that"
tile.kernel @mm(%x: memref<64x512xbf16>, %y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.alloc : !ring
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<2>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<64x64xf32>) {
    %n = arith.divui %k, %c64 : index
    %p = arith.divui %n, %c2 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !ring -> !slot
    tile.tma_copy %x[%i, %k] to %s on %full[%m] : memref<64x512xbf16>, !slot, !tile.mbarriers<2>
    tile.mbarrier_wait %full[%m] phase %p : !tile.mbarriers<2>
    tile.barrier
    %e, %t = tile.async_dot %s dims [0, 2], %s dims [1, 2], %c atom<wgmma, warps = [4, 1]> : !slot, !slot, tensor<64x64xf32>
    tile.await %t
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

!ring = !tile.buffer<2x64x64xbf16, #tile.shared<swizzle = 128>>
!slot = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// Where a copy starts is known to the warps that compute, too late for others.

// CHECK-LABEL: tile.kernel @carried
// CHECK-NOT:     tile.producer
// REMARK: [Missed] {{.*}} Function=carried | Remark="where copies start depends on what the iteration before computed"
tile.kernel @carried(%x: memref<64x512xbf16>, %y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.alloc : !ring
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<2>
  %d:2 = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros, %o = %c0) -> (tensor<64x64xf32>, index) {
    %n = arith.divui %k, %c64 : index
    %p = arith.divui %n, %c2 : index
    %m = arith.remui %n, %c2 : index
    %s = tile.slot %r[%m] : !ring -> !slot
    tile.tma_copy %x[%i, %o] to %s on %full[%m] : memref<64x512xbf16>, !slot, !tile.mbarriers<2>
    tile.mbarrier_wait %full[%m] phase %p : !tile.mbarriers<2>
    tile.barrier
    %e, %t = tile.async_dot %s dims [0, 2], %s dims [1, 2], %c atom<wgmma, warps = [4, 1]> : !slot, !slot, tensor<64x64xf32>
    tile.await %t
    %q = arith.addi %o, %c64 : index
    scf.yield %e, %q : tensor<64x64xf32>, index
  }
  tile.store %d#0, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=copy | Remark="no loop copies by tensor maps"
tile.kernel @copy(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 step 64 grid) warps(4) {
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32>
  tile.store %a, %y[%i] : tensor<64xf32>, memref<64xf32>
}
