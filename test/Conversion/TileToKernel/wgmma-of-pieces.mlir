// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction of f32 by wgmma of three pieces of bf16.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots))' | FileCheck %s --check-prefix=TILE
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots),deplo-tile-to-kernel)' | FileCheck %s

// Tensor maps copy all pieces of a chunk, not the numbers, within the bounds of
// these. What is summed over lies along rows of one operand and along columns of
// the other. Contractions are not awaited later.

// TILE-LABEL: tile.kernel @mm
// TILE-DAG:     %[[A:.+]] = tile.alloc : !tile.buffer<2x3x64x32xbf16, #tile.shared<swizzle = 64>>
// TILE-DAG:     %[[B:.+]] = tile.alloc : !tile.buffer<2x3x32x128xbf16, #tile.shared<swizzle = 128, split = true>>
// TILE-NOT:     xf32, #tile.shared
// TILE:         tile.producer
// TILE:           tile.tma_copy %p[%{{.+}}, %i, %{{.+}}] to %{{.+}} dims [0, 1, 2] bounds [3, 64, 250]
// TILE:           tile.tma_copy %q[%{{.+}}, %{{.+}}, %j] to %{{.+}} dims [0, 1, 2] bounds [3, 250, 256]
// TILE:         scf.for
// TILE:           %[[D:.+]], %[[T:.+]], %[[R:.+]] = tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1], %[[C:.+]] rest %[[S:.+]] atom<wgmma, warps = [4, 1]>
// TILE-NEXT:      tile.await %[[T]]
// TILE-NEXT:      tile.mbarrier_arrive
// TILE-NEXT:      scf.yield %[[D]], %[[R]]
// TILE:         %[[U:.+]] = arith.constant dense<3.55271368E-15>
// TILE-NEXT:    %[[V:.+]] = arith.mulf %{{.+}}#1, %[[U]]
// TILE-NEXT:    arith.addf %{{.+}}#0, %[[V]]

// Products of high pieces from zero are a group, the others, on top of the
// rest, another one, of three and of two products of two instructions each.
// The first group's sums are added while the second one is computed. The pieces
// of a scale are 4096 bytes apart, and so are both operands'.

// CHECK-LABEL:   llvm.func @mm
// CHECK:           nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c12288_i32
// CHECK:           nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c24576_i32
// CHECK:           llvm.inline_asm has_side_effects {{.*}}"wgmma.fence.sync.aligned;"
// CHECK:           nvvm.wgmma.mma_async {{.+}} <m = 64, n = 128, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
// CHECK:           nvvm.wgmma.mma_async {{.+}} D[<f32>, <one>]
// CHECK-NOT:       nvvm.wgmma.mma_async
// CHECK:           nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-10:  nvvm.wgmma.mma_async {{.+}} D[<f32>, <one>]
// CHECK-NOT:       nvvm.wgmma.mma_async
// CHECK:           nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT:      llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 1;"
// CHECK:           %[[NEXT:[0-9]+]] = llvm.intr.fma(%[[HIGH:[0-9]+]], %[[DOWN:.+]], %[[SUM:[0-9]+]])
// CHECK-NEXT:      %[[LEFT:.+]] = arith.subf %[[SUM]], %[[NEXT]]
// CHECK-NEXT:      llvm.intr.fma(%[[HIGH]], %[[DOWN]], %[[LEFT]])
// CHECK:           "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-64:  llvm.intr.fma

tile.kernel @mm(%x: memref<64x250xf32>, %w: memref<250x256xf32>, %y: memref<64x256xf32>, %p: memref<3x64x256xbf16>, %q: memref<3x250x256xbf16>) axes(%i = 64 step 64 grid, %j = 256 step 128 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 128], warps = 4, vector = 4, chunk = 32, stages = 2, atom = wgmma, warp_tile = [16, 128], precision = f32>, tile.pieces = array<i64: 0, 1>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zeros = arith.constant dense<0.0> : tensor<64x128xf32>
  %d = scf.for %k = %c0 to %c256 step %c32 iter_args(%c = %zeros) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%i, %k] bounds [64, 250] : memref<64x250xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %j] bounds [250, 256] : memref<250x256xf32> -> tensor<32x128xf32>
    %n = tile.dot %a dims [0, 2], %b dims [2, 1], %c precision f32 : tensor<64x32xf32>, tensor<32x128xf32>, tensor<64x128xf32>
    scf.yield %n : tensor<64x128xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x128xf32>, memref<64x256xf32>
}

// The operand without pieces in memory is read as it is: eight numbers of a
// thread for each instruction's 16, 24 bits of each as six of the instruction's
// registers for two. High pieces alone are made before the first instructions,
// the others while four of these compute, and sums are added while the last
// ones do. That order ends at basic blocks.

// TILE-LABEL: tile.kernel @whole
// TILE-DAG:     tile.alloc : !tile.buffer<2x64x32xf32, #tile.shared<swizzle = 128>>
// TILE-DAG:     tile.alloc : !tile.buffer<2x3x64x32xbf16, #tile.shared<swizzle = 64>>
// TILE:         tile.tma_copy %x[
// TILE:         tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [1, 2], %{{.+}} rest

// CHECK-LABEL:   llvm.func @whole
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-COUNT-8: arith.truncf {{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT:     arith.truncf
// CHECK:         "wgmma.fence.sync.aligned;"
// CHECK:         setp.ne.b32 p, 0, 0;{{.+}}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK:         setp.ne.b32 p, 1, 0;{{.+}}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK-NOT:     wgmma.mma_async
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-2: setp.ne.b32 p, 1, 0;{{.+}}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK-NOT:     wgmma.mma_async
// CHECK:         activemask.b32
// CHECK-COUNT-16: arith.truncf {{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK:         nvvm.wgmma.fence.aligned
// CHECK-COUNT-8: setp.ne.b32 p, 1, 0;{{.+}}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK-NOT:     wgmma.mma_async
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT:    llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 1;"
// CHECK-COUNT-64: llvm.intr.fma
// CHECK-NOT:     llvm.intr.fma
// CHECK:         activemask.b32
// CHECK:         "wgmma.wait_group.sync.aligned 0;"

tile.kernel @whole(%x: memref<64x256xf32>, %w: memref<64x256xf32>, %y: memref<64x64xf32>, %q: memref<3x64x256xbf16>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 64], warps = 4, vector = 4, chunk = 32, stages = 2, atom = wgmma, warp_tile = [16, 64], precision = f32>, tile.pieces = array<i64: 1>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = scf.for %k = %c0 to %c256 step %c32 iter_args(%c = %zeros) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x256xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%j, %k] : memref<64x256xf32> -> tensor<64x32xf32>
    %n = tile.dot %a dims [0, 2], %b dims [1, 2], %c precision f32 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x64xf32>
    scf.yield %n : tensor<64x64xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}
