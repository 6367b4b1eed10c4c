// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce --deplo-verify-sizes --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// All of 4096 columns and any number of rows: each of 1024 parts has four times
// as many elements as there are rows.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.*]] = memref.alloc() : memref<1024xf32>
// CHECK:         %[[V:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1024, 4194332], strides: [4194332, 1]
// CHECK:         loop.launch @sum_parts(%[[T]], %[[V]])
// CHECK:         loop.launch @sum(%{{.*}}, %[[T]])
// CHECK-LABEL: loop.kernel @sum_parts
// CHECK:         loop.for %[[PART:.*]] = 0 to 1024 {
// CHECK-NEXT:      loop.reduce add %[[K:.*]] = 0 to 4194332 : f32 {
// CHECK-NEXT:        loop.load %{{.*}}[%[[PART]], %[[K]]] : memref<1024x4194332xf32>
// REMARK: [Passed] SplitReduce | Category:deplo-split-reduce | Function=sum | Remark="a reduction over 4294995968 elements in 1024 parts, 2 kernels: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 100000>}} {
  func.func @main(%x: memref<4294995968xf32>, %y: memref<f32> {loop.result}) {
    loop.launch @sum(%x, %y) : memref<4294995968xf32>, memref<f32>
    return
  }
  loop.kernel @sum(%x: memref<4294995968xf32>, %y: memref<f32>) {
    %s = loop.reduce add %k = 0 to 4294995968 : f32 {
      %a = loop.load %x[%k] : memref<4294995968xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[] : memref<f32>
  }
}

// -----

// Positions go on counting from what a part before has: a size, no constant.
// CHECK-LABEL: loop.kernel @places_parts
// CHECK:         loop.for %[[PART:.*]] = 0 to
// CHECK:         arith.index_cast %{{.*}} : index to i64
// CHECK:         %[[LENGTH:.*]] = loop.size {{[0-9]+}} : i64
// CHECK:         arith.muli %{{.*}}, %[[LENGTH]] : i64
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 100000>}} {
  func.func @main(%x: memref<4294995968xi64>, %y: memref<i64> {loop.result}) {
    loop.launch @places(%x, %y) : memref<4294995968xi64>, memref<i64>
    return
  }
  loop.kernel @places(%x: memref<4294995968xi64>, %y: memref<i64>) {
    %s = loop.reduce min %k = 0 to 4294995968 : i64 {
      %n = arith.index_cast %k : index to i64
      %a = loop.load %x[%k] : memref<4294995968xi64>
      %b = arith.addi %a, %n : i64
      loop.yield %b : i64
    }
    loop.store %s, %y[] : memref<i64>
  }
}

// -----

// No number divides every number of elements: the reduction has parts. What is
// read and its positions are those of the whole.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.*]] = memref.alloc() : memref<1024xi64>
// CHECK:         loop.launch @any_parts(%[[T]], %{{.*}}) : memref<1024xi64>, memref<16777259xi64>
// CHECK:         loop.launch @any(%{{.*}}, %[[T]])
// CHECK-LABEL: loop.kernel @any_parts
// CHECK:         loop.for %[[PART:.*]] = 0 to 1024 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce min %[[K:.*]] = 0 to 16777259 part %[[PART]] of 1024 : i64 {
// CHECK-NEXT:        arith.index_cast %[[K]] : index to i64
// CHECK-NEXT:        loop.load %{{.*}}[%[[K]]] : memref<16777259xi64>
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        loop.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.store %[[S]], %{{.*}}[%[[PART]]] : memref<1024xi64>
// CHECK-LABEL: loop.kernel @any(
// CHECK:         loop.reduce min %{{.*}} = 0 to 1024 : i64 {
// REMARK: [Passed] SplitReduce | Category:deplo-split-reduce | Function=any | Remark="a reduction over 16777259 elements in {{[0-9]+}} parts, 2 kernels: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
module attributes {graph.sizes = {rows = array<i64: 16777259, 1, 16777216>}} {
  func.func @main(%x: memref<16777259xi64>, %y: memref<i64> {loop.result}) {
    loop.launch @any(%x, %y) : memref<16777259xi64>, memref<i64>
    return
  }
  loop.kernel @any(%x: memref<16777259xi64>, %y: memref<i64>) {
    %s = loop.reduce min %k = 0 to 16777259 : i64 {
      %n = arith.index_cast %k : index to i64
      %a = loop.load %x[%k] : memref<16777259xi64>
      %b = arith.addi %a, %n : i64
      loop.yield %b : i64
    }
    loop.store %s, %y[] : memref<i64>
  }
}
