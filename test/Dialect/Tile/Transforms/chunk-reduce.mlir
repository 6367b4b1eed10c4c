// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce))' --split-input-file --remark-format=emitRemark --remarks-filter=deplo-chunk-reduce -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-reduce{chunk=0}))' --split-input-file | FileCheck %s --check-prefix=OFF

// A row is summed in a tile of one chunk, which is reduced at the end. The last
// chunk is masked: 7 of 1024 cover 7000.

// CHECK-LABEL: tile.kernel @row_sum
// CHECK-SAME:    (%[[X:.+]]: memref<64x7000xf32>, %[[Y:.+]]: memref<64xf32>) axes(%[[I:.+]] = 64 step 1 grid)
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[END:.+]] = arith.constant 7168 : index
// CHECK-DAG:     %[[STEP:.+]] = arith.constant 1024 : index
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<1x1024xf32>
// CHECK:         %[[P:.+]] = scf.for %[[K:[^ ]+]] = %[[ZERO]] to %[[END]] step %[[STEP]] iter_args(%[[T:.+]] = %[[NONE]]) -> (tensor<1x1024xf32>) {
// CHECK-NEXT:      %[[A:.+]] = tile.load %[[X]][%[[I]], %[[K]]] bounds [64, 7000] : memref<64x7000xf32> -> tensor<1x1024xf32>
// CHECK-NEXT:      %[[MASK:.+]] = tile.in_bounds[%[[ZERO]], %[[K]]] bounds [1, 7000] : tensor<1x1024xi1>
// CHECK-NEXT:      %[[IN:.+]] = arith.select %[[MASK]], %[[A]], %[[NONE]]
// CHECK-NEXT:      %[[N:.+]] = arith.addf %[[T]], %[[IN]] : tensor<1x1024xf32>
// CHECK-NEXT:      scf.yield %[[N]] : tensor<1x1024xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[S:.+]] = tile.reduce [add] %[[P]] axis 1 : tensor<1x1024xf32> -> tensor<1xf32>
// CHECK-NEXT:    tile.store %[[S]], %[[Y]][%[[I]]]

// REMARK: [Passed] ChunkReduce | Category:deplo-chunk-reduce | Function=row_sum | Remark="7000 elements in 7 chunks of 1024; each is read once"

// OFF-LABEL: tile.kernel @row_sum
// OFF-NOT:     scf.for
// OFF:         tensor<1x8192xf32>
tile.kernel @row_sum(%x: memref<64x7000xf32>, %y: memref<64xf32>) axes(%i = 64 step 1 grid) warps(4) attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 4, chunk = 1024>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [64, 7000] : memref<64x7000xf32> -> tensor<1x8192xf32>
  %mask = tile.in_bounds[%c0, %c0] bounds [1, 7000] : tensor<1x8192xi1>
  %none = arith.constant dense<0.0> : tensor<1x8192xf32>
  %in = arith.select %mask, %a, %none : tensor<1x8192xi1>, tensor<1x8192xf32>
  %s = tile.reduce [add] %in axis 1 : tensor<1x8192xf32> -> tensor<1xf32>
  tile.store %s, %y[%i] : tensor<1xf32>, memref<64xf32>
}

// -----

// Softmax: each loop needs what the one before has found, so there are three,
// which read the row three times. 12288 is 3 chunks of 4096: no masks are left.

