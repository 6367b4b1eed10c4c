// RUN: deplo-opt %s --split-input-file --deplo-loop-to-llvm | FileCheck %s

// Sizes come behind the pointers, as 64-bit integers; loops end at them, and
// strides are multiples of them. The number that stands for one is gone.
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 5000>}} {
  // CHECK-LABEL: llvm.func private @columns.body(
  // CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: i64)
  // CHECK:         llvm.icmp "slt" %{{.*}}, %[[ROWS]] : i64
  // CHECK-NOT:     1048583
  // CHECK-LABEL: llvm.func @columns(
  // CHECK-SAME:    %[[ARGS:.*]]: !llvm.ptr)
  // CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][2]
  // CHECK:         %[[SIZE:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i64
  // CHECK:         llvm.call @columns.body(%{{.*}}, %{{.*}}, %[[SIZE]])
  loop.kernel @columns(%x: memref<5x1048583xf32>, %y: memref<5x1048583xf32>) {
    loop.for %i = 0 to 5 {
      loop.for %j = 0 to 1048583 {
        %a = loop.load %x[%i, %j] : memref<5x1048583xf32>
        loop.store %a, %y[%i, %j] : memref<5x1048583xf32>
      }
    }
  }
}

// -----

// A reduction ends at the size, and the size is a number of the program.
module attributes {graph.sizes = {n = array<i64: 1048583, 0, 5000>}} {
  // CHECK-LABEL: llvm.func private @mean.body(
  // CHECK-SAME:    %[[N:[a-z0-9]+]]: i64)
  // CHECK:         llvm.icmp "slt" %{{.*}}, %[[N]] : i64
  // CHECK:         llvm.sitofp %[[N]] : i64 to f32
  // CHECK-NOT:     1048583
  // CHECK-LABEL: llvm.func @mean(
  loop.kernel @mean(%x: memref<5x1048583xf32>, %y: memref<5xf32>) {
    loop.for %i = 0 to 5 {
      %s = loop.reduce max %k = 0 to 1048583 : f32 {
        %a = loop.load %x[%i, %k] : memref<5x1048583xf32>
        loop.yield %a : f32
      }
      %n = loop.size 1048583 : i64
      %f = arith.sitofp %n : i64 to f32
      %m = arith.divf %s, %f : f32
      loop.store %m, %y[%i] : memref<5xf32>
    }
  }
}

// -----

// What counts back from the end does so from the size.
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 5000>}} {
  // CHECK-LABEL: llvm.func private @reversed.body(
  // CHECK-SAME:    %[[N:[a-z0-9]+]]: i64)
  // CHECK:         llvm.add %{{.*}}, %[[N]]
  // CHECK-NOT:     104858
  // CHECK-LABEL: llvm.func @reversed(
  loop.kernel @reversed(%x: memref<1048583xf32>, %y: memref<1048583xf32>) {
    loop.for %i = 0 to 1048583 {
      %a = loop.load %x[-%i + 1048582] : memref<1048583xf32>
      loop.store %a, %y[%i] : memref<1048583xf32>
    }
  }
}

// -----

// A part of a reduction is as many neighbouring rows of lanes as any other.
// CHECK-LABEL: llvm.func private @parts.body(
// CHECK:         llvm.intr.umin
// CHECK-LABEL: llvm.func @parts(
loop.kernel @parts(%x: memref<1000xf32>, %y: memref<4xf32>) {
  loop.for %p = 0 to 4 {
    %s = loop.reduce add %k = 0 to 1000 part %p of 4 : f32 {
      %a = loop.load %x[%k] : memref<1000xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%p] : memref<4xf32>
  }
}
