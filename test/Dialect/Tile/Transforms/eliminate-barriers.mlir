// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-eliminate-barriers))' | FileCheck %s
// RUN: deplo-opt %s --pass-pipeline='builtin.module(tile.kernel(deplo-eliminate-barriers))' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-eliminate-barriers -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#row = #tile.layout<[1, 256], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128]]>
#pairs = #tile.layout<[1, 256], register = [[0, 1], [0, 128]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[0, 64]]>
#wide = #tile.layout<[1, 512], register = [[0, 1], [0, 2], [0, 256]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128]]>

// Each thread reads what it copied itself, whatever the part of the row.
// CHECK-LABEL: tile.kernel @own_elements
// CHECK:         tile.await
// CHECK-NOT:     tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=own_elements
// REMARK-SAME: 1 of 1 barriers go: no thread sees what others do on the other side
tile.kernel @own_elements(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %s = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  %t = tile.async_copy %x[%i, %c0] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.await %t
  tile.barrier
  scf.for %k = %c0 to %c1024 step %c256 {
    %a = tile.read %s[%c0, %k] vector 4 : !tile.buffer<1x1024xf32, #tile.shared<>> -> tensor<1x256xf32, #row>
    tile.store %a, %y[%i, %k] vector 4 : tensor<1x256xf32, #row>, memref<4x1024xf32>
  }
}

// Four elements are copied by one thread and read by two.
// CHECK-LABEL: tile.kernel @elements_of_neighbours
// CHECK:         tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=elements_of_neighbours
// REMARK-SAME: each barrier is between accesses of different threads
tile.kernel @elements_of_neighbours(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %s = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.barrier
  scf.for %k = %c0 to %c1024 step %c256 {
    %a = tile.read %s[%c0, %k] vector 2 : !tile.buffer<1x1024xf32, #tile.shared<>> -> tensor<1x256xf32, #pairs>
    tile.store %a, %y[%i, %k] vector 2 : tensor<1x256xf32, #pairs>, memref<4x1024xf32>
  }
}

// A part that starts anywhere is anybody's.
// CHECK-LABEL: tile.kernel @unaligned_parts
// CHECK:         tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=unaligned_parts
// REMARK-SAME: each barrier is between accesses of different threads
tile.kernel @unaligned_parts(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c768 = arith.constant 768 : index
  %s = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
  tile.barrier
  scf.for %k = %c0 to %c768 step %c128 {
    %a = tile.read %s[%c0, %k] vector 4 : !tile.buffer<1x1024xf32, #tile.shared<>> -> tensor<1x256xf32, #row>
    tile.store %a, %y[%i, %k] vector 4 : tensor<1x256xf32, #row>, memref<4x1024xf32>
  }
}

// Of two barriers without an access between, one does.
// CHECK-LABEL: tile.kernel @pair
// CHECK:         tile.copy
// CHECK-NEXT:    tile.barrier
// CHECK-NEXT:    tile.read
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=pair
// REMARK-SAME: 1 of 2 barriers go
tile.kernel @pair(%x: memref<4x256xf32>, %y: memref<4x256xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %s = tile.alloc : !tile.buffer<1x256xf32, #tile.shared<>>
  tile.copy %x[%i, %c0] to %s vector 4 : memref<4x256xf32>, !tile.buffer<1x256xf32, #tile.shared<>>
  tile.barrier
  tile.barrier
  %a = tile.read %s[%c0, %c0] vector 2 : !tile.buffer<1x256xf32, #tile.shared<>> -> tensor<1x256xf32, #pairs>
  tile.store %a, %y[%i, %c0] vector 2 : tensor<1x256xf32, #pairs>, memref<4x256xf32>
}

// The barrier at the end is between reads and the copy of the next iteration;
// the one in front between that copy and reads.
// CHECK-LABEL: tile.kernel @chunks
// CHECK:         tile.copy
// CHECK-NEXT:    tile.barrier
// CHECK:         tile.store
// CHECK-NEXT:    tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=chunks
// REMARK-SAME: each barrier is between accesses of different threads
tile.kernel @chunks(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %s = tile.alloc : !tile.buffer<1x256xf32, #tile.shared<>>
  scf.for %k = %c0 to %c1024 step %c256 {
    tile.copy %x[%i, %k] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x256xf32, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0, %c0] vector 2 : !tile.buffer<1x256xf32, #tile.shared<>> -> tensor<1x256xf32, #pairs>
    tile.store %a, %y[%i, %k] vector 2 : tensor<1x256xf32, #pairs>, memref<4x1024xf32>
    tile.barrier
  }
}