// CHECK-LABEL: tile.kernel @softmax
// CHECK:         %[[P:.+]] = scf.for {{.+}} iter_args
// CHECK-NEXT:      tile.load %{{.+}}[%{{.+}}, %{{.+}}] : memref<8x12288xf32> -> tensor<1x4096xf32>
// CHECK-NEXT:      arith.maximumf
// CHECK-NEXT:      scf.yield
// CHECK:         %[[M:.+]] = tile.reduce [max] %[[P]] axis 1
// CHECK:         %[[Q:.+]] = scf.for {{.+}} iter_args
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.broadcast %[[M]] dims [0] : tensor<1xf32> -> tensor<1x4096xf32>
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      math.exp
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      scf.yield
// CHECK:         %[[S:.+]] = tile.reduce [add] %[[Q]] axis 1
// CHECK:         scf.for %[[J:[^ ]+]] =
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.broadcast %[[M]]
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      math.exp
// CHECK-NEXT:      tile.broadcast %[[S]]
// CHECK-NEXT:      %[[O:.+]] = arith.divf
// CHECK-NEXT:      tile.store %[[O]], %{{.+}}[%{{.+}}, %[[J]]] : tensor<1x4096xf32>, memref<8x12288xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// REMARK: Function=softmax | Remark="12288 elements in 3 chunks of 4096; each is read 3 times"
tile.kernel @softmax(%x: memref<8x12288xf32>, %y: memref<8x12288xf32>) axes(%i = 8 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4, chunk = 4096>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [8, 12288] : memref<8x12288xf32> -> tensor<1x16384xf32>
  %mask = tile.in_bounds[%c0, %c0] bounds [1, 12288] : tensor<1x16384xi1>
  %lowest = arith.constant dense<0xFF800000> : tensor<1x16384xf32>
  %in = arith.select %mask, %a, %lowest : tensor<1x16384xi1>, tensor<1x16384xf32>
  %m = tile.reduce [max] %in axis 1 : tensor<1x16384xf32> -> tensor<1xf32>
  %mb = tile.broadcast %m dims [0] : tensor<1xf32> -> tensor<1x16384xf32>
  %d = arith.subf %a, %mb : tensor<1x16384xf32>
  %e = math.exp %d : tensor<1x16384xf32>
  %none = arith.constant dense<0.0> : tensor<1x16384xf32>
  %ein = arith.select %mask, %e, %none : tensor<1x16384xi1>, tensor<1x16384xf32>
  %s = tile.reduce [add] %ein axis 1 : tensor<1x16384xf32> -> tensor<1xf32>
  %sb = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x16384xf32>
  %o = arith.divf %e, %sb : tensor<1x16384xf32>
  tile.store %o, %y[%i, %c0] bounds [8, 12288] : tensor<1x16384xf32>, memref<8x12288xf32>
}

// -----

// Ends that don't depend on one another share a loop: two reductions and a
// store read the row once.

// CHECK-LABEL: tile.kernel @shared
// CHECK:         %[[P:.+]]:2 = scf.for
// CHECK-NEXT:      %[[A:.+]] = tile.load
// CHECK-NEXT:      arith.addf %{{.+}}, %[[A]]
// CHECK-NEXT:      %[[N:.+]] = arith.negf %[[A]]
// CHECK-NEXT:      tile.store %[[N]]
// CHECK-NEXT:      arith.maximumf %{{.+}}, %[[N]]
// CHECK-NEXT:      scf.yield
// CHECK:         tile.reduce [add] %[[P]]#0
// CHECK:         tile.reduce [max] %[[P]]#1
// CHECK-NOT:     scf.for

// REMARK: Function=shared | Remark="8192 elements in 8 chunks of 1024; each is read once"
tile.kernel @shared(%x: memref<4x8192xf32>, %y: memref<4x8192xf32>, %s: memref<4xf32>, %m: memref<4xf32>) axes(%i = 4 step 1 grid) warps(4) attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 4, chunk = 1024>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<4x8192xf32> -> tensor<1x8192xf32>
  %sum = tile.reduce [add] %a axis 1 : tensor<1x8192xf32> -> tensor<1xf32>
  tile.store %sum, %s[%i] : tensor<1xf32>, memref<4xf32>
  %n = arith.negf %a : tensor<1x8192xf32>
  tile.store %n, %y[%i, %c0] : tensor<1x8192xf32>, memref<4x8192xf32>
  %max = tile.reduce [max] %n axis 1 : tensor<1x8192xf32> -> tensor<1xf32>
  tile.store %max, %m[%i] : tensor<1xf32>, memref<4xf32>
}

// -----

// A reduction over a leading dimension of memory, from the second row on, every
// second row.

