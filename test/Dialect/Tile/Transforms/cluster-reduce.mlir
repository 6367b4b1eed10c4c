// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce{blocks=4}))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce{blocks=4}))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-cluster-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce{blocks=4 chunk=512},deplo-chunk-reduce{chunk=512},deplo-stage-inputs))' --split-input-file | FileCheck %s --check-prefix=CHUNK

// Four blocks share a row: each has a quarter, and its sum is combined with
// those of the others.

// CHECK-LABEL: tile.kernel @scale
// CHECK-SAME:    (%[[X:.+]]: memref<64x65536xf32>, %[[Y:.+]]: memref<64x65536xf32>) axes(%[[I:.+]] = 64 step 1 grid, %[[J:.+]] = 65536 step 16384 cluster)
// CHECK-NEXT:    %[[A:.+]] = tile.load %[[X]][%[[I]], %[[J]]] : memref<64x65536xf32> -> tensor<1x16384xf32>
// CHECK-NEXT:    %[[P:.+]] = tile.reduce [add] %[[A]] axis 1 : tensor<1x16384xf32> -> tensor<1xf32>
// CHECK-NEXT:    %[[S:.+]] = tile.cluster_reduce [add] %[[P]] : tensor<1xf32>
// CHECK-NEXT:    %[[B:.+]] = tile.broadcast %[[S]] dims [0] : tensor<1xf32> -> tensor<1x16384xf32>
// CHECK-NEXT:    %[[Q:.+]] = arith.divf %[[A]], %[[B]]
// CHECK-NEXT:    tile.store %[[Q]], %[[Y]][%[[I]], %[[J]]]
// REMARK: [Passed] ClusterReduce | Category:deplo-cluster-reduce | Function=scale | Remark="rows of 65536 are shared by 4 blocks of a cluster, 16384 each, which exchange results once"

// With chunks, a block copies its slice to shared memory and sweeps it.

// CHUNK-LABEL: tile.kernel @scale
// CHUNK:         %[[BUF:.+]] = tile.alloc : !tile.buffer<1x16384xf32, #tile.shared<>>
// CHUNK-NEXT:    tile.copy %{{.+}}[%i, %j] to %[[BUF]]
// CHUNK:         scf.for
// CHUNK:           tile.read %[[BUF]]
// CHUNK:         %[[P:.+]] = tile.reduce [add]
// CHUNK-NEXT:    tile.cluster_reduce [add] %[[P]]
// CHUNK:         scf.for %[[K:[^ ]+]] =
// CHUNK-DAG:       %[[AT:.+]] = arith.addi %j, %[[K]]
// CHUNK-DAG:       tile.read %[[BUF]]
// CHUNK:           tile.store %{{.+}}, %{{.+}}[%i, %[[AT]]]
tile.kernel @scale(%x: memref<64x65536xf32>, %y: memref<64x65536xf32>) axes(%i = 64 step 1 grid) warps(16) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<64x65536xf32> -> tensor<1x65536xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<1x65536xf32> -> tensor<1xf32>
  %b = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x65536xf32>
  %q = arith.divf %a, %b : tensor<1x65536xf32>
  tile.store %q, %y[%i, %c0] : tensor<1x65536xf32>, memref<64x65536xf32>
}

// -----

// A row that four blocks don't divide: numbers and masks start at the slice,
// bounds stay. Three blocks are enough with slices of 16384.

// CHECK-LABEL: tile.kernel @ragged
// CHECK-SAME:    axes(%[[I:.+]] = 64 step 1 grid, %[[J:.+]] = 40000 step 16384 cluster)
// CHECK:         tile.load %{{.+}}[%[[I]], %[[J]]] bounds [64, 40000] : memref<64x40000xf32> -> tensor<1x16384xf32>
// CHECK:         tile.in_bounds[%{{.+}}, %[[J]]] bounds [1, 40000] : tensor<1x16384xi1>
// CHECK:         tile.reduce [max]
// CHECK-NEXT:    tile.cluster_reduce [max]
// REMARK: rows of 40000 are shared by 3 blocks of a cluster, 16384 each, which exchange results once
tile.kernel @ragged(%x: memref<64x40000xf32>, %y: memref<64xf32>) axes(%i = 64 step 1 grid) warps(16) {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<1x65536xf32>
  %a = tile.load %x[%i, %c0] bounds [64, 40000] : memref<64x40000xf32> -> tensor<1x65536xf32>
  %m = tile.in_bounds [%c0, %c0] bounds [1, 40000] : tensor<1x65536xi1>
  %b = arith.select %m, %a, %none : tensor<1x65536xi1>, tensor<1x65536xf32>
  %s = tile.reduce [max] %b axis 1 : tensor<1x65536xf32> -> tensor<1xf32>
  tile.store %s, %y[%i] : tensor<1xf32>, memref<64xf32>
}

// -----

// Nothing is reduced, so there is nothing to share.

// CHECK-LABEL: tile.kernel @copy
// CHECK-SAME:    axes(%i = 64 step 1 grid) warps(16) {
// REMARK: [Missed] ClusterReduce | Category:deplo-cluster-reduce | Function=copy | {{.*}}"no row is reduced"
tile.kernel @copy(%x: memref<64x65536xf32>, %y: memref<64x65536xf32>) axes(%i = 64 step 1 grid) warps(16) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<64x65536xf32> -> tensor<1x65536xf32>
  tile.store %a, %y[%i, %c0] : tensor<1x65536xf32>, memref<64x65536xf32>
}

// -----

// L1: it is not clear which dimension to divide.

// CHECK-LABEL: tile.kernel @two_dims
// CHECK-SAME:    axes(%i = 64 step 1 grid) warps(16) {
// REMARK: Function=two_dims | {{.*}}"the tiles have several inner dimensions"
tile.kernel @two_dims(%x: memref<64x8x4096xf32>, %y: memref<64x8xf32>) axes(%i = 64 step 1 grid) warps(16) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0, %c0] : memref<64x8x4096xf32> -> tensor<1x8x4096xf32>
  %s = tile.reduce [add] %a axis 2 : tensor<1x8x4096xf32> -> tensor<1x8xf32>
  tile.store %s, %y[%i, %c0] : tensor<1x8xf32>, memref<64x8xf32>
}

// -----

// L3: a row in chunks is divided no more.

// CHECK-LABEL: tile.kernel @loops
// CHECK-SAME:    axes(%i = 64 step 1 grid) warps(16) {
// REMARK: Function=loops | {{.*}}"the kernel has loops"
tile.kernel @loops(%x: memref<64x65536xf32>, %y: memref<64xf32>) axes(%i = 64 step 1 grid) warps(16) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c65536 = arith.constant 65536 : index
  %zero = arith.constant dense<0.0> : tensor<1x1024xf32>
  %p = scf.for %k = %c0 to %c65536 step %c1024 iter_args(%t = %zero) -> (tensor<1x1024xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x65536xf32> -> tensor<1x1024xf32>
    %n = arith.addf %t, %a : tensor<1x1024xf32>
    scf.yield %n : tensor<1x1024xf32>
  }
  %s = tile.reduce [add] %p axis 1 : tensor<1x1024xf32> -> tensor<1xf32>
  tile.store %s, %y[%i] : tensor<1xf32>, memref<64xf32>
}
