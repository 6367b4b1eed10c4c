// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --deplo-fuse-horizontal | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --deplo-fuse-horizontal --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-fuse-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// The rows of a product are folded where it is computed: it isn't stored.
// CHECK-LABEL: func.func @row_maximum
// CHECK-NEXT:    graph.fused @contract{{.*}} -> (tensor<512xf32>) {
// CHECK:           graph.contract
// CHECK-NEXT:      graph.reduce max
// CHECK-NOT:     graph.fused
func.func @row_maximum(%x: tensor<512x64xf32>, %w: tensor<64x1000xf32>) -> tensor<512xf32> {
  %p = graph.contract %x by #rows, %w by #columns : (tensor<512x64xf32>, tensor<64x1000xf32>) -> tensor<512x1000xf32>
  %m = graph.reduce max %p axes [1] : tensor<512x1000xf32> -> tensor<512xf32>
  return %m : tensor<512xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// So are its columns, several times, with maps before and after.
// CHECK-LABEL: func.func @column_statistics
// CHECK-NEXT:    graph.fused @{{.*}} -> (tensor<1000xf32>, tensor<1000xf32>) {
// CHECK:           graph.contract
// CHECK-COUNT-2:   graph.reduce
// CHECK:           graph.map
// CHECK-NOT:     graph.fused
func.func @column_statistics(%x: tensor<512x64xf32>, %w: tensor<64x1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %p = graph.contract %x by #rows, %w by #columns : (tensor<512x64xf32>, tensor<64x1000xf32>) -> tensor<512x1000xf32>
  %q = graph.map (%a = %p : tensor<512x1000xf32>) -> tensor<512x1000xf32> {
    %0 = arith.mulf %a, %a : f32
    graph.yield %0 : f32
  }
  %s = graph.reduce add %q axes [0] : tensor<512x1000xf32> -> tensor<1000xf32>
  %m = graph.reduce max %p axes [0] : tensor<512x1000xf32> -> tensor<1000xf32>
  %r = graph.map (%a = %s : tensor<1000xf32>) -> tensor<1000xf32> {
    %0 = math.sqrt %a : f32
    graph.yield %0 : f32
  }
  return %r, %m : tensor<1000xf32>, tensor<1000xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// The product may be stored as well.
// CHECK-LABEL: func.func @stored
// CHECK-NEXT:    graph.fused @{{.*}} -> (tensor<512x1000xf32>, tensor<512xf32>) {
// CHECK-NOT:     graph.fused
func.func @stored(%x: tensor<512x64xf32>, %w: tensor<64x1000xf32>) -> (tensor<512x1000xf32>, tensor<512xf32>) {
  %p = graph.contract %x by #rows, %w by #columns : (tensor<512x64xf32>, tensor<64x1000xf32>) -> tensor<512x1000xf32>
  %m = graph.reduce max %p axes [1] : tensor<512x1000xf32> -> tensor<512xf32>
  return %p, %m : tensor<512x1000xf32>, tensor<512xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// What needs a row's fold waits for blocks with other columns.
// CHECK-LABEL: func.func @normalised
// CHECK-COUNT-2: graph.fused
// REMARK: needs all of a row, of which blocks have some columns each
func.func @normalised(%x: tensor<512x64xf32>, %w: tensor<64x1000xf32>) -> tensor<512x1000xf32> {
  %p = graph.contract %x by #rows, %w by #columns : (tensor<512x64xf32>, tensor<64x1000xf32>) -> tensor<512x1000xf32>
  %m = graph.reduce max %p axes [1] : tensor<512x1000xf32> -> tensor<512xf32>
  %b = graph.index_map %m by affine_map<(m, n) -> (m)> : tensor<512xf32> -> tensor<512x1000xf32>
  %q = graph.map (%a = %p : tensor<512x1000xf32>, %c = %b : tensor<512x1000xf32>) -> tensor<512x1000xf32> {
    %0 = arith.subf %a, %c : f32
    graph.yield %0 : f32
  }
  return %q : tensor<512x1000xf32>
}

// -----

// A product with a vector has no rows, and sums of its own.
// CHECK-LABEL: func.func @vector
// CHECK-COUNT-2: graph.fused
// REMARK: has no rows of which blocks fold some columns
func.func @vector(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1xf32> {
  %p = graph.contract %x by affine_map<(m, n, k) -> (m, k)>, %w by affine_map<(m, n, k) -> (k, n)> : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
  %m = graph.reduce max %p axes [1] : tensor<1x4096xf32> -> tensor<1xf32>
  return %m : tensor<1xf32>
}

// -----

// What is folded over batches has rows and columns besides.
// CHECK-LABEL: func.func @batches
// CHECK-COUNT-2: graph.fused
// REMARK: has no rows of which blocks fold some columns
func.func @batches(%x: tensor<8x128x64xf32>, %w: tensor<8x64x128xf32>) -> tensor<128x128xf32> {
  %p = graph.contract %x by affine_map<(b, m, n, k) -> (b, m, k)>, %w by affine_map<(b, m, n, k) -> (b, k, n)> : (tensor<8x128x64xf32>, tensor<8x64x128xf32>) -> tensor<8x128x128xf32>
  %m = graph.reduce max %p axes [0] : tensor<8x128x128xf32> -> tensor<128x128xf32>
  return %m : tensor<128x128xf32>
}

// -----

// Eight rows have too few tiles: their sums are divided, which a fold forbids.
// CHECK-LABEL: func.func @few_tiles
// CHECK-COUNT-2: graph.fused
// REMARK: it doesn't pay
func.func @few_tiles(%x: tensor<8x8192xf32>, %w: tensor<8192x1024xf32>) -> tensor<8xf32> {
  %p = graph.contract %x by affine_map<(m, n, k) -> (m, k)>, %w by affine_map<(m, n, k) -> (k, n)> : (tensor<8x8192xf32>, tensor<8192x1024xf32>) -> tensor<8x1024xf32>
  %m = graph.reduce max %p axes [1] : tensor<8x1024xf32> -> tensor<8xf32>
  return %m : tensor<8xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// Large products of bf16 are quicker by wgmma and a second kernel where weights
// lie along the columns, of which parts are folded by mma.sync.
// CHECK-LABEL: func.func @large_of_tensor_cores
// CHECK-COUNT-2: graph.fused
func.func @large_of_tensor_cores(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096xbf16> {
  %p = graph.contract %x by #rows, %w by #columns : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %m = graph.reduce max %p axes [1] : tensor<4096x4096xbf16> -> tensor<4096xbf16>
  return %m : tensor<4096xbf16>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#along = affine_map<(m, n, k) -> (n, k)>

// CHECK-LABEL: func.func @large_along_the_sum
// CHECK-NEXT:    graph.fused
// CHECK-NOT:     graph.fused
func.func @large_along_the_sum(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096xbf16> {
  %p = graph.contract %x by #rows, %w by #along : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %m = graph.reduce max %p axes [1] : tensor<4096x4096xbf16> -> tensor<4096xbf16>
  return %m : tensor<4096xbf16>
}
