// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-vectorize-access --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-vectorize-access --split-input-file --remark-format=emitRemark --remarks-filter=deplo-vectorize-access -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-vectorize-access=alignment=8 --split-input-file | FileCheck %s --check-prefix=ALIGN8

// Up to 16 bytes, as far as the layout and the alignment of arguments allow.

// CHECK-LABEL: tile.kernel @widths
// CHECK:         tile.load {{.*}} vector 4 : memref<1024xf32> -> tensor<1024xf32,
// CHECK:         tile.load {{.*}} vector 8 : memref<1024xbf16> -> tensor<1024xbf16,
// CHECK:         tile.load {{.*}} vector 2 : memref<1024xi64> -> tensor<1024xi64,
// CHECK:         tile.load {{.*}} vector 8 : memref<1024xi8> -> tensor<1024xi8,
// REMARK: Function=widths | Remark="4 of 4 accesses move several elements at once"

// ALIGN8-LABEL: tile.kernel @widths
// ALIGN8:         tile.load {{.*}} vector 2 : memref<1024xf32>
// ALIGN8:         tile.load {{.*}} vector 4 : memref<1024xbf16>
// ALIGN8:         tile.load %{{[^ ]*}} : memref<1024xi64>
// ALIGN8:         tile.load {{.*}} vector 8 : memref<1024xi8>
#layout = #tile.layout<[1024], register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
tile.kernel @widths(%a: memref<1024xf32>, %b: memref<1024xbf16>, %c: memref<1024xi64>, %d: memref<1024xi8>) axes(%i = 1024 step 1024 grid) warps(4) {
  %0 = tile.load %a[%i] : memref<1024xf32> -> tensor<1024xf32, #layout>
  %1 = tile.load %b[%i] : memref<1024xbf16> -> tensor<1024xbf16, #layout>
  %2 = tile.load %c[%i] : memref<1024xi64> -> tensor<1024xi64, #layout>
  %3 = tile.load %d[%i] : memref<1024xi8> -> tensor<1024xi8, #layout>
}

// -----

// Strides, offsets and corners: what an access starts at.

// CHECK-LABEL: tile.kernel @starts
// CHECK:         tile.load {{.*}} vector 2 : memref<8x1026xf32>
// CHECK:         tile.load %{{[^ ]*}}[{{.*}}] : memref<8x1025xf32>
// CHECK:         tile.load {{.*}} vector 4 : memref<1x1025xf32>
// CHECK:         tile.load {{.*}} vector 2 : memref<1024xf32, strided<[1], offset: 6>>
// CHECK:         tile.load {{.*}} vector 4 : memref<2048xf32>
// CHECK:         tile.load {{.*}} vector 2 : memref<2048xf32>
// CHECK:         scf.for
// CHECK:           tile.load {{.*}} vector 4 : memref<2048xf32>
// CHECK:           tile.load %{{[^ ]*}}[{{.*}}] : memref<2048xf32>
// REMARK: Function=starts | Remark="6 of 8 accesses move several elements at once"
#row = #tile.layout<[1, 128], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#layout = #tile.layout<[128], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
tile.kernel @starts(%a: memref<8x1026xf32>, %b: memref<8x1025xf32>, %c: memref<1x1025xf32>, %d: memref<1024xf32, strided<[1], offset: 6>>, %e: memref<2048xf32>) axes(%i = 8 step 1 grid, %j = 1024 step 128 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %0 = tile.load %a[%i, %j] : memref<8x1026xf32> -> tensor<1x128xf32, #row>
  %1 = tile.load %b[%i, %j] : memref<8x1025xf32> -> tensor<1x128xf32, #row>
  %2 = tile.load %c[%c0, %j] : memref<1x1025xf32> -> tensor<1x128xf32, #row>
  %3 = tile.load %d[%j] : memref<1024xf32, strided<[1], offset: 6>> -> tensor<128xf32, #layout>
  %j4 = arith.muli %j, %c4 : index
  %4 = tile.load %e[%j4] : memref<2048xf32> -> tensor<128xf32, #layout>
  %j2 = arith.addi %j, %c2 : index
  %5 = tile.load %e[%j2] : memref<2048xf32> -> tensor<128xf32, #layout>
  scf.for %k = %c0 to %c1024 step %c128 {
    %6 = tile.load %e[%k] : memref<2048xf32> -> tensor<128xf32, #layout>
    %k1 = arith.addi %k, %c1 : index
    %7 = tile.load %e[%k1] : memref<2048xf32> -> tensor<128xf32, #layout>
  }
}

