// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-cooperative-reduce))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-cooperative-reduce))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-cooperative-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The reduced dimension becomes a dimension of the tile. The later read of the
// row is the tile that was reduced, also behind a store.

// CHECK-LABEL: tile.kernel @centre
// CHECK-SAME:    (%[[X:.+]]: memref<32x2048xf32>, %[[T:.+]]: memref<32xf32>, %[[Y:.+]]: memref<32x2048xf32>) axes(%[[I:.+]] = 32 tile)
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-NEXT:    %[[A:.+]] = tile.load %[[X]][%[[I]], %[[ZERO]]] : memref<32x2048xf32> -> tensor<32x2048xf32>
// CHECK-NEXT:    %[[S:.+]] = tile.reduce [add] %[[A]] axis 1 : tensor<32x2048xf32> -> tensor<32xf32>
// CHECK-NEXT:    tile.store %[[S]], %[[T]][%[[I]]]
// CHECK-NEXT:    %[[B:.+]] = tile.broadcast %[[S]] dims [0]
// CHECK-NEXT:    %[[O:.+]] = arith.subf %[[A]], %[[B]] : tensor<32x2048xf32>
// CHECK-NEXT:    tile.store %[[O]], %[[Y]]

// REMARK: [Passed] CooperativeReduce | Category:deplo-cooperative-reduce | Function=centre | Remark="threads share reductions over 2048 elements"
tile.kernel @centre(%x: memref<32x2048xf32>, %t: memref<32xf32>, %y: memref<32x2048xf32>) axes(%i = 32 tile) {
  %s = loop.reduce add %k = 0 to 2048 : tensor<32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<32x2048xf32> -> tensor<32xf32>
    loop.yield %a : tensor<32xf32>
  }
  tile.store %s, %t[%i] : tensor<32xf32>, memref<32xf32>
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<32x2048xf32>
  %b = tile.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x2048xf32>
  %o = arith.subf %a, %b : tensor<32x2048xf32>
  tile.store %o, %y[%i, %c0] : tensor<32x2048xf32>, memref<32x2048xf32>
}

// -----

// What doesn't vary along the reduced dimension moves out and is repeated:
// tiles by broadcasts, constants as larger constants. Scalar operands too.

// CHECK-LABEL: tile.kernel @invariants
// CHECK:         %[[A:.+]] = tile.load %{{.+}} : memref<4x8xf32> -> tensor<4x8xf32>
// CHECK:         %[[B:.+]] = tile.load %{{.+}} : memref<4xf32> -> tensor<4xf32>
// CHECK:         %[[C:.+]] = arith.addf %[[B]], %{{.+}} : tensor<4xf32>
// CHECK:         %[[CB:.+]] = tile.broadcast %[[C]] dims [0] : tensor<4xf32> -> tensor<4x8xf32>
// CHECK:         %[[D:.+]] = arith.mulf %[[A]], %[[CB]] : tensor<4x8xf32>
// CHECK:         %[[TWO:.+]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK:         %[[E:.+]] = arith.divf %[[D]], %[[TWO]] : tensor<4x8xf32>
// CHECK:         tile.reduce [add, max] %[[E]], %[[TWO]] axis 1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4xf32>, tensor<4xf32>
tile.kernel @invariants(%x: memref<4x8xf32>, %w: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) axes(%i = 4 tile) {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %s:2 = loop.reduce [add, max] %k = 0 to 8 : tensor<4xf32>, tensor<4xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<4x8xf32> -> tensor<4xf32>
    %b = tile.load %w[%i] : memref<4xf32> -> tensor<4xf32>
    %c = arith.addf %b, %two : tensor<4xf32>
    %d = arith.mulf %a, %c : tensor<4xf32>
    %e = arith.divf %d, %two : tensor<4xf32>
    loop.yield %e, %two : tensor<4xf32>, tensor<4xf32>
  }
  tile.store %s#0, %y[%i] : tensor<4xf32>, memref<4xf32>
  tile.store %s#1, %z[%i] : tensor<4xf32>, memref<4xf32>
}

// -----

// A reduction over a leading dimension, every third row from the second on: the
// new dimension comes last in the tile whatever its place in memory, and the
// multiple and the offset of the variable become step and corner.

// CHECK-LABEL: tile.kernel @leading
// CHECK-SAME:    (%[[X:.+]]: memref<100x64xf32>, %{{.+}}) axes(%[[I:.+]] = 64 tile)
// CHECK:         %[[ONE:.+]] = arith.constant 1 : index
// CHECK:         %[[A:.+]] = tile.load %[[X]][%[[ONE]], %[[I]]] dims [1, 0] steps [1, 3] : memref<100x64xf32> -> tensor<64x33xf32>
// CHECK:         tile.reduce [add] %[[A]] axis 1 : tensor<64x33xf32> -> tensor<64xf32>
tile.kernel @leading(%x: memref<100x64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = loop.reduce add %k = 0 to 33 : tensor<64xf32> {
    %m = arith.muli %k, %c3 : index
    %n = arith.addi %m, %c1 : index
    %a = tile.load %x[%n, %i] : memref<100x64xf32> -> tensor<64xf32>
    loop.yield %a : tensor<64xf32>
  }
  tile.store %s, %y[%i] : tensor<64xf32>, memref<64xf32>
}

