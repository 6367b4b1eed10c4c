// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-fuse-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical=windows=never | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical=windows=always | FileCheck %s --check-prefix=ALWAYS

#place = affine_map<(n, c, i, j, h, w) -> (n, c, h + i - 1, w + j - 1)>
#inside = affine_map<(n, c, i, j, h, w) -> (h + i - 1, 56 - h - i, w + j - 1, 56 - w - j)>
#windows = affine_map<(n, o, h, w, c, i, j) -> (n, c, i, j, h, w)>
#weights = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>

// Windows of few channels are read where they are multiplied.
// REMARK: [Passed] Fused {{.*}}gather and contract in @contract_56x576: {{.*}} more operations
// CHECK-LABEL: func.func @few_channels
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.gather
// CHECK-NEXT:      graph.contract
// CHECK-NOT:     graph.fused
// NEVER-LABEL: func.func @few_channels
// NEVER-COUNT-2: graph.fused
func.func @few_channels(%x: tensor<8x64x56x56xbf16>, %w: tensor<64x64x3x3xbf16>) -> tensor<8x64x56x56xbf16> {
  %g = graph.gather %x by #place where #inside : (tensor<8x64x56x56xbf16>) -> tensor<8x64x3x3x56x56xbf16>
  %y = graph.contract %g by #windows, %w by #weights : (tensor<8x64x3x3x56x56xbf16>, tensor<64x64x3x3xbf16>) -> tensor<8x64x56x56xbf16>
  return %y : tensor<8x64x56x56xbf16>
}

// -----

#place = affine_map<(n, c, i, j, h, w) -> (n, c, h + i, w + j)>
#windows = affine_map<(n, o, h, w, c, i, j) -> (n, c, i, j, h, w)>
#weights = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>

// Those that many tiles read are gathered once, unless the schedule says so.
// REMARK: [Missed] KeptApart {{.*}}it doesn't pay
// CHECK-LABEL: func.func @many_channels
// CHECK-COUNT-2: graph.fused
// ALWAYS-LABEL: func.func @many_channels
// ALWAYS-NEXT:   graph.fused
// ALWAYS-NOT:    graph.fused
func.func @many_channels(%x: tensor<8x512x16x16xbf16>, %w: tensor<4096x512x3x3xbf16>) -> tensor<8x4096x14x14xbf16> {
  %g = graph.gather %x by #place : (tensor<8x512x16x16xbf16>) -> tensor<8x512x3x3x14x14xbf16>
  %y = graph.contract %g by #windows, %w by #weights : (tensor<8x512x3x3x14x14xbf16>, tensor<4096x512x3x3xbf16>) -> tensor<8x4096x14x14xbf16>
  return %y : tensor<8x4096x14x14xbf16>
}

// -----

#shifted = affine_map<(m, k) -> (m, k - 1)>
#inside = affine_map<(m, k) -> (k - 1, 64 - k)>
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// Padding along the sum has no row that lanes could read side by side.
// REMARK: [Missed] KeptApart {{.*}}neighbours in memory are summed over, which is no row of windows
// CHECK-LABEL: func.func @padded_sum
// CHECK-COUNT-2: graph.fused
// ALWAYS-LABEL: func.func @padded_sum
// ALWAYS-COUNT-2: graph.fused
func.func @padded_sum(%x: tensor<512x64xf32>, %w: tensor<66x256xf32>) -> tensor<512x256xf32> {
  %g = graph.gather %x by #shifted where #inside : (tensor<512x64xf32>) -> tensor<512x66xf32>
  %y = graph.contract %g by #rows, %w by #columns : (tensor<512x66xf32>, tensor<66x256xf32>) -> tensor<512x256xf32>
  return %y : tensor<512x256xf32>
}

// -----

#place = affine_map<(c, i, h) -> (c, h + i)>
#windows = affine_map<(o, h, c, i) -> (c, i, h)>
#weights = affine_map<(o, h, c, i) -> (o, c, i)>

// A kernel that folds rows of the result gathers nothing.
// REMARK: [Missed] KeptApart {{.*}}rows of what is multiplied with windows are not folded where that is computed
// CHECK-LABEL: func.func @folded
// CHECK:         graph.fused
// CHECK-NEXT:      graph.gather
// CHECK-NEXT:      graph.yield
// CHECK:         graph.fused
// CHECK-NEXT:      graph.contract
// CHECK-NEXT:      graph.reduce
func.func @folded(%x: tensor<8x1002xf32>, %w: tensor<64x8x3xf32>) -> tensor<64xf32> {
  %g = graph.gather %x by #place : (tensor<8x1002xf32>) -> tensor<8x3x1000xf32>
  %y = graph.contract %g by #windows, %w by #weights : (tensor<8x3x1000xf32>, tensor<64x8x3xf32>) -> tensor<64x1000xf32>
  %m = graph.reduce max %y axes [1] : tensor<64x1000xf32> -> tensor<64xf32>
  return %m : tensor<64xf32>
}
