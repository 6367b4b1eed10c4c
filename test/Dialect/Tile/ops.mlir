// Every operation, attribute and type reads back as it was printed: as text, in
// generic form and as bytecode.

// RUN: deplo-opt %s --split-input-file | FileCheck %s
// RUN: deplo-opt %s --split-input-file | deplo-opt --split-input-file | FileCheck %s
// RUN: deplo-opt %s --split-input-file --mlir-print-op-generic | deplo-opt --split-input-file | FileCheck %s
// RUN: deplo-opt %s | deplo-opt | FileCheck %s --check-prefix=NAMES
// RUN: deplo-opt %s --emit-bytecode | deplo-opt | FileCheck %s

//      CHECK: #[[$ROW:.+]] = #tile.layout<[1, 256], register = {{\[\[}}0, 1], [0, 2]],
// CHECK-SAME:   lane = {{\[\[}}0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = {{\[\[}}0, 128]]>
#row = #tile.layout<[1, 256], register = [[0, 1], [0, 2]],
                    lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128]]>
#column = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>
#rows = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]]>

// CHECK-LABEL: tile.kernel @all(%{{.+}}: memref<32x256xf32>, %{{.+}}: memref<256xf32>, %{{.+}}: memref<32x256xf32>)
//  CHECK-SAME:   axes(%i = 32 step 1 grid) warps(2)
//  CHECK-SAME:   attributes {schedule = #tile.schedule<block = [1], warps = 2, vector = 4, stage_inputs = always, programmatic_launch = never>}
tile.kernel @all(%x: memref<32x256xf32>, %w: memref<256xf32>, %y: memref<32x256xf32>)
    axes(%i = 32 step 1 grid) warps(2)
    attributes {schedule = #tile.schedule<block = [1], warps = 2, vector = 4, stage_inputs = always, programmatic_launch = never>} {
  // CHECK: tile.launch_dependents
  tile.launch_dependents
  // CHECK: tile.wait_dependencies
  tile.wait_dependencies
  %c0 = arith.constant 0 : index
  %f = arith.constant 1.0 : f32
  // CHECK: tile.load %{{.+}}[%i, %{{.+}}] vector 4 : memref<32x256xf32> -> tensor<1x256xf32, #[[$ROW]]>
  %a = tile.load %x[%i, %c0] vector 4 : memref<32x256xf32> -> tensor<1x256xf32, #row>
  // CHECK: tile.load %{{.+}}[%{{.+}}] dims [0] steps [1] bounds [250] : memref<256xf32> -> tensor<256xf32, #{{.+}}>
  %b = tile.load %w[%c0] dims [0] steps [1] bounds [250] : memref<256xf32> -> tensor<256xf32, #column>
  // CHECK: tile.broadcast %{{.+}} dims [1] : tensor<256xf32, #{{.+}}> -> tensor<1x256xf32, #[[$ROW]]>
  %c = tile.broadcast %b dims [1] : tensor<256xf32, #column> -> tensor<1x256xf32, #row>
  // CHECK: %{{.+}}:2 = tile.reduce [add, max] %{{.+}}, %{{.+}} axis 1 : tensor<1x256xf32, #[[$ROW]]>, tensor<1x256xf32, #[[$ROW]]> -> tensor<1xf32, #{{.+}}>, tensor<1xf32, #{{.+}}>
  %s, %m = tile.reduce [add, max] %a, %c axis 1
      : tensor<1x256xf32, #row>, tensor<1x256xf32, #row> -> tensor<1xf32, #rows>, tensor<1xf32, #rows>
  // CHECK: tile.splat %{{.+}} : f32 -> tensor<1x256xf32, #[[$ROW]]>
  %d = tile.splat %f : f32 -> tensor<1x256xf32, #row>
  // CHECK: tile.in_bounds[%i, %{{.+}}] bounds [32, 250] : tensor<1x256xi1, #[[$ROW]]>
  %in = tile.in_bounds [%i, %c0] bounds [32, 250] : tensor<1x256xi1, #row>
  // CHECK: tile.iota %{{.+}} : tensor<256xi64, #{{.+}}>
  %n = tile.iota %c0 : tensor<256xi64, #column>
  %e = arith.select %in, %a, %d : tensor<1x256xi1, #row>, tensor<1x256xf32, #row>
  // CHECK: %[[BUFFER:.+]] = tile.alloc : !tile.buffer<1x256xf32, #tile.shared<pad = 4>>
  %buffer = tile.alloc : !tile.buffer<1x256xf32, #tile.shared<pad = 4, swizzle = 0>>
  // CHECK: tile.copy %{{.+}}[%i, %{{.+}}] to %[[BUFFER]] vector 4 : memref<32x256xf32>, !tile.buffer<1x256xf32, {{.+}}>
  tile.copy %x[%i, %c0] to %buffer vector 4 : memref<32x256xf32>, !tile.buffer<1x256xf32, #tile.shared<pad = 4, swizzle = 0>>
  // CHECK: %[[TOKEN:.+]] = tile.async_copy %{{.+}}[%i, %{{.+}}] to %[[BUFFER]] bounds [32, 250]
  %token = tile.async_copy %x[%i, %c0] to %buffer bounds [32, 250] : memref<32x256xf32>, !tile.buffer<1x256xf32, #tile.shared<pad = 4, swizzle = 0>>
  // CHECK: tile.await %[[TOKEN]]
  tile.await %token
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.read %[[BUFFER]][%{{.+}}, %{{.+}}] vector 4
  %g = tile.read %buffer[%c0, %c0] vector 4 : !tile.buffer<1x256xf32, #tile.shared<pad = 4, swizzle = 0>> -> tensor<1x256xf32, #row>
  // CHECK: tile.write %{{.+}}, %[[BUFFER]][%{{.+}}, %{{.+}}]
  tile.write %g, %buffer[%c0, %c0] : tensor<1x256xf32, #row>, !tile.buffer<1x256xf32, #tile.shared<pad = 4, swizzle = 0>>
  // CHECK: tile.store %{{.+}}, %{{.+}}[%i, %{{.+}}] vector 4 : tensor<1x256xf32, #[[$ROW]]>, memref<32x256xf32>
  tile.store %e, %y[%i, %c0] vector 4 : tensor<1x256xf32, #row>, memref<32x256xf32>
}