// -----

// A reduction in a reduction: both dimensions, folded one after the other. A
// tile over the inner one alone is repeated along the outer one.

// CHECK-LABEL: tile.kernel @nested
// CHECK:         %[[A:.+]] = tile.load %{{.+}} dims [1, 2, 0] : memref<3x4x5xf32> -> tensor<4x5x3xf32>
// CHECK:         %[[W:.+]] = tile.load %{{.+}} : memref<5xf32> -> tensor<5xf32>
// CHECK:         %[[B:.+]] = tile.broadcast %[[W]] dims [1] : tensor<5xf32> -> tensor<4x5x3xf32>
// CHECK:         %[[P:.+]] = arith.mulf %[[A]], %[[B]] : tensor<4x5x3xf32>
// CHECK:         %[[S:.+]] = tile.reduce [add] %[[P]] axis 1 : tensor<4x5x3xf32> -> tensor<4x3xf32>
// CHECK:         tile.reduce [max] %[[S]] axis 1 : tensor<4x3xf32> -> tensor<4xf32>

// REMARK: Function=nested | Remark="threads share reductions over 5, 3 elements"
tile.kernel @nested(%x: memref<3x4x5xf32>, %w: memref<5xf32>, %y: memref<4xf32>) axes(%i = 4 tile) {
  %m = loop.reduce max %k = 0 to 3 : tensor<4xf32> {
    %s = loop.reduce add %l = 0 to 5 : tensor<4xf32> {
      %a = tile.load %x[%k, %i, %l] dims [1] : memref<3x4x5xf32> -> tensor<4xf32>
      %b = tile.load %w[%l] dims [] : memref<5xf32> -> tensor<f32>
      %c = tile.broadcast %b dims [] : tensor<f32> -> tensor<4xf32>
      %p = arith.mulf %a, %c : tensor<4xf32>
      loop.yield %p : tensor<4xf32>
    }
    loop.yield %s : tensor<4xf32>
  }
  tile.store %m, %y[%i] : tensor<4xf32>, memref<4xf32>
}

// -----

// CHECK-LABEL: tile.kernel @pointwise
// REMARK: [Missed] {{.*}} Function=pointwise | Remark="the kernel has no reduction"
tile.kernel @pointwise(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 tile) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}

// -----

// The numbers of a reduction's iterations become a tile of them.
// CHECK-LABEL: tile.kernel @numbers
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
// CHECK:         %[[N:.+]] = tile.iota %[[ZERO]] : tensor<64xi64>
// CHECK:         %[[B:.+]] = tile.broadcast %[[N]] dims [1] : tensor<64xi64> -> tensor<8x64xi64>
// CHECK:         tile.reduce [max] %[[B]] axis 1
tile.kernel @numbers(%y: memref<8xi64>) axes(%i = 8 tile) {
  %m = loop.reduce max %k = 0 to 64 : tensor<8xi64> {
    %l = tile.iota %k : tensor<i64>
    %b = tile.broadcast %l dims [] : tensor<i64> -> tensor<8xi64>
    loop.yield %b : tensor<8xi64>
  }
  tile.store %m, %y[%i] : tensor<8xi64>, memref<8xi64>
}

// -----

// A window that is gathered stays a loop: each thread folds its own.
// CHECK-LABEL: tile.kernel @window
// CHECK:         loop.reduce max %[[K:.+]] = 0 to 3 : tensor<32xf32> {
// CHECK:           tile.iota %[[K]] : tensor<i32>
// CHECK:           tile.gather
// CHECK-NOT:     tile.reduce
tile.kernel @window(%x: memref<34xf32>, %y: memref<32xf32>) axes(%i = 32 tile) {
  %r = loop.reduce max %k = 0 to 3 : tensor<32xf32> {
    %a = tile.iota %i : tensor<32xi32>
    %b = tile.iota %k : tensor<i32>
    %c = tile.broadcast %b dims [] : tensor<i32> -> tensor<32xi32>
    %o = arith.addi %a, %c : tensor<32xi32>
    %v = tile.gather %x[%o] : (memref<34xf32>, tensor<32xi32>) -> tensor<32xf32>
    loop.yield %v : tensor<32xf32>
  }
  tile.store %r, %y[%i] : tensor<32xf32>, memref<32xf32>
}

// -----

// A part of a reduction stays one.

// CHECK-LABEL: tile.kernel @part
// CHECK:         tile.reduce [add] %{{.+}} axis 0 part %{{.+}} of 4 : tensor<1000xf32> -> tensor<f32>
tile.kernel @part(%x: memref<1000xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid) {
  %s = loop.reduce add %k = 0 to 1000 part %i of 4 : tensor<f32> {
    %a = tile.load %x[%k] dims [] : memref<1000xf32> -> tensor<f32>
    loop.yield %a : tensor<f32>
  }
  tile.store %s, %y[%i] : tensor<f32>, memref<4xf32>
}
