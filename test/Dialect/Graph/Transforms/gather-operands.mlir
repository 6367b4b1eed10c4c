// RUN: deplo-opt %s --split-input-file --deplo-gather-operands --canonicalize | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-gather-operands --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-gather-operands -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Half of a rotary embedding: the negation is of what is gathered.
// CHECK-LABEL: @rotate_half
// CHECK-NOT:     graph.map
// CHECK-DAG:     %[[G:.+]] = graph.gather %arg0 by #{{.*}} where #{{.*}} : (tensor<4x8xf32>)
// CHECK-DAG:     %[[P:.+]] = graph.gather %{{.*}}, %{{.*}} else false : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x8xi1>
// CHECK-DAG:     %[[Z:.+]] = graph.gather %arg0 by #{{.*}} where #{{.*}} else 0.000000e+00 : f32 : (tensor<4x8xf32>)
// CHECK:         graph.map (%a = %[[G]] : tensor<4x8xf32>, %b = %[[P]] : tensor<4x8xi1>, %c = %[[Z]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[N:.+]] = arith.negf %a
// CHECK-NEXT:      %[[S:.+]] = arith.select %b, %[[N]], %c
// CHECK-NEXT:      graph.yield %[[S]]
// REMARK: [Passed] GatherOperands | Category:deplo-gather-operands | Function=rotate_half | Remark="1 maps are computed on what is gathered"
func.func @rotate_half(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = graph.index_map %x by affine_map<(d0, d1) -> (d0, d1)> : tensor<4x8xf32> -> tensor<4x4xf32>
  %high = graph.index_map %x by affine_map<(d0, d1) -> (d0, d1 + 4)> : tensor<4x8xf32> -> tensor<4x4xf32>
  %n = graph.map (%a = %high : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = arith.negf %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %n by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d1)>, %low by affine_map<(d0, d1) -> (d0, d1 - 4)> where affine_map<(d0, d1) -> (d1 - 4)> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// What is always read needs no selection.
// CHECK-LABEL: @reversed
// CHECK-NEXT:    %[[G:.+]] = graph.gather %arg0
// CHECK-NEXT:    graph.map (%a = %[[G]] : tensor<8xf32>)
// CHECK-NOT:       arith.select
func.func @reversed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %n = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %n by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// Left alone: a map that others read too, one that uses coordinates, and one
// that would be computed more often.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-3: graph.map
// CHECK-COUNT-3: graph.gather
// REMARK: [Missed] GatherOperands | Category:deplo-gather-operands | Function=left_alone | Remark="no gather reads what only it needs of a map"
func.func @left_alone(%x: tensor<8xf32>, %n: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<100xf32>) {
  %e = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %i = graph.map (%a = %n : tensor<8xi64>) -> tensor<8xi64> {
    %0 = graph.index 0 : i64
    %1 = arith.addi %a, %0 : i64
    graph.yield %1 : i64
  }
  %f = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.sin %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %e by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  %d = graph.gather %i by affine_map<(d0) -> (7 - d0)> : (tensor<8xi64>) -> tensor<8xi64>
  %g = graph.gather %f by affine_map<(d0) -> (7 - d0 mod 8)> : (tensor<8xf32>) -> tensor<100xf32>
  return %e, %c, %d, %g : tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<100xf32>
}