// CHECK-LABEL: tile.kernel @leading
// CHECK:         scf.for %[[K:[^ ]+]] =
// CHECK:           %[[M:.+]] = arith.muli %[[K]], %{{.+}}
// CHECK:           %[[N:.+]] = arith.addi %[[M]], %{{.+}}
// CHECK:           tile.load %{{.+}}[%[[N]], %{{.+}}] dims [1, 0] steps [1, 2] : memref<4097x256xf32> -> tensor<32x64xf32>
// CHECK:         tile.reduce [add] %{{.+}} axis 1 : tensor<32x64xf32> -> tensor<32xf32>
tile.kernel @leading(%x: memref<4097x256xf32>, %y: memref<256xf32>) axes(%j = 256 step 32 grid) warps(4) attributes {schedule = #tile.schedule<block = [32], warps = 4, vector = 4, chunk = 64>} {
  %c1 = arith.constant 1 : index
  %a = tile.load %x[%c1, %j] dims [1, 0] steps [1, 2] : memref<4097x256xf32> -> tensor<32x2048xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<32x2048xf32> -> tensor<32xf32>
  tile.store %s, %y[%j] : tensor<32xf32>, memref<256xf32>
}

// -----

// Two reduced dimensions: the one that is not contiguous in memory gives way
// first, here to one element, the other as far as it must. The loop of the
// later reduction is the outer one.

// CHECK-LABEL: tile.kernel @two_dims
// CHECK:         %[[P:.+]] = scf.for %[[K:[^ ]+]] = {{.+}} iter_args({{.+}}) -> (tensor<1x1xf32>) {
// CHECK:           %[[Q:.+]] = scf.for %[[L:[^ ]+]] = {{.+}} iter_args({{.+}}) -> (tensor<1x512x1xf32>) {
// CHECK:             tile.load %{{.+}}[%[[K]], %{{.+}}, %[[L]]] dims [1, 2, 0] : memref<32x64x2048xf32> -> tensor<1x512x1xf32>
// CHECK:           }
// CHECK:           tile.reduce [add] %[[Q]] axis 1 : tensor<1x512x1xf32> -> tensor<1x1xf32>
// CHECK:         }
// CHECK:         tile.reduce [add] %[[P]] axis 1 : tensor<1x1xf32> -> tensor<1xf32>

// REMARK: Function=two_dims | Remark="32 elements in 32 chunks of 1; each is read once"
// REMARK: Function=two_dims | Remark="2048 elements in 4 chunks of 512; each is read once"
tile.kernel @two_dims(%x: memref<32x64x2048xf32>, %y: memref<64xf32>) axes(%c = 64 step 1 grid) warps(4) attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 4, chunk = 512>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c, %c0] dims [1, 2, 0] : memref<32x64x2048xf32> -> tensor<1x2048x32xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<1x2048x32xf32> -> tensor<1x32xf32>
  %t = tile.reduce [add] %s axis 1 : tensor<1x32xf32> -> tensor<1xf32>
  tile.store %t, %y[%c] : tensor<1xf32>, memref<64xf32>
}

// -----

// A constant that a long and a short tile share stays for the short one.

// CHECK-LABEL: tile.kernel @constant
// CHECK:         scf.for
// CHECK:           arith.mulf %{{.+}}, %{{.+}} : tensor<1x64xf32>
tile.kernel @constant(%x: memref<2x128xf32>, %y: memref<2x128xf32>) axes(%i = 2 step 1 grid) warps(1) attributes {schedule = #tile.schedule<block = [1], warps = 1, vector = 4, chunk = 64>} {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<2.0> : tensor<1x128xf32>
  %a = tile.load %x[%i, %c0] : memref<2x128xf32> -> tensor<1x128xf32>
  %b = arith.mulf %a, %two : tensor<1x128xf32>
  tile.store %b, %y[%i, %c0] : tensor<1x128xf32>, memref<2x128xf32>
}

// -----

