// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a contraction with columns that are no power of two.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch))' --split-input-file --verify-diagnostics | FileCheck %s

// Both tiles of a block read the same chunk of the rows; what is loaded for the
// result, and where it is stored, starts at the second tile's columns.

// CHECK-LABEL: tile.kernel @mm
// CHECK-SAME:    axes(%i = 128 step 64 grid, %j = 384 step 96 grid) warps(4)
// CHECK:         %[[D:.+]]:2 = scf.for %[[K:[a-z0-9]+]] = {{.+}} -> (tensor<64x64xf32>, tensor<64x32xf32>)
// CHECK:           %[[A:.+]] = tile.load %x[%i, %[[K]]] : memref<128x512xbf16> -> tensor<64x64xbf16>
// CHECK-NOT:       tile.load %x
// CHECK-DAG:       tile.load %w[%j, %[[K]]] : memref<384x512xbf16> -> tensor<64x64xbf16>
// CHECK-DAG:       %[[J:.+]] = arith.addi %j, %c64
// CHECK-DAG:       tile.load %w[%[[J]], %[[K]]] : memref<384x512xbf16> -> tensor<32x64xbf16>
// CHECK-DAG:       tile.dot %[[A]] {{.+}} tensor<64x64xf32>
// CHECK-DAG:       tile.dot %[[A]] {{.+}} tensor<64x32xf32>
// CHECK:         tile.load %b[%j] : memref<384xf32> -> tensor<64xf32>
// CHECK:         tile.store %{{.+}}, %y[%i, %j] : tensor<64x64xf32>
// CHECK:         tile.load %b[%{{.+}}] : memref<384xf32> -> tensor<32xf32>
// CHECK:         tile.store %{{.+}}, %y[%i, %{{.+}}] : tensor<64x32xf32>
tile.kernel @mm(%x: memref<128x512xbf16>, %w: memref<384x512xbf16>, %b: memref<384xf32>, %y: memref<128x384xf32>) axes(%i = 128 tile, %j = 384 tile) attributes {schedule = #tile.schedule<block = [64, 96], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<128x384xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<128x384xf32>) {
    %a = tile.load %x[%i, %k] : memref<128x512xbf16> -> tensor<128x64xbf16>
    %e = tile.load %w[%j, %k] : memref<384x512xbf16> -> tensor<384x64xbf16>
    %n = tile.dot %a dims [0, 2], %e dims [1, 2], %c : tensor<128x64xbf16>, tensor<384x64xbf16>, tensor<128x384xf32>
    scf.yield %n : tensor<128x384xf32>
  }
  %bias = tile.load %b[%j] : memref<384xf32> -> tensor<384xf32>
  %all = tile.broadcast %bias dims [1] : tensor<384xf32> -> tensor<128x384xf32>
  %r = arith.addf %d, %all : tensor<128x384xf32>
  tile.store %r, %y[%i, %j] : tensor<128x384xf32>, memref<128x384xf32>
}

// -----

// Three tiles, of which the last block's stick out: bounds are those of all.

// CHECK-LABEL: tile.kernel @bounds
// CHECK:         scf.for {{.+}} -> (tensor<64x64xf32>, tensor<64x32xf32>, tensor<64x16xf32>)
// CHECK:           tile.load %w[%j, %{{.+}}] bounds [300, 512] : memref<300x512xbf16> -> tensor<64x64xbf16>
// CHECK:         tile.store %{{.+}}#0, %y[%i, %j] bounds [128, 300]
// CHECK:         tile.store %{{.+}}#1, %y[%i, %{{.+}}] bounds [128, 300] : tensor<64x32xf32>
// CHECK:         tile.store %{{.+}}#2, %y[%i, %{{.+}}] bounds [128, 300] : tensor<64x16xf32>
tile.kernel @bounds(%x: memref<128x512xbf16>, %w: memref<300x512xbf16>, %y: memref<128x300xf32>) axes(%i = 128 tile, %j = 300 tile) attributes {schedule = #tile.schedule<block = [64, 112], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<128x300xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<128x300xf32>) {
    %a = tile.load %x[%i, %k] : memref<128x512xbf16> -> tensor<128x64xbf16>
    %e = tile.load %w[%j, %k] : memref<300x512xbf16> -> tensor<300x64xbf16>
    %n = tile.dot %a dims [0, 2], %e dims [1, 2], %c : tensor<128x64xbf16>, tensor<300x64xbf16>, tensor<128x300xf32>
    scf.yield %n : tensor<128x300xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<128x300xf32>, memref<128x300xf32>
}

// -----

// The number of the block's first column is no start of a tile.

// expected-error @below {{can't split tiles of 96: more than where tiles start depends on the axis; use a power of two}}
tile.kernel @number(%x: memref<128x64xbf16>, %w: memref<384x64xbf16>, %y: memref<128x384xf32>) axes(%i = 128 tile, %j = 384 tile) attributes {schedule = #tile.schedule<block = [64, 96], warps = 4, vector = 8, chunk = 64, stages = 3, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<128x384xf32>
  %a = tile.load %x[%i, %c0] : memref<128x64xbf16> -> tensor<128x64xbf16>
  %e = tile.load %w[%j, %c0] : memref<384x64xbf16> -> tensor<384x64xbf16>
  %d = tile.dot %a dims [0, 2], %e dims [1, 2], %zeros : tensor<128x64xbf16>, tensor<384x64xbf16>, tensor<128x384xf32>
  %m = arith.index_cast %j : index to i32
  %f = arith.sitofp %m : i32 to f32
  %s = tile.splat %f : f32 -> tensor<128x384xf32>
  %r = arith.addf %d, %s : tensor<128x384xf32>
  tile.store %r, %y[%i, %j] : tensor<128x384xf32>, memref<128x384xf32>
}
