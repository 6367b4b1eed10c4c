// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-blockify-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-blockify-launch{block=8 warps=2}))' --split-input-file | FileCheck %s --check-prefix=OPTIONS

// Sizes that fit: nothing is masked.

// CHECK-LABEL: tile.kernel @row_sum
// CHECK-SAME:    axes(%[[I:.+]] = 32 step 4 grid) warps(8)
// CHECK:         %[[A:.+]] = tile.load %{{.+}}[%[[I]], %{{.+}}] : memref<32x2048xf32> -> tensor<4x2048xf32>
// CHECK-NEXT:    %[[S:.+]] = tile.reduce [add] %[[A]] axis 1 : tensor<4x2048xf32> -> tensor<4xf32>
// CHECK-NEXT:    tile.store %[[S]], %{{.+}}[%[[I]]] : tensor<4xf32>, memref<32xf32>

// REMARK: [Passed] BlockifyLaunch | Category:deplo-blockify-launch | Function=row_sum | Remark="8 blocks of 256 threads on 132 multiprocessors"

// OPTIONS-LABEL: tile.kernel @row_sum
// OPTIONS-SAME:    axes(%{{.+}} = 32 step 8 grid) warps(2)
tile.kernel @row_sum(%x: memref<32x2048xf32>, %y: memref<32xf32>) axes(%i = 32 tile) attributes {schedule = #tile.schedule<block = [4], warps = 8, vector = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<32x2048xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<32x2048xf32> -> tensor<32xf32>
  tile.store %s, %y[%i] : tensor<32xf32>, memref<32xf32>
}

// -----

// 33 rows in blocks of 2 and 3584 columns in 4096: what is beyond is masked in
// memory, and is the identity where it would be reduced.

// CHECK-LABEL: tile.kernel @softmax
// CHECK-SAME:    axes(%[[I:.+]] = 33 step 2 grid) warps(8)
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
// CHECK:         %[[A:.+]] = tile.load %{{.+}}[%[[I]], %[[ZERO]]] bounds [33, 3584] : memref<33x3584xf32> -> tensor<2x4096xf32>
// CHECK:         %[[MASK:.+]] = tile.in_bounds[%[[ZERO]], %[[ZERO]]] bounds [2, 3584] : tensor<2x4096xi1>
// CHECK:         %[[LOWEST:.+]] = arith.constant dense<0xFF800000> : tensor<2x4096xf32>
// CHECK:         %[[IN:.+]] = arith.select %[[MASK]], %[[A]], %[[LOWEST]]
// CHECK:         %[[M:.+]] = tile.reduce [max] %[[IN]] axis 1 : tensor<2x4096xf32> -> tensor<2xf32>
// CHECK:         tile.broadcast %[[M]] dims [0] : tensor<2xf32> -> tensor<2x4096xf32>
// CHECK:         %[[E:.+]] = math.exp
// CHECK-NOT:     tile.in_bounds
// CHECK:         %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<2x4096xf32>
// CHECK:         arith.select %[[MASK]], %[[E]], %[[NONE]]
// CHECK:         tile.store %{{.+}}, %{{.+}}[%[[I]], %[[ZERO]]] bounds [33, 3584] : tensor<2x4096xf32>, memref<33x3584xf32>

// REMARK: Function=softmax | Remark="17 blocks of 256 threads on 132 multiprocessors"
tile.kernel @softmax(%x: memref<33x3584xf32>, %y: memref<33x3584xf32>) axes(%i = 33 tile) attributes {schedule = #tile.schedule<block = [2], warps = 8, vector = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<33x3584xf32> -> tensor<33x3584xf32>
  %m = tile.reduce [max] %a axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
  %mb = tile.broadcast %m dims [0] : tensor<33xf32> -> tensor<33x3584xf32>
  %d = arith.subf %a, %mb : tensor<33x3584xf32>
  %e = math.exp %d : tensor<33x3584xf32>
  %s = tile.reduce [add] %e axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
  %sb = tile.broadcast %s dims [0] : tensor<33xf32> -> tensor<33x3584xf32>
  %o = arith.divf %e, %sb : tensor<33x3584xf32>
  tile.store %o, %y[%i, %c0] : tensor<33x3584xf32>, memref<33x3584xf32>
}

// -----

