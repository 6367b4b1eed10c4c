// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-carry-slots))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-carry-slots))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-carry-slots -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Slots and rounds of a ring of six are counted, from where the loop starts;
// those of the chunk before have a count of their own.

// REMARK: 2 loops count the slots of rings
// CHECK-LABEL: tile.kernel @rings
// CHECK:         tile.producer
// CHECK:           %[[Q:.*]] = arith.divui %{{.*}}, %[[STEP:.*]] : index
// CHECK:           %[[S0:.*]] = arith.remui %[[Q]], %[[SIX:.*]] : index
// CHECK:           %[[P0:.*]] = arith.divui %[[Q]], %[[SIX]] : index
// CHECK:           scf.for {{.*}} iter_args(%[[S:.*]] = %[[S0]], %[[P:.*]] = %[[P0]]) -> (index, index)
// CHECK-NOT:         arith.remui
// CHECK:             tile.mbarrier_wait %{{.*}}[%[[S]]] phase %[[P]]
// CHECK:             %[[NEXT:.*]] = arith.addi %[[S]], %{{.*}} : index
// CHECK:             %[[OVER:.*]] = arith.cmpi eq, %[[NEXT]], %{{.*}} : index
// CHECK:             %[[SN:.*]] = arith.select %[[OVER]], %{{.*}}, %[[NEXT]] : index
// CHECK:             %[[ROUND:.*]] = arith.addi %[[P]], %{{.*}} : index
// CHECK:             %[[PN:.*]] = arith.select %[[OVER]], %[[ROUND]], %[[P]] : index
// CHECK:             scf.yield %[[SN]], %[[PN]] : index, index
// CHECK:         scf.for {{.*}} -> (index, index, index)
// CHECK-NOT:       arith.remui
// CHECK:           tile.mbarrier_arrive
tile.kernel @rings(%x: memref<512x512xbf16>) axes(%i = 512 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<6>
  %empty = tile.mbarriers arrivals 4 : !tile.mbarriers<6>
  tile.producer registers [40, 232] {
    scf.for %k = %c0 to %c512 step %c64 {
      %n = arith.divui %k, %c64 : index
      %s = arith.remui %n, %c6 : index
      %p = arith.divui %n, %c6 : index
      tile.mbarrier_wait %empty[%s] phase %p : !tile.mbarriers<6>
    }
  }
  scf.for %k = %c64 to %c512 step %c64 {
    %n = arith.divui %k, %c64 : index
    %s = arith.remui %n, %c6 : index
    %p = arith.divui %n, %c6 : index
    tile.mbarrier_wait %full[%s] phase %p : !tile.mbarriers<6>
    %b = arith.subi %k, %c64 : index
    %m = arith.divui %b, %c64 : index
    %t = arith.remui %m, %c6 : index
    tile.mbarrier_arrive %empty[%t] : !tile.mbarriers<6>
  }
}

// -----

// By a power of two, by another step, and of what doesn't grow by the step.

// REMARK: no loop divides the numbers of chunks by anything but powers of two
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT:     iter_args
// CHECK-COUNT-3: arith.remui
tile.kernel @others(%x: memref<512x512xbf16>) axes(%i = 512 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %four = tile.mbarriers arrivals 1 : !tile.mbarriers<4>
  %six = tile.mbarriers arrivals 1 : !tile.mbarriers<6>
  scf.for %k = %c0 to %c512 step %c64 {
    %n = arith.divui %k, %c64 : index
    %s = arith.remui %n, %c4 : index
    tile.mbarrier_wait %four[%s] phase %c0 : !tile.mbarriers<4>
    %h = arith.divui %k, %c32 : index
    %t = arith.remui %h, %c6 : index
    tile.mbarrier_wait %six[%t] phase %c0 : !tile.mbarriers<6>
    %d = arith.muli %k, %c2 : index
    %m = arith.divui %d, %c64 : index
    %u = arith.remui %m, %c6 : index
    tile.mbarrier_wait %six[%u] phase %c0 : !tile.mbarriers<6>
  }
}
