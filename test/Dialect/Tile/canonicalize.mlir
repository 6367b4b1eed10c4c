// RUN: deplo-opt %s --canonicalize --split-input-file | FileCheck %s

#a = #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#b = #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>
#c = #tile.layout<[64], register = [[1]], lane = [[4], [2], [8], [16], [32]], warp = []>

// A conversion to the layout that the tile has is nothing.
// CHECK-LABEL: tile.kernel @same
tile.kernel @same(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) warps(1) {
  // CHECK: %[[A:.+]] = tile.load
  // CHECK-NEXT: tile.store %[[A]]
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32, #a>
  %b = tile.convert_layout %a : tensor<64xf32, #a> -> tensor<64xf32, #a>
  tile.store %b, %y[%i] : tensor<64xf32, #a>, memref<64xf32>
}

// Two conversions in a row are one.
// CHECK-LABEL: tile.kernel @twice
tile.kernel @twice(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) warps(1) {
  // CHECK: %[[A:.+]] = tile.load
  // CHECK-NEXT: %[[B:.+]] = tile.convert_layout %[[A]]
  // CHECK-NEXT: tile.store %[[B]]
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32, #a>
  %b = tile.convert_layout %a : tensor<64xf32, #a> -> tensor<64xf32, #b>
  %c = tile.convert_layout %b : tensor<64xf32, #b> -> tensor<64xf32, #c>
  tile.store %c, %y[%i] : tensor<64xf32, #c>, memref<64xf32>
}
