// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One negative test for each constraint of the operations in TileAsyncOps.td,
// and of tensor maps.

// RUN: deplo-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// mbarriers type C1: there is at least one.
// expected-error @below {{expected at least one barrier, got 0}}
"test.op"() {a = !tile.mbarriers<0>} : () -> ()

// -----

// tensor_map C1: dimensions, strides and box agree.
// expected-error @below {{tensor map has 2 extents, 0 strides and a box of 2 sizes, expected one to 5, one less and as many}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 2, extents = [64, 64], strides = [], box = [64, 64]>} : () -> ()

// -----

// tensor_map C1: the argument's number.
// expected-error @below {{tensor map is of argument -1}}
"test.op"() {a = #tile.tensor_map<argument = -1, offset = 0, element_bytes = 2, extents = [64], strides = [], box = [64]>} : () -> ()

// -----

// tensor_map C2: where it starts.
// expected-error @below {{tensor map has its start at byte 8, expected a multiple of 16}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 8, element_bytes = 2, extents = [64], strides = [], box = [64]>} : () -> ()

// -----

// tensor_map C2: strides.
// expected-error @below {{tensor map has a stride of 2002 bytes, expected a multiple of 16 below 2^40}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 2, extents = [1001, 64], strides = [2002], box = [64, 64]>} : () -> ()

// -----

// tensor_map C3: sizes of the box.
// expected-error @below {{tensor map has a box of 512 elements along a dimension, expected 1 to 256}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 1, extents = [512], strides = [], box = [512]>} : () -> ()

// -----

// tensor_map C3: the swizzle.
// expected-error @below {{tensor map has a swizzle of 48, expected 0, 32, 64 or 128}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 1, extents = [64], strides = [], box = [64], swizzle = 48>} : () -> ()

// -----

// tensor_map C3: rows are within the swizzle.
// expected-error @below {{tensor map has rows of 128 bytes, expected a multiple of 16 up to the swizzle}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 2, extents = [64], strides = [], box = [64], swizzle = 64>} : () -> ()

// -----

// tensor_map C4: the elements.
// expected-error @below {{tensor map has elements of 16 bytes, expected 1, 2, 4 or 8}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 16, extents = [64], strides = [], box = [64]>} : () -> ()

// -----

// tensor_map C4: the extents.
// expected-error @below {{tensor map has an extent of 0, expected 1 to 2^32}}
"test.op"() {a = #tile.tensor_map<argument = 0, offset = 0, element_bytes = 2, extents = [0], strides = [], box = [64]>} : () -> ()

// -----

// mbarriers C1: a phase needs an arrival.
tile.kernel @arrivals(%x: memref<64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  // expected-error @below {{'tile.mbarriers' op expects 0 arrivals, a phase needs one}}
  %0 = tile.mbarriers arrivals 0 : !tile.mbarriers<1>
}

// -----

// mbarriers C2: they are of a kernel.
// expected-error @below {{'tile.mbarriers' op expects parent op 'tile.kernel'}}
%0 = tile.mbarriers arrivals 1 : !tile.mbarriers<1>

// -----

// tma_copy C1: as tile.copy.
tile.kernel @indices(%x: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<1>
  // expected-error @below {{'tile.tma_copy' op has 1 indices for a memref of rank 2}}
  tile.tma_copy %x[%c0] to %b on %full[%c0] : memref<64x64xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.mbarriers<1>
}

// -----

// tma_copy C2: there is a tensor map.
tile.kernel @strides(%x: memref<64x60xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %full = tile.mbarriers arrivals 1 : !tile.mbarriers<1>
  // expected-error @below {{'tile.tma_copy' op would have a tensor map with a stride of 120 bytes, expected a multiple of 16 below 2^40}}
  tile.tma_copy %x[%c0, %c0] to %b on %full[%c0] : memref<64x60xbf16>, !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.mbarriers<1>
}

// -----

// async_dot C1: the summed dimension is one of the last two.
tile.kernel @dims(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %b = tile.alloc : !tile.buffer<64x64x64xbf16, #tile.shared<>>
  // expected-error @below {{dims of rhs must have 2 as one of the last two}}
  %d, %t = tile.async_dot %a dims [0, 2], %b dims [2, 0, 1], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x64x64xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C2: sizes agree.
tile.kernel @sizes(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  // expected-error @below {{rhs has size 64 along dimension 1, expected 32}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x64xbf16, #tile.shared<>>, tensor<64x32xf32>
  tile.await %t
}

// -----

// async_dot C3: the types.
tile.kernel @types(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x32xf32, #tile.shared<>>
  // expected-error @below {{multiplies 'f32' into 'f32', expected f16 or bf16 into f32}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x32xf32, #tile.shared<>>, !tile.buffer<64x32xf32, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C4: rows that are the result's.
tile.kernel @columns(%y: memref<64x8xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x8xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  %b = tile.alloc : !tile.buffer<64x8xbf16, #tile.shared<>>
  // expected-error @below {{has an operand with rows of 16 bytes, expected a multiple of 32}}
  %d, %t = tile.async_dot %a dims [0, 2], %b dims [2, 1], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x8xbf16, #tile.shared<>>, tensor<64x8xf32>
  tile.await %t
}

// -----

// async_dot C4: rows that are summed over.
tile.kernel @rows(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x128xbf16, #tile.shared<>>
  // expected-error @below {{has an operand with rows of 256 bytes, expected 32, 64 or 128}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x128xbf16, #tile.shared<>>, !tile.buffer<64x128xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C5: the atom.
tile.kernel @atom(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  // expected-error @below {{expected wgmma with warps along 2 dimensions}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<mma_sync, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x64xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C6: the token is awaited.
tile.kernel @token(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  // expected-error @below {{token must be awaited exactly once by tile.await}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x64xbf16, #tile.shared<>>, tensor<64x64xf32>
}

// -----

// async_dot C7: the result is used once it is there.
tile.kernel @early(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x64xbf16, #tile.shared<>>
  // expected-error @below {{result is used before its token is awaited}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x64xbf16, #tile.shared<>>, !tile.buffer<64x64xbf16, #tile.shared<>>, tensor<64x64xf32>
  // expected-note @below {{the use}}
  tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.await %t
}

// -----

// producer C1: registers.
tile.kernel @registers(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  // expected-error @below {{has other registers than two multiples of 8 from 24 to 256}}
  tile.producer registers [20, 232] {
  }
}

// -----

// producer C2: whole warpgroups.
tile.kernel @warps(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(2) {
  // expected-error @below {{is beside 2 warps, expected whole warpgroups of four}}
  tile.producer registers [40, 232] {
  }
}

// -----

// producer C3: what it does.
tile.kernel @effects(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  // expected-error @below {{holds an operation other than copies by tensor maps and waits for barriers}}
  tile.producer registers [40, 232] {
    // expected-note @below {{the operation}}
    tile.barrier
  }
}

// -----

// producer C4: nothing with effects precedes it.
tile.kernel @order(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  // expected-note @below {{the operation}}
  tile.barrier
  // expected-error @below {{follows an operation with effects, which its warps would run as well}}
  tile.producer registers [40, 232] {
  }
}

// -----

// async_dot C8: three pieces, or two.
tile.kernel @two_pieces(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<2x64x32xbf16, #tile.shared<>>
  // expected-error @below {{lhs is of 2 pieces of 'bf16', expected three of bf16 or two of f16}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<2x64x32xbf16, #tile.shared<>>, !tile.buffer<2x64x32xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C8: of bf16.
tile.kernel @pieces_of_f16(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<3x64x32xf16, #tile.shared<>>
  // expected-error @below {{lhs is of 3 pieces of 'f16', expected three of bf16 or two of f16}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xf16, #tile.shared<>>, !tile.buffer<3x64x32xf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C9: sums of pieces have rests.
tile.kernel @no_rests(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<>>
  // expected-error @below {{has operands of pieces and no rest, expected one of the accumulator's type}}
  %d, %t = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xbf16, #tile.shared<>>, !tile.buffer<3x64x32xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C9: others have none.
tile.kernel @rests_of_numbers(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x32xbf16, #tile.shared<>>
  // expected-error @below {{has operands of numbers and a rest, expected none}}
  %d, %t, %r = tile.async_dot %a dims [0, 2], %a dims [1, 2], %zeros rest %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<64x32xbf16, #tile.shared<>>, !tile.buffer<64x32xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C8: both operands, or one is of f32.
tile.kernel @one_of_pieces(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<>>
  %b = tile.alloc : !tile.buffer<64x32xbf16, #tile.shared<>>
  // expected-error @below {{rhs is of 'bf16', expected pieces, or f32 beside those of bf16}}
  %d, %t = tile.async_dot %a dims [0, 2], %b dims [1, 2], %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xbf16, #tile.shared<>>, !tile.buffer<64x32xbf16, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// async_dot C8: the one of f32 gives the instruction its rows.
tile.kernel @whole_columns(%y: memref<64x64xf32>) axes(%i = 1 step 1 grid) warps(4) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<3x64x32xbf16, #tile.shared<>>
  %b = tile.alloc : !tile.buffer<64x32xf32, #tile.shared<>>
  // expected-error @below {{rhs is of f32 and gives the instruction its columns, expected pieces of bf16}}
  %d, %t, %r = tile.async_dot %a dims [0, 2], %b dims [1, 2], %zeros rest %zeros atom<wgmma, warps = [4, 1]> : !tile.buffer<3x64x32xbf16, #tile.shared<>>, !tile.buffer<64x32xf32, #tile.shared<>>, tensor<64x64xf32>
  tile.await %t
}

// -----

// tma_store C1: as tile.store.
tile.kernel @store_indices(%y: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16>
  %s = tile.alloc : !tile.buffer<1x4x16x64xbf16, #tile.shared<>>
  // expected-error @below {{'tile.tma_store' op has 1 indices for a memref of rank 2}}
  tile.tma_store %v, %y[%c0] by %s : tensor<64x64xbf16>, memref<64x64xbf16>, !tile.buffer<1x4x16x64xbf16, #tile.shared<>>
}

// -----

// tma_store C2: the buffer's dimensions.
tile.kernel @store_buffer(%y: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16>
  %s = tile.alloc : !tile.buffer<1x8x16x64xbf16, #tile.shared<>>
  // expected-error @below {{expected slots, 4 warps and a piece of the 2 dimensions of the tile}}
  tile.tma_store %v, %y[%c0, %c0] by %s : tensor<64x64xbf16>, memref<64x64xbf16>, !tile.buffer<1x8x16x64xbf16, #tile.shared<>>
}

// -----

// tma_store C3: there is a tensor map.
tile.kernel @store_strides(%y: memref<64x60xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16>
  %s = tile.alloc : !tile.buffer<1x4x16x64xbf16, #tile.shared<>>
  // expected-error @below {{'tile.tma_store' op would have a tensor map with a stride of 120 bytes, expected a multiple of 16 below 2^40}}
  tile.tma_store %v, %y[%c0, %c0] by %s : tensor<64x64xbf16>, memref<64x60xbf16>, !tile.buffer<1x4x16x64xbf16, #tile.shared<>>
}

// -----

// tma_store C3: no pads.
tile.kernel @store_pad(%y: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16>
  %s = tile.alloc : !tile.buffer<1x4x16x64xbf16, #tile.shared<pad = 8>>
  // expected-error @below {{'tile.tma_store' op copies from a buffer with a pad or with split rows}}
  tile.tma_store %v, %y[%c0, %c0] by %s : tensor<64x64xbf16>, memref<64x64xbf16>, !tile.buffer<1x4x16x64xbf16, #tile.shared<pad = 8>>
}

// -----

// tma_store C4: warps hold 16 rows.
#rows = #tile.layout<[64, 64], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
tile.kernel @store_pieces(%y: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16, #rows>
  %s = tile.alloc : !tile.buffer<1x4x32x64xbf16, #tile.shared<>>
  // expected-error @below {{has a tile of which warps hold no such pieces}}
  tile.tma_store %v, %y[%c0, %c0] by %s : tensor<64x64xbf16, #rows>, memref<64x64xbf16>, !tile.buffer<1x4x32x64xbf16, #tile.shared<>>
}

// -----

// tma_store C4: one piece, two slots.
#slots = #tile.layout<[64, 64], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
tile.kernel @store_slots(%y: memref<64x64xbf16>) axes(%i = 1 step 1 grid) warps(4) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : tensor<64x64xbf16, #slots>
  %s = tile.alloc : !tile.buffer<2x4x16x64xbf16, #tile.shared<>>
  // expected-error @below {{has 2 slots for 1 pieces of a warp, expected a divisor}}
  tile.tma_store %v, %y[%c0, %c0] by %s : tensor<64x64xbf16, #slots>, memref<64x64xbf16>, !tile.buffer<2x4x16x64xbf16, #tile.shared<>>
}

// -----

// each_tile C1: an argument for each axis, and one more.
tile.kernel @tile_arguments(%y: memref<64x64xf32>) axes(%i = 64 step 1 grid) warps(4) {
  // expected-error @below {{has 3 arguments, expected an index for each of 1 axes and one more}}
  tile.each_tile blocks 2 (%u, %v) number %n {
  }
}

// -----

// each_tile C2: no cluster.
tile.kernel @tile_cluster(%y: memref<64x64xf32>) axes(%i = 64 step 32 cluster) warps(4) {
  // expected-error @below {{is in a kernel with an axis of a cluster}}
  tile.each_tile blocks 2 (%u) number %n {
  }
}

// -----

// each_tile C2: a tile for each block.
tile.kernel @tile_blocks(%y: memref<64x64xf32>) axes(%i = 64 step 32 grid) warps(4) {
  // expected-error @below {{has 3 blocks for 2 tiles}}
  tile.each_tile blocks 3 (%u) number %n {
  }
}

// -----

// each_tile C2: the launch may give a tile for each block.
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 64>}} {
  tile.kernel @most_tiles(%y: memref<1048583x64xf32>) axes(%i = 1048583 step 32 grid) warps(4) {
    // expected-error @below {{has 3 blocks for 2 tiles}}
    tile.each_tile blocks 3 (%u) number %n {
    }
  }
}

// -----

// each_tile C3: the same blocks.
tile.kernel @tile_others(%y: memref<64x64xf32>) axes(%i = 64 step 1 grid) warps(4) {
  // expected-error @below {{has other blocks than another one of the kernel}}
  tile.each_tile blocks 2 (%u) number %n {
  }
  tile.each_tile blocks 3 (%u) number %n {
  }
}

// -----

// each_tile C3: no coordinates of the block.
tile.kernel @tile_coordinates(%x: memref<64xf32>) axes(%i = 64 step 32 grid) warps(4) {
  %a = tile.load %x[%i] : memref<64xf32> -> tensor<32xf32>
  // expected-error @below {{is in a kernel that uses coordinates of its own}}
  tile.each_tile blocks 2 (%u) number %n {
  }
}