// -----

// Bounds may end within an access; a transposed box, steps and strided memory
// have no neighbours.

// CHECK-LABEL: tile.kernel @masks
// CHECK:         tile.load {{.*}} bounds [1022] vector 4
// CHECK:         tile.load {{.*}} bounds [1023] vector 4
// CHECK:         tile.load {{.*}} dims [1, 0] : memref<16x128xf32> -> tensor<128x16xf32,
// CHECK:         tile.load {{.*}} steps [2] : memref<1024xf32>
// CHECK:         tile.load %{{[^ ]*}}[{{.*}}] : memref<1024xf32, strided<[2]>>
#layout = #tile.layout<[128], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
#across = #tile.layout<[128, 16], register = [[0, 1], [0, 2], [0, 4], [0, 8], [32, 0], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
tile.kernel @masks(%a: memref<1024xf32>, %b: memref<16x128xf32>, %c: memref<1024xf32, strided<[2]>>) axes(%i = 1024 step 128 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %0 = tile.load %a[%i] bounds [1022] : memref<1024xf32> -> tensor<128xf32, #layout>
  %1 = tile.load %a[%i] bounds [1023] : memref<1024xf32> -> tensor<128xf32, #layout>
  %2 = tile.load %b[%c0, %c0] dims [1, 0] : memref<16x128xf32> -> tensor<128x16xf32, #across>
  %3 = tile.load %a[%c0] steps [2] : memref<1024xf32> -> tensor<128xf32, #layout>
  %4 = tile.load %c[%i] : memref<1024xf32, strided<[2]>> -> tensor<128xf32, #layout>
}

// -----

// Shared memory: pads and corners limit accesses there, on both ends of a copy.

