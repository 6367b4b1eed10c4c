// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps that a launch makes, of results with as many rows as it has.

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-store{mode=always}))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-tma-store{mode=always}))' --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-tma-store' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#fragments = #tile.layout<[64, 256], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

module attributes {graph.sizes = {n = array<i64: 1048583, 0, 5000>}} {
  // CHECK-LABEL: tile.kernel @rows
  // CHECK:         tile.tma_store %{{.+}}, %y[%i, %j] by %{{.+}} bounds [1048583, 512]
  // REMARK-DAG:    Function=rows | Remark="%y is stored by a tensor map, in pieces of 16x64"
  tile.kernel @rows(%y: memref<1048583x512xbf16>) axes(%i = 1048583 step 64 grid, %j = 512 step 256 grid) warps(4) {
    %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
    tile.store %v, %y[%i, %j] bounds [1048583, 512] : tensor<64x256xbf16, #fragments>, memref<1048583x512xbf16>
  }

  // How far apart matrices are depends on their rows, and is a multiple of 16 bytes.

  // CHECK-LABEL: tile.kernel @matrices
  // CHECK:         tile.tma_store %{{.+}}, %y[%i, %j, %k] by
  tile.kernel @matrices(%y: memref<3x1048583x512xbf16>) axes(%i = 3 step 1 grid, %j = 1048583 step 64 grid, %k = 512 step 256 grid) warps(4) {
    %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
    tile.store %v, %y[%i, %j, %k] dims [1, 2] bounds [1048583, 512] : tensor<64x256xbf16, #fragments>, memref<3x1048583x512xbf16>
  }

  // How far apart rows are, is not.

  // CHECK-LABEL: tile.kernel @columns
  // CHECK:         tile.store
  // REMARK-DAG:    Function=columns | Remark="%y: would have a tensor map with a stride of 2097166 bytes, expected a multiple of 16 below 2^40"
  tile.kernel @columns(%y: memref<512x1048583xbf16>) axes(%i = 512 step 64 grid, %j = 1048583 step 256 grid) warps(4) {
    %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
    tile.store %v, %y[%i, %j] bounds [512, 1048583] : tensor<64x256xbf16, #fragments>, memref<512x1048583xbf16>
  }

  // Where the map's tensor starts is a number of the package.

  // CHECK-LABEL: tile.kernel @behind
  // CHECK:         tile.store
  // REMARK-DAG:    Function=behind | Remark="%y: where the memref starts is not known before the launch"
  tile.kernel @behind(%y: memref<1048583x512xbf16, strided<[512, 1], offset: 8388664>>) axes(%i = 1048583 step 64 grid, %j = 512 step 256 grid) warps(4) {
    %v = arith.constant dense<1.0> : tensor<64x256xbf16, #fragments>
    tile.store %v, %y[%i, %j] bounds [1048583, 512] : tensor<64x256xbf16, #fragments>, memref<1048583x512xbf16, strided<[512, 1], offset: 8388664>>
  }
}
