// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-register-tile --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-register-tile --split-input-file --remark-format=emitRemark --remarks-filter=deplo-register-tile -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A row: four neighbours in a thread, lanes along the row, then warps; the rest
// of the row is in more registers. Statistics and weights get slices.

// CHECK-DAG: #[[$ROW:.+]] = #tile.layout<[1, 2048], register = {{\[\[}}0, 1], [0, 2], [0, 1024]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = {{\[\[}}0, 128], [0, 256], [0, 512]]>
// CHECK-DAG: #[[$STAT:.+]] = #tile.layout<[1], register = [], lane = {{\[\[}}0], [0], [0], [0], [0]], warp = {{\[\[}}0], [0], [0]]>
// CHECK-DAG: #[[$WEIGHT:.+]] = #tile.layout<[2048], register = {{\[\[}}1], [2], [1024]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = {{\[\[}}128], [256], [512]]>
// CHECK-LABEL: tile.kernel @rms_norm
// CHECK:         %[[EPS:.+]] = arith.constant dense<{{.*}}> : tensor<1xf32, #[[$STAT]]>
// CHECK:         %[[X:.+]] = tile.load %{{.*}} -> tensor<1x2048xf32, #[[$ROW]]>
// CHECK:         %[[SQUARE:.+]] = arith.mulf %[[X]], %[[X]] : tensor<1x2048xf32, #[[$ROW]]>
// CHECK:         %[[SUM:.+]] = tile.reduce [add] %[[SQUARE]] axis 1 : tensor<1x2048xf32, #[[$ROW]]> -> tensor<1xf32, #[[$STAT]]>
// CHECK:         %[[SHIFTED:.+]] = arith.addf %[[SUM]], %[[EPS]] : tensor<1xf32, #[[$STAT]]>
// CHECK:         %[[R:.+]] = math.rsqrt %[[SHIFTED]] : tensor<1xf32, #[[$STAT]]>
// CHECK:         %[[W:.+]] = tile.load %{{.*}} -> tensor<2048xf32, #[[$WEIGHT]]>
// CHECK:         %[[RB:.+]] = tile.broadcast %[[R]] dims [0] : tensor<1xf32, #[[$STAT]]> -> tensor<1x2048xf32, #[[$ROW]]>
// CHECK:         %[[WB:.+]] = tile.broadcast %[[W]] dims [1] : tensor<2048xf32, #[[$WEIGHT]]> -> tensor<1x2048xf32, #[[$ROW]]>
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.store {{.*}} : tensor<1x2048xf32, #[[$ROW]]>

// REMARK: [Passed] RegisterTile | Category:deplo-register-tile | Function=rms_norm | Remark="tiles of 1x2048 elements: 8 in each thread"
// REMARK: [Analysis] {{.*}} | Remark="tiles occupy 9 registers of a thread where threads meet"
tile.kernel @rms_norm(%x: memref<32x2048xf32>, %w: memref<2048xf32>, %y: memref<32x2048xf32>) axes(%i = 32 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %eps = arith.constant dense<1.0e-06> : tensor<1xf32>
  %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32>
  %sq = arith.mulf %a, %a : tensor<1x2048xf32>
  %ss = tile.reduce [add] %sq axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
  %e = arith.addf %ss, %eps : tensor<1xf32>
  %r = math.rsqrt %e : tensor<1xf32>
  %g = tile.load %w[%c0] : memref<2048xf32> -> tensor<2048xf32>
  %rb = tile.broadcast %r dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
  %gb = tile.broadcast %g dims [1] : tensor<2048xf32> -> tensor<1x2048xf32>
  %s = arith.mulf %a, %rb : tensor<1x2048xf32>
  %o = arith.mulf %s, %gb : tensor<1x2048xf32>
  tile.store %o, %y[%i, %c0] : tensor<1x2048xf32>, memref<32x2048xf32>
}

// -----

// Several rows: warps share the rows out first, in both loops alike, so that no
// sum crosses warps and no layout is converted.

