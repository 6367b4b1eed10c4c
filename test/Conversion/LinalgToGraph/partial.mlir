// RUN: deplo-opt %s --pass-pipeline='builtin.module(func.func(deplo-linalg-to-graph{partial}))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-linalg-to-graph 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// A function is converted as a whole or not at all, with the reason.
// CHECK-LABEL: func.func @all
// CHECK:         graph.map
// CHECK-NOT:     math.exp %{{.*}} : tensor
func.func @all(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @none
// CHECK-NEXT:    arith.addi %{{.*}} : tensor<4x4xi32>
// CHECK-NEXT:    linalg.matmul
// REMARK: LeftAsItIs | Category:deplo-linalg-to-graph | Function=none
// REMARK-SAME: 'linalg.matmul' op is a contraction
func.func @none(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %0 = arith.addi %x, %x : tensor<4x4xi32>
  %1 = linalg.matmul ins(%0, %0 : tensor<4x4xi32>, tensor<4x4xi32>) outs(%0 : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %1 : tensor<4x4xi32>
}
