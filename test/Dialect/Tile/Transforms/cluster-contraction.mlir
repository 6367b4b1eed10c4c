// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-cluster-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Four blocks have a quarter of the chunks each, and then a quarter of the
// columns: what is loaded for the result, and where it is stored, starts there.

// CHECK-LABEL: tile.kernel @mm
// CHECK-SAME:    axes(%i = 256 step 64 grid, %j = 256 step 128 grid, %[[P:.+]] = 128 step 32 cluster)
// CHECK:         %[[FIRST:.+]] = arith.muli %[[P]], %c4
// CHECK:         %[[D:.+]] = scf.for %[[K:.+]] = %c0 to %c128 step %c64
// CHECK:           %[[AT:.+]] = arith.addi %[[K]], %[[FIRST]]
// CHECK-NEXT:      tile.load %x[%i, %[[AT]]] : memref<256x512xbf16> -> tensor<64x64xbf16>
// CHECK-NEXT:      tile.load %w[%j, %[[AT]]] : memref<256x512xbf16> -> tensor<128x64xbf16>
// CHECK:         %[[S:.+]] = tile.cluster_reduce_scatter %[[D]] dim 1 : tensor<64x128xf32> -> tensor<64x32xf32>
// CHECK:         %[[J:.+]] = arith.addi %j, %[[P]]
// CHECK:         tile.load %b[%[[J]]] : memref<256xf32> -> tensor<32xf32>
// CHECK:         tile.store %{{.+}}, %y[%i, %{{.+}}] : tensor<64x32xf32>, memref<256x256xf32>
// REMARK: [Passed] ClusterReduce | Category:deplo-cluster-reduce | Function=mm | Remark="8 chunks of a contraction are shared by 4 blocks of a cluster, which have 32 columns of the sum each"
tile.kernel @mm(%x: memref<256x512xbf16>, %w: memref<256x512xbf16>, %b: memref<256xf32>, %y: memref<256x256xf32>) axes(%i = 256 step 64 grid, %j = 256 step 128 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 128], warps = 4, vector = 8, cluster = 4, chunk = 64, stages = 2, atom = wgmma, warp_tile = [16, 128]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<64x128xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%i, %k] : memref<256x512xbf16> -> tensor<64x64xbf16>
    %e = tile.load %w[%j, %k] : memref<256x512xbf16> -> tensor<128x64xbf16>
    %n = tile.dot %a dims [0, 2], %e dims [1, 2], %c : tensor<64x64xbf16>, tensor<128x64xbf16>, tensor<64x128xf32>
    scf.yield %n : tensor<64x128xf32>
  }
  %bias = tile.load %b[%j] : memref<256xf32> -> tensor<128xf32>
  %all = tile.broadcast %bias dims [1] : tensor<128xf32> -> tensor<64x128xf32>
  %r = arith.addf %d, %all : tensor<64x128xf32>
  tile.store %r, %y[%i, %j] : tensor<64x128xf32>, memref<256x256xf32>
}

// -----

// Rows are shared where they are the instruction's N; warps that have whole
// warpgroups along the columns say so.

// CHECK-LABEL: tile.kernel @few_rows
// CHECK-SAME:    %[[P:[a-z]+]] = 32 step 16 cluster
// CHECK:         tile.cluster_reduce_scatter %{{.+}} dim 0 : tensor<32x64xf32> -> tensor<16x64xf32>
// CHECK:         %[[I:.+]] = arith.addi %i, %[[P]]
// CHECK:         tile.store %{{.+}}, %y[%[[I]], %j] bounds [20, 256] : tensor<16x64xf32>
tile.kernel @few_rows(%x: memref<20x512xbf16>, %w: memref<256x512xbf16>, %y: memref<20x256xf32>) axes(%i = 20 step 32 grid, %j = 256 step 64 grid) warps(4) attributes {schedule = #tile.schedule<block = [32, 64], warps = 4, vector = 8, cluster = 2, chunk = 64, stages = 2, atom = wgmma, warp_tile = [32, 16]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<32x64xf32>
  %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) -> (tensor<32x64xf32>) {
    %a = tile.load %x[%i, %k] bounds [20, 512] : memref<20x512xbf16> -> tensor<32x64xbf16>
    %e = tile.load %w[%j, %k] : memref<256x512xbf16> -> tensor<64x64xbf16>
    %n = tile.dot %a dims [0, 2], %e dims [1, 2], %c : tensor<32x64xbf16>, tensor<64x64xbf16>, tensor<32x64xf32>
    scf.yield %n : tensor<32x64xf32>
  }
  tile.store %d, %y[%i, %j] bounds [20, 256] : tensor<32x64xf32>, memref<20x256xf32>
}

// -----

// Seven chunks can't be shared equally.

// CHECK-LABEL: tile.kernel @odd
// CHECK-NOT:     cluster_reduce_scatter
// REMARK: [Missed] {{.+}} Function=odd | {{.*}}its chunks can't be shared equally
tile.kernel @odd(%x: memref<64x448xbf16>, %w: memref<64x448xbf16>, %y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) attributes {schedule = #tile.schedule<block = [64, 64], warps = 4, vector = 8, cluster = 2, chunk = 64, stages = 2, atom = wgmma, warp_tile = [16, 64]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c448 = arith.constant 448 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = scf.for %k = %c0 to %c448 step %c64 iter_args(%c = %zeros) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x448xbf16> -> tensor<64x64xbf16>
    %e = tile.load %w[%j, %k] : memref<64x448xbf16> -> tensor<64x64xbf16>
    %n = tile.dot %a dims [0, 2], %e dims [1, 2], %c : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %n : tensor<64x64xf32>
  }
  tile.store %d, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}
