// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-stage-inputs --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-stage-inputs --split-input-file --remark-format=emitRemark --remarks-filter=deplo-stage-inputs -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-stage-inputs=mode=always --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-stage-inputs=mode=always --split-input-file --remark-format=emitRemark --remarks-filter=deplo-stage-inputs -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALWAYS-REMARK
// RUN: deplo-opt %s --deplo-attach-target=chip=sm_90a --deplo-stage-inputs=mode=never --split-input-file --remark-format=emitRemark --remarks-filter=deplo-stage-inputs -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEVER

// Two loops sweep one row: it is copied once, whole chunks of it, with the
// bounds of the loads.

// CHECK-LABEL: tile.kernel @swept_twice
// CHECK-SAME:    (%[[X:.+]]: memref<32x7000xf32>, %{{.*}}: memref<32x7000xf32>) axes(%[[I:.+]] = 32 step 2 grid)
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
// CHECK:         %[[ROW:.+]] = tile.alloc : !tile.buffer<2x8192xf32, #tile.shared<>>
// CHECK-NEXT:    tile.copy %[[X]][%[[I]], %[[ZERO]]] to %[[ROW]] bounds [32, 7000]
// CHECK-NEXT:    tile.barrier
// CHECK-NOT:     tile.load
// CHECK-NOT:     tile.barrier
// CHECK:         scf.for %[[K:.+]] = {{.*}} iter_args
// CHECK-NEXT:      tile.read %[[ROW]][%[[ZERO]], %[[K]]] : !tile.buffer<2x8192xf32, #tile.shared<>> -> tensor<2x2048xf32>
// CHECK:         scf.for %[[J:.+]] =
// CHECK-NEXT:      tile.read %[[ROW]][%[[ZERO]], %[[J]]] : !tile.buffer<2x8192xf32, #tile.shared<>> -> tensor<2x2048xf32>

// REMARK: [Passed] StageInputs | Category:deplo-stage-inputs | Function=swept_twice | Remark="65536 bytes of %x are copied once and read 2 times"
// NEVER: [Missed] StageInputs | Category:deplo-stage-inputs | Function=swept_twice | Remark="the schedule says never"
tile.kernel @swept_twice(%x: memref<32x7000xf32>, %y: memref<32x7000xf32>) axes(%i = 32 step 2 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %c2048 = arith.constant 2048 : index
  %c8192 = arith.constant 8192 : index
  %zero = arith.constant dense<0.0> : tensor<2x2048xf32>
  %p = scf.for %k = %c0 to %c8192 step %c2048 iter_args(%acc = %zero) -> (tensor<2x2048xf32>) {
    %a = tile.load %x[%i, %k] bounds [32, 7000] : memref<32x7000xf32> -> tensor<2x2048xf32>
    %n = arith.addf %acc, %a : tensor<2x2048xf32>
    scf.yield %n : tensor<2x2048xf32>
  }
  %s = tile.reduce [add] %p axis 1 : tensor<2x2048xf32> -> tensor<2xf32>
  %b = tile.broadcast %s dims [0] : tensor<2xf32> -> tensor<2x2048xf32>
  scf.for %k = %c0 to %c8192 step %c2048 {
    %a = tile.load %x[%i, %k] bounds [32, 7000] : memref<32x7000xf32> -> tensor<2x2048xf32>
    %q = arith.divf %a, %b : tensor<2x2048xf32>
    tile.store %q, %y[%i, %k] bounds [32, 7000] : tensor<2x2048xf32>, memref<32x7000xf32>
  }
}

// -----

// A row that is read once stays in registers, unless the schedule stages all
// the same.

// CHECK-LABEL: tile.kernel @read_once
// CHECK-NOT:     tile.alloc
// REMARK: [Missed] {{.*}} Function=read_once | Remark="each element of %x, %w is needed by one thread only and stays in its registers"