// CHECK-DAG: #[[$ROWS:.+]] = #tile.layout<[4, 256], register = {{\[\[}}0, 1], [0, 2], [0, 128]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = {{\[\[}}1, 0], [2, 0]]>
// CHECK-DAG: #[[$SUMS:.+]] = #tile.layout<[4], register = [], lane = {{\[\[}}0], [0], [0], [0], [0]], warp = {{\[\[}}1], [2]]>
// CHECK-LABEL: tile.kernel @chunked
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<4x256xf32, #[[$ROWS]]>
// CHECK:         %[[PARTIAL:.+]] = scf.for {{.*}} iter_args(%[[ACC:.+]] = %[[ZERO]]) -> (tensor<4x256xf32, #[[$ROWS]]>) {
// CHECK:           arith.addf %[[ACC]], %{{.*}} : tensor<4x256xf32, #[[$ROWS]]>
// CHECK:           scf.yield %{{.*}} : tensor<4x256xf32, #[[$ROWS]]>
// CHECK:         tile.reduce [add] %[[PARTIAL]] axis 1 : tensor<4x256xf32, #[[$ROWS]]> -> tensor<4xf32, #[[$SUMS]]>
// CHECK-NOT:     tile.convert_layout
// CHECK:         scf.for
// CHECK:           tile.load {{.*}} -> tensor<4x256xf32, #[[$ROWS]]>
// REMARK: Function=chunked | Remark="tiles of 4x256 elements: 8 in each thread"
tile.kernel @chunked(%x: memref<32x1024xf32>, %y: memref<32x1024xf32>) axes(%i = 32 step 4 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<4x256xf32>
  %p = scf.for %k = %c0 to %c1024 step %c256 iter_args(%acc = %zero) -> (tensor<4x256xf32>) {
    %a = tile.load %x[%i, %k] : memref<32x1024xf32> -> tensor<4x256xf32>
    %n = arith.addf %acc, %a : tensor<4x256xf32>
    scf.yield %n : tensor<4x256xf32>
  }
  %s = tile.reduce [add] %p axis 1 : tensor<4x256xf32> -> tensor<4xf32>
  scf.for %k = %c0 to %c1024 step %c256 {
    %sb = tile.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x256xf32>
    %a = tile.load %x[%i, %k] : memref<32x1024xf32> -> tensor<4x256xf32>
    %q = arith.divf %a, %sb : tensor<4x256xf32>
    tile.store %q, %y[%i, %k] : tensor<4x256xf32>, memref<32x1024xf32>
  }
}

// -----

// A sum over the leading dimension: lanes go along the contiguous dimension,
// which is not reduced, and warps along the reduced one.

// CHECK-DAG: #[[$TILE:.+]] = #tile.layout<[128, 16], register = {{\[\[}}1, 0], [2, 0], [0, 4], [0, 8]], lane = {{\[\[}}4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], warp = {{\[\[}}0, 1], [0, 2]]>
// CHECK-DAG: #[[$COLUMNS:.+]] = #tile.layout<[128], register = {{\[\[}}1], [2]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = {{\[\[}}0], [0]]>
// CHECK-LABEL: tile.kernel @column_sum
// CHECK:         tile.in_bounds{{.*}} : tensor<128x16xi1, #[[$TILE]]>
// CHECK:         tile.reduce [add] {{.*}} -> tensor<128xf32, #[[$COLUMNS]]>
tile.kernel @column_sum(%x: memref<15x500xbf16>, %y: memref<500xf32>) axes(%j = 500 step 128 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<128x16xf32>
  %a = tile.load %x[%c0, %j] dims [1, 0] bounds [500, 15] : memref<15x500xbf16> -> tensor<128x16xbf16>
  %f = arith.extf %a : tensor<128x16xbf16> to tensor<128x16xf32>
  %in = tile.in_bounds [%j, %c0] bounds [500, 15] : tensor<128x16xi1>
  %v = arith.select %in, %f, %zero : tensor<128x16xi1>, tensor<128x16xf32>
  %s = tile.reduce [add] %v axis 1 : tensor<128x16xf32> -> tensor<128xf32>
  tile.store %s, %y[%j] bounds [500] : tensor<128xf32>, memref<500xf32>
}

// -----

// A transposed load is coalesced and then converted.

// CHECK-DAG: #[[$ALONG0:.+]] = #tile.layout<[32, 32], register = {{\[\[}}1, 0], [2, 0]]
// CHECK-DAG: #[[$ALONG1:.+]] = #tile.layout<[32, 32], register = {{\[\[}}0, 1], [0, 2]]
// CHECK-LABEL: tile.kernel @transpose
// CHECK:         %[[LOADED:.+]] = tile.load {{.*}} -> tensor<32x32xf32, #[[$ALONG0]]>
// CHECK:         tile.convert_layout %[[LOADED]] : tensor<32x32xf32, #[[$ALONG0]]> -> tensor<32x32xf32, #[[$ALONG1]]>
// CHECK:         tile.store {{.*}} : tensor<32x32xf32, #[[$ALONG1]]>
// REMARK: Function=transpose | Remark="1 conversions between layouts"
tile.kernel @transpose(%x: memref<512x256xf32>, %y: memref<256x512xf32>) axes(%i = 256 step 32 grid, %j = 512 step 32 grid) warps(8) {
  %a = tile.load %x[%j, %i] dims [1, 0] : memref<512x256xf32> -> tensor<32x32xf32>
  tile.store %a, %y[%i, %j] : tensor<32x32xf32>, memref<256x512xf32>
}

// -----

// A constant that two layouts share is copied; an offset that no vector
// respects leaves one element to a thread, so that accesses stay coalesced.

