// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-tileify --split-input-file --verify-diagnostics

// A store is a box: no two variables in one coordinate, ...
loop.kernel @two_variables(%x: memref<4x2xf32>, %y: memref<8x4xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 2 {
      %a = loop.load %x[%i, %j] : memref<4x2xf32>
      // expected-error @below {{coordinate 0 is not a constant plus a multiple of one loop variable that no other coordinate uses, as a tile needs it; store to a contiguous tensor and view that}}
      loop.store %a, %y[%i * 2 + %j, 0] : memref<8x4xf32>
    }
  }
}

// -----

// ... no order but ascending, ...
loop.kernel @reversed(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    // expected-error @below {{coordinate 0 is not a constant plus a multiple of one loop variable that no other coordinate uses}}
    loop.store %a, %y[7 - %i] : memref<8xf32>
  }
}

// -----

// ... and no variable in two coordinates.
loop.kernel @diagonal(%x: memref<8xf32>, %y: memref<8x8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    // expected-error @below {{coordinate 1 is not a constant plus a multiple of one loop variable that no other coordinate uses}}
    loop.store %a, %y[%i, %i] : memref<8x8xf32>
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

// -----

// Only rows of a product are folded when all of them are there.
loop.kernel @no_product(%x: memref<512x64xf32>, %y: memref<512x64xf32>, %m: memref<512xf32>) {
  loop.for %i = 0 to 512 {
    // expected-error @below {{stores what it folds, which takes a reduction of rows of a product; store in a loop of its own}}
    %max = loop.reduce max %j = 0 to 64 : f32 {
      %a = loop.load %x[%i, %j] : memref<512x64xf32>
      loop.store %a, %y[%i, %j] : memref<512x64xf32>
      loop.yield %a : f32
    }
    loop.store %max, %m[%i] : memref<512xf32>
  }
}
