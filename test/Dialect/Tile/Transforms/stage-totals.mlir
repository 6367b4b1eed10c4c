// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-totals{terms=64}))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-totals{terms=64}))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-stage-totals -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not deplo-opt %s --pass-pipeline='builtin.module(deplo-attach-target,tile.kernel(deplo-stage-totals{terms=0}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=ZERO

// ZERO: error: 'tile.kernel' op can't have terms=0, expected a positive number

#acc = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 4], [0, 8], [0, 16]], warp = []>
#lhs = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 0], [0, 0], [0, 0]], warp = []>
#rhs = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = []>

// Sixteen chunks of four at a time are added to the totals.
// CHECK-LABEL: tile.kernel @two_levels
// CHECK:         %[[TOTALS:.+]] = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
// CHECK-NEXT:    tile.write %[[ZEROS:[^,]+]], %[[TOTALS]][{{.+}}]
// CHECK:         scf.for %[[O:.+]] = %c0 to %c4096 step %c64
// CHECK-NEXT:      %[[N:.+]] = arith.addi %[[O]], %c64
// CHECK-NEXT:      %[[END:.+]] = arith.minui %[[N]], %c4096
// CHECK-NEXT:      %[[PART:.+]] = scf.for %[[K:.+]] = %[[O]] to %[[END]] step %c4 iter_args(%[[ACC:.+]] = %[[ZEROS]])
// CHECK:             %[[D:.+]] = tile.dot {{.*}}, %[[ACC]] :
// CHECK-NEXT:        scf.yield %[[D]]
// CHECK:           %[[T:.+]] = tile.read %[[TOTALS]][{{.+}}]
// CHECK-NEXT:      %[[U:.+]] = arith.addf %[[T]], %[[PART]]
// CHECK-NEXT:      tile.write %[[U]], %[[TOTALS]][{{.+}}]
// CHECK:         %[[S:.+]] = tile.read %[[TOTALS]][{{.+}}]
// CHECK-NEXT:    tile.store %[[S]]
// REMARK: StageTotals | Category:deplo-stage-totals | Function=two_levels
// REMARK-SAME: totals of 4096 bytes wait in shared memory, 16 chunks at a time are added to them
tile.kernel @two_levels(%x: memref<32x4096xf32>, %w: memref<4096x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  %s = scf.for %k = %c0 to %c4096 step %c4 iter_args(%total = %zeros) -> (tensor<32x32xf32, #acc>) {
    %a = tile.load %x[%c0, %k] : memref<32x4096xf32> -> tensor<32x4xf32, #lhs>
    %b = tile.load %w[%k, %c0] : memref<4096x32xf32> -> tensor<4x32xf32, #rhs>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x4xf32, #lhs>, tensor<4x32xf32, #rhs>, tensor<32x32xf32, #acc>
    %t = arith.addf %total, %d : tensor<32x32xf32, #acc>
    scf.yield %t : tensor<32x32xf32, #acc>
  }
  tile.store %s, %y[%c0, %c0] : tensor<32x32xf32, #acc>, memref<32x32xf32>
}

// A sum of one level has no totals.
// CHECK-LABEL: tile.kernel @one_level
// CHECK-NOT:     tile.alloc
// REMARK: StageTotals | Category:deplo-stage-totals | Function=one_level
// REMARK-SAME: no sum has two levels
tile.kernel @one_level(%x: memref<32x512xf32>, %w: memref<512x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  %s = scf.for %k = %c0 to %c512 step %c4 iter_args(%acc = %zeros) -> (tensor<32x32xf32, #acc>) {
    %a = tile.load %x[%c0, %k] : memref<32x512xf32> -> tensor<32x4xf32, #lhs>
    %b = tile.load %w[%k, %c0] : memref<512x32xf32> -> tensor<4x32xf32, #rhs>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<32x4xf32, #lhs>, tensor<4x32xf32, #rhs>, tensor<32x32xf32, #acc>
    scf.yield %d : tensor<32x32xf32, #acc>
  }
  tile.store %s, %y[%c0, %c0] : tensor<32x32xf32, #acc>, memref<32x32xf32>
}

#acc2 = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 4], [0, 8], [0, 16]], warp = [[0, 0]]>
#lhs2 = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0]]>
#rhs2 = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = [[0, 0]]>

// Two warps would add to the same totals.
// CHECK-LABEL: tile.kernel @replicated
// CHECK-NOT:     tile.alloc
// REMARK: StageTotals | Category:deplo-stage-totals | Function=replicated
// REMARK-SAME: totals stay in registers: several threads have each
tile.kernel @replicated(%x: memref<32x4096xf32>, %w: memref<4096x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc2>
  %s = scf.for %k = %c0 to %c4096 step %c4 iter_args(%total = %zeros) -> (tensor<32x32xf32, #acc2>) {
    %a = tile.load %x[%c0, %k] : memref<32x4096xf32> -> tensor<32x4xf32, #lhs2>
    %b = tile.load %w[%k, %c0] : memref<4096x32xf32> -> tensor<4x32xf32, #rhs2>
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x4xf32, #lhs2>, tensor<4x32xf32, #rhs2>, tensor<32x32xf32, #acc2>
    %t = arith.addf %total, %d : tensor<32x32xf32, #acc2>
    scf.yield %t : tensor<32x32xf32, #acc2>
  }
  tile.store %s, %y[%c0, %c0] : tensor<32x32xf32, #acc2>, memref<32x32xf32>
}
