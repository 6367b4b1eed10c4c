// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps from a staged contraction to one by wgmma with a producer, each on
// what the ones before it leave.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize))' | FileCheck %s --check-prefix=TENSORIZE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy))' | FileCheck %s --check-prefix=TMA
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle))' | FileCheck %s --check-prefix=SWIZZLE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize))' | FileCheck %s --check-prefix=ROLES
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots))' | FileCheck %s --check-prefix=OVERLAP
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-(tensorize|tma-copy|split-inner-for-swizzle|warp-specialize|overlap-dots)' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A contraction reads buffers, and is awaited at once.

// TENSORIZE-LABEL: tile.kernel @mm
// TENSORIZE:         tile.barrier
// TENSORIZE-NEXT:    %[[D:.+]], %[[T:.+]] = tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [1, 2], %{{.+}} atom<wgmma, warps = [8, 1]>
// TENSORIZE-NEXT:    tile.await %[[T]]
// TENSORIZE-NEXT:    tile.barrier
// TENSORIZE-NEXT:    scf.yield %[[D]]

// One barrier for the slots of both rings, each of which two copies fill.

// TMA-LABEL: tile.kernel @mm
// TMA:         %[[FULL:.+]] = tile.mbarriers arrivals 2 : !tile.mbarriers<3>
// TMA:         scf.for
// TMA:           %[[PHASE:.+]] = arith.divui %{{.+}}, %c3
// TMA:           %[[SLOT:.+]] = arith.remui %{{.+}}, %c3
// TMA:           tile.tma_copy %x[%i, %{{.+}}] to %{{.+}} on %[[FULL]][%[[SLOT]]]
// TMA-NEXT:      tile.tma_copy %w[%j, %{{.+}}] to %{{.+}} on %[[FULL]][%[[SLOT]]]
// TMA-NEXT:      tile.mbarrier_wait %[[FULL]][%[[SLOT]]] phase %[[PHASE]]
// TMA-NEXT:      tile.barrier

// Rows are as long as the swizzle.

// SWIZZLE-LABEL: tile.kernel @mm
// SWIZZLE:         tile.alloc : !tile.buffer<3x128x64xbf16, #tile.shared<swizzle = 128>>
// SWIZZLE:         tile.alloc : !tile.buffer<3x64x64xbf16, #tile.shared<swizzle = 128>>

// The producer waits for slots that are empty, the others for those that are
// full. No barrier of all threads is left.

// ROLES-LABEL: tile.kernel @mm
// ROLES:         %[[FULL:.+]] = tile.mbarriers arrivals 2
// ROLES:         %[[EMPTY:.+]] = tile.mbarriers arrivals 8 : !tile.mbarriers<3>
// ROLES-NEXT:    tile.producer registers [24, 104] {
// ROLES:           scf.for
// ROLES:             %[[BEFORE:.+]] = arith.subi
// ROLES-NEXT:        tile.mbarrier_wait %[[EMPTY]][%{{.+}}] phase %[[BEFORE]]
// ROLES-NEXT:        tile.tma_copy %x
// ROLES-NEXT:        tile.tma_copy %w
// ROLES:         scf.for
// ROLES-NOT:       tile.tma_copy
// ROLES:           tile.mbarrier_wait %[[FULL]]
// ROLES-NEXT:      tile.async_dot
// ROLES-NEXT:      tile.await
// ROLES-NEXT:      tile.mbarrier_arrive %[[EMPTY]]
// ROLES-NEXT:      scf.yield

// Each contraction is awaited when the next one has started.

// OVERLAP-LABEL: tile.kernel @mm
// OVERLAP:         tile.producer
// OVERLAP:         tile.tma_copy
// OVERLAP:         %[[D0:.+]], %[[T0:.+]] = tile.async_dot {{.+}} atom
// OVERLAP:         %[[R:.+]]:2 = scf.for %{{.+}} iter_args(%[[C:.+]] = %[[D0]], %[[U:.+]] = %[[T0]])
// OVERLAP:           %[[D:.+]], %[[T:.+]] = tile.async_dot {{.+}}, %[[C]] atom
// OVERLAP-NEXT:      tile.await %[[U]]
// OVERLAP:           tile.mbarrier_arrive
// OVERLAP-NEXT:      scf.yield %[[D]], %[[T]]
// OVERLAP:         tile.await %[[R]]#1
// OVERLAP:         tile.store %[[R]]#0

// REMARK-DAG: [Passed] Tensorize | Category:deplo-tensorize | Function=mm | Remark="wgmma, 8x1 warps of tiles of 16x64"
// REMARK-DAG: [Passed] TmaCopy | Category:deplo-tma-copy | Function=mm | Remark="%x is copied by a tensor map, on 3 barriers"
// REMARK-DAG: [Passed] SplitInnerForSwizzle | Category:deplo-split-inner-for-swizzle | Function=mm | Remark="the buffer of %x has rows of one swizzle of 128 bytes"
// REMARK-DAG: [Passed] WarpSpecialize | Category:deplo-warp-specialize | Function=mm | Remark="a warpgroup of 24 registers a thread starts copies, 8 warps of 104 compute"
// REMARK-DAG: [Passed] OverlapDots | Category:deplo-overlap-dots | Function=mm | Remark="contractions are awaited an iteration later"

tile.kernel @mm(%x: memref<250x256xbf16>, %w: memref<256x256xbf16>, %y: memref<250x256xf32>) axes(%i = 250 step 128 grid, %j = 256 step 64 grid) warps(8) attributes {schedule = #tile.schedule<block = [128, 64], warps = 8, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zeros = arith.constant dense<0.0> : tensor<128x64xf32>
  %d = scf.for %k = %c0 to %c256 step %c64 iter_args(%c = %zeros) -> (tensor<128x64xf32>) {
    %a = tile.load %x[%i, %k] bounds [250, 256] : memref<250x256xbf16> -> tensor<128x64xbf16>
    %b = tile.load %w[%j, %k] : memref<256x256xbf16> -> tensor<64x64xbf16>
    %n = tile.dot %a dims [0, 2], %b dims [1, 2], %c : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
    scf.yield %n : tensor<128x64xf32>
  }
  tile.store %d, %y[%i, %j] bounds [250, 256] : tensor<128x64xf32>, memref<250x256xf32>
}
