// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-matmul-k{chunk=16}))' --split-input-file | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-chunk-matmul-k{chunk=16}))' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-chunk-matmul-k 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The sum goes over chunks; what is beyond 500 is masked in both operands.
// CHECK-LABEL: tile.kernel @nn
// CHECK:         %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// CHECK:         %[[SUM:.+]] = scf.for %[[K:.+]] = %c0 to %c512 step %c16 iter_args(%[[ACC:.+]] = %[[ZEROS]])
// CHECK-NEXT:      %[[A:.+]] = tile.load %{{.+}}[%i, %[[K]]] bounds [64, 500] : memref<64x500xf32> -> tensor<64x16xf32>
// CHECK-NEXT:      %[[B:.+]] = tile.load %{{.+}}[%[[K]], %j] bounds [500, 32] : memref<500x32xf32> -> tensor<16x32xf32>
// CHECK-NEXT:      %[[D:.+]] = tile.dot %[[A]] dims [0, 2], %[[B]] dims [2, 1], %[[ACC]]
// CHECK-NEXT:      scf.yield %[[D]]
// CHECK:         tile.store %[[SUM]]
// REMARK: ChunkMatmulK | Category:deplo-chunk-matmul-k | Function=nn
// REMARK-SAME: 1 sums of products go over chunks of 16
tile.kernel @nn(%x: memref<64x500xf32>, %w: memref<500x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s = loop.reduce add %k = 0 to 500 : tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x500xf32> -> tensor<64xf32>
    %b = tile.load %w[%k, %j] : memref<500x32xf32> -> tensor<32xf32>
    %c = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// A factor that is computed is computed chunk by chunk: what doesn't vary along
// the sum before the loop. Beyond 500 it is zero, whatever is computed of zeros.
// CHECK-LABEL: tile.kernel @computed
// CHECK-DAG:     %[[S:.+]] = tile.load %s[%i] : memref<64xf32> -> tensor<64xf32>
// CHECK:         scf.for %[[K:.+]] = %c0 to %c512 step %c16
// CHECK-NEXT:      %[[A:.+]] = tile.load %x[%i, %[[K]]] bounds [64, 500] : memref<64x500xf32> -> tensor<64x16xf32>
// CHECK-NEXT:      %[[R:.+]] = tile.broadcast %[[S]] dims [0] : tensor<64xf32> -> tensor<64x16xf32>
// CHECK-NEXT:      %[[M:.+]] = arith.mulf %[[A]], %[[R]]
// CHECK-NEXT:      %[[G:.+]] = tile.load %g[%[[K]]] bounds [500] : memref<500xf32> -> tensor<16xf32>
// CHECK-NEXT:      %[[H:.+]] = tile.broadcast %[[G]] dims [1] : tensor<16xf32> -> tensor<64x16xf32>
// CHECK-NEXT:      %[[E:.+]] = arith.addf %[[M]], %[[H]]
// CHECK-NEXT:      %[[IN:.+]] = tile.in_bounds[%[[K]]] bounds [500] : tensor<16xi1>
// CHECK:           %[[MASK:.+]] = tile.broadcast %[[IN]] dims [1]
// CHECK:           %[[F:.+]] = arith.select %[[MASK]], %[[E]], %{{.+}} : tensor<64x16xi1>, tensor<64x16xf32>
// CHECK:           %[[B:.+]] = tile.load %w
// CHECK:           tile.dot %[[F]] dims [0, 2], %[[B]] dims [2, 1]
tile.kernel @computed(%x: memref<64x500xf32>, %s: memref<64xf32>, %g: memref<500xf32>, %w: memref<500x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %sum = loop.reduce add %k = 0 to 500 : tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x500xf32> -> tensor<64xf32>
    %r = tile.load %s[%i] : memref<64xf32> -> tensor<64xf32>
    %m = arith.mulf %a, %r : tensor<64xf32>
    %v = tile.load %g[%k] : memref<500xf32> -> tensor<f32>
    %h = tile.broadcast %v dims [] : tensor<f32> -> tensor<64xf32>
    %e = arith.addf %m, %h : tensor<64xf32>
    %b = tile.load %w[%k, %j] : memref<500x32xf32> -> tensor<32xf32>
    %c = tile.broadcast %e dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %sum, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// Factors of two types are multiplied in the wider one: the narrower is
// widened once for each chunk, not for each product.
// CHECK-LABEL: tile.kernel @two_types
// CHECK:           %[[A:.+]] = tile.load %x{{.*}} -> tensor<64x16xf32>
// CHECK:           %[[N:.+]] = tile.load %w{{.*}} -> tensor<16x32xbf16>
// CHECK-NEXT:      %[[B:.+]] = arith.extf %[[N]] : tensor<16x32xbf16> to tensor<16x32xf32>
// CHECK-NEXT:      tile.dot %[[A]] dims [0, 2], %[[B]] dims [2, 1]
tile.kernel @two_types(%x: memref<64x512xf32>, %w: memref<512x32xbf16>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s = loop.reduce add %k = 0 to 512 : tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x512xf32> -> tensor<64xf32>
    %b = tile.load %w[%k, %j] : memref<512x32xbf16> -> tensor<32xbf16>
    %e = arith.extf %b : tensor<32xbf16> to tensor<32xf32>
    %c = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %e dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// Long sums have two levels: each chunk is summed from zero.
// CHECK-LABEL: tile.kernel @long
// CHECK:         %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[TOTAL:.+]] = %[[ZEROS]])
// CHECK:           %[[D:.+]] = tile.dot {{.*}}, %[[ZEROS]] :
// CHECK-NEXT:      %[[T:.+]] = arith.addf %[[TOTAL]], %[[D]]
// CHECK-NEXT:      scf.yield %[[T]]
// REMARK: ChunkMatmulK | Category:deplo-chunk-matmul-k | Function=long
// REMARK-SAME: 1 sums of products go over chunks of 16, each summed from zero
tile.kernel @long(%x: memref<64x2048xf32>, %w: memref<2048x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s = loop.reduce add %k = 0 to 2048 : tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x2048xf32> -> tensor<64xf32>
    %b = tile.load %w[%k, %j] : memref<2048x32xf32> -> tensor<32xf32>
    %c = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// Operands keep the order of dimensions in memory; extensions are the dot's.
// CHECK-LABEL: tile.kernel @tt
// CHECK:         %[[A:.+]] = tile.load %{{.+}}[%{{.+}}, %i] : memref<512x64xf16> -> tensor<16x64xf16>
// CHECK-NEXT:    %[[B:.+]] = tile.load %{{.+}}[%j, %{{.+}}] : memref<32x512xf16> -> tensor<32x16xf16>
// CHECK-NEXT:    tile.dot %[[A]] dims [2, 0], %[[B]] dims [1, 2]
tile.kernel @tt(%x: memref<512x64xf16>, %w: memref<32x512xf16>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s = loop.reduce add %k = 0 to 512 : tensor<64x32xf32> {
    %a = tile.load %x[%k, %i] : memref<512x64xf16> -> tensor<64xf16>
    %ae = arith.extf %a : tensor<64xf16> to tensor<64xf32>
    %b = tile.load %w[%j, %k] dims [0] : memref<32x512xf16> -> tensor<32xf16>
    %be = arith.extf %b : tensor<32xf16> to tensor<32xf32>
    %c = tile.broadcast %ae dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %be dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// A coordinate beside the sum is computed before the chunks.
// CHECK-LABEL: tile.kernel @part_of_rows
// CHECK:         %[[J:.+]] = arith.addi %j, %c8
// CHECK:         scf.for
// CHECK:           tile.load %{{.+}}[%{{.+}}, %[[J]]] : memref<512x64xf32> -> tensor<16x32xf32>
// CHECK:           tile.dot
tile.kernel @part_of_rows(%x: memref<64x512xf32>, %w: memref<512x64xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
  %s = loop.reduce add %k = 0 to 512 : tensor<64x32xf32> {
    %c8 = arith.constant 8 : index
    %beside = arith.addi %j, %c8 : index
    %a = tile.load %x[%i, %k] dims [0] : memref<64x512xf32> -> tensor<64xf32>
    %b = tile.load %w[%k, %beside] : memref<512x64xf32> -> tensor<32xf32>
    %c = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}

// -----

// Each element of one operand is used once: a reduction of rows.
// CHECK-LABEL: tile.kernel @matrix_vector
// CHECK:         loop.reduce add
// CHECK-NOT:     tile.dot
// REMARK: ChunkMatmulK | Category:deplo-chunk-matmul-k | Function=matrix_vector
// REMARK-SAME: no reduction adds products of two operands
tile.kernel @matrix_vector(%x: memref<64x512xf32>, %w: memref<512xf32>, %y: memref<64xf32>) axes(%i = 64 tile) {
  %s = loop.reduce add %k = 0 to 512 : tensor<64xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x512xf32> -> tensor<64xf32>
    %b = tile.load %w[%k] dims [] : memref<512xf32> -> tensor<f32>
    %c = tile.broadcast %b dims [] : tensor<f32> -> tensor<64xf32>
    %p = arith.mulf %a, %c : tensor<64xf32>
    loop.yield %p : tensor<64xf32>
  }
  tile.store %s, %y[%i] : tensor<64xf32>, memref<64xf32>
}

// -----

// Sums in pieces of bf16 may leave their range: what is not finite is computed
// again from the operands.
// CHECK:       #[[$LHS:.+]] = affine_map<(d0, d1, d2)[s0] -> (d0 + s0, d2)>
// CHECK:       #[[$RHS:.+]] = affine_map<(d0, d1, d2)[s0] -> (d2, d1 + s0)>
// CHECK-LABEL: tile.kernel @pieces
// CHECK:         %[[SUM:.+]] = scf.for
// CHECK:           tile.dot {{.+}} precision f32
// CHECK:         %[[ALL:.+]] = tile.recompute %[[SUM]], %{{.+}}[%i] #[[$LHS]], %{{.+}}[%j] #[[$RHS]] depth 500
// CHECK:         tile.store %[[ALL]]
tile.kernel @pieces(%x: memref<64x500xf32>, %w: memref<500x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) attributes {schedule = #tile.schedule<block = [64, 32], warps = 4, vector = 4, chunk = 16, atom = mma_sync, warp_tile = [16, 32], precision = f32>} {
  %s = loop.reduce add %k = 0 to 500 : tensor<64x32xf32> {
    %a = tile.load %x[%i, %k] dims [0] : memref<64x500xf32> -> tensor<64xf32>
    %b = tile.load %w[%k, %j] : memref<500x32xf32> -> tensor<32xf32>
    %c = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
    %d = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
    %p = arith.mulf %c, %d fastmath<contract> : tensor<64x32xf32>
    loop.yield %p : tensor<64x32xf32>
  }
  tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
}