// ALWAYS-LABEL: tile.kernel @read_once
// ALWAYS-SAME:    (%[[X:.+]]: memref<32x2048xf32>, %[[W:.+]]: memref<2048xf32>, %{{.*}}: memref<32x2048xf32>) axes(%[[I:.+]] = 32 step 1 grid)
// ALWAYS:         %[[ZERO:.+]] = arith.constant 0 : index
// ALWAYS:         %[[XROW:.+]] = tile.alloc : !tile.buffer<1x2048xf32, #tile.shared<>>
// ALWAYS-NEXT:    tile.copy %[[X]][%[[I]], %[[ZERO]]] to %[[XROW]] :
// ALWAYS-NEXT:    %[[WROW:.+]] = tile.alloc : !tile.buffer<2048xf32, #tile.shared<>>
// ALWAYS-NEXT:    tile.copy %[[W]][%[[ZERO]]] to %[[WROW]] :
// ALWAYS-NEXT:    tile.barrier
// ALWAYS-NEXT:    tile.read %[[XROW]][%[[ZERO]], %[[ZERO]]] : !tile.buffer<1x2048xf32, #tile.shared<>> -> tensor<1x2048xf32>
// ALWAYS-NOT:     tile.barrier
// ALWAYS:         tile.read %[[WROW]][%[[ZERO]]] : !tile.buffer<2048xf32, #tile.shared<>> -> tensor<2048xf32>
tile.kernel @read_once(%x: memref<32x2048xf32>, %w: memref<2048xf32>, %y: memref<32x2048xf32>) axes(%i = 32 step 1 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32>
  %g = tile.load %w[%c0] : memref<2048xf32> -> tensor<2048xf32>
  %gb = tile.broadcast %g dims [1] : tensor<2048xf32> -> tensor<1x2048xf32>
  %o = arith.mulf %a, %gb : tensor<1x2048xf32>
  tile.store %o, %y[%i, %c0] : tensor<1x2048xf32>, memref<32x2048xf32>
}

// -----

// Rows share the budget: the one that is read most often comes first, though the
// other is loaded first.

// CHECK-LABEL: tile.kernel @budget
// CHECK-SAME:    (%[[X:.+]]: memref<8x32768xf32>, %[[Z:.+]]: memref<8x32768xf32>,
// CHECK:         tile.copy %[[Z]]
// CHECK-NOT:     tile.copy
// CHECK:         tile.load %[[X]]
// REMARK: Function=budget | Remark="131072 bytes of %z are copied once and read 3 times"
// REMARK: Function=budget | Remark="a block's part of %x takes 131072 bytes, and sm_90a has 101376 left for it"
tile.kernel @budget(%x: memref<8x32768xf32>, %z: memref<8x32768xf32>, %y: memref<8x32768xf32>) axes(%i = 8 step 1 grid) warps(32) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %c32768 = arith.constant 32768 : index
  scf.for %k = %c0 to %c32768 step %c4096 {
    %a = tile.load %x[%i, %k] : memref<8x32768xf32> -> tensor<1x4096xf32>
    %b = tile.load %z[%i, %k] : memref<8x32768xf32> -> tensor<1x4096xf32>
    %s = arith.addf %a, %b : tensor<1x4096xf32>
    tile.store %s, %y[%i, %k] : tensor<1x4096xf32>, memref<8x32768xf32>
  }
  scf.for %k = %c0 to %c32768 step %c4096 {
    %a = tile.load %x[%i, %k] : memref<8x32768xf32> -> tensor<1x4096xf32>
    %b = tile.load %z[%i, %k] : memref<8x32768xf32> -> tensor<1x4096xf32>
    %s = arith.mulf %a, %b : tensor<1x4096xf32>
    tile.store %s, %y[%i, %k] : tensor<1x4096xf32>, memref<8x32768xf32>
  }
  scf.for %k = %c0 to %c32768 step %c4096 {
    %b = tile.load %z[%i, %k] : memref<8x32768xf32> -> tensor<1x4096xf32>
    tile.store %b, %y[%i, %k] : tensor<1x4096xf32>, memref<8x32768xf32>
  }
}

// -----

// Steps and offsets: the loop moves the box by two memref elements for each
// element of the tile.

// CHECK-LABEL: tile.kernel @steps
// CHECK-SAME:    (%[[X:.+]]: memref<8x4096xf32>
// CHECK:         %[[ONE:.+]] = arith.constant 1 : index
// CHECK:         %[[ROW:.+]] = tile.alloc : !tile.buffer<1x2048xf32, #tile.shared<>>
// CHECK:         tile.copy %[[X]][%{{.*}}, %[[ONE]]] to %[[ROW]] steps [1, 2]
// CHECK:         scf.for %[[K:.+]] =
// CHECK:           tile.read %[[ROW]][%{{.*}}, %[[K]]]
tile.kernel @steps(%x: memref<8x4096xf32>, %y: memref<8x2048xf32>) axes(%i = 8 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  %c2048 = arith.constant 2048 : index
  scf.for %k = %c0 to %c2048 step %c512 {
    %k2 = arith.muli %k, %c2 : index
    %kc = arith.addi %k2, %c1 : index
    %a = tile.load %x[%i, %kc] steps [1, 2] : memref<8x4096xf32> -> tensor<1x512xf32>
    tile.store %a, %y[%i, %k] : tensor<1x512xf32>, memref<8x2048xf32>
  }
  scf.for %k = %c0 to %c2048 step %c512 {
    %k2 = arith.muli %k, %c2 : index
    %kc = arith.addi %k2, %c1 : index
    %a = tile.load %x[%i, %kc] steps [1, 2] : memref<8x4096xf32> -> tensor<1x512xf32>
    tile.store %a, %y[%i, %k] : tensor<1x512xf32>, memref<8x2048xf32>
  }
}

