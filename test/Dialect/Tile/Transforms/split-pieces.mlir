// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32 pin=atom=wgmma,pieces=memory})' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=ieee})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=IEEE
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_89},deplo-split-pieces{precision=f32})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM89

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces)' | FileCheck %s --check-prefix=FEW
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32 pin=pieces=registers})' | FileCheck %s --check-prefix=REGISTERS

// IEEE: the precision is not f32
// SM89: no contraction of f32 is quicker by wgmma of pieces

// Both contractions read the pieces of %x; the second one those of what the
// first one wrote, too. Rows of a multiple of 16 bytes are one loop.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x1024xf32>, %[[W:[a-z0-9]+]]: memref<1024x2048xf32>, %[[Y:[a-z0-9]+]]: memref<2048x2048xf32>
// CHECK:         %[[P:.+]] = memref.alloc() : memref<3x2048x1024xbf16>
// CHECK:         loop.launch @pieces(%{{.+}}, %{{.+}}) : memref<2097152xf32>, memref<3x2097152xbf16>
// CHECK:         %[[Q:.+]] = memref.alloc() : memref<3x1024x2048xbf16>
// CHECK:         loop.launch @pieces(
// CHECK-NEXT:    loop.launch @mm(%[[X]], %[[W]], %[[Y]], %[[P]], %[[Q]])
// CHECK-NEXT:    loop.launch @mm(%[[X]], %[[W]], %{{.+}}, %[[P]], %[[Q]])
// CHECK-NEXT:    return
// CHECK:       loop.kernel @mm(
// CHECK-SAME:    attributes {tile.pieces = array<i64: 0, 1>}
// CHECK:         loop.load %x
// CHECK:       loop.kernel @pieces(
// CHECK:         %[[SCALE:.+]] = arith.constant 0x4B800000 : f32
// CHECK:         %[[A:.+]] = arith.mulf %{{.+}}, %[[SCALE]]
// CHECK-NEXT:    %[[H:.+]] = arith.truncf %[[A]] : f32 to bf16
// CHECK-NEXT:    loop.store %[[H]], %{{.+}}[0, %{{.+}}]
// CHECK-NEXT:    %[[E:.+]] = arith.extf %[[H]]
// CHECK-NEXT:    %[[R:.+]] = arith.subf %[[A]], %[[E]]
// CHECK-NEXT:    %[[M:.+]] = arith.truncf %[[R]]
// CHECK-NEXT:    loop.store %[[M]], %{{.+}}[1, %{{.+}}]
// CHECK:         loop.store %{{.+}}, %{{.+}}[2, %{{.+}}]
// One operand's pieces are made in registers, so that only the other's are in
// memory.
// REGISTERS-LABEL: func.func @main
// REGISTERS:         loop.launch @pieces(
// REGISTERS-NOT:     loop.launch @pieces
// REGISTERS:         loop.launch @mm(
// REGISTERS:       loop.kernel @mm(
// REGISTERS-SAME:    attributes {tile.pieces = array<i64: {{[01]}}>}

// REMARK: SplitPieces | Category:deplo-split-pieces | Function=mm | Remark="operands go through memory as pieces of bf16: blocks of 128x128
func.func @main(%x: memref<2048x1024xf32>, %w: memref<1024x2048xf32>, %y: memref<2048x2048xf32> {loop.result}, %z: memref<2048x2048xf32> {loop.result}) {
  loop.launch @mm(%x, %w, %y) : memref<2048x1024xf32>, memref<1024x2048xf32>, memref<2048x2048xf32>
  loop.launch @mm(%x, %w, %z) : memref<2048x1024xf32>, memref<1024x2048xf32>, memref<2048x2048xf32>
  return
}
loop.kernel @mm(%x: memref<2048x1024xf32>, %w: memref<1024x2048xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
        %b = loop.load %w[%k, %j] : memref<1024x2048xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// Rows that are none of 16 bytes are longer in the pieces; a launch that writes
// to a buffer makes its pieces stale.

// CHECK-LABEL: func.func @chain
// CHECK:         memref.alloc() : memref<3x100x104xbf16>
// CHECK-NEXT:    loop.launch @pieces(%{{.+}}, %{{.+}}) : memref<100x100xf32>, memref<3x100x104xbf16>
// CHECK:         loop.launch @mm(
// CHECK:         memref.alloc() : memref<3x100x104xbf16>
// CHECK-NEXT:    loop.launch @pieces(
// CHECK-NEXT:    loop.launch @mm(
// CHECK:       loop.kernel @pieces(
// CHECK-NEXT:    loop.for
// CHECK-NEXT:      loop.for
func.func @chain(%x: memref<100x100xf32>, %w: memref<100x100xf32>, %z: memref<100x100xf32> {loop.result}) {
  %y = memref.alloc() : memref<100x100xf32>
  loop.launch @mm(%x, %w, %y) : memref<100x100xf32>, memref<100x100xf32>, memref<100x100xf32>
  loop.launch @mm(%y, %w, %z) : memref<100x100xf32>, memref<100x100xf32>, memref<100x100xf32>
  return
}
loop.kernel @mm(%x: memref<100x100xf32>, %w: memref<100x100xf32>, %y: memref<100x100xf32>) {
  loop.for %i = 0 to 100 {
    loop.for %j = 0 to 100 {
      %s = loop.reduce add %k = 0 to 100 : f32 {
        %a = loop.load %x[%i, %k] : memref<100x100xf32>
        %b = loop.load %w[%j, %k] : memref<100x100xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<100x100xf32>
    }
  }
}

// -----

// What is computed of an operand has no pieces in memory.

// CHECK-LABEL: loop.kernel @computed
// CHECK-NOT:     tile.pieces
// CHECK-NOT:   loop.kernel @pieces
loop.kernel @computed(%x: memref<2048x1024xf32>, %w: memref<1024x2048xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
        %e = math.exp %a : f32
        %b = loop.load %w[%k, %j] : memref<1024x2048xf32>
        %p = arith.mulf %e, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// So few products are added more exactly by multiply-adds; what is a part of a
// long sum is not one of these.

// CHECK-LABEL: loop.kernel @few
// CHECK-SAME:    tile.pieces
// FEW-LABEL:   loop.kernel @few
// FEW-NOT:       tile.pieces
// FEW-LABEL:   loop.kernel @part
// FEW-SAME:      tile.pieces
loop.kernel @few(%x: memref<8192x128xf32>, %w: memref<128x8192xf32>, %y: memref<8192x8192xf32>) {
  loop.for %i = 0 to 8192 {
    loop.for %j = 0 to 8192 {
      %s = loop.reduce add %k = 0 to 128 : f32 {
        %a = loop.load %x[%i, %k] : memref<8192x128xf32>
        %b = loop.load %w[%k, %j] : memref<128x8192xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<8192x8192xf32>
    }
  }
}
loop.kernel @part(%x: memref<8192x128xf32>, %w: memref<128x8192xf32>, %y: memref<8192x8192xf32>) {
  loop.for %i = 0 to 8192 {
    loop.for %j = 0 to 8192 {
      %s = loop.reduce add %k = 0 to 128 : f32 attributes {tile.part_of = 2048 : i64} {
        %a = loop.load %x[%i, %k] : memref<8192x128xf32>
        %b = loop.load %w[%k, %j] : memref<128x8192xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<8192x8192xf32>
    }
  }
}
