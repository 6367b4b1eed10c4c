// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-reduce=parts=2 | FileCheck %s

// The number of an iteration, as a value, goes on counting in each part; a load
// keeps its condition.
// CHECK-LABEL: loop.kernel @position_parts
// CHECK:         loop.for %[[PART:.*]] = 0 to 2 {
// CHECK:           loop.reduce min %[[K:.*]] = 0 to 8388608 : i64 {
// CHECK:             %[[N:.*]] = arith.index_cast %[[K]] : index to i64
// CHECK-DAG:         %[[P:.*]] = arith.index_cast %[[PART]] : index to i64
// CHECK-DAG:         %[[LENGTH:c8388608.*]] = arith.constant 8388608 : i64
// CHECK:             %[[FIRST:.*]] = arith.muli %[[P]], %[[LENGTH]] : i64
// CHECK:             %[[NUMBER:.*]] = arith.addi %[[N]], %[[FIRST]] : i64
// CHECK:             %[[IS_BELOW:.*]] = arith.cmpi slt, %[[NUMBER]], %{{.*}} : i64
// CHECK:             loop.load %{{.*}}[%[[PART]], %[[K]]] if %[[IS_BELOW]] else
func.func @main(%x: memref<16777216xi64>, %y: memref<i64> {loop.result}) {
  loop.launch @position(%x, %y) : memref<16777216xi64>, memref<i64>
  return
}
loop.kernel @position(%x: memref<16777216xi64>, %y: memref<i64>) {
  %s = loop.reduce min %k = 0 to 16777216 : i64 {
    %bound = arith.constant 12345 : i64
    %n = arith.index_cast %k : index to i64
    %isBelow = arith.cmpi slt, %n, %bound : i64
    %a = loop.load %x[%k] if %isBelow else %bound : memref<16777216xi64>
    %b = arith.addi %a, %n : i64
    loop.yield %b : i64
  }
  loop.store %s, %y[] : memref<i64>
}
