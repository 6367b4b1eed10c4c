// RUN: deplo-opt %s --deplo-tile-to-kernel --canonicalize --cse --split-input-file | FileCheck %s

#l = #tile.layout<[1, 32], register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// Tiles of as many rows as the launch gives, in four columns: seven blocks at
// most take one in seven, down groups of up to four rows.
// CHECK-LABEL: llvm.func @rows(
// CHECK-SAME:    %[[SIZE:[a-z0-9]+]]: i64)
// CHECK-SAME:    tile.grid = array<i64: 1048583, 16, 128, 32>
// CHECK-SAME:    tile.most_blocks = 7 : i64
// CHECK:         %[[N:.+]] = arith.trunci %[[SIZE]] : i64 to i32
// CHECK:         %[[BLOCK:.+]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:         %[[ROWS:.+]] = arith.ceildivui %[[N]], %c16_i32
// CHECK:         %[[TILES:.+]] = arith.muli %[[ROWS]], %c4_i32
// CHECK:         %[[MORE:.+]] = arith.addi %[[TILES]], %c6_i32
// CHECK:         %[[LEFT:.+]] = arith.subi %[[MORE]], %[[BLOCK]]
// CHECK:         %[[COUNT:.+]] = arith.divui %[[LEFT]], %c7_i32
// CHECK:         scf.for %[[NUMBER:.+]] = %c0_i32 to %[[COUNT]] step %c1_i32
// CHECK:           %[[DONE:.+]] = arith.muli %[[NUMBER]], %c7_i32
// CHECK:           %[[TILE:.+]] = arith.addi %[[BLOCK]], %[[DONE]]
// CHECK:           %[[GROUP:.+]] = arith.divui %[[TILE]], %c16_i32
// CHECK:           %[[IN:.+]] = arith.remui %[[TILE]], %c16_i32
// CHECK:           %[[FIRST:.+]] = arith.muli %[[GROUP]], %c4_i32
// CHECK:           %[[REST:.+]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK:           %[[HEIGHT:.+]] = arith.minsi %[[REST]], %c4_i32
// CHECK:           arith.divui %[[IN]], %[[HEIGHT]]
// CHECK:           arith.remui %[[IN]], %[[HEIGHT]]
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 1000>}, tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @rows(%x: memref<1048583x128xf32>, %y: memref<1048583x128xf32>) axes(%i = 1048583 step 16 grid, %j = 128 step 32 grid) warps(1) attributes {tile.raster = 4 : i64} {
    tile.each_tile blocks 7 (%u, %v) number %n {
      %a = tile.load %x[%u, %v] bounds [1048583, 128] : memref<1048583x128xf32> -> tensor<1x32xf32, #l>
      tile.store %a, %y[%u, %v] bounds [1048583, 128] : tensor<1x32xf32, #l>, memref<1048583x128xf32>
    }
  }
}

// -----

#l = #tile.layout<[1, 32], register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// A block may have 142858 tiles of 8192: numbers of 32 bits are too few.
// CHECK-LABEL: llvm.func @many(
// CHECK:         scf.for %[[NUMBER:.+]] = %{{.+}} to %{{.+}} step %c1_i64
// CHECK:           arith.muli %[[NUMBER]], %c8192_i64
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 1000000>}, tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @many(%x: memref<1048583x32xf32>, %y: memref<1048583x32xf32>) axes(%i = 1048583 step 1 grid, %j = 32 step 32 grid) warps(1) {
    %c8192 = arith.constant 8192 : index
    %c4 = arith.constant 4 : index
    tile.each_tile blocks 7 (%u, %v) number %n {
      %first = arith.muli %n, %c8192 : index
      %slot = arith.remui %first, %c4 : index
      %a = tile.load %x[%u, %slot] bounds [1048583, 32] : memref<1048583x32xf32> -> tensor<1x32xf32, #l>
      tile.store %a, %y[%u, %v] bounds [1048583, 32] : tensor<1x32xf32, #l>, memref<1048583x32xf32>
    }
  }
}
