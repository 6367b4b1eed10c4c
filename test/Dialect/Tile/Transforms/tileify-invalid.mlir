// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-tileify --split-input-file --verify-diagnostics

loop.kernel @two_variables(%x: memref<8x4xf32>, %y: memref<4x2xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 2 {
      // expected-error @below {{coordinate 0 is not a multiple of one loop variable plus a constant, as a tile needs it; copy the view to a contiguous tensor first}}
      %a = loop.load %x[%i * 2 + %j, 0] : memref<8x4xf32>
      loop.store %a, %y[%i, %j] : memref<4x2xf32>
    }
  }
}

// -----

loop.kernel @division(%x: memref<4xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{coordinate 0 is not a multiple of one loop variable plus a constant}}
    %a = loop.load %x[%i floordiv 2] : memref<4xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

loop.kernel @reversed(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{coordinate 0 is not a multiple of one loop variable plus a constant}}
    %a = loop.load %x[7 - %i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

loop.kernel @diagonal(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{coordinate 1 uses a loop variable that another coordinate uses too, which is not a box; copy the diagonal to a contiguous tensor first}}
    %a = loop.load %x[%i, %i] : memref<8x8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

loop.kernel @counter(%y: memref<8xi64>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{'arith.muli' computes with a loop variable; make a number of it with arith.index_cast first}}
    %n = arith.muli %i, %i : index
    %a = arith.index_cast %n : index to i64
    loop.store %a, %y[%i] : memref<8xi64>
  }
}
