// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-matmul-k{chunk=16},cse,deplo-fuse-chunks))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-matmul-k{chunk=16},cse,deplo-fuse-chunks))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-chunks 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Sums of one reduction share the chunks of %x; loads come first.
// CHECK-LABEL: tile.kernel @gate_up
// CHECK:         %[[SUMS:.+]]:2 = scf.for %[[K:.+]] = %c0 to %c512 step %c16 iter_args(%[[G:.+]] = %{{.+}}, %[[U:.+]] = %{{.+}})
// CHECK-NEXT:      %[[A:.+]] = tile.load %{{.+}}[%i, %[[K]]] : memref<64x512xf32>
// CHECK-NEXT:      %[[B:.+]] = tile.load
// CHECK-NEXT:      %[[C:.+]] = tile.load
// CHECK-NEXT:      %[[D:.+]] = tile.dot %[[A]] dims [0, 2], %[[B]] dims [2, 1], %[[G]]
// CHECK-NEXT:      %[[E:.+]] = tile.dot %[[A]] dims [0, 2], %[[C]] dims [2, 1], %[[U]]
// CHECK-NEXT:      scf.yield %[[D]], %[[E]]
// CHECK:         arith.mulf %[[SUMS]]#0, %[[SUMS]]#1
// REMARK: Function=gate_up | {{.*}}1 contractions go over the chunks of another
tile.kernel @gate_up(%x: memref<64x512xf32>, %v: memref<512x32xf32>, %w: memref<512x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s:2 = loop.reduce [add, add] %k = 0 to 512 : tensor<64x32xf32>, tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x512xf32> -> tensor<64xf32>
    %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<32xf32>
    %c = tile.load %w[%k, %j] : memref<512x32xf32> -> tensor<32xf32>
    %d = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %e = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %f = tile.broadcast %c dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %d, %e fastmath<contract> : tensor<64x32xf32>
    %q = arith.mulf %d, %f fastmath<contract> : tensor<64x32xf32>
    loop.yield %p, %q : tensor<64x32xf32>, tensor<64x32xf32>
  }
  %p = arith.mulf %s#0, %s#1 : tensor<64x32xf32>
  tile.store %p, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// One sum needs the other.
// CHECK-LABEL: tile.kernel @after
// CHECK-COUNT-2: scf.for
// REMARK: Function=after | {{.*}}no two contractions go over chunks of the same operand
tile.kernel @after(%x: memref<64x512xf32>, %v: memref<512x32xf32>, %w: memref<512x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %g = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
    %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  %u = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %g) -> (tensor<64x32xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
    %b = tile.load %w[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.store %u, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// The sums have nothing in common, and other chunks.
// CHECK-LABEL: tile.kernel @other_chunks
// CHECK-COUNT-2: scf.for
// REMARK: Function=other_chunks | {{.*}}no two contractions
tile.kernel @other_chunks(%x: memref<64x512xf32>, %v: memref<512x32xf32>, %y: memref<64x32xf32>, %z: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %g = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
    %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  %u = scf.for %k = %c0 to %c256 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
    %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
    %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.store %g, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
  tile.store %u, %z[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}
