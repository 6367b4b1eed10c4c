// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-matmul-k -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k=pin=split_k=1 --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-matmul-k -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not deplo-opt %s --deplo-attach-target --deplo-split-matmul-k=pin=split_k=0 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=ZERO

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-matmul-k=pin=split_k=4 --deplo-select-schedule=pin=block=32x64x1,split_k=4 --split-input-file | FileCheck %s --check-prefix=BLOCK

// ZERO: error: schedule: split_k is '0', expected a positive number

// The block that is pinned is one of the contraction, not of what adds parts.
// BLOCK-LABEL: loop.kernel @mm_parts
// BLOCK-SAME:    block = [32, 64, 1]
// BLOCK-LABEL: loop.kernel @mm(
// BLOCK-NOT:     block = [32, 64, 1]
// BLOCK-SAME:    block = [{{[0-9]+}}, {{[0-9]+}}]

// Two tiles don't fill the device: parts of the sums go to a temporary, part by
// part, so that neighbouring columns are neighbours. The bias is added to the
// total, once.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.+]] = memref.alloc() : memref<[[$P:[0-9]+]]x32x256xf32>
// CHECK-DAG:     %[[X:.+]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [32, [[$P]], [[$N:[0-9]+]]]
// CHECK-DAG:     %[[W:.+]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: {{\[}}[[$P]], [[$N]], 256]
// CHECK:         loop.launch @mm_parts({{.*}}%[[T]]
// CHECK:         loop.launch @mm(%arg2, %arg3, %[[T]])
// CHECK-LABEL: loop.kernel @mm_parts
// CHECK-NEXT:    loop.for %[[I:.+]] = 0 to 32 {
// CHECK-NEXT:      loop.for %[[J:.+]] = 0 to 256 {
// CHECK-NEXT:        loop.for %[[PART:.+]] = 0 to [[$P]] {
// CHECK-NEXT:          %[[S:.+]] = loop.reduce add %[[K:.+]] = 0 to [[$N]] : f32 attributes {tile.part_of = 2048 : i64} {
// CHECK-NEXT:            loop.load %{{.+}}[%[[I]], %[[PART]], %[[K]]]
// CHECK-NEXT:            loop.load %{{.+}}[%[[PART]], %[[K]], %[[J]]]
// CHECK:               loop.store %[[S]], %{{.+}}[%[[PART]], %[[I]], %[[J]]]
// CHECK-LABEL: loop.kernel @mm(
// CHECK:           %[[TOTAL:.+]] = loop.reduce add %[[K:.+]] = 0 to [[$P]] : f32 {
// CHECK-NEXT:        loop.load %{{.+}}[%[[K]], %[[I:.+]], %[[J:.+]]]
// CHECK:           %[[BIAS:.+]] = loop.load
// CHECK-NEXT:      %[[R:.+]] = arith.addf %[[TOTAL]], %[[BIAS]]
// CHECK-NEXT:      loop.store %[[R]]
// REMARK: [Passed] SplitMatmulK | Category:deplo-split-matmul-k | Function=mm | Remark="sums of 2048 products in {{[0-9]+}} parts, 2 kernels: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
// ONE: [Missed] SplitMatmulK | Category:deplo-split-matmul-k | Function=mm | Remark="the schedule says one part"
func.func @main(%x: memref<32x2048xf32>, %w: memref<2048x256xf32>, %b: memref<256xf32>, %y: memref<32x256xf32> {loop.result}) {
  loop.launch @mm(%x, %w, %b, %y) : memref<32x2048xf32>, memref<2048x256xf32>, memref<256xf32>, memref<32x256xf32>
  return
}
loop.kernel @mm(%x: memref<32x2048xf32>, %w: memref<2048x256xf32>, %b: memref<256xf32>, %y: memref<32x256xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 256 {
      %s = loop.reduce add %k = 0 to 2048 : f32 {
        %a = loop.load %x[%i, %k] : memref<32x2048xf32>
        %c = loop.load %w[%k, %j] : memref<2048x256xf32>
        %p = arith.mulf %a, %c : f32
        loop.yield %p : f32
      }
      %bias = loop.load %b[%j] : memref<256xf32>
      %r = arith.addf %s, %bias : f32
      loop.store %r, %y[%i, %j] : memref<32x256xf32>
    }
  }
}

// -----

// A grid that fills the device stays one kernel.
// CHECK-NOT:   @large_parts
// CHECK-LABEL: loop.kernel @large(
// REMARK: [Missed] SplitMatmulK | Category:deplo-split-matmul-k | Function=large | Remark="parts in blocks of their own don't pay: {{[0-9.]+}} us instead of {{[0-9.]+}} us"
loop.kernel @large(%x: memref<4096x1024xf32>, %w: memref<1024x8192xf32>, %y: memref<4096x8192xf32>) {
  loop.for %i = 0 to 4096 {
    loop.for %j = 0 to 8192 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<4096x1024xf32>
        %c = loop.load %w[%k, %j] : memref<1024x8192xf32>
        %p = arith.mulf %a, %c : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<4096x8192xf32>
    }
  }
}

// -----

// CHECK-NOT: _parts
// Neither short sums nor sums that are no contraction are divided.
// REMARK: [Missed] SplitMatmulK | Category:deplo-split-matmul-k | Function=short | Remark="its sums are short"
// REMARK: [Missed] SplitMatmulK | Category:deplo-split-matmul-k | Function=row_sums | Remark="it is no contraction"
loop.kernel @short(%x: memref<32x100xf32>, %w: memref<100x32xf32>, %y: memref<32x32xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 32 {
      %s = loop.reduce add %k = 0 to 100 : f32 {
        %a = loop.load %x[%i, %k] : memref<32x100xf32>
        %c = loop.load %w[%k, %j] : memref<100x32xf32>
        %p = arith.mulf %a, %c : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<32x32xf32>
    }
  }
}
loop.kernel @row_sums(%x: memref<32x4096xf32>, %y: memref<32xf32>) {
  loop.for %i = 0 to 32 {
    %s = loop.reduce add %k = 0 to 4096 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x4096xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<32xf32>
  }
}
