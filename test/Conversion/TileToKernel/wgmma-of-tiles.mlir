// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of 64 and 32 columns of one block: slots of both lie side by side, so
// that they are one operand, of one instruction.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch,deplo-stage-inputs,deplo-tensorize,deplo-register-tile,deplo-double-buffer,deplo-tma-copy,deplo-split-inner-for-swizzle,deplo-warp-specialize,deplo-overlap-dots),deplo-tile-to-kernel)' --split-input-file | FileCheck %s

// One instruction, and one group to wait for. The second ring starts behind the
// first one's first slot, 8192 bytes; slots are 12288 bytes apart.

// CHECK-LABEL: llvm.func @mm
// CHECK:         nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.+}} <m = 64, n = 96, k = 16>
// CHECK-NEXT:    llvm.extractvalue
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
// CHECK-NOT:     nvvm.wgmma.commit.group
// CHECK:         scf.for
// CHECK:           nvvm.wgmma.mma_async {{.+}} <m = 64, n = 96, k = 16>
// CHECK:           nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
tile.kernel @mm(%x: memref<128x512xbf16>, %w: memref<384x512xbf16>, %y: memref<128x384xf32>) axes(%i = 128 tile, %j = 384 tile) attributes {schedule = #tile.schedule<block = [64, 96], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<128x384xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<128x384xf32>) {
    %a = tile.load %x[%i, %k] : memref<128x512xbf16> -> tensor<128x64xbf16>
    %b = tile.load %w[%j, %k] : memref<384x512xbf16> -> tensor<384x64xbf16>
    %n = tile.dot %a dims [0, 2], %b dims [1, 2], %c : tensor<128x64xbf16>, tensor<384x64xbf16>, tensor<128x384xf32>
    scf.yield %n : tensor<128x384xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<128x384xf32>, memref<128x384xf32>
}

// -----

// Rows of columns are split: each tile has an instruction of its own.

// CHECK-LABEL: llvm.func @columns
// CHECK:         nvvm.wgmma.mma_async {{.+}} <m = 64, n = 64, k = 16>
// CHECK:         nvvm.wgmma.mma_async {{.+}} <m = 64, n = 32, k = 16>
tile.kernel @columns(%x: memref<128x512xbf16>, %w: memref<512x384xbf16>, %y: memref<128x384xf32>) axes(%i = 128 tile, %j = 384 tile) attributes {schedule = #tile.schedule<block = [64, 96], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<128x384xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<128x384xf32>) {
    %a = tile.load %x[%i, %k] : memref<128x512xbf16> -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %j] : memref<512x384xbf16> -> tensor<64x384xbf16>
    %n = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<128x64xbf16>, tensor<64x384xbf16>, tensor<128x384xf32>
    scf.yield %n : tensor<128x384xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<128x384xf32>, memref<128x384xf32>
}
