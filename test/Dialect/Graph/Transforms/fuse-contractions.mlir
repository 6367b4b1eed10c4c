// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical --deplo-fuse-horizontal | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical=precision=ieee --deplo-fuse-horizontal | FileCheck %s --check-prefix=IEEE
// RUN: not deplo-opt %s --split-input-file --deplo-attach-target --deplo-fuse-vertical=precision=f64 -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
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

// A map of an operand that few blocks share is computed where they stage it.
// CHECK-LABEL: func.func @scaled_operand
// CHECK-NEXT:    graph.fused @contract
// CHECK:           graph.map
// CHECK:           graph.contract
// CHECK-NOT:     graph.fused
// REMARK: map and contract in @{{.*}}: {{[0-9]+}} bytes instead of
func.func @scaled_operand(%x: tensor<64x512xf16>, %q: tensor<512x96xi8>, %s: tensor<96xf16>) -> tensor<64x96xf16> {
  %b = graph.index_map %s by affine_map<(k, n) -> (n)> : tensor<96xf16> -> tensor<512x96xf16>
  %w = graph.map (%a = %q : tensor<512x96xi8>, %c = %b : tensor<512x96xf16>) -> tensor<512x96xf16> {
    %0 = arith.sitofp %a : i8 to f16
    %1 = arith.mulf %0, %c : f16
    graph.yield %1 : f16
  }
  %y = graph.contract %x by #rows, %w by #columns : (tensor<64x512xf16>, tensor<512x96xf16>) -> tensor<64x96xf16>
  return %y : tensor<64x96xf16>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// One that takes many operations, and that many blocks would compute, is
// stored.
// CHECK-LABEL: func.func @dear_operand
// CHECK-COUNT-2: graph.fused
// REMARK: it doesn't pay: {{.*}} more operations
func.func @dear_operand(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %e = graph.map (%a = %x : tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
    %0 = math.tanh %a : f16
    graph.yield %0 : f16
  }
  %y = graph.contract %e by #rows, %w by #columns : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %y : tensor<4096x4096xf16>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// An operand that two contractions of one kernel share is computed once there.
// CHECK-LABEL: func.func @shared_operand
// CHECK-NEXT:    graph.fused @contract
// CHECK-COUNT-2:   graph.contract
// CHECK-NOT:     graph.fused
func.func @shared_operand(%x: tensor<64x32xf32>, %v: tensor<32x48xbf16>, %w: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
  %n = graph.map (%a = %x : tensor<64x32xf32>) -> tensor<64x32xbf16> {
    %0 = arith.truncf %a : f32 to bf16
    graph.yield %0 : bf16
  }
  %g = graph.contract %n by #rows, %v by #columns : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %u = graph.contract %n by #rows, %w by #columns : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %p = graph.map (%a = %g : tensor<64x48xbf16>, %b = %u : tensor<64x48xbf16>) -> tensor<64x48xbf16> {
    %0 = arith.mulf %a, %b : bf16
    graph.yield %0 : bf16
  }
  return %p : tensor<64x48xbf16>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>

// An operand made of coordinates is no map of elements.
// CHECK-LABEL: func.func @operand_of_coordinates
// CHECK-COUNT-2: graph.fused
// REMARK: would be computed again for every tile of the result
func.func @operand_of_coordinates(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %e = graph.map (%a = %x : tensor<64x32xf32>) -> tensor<64x32xf32> {
    %i = graph.index 1 : i32
    %0 = arith.sitofp %i : i32 to f32
    %1 = arith.mulf %a, %0 : f32
    graph.yield %1 : f32
  }
  %y = graph.contract %e by #rows, %w by #columns : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
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

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (n, k)>

// UNKNOWN: schedule: precision is 'f64', expected ieee, f32, f32-fast or tf32

// Pieces of an operand are made of what is in memory: multiply-adds alone take
// one that is computed on the way.
// CHECK-LABEL: func.func @operand_in_pieces
// CHECK-COUNT-2: graph.fused
// IEEE-LABEL: func.func @operand_in_pieces
// IEEE:         graph.fused
// IEEE-NOT:     graph.fused
// REMARK: [Missed] KeptApart {{.*}}map (@map_2048) and contract (@contract_2048x2048): it doesn't pay
func.func @operand_in_pieces(%x: tensor<512x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<512x2048xf32> {
  %e = graph.map (%a = %x : tensor<512x2048xf32>) -> tensor<512x2048xf32> {
    %0 = arith.mulf %a, %a : f32
    graph.yield %0 : f32
  }
  %y = graph.contract %e by #rows, %w by #columns : (tensor<512x2048xf32>, tensor<2048x2048xf32>) -> tensor<512x2048xf32>
  return %y : tensor<512x2048xf32>
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (n, k)>

// Sums of few products are multiply-adds anyway.
// IEEE-LABEL: func.func @short_sums
// CHECK-LABEL: func.func @short_sums
// CHECK:         graph.fused
// CHECK-NOT:     graph.fused
func.func @short_sums(%x: tensor<512x128xf32>, %w: tensor<2048x128xf32>) -> tensor<512x2048xf32> {
  %e = graph.map (%a = %x : tensor<512x128xf32>) -> tensor<512x128xf32> {
    %0 = arith.mulf %a, %a : f32
    graph.yield %0 : f32
  }
  %y = graph.contract %e by #rows, %w by #columns : (tensor<512x128xf32>, tensor<2048x128xf32>) -> tensor<512x2048xf32>
  return %y : tensor<512x2048xf32>
}
