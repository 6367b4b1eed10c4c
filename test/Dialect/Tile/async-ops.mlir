// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What units beside the threads do reads back as it was printed.

// RUN: deplo-opt %s | FileCheck %s
// RUN: deplo-opt %s | deplo-opt | FileCheck %s
// RUN: deplo-opt %s --mlir-print-op-generic | deplo-opt | FileCheck %s
// RUN: deplo-opt %s --emit-bytecode | deplo-opt | FileCheck %s

!a = !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>
!b = !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>

// CHECK-LABEL: tile.kernel @mm
// CHECK:         %[[FULL:.+]] = tile.mbarriers arrivals 2 : !tile.mbarriers<4>
// CHECK:         tile.producer registers [40, 232] {
// CHECK:           tile.mbarrier_wait %{{.+}}[%c0] phase %c0 : !tile.mbarriers<4>
// CHECK:           tile.tma_copy %{{[a-z0-9]+}}[%{{.+}}, %c0] to %[[A:.+]] on %[[FULL]][%c0] : memref<512x512xbf16>, !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.mbarriers<4>
// CHECK:           tile.tma_copy %{{[a-z0-9]+}}[%{{.+}}, %c0] to %[[B:.+]] on %[[FULL]][%c0] dims [0, 1] bounds [512, 500] :
// CHECK:         }
// CHECK:         %[[D:.+]], %[[T:.+]] = tile.async_dot %[[A]] dims [0, 2], %[[B]] dims [1, 2], %{{.+}} atom<wgmma, warps = [8, 1]> : !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.buffer<64x64xbf16, #tile.shared<swizzle = 128>>, tensor<128x64xf32>
// CHECK:         tile.await %[[T]]
// CHECK:         tile.mbarrier_arrive %{{.+}}[%c0] : !tile.mbarriers<4>
tile.kernel @mm(%x: memref<512x512xbf16>, %w: memref<512x512xbf16>, %y: memref<512x512xf32>) axes(%i = 512 step 128 grid, %j = 512 step 64 grid) warps(8) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<128x64xf32>
  %a = tile.alloc : !a
  %b = tile.alloc : !b
  %full = tile.mbarriers arrivals 2 : !tile.mbarriers<4>
  %empty = tile.mbarriers arrivals 8 : !tile.mbarriers<4>
  tile.producer registers [40, 232] {
    tile.mbarrier_wait %empty[%c0] phase %c0 : !tile.mbarriers<4>
    tile.tma_copy %x[%i, %c0] to %a on %full[%c0] : memref<512x512xbf16>, !a, !tile.mbarriers<4>
    tile.tma_copy %w[%j, %c0] to %b on %full[%c0] dims [0, 1] bounds [512, 500] : memref<512x512xbf16>, !b, !tile.mbarriers<4>
  }
  tile.mbarrier_wait %full[%c0] phase %c0 : !tile.mbarriers<4>
  %d, %t = tile.async_dot %a dims [0, 2], %b dims [1, 2], %zeros atom<wgmma, warps = [8, 1]> : !a, !b, tensor<128x64xf32>
  tile.await %t
  tile.mbarrier_arrive %empty[%c0] : !tile.mbarriers<4>
  tile.store %d, %y[%i, %j] : tensor<128x64xf32>, memref<512x512xf32>
}

!stage = !tile.buffer<2x4x16x64xbf16, #tile.shared<swizzle = 128>>

// CHECK-LABEL: tile.kernel @tiles
// CHECK:         tile.producer registers [40, 232] {
// CHECK:           tile.each_tile blocks 132 (%[[I:.+]], %[[J:.+]]) number %[[N:.+]] {
// CHECK:             tile.tma_copy %{{[a-z0-9]+}}[%[[I]], %[[J]]] to %{{.+}} on %{{.+}}[%[[N]]]
// CHECK:         tile.each_tile blocks 132 (%[[I:.+]], %[[J:.+]]) number %{{.+}} {
// CHECK:           tile.tma_store %{{.+}}, %{{[a-z0-9]+}}[%[[I]], %[[J]]] by %{{.+}} bounds [4090, 4096] : tensor<64x256xbf16>, memref<4096x4096xbf16>, !tile.buffer<2x4x16x64xbf16, #tile.shared<swizzle = 128>>
tile.kernel @tiles(%x: memref<4096x4096xbf16>, %y: memref<4096x4096xbf16>) axes(%i = 4096 step 64 grid, %j = 4096 step 256 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x256xbf16>
  %b = tile.alloc : !b
  %stage = tile.alloc : !stage
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<4>
  tile.producer registers [40, 232] {
    tile.each_tile blocks 132 (%u, %v) number %n {
      tile.tma_copy %x[%u, %v] to %b on %full[%n] : memref<4096x4096xbf16>, !b, !tile.mbarriers<4>
    }
  }
  tile.each_tile blocks 132 (%u, %v) number %n {
    tile.tma_store %zeros, %y[%u, %v] by %stage bounds [4090, 4096] : tensor<64x256xbf16>, memref<4096x4096xbf16>, !stage
  }
}

// CHECK-LABEL: tile.kernel @mm_of_pieces
// CHECK:         %[[D:.+]], %[[T:.+]], %[[R:.+]] = tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [1, 2], %[[Z:.+]] rest %[[Z]] atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, tensor<64x64xf32>
// CHECK:         arith.addf %[[D]], %[[R]]
tile.kernel @mm_of_pieces(%y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>
  %b = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>
  %d, %t, %r = tile.async_dot %a dims [0, 2], %b dims [1, 2], %zeros rest %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, tensor<64x64xf32>
  tile.await %t
  %s = arith.addf %d, %r : tensor<64x64xf32>
  tile.store %s, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}

// CHECK: module attributes {test.map = #tile.tensor_map<argument = 0, offset = 32, element_bytes = 2, extents = [512, 500], strides = [1024], box = [64, 128], swizzle = 128>}
module attributes {test.map = #tile.tensor_map<argument = 0, offset = 32, element_bytes = 2, extents = [512, 500], strides = [1024], box = [64, 128], swizzle = 128>} {}

// CHECK-LABEL: tile.kernel @mm_of_a_whole_operand
// CHECK:         tile.async_dot %{{.+}} dims [0, 2], %{{.+}} dims [1, 2], %{{.+}} rest %{{.+}} atom<wgmma, warps = [4, 1]> : !tile.buffer<64x32xf32, #tile.shared<swizzle = 128>>, !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, tensor<64x64xf32>
tile.kernel @mm_of_a_whole_operand(%y: memref<64x64xf32>) axes(%i = 64 step 64 grid, %j = 64 step 64 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x32xf32, #tile.shared<swizzle = 128>>
  %b = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>
  %d, %t, %r = tile.async_dot %a dims [0, 2], %b dims [1, 2], %zeros rest %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x32xf32, #tile.shared<swizzle = 128>>, !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, tensor<64x64xf32>
  tile.await %t
  %s = arith.addf %d, %r : tensor<64x64xf32>
  tile.store %s, %y[%i, %j] : tensor<64x64xf32>, memref<64x64xf32>
}
