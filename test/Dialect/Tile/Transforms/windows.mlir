// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(deplo-tileify,canonicalize,cse,tile.kernel(deplo-chunk-matmul-k{chunk=16},canonicalize,cse))' | FileCheck %s --check-prefix=CHUNK
// RUN: deplo-opt %s --deplo-attach-target --deplo-tile-pipeline="schedule=block=16x64,warp_tile=16x16,chunk=16,stages=3" --remark-policy=all --remark-format=emitRemark --remarks-filter='deplo-(compute-ahead|prefetch-fragments|stage-inputs)' 2>&1 | FileCheck %s --check-prefix=AHEAD

// A convolution of 3x3 windows: where they are in memory is computed for each
// element of a chunk, a part of it along the sum, and the rest, before the loop,
// along the rows. The last chunk has four elements, and gathers no others.
// CHUNK-LABEL: tile.kernel @windows
// CHUNK-DAG:     %[[C9:.+]] = arith.constant dense<9> : tensor<16xi32>
// CHUNK:         %[[N:.+]] = tile.iota %j : tensor<120xi32>
// CHUNK:         arith.divui %[[N]], %{{.+}} : tensor<120xi32>
// CHUNK:         arith.remui %[[N]], %{{.+}} : tensor<120xi32>
// CHUNK:         scf.for %[[K:.+]] = %c0 to %c48 step %c16
// CHUNK-NEXT:      %[[M:.+]] = tile.iota %[[K]] : tensor<16xi32>
// CHUNK-NEXT:      arith.divui %[[M]], %[[C9]] : tensor<16xi32>
// CHUNK-NOT:       arith.muli {{.*}} : tensor<16x120xi32>
// CHUNK:           %[[PLACE:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<16x120xi32>
// CHUNK-COUNT-2:   arith.cmpi ule, %{{.+}}, %{{.+}} : tensor<16x120xi32>
// CHUNK:           tile.in_bounds[%[[K]]] bounds [36] : tensor<16xi1>
// CHUNK:           %[[A:.+]] = tile.gather %x[%[[PLACE]]] mask %{{.+}} else
// CHUNK:           %[[B:.+]] = tile.load %w[%i, %[[K]]] bounds [16, 36]
// CHUNK:           tile.dot

// The gather of the next chunk starts before the products of this one, and is
// written behind them, before the only barrier of an iteration.
// AHEAD: [Passed] StageInputs {{.*}}1 operand is computed of them
// AHEAD: [Passed] ComputeAhead {{.*}}operands are gathered and computed a chunk ahead
// AHEAD-LABEL: tile.kernel @windows
// AHEAD:         tile.gather
// AHEAD:         tile.write
// AHEAD:         scf.for
// AHEAD:           tile.await
// AHEAD-NEXT:      tile.barrier
// AHEAD:           tile.async_copy %w
// AHEAD:           %[[NEXT:.+]] = tile.gather %x
// AHEAD:           tile.dot
// AHEAD:           tile.write %[[NEXT]]
// AHEAD-NOT:       tile.barrier
// AHEAD:           scf.yield
loop.kernel @windows(%x: memref<4x10x12xbf16>, %w: memref<16x36xbf16>, %y: memref<16x120xbf16>) {
  %c-1_i32 = arith.constant -1 : i32
  %c3_i32 = arith.constant 3 : i32
  %c9_i32 = arith.constant 9 : i32
  %c11_i32 = arith.constant 11 : i32
  %c12_i32 = arith.constant 12 : i32
  %zero = arith.constant 0.0 : bf16
  loop.for %i = 0 to 16 {
    loop.for %j = 0 to 120 {
      %s = loop.reduce add %k = 0 to 36 : f32 {
        %m = arith.index_cast %k : index to i32
        %n = arith.index_cast %j : index to i32
        %m3 = arith.divui %m, %c3_i32 : i32
        %u = arith.remui %m3, %c3_i32 : i32
        %r = arith.divui %n, %c12_i32 : i32
        %ur = arith.addi %u, %r : i32
        %row = arith.addi %ur, %c-1_i32 : i32
        %inRow = arith.cmpi ule, %row, %c9_i32 : i32
        %v = arith.remui %m, %c3_i32 : i32
        %q = arith.remui %n, %c12_i32 : i32
        %vq = arith.addi %v, %q : i32
        %column = arith.addi %vq, %c-1_i32 : i32
        %inColumn = arith.cmpi ule, %column, %c11_i32 : i32
        %inside = arith.andi %inRow, %inColumn : i1
        %a = loop.load %x[%k floordiv 9, (%k floordiv 3) mod 3 + %j floordiv 12 - 1, %k mod 3 + %j mod 12 - 1] if %inside else %zero : memref<4x10x12xbf16>
        %b = loop.load %w[%i, %k] : memref<16x36xbf16>
        %wideA = arith.extf %a : bf16 to f32
        %wideB = arith.extf %b : bf16 to f32
        %p = arith.mulf %wideA, %wideB fastmath<contract> : f32
        loop.yield %p : f32
      }
      %t = arith.truncf %s : f32 to bf16
      loop.store %t, %y[%i, %j] : memref<16x120xbf16>
    }
  }
}
