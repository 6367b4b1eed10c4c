// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax over rows, as the importer gives it. To PTX:
//   deplo compile examples/ir/softmax-graph.mlir --ir ptx

module {
  func.func @main(%arg0: tensor<64x1000xf32> {graph.name = "x"}) -> tensor<64x1000xf32> {
    %0 = graph.softmax %arg0 axis 1 : tensor<64x1000xf32>
    return %0 : tensor<64x1000xf32>
  }
}
