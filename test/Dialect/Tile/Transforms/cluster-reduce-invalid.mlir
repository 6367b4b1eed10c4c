// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce{blocks=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-cluster-reduce{blocks=32}))' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target{chip=sm_80},tile.kernel(deplo-cluster-reduce{blocks=2}))' 2>&1 | FileCheck %s --check-prefix=NONE

// NEGATIVE: error: 'tile.kernel' op can't have blocks=-1 in a cluster, expected a positive number
// MANY: error: 'tile.kernel' op wants clusters of 32 blocks, and sm_90a has at most 16; use a smaller cluster
// NONE: error: 'tile.kernel' op wants clusters of 2 blocks, and sm_80 has at most 1; use a smaller cluster
tile.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}
