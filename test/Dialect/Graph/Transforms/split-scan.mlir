// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-attach-target=chip=sm_90a --deplo-split-scan --mlir-print-local-scope | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target=chip=sm_90a --deplo-split-scan=parts=4 --mlir-print-local-scope | FileCheck %s --check-prefix=FOUR
// RUN: deplo-opt %s --split-input-file --deplo-attach-target=chip=sm_90a --deplo-split-scan --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-split-scan -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// One long row: parts of it keep the multiprocessors busy.
// REMARK: Passed{{.*}}1048576 elements in 256 parts of 4096
// CHECK-LABEL: func.func @row
// CHECK-SAME:    (%[[X:.*]]: tensor<1048576xf32>)
// CHECK:         %[[P:.*]] = graph.index_map %[[X]] by affine_map<(d0, d1) -> (d0 * 4096 + d1)> : tensor<1048576xf32> -> tensor<256x4096xf32>
// CHECK:         %[[T:.*]] = graph.reduce add %[[P]] axes [1]
// CHECK:         %[[S:.*]] = graph.scan add %[[T]] axis 0
// CHECK:         %[[B:.*]] = graph.gather %[[S]] by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1)> else 0.000000e+00 : f32
// CHECK:         %[[E:.*]] = graph.index_map %[[B]] by affine_map<(d0, d1) -> (d0)>
// CHECK:         %[[W:.*]] = graph.scan add %[[P]] axis 1
// CHECK:         %[[Y:.*]] = graph.map (%a = %[[E]] : tensor<256x4096xf32>, %b = %[[W]] : tensor<256x4096xf32>)
// CHECK:         graph.index_map %[[Y]] by affine_map<(d0) -> (d0 floordiv 4096, d0 mod 4096)>
func.func @row(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = graph.scan add %x axis 0 : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}

// -----

// No number of parts divides a prime: the last part ends with identities.
// FOUR-LABEL: func.func @prime
// FOUR:         %[[P:.*]] = graph.gather %{{.*}} by affine_map<(d0, d1) -> (d0 * 32 + d1)> where affine_map<(d0, d1) -> (-(d0 * 32 + d1) + 100)> else 1 : i64 : (tensor<101xi64>) -> tensor<4x32xi64>
// FOUR:         graph.scan mul %[[P]] axis 1
// FOUR:         graph.index_map %{{.*}} by affine_map<(d0) -> (d0 floordiv 32, d0 mod 32)> : tensor<4x32xi64> -> tensor<101xi64>
func.func @prime(%x: tensor<101xi64>) -> tensor<101xi64> {
  %0 = graph.scan mul %x axis 0 : tensor<101xi64>
  return %0 : tensor<101xi64>
}

// -----

// Narrow floats are folded in f32 and rounded once, along any axis.
// FOUR-LABEL: func.func @narrow
// FOUR:         graph.map (%a = %{{.*}} : tensor<3x4x16x5xbf16>) -> tensor<3x4x16x5xf32>
// FOUR:         graph.reduce max %{{.*}} axes [2] : tensor<3x4x16x5xf32> -> tensor<3x4x5xf32>
// FOUR:         graph.gather %{{.*}} by affine_map<(d0, d1, d2) -> (d0, d1 - 1, d2)> where affine_map<(d0, d1, d2) -> (d1 - 1)> else 0xFF800000 : f32
// FOUR:         graph.map {{.*}} -> tensor<3x64x5xbf16>
func.func @narrow(%x: tensor<3x64x5xbf16>) -> tensor<3x64x5xbf16> {
  %0 = graph.scan max %x axis 1 : tensor<3x64x5xbf16>
  return %0 : tensor<3x64x5xbf16>
}

// -----

// Many rows stay whole.
// REMARK: Missed{{.*}}8192 blocks keep 132 multiprocessors busy
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    graph.scan add %{{.*}} axis 1 : tensor<8192x32768xf32>
func.func @rows(%x: tensor<8192x32768xf32>) -> tensor<8192x32768xf32> {
  %0 = graph.scan add %x axis 1 : tensor<8192x32768xf32>
  return %0 : tensor<8192x32768xf32>
}

// -----

// So do short ones.
// REMARK: Missed{{.*}}rows of 1000 elements are short
// CHECK-LABEL: func.func @short
// CHECK-NEXT:    graph.scan add %{{.*}} axis 0 : tensor<1000xf32>
func.func @short(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = graph.scan add %x axis 0 : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