// Kernel arguments keep their names through text.
// NAMES-LABEL: tile.kernel @unscheduled(%x: memref<8x16xf32>)

// Before scheduling: tiles without layouts, axes that are whole, no warps.
// CHECK-LABEL: tile.kernel @unscheduled(%{{.+}}: memref<8x16xf32>) axes(%i = 8 tile, %j = 16 tile) {
tile.kernel @unscheduled(%x: memref<8x16xf32>) axes(%i = 8 tile, %j = 16 tile) {
  // CHECK: tile.load %{{.+}}[%i, %j] : memref<8x16xf32> -> tensor<8x16xf32>
  %a = tile.load %x[%i, %j] : memref<8x16xf32> -> tensor<8x16xf32>
}

// CHECK-LABEL: tile.kernel @convert
tile.kernel @convert(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) warps(1) {
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
  // CHECK: tile.convert_layout %{{.+}} : tensor<64xf32, #{{.+}}> -> tensor<64xf32, #{{.+}}>
  %b = tile.convert_layout %a : tensor<64xf32, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
      -> tensor<64xf32, #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>>
  tile.store %b, %y[%i] : tensor<64xf32, #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>>, memref<64xf32>
}

// CHECK-LABEL: tile.kernel @misalignment
tile.kernel @misalignment(%x: memref<64x63xbf16>) axes(%i = 64 step 1 grid) {
  %c0 = arith.constant 0 : index
  // CHECK: tile.misalignment %{{.+}}[%i, %{{.+}}] modulo 8 : memref<64x63xbf16>
  %m = tile.misalignment %x[%i, %c0] modulo 8 : memref<64x63xbf16>
}

