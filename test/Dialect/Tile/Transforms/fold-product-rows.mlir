// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a product are folded in the blocks that compute it: the steps
// that know of it, one after the other.
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k | FileCheck %s --check-prefix=SPLIT
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --deplo-select-schedule | FileCheck %s --check-prefix=SCHEDULE
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --deplo-select-schedule --deplo-tileify --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --deplo-tile-pipeline | FileCheck %s --check-prefix=ALL
// RUN: not deplo-opt %s --deplo-attach-target --deplo-select-schedule 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --deplo-select-schedule=pin=block=64x1x32 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --deplo-select-schedule=pin=block=64x1 2>&1 | FileCheck %s --check-prefix=FEW

// WIDE: error: 'loop.kernel' op has no schedule: a block folds rows of 8192 columns, and has 256 at most; run deplo-split-matmul-k first
// NARROW: error: 'loop.kernel' op has no schedule: a block folds whole rows, of {{[0-9]+}} columns, and has 32; give it as many
// FEW: error: 'loop.kernel' op has no schedule: block has 2 sizes, the kernel has 2 axes and the columns that it folds

// Blocks fold the columns that they have; a second kernel folds the parts. What
// is stored is stored by part.
// SPLIT-LABEL: loop.kernel @rows_parts
// SPLIT-NEXT:    loop.for %[[I:.+]] = 0 to 512 {
// SPLIT-NEXT:      loop.for %[[P:.+]] = 0 to [[$COUNT:[0-9]+]] {
// SPLIT-NEXT:        %[[M:.+]] = loop.reduce max %[[J:.+]] = 0 to [[$LENGTH:[0-9]+]] : f32 {
// SPLIT-NEXT:          %[[S:.+]] = loop.reduce add %[[K:.+]] = 0 to 64 : f32 {
// SPLIT-NEXT:            loop.load %{{.+}}[%[[I]], %[[K]]] : memref<512x64xf32>
// SPLIT-NEXT:            loop.load %{{.+}}[%[[K]], %[[P]], %[[J]]] : memref<64x[[$COUNT]]x[[$LENGTH]]xf32>
// SPLIT:               loop.store %[[S]], %{{.+}}[%[[I]], %[[P]], %[[J]]] : memref<512x[[$COUNT]]x[[$LENGTH]]xf32>
// SPLIT:             loop.store %[[M]], %{{.+}}[%[[P]], %[[I]]] : memref<[[$COUNT]]x512xf32>
// SPLIT-LABEL: loop.kernel @rows(
// SPLIT-NEXT:    loop.for %[[I:.+]] = 0 to 512 {
// SPLIT-NEXT:      loop.reduce max %[[P:.+]] = 0 to [[$COUNT]] : f32 {
// SPLIT-NEXT:        loop.load %{{.+}}[%[[P]], %[[I]]]

// A block has a size for each axis, and for the columns.
// SCHEDULE: loop.kernel @rows_parts({{.*}}block = [{{[0-9]+}}, 1, {{[0-9]+}}]

// The columns are a dimension of the tile that is folded.
// TILE-LABEL: tile.kernel @rows_parts
// TILE:         %[[S:.+]] = loop.reduce add {{.*}} : tensor<512x[[$COUNT:[0-9]+]]x[[$LENGTH:[0-9]+]]xf32> {
// TILE:         tile.store %[[S]],
// TILE-NEXT:    %[[M:.+]] = tile.reduce [max] %[[S]] axis 2 : tensor<512x[[$COUNT]]x[[$LENGTH]]xf32> -> tensor<512x[[$COUNT]]xf32>
// TILE-NEXT:    tile.store %[[M]],

// ALL-LABEL: tile.kernel @rows_parts
// ALL:         tile.dot
// ALL:         tile.reduce [max]
loop.kernel @rows(%x: memref<512x64xf32>, %w: memref<64x8192xf32>, %y: memref<512x8192xf32>, %m: memref<512xf32>) {
  loop.for %i = 0 to 512 {
    %max = loop.reduce max %j = 0 to 8192 : f32 {
      %s = loop.reduce add %k = 0 to 64 : f32 {
        %a = loop.load %x[%i, %k] : memref<512x64xf32>
        %b = loop.load %w[%k, %j] : memref<64x8192xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<512x8192xf32>
      loop.yield %s : f32
    }
    loop.store %max, %m[%i] : memref<512xf32>
  }
}
