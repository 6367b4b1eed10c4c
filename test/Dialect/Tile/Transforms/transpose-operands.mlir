// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-transpose-operands{precision=ieee})' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-transpose-operands{precision=ieee})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-transpose-operands -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-transpose-operands{pin=transpose_smem=never})' | FileCheck %s --check-prefix=NEVER
// RUN: not deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-transpose-operands{precision=half})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRECISION

// NEVER-NOT: @transposed
// PRECISION: error: schedule: precision is 'half', expected ieee, f32, f32-fast or tf32

// Both contractions read one copy of %x. %w has rows of columns already.

// REMARK: TransposeOperands | Category:deplo-transpose-operands | Function=mm | Remark="%x is copied with a row for each summed element: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4096x2048xf32>, %[[W:[a-z0-9]+]]: memref<2048x4096xf32>, %[[Y:[a-z0-9]+]]: memref<4096x4096xf32>
// CHECK:         %[[M:.+]] = memref.alloc() : memref<2048x4096xf32>
// CHECK-NEXT:    %[[T:.+]] = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [4096, 2048], strides: [1, 4096]
// CHECK-NEXT:    loop.launch @transposed(%[[X]], %[[T]])
// CHECK-NEXT:    loop.launch @mm(%[[T]], %[[W]], %[[Y]])
// CHECK-NEXT:    loop.launch @mm(%[[T]], %[[W]], %{{.+}})
// CHECK-NEXT:    return
// CHECK:       loop.kernel @mm(%x: memref<4096x2048xf32, strided<[1, 4096]>>, %w: memref<2048x4096xf32>,
// CHECK:         loop.load %x[%i, %k] : memref<4096x2048xf32, strided<[1, 4096]>>
// CHECK:       loop.kernel @transposed(
// CHECK-NEXT:    loop.for %[[I:.+]] = 0 to 4096
// CHECK-NEXT:      loop.for %[[J:.+]] = 0 to 2048
// CHECK-NEXT:        %[[A:.+]] = loop.load %{{.+}}[%[[I]], %[[J]]] : memref<4096x2048xf32>
// CHECK-NEXT:        loop.store %[[A]], %{{.+}}[%[[I]], %[[J]]] : memref<4096x2048xf32, strided<[1, 4096]>>
func.func @main(%x: memref<4096x2048xf32>, %w: memref<2048x4096xf32>, %y: memref<4096x4096xf32> {loop.result}, %z: memref<4096x4096xf32> {loop.result}) {
  loop.launch @mm(%x, %w, %y) : memref<4096x2048xf32>, memref<2048x4096xf32>, memref<4096x4096xf32>
  loop.launch @mm(%x, %w, %z) : memref<4096x2048xf32>, memref<2048x4096xf32>, memref<4096x4096xf32>
  return
}
loop.kernel @mm(%x: memref<4096x2048xf32>, %w: memref<2048x4096xf32>, %y: memref<4096x4096xf32>) {
  loop.for %i = 0 to 4096 {
    loop.for %j = 0 to 4096 {
      %s = loop.reduce add %k = 0 to 2048 : f32 {
        %a = loop.load %x[%i, %k] : memref<4096x2048xf32>
        %b = loop.load %w[%k, %j] : memref<2048x4096xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<4096x4096xf32>
    }
  }
}

// -----

// Few rows read %w once: a copy costs more than it saves.

// REMARK: [Missed] TransposeOperands | Category:deplo-transpose-operands | Remark="no contraction by multiply-adds is quicker with operands that are transposed in memory"
// CHECK-NOT:   @transposed
// CHECK-LABEL: loop.kernel @few(%x: memref<32x2048xf32>, %w: memref<4096x2048xf32>
func.func @main(%x: memref<32x2048xf32>, %w: memref<4096x2048xf32>, %y: memref<32x4096xf32> {loop.result}) {
  loop.launch @few(%x, %w, %y) : memref<32x2048xf32>, memref<4096x2048xf32>, memref<32x4096xf32>
  return
}
loop.kernel @few(%x: memref<32x2048xf32>, %w: memref<4096x2048xf32>, %y: memref<32x4096xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 4096 {
      %s = loop.reduce add %k = 0 to 2048 : f32 {
        %a = loop.load %x[%i, %k] : memref<32x2048xf32>
        %b = loop.load %w[%j, %k] : memref<4096x2048xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<32x4096xf32>
    }
  }
}
