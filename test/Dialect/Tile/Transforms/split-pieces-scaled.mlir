// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32-fast pin=atom=wgmma})' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32-fast})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_89},deplo-split-pieces{precision=f32-fast})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM89

// SM89: products are as exact as with precision f32, not of pieces of f16: sm_89 has no wgmma, sm_90a does

// Rows of %x are read once, folded and divided; columns of %w are folded by a
// kernel of their own. Both contractions read the same pieces and scales.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x1024xf32>, %[[W:[a-z0-9]+]]: memref<1024x2048xf32>, %[[Y:[a-z0-9]+]]: memref<2048x2048xf32>
// CHECK:         %[[P:.+]] = memref.alloc() : memref<2x2048x1024xf16>
// CHECK-NEXT:    %[[S:.+]] = memref.alloc() : memref<2048x1xf32>
// CHECK-NEXT:    loop.launch @pieces(%[[X]], %[[S]], %[[P]])
// CHECK-NEXT:    %[[Q:.+]] = memref.alloc() : memref<2x1024x2048xf16>
// CHECK-NEXT:    %[[T:.+]] = memref.alloc() : memref<1x2048xf32>
// CHECK-NEXT:    loop.launch @scales(%[[W]], %[[T]])
// CHECK-NEXT:    loop.launch @pieces_0(%[[W]], %[[T]], %[[Q]])
// CHECK-NEXT:    loop.launch @mm(%[[X]], %[[W]], %[[Y]], %[[P]], %[[Q]], %[[S]], %[[T]])
// CHECK-NEXT:    loop.launch @mm(%[[X]], %[[W]], %{{.+}}, %[[P]], %[[Q]], %[[S]], %[[T]])
// CHECK-NEXT:    return
// CHECK:       loop.kernel @mm(
// CHECK-SAME:    attributes {tile.pieces = array<i64: 0, 1>}
// CHECK:         loop.load %x
// CHECK:       loop.kernel @pieces(
// CHECK:         loop.for %[[I:.+]] = 0 to 2048
// CHECK:           %[[M:.+]] = loop.reduce max %[[K:.+]] = 0 to 1024 : f32
// CHECK-NEXT:        loop.load %[[A:.+]][%[[I]], %[[K]]]
// CHECK-NEXT:        math.absf
// CHECK:           %[[ROOT:.+]] = arith.bitcast %{{.+}} : i32 to f32
// CHECK-NEXT:      loop.store %[[ROOT]], %{{.+}}[%[[I]], 0]
// CHECK-NEXT:      loop.for %[[J:.+]] = 0 to 1024
// CHECK:             %[[UP:.+]] = arith.bitcast %{{.+}} : i32 to f32
// CHECK:             %[[N:.+]] = arith.mulf %{{.+}}, %[[UP]]
// CHECK-NEXT:        %[[H:.+]] = arith.truncf %[[N]] : f32 to f16
// CHECK-NEXT:        loop.store %[[H]], %{{.+}}[0, %[[I]], %[[J]]]
// CHECK-NEXT:        %[[E:.+]] = arith.extf %[[H]]
// CHECK-NEXT:        %[[R:.+]] = arith.subf %[[N]], %[[E]]
// CHECK:             arith.truncf %{{.+}} : f32 to f16
// CHECK-NEXT:        loop.store %{{.+}}, %{{.+}}[1, %[[I]], %[[J]]]
// CHECK:       loop.kernel @scales(
// CHECK:         loop.reduce max
// CHECK:       loop.kernel @pieces_0(
// CHECK-NOT:     loop.reduce
// CHECK:         loop.load %{{.+}}[0, %{{.+}}] : memref<1x2048xf32>
// REMARK: SplitPieces | Category:deplo-split-pieces | Function=mm | Remark="operands go through memory as pieces of f16, of rows with scales: blocks of 128x128
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

// What is summed along its rows and along its columns has no one scale: three
// pieces of bf16 need none.

// CHECK-LABEL: loop.kernel @square
// CHECK-SAME:    memref<3x2048x2048xbf16>
// CHECK-SAME:    tile.pieces = array<i64: 0>
// REMARK: Function=square | Remark="products are as exact as with precision f32, not of pieces of f16: an operand is summed along its rows and along its columns"
loop.kernel @square(%x: memref<2048x2048xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 2048 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x2048xf32>
        %b = loop.load %x[%k, %j] : memref<2048x2048xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// What is computed of an operand has no pieces in memory.

// CHECK-LABEL: loop.kernel @computed
// CHECK-NOT:     tile.pieces
// REMARK: Function=computed | Remark="products are as exact as with precision f32, not of pieces of f16: wgmma reads no boxes of such operands"
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

// Few products are quicker by multiply-adds, unless the atom is pinned.

// CHECK-LABEL: loop.kernel @few
// CHECK-SAME:    tile.pieces = array<i64: 0, 1>
// REMARK: Function=few | Remark="products are as exact as with precision f32, not of pieces of f16: they are quicker in another way"
loop.kernel @few(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %y: memref<64x64xf32>) {
  loop.for %i = 0 to 64 {
    loop.for %j = 0 to 64 {
      %s = loop.reduce add %k = 0 to 64 : f32 {
        %a = loop.load %x[%i, %k] : memref<64x64xf32>
        %b = loop.load %w[%k, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<64x64xf32>
    }
  }
}
