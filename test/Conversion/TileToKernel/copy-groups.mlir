// RUN: deplo-opt %s --split-input-file --deplo-tile-to-kernel | FileCheck %s

// Which asynchronous copies are one group, and how many groups a wait leaves.

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>

// Both copies of a chunk are a group, in front of the loop and in it: the wait
// leaves that of the chunk that is copied ahead.
// CHECK-LABEL: llvm.func @chunks
//       CHECK:   nvvm.cp.async.shared.global
//   CHECK-NOT:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.shared.global
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.shared.global
//   CHECK-NOT:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.shared.global
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   scf.for
//       CHECK:     nvvm.cp.async.wait.group 1
//       CHECK:     nvvm.cp.async.shared.global
//   CHECK-NOT:     nvvm.cp.async.commit.group
//       CHECK:     nvvm.cp.async.shared.global
//       CHECK:     nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 0
module attributes {tile.target = #target} {
  tile.kernel @chunks(%x: memref<8x256xf32>, %w: memref<8x256xf32>) axes(%i = 8 step 8 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c224 = arith.constant 224 : index
    %a = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %b = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %s0 = tile.async_copy %x[%i, %c0] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %t0 = tile.async_copy %w[%i, %c0] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %s1 = tile.async_copy %x[%i, %c16] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %t1 = tile.async_copy %w[%i, %c16] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %last:4 = scf.for %k = %c0 to %c224 step %c16 iter_args(%s = %s0, %t = %t0, %u = %s1, %v = %t1) -> (!tile.token, !tile.token, !tile.token, !tile.token) {
      tile.await %s, %t
      tile.barrier
      %n = arith.addi %k, %c32 : index
      %s2 = tile.async_copy %x[%i, %n] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
      %t2 = tile.async_copy %w[%i, %n] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
      scf.yield %u, %v, %s2, %t2 : !tile.token, !tile.token, !tile.token, !tile.token
    }
    tile.await %last#0, %last#1, %last#2, %last#3
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>

// What is awaited earlier is a group of its own.
// CHECK-LABEL: llvm.func @apart
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 1
//       CHECK:   nvvm.cp.async.wait.group 0
module attributes {tile.target = #target} {
  tile.kernel @apart(%x: memref<8x256xf32>, %w: memref<8x256xf32>) axes(%i = 8 step 8 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %a = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %b = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %s = tile.async_copy %x[%i, %c0] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %t = tile.async_copy %w[%i, %c0] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    tile.await %s
    tile.barrier
    tile.await %t
  }
}

// -----

#target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>

// The loop is entered with a group of two copies, and its iterations start them
// apart: each copy is a group.
// CHECK-LABEL: llvm.func @uneven
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   scf.for
//       CHECK:     nvvm.cp.async.wait.group 0
//       CHECK:     nvvm.cp.async.commit.group
//       CHECK:     scf.for
//       CHECK:     nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 0
module attributes {tile.target = #target} {
  tile.kernel @uneven(%x: memref<8x256xf32>, %w: memref<8x256xf32>) axes(%i = 8 step 8 grid) warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c240 = arith.constant 240 : index
    %a = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %b = tile.alloc : !tile.buffer<8x16xf32, #tile.shared<>>
    %s0 = tile.async_copy %x[%i, %c0] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %t0 = tile.async_copy %w[%i, %c0] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
    %last:2 = scf.for %k = %c0 to %c240 step %c16 iter_args(%s = %s0, %t = %t0) -> (!tile.token, !tile.token) {
      tile.await %s, %t
      tile.barrier
      %n = arith.addi %k, %c16 : index
      %s1 = tile.async_copy %x[%i, %n] to %a vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
      scf.for %q = %c0 to %c16 step %c16 {
        tile.barrier
      }
      %t1 = tile.async_copy %w[%i, %n] to %b vector 4 : memref<8x256xf32>, !tile.buffer<8x16xf32, #tile.shared<>>
      scf.yield %s1, %t1 : !tile.token, !tile.token
    }
    tile.await %last#0, %last#1
  }
}
