// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-prepare-weights,deplo-split-matmul-k{precision=f32},deplo-split-pieces,deplo-prepare-weights)' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-matmul-k{precision=f32},deplo-split-pieces)' | FileCheck %s --check-prefix=CALLS
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-prepare-weights,deplo-concat-grids)' | FileCheck %s --check-prefix=CONCAT

// Pieces of a weight cost nothing in a call: with few rows that decides. Else they
// are made in registers.

// CALLS-LABEL: func.func @main
// CALLS-NOT:     memref<3x12845056xbf16>
// CHECK-LABEL: func.func @main
// CHECK:         loop.launch @pieces(%{{.+}}, %{{.+}}) : memref<229376xf32>, memref<3x229376xbf16>
// CHECK:         loop.launch @pieces_0({{.*}}) {loop.prepared} : memref<12845056xf32>, memref<3x12845056xbf16>
// CHECK:         loop.launch @mm_parts({{.*}}) :
// CHECK:         loop.launch @mm({{.*}}) :
// CHECK:       loop.kernel @mm_parts(
// CHECK-SAME:    attributes {loop.prepared_arguments = array<i64: 2, 4>, tile.pieces = array<i64: 1, 2>}
func.func @main(%x: memref<64x3584xf32>, %w: memref<3584x3584xf32> {graph.weight}, %y: memref<64x3584xf32> {loop.result}) {
  loop.launch @mm(%x, %w, %y) : memref<64x3584xf32>, memref<3584x3584xf32>, memref<64x3584xf32>
  return
}
loop.kernel @mm(%x: memref<64x3584xf32>, %w: memref<3584x3584xf32>, %y: memref<64x3584xf32>) {
  loop.for %i = 0 to 64 {
    loop.for %j = 0 to 3584 {
      %s = loop.reduce add %k = 0 to 3584 : f32 {
        %a = loop.load %x[%i, %k] : memref<64x3584xf32>
        %b = loop.load %w[%j, %k] : memref<3584x3584xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<64x3584xf32>
    }
  }
}

// -----

// Sums of weights alone, which run once, are no part of a launch that runs in
// each call; with each other they are.

// CONCAT-LABEL: func.func @sums
// CONCAT:         loop.launch @rows_and_rows({{.*}}) {loop.prepared} :
// CONCAT-NEXT:    loop.launch @scaled_rows(
func.func @sums(%x: memref<32xf32>, %w: memref<64x32xf32> {graph.weight}, %y: memref<64xf32> {loop.result}, %z: memref<64xf32> {loop.result}) {
  %s = memref.alloc() : memref<64xf32>
  %t = memref.alloc() : memref<64xf32>
  loop.launch @rows(%w, %s) : memref<64x32xf32>, memref<64xf32>
  loop.launch @rows(%w, %t) : memref<64x32xf32>, memref<64xf32>
  loop.launch @scaled_rows(%w, %x, %y) : memref<64x32xf32>, memref<32xf32>, memref<64xf32>
  loop.launch @add(%s, %t, %z) : memref<64xf32>, memref<64xf32>, memref<64xf32>
  return
}
loop.kernel @rows(%w: memref<64x32xf32>, %s: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %r = loop.reduce add %k = 0 to 32 : f32 {
      %a = loop.load %w[%i, %k] : memref<64x32xf32>
      loop.yield %a : f32
    }
    loop.store %r, %s[%i] : memref<64xf32>
  }
}
loop.kernel @scaled_rows(%w: memref<64x32xf32>, %x: memref<32xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %r = loop.reduce add %k = 0 to 32 : f32 {
      %a = loop.load %w[%i, %k] : memref<64x32xf32>
      %b = loop.load %x[%k] : memref<32xf32>
      %c = arith.mulf %a, %b : f32
      loop.yield %c : f32
    }
    loop.store %r, %y[%i] : memref<64xf32>
  }
}
loop.kernel @add(%s: memref<64xf32>, %t: memref<64xf32>, %z: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %a = loop.load %s[%i] : memref<64xf32>
    %b = loop.load %t[%i] : memref<64xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %z[%i] : memref<64xf32>
  }
}