// CHECK-DAG: #[[$VECTOR:.+]] = #tile.layout<[128], register = {{\[\[}}1], [2]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = []>
// CHECK-DAG: #[[$SCALAR:.+]] = #tile.layout<[128], register = {{\[\[}}32], [64]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = []>
// CHECK-LABEL: tile.kernel @two_anchors
// CHECK-DAG:     arith.constant dense<1.000000e+00> : tensor<128xf32, #[[$VECTOR]]>
// CHECK-DAG:     arith.constant dense<1.000000e+00> : tensor<128xf32, #[[$SCALAR]]>
// CHECK:         tile.load {{.*}} -> tensor<128xf32, #[[$VECTOR]]>
// CHECK:         tile.load {{.*}} -> tensor<128xf32, #[[$SCALAR]]>
tile.kernel @two_anchors(%x: memref<1024xf32>, %z: memref<1023xf32, strided<[1], offset: 1>>, %y: memref<1024xf32>, %v: memref<1023xf32, strided<[1], offset: 1>>) axes(%i = 1024 step 128 grid) warps(1) {
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %a = tile.load %x[%i] : memref<1024xf32> -> tensor<128xf32>
  %b = arith.addf %a, %one : tensor<128xf32>
  tile.store %b, %y[%i] : tensor<128xf32>, memref<1024xf32>
  %c = tile.load %z[%i] bounds [1023] : memref<1023xf32, strided<[1], offset: 1>> -> tensor<128xf32>
  %d = arith.addf %c, %one : tensor<128xf32>
  tile.store %d, %v[%i] bounds [1023] : tensor<128xf32>, memref<1023xf32, strided<[1], offset: 1>>
}

// -----

// One tile as two different slices of another: the second is converted.

// CHECK-LABEL: tile.kernel @outer_sum
// CHECK:         %[[A:.+]] = tile.load
// CHECK:         tile.broadcast %[[A]] dims [0]
// CHECK:         %[[B:.+]] = tile.convert_layout %[[A]]
// CHECK:         tile.broadcast %[[B]] dims [1]
tile.kernel @outer_sum(%x: memref<64xf32>, %y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
  %r = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %c = tile.broadcast %a dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %s = arith.addf %r, %c : tensor<64x64xf32>
  tile.store %s, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

// What a serial reduction yields has the layout of its result.

// CHECK-DAG: #[[$TILE:.+]] = #tile.layout<[128], register = {{\[\[}}1], [2]]
// CHECK-LABEL: tile.kernel @serial_reduction
// CHECK:         %[[SUM:.+]] = loop.reduce add %{{.*}} = 0 to 8 : tensor<128xf32, #[[$TILE]]> {
// CHECK:           loop.yield %{{.*}} : tensor<128xf32, #[[$TILE]]>
// CHECK:         tile.store %[[SUM]]
tile.kernel @serial_reduction(%x: memref<8x1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 128 grid) warps(1) {
  %s = loop.reduce add %k = 0 to 8 : tensor<128xf32> {
    %a = tile.load %x[%k, %i] : memref<8x1024xf32> -> tensor<128xf32>
    loop.yield %a : tensor<128xf32>
  }
  tile.store %s, %y[%i] : tensor<128xf32>, memref<1024xf32>
}

// -----

// The schedule's vector holds if accesses can move it; a tile with fewer
// elements than threads is replicated.

// CHECK-DAG: #[[$PAIRS:.+]] = #tile.layout<[64], register = {{\[\[}}1]], lane = {{\[\[}}2], [4], [8], [16], [32]], warp = {{\[\[}}0]]>
// CHECK-LABEL: tile.kernel @schedule
// CHECK:         tile.read {{.*}} -> tensor<64xf32, #[[$PAIRS]]>
tile.kernel @schedule(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 64 grid) warps(2) attributes {schedule = #tile.schedule<block = [64], warps = 2, vector = 2>} {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<>>
  tile.copy %x[%i] to %b : memref<1024xf32>, !tile.buffer<64xf32, #tile.shared<>>
  tile.barrier
  %a = tile.read %b[%c0] : !tile.buffer<64xf32, #tile.shared<>> -> tensor<64xf32>
  tile.store %a, %y[%i] : tensor<64xf32>, memref<1024xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=done | Remark="tiles have layouts already"
#layout = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
// CHECK-LABEL: tile.kernel @done
tile.kernel @done(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 step 32 grid) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32, #layout>
  tile.store %a, %y[%i] : tensor<32xf32, #layout>, memref<32xf32>
}

// -----

// Columns that are scanned: four of them in a thread, and a run of eight rows,
// before lanes and warps share the columns too.

// CHECK: #tile.layout<[32, 128], register = {{\[\[}}1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], lane = {{\[\[}}4, 0], [8, 0], [16, 0], [0, 8], [0, 16]], warp = {{\[\[}}0, 32], [0, 64]]>
// CHECK-LABEL: tile.kernel @columns
// CHECK-NOT:     tile.convert_layout
tile.kernel @columns(%x: memref<128x4096xf32>, %y: memref<128x4096xf32>) axes(%i = 4096 step 32 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %i] dims [1, 0] : memref<128x4096xf32> -> tensor<32x128xf32>
  %s, %t = tile.scan add %a axis 1 : (tensor<32x128xf32>) -> (tensor<32x128xf32>, tensor<32xf32>)
  tile.store %s, %y[%c0, %i] dims [1, 0] : tensor<32x128xf32>, memref<128x4096xf32>
}
