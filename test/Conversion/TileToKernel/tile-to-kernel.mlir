// RUN: deplo-opt %s --deplo-tile-to-kernel --canonicalize --cse --split-input-file | FileCheck %s

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>

// A tile is the vector of a thread's elements; neighbours move in one access.
// CHECK-LABEL: llvm.func @double(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
//  CHECK-SAME:   %[[Y:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.writeonly}
//  CHECK-SAME:   nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 64, 1, 1>
//  CHECK-SAME:   tile.launch = #tile.launch<blocks = 4, threads = 64, shared_bytes = 0>
//       CHECK:   %[[A:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
//       CHECK:   %[[B:.+]] = arith.addf %[[A]], %[[A]] : vector<4xf32>
//       CHECK:   llvm.store %[[B]], %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
module attributes {tile.target = #target} {
  tile.kernel @double(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
    %a = tile.load %x[%i] vector 4 : memref<1024xf32> -> tensor<256xf32, #pointwise>
    %b = arith.addf %a, %a : tensor<256xf32, #pointwise>
    tile.store %b, %y[%i] vector 4 : tensor<256xf32, #pointwise>, memref<1024xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>

// Reads are told no more alignment than divides the buffer: 1022 elements are
// a multiple of 8 bytes, and LLVM must not make three loads at the end one of
// 16. Writes, which it does not fill up, may be.
// CHECK-LABEL: llvm.func @remainder(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 8 : i64, llvm.noalias, llvm.readonly}
//  CHECK-SAME:   %[[Y:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.writeonly}
//       CHECK:   llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<1xf32>
//   CHECK-NOT:   alignment = 16 : i64} : !llvm.ptr<1> ->
module attributes {tile.target = #target} {
  tile.kernel @remainder(%x: memref<1022xf32>, %y: memref<1022xf32>) axes(%i = 1022 step 256 grid) warps(2) {
    %a = tile.load %x[%i] bounds [1022] : memref<1022xf32> -> tensor<256xf32, #pointwise>
    tile.store %a, %y[%i] bounds [1022] : tensor<256xf32, #pointwise>, memref<1022xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>

// A kernel that waits is launched before those that it depends on are complete.
// They write what it reads meanwhile: such pointers are not noalias.
// CHECK-LABEL: llvm.func @waits(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.readonly}
//  CHECK-SAME:   %[[Y:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.writeonly}
//  CHECK-SAME:   tile.launch = #tile.launch<blocks = 4, threads = 64, shared_bytes = 0, programmatic = true>
//       CHECK:   nvvm.griddepcontrol launch_dependents
//       CHECK:   nvvm.griddepcontrol wait
//       CHECK:   llvm.load
module attributes {tile.target = #target} {
  tile.kernel @waits(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
    tile.launch_dependents
    tile.wait_dependencies
    %a = tile.load %x[%i] vector 4 : memref<1024xf32> -> tensor<256xf32, #pointwise>
    %b = arith.addf %a, %a : tensor<256xf32, #pointwise>
    tile.store %b, %y[%i] vector 4 : tensor<256xf32, #pointwise>, memref<1024xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#row = #tile.layout<[1, 128], register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[0, 64]]>
#rows = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]]>

// Two reductions over a row share one exchange: in the thread, five shuffles,
// one barrier. The result is written by one thread.
// CHECK-LABEL: llvm.func @row_sum_max
//  CHECK-SAME:   #tile.launch<blocks = 33, threads = 64, shared_bytes = 32>
//       CHECK:   %[[A:.+]] = llvm.load
// CHECK-COUNT-10: nvvm.shfl.sync bfly
//   CHECK-NOT:   nvvm.shfl.sync
//       CHECK:   scf.if
// CHECK-COUNT-2: llvm.store %{{.+}} : f32, !llvm.ptr<3>
//       CHECK:   nvvm.barrier
//   CHECK-NOT:   nvvm.barrier
//       CHECK:   scf.if
//       CHECK:     llvm.store %{{.+}} : vector<1xf32>, !llvm.ptr<1>
module attributes {tile.target = #target} {
  tile.kernel @row_sum_max(%x: memref<33x128xf32>, %s: memref<33xf32>, %m: memref<33xf32>)
      axes(%i = 33 step 1 grid) warps(2) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] vector 2 : memref<33x128xf32> -> tensor<1x128xf32, #row>
    %sum, %max = tile.reduce [add, max] %a, %a axis 1
        : tensor<1x128xf32, #row>, tensor<1x128xf32, #row> -> tensor<1xf32, #rows>, tensor<1xf32, #rows>
    tile.store %sum, %s[%i] : tensor<1xf32, #rows>, memref<33xf32>
    tile.store %max, %m[%i] : tensor<1xf32, #rows>, memref<33xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

// Masked loads read at the beginning instead and are zero; masked stores are not
// done.
// CHECK-LABEL: llvm.func @masked(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: !llvm.ptr<1>
//       CHECK:   %[[IN:.+]] = arith.cmpi slt, %{{.+}}, %c50_i32
//       CHECK:   %[[O:.+]] = arith.select %[[IN]], %{{.+}}, %c0_i32
//       CHECK:   %[[P:.+]] = llvm.getelementptr %[[X]][%[[O]]]
//       CHECK:   %[[A:.+]] = llvm.load %[[P]]
//       CHECK:   arith.select %[[IN]], %[[A]], %{{.+}} : vector<1xf32>
//       CHECK:   scf.if %[[IN]]
//  CHECK-NEXT:     llvm.store
module attributes {tile.target = #target} {
  tile.kernel @masked(%x: memref<50xf32>, %y: memref<50xf32>) axes(%i = 50 step 32 grid) warps(1) {
    %a = tile.load %x[%i] bounds [50] : memref<50xf32> -> tensor<32xf32, #pointwise>
    tile.store %a, %y[%i] bounds [50] : tensor<32xf32, #pointwise>, memref<50xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

// More than 2^31 elements: index arithmetic in 64 bits.
// CHECK-LABEL: llvm.func @large
//       CHECK:   arith.muli %{{.+}}, %{{.+}} overflow<nsw> : i64
//       CHECK:   llvm.getelementptr %{{.+}}[%{{.+}}] : (!llvm.ptr<1>, i64)
module attributes {tile.target = #target} {
  tile.kernel @large(%x: memref<4294967296xi8>, %y: memref<4294967296xi8>) axes(%i = 4294967296 step 32 grid) warps(1) {
    %a = tile.load %x[%i] : memref<4294967296xi8> -> tensor<32xi8, #pointwise>
    tile.store %a, %y[%i] : tensor<32xi8, #pointwise>, memref<4294967296xi8>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#row = #tile.layout<[1, 128], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>

// An asynchronous copy is one group; waiting for it leaves none in flight.
// CHECK-LABEL: llvm.func @staged
//   CHECK-NOT:   scf.
//       CHECK:   nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache =  cg
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 0
//       CHECK:   nvvm.barrier
//       CHECK:   llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
module attributes {tile.target = #target} {
  tile.kernel @staged(%x: memref<8x128xf32>, %y: memref<8x128xf32>) axes(%i = 8 step 1 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %b = tile.alloc : !tile.buffer<1x128xf32, #tile.shared<pad = 0, swizzle = 0>>
    %t = tile.async_copy %x[%i, %c0] to %b vector 4 : memref<8x128xf32>, !tile.buffer<1x128xf32, #tile.shared<pad = 0, swizzle = 0>>
    tile.await %t
    tile.barrier
    %a = tile.read %b[%c0, %c0] vector 4 : !tile.buffer<1x128xf32, #tile.shared<pad = 0, swizzle = 0>> -> tensor<1x128xf32, #row>
    tile.store %a, %y[%i, %c0] vector 4 : tensor<1x128xf32, #row>, memref<8x128xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>

// A thread's few vectors are copied without a loop, at constant distances; if
// there are fewer vectors than threads, some threads copy none. Copies that are
// awaited together are one group.
// CHECK-LABEL: llvm.func @copies
//   CHECK-NOT:   scf.for
//       CHECK:   nvvm.cp.async.shared.global
//   CHECK-NOT:   scf.
//       CHECK:   nvvm.cp.async.shared.global
//   CHECK-NOT:   nvvm.cp.async.commit.group
//       CHECK:   %[[HAS:.+]] = arith.cmpi ult, %{{.+}}, %c16_i32
//       CHECK:   scf.if %[[HAS]]
//  CHECK-NEXT:     arith
//       CHECK:     nvvm.cp.async.shared.global
//       CHECK:   nvvm.cp.async.commit.group
//  CHECK-NEXT:   nvvm.cp.async.wait.group 0
module attributes {tile.target = #target} {
  tile.kernel @copies(%x: memref<8x128xf32>) axes(%i = 8 step 2 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %b = tile.alloc : !tile.buffer<2x128xf32, #tile.shared<pad = 0, swizzle = 0>>
    %t = tile.async_copy %x[%i, %c0] to %b vector 4 : memref<8x128xf32>, !tile.buffer<2x128xf32, #tile.shared<pad = 0, swizzle = 0>>
    %d = tile.alloc : !tile.buffer<1x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    %u = tile.async_copy %x[%i, %c0] to %d vector 4 : memref<8x128xf32>, !tile.buffer<1x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    tile.await %t, %u
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>

// Bounds that hold whatever the block are not looked at.
// CHECK-LABEL: llvm.func @bounds
//   CHECK-NOT:   arith.cmpi
//       CHECK:   nvvm.cp.async.shared.global
//       CHECK:   arith.cmpi slt
//   CHECK-NOT:   arith.cmpi
//       CHECK:   nvvm.cp.async.shared.global
module attributes {tile.target = #target} {
  tile.kernel @bounds(%x: memref<8x128xf32>, %y: memref<7x128xf32>) axes(%i = 8 step 2 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %b = tile.alloc : !tile.buffer<2x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    %t = tile.async_copy %x[%i, %c0] to %b bounds [8, 128] vector 4 : memref<8x128xf32>, !tile.buffer<2x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    %d = tile.alloc : !tile.buffer<2x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    %u = tile.async_copy %y[%i, %c0] to %d bounds [7, 128] vector 4 : memref<7x128xf32>, !tile.buffer<2x64xf32, #tile.shared<pad = 0, swizzle = 0>>
    tile.await %t, %u
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>

// Flags that allow an approximation get it; without flags nothing is lost.
// CHECK-LABEL: llvm.func @approximate
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.+}}) : (f32) -> f32
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%{{.+}}) : (f32) -> f32
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.+}}, %{{.+}}) : (f32, f32) -> f32
//     CHECK-NOT: llvm.call_intrinsic
//         CHECK: math.exp %{{.+}} : vector<2xf32>
//         CHECK: arith.divf %{{.+}}, %{{.+}} : vector<2xf32>
module attributes {tile.target = #target} {
  tile.kernel @approximate(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 step 64 grid) warps(1) {
    %one = arith.constant dense<1.0> : tensor<64xf32, #pointwise>
    %a = tile.load %x[%i] vector 2 : memref<64xf32> -> tensor<64xf32, #pointwise>
    %b = math.exp %a fastmath<afn> : tensor<64xf32, #pointwise>
    %c = arith.divf %one, %b fastmath<afn> : tensor<64xf32, #pointwise>
    %d = arith.divf %a, %c fastmath<arcp> : tensor<64xf32, #pointwise>
    %e = math.exp %d : tensor<64xf32, #pointwise>
    %f = arith.divf %e, %a : tensor<64xf32, #pointwise>
    tile.store %f, %y[%i] vector 2 : tensor<64xf32, #pointwise>, memref<64xf32>
  }
}

// -----

// Coordinates as numbers: where the block starts, and the thread's own.
#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#numbers = #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
module attributes {tile.target = #target} {
  // CHECK-LABEL: llvm.func @iota
  // CHECK:         %[[START:.+]] = arith.muli %{{.+}}, %{{.+}} : i32
  // CHECK:         arith.addi %[[START]], %{{.+}} : i32
  // CHECK:         arith.extsi %{{.+}} : i32 to i64
  tile.kernel @iota(%y: memref<640xi64>) axes(%i = 640 step 64 grid) warps(1) {
    %n = tile.iota %i : tensor<64xi64, #numbers>
    tile.store %n, %y[%i] : tensor<64xi64, #numbers>, memref<640xi64>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#pointwise = #tile.layout<[256], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>

// A gather that is masked reads the start of the buffer instead, and selects.
// CHECK-LABEL: llvm.func @gather(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: !llvm.ptr<1>
//       CHECK:   %[[P:.+]] = llvm.getelementptr %[[X]][%{{.+}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
//       CHECK:   %[[Q:.+]] = arith.select %[[M:.+]], %[[P]], %[[X]] : !llvm.ptr<1>
//       CHECK:   %[[A:.+]] = llvm.load %[[Q]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
//       CHECK:   arith.select %[[M]], %[[A]], %{{.+}} : vector<4xf32>
module attributes {tile.target = #target} {
  tile.kernel @gather(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
    %c = arith.constant dense<-8> : tensor<256xi32, #pointwise>
    %zero = arith.constant dense<0> : tensor<256xi32, #pointwise>
    %one = arith.constant dense<1.0> : tensor<256xf32, #pointwise>
    %n = tile.iota %i : tensor<256xi32, #pointwise>
    %o = arith.addi %n, %c : tensor<256xi32, #pointwise>
    %m = arith.cmpi sge, %o, %zero : tensor<256xi32, #pointwise>
    %a = tile.gather %x[%o] mask %m else %one vector 4 : (memref<1024xf32>, tensor<256xi32, #pointwise>, tensor<256xi1, #pointwise>, tensor<256xf32, #pointwise>) -> tensor<256xf32, #pointwise>
    tile.store %a, %y[%i] vector 4 : tensor<256xf32, #pointwise>, memref<1024xf32>
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#row = #tile.layout<[1, 256], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128]]>
#part = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]]>

// A scan: three additions for the thread's run, five shuffles over the lanes,
// and the two warps' totals through shared memory, in one of two buffers in
// turn, so that one barrier is enough. The loop carries the total.
// CHECK-LABEL: llvm.func @scan
//       CHECK:   scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[C:.+]] = %{{.+}}) -> (vector<1xf32>)
// CHECK-COUNT-3:   arith.addf
//   CHECK-NOT:     arith.addf
// CHECK-COUNT-5:   nvvm.shfl.sync bfly
//       CHECK:     arith.divui %[[K]]
//   CHECK-NOT:     nvvm.barrier
//       CHECK:     scf.if
//       CHECK:       llvm.store %{{.+}}, %{{.+}} : f32, !llvm.ptr<3>
//       CHECK:     nvvm.barrier
// CHECK-COUNT-2:   llvm.load %{{.+}} : !llvm.ptr<3> -> f32
//   CHECK-NOT:     nvvm.barrier
//       CHECK:     scf.yield %{{.+}} : vector<1xf32>
module attributes {tile.target = #target} {
  tile.kernel @scan(%x: memref<8x1024xf32>, %y: memref<8x1024xf32>) axes(%i = 8 step 1 grid) warps(2) {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %zero = arith.constant dense<0.0> : tensor<1xf32, #part>
    %end = scf.for %k = %c0 to %c1024 step %c256 iter_args(%carry = %zero) -> (tensor<1xf32, #part>) {
      %a = tile.load %x[%i, %k] vector 4 : memref<8x1024xf32> -> tensor<1x256xf32, #row>
      %s, %next = tile.scan add %a carry %carry axis 1 : (tensor<1x256xf32, #row>, tensor<1xf32, #part>) -> (tensor<1x256xf32, #row>, tensor<1xf32, #part>)
      tile.store %s, %y[%i, %k] vector 4 : tensor<1x256xf32, #row>, memref<8x1024xf32>
      scf.yield %next : tensor<1xf32, #part>
    }
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>
#columns = #tile.layout<[4, 32], register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#row = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

// Down the columns, each of which a thread has to itself, nothing is exchanged.
// CHECK-LABEL: llvm.func @columns
//   CHECK-NOT:   nvvm.shfl
//   CHECK-NOT:   nvvm.barrier
// CHECK-COUNT-3: arith.maximumf
//   CHECK-NOT:   arith.maximumf
//       CHECK:   llvm.return
module attributes {tile.target = #target} {
  tile.kernel @columns(%x: memref<4x32xf32>, %y: memref<4x32xf32>) axes(%i = 32 step 32 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %i] : memref<4x32xf32> -> tensor<4x32xf32, #columns>
    %s, %t = tile.scan max %a axis 0 : (tensor<4x32xf32, #columns>) -> (tensor<4x32xf32, #columns>, tensor<32xf32, #row>)
    tile.store %s, %y[%c0, %i] : tensor<4x32xf32, #columns>, memref<4x32xf32>
  }
}