// CHECK-LABEL: tile.kernel @gather
tile.kernel @gather(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 tile) {
  %o = tile.iota %i : tensor<64xi32>
  // CHECK: %[[A:.+]] = tile.gather %{{.+}}[%[[O:.+]]] : (memref<64xf32>, tensor<64xi32>) -> tensor<64xf32>
  %a = tile.gather %x[%o] : (memref<64xf32>, tensor<64xi32>) -> tensor<64xf32>
  %m = tile.in_bounds [%i] bounds [60] : tensor<64xi1>
  // CHECK: tile.gather %{{.+}}[%[[O]]] mask %[[M:.+]] else %[[A]] vector 4 : (memref<64xf32>, tensor<64xi32>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
  %b = tile.gather %x[%o] mask %m else %a vector 4 : (memref<64xf32>, tensor<64xi32>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
}

// A tile is scanned from a carry, or from its first element.
// CHECK-LABEL: tile.kernel @scan
tile.kernel @scan(%x: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<8x64xf32> -> tensor<8x64xf32>
  // CHECK: %[[Y:.+]], %[[T:.+]] = tile.scan add %{{.+}} axis 1 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  %y, %t = tile.scan add %a axis 1 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  // CHECK: tile.scan max %[[Y]] carry %[[T]] axis 1 : (tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  %z, %u = tile.scan max %y carry %t axis 1 : (tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
}

// -----

// The instruction of a contraction, and what it may round.
// CHECK-LABEL: tile.kernel @atoms
// CHECK:         tile.dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1], %{{.+}} atom<mma_sync, warps = [2, 1]> : tensor<32x16xbf16>, tensor<16x8xbf16>, tensor<32x8xf32>
// CHECK:         tile.dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1], %{{.+}} precision tf32 atom<mma_sync, warps = [1, 1]> : tensor<32x8xf32>, tensor<8x8xf32>, tensor<32x8xf32>
// CHECK:         tile.dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1], %{{.+}} precision tf32 : tensor<32x8xf32>, tensor<8x8xf32>, tensor<32x8xf32>
tile.kernel @atoms(%x: memref<64x16xbf16>, %w: memref<16x16xbf16>, %u: memref<64x8xf32>, %v: memref<8x16xf32>, %y: memref<64x16xf32>) axes(%i = 64 step 32 grid, %j = 16 step 8 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<64x16xbf16> -> tensor<32x16xbf16>
  %b = tile.load %w[%c0, %j] : memref<16x16xbf16> -> tensor<16x8xbf16>
  %zeros = arith.constant dense<0.0> : tensor<32x8xf32>
  %c = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros atom<mma_sync, warps = [2, 1]> : tensor<32x16xbf16>, tensor<16x8xbf16>, tensor<32x8xf32>
  %d = tile.load %u[%i, %c0] : memref<64x8xf32> -> tensor<32x8xf32>
  %e = tile.load %v[%c0, %j] : memref<8x16xf32> -> tensor<8x8xf32>
  %f = tile.dot %d dims [0, 2], %e dims [2, 1], %c precision tf32 atom<mma_sync, warps = [1, 1]> : tensor<32x8xf32>, tensor<8x8xf32>, tensor<32x8xf32>
  %g = tile.dot %d dims [0, 2], %e dims [2, 1], %f precision tf32 : tensor<32x8xf32>, tensor<8x8xf32>, tensor<32x8xf32>
  // CHECK: tile.recompute %{{.+}}, %{{.+}}[%i] #{{.+}}, %{{.+}}[] #{{.+}} depth 8 : tensor<32x8xf32>, memref<64x8xf32>, memref<8x16xf32>
  %h = tile.recompute %g, %u[%i] affine_map<(d0, d1, d2)[s0] -> (s0 + d0, d2)>, %v[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 8 : tensor<32x8xf32>, memref<64x8xf32>, memref<8x16xf32>
  tile.store %h, %y[%i, %j] : tensor<32x8xf32>, memref<64x16xf32>
}

// -----

// A contraction whose operands lie either way.
// CHECK-LABEL: tile.kernel @dot
// CHECK:         tile.dot %{{.+}} dims [0, 2], %{{.+}} dims [2, 1], %{{.+}} : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
// CHECK:         tile.dot %{{.+}} dims [2, 0], %{{.+}} dims [1, 2], %{{.+}} : tensor<4x8xf16>, tensor<16x4xf16>, tensor<8x16xf32>
tile.kernel @dot(%x: memref<8x4xf32>, %w: memref<4x16xf32>, %u: memref<4x8xf16>, %v: memref<16x4xf16>, %y: memref<8x16xf32>) axes(%i = 8 tile, %j = 16 tile) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : memref<8x4xf32> -> tensor<8x4xf32>
  %b = tile.load %w[%c0, %j] : memref<4x16xf32> -> tensor<4x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<8x16xf32>
  %c = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  %d = tile.load %u[%c0, %i] : memref<4x8xf16> -> tensor<4x8xf16>
  %e = tile.load %v[%j, %c0] : memref<16x4xf16> -> tensor<16x4xf16>
  %f = tile.dot %d dims [2, 0], %e dims [1, 2], %c : tensor<4x8xf16>, tensor<16x4xf16>, tensor<8x16xf32>
  tile.store %f, %y[%i, %j] : tensor<8x16xf32>, memref<8x16xf32>
}

// -----

// The slots of a ring.
// CHECK-LABEL: tile.kernel @slot
// CHECK:         tile.slot %{{.+}}[%{{.+}}] : !tile.buffer<3x64x16xf32, #tile.shared<pad = 4>> -> !tile.buffer<64x16xf32, #tile.shared<pad = 4>>
tile.kernel @slot() axes(%i = 8 tile) {
  %c1 = arith.constant 1 : index
  %r = tile.alloc : !tile.buffer<3x64x16xf32, #tile.shared<pad = 4>>
  %s = tile.slot %r[%c1] : !tile.buffer<3x64x16xf32, #tile.shared<pad = 4>> -> !tile.buffer<64x16xf32, #tile.shared<pad = 4>>
}

// -----

// CHECK-LABEL: tile.kernel @cluster_reduce_scatter
// CHECK-SAME:    %j = 128 step 64 cluster
tile.kernel @cluster_reduce_scatter(%x: memref<64x128xf32>) axes(%i = 64 step 64 grid, %j = 128 step 64 cluster) {
  %a = tile.load %x[%i, %j] : memref<64x128xf32> -> tensor<64x128xf32>
  // CHECK: tile.cluster_reduce_scatter %{{.+}} dim 1 : tensor<64x128xf32> -> tensor<64x64xf32>
  %s = tile.cluster_reduce_scatter %a dim 1 : tensor<64x128xf32> -> tensor<64x64xf32>
}

// CHECK-LABEL: tile.kernel @cluster_reduce
// CHECK-SAME: axes(%i = 4 step 1 grid, %j = 4096 step 1024 cluster)
tile.kernel @cluster_reduce(%x: memref<4x4096xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid, %j = 4096 step 1024 cluster) {
  %a = tile.load %x[%i, %j] : memref<4x4096xf32> -> tensor<1x1024xf32>
  %s:2 = tile.reduce [add, max] %a, %a axis 1 : tensor<1x1024xf32>, tensor<1x1024xf32> -> tensor<1xf32>, tensor<1xf32>
  // CHECK: tile.cluster_reduce [add, max] %{{.+}}#0, %{{.+}}#1 : tensor<1xf32>, tensor<1xf32>
  %t:2 = tile.cluster_reduce [add, max] %s#0, %s#1 : tensor<1xf32>, tensor<1xf32>
  %u = arith.divf %t#0, %t#1 : tensor<1xf32>
  tile.store %u, %y[%i] : tensor<1xf32>, memref<4xf32>
}

// -----

// CHECK-LABEL: tile.concat @both
// CHECK-SAME:    (%[[X:.+]]: memref<8xf32>, %[[Y:.+]]: memref<8xf32>, %[[Z:.+]]: memref<8xf32>) {
// CHECK-NEXT:    tile.part @one(%[[X]], %[[Y]]) : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    tile.part @one(%[[X]], %[[Z]]) : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:  }
tile.concat @both(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  tile.part @one(%x, %y) : memref<8xf32>, memref<8xf32>
  tile.part @one(%x, %z) : memref<8xf32>, memref<8xf32>
}
tile.kernel @one(%x: memref<8xf32>, %y: memref<8xf32>) axes(%i = 8 step 8 grid) warps(1) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %a, %y[%i] : tensor<8xf32>, memref<8xf32>
}

// -----

// A block folds one part of a reduction.
// CHECK-LABEL: tile.kernel @part
// CHECK:         tile.reduce [add] %{{.+}} axis 0 part %{{.+}} of 4 : tensor<1024xf32> -> tensor<f32>
tile.kernel @part(%x: memref<1000xf32>, %y: memref<4xf32>) axes(%i = 4 step 1 grid) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] bounds [1000] : memref<1000xf32> -> tensor<1024xf32>
  %s = tile.reduce [add] %a axis 0 part %i of 4 : tensor<1024xf32> -> tensor<f32>
  tile.store %s, %y[%i] : tensor<f32>, memref<4xf32>
}