// A constant that tiles of different dimensions share gets the size that each
// use wants: here rows and columns are equally many before.

// CHECK-LABEL: tile.kernel @shared_constant
// CHECK:         %[[ROWS:.+]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK:         arith.addf %{{.+}}, %[[ROWS]] : tensor<4xf32>
// CHECK:         %[[COLUMNS:.+]] = arith.constant dense<2.000000e+00> : tensor<64xf32>
// CHECK:         arith.addf %{{.+}}, %[[COLUMNS]] : tensor<64xf32>
tile.kernel @shared_constant(%x: memref<64xf32>, %w: memref<64xf32>, %y: memref<64x64xf32>) axes(%i = 64 tile) attributes {schedule = #tile.schedule<block = [4], warps = 1, vector = 4>} {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32>
  %b = arith.addf %a, %two : tensor<64xf32>
  %c = tile.load %w[%c0] : memref<64xf32> -> tensor<64xf32>
  %d = arith.addf %c, %two : tensor<64xf32>
  %e = tile.broadcast %b dims [0] : tensor<64xf32> -> tensor<64x64xf32>
  %f = tile.broadcast %d dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %o = arith.mulf %e, %f : tensor<64x64xf32>
  tile.store %o, %y[%i, %c0] : tensor<64x64xf32>, memref<64x64xf32>
}

// -----

// The bound of a box with a step and an offset is behind its last element.

// CHECK-LABEL: tile.kernel @strided
// CHECK:         tile.load %{{.+}} steps [3] bounds [155] : memref<200xf32> -> tensor<32xf32>
// CHECK:         tile.store %{{.+}} bounds [50] : tensor<32xf32>, memref<50xf32>
tile.kernel @strided(%x: memref<200xf32>, %y: memref<50xf32>) axes(%i = 50 tile) attributes {schedule = #tile.schedule<block = [32], warps = 1, vector = 1>} {
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %m = arith.muli %i, %c3 : index
  %n = arith.addi %m, %c7 : index
  %a = tile.load %x[%n] steps [3] : memref<200xf32> -> tensor<50xf32>
  tile.store %a, %y[%i] : tensor<50xf32>, memref<50xf32>
}

// -----

// A reduction loop that is left carries tiles of the block's size.

// CHECK-LABEL: tile.kernel @loop_left
// CHECK:         loop.reduce add %{{.+}} = 0 to 100 : tensor<16xf32> {
// CHECK:           tile.load %{{.+}} : memref<100x64xf32> -> tensor<16xf32>
tile.kernel @loop_left(%x: memref<100x64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) attributes {schedule = #tile.schedule<block = [16], warps = 1, vector = 4>} {
  %s = loop.reduce add %k = 0 to 100 : tensor<64xf32> {
    %a = tile.load %x[%k, %i] : memref<100x64xf32> -> tensor<64xf32>
    loop.yield %a : tensor<64xf32>
  }
  tile.store %s, %y[%i] : tensor<64xf32>, memref<64xf32>
}

// -----

// CHECK-LABEL: tile.kernel @divided
// CHECK-SAME:    axes(%{{.+}} = 64 step 16 grid) warps(1)
// REMARK: [Missed] {{.*}} Function=divided | Remark="the axes are divided among blocks already"
tile.kernel @divided(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 step 16 grid) warps(1) {
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<16xf32>
  tile.store %a, %y[%i] : tensor<16xf32>, memref<64xf32>
}

// -----

// Padding of a gather is masked: its offsets may lead anywhere.
// CHECK-LABEL: tile.kernel @gather
// CHECK:         %[[M:.+]] = tile.in_bounds[%i] bounds [33] : tensor<16xi1>
// CHECK:         tile.gather %{{.+}}[%{{.+}}] mask %[[M]] : (memref<64xf32>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xf32>
tile.kernel @gather(%x: memref<64xf32>, %y: memref<33xf32>) axes(%i = 33 tile) attributes {schedule = #tile.schedule<block = [16], warps = 1, vector = 1>} {
  %o = tile.iota %i : tensor<33xi32>
  %a = tile.gather %x[%o] : (memref<64xf32>, tensor<33xi32>) -> tensor<33xf32>
  tile.store %a, %y[%i] : tensor<33xf32>, memref<33xf32>
}