// CHECK-LABEL: tile.kernel @shared
// CHECK:         tile.copy {{.*}} vector 2 : memref<4x128xf32>
// CHECK:         tile.read {{.*}} vector 2 : !tile.buffer<4x128xf32, #tile.shared<pad = 2>>
// CHECK:         tile.write {{.*}} vector 2 : tensor<1x128xf32
// CHECK:         tile.write %{{[^ ]*}}, %{{[^ ]*}}[{{.*}}] : tensor<1x128xf32
// CHECK:         tile.store {{.*}} vector 4 : tensor<1x128xf32
#row = #tile.layout<[1, 128], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
tile.kernel @shared(%x: memref<4x128xf32>, %y: memref<4x128xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc : !tile.buffer<4x128xf32, #tile.shared<pad = 2>>
  tile.copy %x[%c0, %c0] to %b : memref<4x128xf32>, !tile.buffer<4x128xf32, #tile.shared<pad = 2>>
  tile.barrier
  %a = tile.read %b[%c1, %c0] : !tile.buffer<4x128xf32, #tile.shared<pad = 2>> -> tensor<1x128xf32, #row>
  tile.write %a, %b[%c0, %c0] : tensor<1x128xf32, #row>, !tile.buffer<4x128xf32, #tile.shared<pad = 2>>
  tile.write %a, %b[%c0, %c1] : tensor<1x128xf32, #row>, !tile.buffer<4x128xf32, #tile.shared<pad = 2>>
  tile.store %a, %y[%c0, %c0] : tensor<1x128xf32, #row>, memref<4x128xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=odd | Remark="no access has neighbours in one thread that are aligned in memory"
#layout = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
tile.kernel @odd(%x: memref<31xf32>, %y: memref<31xf32>) axes(%i = 31 step 32 grid) warps(1) {
  %a = tile.load %x[%i] bounds [31] : memref<31xf32> -> tensor<32xf32, #layout>
  tile.store %a, %y[%i] bounds [31] : tensor<32xf32, #layout>, memref<31xf32>
}

// -----

#wide = #tile.layout<[4, 128], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#rows = #tile.layout<[4], register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = []>
#columns = #tile.layout<[128], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>

// A gather moves neighbours together where their offsets are neighbours, start
// at a multiple, and are masked alike: by the row, or by a bound that is a
// multiple as well.
// CHECK-LABEL: tile.kernel @gather
// CHECK:         tile.gather %{{.+}}[%{{.+}}] mask %{{.+}} vector 4 :
// CHECK:         tile.gather %{{.+}}[%{{.+}}] mask %{{.+}} vector 2 :
// CHECK:         tile.gather %{{.+}}[%{{.+}}] mask %{{[^v]+}} :
// CHECK:         tile.gather %{{.+}}[%{{[^v]+}}] :
tile.kernel @gather(%x: memref<100x512xf32>, %n: memref<4xi32>) axes(%i = 4 grid, %j = 512 step 128 grid) warps(1) {
  %zero = arith.constant dense<0> : tensor<4x128xi32, #wide>
  %four = arith.constant dense<0> : tensor<4xi32, #rows>
  %stride = arith.constant dense<512> : tensor<4xi32, #rows>
  %index = tile.load %n[%i] : memref<4xi32> -> tensor<4xi32, #rows>
  %row = arith.muli %index, %stride : tensor<4xi32, #rows>
  %isRow = arith.cmpi sge, %index, %four : tensor<4xi32, #rows>
  %column = tile.iota %j : tensor<128xi32, #columns>
  %r = tile.broadcast %row dims [0] : tensor<4xi32, #rows> -> tensor<4x128xi32, #wide>
  %c = tile.broadcast %column dims [1] : tensor<128xi32, #columns> -> tensor<4x128xi32, #wide>
  %mask = tile.broadcast %isRow dims [0] : tensor<4xi1, #rows> -> tensor<4x128xi1, #wide>
  %o = arith.addi %r, %c : tensor<4x128xi32, #wide>
  %a = tile.gather %x[%o] mask %mask : (memref<100x512xf32>, tensor<4x128xi32, #wide>, tensor<4x128xi1, #wide>) -> tensor<4x128xf32, #wide>
  // From column 6 on.
  %six = arith.constant dense<-6> : tensor<4x128xi32, #wide>
  %from6 = arith.addi %c, %six : tensor<4x128xi32, #wide>
  %after6 = arith.cmpi sge, %from6, %zero : tensor<4x128xi32, #wide>
  %p = arith.addi %r, %from6 : tensor<4x128xi32, #wide>
  %b = tile.gather %x[%p] mask %after6 : (memref<100x512xf32>, tensor<4x128xi32, #wide>, tensor<4x128xi1, #wide>) -> tensor<4x128xf32, #wide>
  // From column 1 on: neighbours in memory, and not masked alike.
  %one = arith.constant dense<-1> : tensor<4x128xi32, #wide>
  %from1 = arith.addi %c, %one : tensor<4x128xi32, #wide>
  %after1 = arith.cmpi sge, %from1, %zero : tensor<4x128xi32, #wide>
  %d = tile.gather %x[%o] mask %after1 : (memref<100x512xf32>, tensor<4x128xi32, #wide>, tensor<4x128xi1, #wide>) -> tensor<4x128xf32, #wide>
  // Backwards.
  %e = arith.subi %r, %c : tensor<4x128xi32, #wide>
  %f = tile.gather %x[%e] : (memref<100x512xf32>, tensor<4x128xi32, #wide>) -> tensor<4x128xf32, #wide>
}
