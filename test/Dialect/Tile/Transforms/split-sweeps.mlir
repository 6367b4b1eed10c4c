// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-split-sweeps --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-sweeps --deplo-stage-inputs --split-input-file | FileCheck %s --check-prefix=STAGED
// RUN: deplo-opt %s --deplo-attach-target --deplo-split-sweeps --split-input-file --remark-format=emitRemark --remarks-filter=deplo-split-sweeps -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A row of 1 MB. The first sweep goes up, through what is kept and the rest; the
// second starts at the end of the rest. What a sweep carries goes through both.
// CHECK-LABEL: tile.kernel @long
// CHECK:         %[[P:.*]] = scf.for %{{.*}} = %c0 to %[[KEPT:.*]] step %{{.*}} iter_args
// CHECK:         %[[T:.*]] = scf.for %{{.*}} = %[[KEPT2:.*]] to %[[END:.*]] step %{{.*}} iter_args(%{{.*}} = %[[P]])
// CHECK:         tile.reduce [add] %[[T]]
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK:         } {tile.descending}
// CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step
// CHECK-NOT:     tile.descending
// STAGED-LABEL: tile.kernel @long
// STAGED:         tile.copy %x[%i, %c0] to
// STAGED:         scf.for
// STAGED-NEXT:      tile.read
// STAGED:         scf.for
// STAGED-NEXT:      tile.load
// STAGED:         scf.for
// STAGED-NEXT:      tile.load
// STAGED:         scf.for
// STAGED-NEXT:      tile.read
// REMARK: [Passed] SplitSweeps | Category:deplo-split-sweeps | Function=long | Remark="of 262144 elements that are swept 2 times, the first {{[0-9]+}} can stay in shared memory"
tile.kernel @long(%x: memref<8x262144xf32>, %y: memref<8x262144xf32>) axes(%i = 8 step 1 grid) warps(32) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %c262144 = arith.constant 262144 : index
  %zero = arith.constant dense<0.0> : tensor<1x4096xf32>
  %t = scf.for %k = %c0 to %c262144 step %c4096 iter_args(%s = %zero) -> (tensor<1x4096xf32>) {
    %a = tile.load %x[%i, %k] : memref<8x262144xf32> -> tensor<1x4096xf32>
    %b = arith.addf %s, %a : tensor<1x4096xf32>
    scf.yield %b : tensor<1x4096xf32>
  }
  %s = tile.reduce [add] %t axis 1 : tensor<1x4096xf32> -> tensor<1xf32>
  scf.for %k = %c0 to %c262144 step %c4096 {
    %a = tile.load %x[%i, %k] : memref<8x262144xf32> -> tensor<1x4096xf32>
    %r = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x4096xf32>
    %b = arith.mulf %a, %r : tensor<1x4096xf32>
    tile.store %b, %y[%i, %k] : tensor<1x4096xf32>, memref<8x262144xf32>
  }
}

// -----

// A row that fits is for stage_inputs alone.
// CHECK-LABEL: tile.kernel @fits
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
// REMARK: [Missed] SplitSweeps | Category:deplo-split-sweeps | Function=fits | Remark="no row that is read again is too long for shared memory"
tile.kernel @fits(%x: memref<8x8192xf32>, %y: memref<8x8192xf32>) axes(%i = 8 step 1 grid) warps(32) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %c8192 = arith.constant 8192 : index
  %zero = arith.constant dense<0.0> : tensor<1x4096xf32>
  %t = scf.for %k = %c0 to %c8192 step %c4096 iter_args(%s = %zero) -> (tensor<1x4096xf32>) {
    %a = tile.load %x[%i, %k] : memref<8x8192xf32> -> tensor<1x4096xf32>
    %b = arith.addf %s, %a : tensor<1x4096xf32>
    scf.yield %b : tensor<1x4096xf32>
  }
  %s = tile.reduce [add] %t axis 1 : tensor<1x4096xf32> -> tensor<1xf32>
  scf.for %k = %c0 to %c8192 step %c4096 {
    %a = tile.load %x[%i, %k] : memref<8x8192xf32> -> tensor<1x4096xf32>
    %r = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x4096xf32>
    %b = arith.mulf %a, %r : tensor<1x4096xf32>
    tile.store %b, %y[%i, %k] : tensor<1x4096xf32>, memref<8x8192xf32>
  }
}

// -----

// Scalars of memory are no rows.
// CHECK-LABEL: tile.kernel @scalar
// REMARK: [Missed] SplitSweeps | Category:deplo-split-sweeps | Function=scalar | Remark="no row that is read again is too long for shared memory"
tile.kernel @scalar(%x: memref<f32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) {
  %a = tile.load %x[] : memref<f32> -> tensor<f32>
  %b = tile.load %x[] : memref<f32> -> tensor<f32>
  %c = arith.addf %a, %b : tensor<f32>
  %d = tile.broadcast %c dims [] : tensor<f32> -> tensor<8xf32>
  tile.store %d, %y[%i] : tensor<8xf32>, memref<8xf32>
}
