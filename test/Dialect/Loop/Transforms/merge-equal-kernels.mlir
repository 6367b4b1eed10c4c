// RUN: deplo-opt %s --deplo-merge-equal-kernels --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-merge-equal-kernels --split-input-file -o /dev/null \
// RUN:   --remarks-filter=deplo-merge-equal-kernels 2>&1 | FileCheck %s --check-prefix=REMARK

// Kernels that differ in their names, and in those of arguments, are one.
// REMARK: [Passed] merge | Category:deplo-merge-equal-kernels | Function=scale | Remark="also launched in place of scale_1, which is equal"
// REMARK-NOT: in place of other
// CHECK-LABEL: func.func @equal
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32> {loop.result}, %[[Z:.*]]: memref<8xf32> {loop.result})
// CHECK:         loop.launch @scale(%[[X]], %[[Y]])
// CHECK-NEXT:    loop.launch @scale(%[[Y]], %[[Z]])
// CHECK-NEXT:    loop.launch @other(%[[X]], %[[Z]])
// CHECK:       loop.kernel @scale(
// CHECK-NOT:   loop.kernel @scale_1
// CHECK:       loop.kernel @other(
func.func @equal(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}, %z: memref<8xf32> {loop.result}) {
  loop.launch @scale(%x, %y) : memref<8xf32>, memref<8xf32>
  loop.launch @scale_1(%y, %z) : memref<8xf32>, memref<8xf32>
  loop.launch @other(%x, %z) : memref<8xf32>, memref<8xf32>
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
loop.kernel @scale_1(%p: memref<8xf32>, %q: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  loop.for %i = 0 to 8 {
    %a = loop.load %p[%i] : memref<8xf32>
    %b = arith.mulf %a, %two : f32
    loop.store %b, %q[%i] : memref<8xf32>
  }
}
// Another constant is another kernel.
loop.kernel @other(%x: memref<8xf32>, %y: memref<8xf32>) {
  %two = arith.constant 3.0 : f32
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = arith.mulf %a, %two : f32
    loop.store %b, %y[%i] : memref<8xf32>
  }
}

// -----

// The order of operands and the types of arguments count.
// CHECK-LABEL: loop.kernel @left(
// CHECK:       loop.kernel @right(
// CHECK:       loop.kernel @strided(
loop.kernel @left(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = loop.load %y[%i] : memref<8xf32>
    %c = arith.subf %a, %b : f32
    loop.store %c, %z[%i] : memref<8xf32>
  }
}
loop.kernel @right(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = loop.load %y[%i] : memref<8xf32>
    %c = arith.subf %b, %a : f32
    loop.store %c, %z[%i] : memref<8xf32>
  }
}
loop.kernel @strided(%x: memref<8xf32, strided<[2]>>, %y: memref<8xf32>, %z: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32, strided<[2]>>
    %b = loop.load %y[%i] : memref<8xf32>
    %c = arith.subf %a, %b : f32
    loop.store %c, %z[%i] : memref<8xf32>
  }
}
