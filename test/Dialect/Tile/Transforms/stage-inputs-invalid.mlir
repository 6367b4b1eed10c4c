// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-stage-inputs=mode=always --verify-diagnostics --split-input-file

// A budget needs a target.
module {
  // expected-error @+1 {{no target: the module has no tile.target attribute; run deplo-attach-target first}}
  tile.kernel @no_target(%x: memref<32xf32>, %y: memref<32xf32>) axes(%i = 1 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0] : memref<32xf32> -> tensor<32xf32>
    tile.store %a, %y[%c0] : tensor<32xf32>, memref<32xf32>
  }
}