// -----

// Tiles along axes only are not staged.

// ALWAYS-REMARK: [Missed] {{.*}} Function=pointwise | Remark="a block reads %x along its axes only"
tile.kernel @pointwise(%x: memref<4096xf32>, %y: memref<4096xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
  %a = tile.load %x[%i] : memref<4096xf32> -> tensor<1024xf32>
  tile.store %a, %y[%i] : tensor<1024xf32>, memref<4096xf32>
}

// -----

// A memref that is stored to is not staged, nor is a box whose corner moves with
// a loop that it does not follow.

// CHECK-LABEL: tile.kernel @not_fixed
// CHECK-NOT:     tile.alloc
// REMARK: [Missed] {{.*}} Function=not_fixed | Remark="no part of %x, %y with a fixed corner is read by a block"
tile.kernel @not_fixed(%x: memref<8x4096xf32>, %y: memref<8x4096xf32>) axes(%i = 8 step 8 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %a = tile.load %x[%k, %c0] : memref<8x4096xf32> -> tensor<4096xf32>
    %b = tile.load %y[%c0, %c0] : memref<8x4096xf32> -> tensor<4096xf32>
    %s = arith.addf %a, %b : tensor<4096xf32>
    tile.store %s, %y[%k, %c0] : tensor<4096xf32>, memref<8x4096xf32>
  }
}

// -----

// An operand that is computed is computed once for each chunk, from what was
// copied, and goes through a buffer of its own.

// CHECK-LABEL: tile.kernel @computed
// CHECK:         %[[X:.+]] = tile.alloc : !tile.buffer<64x16xf16, #tile.shared<>>
// CHECK:         %[[RAW:.+]] = tile.alloc : !tile.buffer<16x32xi8, #tile.shared<>>
// CHECK:         %[[W:.+]] = tile.alloc : !tile.buffer<16x32xf16, #tile.shared<>>
// CHECK:         scf.for
// CHECK-NEXT:      tile.copy %x{{.*}} to %[[X]]
// CHECK-NEXT:      tile.copy %q{{.*}} to %[[RAW]]
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      %[[Q:.+]] = tile.read %[[RAW]]
// CHECK-NEXT:      %[[F:.+]] = arith.sitofp %[[Q]]
// CHECK-NEXT:      tile.write %[[F]], %[[W]]
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      %[[B:.+]] = tile.read %[[W]]
// CHECK-NEXT:      %[[A:.+]] = tile.read %[[X]]
// CHECK-NEXT:      %[[D:.+]] = tile.dot %[[A]] dims [0, 2], %[[B]] dims [2, 1]
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      scf.yield %[[D]]
// REMARK: [Passed] {{.*}} Function=computed | Remark="chunks of %x and %q, 3584 bytes, are copied once for all threads, and 1 operand is computed of them"
tile.kernel @computed(%x: memref<64x512xf16>, %q: memref<512x32xi8>, %y: memref<64x32xf32>) axes(%i = 64 step 64 grid, %j = 32 step 32 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %s = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
    %b = tile.load %q[%k, %j] : memref<512x32xi8> -> tensor<16x32xi8>
    %f = arith.sitofp %b : tensor<16x32xi8> to tensor<16x32xf16>
    %a = tile.load %x[%i, %k] : memref<64x512xf16> -> tensor<64x16xf16>
    %d = tile.dot %a dims [0, 2], %f dims [2, 1], %acc : tensor<64x16xf16>, tensor<16x32xf16>, tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// A sum of one chunk has no loop, and no barrier behind its product.

// CHECK-LABEL: tile.kernel @one_chunk
// CHECK:         tile.copy %x{{.*}} to %[[X:.+]] :
// CHECK-NEXT:    tile.copy %w{{.*}} to %[[W:.+]] :
// CHECK-NEXT:    tile.barrier
// CHECK-NEXT:    %[[A:.+]] = tile.read %[[X]]
// CHECK-NEXT:    %[[B:.+]] = tile.read %[[W]]
// CHECK-NEXT:    %[[D:.+]] = tile.dot %[[A]] dims [0, 2], %[[B]] dims [2, 1]
// CHECK-NEXT:    tile.store %[[D]]
tile.kernel @one_chunk(%x: memref<64x32xf32>, %w: memref<32x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 step 64 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.load %x[%i, %c0] : memref<64x32xf32> -> tensor<64x32xf32>
  %b = tile.load %w[%c0, %c0] : memref<32x32xf32> -> tensor<32x32xf32>
  %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<64x32xf32>, tensor<32x32xf32>, tensor<64x32xf32>
  tile.store %d, %y[%i, %c0] : tensor<64x32xf32>, memref<64x32xf32>
}
