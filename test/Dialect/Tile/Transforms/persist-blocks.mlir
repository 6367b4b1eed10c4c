// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that run several tiles each.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-persist-blocks{mode=always blocks=3}))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-persist-blocks{mode=always blocks=3},deplo-overlap-dots))' | FileCheck %s --check-prefix=OVERLAP
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-persist-blocks))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-persist-blocks' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!ring = !tile.buffer<4x64x64xbf16, #tile.shared<swizzle = 128>>
!slot = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// Slots and phases are those of the chunks of all of a block's tiles; where a
// chunk is in memory is that of its own tile.

// CHECK-LABEL: tile.kernel @mm
// CHECK:         tile.producer
// CHECK:           tile.each_tile blocks 3 (%[[I:.+]], %[[J:.+]]) number %[[N:.+]] {
// CHECK:             %[[SPAN:.+]] = arith.constant 256 : index
// CHECK:             %[[SHIFT:.+]] = arith.muli %[[N]], %[[SPAN]]
// CHECK:             scf.for %[[K:.+]] = %c0 to %c256
// CHECK:               %[[R:.+]] = arith.addi %[[K]], %[[SHIFT]]
// CHECK:               %[[C:.+]] = arith.divui %[[R]], %c64
// CHECK:               %[[SLOT:.+]] = arith.remui %[[C]], %c4
// CHECK:               tile.mbarrier_wait %{{.+}}[%[[SLOT]]]
// CHECK:               tile.tma_copy %x[%[[I]], %[[K]]] to %{{.+}} on %{{.+}}[%[[SLOT]]]
// CHECK:         tile.each_tile blocks 3 (%[[I2:.+]], %[[J2:.+]]) number %[[N2:.+]] {
// CHECK:           %[[SHIFT2:.+]] = arith.muli %[[N2]], %{{.+}}
// CHECK:           scf.for %[[K2:.+]] = %c0 to %c256
// CHECK:             arith.addi %[[K2]], %[[SHIFT2]]
// CHECK:             tile.mbarrier_wait
// CHECK:             tile.async_dot
// CHECK:           tile.store %{{.+}}, %y[%[[I2]], %[[J2]]]

// The last chunk of a tile releases its slot, too.

// OVERLAP-LABEL: tile.kernel @mm
// OVERLAP:         tile.each_tile
// OVERLAP:         tile.each_tile
// OVERLAP:           scf.for
// OVERLAP:             tile.mbarrier_arrive
// OVERLAP:             scf.yield
// OVERLAP:           tile.await
// OVERLAP:           tile.mbarrier_arrive
// OVERLAP:           tile.store

// REMARK-DAG: Function=mm | Remark="threads store the result"
tile.kernel @mm(%x: memref<256x256xbf16>, %y: memref<256x256xf32>) axes(%i = 256 step 64 grid, %j = 256 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %ring = tile.alloc : !ring
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<4>
  %empty = tile.mbarriers arrivals 4 : !tile.mbarriers<4>
  tile.producer registers [40, 232] {
    scf.for %k = %c0 to %c256 step %c64 {
      %n = arith.divui %k, %c64 : index
      %m = arith.remui %n, %c4 : index
      %p = arith.divui %n, %c4 : index
      %q = arith.subi %p, %c1 : index
      %s = tile.slot %ring[%m] : !ring -> !slot
      tile.mbarrier_wait %empty[%m] phase %q : !tile.mbarriers<4>
      tile.tma_copy %x[%i, %k] to %s on %full[%m] : memref<256x256xbf16>, !slot, !tile.mbarriers<4>
    }
  }
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = scf.for %k = %c0 to %c256 step %c64 iter_args(%c = %zeros) -> (tensor<64x64xf32>) {
    %n = arith.divui %k, %c64 : index
    %m = arith.remui %n, %c4 : index
    %p = arith.divui %n, %c4 : index
    %s = tile.slot %ring[%m] : !ring -> !slot
    tile.mbarrier_wait %full[%m] phase %p : !tile.mbarriers<4>
    %e, %t = tile.async_dot %s dims [0, 2], %s dims [1, 2], %c atom<wgmma, warps = [4, 1]> : !slot, !slot, tensor<64x64xf32>
    tile.await %t
    tile.mbarrier_arrive %empty[%m] : !tile.mbarriers<4>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<256x256xf32>
}

// REMARK-DAG: Function=no_producer | Remark="no warps of their own start copies"
tile.kernel @no_producer(%x: memref<256xf32>, %y: memref<256xf32>) axes(%i = 256 step 64 grid) warps(4) {
  %a = tile.load %x[%i] : memref<256xf32> -> tensor<64xf32>
  tile.store %a, %y[%i] : tensor<64xf32>, memref<256xf32>
}

// REMARK-DAG: Function=exchange | Remark="warps exchange more than the slots of a ring"
tile.kernel @exchange(%x: memref<256x256xf32>, %y: memref<256xf32>) axes(%i = 256 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  tile.producer registers [40, 232] {
  }
  %a = tile.load %x[%i, %c0] : memref<256x256xf32> -> tensor<64x256xf32>
  %b = tile.reduce [add] %a axis 1 : tensor<64x256xf32> -> tensor<64xf32>
  tile.store %b, %y[%i] : tensor<64xf32>, memref<256xf32>
}

// REMARK-DAG: Function=carried | Remark="slots don't follow from the loop's variable alone"
tile.kernel @carried(%x: memref<256x256xbf16>) axes(%i = 256 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %empty = tile.mbarriers arrivals 4 : !tile.mbarriers<4>
  tile.producer registers [40, 232] {
    %last = scf.for %k = %c0 to %c256 step %c64 iter_args(%m = %c0) -> (index) {
      tile.mbarrier_wait %empty[%m] phase %c0 : !tile.mbarriers<4>
      %next = arith.addi %m, %c1 : index
      scf.yield %next : index
    }
  }
}

// REMARK-DAG: Function=cluster | Remark="a cluster shares each tile"
tile.kernel @cluster(%x: memref<256xf32>) axes(%i = 256 step 64 cluster) warps(4) {
  tile.producer registers [40, 232] {
  }
}
