// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce --split-input-file --remark-format=emitRemark --remarks-filter=deplo-split-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce=parts=2 --split-input-file | FileCheck %s --check-prefix=TWO

// A sum of everything: a kernel for the parts, and the rest combines them. The
// launch has a temporary and a view; the rest has lost the operand.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<16777216xf32>, %[[Y:.*]]: memref<f32> {loop.result})
// CHECK:         %[[T:.*]] = memref.alloc() : memref<[[$P:[0-9]+]]xf32>
// CHECK:         %[[V:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: {{\[}}[[$P]], [[$N:[0-9]+]]{{\]}}
// CHECK:         loop.launch @sum_parts(%[[T]], %[[V]])
// CHECK:         loop.launch @sum(%[[Y]], %[[T]])
// CHECK-LABEL: loop.kernel @sum_parts
// CHECK-NEXT:    loop.for %[[PART:.*]] = 0 to [[$P]] {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %[[K:.*]] = 0 to [[$N]] : f32 {
// CHECK-NEXT:        loop.load %{{.*}}[%[[PART]], %[[K]]] : memref<[[$P]]x[[$N]]xf32>
// CHECK:           loop.store %[[S]], %{{.*}}[%[[PART]]]
// CHECK-LABEL: loop.kernel @sum(
// CHECK-NEXT:    %[[S:.*]] = loop.reduce add %[[K:.*]] = 0 to [[$P]] : f32 {
// CHECK-NEXT:      loop.load %{{.*}}[%[[K]]] : memref<[[$P]]xf32>
// CHECK:         loop.store %[[S]], %{{.*}}[]
// REMARK: [Passed] SplitReduce | Category:deplo-split-reduce | Function=sum | Remark="a reduction over 16777216 elements in {{[0-9]+}} parts, 2 kernels: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
func.func @main(%x: memref<16777216xf32>, %y: memref<f32> {loop.result}) {
  loop.launch @sum(%x, %y) : memref<16777216xf32>, memref<f32>
  return
}
loop.kernel @sum(%x: memref<16777216xf32>, %y: memref<f32>) {
  %s = loop.reduce add %k = 0 to 16777216 : f32 {
    %a = loop.load %x[%k] : memref<16777216xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// What parts of one length leave over is one more part. Here neighbours in
// memory are results: the partial results lie as they do.
// TWO-LABEL: func.func @main
// TWO:         %[[T:.*]] = memref.alloc() : memref<3x64xf32>
// TWO:         loop.launch @columns_parts
// TWO:         loop.launch @columns_tail
// TWO:         loop.launch @columns(
// TWO-LABEL: loop.kernel @columns_parts
// TWO:         loop.for %[[I:.*]] = 0 to 64 {
// TWO-NEXT:      loop.for %[[$P:.*]] = 0 to 2 {
// TWO-NEXT:        loop.reduce add %[[K:.*]] = 0 to 8 : f32 {
// TWO-NEXT:          loop.load %{{.*}}[%[[$P]], %[[K]], %[[I]]] : memref<2x8x64xf32
// TWO:             loop.store %{{.*}}, %{{.*}}[%[[$P]], %[[I]]] : memref<3x64xf32>
// TWO-LABEL: loop.kernel @columns_tail
// TWO:           loop.reduce add %[[K:.*]] = 0 to 1 : f32 {
// TWO-NEXT:        loop.load %{{.*}}[%[[K]] + 16, %{{.*}}] : memref<17x64xf32>
// TWO:           loop.store %{{.*}}, %{{.*}}[2, %{{.*}}] : memref<3x64xf32>
// TWO-LABEL: loop.kernel @columns(
// TWO:           loop.reduce add %{{.*}} = 0 to 3 : f32 {
// REMARK: [Missed] SplitReduce | Category:deplo-split-reduce | Function=columns | Remark="its reductions are short"
func.func @main(%x: memref<17x64xf32>, %y: memref<64xf32> {loop.result}) {
  loop.launch @columns(%x, %y) : memref<17x64xf32>, memref<64xf32>
  return
}
loop.kernel @columns(%x: memref<17x64xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %s = loop.reduce add %k = 0 to 17 : f32 {
      %a = loop.load %x[%k, %i] : memref<17x64xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<64xf32>
  }
}

// -----

// Reductions that wait for one another: the first is totalled before the second
// is divided, and what it needs is computed again. The sweep is an axis of the
// rest, which has no reduction left.
// CHECK-LABEL: func.func @main
// CHECK:         loop.launch @center_parts
// CHECK-NEXT:    loop.launch @center_total
// CHECK:         loop.launch @center_parts2
// CHECK-NEXT:    loop.launch @center_total2
// CHECK-NEXT:    loop.launch @center(
// CHECK-LABEL: loop.kernel @center_parts2
// CHECK:         %[[MAX:.*]] = loop.load
// CHECK:         loop.reduce add
// CHECK:           arith.subf %{{.*}}, %[[MAX]] : f32
// CHECK-LABEL: loop.kernel @center(
// CHECK-NOT:     loop.reduce
// CHECK:         loop.for %{{.*}} = 0 to 4194304
func.func @main(%x: memref<4194304xf32>, %y: memref<4194304xf32> {loop.result}) {
  loop.launch @center(%x, %y) : memref<4194304xf32>, memref<4194304xf32>
  return
}
loop.kernel @center(%x: memref<4194304xf32>, %y: memref<4194304xf32>) {
  %m = loop.reduce max %k = 0 to 4194304 : f32 {
    %a = loop.load %x[%k] : memref<4194304xf32>
    loop.yield %a : f32
  }
  %s = loop.reduce add %k = 0 to 4194304 : f32 {
    %a = loop.load %x[%k] : memref<4194304xf32>
    %b = arith.subf %a, %m : f32
    loop.yield %b : f32
  }
  loop.for %k = 0 to 4194304 {
    %a = loop.load %x[%k] : memref<4194304xf32>
    %b = arith.mulf %a, %s : f32
    loop.store %b, %y[%k] : memref<4194304xf32>
  }
}

// -----

// A coordinate that is no dimension's alone can't be divided by a view.
// CHECK-LABEL: loop.kernel @strided
// CHECK-NOT:   loop.kernel
// REMARK: [Missed] SplitReduce | Category:deplo-split-reduce | Function=strided | Remark="its loads can't be divided by a view"
func.func @main(%x: memref<8388608xf32>, %y: memref<f32> {loop.result}) {
  loop.launch @strided(%x, %y) : memref<8388608xf32>, memref<f32>
  return
}
loop.kernel @strided(%x: memref<8388608xf32>, %y: memref<f32>) {
  %s = loop.reduce add %k = 0 to 4194304 : f32 {
    %a = loop.load %x[%k * 2] : memref<8388608xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// Two kernels for rows that one kernel sums about as fast don't pay.
// CHECK-LABEL: loop.kernel @rows
// CHECK-NEXT:    loop.for %{{.*}} = 0 to 8 {
// CHECK-NEXT:      loop.reduce add %{{.*}} = 0 to 2048 : f32 {
// REMARK: [Missed] SplitReduce | Category:deplo-split-reduce | Function=rows | Remark="parts in kernels of their own don't pay: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
loop.kernel @rows(%x: memref<8x2048xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %s = loop.reduce add %k = 0 to 2048 : f32 {
      %a = loop.load %x[%i, %k] : memref<8x2048xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}
