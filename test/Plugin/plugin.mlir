// RUN: mlir-opt --load-dialect-plugin=%deplo_plugin --load-pass-plugin=%deplo_plugin %s --pass-pipeline='builtin.module(deplo-compile{target=sm_80})' | FileCheck %s --check-prefix=PTX
// RUN: mlir-opt --load-dialect-plugin=%deplo_plugin --load-pass-plugin=%deplo_plugin %s --pass-pipeline='builtin.module(func.func(deplo-decompose,cse))' | FileCheck %s --check-prefix=TENSOR
// RUN: mlir-opt --load-dialect-plugin=%deplo_plugin --load-pass-plugin=%deplo_plugin %s --pass-pipeline='builtin.module(deplo-graph-pipeline,deplo-loop-pipeline,deplo-tile-pipeline)' --mlir-print-op-generic | FileCheck %s --check-prefix=TILE
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT
// REQUIRES: plugin

// A stock mlir-opt reads every dialect of deplo, runs single passes among its
// own, and the pipelines.
// PTX: gpu.binary @kernels
// PTX-SAME: .target sm_80
// TENSOR: graph.reduce
// TILE: "tile.kernel"
// WITHOUT: Dialect `graph' not found
func.func @main(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %0 = graph.softmax %x axis 1 : tensor<64x1000xf32>
  return %0 : tensor<64x1000xf32>
}
