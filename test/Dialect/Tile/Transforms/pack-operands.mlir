// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-pack-operands)' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-pack-operands)' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-pack-operands -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_89},deplo-pack-operands)' | FileCheck %s --check-prefix=SM89
// RUN: not deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-pack-operands{precision=half})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRECISION

// SM89-NOT: @packed
// PRECISION: error: schedule: precision is 'half', expected ieee, f32, f32-fast or tf32

// Both contractions read one copy of %x; %w has rows of a multiple of 16 bytes.

// REMARK: PackOperands | Category:deplo-pack-operands | Function=mm | Remark="%x is copied to rows of a multiple of 16 bytes, for wgmma: blocks of
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x1021xbf16>, %[[W:[a-z0-9]+]]: memref<1021x2048xbf16>, %[[Y:[a-z0-9]+]]: memref<2048x2048xbf16>
// CHECK:         %[[M:.+]] = memref.alloc() : memref<2048x1024xbf16>
// CHECK-NEXT:    %[[P:.+]] = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [2048, 1021], strides: [1024, 1]
// CHECK-NEXT:    loop.launch @packed(%[[X]], %[[P]])
// CHECK-NEXT:    loop.launch @mm(%[[P]], %[[W]], %[[Y]])
// CHECK-NEXT:    loop.launch @mm(%[[P]], %[[W]], %{{.+}})
// CHECK-NEXT:    return
// CHECK:       loop.kernel @mm(%x: memref<2048x1021xbf16, strided<[1024, 1]>>, %w: memref<1021x2048xbf16>,
// CHECK:         loop.load %x[%i, %k] : memref<2048x1021xbf16, strided<[1024, 1]>>
// CHECK:       loop.kernel @packed(
// CHECK-NEXT:    loop.for %[[I:.+]] = 0 to 2048
// CHECK-NEXT:      loop.for %[[J:.+]] = 0 to 1021
// CHECK-NEXT:        %[[A:.+]] = loop.load %{{.+}}[%[[I]], %[[J]]] : memref<2048x1021xbf16>
// CHECK-NEXT:        loop.store %[[A]], %{{.+}}[%[[I]], %[[J]]] : memref<2048x1021xbf16, strided<[1024, 1]>>
func.func @main(%x: memref<2048x1021xbf16>, %w: memref<1021x2048xbf16>, %y: memref<2048x2048xbf16> {loop.result}, %z: memref<2048x2048xbf16> {loop.result}) {
  loop.launch @mm(%x, %w, %y) : memref<2048x1021xbf16>, memref<1021x2048xbf16>, memref<2048x2048xbf16>
  loop.launch @mm(%x, %w, %z) : memref<2048x1021xbf16>, memref<1021x2048xbf16>, memref<2048x2048xbf16>
  return
}
loop.kernel @mm(%x: memref<2048x1021xbf16>, %w: memref<1021x2048xbf16>, %y: memref<2048x2048xbf16>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1021 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1021xbf16>
        %b = loop.load %w[%k, %j] : memref<1021x2048xbf16>
        %c = arith.extf %a : bf16 to f32
        %d = arith.extf %b : bf16 to f32
        %p = arith.mulf %c, %d : f32
        loop.yield %p : f32
      }
      %r = arith.truncf %s : f32 to bf16
      loop.store %r, %y[%i, %j] : memref<2048x2048xbf16>
    }
  }
}

// -----

// Batches of whole rows are one loop of the copy; what a launch has written is
// copied again.

// CHECK-LABEL: func.func @chain
// CHECK:         memref.alloc() : memref<8x1000x1000xbf16>
// CHECK:         loop.launch @packed(%{{.+}}, %{{.+}}) : memref<8000x999xbf16>, memref<8000x999xbf16, strided<[1000, 1]>>
// CHECK:         loop.launch @mm(
// CHECK:         memref.alloc() : memref<8x1000x1000xbf16>
// CHECK:         loop.launch @packed(%{{.+}}, %{{.+}}) : memref<8000x999xbf16>, memref<8000x999xbf16, strided<[1000, 1]>>
// CHECK:         loop.launch @mm(
func.func @chain(%x: memref<8x1000x1000xbf16>, %w: memref<8x1000x999xbf16>, %z: memref<8x1000x999xbf16> {loop.result}) {
  %y = memref.alloc() : memref<8x1000x999xbf16>
  loop.launch @mm(%x, %w, %y) : memref<8x1000x1000xbf16>, memref<8x1000x999xbf16>, memref<8x1000x999xbf16>
  loop.launch @mm(%x, %y, %z) : memref<8x1000x1000xbf16>, memref<8x1000x999xbf16>, memref<8x1000x999xbf16>
  return
}
loop.kernel @mm(%x: memref<8x1000x1000xbf16>, %w: memref<8x1000x999xbf16>, %y: memref<8x1000x999xbf16>) {
  loop.for %n = 0 to 8 {
    loop.for %i = 0 to 1000 {
      loop.for %j = 0 to 999 {
        %s = loop.reduce add %k = 0 to 1000 : f32 {
          %a = loop.load %x[%n, %i, %k] : memref<8x1000x1000xbf16>
          %b = loop.load %w[%n, %k, %j] : memref<8x1000x999xbf16>
          %c = arith.extf %a : bf16 to f32
          %d = arith.extf %b : bf16 to f32
          %p = arith.mulf %c, %d : f32
          loop.yield %p : f32
        }
        %r = arith.truncf %s : f32 to bf16
        loop.store %r, %y[%n, %i, %j] : memref<8x1000x999xbf16>
      }
    }
  }
}

// -----

// Rows that overlap would be copied more than once: windows stay as they are.

// REMARK: no contraction is quicker by wgmma of operands in longer rows
// CHECK-LABEL: func.func @windows
// CHECK-NOT: @packed
func.func @windows(%x: memref<2048x1024xbf16, strided<[1, 1]>>, %w: memref<1024x2048xbf16>, %y: memref<2048x2048xbf16> {loop.result}) {
  loop.launch @mm(%x, %w, %y) : memref<2048x1024xbf16, strided<[1, 1]>>, memref<1024x2048xbf16>, memref<2048x2048xbf16>
  return
}
loop.kernel @mm(%x: memref<2048x1024xbf16, strided<[1, 1]>>, %w: memref<1024x2048xbf16>, %y: memref<2048x2048xbf16>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xbf16, strided<[1, 1]>>
        %b = loop.load %w[%k, %j] : memref<1024x2048xbf16>
        %c = arith.extf %a : bf16 to f32
        %d = arith.extf %b : bf16 to f32
        %p = arith.mulf %c, %d : f32
        loop.yield %p : f32
      }
      %r = arith.truncf %s : f32 to bf16
      loop.store %r, %y[%i, %j] : memref<2048x2048xbf16>
    }
  }
}
