// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMSNorm as another MLIR compiler may have it: linalg on tensors. To PTX:
//   deplo compile examples/ir/rms-norm-linalg.mlir --ir ptx

#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<512x2048xf32>, %w: tensor<2048xf32>) -> tensor<512x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 2048.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %row = tensor.empty() : tensor<512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<512xf32>) -> tensor<512xf32>
  %squares = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x2048xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %square = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<512xf32>
  %e = tensor.empty() : tensor<512x2048xf32>
  %y = linalg.generic {indexing_maps = [#all, #rows, #columns, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %w : tensor<512x2048xf32>, tensor<512xf32>, tensor<2048xf32>)
      outs(%e : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %sum: f32, %weight: f32, %out: f32):
    %mean = arith.divf %sum, %n : f32
    %shifted = arith.addf %mean, %eps : f32
    %scale = math.rsqrt %shifted : f32
    %scaled = arith.mulf %a, %scale : f32
    %result = arith.mulf %scaled, %weight : f32
    linalg.yield %result : f32
  } -> tensor<512x2048xf32>
  return %y : tensor<512x2048xf32>
}
