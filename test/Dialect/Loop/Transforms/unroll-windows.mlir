// RUN: deplo-opt %s --pass-pipeline='builtin.module(loop.kernel(deplo-unroll-windows))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(loop.kernel(deplo-unroll-windows{max-elements=8}))' --split-input-file -o /dev/null \
// RUN:   --remarks-filter=deplo-unroll-windows 2>&1 | FileCheck %s --check-prefix=REMARK

// A window becomes its loads. A condition that holds for an element of all
// windows goes: only the first element may be outside.
// REMARK: Function=pool | Remark="windows of 3 elements"
// CHECK-LABEL: loop.kernel @pool
// CHECK:         loop.for %[[I:.*]] = 0 to 8 {
// CHECK-NOT:       loop.reduce
// CHECK:           %[[C:.*]] = arith.cmpi sge
// CHECK:           %[[A:.*]] = loop.load %{{.*}}[%[[I]] * 2 - 1] if %[[C]] else
// CHECK:           %[[B:.*]] = loop.load %{{.*}}[%[[I]] * 2] : memref<16xf32>
// CHECK:           %[[D:.*]] = arith.maximumf %[[A]], %[[B]]
// CHECK:           %[[E:.*]] = loop.load %{{.*}}[%[[I]] * 2 + 1] : memref<16xf32>
// CHECK:           %[[F:.*]] = arith.maximumf %[[D]], %[[E]]
// CHECK:           loop.store %[[F]]
loop.kernel @pool(%x: memref<16xf32>, %y: memref<8xf32>) {
  %two = arith.constant 2 : i32
  %one = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %none = arith.constant 0xFF800000 : f32
  loop.for %i = 0 to 8 {
    %s = loop.reduce max %k = 0 to 3 : f32 {
      %0 = arith.index_cast %i : index to i32
      %1 = arith.index_cast %k : index to i32
      %2 = arith.muli %0, %two : i32
      %3 = arith.addi %2, %1 : i32
      %4 = arith.addi %3, %one : i32
      %5 = arith.cmpi sge, %4, %zero : i32
      %a = loop.load %x[%i * 2 + %k - 1] if %5 else %none : memref<16xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}

// -----

// Nested windows, with two results.
// REMARK: Function=plane | Remark="windows of 4 elements"
// CHECK-LABEL: loop.kernel @plane
// CHECK-NOT:     loop.reduce
// CHECK-COUNT-4: loop.load
// CHECK-NOT:     loop.load
loop.kernel @plane(%x: memref<8x8xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 4 {
      %s:2 = loop.reduce [add, max] %k = 0 to 2 : f32, f32 {
        %t:2 = loop.reduce [add, max] %l = 0 to 2 : f32, f32 {
          %a = loop.load %x[%i * 2 + %k, %j * 2 + %l] : memref<8x8xf32>
          loop.yield %a, %a : f32, f32
        }
        loop.yield %t#0, %t#1 : f32, f32
      }
      loop.store %s#0, %y[%i, %j] : memref<4x4xf32>
      loop.store %s#1, %z[%i, %j] : memref<4x4xf32>
    }
  }
}

// -----

// Rows that share nothing are for threads to share.
// REMARK: Function=rows | Remark="no reduction is over windows of up to 8 elements"
// CHECK-LABEL: loop.kernel @rows
// CHECK:         loop.reduce
loop.kernel @rows(%x: memref<8x4xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %s = loop.reduce add %k = 0 to 4 : f32 {
      %a = loop.load %x[%i, %k] : memref<8x4xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}

// -----

// So are windows that are larger than the option.
// CHECK-LABEL: loop.kernel @large
// CHECK:         loop.reduce
loop.kernel @large(%x: memref<64xf32>, %y: memref<16xf32>) {
  loop.for %i = 0 to 16 {
    %s = loop.reduce add %k = 0 to 40 : f32 {
      %a = loop.load %x[%i + %k] : memref<64xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<16xf32>
  }
}
