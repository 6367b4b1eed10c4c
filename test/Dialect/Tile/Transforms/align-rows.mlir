// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-align-rows=vector=8 --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-align-rows=vector=8 --split-input-file --remark-format=emitRemark --remarks-filter=deplo-align-rows -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// RUN: not deplo-opt %s --deplo-align-rows=vector=3 --split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'tile.kernel' op can't have vector=3, expected a power of two

// Accesses and masks along the row are shifted, also of what all rows share.

// CHECK-LABEL: tile.kernel @shared
// CHECK:         %[[M:.+]] = tile.misalignment %[[X:.+]][%[[I:.+]], %{{.+}}] modulo 8
// CHECK:         %[[S:.+]] = arith.subi %{{.+}}, %[[M]]
// CHECK:         tile.load %[[X]][%[[I]], %[[S]]] bounds [9, 1001]
// CHECK:         %[[W:.+]] = arith.subi %{{.+}}, %[[M]]
// CHECK:         tile.load %{{.+}}[%[[W]]] bounds [1001]
// CHECK:         %[[K:.+]] = arith.subi %{{.+}}, %[[M]]
// CHECK:         tile.in_bounds[%{{.+}}, %[[K]]] bounds [1, 1001]
// CHECK:         %[[T:.+]] = arith.subi %{{.+}}, %[[M]]
// CHECK:         tile.store %{{.+}}, %{{.+}}[%[[I]], %[[T]]] bounds [9, 1001]
// REMARK: [Passed] AlignRows | Category:deplo-align-rows | Function=shared | Remark="rows of %x are accessed 8 elements at a time, from the last aligned address before them"
tile.kernel @shared(%x: memref<9x1001xbf16>, %w: memref<1001xbf16>, %y: memref<9x1001xbf16>) axes(%i = 9 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<1x1024xbf16>
  %a = tile.load %x[%i, %c0] bounds [9, 1001] : memref<9x1001xbf16> -> tensor<1x1024xbf16>
  %g = tile.load %w[%c0] bounds [1001] : memref<1001xbf16> -> tensor<1024xbf16>
  %gb = tile.broadcast %g dims [1] : tensor<1024xbf16> -> tensor<1x1024xbf16>
  %in = tile.in_bounds [%c0, %c0] bounds [1, 1001] : tensor<1x1024xi1>
  %b = arith.select %in, %a, %zero : tensor<1x1024xi1>, tensor<1x1024xbf16>
  %s = tile.reduce [add] %b axis 1 : tensor<1x1024xbf16> -> tensor<1xbf16>
  %sb = tile.broadcast %s dims [0] : tensor<1xbf16> -> tensor<1x1024xbf16>
  %c = arith.mulf %a, %sb : tensor<1x1024xbf16>
  %o = arith.mulf %c, %gb : tensor<1x1024xbf16>
  tile.store %o, %y[%i, %c0] bounds [9, 1001] : tensor<1x1024xbf16>, memref<9x1001xbf16>
}

// -----

// A row in shared memory lies there as it is shifted: only the copy changes.

// CHECK-LABEL: tile.kernel @staged
// CHECK:         %[[M:.+]] = tile.misalignment
// CHECK:         %[[S:.+]] = arith.subi %{{.+}}, %[[M]]
// CHECK:         tile.copy %{{.+}}[%{{.+}}, %[[S]]] to
// CHECK:         scf.for %[[K:.+]] =
// CHECK-NEXT:      tile.read %{{.+}}[%{{.+}}, %[[K]]]
// CHECK-NEXT:      %[[T:.+]] = arith.subi %[[K]], %[[M]]
// CHECK-NEXT:      tile.store %{{.+}}, %{{.+}}[%{{.+}}, %[[T]]]
tile.kernel @staged(%x: memref<9x1001xbf16>, %y: memref<9x1001xbf16>) axes(%i = 9 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %b = tile.alloc : !tile.buffer<1x1024xbf16, #tile.shared<>>
  tile.copy %x[%i, %c0] to %b bounds [9, 1001] : memref<9x1001xbf16>, !tile.buffer<1x1024xbf16, #tile.shared<>>
  tile.barrier
  scf.for %k = %c0 to %c1024 step %c256 {
    %a = tile.read %b[%c0, %k] : !tile.buffer<1x1024xbf16, #tile.shared<>> -> tensor<1x256xbf16>
    tile.store %a, %y[%i, %k] bounds [9, 1001] : tensor<1x256xbf16>, memref<9x1001xbf16>
  }
}

// -----

// L1: tiles of 1024 elements don't go past 1021 far enough.

// CHECK-LABEL: tile.kernel @full
// CHECK-NOT:     tile.misalignment
// REMARK: [Missed] AlignRows | Category:deplo-align-rows | Function=full | Remark="no row starts at an address that is not aligned, alone in its block, with padding for a shift"
tile.kernel @full(%x: memref<9x1021xbf16>, %y: memref<9x1021xbf16>) axes(%i = 9 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [9, 1021] : memref<9x1021xbf16> -> tensor<1x1024xbf16>
  tile.store %a, %y[%i, %c0] bounds [9, 1021] : tensor<1x1024xbf16>, memref<9x1021xbf16>
}

// -----

// L2: an access without bounds, of a longer row.

// CHECK-LABEL: tile.kernel @unbounded
// CHECK-NOT:     tile.misalignment
tile.kernel @unbounded(%x: memref<9x1025xbf16>, %y: memref<9x1001xbf16>) axes(%i = 9 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<9x1025xbf16> -> tensor<1x1024xbf16>
  tile.store %a, %y[%i, %c0] bounds [9, 1001] : tensor<1x1024xbf16>, memref<9x1001xbf16>
}

// -----

// L4: two rows of a block start at different distances from an aligned address.

// CHECK-LABEL: tile.kernel @two_rows
// CHECK-NOT:     tile.misalignment
tile.kernel @two_rows(%x: memref<10x1001xbf16>, %y: memref<10x1001xbf16>) axes(%i = 10 step 2 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [10, 1001] : memref<10x1001xbf16> -> tensor<2x1024xbf16>
  tile.store %a, %y[%i, %c0] bounds [10, 1001] : tensor<2x1024xbf16>, memref<10x1001xbf16>
}

// -----

// Rows of 1008 elements are aligned as they are.

// CHECK-LABEL: tile.kernel @aligned
// CHECK-NOT:     tile.misalignment
tile.kernel @aligned(%x: memref<9x1008xbf16>, %y: memref<9x1008xbf16>) axes(%i = 9 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [9, 1008] : memref<9x1008xbf16> -> tensor<1x1024xbf16>
  tile.store %a, %y[%i, %c0] bounds [9, 1008] : tensor<1x1024xbf16>, memref<9x1008xbf16>
}
