// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction with weights along columns, by wgmma.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle))' | FileCheck %s --check-prefix=TILE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots),deplo-tile-to-kernel)' | FileCheck %s

// Rows of the one operand are summed over, those of the other are split.

// TILE-LABEL: tile.kernel @mm
// TILE:         tile.alloc : !tile.buffer<3x64x64xbf16, #tile.shared<swizzle = 128>>
// TILE:         tile.alloc : !tile.buffer<3x64x128xbf16, #tile.shared<swizzle = 128, split = true>>
// TILE:         tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1]

// Each piece of rows is a box of its own, on the same barrier, which expects the
// bytes of both. The first contraction of all doesn't read the sums. The halves
// of a descriptor are put together last; the upper one is a constant.

// CHECK-LABEL: llvm.func @mm
// CHECK:         nvvm.mbarrier.arrive.expect_tx %[[FULL:[^,]+]], %c8192_i32
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %arg{{[0-9]}}, %[[FULL]], box
// CHECK:         nvvm.mbarrier.arrive.expect_tx %[[SAME:[^,]+]], %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %arg{{[0-9]}}, %[[SAME]], box
// CHECK:         nvvm.wgmma.fence.aligned
// CHECK:         %[[HALVES:.+]] = vector.from_elements %{{.+}}, %c1073741888_i32{{.*}} : vector<2xi32>
// CHECK:         llvm.bitcast %[[HALVES]] : vector<2xi32> to i64
// CHECK:         nvvm.wgmma.mma_async {{.+}} <m = 64, n = 128, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
// CHECK-COUNT-3: nvvm.wgmma.mma_async {{.+}} <m = 64, n = 128, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
// CHECK:         nvvm.wgmma.commit.group.sync.aligned

tile.kernel @mm(%x: memref<64x256xbf16>, %w: memref<256x256xbf16>, %y: memref<64x256xf32>) axes(%i = 64 step 64 grid, %j = 256 step 128 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 128], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 128]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zeros = arith.constant dense<0.0> : tensor<64x128xf32>
  %d = scf.for %k = %c0 to %c256 step %c64 iter_args(%c = %zeros) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %j] : memref<256x256xbf16> -> tensor<64x128xbf16>
    %n = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>
    scf.yield %n : tensor<64x128xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x128xf32>, memref<64x256xf32>
}
