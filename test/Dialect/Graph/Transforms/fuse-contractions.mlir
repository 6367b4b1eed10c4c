// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --deplo-fuse-horizontal | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --deplo-fuse-horizontal --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-fuse-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// A product gated by another of the same rows is one kernel.
// CHECK-LABEL: func.func @gate
// CHECK-NEXT:    graph.fused @contract
// CHECK-COUNT-2:   graph.contract
// CHECK:           graph.map
// CHECK-NOT:     graph.fused
func.func @gate(%x: tensor<64x32xf32>, %v: tensor<32x48xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %g = graph.contract %x by #rows, %v by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %u = graph.contract %x by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %p = graph.map (%a = %g : tensor<64x48xf32>, %b = %u : tensor<64x48xf32>) -> tensor<64x48xf32> {
    %0 = arith.mulf %a, %b : f32
    graph.yield %0 : f32
  }
  return %p : tensor<64x48xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// So are products of the same rows that go different ways.
// CHECK-LABEL: func.func @siblings
// CHECK-NEXT:    graph.fused @contract{{.*}} -> (tensor<64x48xf32>, tensor<64x48xf32>) {
// CHECK-COUNT-2:   graph.contract
// CHECK-NOT:     graph.fused
// REMARK: contract and contract in @{{.*}}: they share 8192 bytes
func.func @siblings(%x: tensor<64x32xf32>, %v: tensor<32x48xf32>, %w: tensor<32x48xf32>) -> (tensor<64x48xf32>, tensor<64x48xf32>) {
  %g = graph.contract %x by #rows, %v by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %u = graph.contract %x by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %g, %u : tensor<64x48xf32>, tensor<64x48xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// Products of other operands would have a loop over chunks each.
// CHECK-LABEL: func.func @strangers
// CHECK-COUNT-2: graph.fused
// REMARK: share no operand in the same loops
func.func @strangers(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %v: tensor<32x48xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %g = graph.contract %x by #rows, %v by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %u = graph.contract %y by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %p = graph.map (%a = %g : tensor<64x48xf32>, %b = %u : tensor<64x48xf32>) -> tensor<64x48xf32> {
    %0 = arith.mulf %a, %b : f32
    graph.yield %0 : f32
  }
  return %p : tensor<64x48xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// One operand gives rows here and columns there.
// CHECK-LABEL: func.func @both_ways
// CHECK-COUNT-2: graph.fused
// REMARK: share no operand in the same loops
func.func @both_ways(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %g = graph.contract %x by #rows, %w by #columns : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %u = graph.contract %w by #rows, %x by #columns : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %p = graph.map (%a = %g : tensor<32x32xf32>, %b = %u : tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = arith.addf %a, %b : f32
    graph.yield %0 : f32
  }
  return %p : tensor<32x32xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// What one contraction computes and another multiplies is stored, whatever is
// on the way.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: graph.fused
// REMARK: would be computed again for every tile of the result
func.func @chain(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %g = graph.contract %x by #rows, %v by #columns : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  %e = graph.map (%a = %g : tensor<64x32xbf16>) -> tensor<64x32xf32> {
    %0 = arith.extf %a : bf16 to f32
    graph.yield %0 : f32
  }
  %u = graph.contract %e by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %u : tensor<64x48xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// A sum of rows would need another loop.
// CHECK-LABEL: func.func @sum_of_rows
// CHECK-COUNT-2: graph.fused
// REMARK: {{a kernel with a contraction folds nothing else|keep different axes}}
func.func @sum_of_rows(%x: tensor<64x32xf32>, %v: tensor<32x48xf32>) -> tensor<64xf32> {
  %g = graph.contract %x by #rows, %v by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %s = graph.reduce add %g axes [1] : tensor<64x48xf32> -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#heads = affine_map<(m, d) -> (d floordiv 16, m, d mod 16)>
#values = affine_map<(h, m, n, k) -> (h, k, n)>
#scores = affine_map<(h, m, n, k) -> (h, m, k)>

// A contraction goes along one loop, so what heads computed is stored as the
// rows that it sums over.
// CHECK-LABEL: func.func @heads
// CHECK:         graph.fused @contract_16x64
// CHECK:           graph.contract
// CHECK:           graph.index_map
// CHECK:           graph.map
// CHECK:           graph.yield {{.*}} : tensor<64x32xf32>
// CHECK:         graph.fused @contract_48x32
// CHECK-NEXT:      graph.contract
func.func @heads(%p: tensor<2x64x64xf32>, %v: tensor<2x64x16xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %o = graph.contract %p by #scores, %v by #values : (tensor<2x64x64xf32>, tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  %r = graph.index_map %o by #heads : tensor<2x64x16xf32> -> tensor<64x32xf32>
  %u = graph.contract %r by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %u : tensor<64x48xf32>
}
