// RUN: deplo-opt %s --deplo-tile-to-kernel --canonicalize --cse --split-input-file | FileCheck %s

#l = #tile.layout<[1, 64], register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>
// Sizes come behind the pointers, as 64-bit integers. They bound masks and are
// strides; the grid has as many blocks as they need.
module attributes {graph.sizes = {columns = array<i64: 1048583, 1, 3000>}, tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // Five rows of as many columns as there are need not be a multiple of 8 bytes.
  // CHECK-LABEL: llvm.func @copy(
  // CHECK-SAME:    {llvm.align = 4 : i64, llvm.noalias, llvm.readonly}
  // CHECK-SAME:    %[[COLUMNS:[a-z0-9]+]]: i64)
  // CHECK-SAME:    tile.grid = array<i64: 5, 1, 1048583, 64>
  // CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : i32
  // CHECK:         %[[N:.*]] = arith.trunci %[[COLUMNS]] : i64 to i32
  // CHECK:         %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[N]], %[[C64]] : i32
  // CHECK:         %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[BLOCKS]] : i32
  // CHECK:         arith.muli %[[ROW]], %[[N]]
  // CHECK:         arith.cmpi slt, %{{.*}}, %[[N]] : i32
  // CHECK-NOT:     1048583
  // CHECK:         llvm.return
  tile.kernel @copy(%x: memref<5x1048583xf32>, %y: memref<5x1048583xf32>) axes(%i = 5 step 1 grid, %j = 1048583 step 64 grid) warps(1) {
    %a = tile.load %x[%i, %j] bounds [5, 1048583] : memref<5x1048583xf32> -> tensor<1x64xf32, #l>
    tile.store %a, %y[%i, %j] bounds [5, 1048583] : tensor<1x64xf32, #l>, memref<5x1048583xf32>
  }
}

// -----

#l = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>
// There may be one element: masked reads of four at a time read zeros.
// CHECK:       llvm.mlir.global internal constant @masked_reads(dense<0> : tensor<16xi8>) {addr_space = 1 : i32, alignment = 16 : i64}
// CHECK-LABEL: llvm.func @vectors(
// CHECK-DAG:     %[[ZEROS:.*]] = llvm.mlir.addressof @masked_reads
// CHECK:         %[[PLACE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ZEROS]] : !llvm.ptr<1>
// CHECK:         llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 3000>}, tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @vectors(%x: memref<1048583xf32>, %y: memref<1048583xf32>) axes(%i = 1048583 step 256 grid) warps(2) {
    %a = tile.load %x[%i] bounds [1048583] vector 4 : memref<1048583xf32> -> tensor<256xf32, #l>
    tile.store %a, %y[%i] bounds [1048583] vector 4 : tensor<256xf32, #l>, memref<1048583xf32>
  }
}
