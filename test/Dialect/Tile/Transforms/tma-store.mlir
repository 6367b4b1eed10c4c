// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results go to memory by tensor maps, where that is right.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-store{mode=always}))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-store))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-tma-store' -o /dev/null 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-store{mode=always}))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-tma-store' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#fragments = #tile.layout<[64, 256], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#narrow = #tile.layout<[64, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

// Four pieces of 16 rows of 128 bytes, in two slots of each warp; what is beyond
// the bounds is the map's affair.

// CHECK-LABEL: tile.kernel @wide
// CHECK:         %[[S:.+]] = tile.alloc : !tile.buffer<2x4x16x64xbf16, #tile.shared<swizzle = 128>>
// CHECK:         tile.tma_store %{{.+}}, %y[%i, %j] by %[[S]] bounds [250, 512]
// REMARK-DAG:    [Passed] TmaStore | Category:deplo-tma-store | Function=wide | Remark="%y is stored by a tensor map, in pieces of 16x64"
// AUTO-DAG:      Function=wide | Remark="no result of wgmma is stored"
tile.kernel @wide(%y: memref<250x512xbf16>) axes(%i = 250 step 64 grid, %j = 512 step 256 grid) warps(4) {
  %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
  tile.store %v, %y[%i, %j] bounds [250, 512] : tensor<64x256xbf16, #fragments>, memref<250x512xbf16>
}

// Rows of 32 bytes have a swizzle of 32; one piece needs one slot.

// CHECK-LABEL: tile.kernel @narrow
// CHECK:         tile.alloc : !tile.buffer<1x4x16x16xbf16, #tile.shared<swizzle = 32>>
// CHECK:         tile.tma_store
tile.kernel @narrow(%y: memref<256x512xbf16>) axes(%i = 256 step 64 grid, %j = 512 step 16 grid) warps(4) {
  %v = arith.constant dense<1.0> : tensor<64x16xbf16, #narrow>
  tile.store %v, %y[%i, %j] : tensor<64x16xbf16, #narrow>, memref<256x512xbf16>
}

// Not only what stmatrix writes: f32, half as many columns in a piece.

// CHECK-LABEL: tile.kernel @f32
// CHECK:         tile.alloc : !tile.buffer<2x4x16x32xf32, #tile.shared<swizzle = 128>>
// CHECK:         tile.tma_store
tile.kernel @f32(%y: memref<256x512xf32>) axes(%i = 256 step 64 grid, %j = 512 step 256 grid) warps(4) {
  %v = arith.constant dense<1.0> : tensor<64x256xf32, #fragments>
  tile.store %v, %y[%i, %j] : tensor<64x256xf32, #fragments>, memref<256x512xf32>
}

// CHECK-LABEL: tile.kernel @odd_rows
// CHECK:         tile.store
// REMARK-DAG:    Function=odd_rows | Remark="%y: would have a tensor map with a stride of 1002 bytes, expected a multiple of 16 below 2^40"
tile.kernel @odd_rows(%y: memref<256x501xbf16>) axes(%i = 256 step 64 grid, %j = 501 step 256 grid) warps(4) {
  %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
  tile.store %v, %y[%i, %j] bounds [256, 501] : tensor<64x256xbf16, #fragments>, memref<256x501xbf16>
}

// Along the columns of memory.

// CHECK-LABEL: tile.kernel @columns
// CHECK:         tile.store
// REMARK-DAG:    Function=columns | Remark="%y: copies elements that are 512 bytes apart
tile.kernel @columns(%y: memref<512x256xbf16>) axes(%i = 256 step 64 grid, %j = 512 step 256 grid) warps(4) {
  %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
  tile.store %v, %y[%j, %i] dims [1, 0] : tensor<64x256xbf16, #fragments>, memref<512x256xbf16>
}

// CHECK-LABEL: tile.kernel @before
// CHECK:         tile.store
// REMARK-DAG:    Function=before | Remark="%y: may start before the memref"
tile.kernel @before(%y: memref<256x512xbf16>) axes(%i = 256 step 64 grid, %j = 512 step 256 grid) warps(4) {
  %c8 = arith.constant 8 : index
  %s = arith.subi %j, %c8 : index
  %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
  tile.store %v, %y[%i, %s] bounds [256, 512] : tensor<64x256xbf16, #fragments>, memref<256x512xbf16>
}
