// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not deplo-opt %s --deplo-register-tile=vector=3 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not deplo-opt %s --deplo-register-tile=alignment=12 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not deplo-opt %s --deplo-vectorize-access=alignment=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not deplo-opt %s --deplo-async-copy=mode=maybe 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not deplo-opt %s --deplo-stage-inputs=mode=on 2>&1 | FileCheck %s --check-prefix=ON
// RUN: not deplo-opt %s --deplo-pad-smem=mode=yes 2>&1 | FileCheck %s --check-prefix=YES
// RUN: not deplo-opt %s --deplo-swizzle-smem=mode=no 2>&1 | FileCheck %s --check-prefix=NO
// RUN: not deplo-opt %s --deplo-programmatic-launch=mode=never-ever 2>&1 | FileCheck %s --check-prefix=EVER
// RUN: not deplo-opt %s --deplo-mark-unroll=unroll=-1 2>&1 | FileCheck %s --check-prefix=UNROLL

// Bad options are user errors.
// VECTOR: error: 'tile.kernel' op can't have vector=3, expected a power of two
// ALIGNMENT: error: 'tile.kernel' op can't have arguments with alignment=12, expected a power of two
// ZERO: error: 'tile.kernel' op can't have arguments with alignment=0, expected a power of two
// MODE: error: 'tile.kernel' op can't be scheduled with mode=maybe, expected auto, always or never
// ON: error: 'tile.kernel' op can't be scheduled with mode=on, expected auto, always or never
// YES: error: 'tile.kernel' op can't be scheduled with mode=yes, expected auto, always or never
// NO: error: 'tile.kernel' op can't be scheduled with mode=no, expected auto, always or never
// EVER: error: 'tile.kernel' op can't be scheduled with mode=never-ever, expected auto, always or never
// UNROLL: error: 'tile.kernel' op can't be unrolled with unroll=-1, expected a positive number
tile.kernel @copy(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  tile.store %a, %y[%i] : tensor<32xf32>, memref<32xf32>
}
