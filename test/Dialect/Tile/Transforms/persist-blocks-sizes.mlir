// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that run several tiles each, of as many as a launch has.

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-persist-blocks{mode=always blocks=7}))' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-persist-blocks{mode=always blocks=7}))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-persist-blocks' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!ring = !tile.buffer<4x64x64xbf16, #tile.shared<swizzle = 128>>
!slot = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// There may be 16 rows of 4 tiles. A launch with fewer than 7 tiles has as many
// blocks.

// CHECK-LABEL: tile.kernel @rows
// CHECK:         tile.producer
// CHECK:           tile.each_tile blocks 7 (%[[I:.+]], %{{.+}}) number %[[N:.+]] {
// CHECK:             arith.muli %[[N]], %{{.+}}
// CHECK:             tile.tma_copy %{{.+}}[%[[I]], %{{.+}}] to %{{.+}} bounds [1048583, 256]
// CHECK:         tile.each_tile blocks 7 (%[[I2:.+]], %[[J2:.+]]) number %{{.+}} {
// CHECK:           tile.store %{{.+}}, %{{.+}}[%[[I2]], %[[J2]]] bounds [1048583, 256]
// REMARK:      Function=rows | Remark="7 blocks run at most 64 tiles, up to 10 each"
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 1000>}} {
  tile.kernel @rows(%x: memref<1048583x256xbf16>, %y: memref<1048583x256xf32>) axes(%i = 1048583 step 64 grid, %j = 256 step 64 grid) warps(4) {
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
        tile.tma_copy %x[%i, %k] to %s on %full[%m] bounds [1048583, 256] : memref<1048583x256xbf16>, !slot, !tile.mbarriers<4>
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
    tile.store %d, %y[%i, %j] bounds [1048583, 256] : tensor<64x64xf32>, memref<1048583x256xf32>
  }
}

// -----

!ring = !tile.buffer<4x64x64xbf16, #tile.shared<swizzle = 128>>
!slot = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// CHECK-LABEL: tile.kernel @few
// CHECK-NOT:     tile.each_tile
// REMARK:      Function=few | Remark="the device has room for all of 4 blocks at once"
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 64>}} {
  tile.kernel @few(%x: memref<1048583x256xbf16>, %y: memref<1048583x256xf32>) axes(%i = 1048583 step 64 grid, %j = 256 step 64 grid) warps(4) {
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
        tile.tma_copy %x[%i, %k] to %s on %full[%m] bounds [1048583, 256] : memref<1048583x256xbf16>, !slot, !tile.mbarriers<4>
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
    tile.store %d, %y[%i, %j] bounds [1048583, 256] : tensor<64x64xf32>, memref<1048583x256xf32>
  }
}

// -----

// Chunks of all tiles have numbers of 64 bits.

// CHECK-LABEL: tile.kernel @endless
// CHECK-NOT:     tile.each_tile
// REMARK:      Function=endless | Remark="a block would count too many chunks"
module attributes {graph.sizes = {rows = array<i64: 9223372036854775783, 0, 4611686018427387904>}} {
  tile.kernel @endless() axes(%i = 9223372036854775783 step 1 grid) warps(4) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %empty = tile.mbarriers arrivals 4 : !tile.mbarriers<4>
    tile.producer registers [40, 232] {
      scf.for %k = %c0 to %c256 step %c64 {
        tile.mbarrier_wait %empty[%c0] phase %c0 : !tile.mbarriers<4>
      }
    }
  }
}