// CHECK-LABEL: tile.kernel @fits
// CHECK-NOT:     scf.for
// REMARK: [Missed] {{.*}} Function=fits | Remark="a row of 2000 fits in registers: 8 a thread"
tile.kernel @fits(%x: memref<8x2000xf32>, %y: memref<8xf32>) axes(%i = 8 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] bounds [8, 2000] : memref<8x2000xf32> -> tensor<1x2048xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
  tile.store %s, %y[%i] : tensor<1xf32>, memref<8xf32>
}

// -----

// REMARK: [Missed] {{.*}} Function=pointwise | Remark="no dimension is inside of the axes"
tile.kernel @pointwise(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) attributes {schedule = #tile.schedule<block = [8], warps = 1, vector = 4>} {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}

// -----

// Numbers of a chunk start where the chunk does.
// CHECK-LABEL: tile.kernel @numbers
// CHECK:         scf.for %[[K:.+]] = %{{.+}} to
// CHECK:           tile.iota %[[K]] : tensor<1024xi64>
tile.kernel @numbers(%x: memref<8x65536xi64>, %y: memref<8xi64>) axes(%i = 8 step 1 grid) warps(4)
    attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 2, chunk = 1024>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<8x65536xi64> -> tensor<1x65536xi64>
  %n = tile.iota %c0 : tensor<65536xi64>
  %b = tile.broadcast %n dims [1] : tensor<65536xi64> -> tensor<1x65536xi64>
  %c = arith.muli %a, %b : tensor<1x65536xi64>
  %s = tile.reduce [add] %c axis 1 : tensor<1x65536xi64> -> tensor<1xi64>
  tile.store %s, %y[%i] : tensor<1xi64>, memref<8xi64>
}

// -----

// What is computed from a total is not divided, though a constant beside it has
// the shape of the rows.
// CHECK-LABEL: tile.kernel @inverse
// CHECK:         scf.for
// CHECK:         %[[SUM:.*]] = tile.reduce [add]
// CHECK:         arith.divf %{{.*}}, %[[SUM]] : tensor<1xf32>
// CHECK:         scf.for
// CHECK:           arith.mulf %{{.*}} : tensor<1x1024xf32>
tile.kernel @inverse(%x: memref<8x4096xf32>, %y: memref<8x4096xf32>) axes(%i = 8 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4, chunk = 1024>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %a = tile.load %x[%i, %c0] : memref<8x4096xf32> -> tensor<1x4096xf32>
  %s = tile.reduce [add] %a axis 1 : tensor<1x4096xf32> -> tensor<1xf32>
  %r = arith.divf %one, %s : tensor<1xf32>
  %b = tile.broadcast %r dims [0] : tensor<1xf32> -> tensor<1x4096xf32>
  %c = arith.mulf %a, %b : tensor<1x4096xf32>
  tile.store %c, %y[%i, %c0] : tensor<1x4096xf32>, memref<8x4096xf32>
}

// -----

// The loop over chunks of a row that is scanned carries what it has folded.
// CHECK-LABEL: tile.kernel @scan
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK:         scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[C:.*]] = %[[ZERO]]) -> (tensor<1xf32>) {
// CHECK:           %[[A:.*]] = tile.load %{{.*}}[%i, %[[K]]] : memref<32x8192xf32> -> tensor<1x1024xf32>
// CHECK:           %[[S:.*]], %[[T:.*]] = tile.scan add %[[A]] carry %[[C]] axis 1 : (tensor<1x1024xf32>, tensor<1xf32>) -> (tensor<1x1024xf32>, tensor<1xf32>)
// CHECK:           tile.store %[[S]], %{{.*}}[%i, %[[K]]]
// CHECK:           scf.yield %[[T]] : tensor<1xf32>
tile.kernel @scan(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4, chunk = 1024>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<32x8192xf32> -> tensor<1x8192xf32>
  %s, %t = tile.scan add %a axis 1 : (tensor<1x8192xf32>) -> (tensor<1x8192xf32>, tensor<1xf32>)
  tile.store %s, %y[%i, %c0] : tensor<1x8192xf32>, memref<32x8192xf32>
}
