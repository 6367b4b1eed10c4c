// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-prepare-weights --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-prepare-weights --split-input-file -o /dev/null \
// RUN:   --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-prepare-weights 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-prepare-weights --deplo-prepare-weights --split-input-file | FileCheck %s

// What reads weights, or what such launches write, is prepared; kernels say
// which arguments are made of weights in all launches. A view of a weight is
// one.

// REMARK: Prepared | Category:deplo-prepare-weights | Function=scale | Remark="runs once for all calls: it depends on weights alone"
// REMARK: Function=scale
// REMARK-NOT: Function=add
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    (%[[X:.+]]: memref<8xf32>, %[[W:.+]]: memref<2x4xf32> {graph.name = "w", loop.weight}, %{{.+}}: memref<8xf32> {loop.result})
// CHECK:         loop.launch @scale({{.*}}) {loop.prepared} :
// CHECK:         loop.launch @scale({{.*}}) {loop.prepared} :
// CHECK:         loop.launch @add({{.*}}) :
// CHECK:       loop.kernel @scale(%x: memref<8xf32>, %y: memref<8xf32>) attributes {loop.prepared_arguments = array<i64: 0>}
// CHECK:       loop.kernel @add(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8xf32>) attributes {loop.prepared_arguments = array<i64: 1>}
func.func @chain(%x: memref<8xf32>, %w: memref<2x4xf32> {graph.name = "w", graph.weight}, %y: memref<8xf32> {loop.result}) {
  %v = memref.collapse_shape %w [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  %s = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
  loop.launch @scale(%v, %s) : memref<8xf32>, memref<8xf32>
  loop.launch @scale(%s, %t) : memref<8xf32>, memref<8xf32>
  loop.launch @add(%x, %t, %y) : memref<8xf32>, memref<8xf32>, memref<8xf32>
  return
}
loop.kernel @scale(%x: memref<8xf32>, %y: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = arith.mulf %a, %two : f32
    loop.store %b, %y[%i] : memref<8xf32>
  }
}
loop.kernel @add(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = loop.load %z[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i] : memref<8xf32>
  }
}

// -----

// Results are the caller's: a launch that writes one runs in each call. So does
// one that reads an input that is no weight, and what reads its results. The
// kernel is launched with weights and others.

// REMARK: Remark="no launch depends on weights alone"
// CHECK-LABEL: func.func @results
// CHECK-NOT:     prepared
// CHECK:       loop.kernel @scale
// CHECK-NOT:     prepared
// CHECK:         loop.for
func.func @results(%x: memref<8xf32>, %w: memref<8xf32> {graph.weight}, %y: memref<8xf32> {loop.result}, %z: memref<8xf32> {loop.result}) {
  %t = memref.alloc() : memref<8xf32>
  loop.launch @scale(%w, %y) : memref<8xf32>, memref<8xf32>
  loop.launch @scale(%x, %t) : memref<8xf32>, memref<8xf32>
  loop.launch @scale(%t, %z) : memref<8xf32>, memref<8xf32>
  return
}
loop.kernel @scale(%x: memref<8xf32>, %y: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = arith.mulf %a, %two : f32
    loop.store %b, %y[%i] : memref<8xf32>
  }
}

// -----

// A temporary that a call writes as well is the call's, and so is what is made
// of it.

// REMARK: Remark="no launch depends on weights alone"
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     prepared
// CHECK:       loop.kernel @first
func.func @shared(%x: memref<8xf32>, %w: memref<8xf32> {graph.weight}, %y: memref<8xf32> {loop.result}) {
  %t = memref.alloc() : memref<16xf32>
  %s = memref.alloc() : memref<16xf32>
  loop.launch @first(%w, %t) : memref<8xf32>, memref<16xf32>
  loop.launch @first(%x, %t) : memref<8xf32>, memref<16xf32>
  loop.launch @last(%t, %y) : memref<16xf32>, memref<8xf32>
  return
}
loop.kernel @first(%x: memref<8xf32>, %y: memref<16xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<16xf32>
  }
}
loop.kernel @last(%x: memref<16xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i + 8] : memref<16xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}