// Chunks that each thread reads itself need none: it copies the next one after
// it has read this one.
// CHECK-LABEL: tile.kernel @own_chunks
// CHECK-NOT:     tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=own_chunks
// REMARK-SAME: 2 of 2 barriers go
tile.kernel @own_chunks(%x: memref<4x1024xf32>, %y: memref<4x512xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %s = tile.alloc : !tile.buffer<1x512xf32, #tile.shared<>>
  %low = arith.constant dense<-3.0e+38> : tensor<1x512xf32, #wide>
  %m = scf.for %k = %c0 to %c1024 step %c512 iter_args(%b = %low) -> (tensor<1x512xf32, #wide>) {
    tile.copy %x[%i, %k] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x512xf32, #tile.shared<>>
    tile.barrier
    %a = tile.read %s[%c0, %c0] vector 4 : !tile.buffer<1x512xf32, #tile.shared<>> -> tensor<1x512xf32, #wide>
    %n = arith.maximumf %a, %b : tensor<1x512xf32, #wide>
    tile.barrier
    scf.yield %n : tensor<1x512xf32, #wide>
  }
  tile.store %m, %y[%i, %c0] vector 4 : tensor<1x512xf32, #wide>, memref<4x512xf32>
}

// An asynchronous copy may write before the reads of its own thread are done.
// CHECK-LABEL: tile.kernel @own_asynchronous_chunks
// CHECK:         tile.await
// CHECK-NEXT:    tile.read
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=own_asynchronous_chunks
// REMARK-SAME: 1 of 2 barriers go
tile.kernel @own_asynchronous_chunks(%x: memref<4x1024xf32>, %y: memref<4x512xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %s = tile.alloc : !tile.buffer<1x512xf32, #tile.shared<>>
  %low = arith.constant dense<-3.0e+38> : tensor<1x512xf32, #wide>
  %m = scf.for %k = %c0 to %c1024 step %c512 iter_args(%b = %low) -> (tensor<1x512xf32, #wide>) {
    %t = tile.async_copy %x[%i, %k] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x512xf32, #tile.shared<>>
    tile.await %t
    tile.barrier
    %a = tile.read %s[%c0, %c0] vector 4 : !tile.buffer<1x512xf32, #tile.shared<>> -> tensor<1x512xf32, #wide>
    %n = arith.maximumf %a, %b : tensor<1x512xf32, #wide>
    tile.barrier
    scf.yield %n : tensor<1x512xf32, #wide>
  }
  tile.store %m, %y[%i, %c0] vector 4 : tensor<1x512xf32, #wide>, memref<4x512xf32>
}

// What other threads stored to memory is behind the barrier.
// CHECK-LABEL: tile.kernel @through_memory
// CHECK:         tile.barrier
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=through_memory
// REMARK-SAME: each barrier is between accesses of different threads
tile.kernel @through_memory(%x: memref<4x256xf32>, %y: memref<4x256xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] vector 4 : memref<4x256xf32> -> tensor<1x256xf32, #row>
  tile.store %a, %y[%i, %c0] vector 4 : tensor<1x256xf32, #row>, memref<4x256xf32>
  tile.barrier
  %b = tile.load %y[%i, %c0] vector 2 : memref<4x256xf32> -> tensor<1x256xf32, #pairs>
  tile.store %b, %x[%i, %c0] vector 2 : tensor<1x256xf32, #pairs>, memref<4x256xf32>
}

// CHECK-LABEL: tile.kernel @registers
// REMARK: EliminateBarriers | Category:deplo-eliminate-barriers | Function=registers
// REMARK-SAME: there is no barrier
tile.kernel @registers(%x: memref<4x256xf32>, %y: memref<4x256xf32>) axes(%i = 4 step 1 grid) warps(2) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] vector 4 : memref<4x256xf32> -> tensor<1x256xf32, #row>
  tile.store %a, %y[%i, %c0] vector 4 : tensor<1x256xf32, #row>, memref<4x256xf32>
}
