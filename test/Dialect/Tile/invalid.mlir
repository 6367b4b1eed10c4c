// One negative test for each constraint of the tile dialect.

// RUN: deplo-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// layout C1: sizes are powers of two.
// expected-error @below {{invalid layout:}}
"test.op"() {a = #tile.layout<[48], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C2: moves are within the tile.
// expected-error @below {{invalid layout:}}
"test.op"() {a = #tile.layout<[64], register = [[64]], lane = [[2], [4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C2: moves that wrap around in 32 bits.
// expected-error @below {{a move does not fit 32 bits}}
"test.op"() {a = #tile.layout<[64], register = [[4294967296]], lane = [[2], [4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C2: a move has one coordinate for each dimension.
// expected-error @below {{move has 2 coordinates, the tile has rank 1}}
"test.op"() {a = #tile.layout<[64], register = [[1, 2]], lane = [[2], [4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C3: five lane moves.
// expected-error @below {{layout has 4 lane moves, expected 5}}
"test.op"() {a = #tile.layout<[64], register = [[1], [2]], lane = [[4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C4: every element is held.
// expected-error @below {{layout does not reach every element of the tile}}
"test.op"() {a = #tile.layout<[64], register = [], lane = [[2], [4], [8], [16], [32]], warp = []>} : () -> ()

// -----

// layout C5: the layout of another shape.
tile.kernel @k(%x: memref<128xf32>) axes(%i = 128 tile) {
  // expected-error @below {{layout of shape [64] on a tile of shape [128]}}
  %a = tile.load %x[%i] : memref<128xf32> -> tensor<128xf32, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
}

// -----

// shared C1.
// expected-error @below {{pad of -1 elements is negative}}
"test.op"() {a = #tile.shared<pad = -1, swizzle = 0>} : () -> ()

// -----

// shared C2.
// expected-error @below {{swizzle of 48 bytes, expected 0, 32, 64 or 128}}
"test.op"() {a = #tile.shared<pad = 0, swizzle = 48>} : () -> ()

// -----

// shared C3.
// expected-error @below {{a swizzled buffer has no pad}}
"test.op"() {a = #tile.shared<pad = 4, swizzle = 64>} : () -> ()

// -----

// shared C4.
// expected-error @below {{rows are split at a swizzle, there is none}}
"test.op"() {a = #tile.shared<split = true>} : () -> ()

// -----

// axis C1.
// expected-error @below {{axis of extent 0 in steps of 1, both must be positive}}
"test.op"() {a = #tile.axis<extent = 0, step = 1, kind = grid>} : () -> ()

// -----

// axis C2.
// expected-error @below {{a tile axis of extent 8 has step 4, expected its extent}}
"test.op"() {a = #tile.axis<extent = 8, step = 4, kind = tile>} : () -> ()

// -----

// schedule C1: block.
// expected-error @below {{schedule has block = 3, expected a power of two}}
"test.op"() {a = #tile.schedule<block = [3], warps = 2, vector = 4>} : () -> ()

// -----

// schedule C1: warps.
// expected-error @below {{schedule has warps = 3, expected a power of two}}
"test.op"() {a = #tile.schedule<block = [4], warps = 3, vector = 4>} : () -> ()

// -----

// schedule C2.
// expected-error @below {{schedule has chunk = 100, expected a power of two}}
"test.op"() {a = #tile.schedule<block = [4], warps = 2, vector = 4, chunk = 100>} : () -> ()

// -----

// schedule: unknown field.
// expected-error @below {{unknown field stage, expected block, warps}}
"test.op"() {a = #tile.schedule<block = [4], warps = 2, vector = 4, stage = 2>} : () -> ()

// -----

// schedule: unknown choice.
// expected-error @below {{pad_smem is auto, always or never, got perhaps}}
"test.op"() {a = #tile.schedule<block = [4], warps = 2, vector = 4, pad_smem = perhaps>} : () -> ()

// -----

// launch_dependents C1.
tile.kernel @k(%x: memref<4xf32>) axes(%i = 4 tile) warps(1) {
  %c0 = arith.constant 0 : index
  scf.for %k = %c0 to %c0 step %c0 {
    // expected-error @below {{expects parent op 'tile.kernel'}}
    tile.launch_dependents
  }
}

// -----

// wait_dependencies C1.
tile.kernel @k(%x: memref<4xf32>) axes(%i = 4 tile) warps(1) {
  %c0 = arith.constant 0 : index
  scf.for %k = %c0 to %c0 step %c0 {
    // expected-error @below {{expects parent op 'tile.kernel'}}
    tile.wait_dependencies
  }
}

// -----

// wait_dependencies C2.
tile.kernel @k(%x: memref<4xf32>) axes(%i = 4 tile) warps(1) {
  // expected-note @below {{the access}}
  %a = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32>
  // expected-error @below {{follows an access to global memory}}
  tile.wait_dependencies
}

// -----

// launch C1.
// expected-error @below {{launch of 0 blocks of 32 threads}}
"test.op"() {a = #tile.launch<blocks = 0, threads = 32, shared_bytes = 0>} : () -> ()

// -----

// target C1.
// expected-error @below {{target sm_x has the number 0, expected positive numbers}}
"test.op"() {a = #tile.target<chip = "sm_x", multiprocessors = 0, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 1, dram_bytes_per_second = 1, f32_flops_per_second = 1, launch_nanoseconds = 1>} : () -> ()

// -----

// buffer C1.
// expected-error @below {{buffer size 0 is not positive}}
"test.op"() {a = !tile.buffer<0x4xf32, #tile.shared<pad = 0, swizzle = 0>>} : () -> ()

// -----

// buffer C2.
// expected-error @below {{buffer elements are integers or floats of whole bytes}}
"test.op"() {a = !tile.buffer<4xi1, #tile.shared<pad = 0, swizzle = 0>>} : () -> ()

// -----

// tile.target is for modules.
// expected-error @below {{attribute tile.target is a #tile.target on a module}}
module attributes {tile.target = 1 : i64} {}

// -----

// tile.unroll is for loops.
// expected-error @below {{attribute tile.unroll is a positive integer on scf.for}}
"test.op"() {tile.unroll = 2 : i64} : () -> ()

// -----

// tile.raster is for kernels.
// expected-error @below {{attribute tile.raster is a positive integer on tile.kernel}}
"test.op"() {tile.raster = 2 : i64} : () -> ()

// -----

// A raster has a row at least.
// expected-error @below {{attribute tile.raster is a positive integer on tile.kernel}}
tile.kernel @raster(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) attributes {tile.raster = 0 : i64} {
}

// -----

// tile.most_blocks is for functions whose grid a launch gives.
// expected-error @below {{attribute tile.most_blocks is a positive integer on a function with tile.grid}}
func.func @most_blocks() attributes {tile.most_blocks = 2 : i64} {
  return
}

// -----

// tile.descending is for loops.
// expected-error @below {{attribute tile.descending is a unit on scf.for}}
"test.op"() {tile.descending} : () -> ()

// -----

// tile.launch is for functions.
// expected-error @below {{attribute tile.launch is a #tile.launch on a function}}
"test.op"() {tile.launch = 2 : i64} : () -> ()

// -----

// No other attributes of the dialect.
// expected-error @below {{has the unknown attribute tile.colour of the tile dialect}}
"test.op"() {tile.colour = 2 : i64} : () -> ()

// -----

// kernel C1: arguments are memrefs.
// expected-error @below {{argument 0 is 'f32', expected a memref}}
tile.kernel @k(%x: f32) axes(%i = 8 tile) {
}

// -----

// kernel C1: one index for each axis.
// expected-error @below {{has fewer block arguments than axes}}
"tile.kernel"() <{axes = [#tile.axis<extent = 8, step = 8, kind = tile>], sym_name = "k"}> ({
^bb0:
}) : () -> ()

// -----

// kernel C1: axis values are indices.
// expected-error @below {{axis value 0 is 'i32', expected an index}}
"tile.kernel"() <{axes = [#tile.axis<extent = 8, step = 8, kind = tile>], sym_name = "k"}> ({
^bb0(%i: i32):
}) : () -> ()

// -----

// kernel C2.
// expected-error @below {{has 3 warps, expected a power of two}}
tile.kernel @k(%x: memref<8xf32>) axes(%i = 8 tile) warps(3) {
}

// -----

// load C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has 1 indices for a memref of rank 2}}
  %a = tile.load %x[%i] : memref<8x64xf32> -> tensor<64xf32>
}

// -----

// load C2: dims.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{dims has 2 entries for a tile of rank 1}}
  %a = tile.load %x[%i, %c0] dims [0, 1] : memref<8x64xf32> -> tensor<64xf32>
}

// -----

// load C2: bounds.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{bounds has 2 entries for a tile of rank 1}}
  %a = tile.load %x[%i, %c0] bounds [8, 64] : memref<8x64xf32> -> tensor<64xf32>
}

// -----

// load C3: rank.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{tile of rank 3 spans a memref of rank 2}}
  %a = tile.load %x[%i, %c0] : memref<8x64xf32> -> tensor<1x8x64xf32>
}

// -----

// load C3: dims.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{dims must be distinct and below the memref's rank 2, got 1}}
  %a = tile.load %x[%i, %c0] dims [1, 1] : memref<8x64xf32> -> tensor<64x64xf32>
}

// -----

// load C3: steps.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{steps must be positive}}
  %a = tile.load %x[%i, %c0] steps [0] : memref<8x64xf32> -> tensor<64xf32>
}

// -----

// load C4.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{moves elements of 'f32' as 'f16'}}
  %a = tile.load %x[%i, %c0] : memref<8x64xf32> -> tensor<64xf16>
}

// -----

// load C5.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has vector 3, expected a power of two}}
  %a = tile.load %x[%i, %c0] vector 3 : memref<8x64xf32> -> tensor<64xf32>
}

// -----

// store C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{has 1 indices for a memref of rank 2}}
  tile.store %a, %y[%i] : tensor<64xf32>, memref<8x64xf32>
}

// -----

// copy C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{has 1 indices for a memref of rank 2}}
  tile.copy %x[%i] to %b : memref<8x64xf32>, !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
}

// -----

// async_copy C6: never awaited.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{token must be awaited exactly once by tile.await}}
  %t = tile.async_copy %x[%i, %c0] to %b : memref<8x64xf32>, !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
}

// -----

// async_copy C6: awaited twice.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{token must be awaited exactly once by tile.await}}
  %t = tile.async_copy %x[%i, %c0] to %b : memref<8x64xf32>, !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  tile.await %t
  tile.await %t
}

// -----

// async_copy C7.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{copies 32 bytes at a time, expected 4, 8 or 16}}
  %t = tile.async_copy %x[%i, %c0] to %b vector 8 : memref<8x64xf32>, !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  tile.await %t
}

// -----

// read C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{has 2 indices and a tile of rank 1 for a buffer of rank 1}}
  %a = tile.read %b[%c0, %c0] : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>> -> tensor<64xf32>
}

// -----

// read C2.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{moves elements of 'f32' as 'f16'}}
  %a = tile.read %b[%c0] : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>> -> tensor<64xf16>
}

// -----

// read C3.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  // expected-error @below {{has vector 0, expected a power of two}}
  %a = tile.read %b[%c0] vector 0 : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>> -> tensor<64xf32>
}

// -----

// write C2.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
  %a = arith.constant dense<0.0> : tensor<64xf16>
  // expected-error @below {{moves elements of 'f32' as 'f16'}}
  tile.write %a, %b[%c0] : tensor<64xf16>, !tile.buffer<64xf32, #tile.shared<pad = 0, swizzle = 0>>
}

// -----

// reduce C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  // expected-error @below {{has 2 monoids, 1 operands and 1 results}}
  %s = tile.reduce [add, max] %a axis 1 : tensor<8x64xf32> -> tensor<8xf32>
}

// -----

// reduce C2: shapes.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %b = arith.constant dense<0.0> : tensor<8x32xf32>
  // expected-error @below {{operands have different shapes or layouts}}
  %s, %m = tile.reduce [add, max] %a, %b axis 1 : tensor<8x64xf32>, tensor<8x32xf32> -> tensor<8xf32>, tensor<8xf32>
}

// -----

// reduce C2: axis.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  // expected-error @below {{axis 2 is not within a tile of rank 2}}
  %s = tile.reduce [add] %a axis 2 : tensor<8x64xf32> -> tensor<8xf32>
}

// -----

// reduce C3.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  // expected-error @below {{result is 'tensor<64xf32>', expected 'tensor<8xf32>'}}
  %s = tile.reduce [add] %a axis 1 : tensor<8x64xf32> -> tensor<64xf32>
}

// -----

// reduce: unknown monoid.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  // expected-error @below {{unknown monoid sub, expected one of add, mul, max, min, logaddexp}}
  %s = tile.reduce [sub] %a axis 1 : tensor<8x64xf32> -> tensor<8xf32>
}

// -----

// broadcast C1: number.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{has 2 dims for an operand of rank 1}}
  %s = tile.broadcast %a dims [0, 1] : tensor<8xf32> -> tensor<8x64xf32>
}

// -----

// broadcast C1: order.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8x8xf32>
  // expected-error @below {{dims must be strictly increasing and below the result's rank 3}}
  %s = tile.broadcast %a dims [1, 0] : tensor<8x8xf32> -> tensor<8x8x8xf32>
}

// -----

// broadcast C2: sizes.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{operand dimension 0 has size 8, result dimension 1 has size 64}}
  %s = tile.broadcast %a dims [1] : tensor<8xf32> -> tensor<8x64xf32>
}

// -----

// broadcast C2: elements.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<8xf16>
  // expected-error @below {{repeats elements of 'f16' as 'f32'}}
  %s = tile.broadcast %a dims [0] : tensor<8xf16> -> tensor<8x64xf32>
}

// -----

// broadcast C3.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64xf32, #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>>
  // expected-error @below {{operand is}}
  %s = tile.broadcast %a dims [1] : tensor<64xf32, #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>> -> tensor<1x64xf32, #tile.layout<[1, 64], register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>>
}

// -----

// splat C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %f = arith.constant 0.0 : f16
  // expected-error @below {{puts 'f16' into 'tensor<8xf32>'}}
  %s = tile.splat %f : f16 -> tensor<8xf32>
}

// -----

// in_bounds C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has 1 corner coordinates and 2 bounds for a tile of rank 2}}
  %s = tile.in_bounds [%i] bounds [8, 64] : tensor<8x64xi1>
}

// -----

// in_bounds C2.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has elements of 'f32', expected i1}}
  %s = tile.in_bounds [%i] bounds [8] : tensor<8xf32>
}

// -----

// convert_layout C2.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{needs a layout on its operand and its result}}
  %s = tile.convert_layout %a : tensor<64xf32> -> tensor<64xf32, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
}

// -----

// convert_layout C1.
tile.kernel @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64xf16, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
  // expected-error @below {{op requires the same element type for all operands and results}}
  %s = "tile.convert_layout"(%a) : (tensor<64xf16, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>) -> tensor<64xf32, #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
}

// -----

// iota C1.
tile.kernel @iota_c1(%y: memref<8x8xi64>) axes(%i = 8 tile) {
  // expected-error @below {{result 'tensor<8x8xi64>' has 2 dimensions, expected one or none}}
  %n = tile.iota %i : tensor<8x8xi64>
}

// -----

// iota C2.
tile.kernel @iota_c2(%y: memref<8xf32>) axes(%i = 8 tile) {
  // expected-error @below {{result holds 'f32', expected i32 or i64}}
  %n = tile.iota %i : tensor<8xf32>
}

// -----

// gather C1: offsets.
tile.kernel @gather_c1(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = arith.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{has offsets of 'f32', expected i32 or i64}}
  %a = tile.gather %x[%o] : (memref<8xf32>, tensor<8xf32>) -> tensor<8xf32>
}

// -----

// gather C1: mask.
tile.kernel @gather_c1_mask(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = tile.iota %i : tensor<8xi32>
  // expected-error @below {{has a mask of 'i32', expected i1}}
  %a = tile.gather %x[%o] mask %o : (memref<8xf32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xf32>
}

// -----

// gather C1: one shape.
tile.kernel @gather_c1_shape(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = tile.iota %i : tensor<8xi32>
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %a = tile.gather %x[%o] : (memref<8xf32>, tensor<8xi32>) -> tensor<4xf32>
}

// -----

// gather C2.
tile.kernel @gather_c2(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = tile.iota %i : tensor<8xi32>
  // expected-error @below {{moves elements of 'f32' as 'f16'}}
  %a = tile.gather %x[%o] : (memref<8xf32>, tensor<8xi32>) -> tensor<8xf16>
}

// -----

// gather C3.
tile.kernel @gather_c3(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = tile.iota %i : tensor<8xi32>
  %e = arith.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{has values for masked elements, but no mask}}
  %a = tile.gather %x[%o] else %e : (memref<8xf32>, tensor<8xi32>, tensor<8xf32>) -> tensor<8xf32>
}

// -----

// gather C4.
tile.kernel @gather_c4(%x: memref<8xf32>) axes(%i = 8 tile) {
  %o = tile.iota %i : tensor<8xi32>
  // expected-error @below {{has vector 3, expected a power of two}}
  %a = tile.gather %x[%o] vector 3 : (memref<8xf32>, tensor<8xi32>) -> tensor<8xf32>
}

// -----

// tile.misalignment: C1 to C3.

func.func @misalignment_indices(%x: memref<4x1001xf32>, %i: index) {
  // expected-error @below {{has 1 indices for a memref of rank 2}}
  %m = tile.misalignment %x[%i] modulo 4 : memref<4x1001xf32>
  return
}

// -----

func.func @misalignment_modulo(%x: memref<4x1001xf32>, %i: index) {
  // expected-error @below {{has modulo 3, expected a power of two}}
  %m = tile.misalignment %x[%i, %i] modulo 3 : memref<4x1001xf32>
  return
}

// -----

func.func @misalignment_strides(%x: memref<4x1001xf32, strided<[?, 1]>>, %i: index) {
  // expected-error @below {{expected strides and an offset that are static and not negative}}
  %m = tile.misalignment %x[%i, %i] modulo 4 : memref<4x1001xf32, strided<[?, 1]>>
  return
}

// -----

// reduce C4: logaddexp is of floats.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0> : tensor<8x64xi32>
  %c = arith.constant dense<0> : tensor<64xi32>
  // expected-error @below {{combines elements of 'i32' by logaddexp, expected floats}}
  %s = tile.reduce [logaddexp] %a axis 1 : tensor<8x64xi32> -> tensor<8xi32>
}

// -----

// scan C1: the axis.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %c = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{axis 2 is not within a tile of rank 2}}
  %y, %t = tile.scan add %a axis 2 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
}

// -----

// scan C2: the result.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %c = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{result is 'tensor<8x32xf32>', expected 'tensor<8x64xf32>'}}
  %y, %t = tile.scan add %a axis 1 : (tensor<8x64xf32>) -> (tensor<8x32xf32>, tensor<8xf32>)
}

// -----

// scan C3: the total.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %c = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{total is 'tensor<64xf32>', expected 'tensor<8xf32>'}}
  %y, %t = tile.scan add %a axis 1 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>)
}

// -----

// scan C3: the carry.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %c = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @below {{carry is 'tensor<64xf32>', expected 'tensor<8xf32>'}}
  %y, %t = tile.scan add %a carry %c axis 1 : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
}

// -----

// scan C4: logaddexp is of floats.
tile.kernel @k() axes(%i = 8 tile) {
  %a = arith.constant dense<0> : tensor<8x64xi32>
  %c = arith.constant dense<0> : tensor<64xi32>
  // expected-error @below {{combines elements of 'i32' by logaddexp, expected floats}}
  %y, %t = tile.scan logaddexp %a axis 1 : (tensor<8x64xi32>) -> (tensor<8x64xi32>, tensor<8xi32>)
}

// -----

// dot C1: the summed dimension is among the dims.
func.func @dot_c1(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>, %c: tensor<8x16xf32>) {
  // expected-error @below {{'tile.dot' op dims of lhs must be 2 different numbers from 0 to 2, with 2 among them}}
  %0 = tile.dot %a dims [0, 1], %b dims [2, 1], %c : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  return
}

// -----

// dot C2: sizes.
func.func @dot_c2(%a: tensor<8x4xf32>, %b: tensor<2x16xf32>, %c: tensor<8x16xf32>) {
  // expected-error @below {{'tile.dot' op rhs has size 2 along dimension 2, expected 4}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<8x4xf32>, tensor<2x16xf32>, tensor<8x16xf32>
  return
}

// -----

// dot C2: dimensions of the result.
func.func @dot_c2_none(%a: tensor<8x4xf32>, %b: tensor<4xf32>, %c: tensor<8x16xf32>) {
  // expected-error @below {{'tile.dot' op dimension 1 of the result is of no operand}}
  %0 = tile.dot %a dims [0, 2], %b dims [2], %c : tensor<8x4xf32>, tensor<4xf32>, tensor<8x16xf32>
  return
}

// -----

// dot C3: operands of one type.
func.func @dot_c3(%a: tensor<8x4xf32>, %b: tensor<4x16xf16>, %c: tensor<8x16xf32>) {
  // expected-error @below {{'tile.dot' op multiplies elements of 'f32' and 'f16', expected one type}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<8x4xf32>, tensor<4x16xf16>, tensor<8x16xf32>
  return
}

// -----

// dot C3: an accumulator that holds products.
func.func @dot_c3_accumulator(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>, %c: tensor<8x16xf16>) {
  // expected-error @below {{'tile.dot' op adds products of 'f32' to 'f16', expected a type that holds them}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf16>
  return
}

// -----

#acc = #tile.layout<[8, 4], register = [], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[8, 1], register = [], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[1, 4], register = [], lane = [[0, 2], [0, 1], [0, 0], [0, 0], [0, 0]], warp = []>
// dot C4: lanes hold other columns of rhs than of the result.
func.func @dot_c4(%a: tensor<8x1xf32, #lhs>, %b: tensor<1x4xf32, #rhs>, %c: tensor<8x4xf32, #acc>) {
  // expected-error @below {{'tile.dot' op rhs is}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<8x1xf32, #lhs>, tensor<1x4xf32, #rhs>, tensor<8x4xf32, #acc>
  return
}

// -----

// dot C4: fragments of an atom.
#fragment = #tile.layout<[16, 8], register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rows = #tile.layout<[16, 16], register = [[0, 1], [8, 0], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [0, 2], [0, 4]], warp = []>
#columns = #tile.layout<[16, 8], register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
func.func @dot_c4_atom(%a: tensor<16x16xf16, #rows>, %b: tensor<16x8xf16, #columns>, %c: tensor<16x8xf32, #fragment>) {
  // expected-error @below {{'tile.dot' op lhs is 'tensor<16x16xf16}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [1, 1]> : tensor<16x16xf16, #rows>, tensor<16x8xf16, #columns>, tensor<16x8xf32, #fragment>
  return
}

// -----

// dot C4: an atom that is larger than the tile.
#acc = #tile.layout<[8, 8], register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#lhs = #tile.layout<[8, 16], register = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#rhs = #tile.layout<[16, 8], register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
func.func @dot_c4_small(%a: tensor<8x16xf16, #lhs>, %b: tensor<16x8xf16, #rhs>, %c: tensor<8x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op has an atom without fragments: tile dimension 0 has size 8, expected at least 16}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [1, 1]> : tensor<8x16xf16, #lhs>, tensor<16x8xf16, #rhs>, tensor<8x8xf32, #acc>
  return
}

// -----

// dot C5: warps for each dimension.
func.func @dot_c5(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.dot' op has an atom with warps along 1 dimensions, the result has 2}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [1]> : tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>
  return
}

// -----

// dot C5: types of the instruction.
func.func @dot_c5_types(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.dot' op has an atom that multiplies 'f32' into 'f32', expected f16, bf16 or, with precision f32, f32_fast or tf32, f32 into f32, or i8 into i32}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [1, 1]> : tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  return
}

// -----

// dot C6: pieces are of f32.
func.func @dot_c6_pieces(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.dot' op has precision f32 and multiplies 'f16', expected f32}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c precision f32 : tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>
  return
}

// -----

// recompute C1: the tile is of f32.
func.func @recompute_c1(%a: tensor<16x8xf16>, %x: memref<16x64xf32>, %w: memref<64x8xf32>) {
  // expected-error @below {{'tile.recompute' op recomputes elements of 'f16', expected f32}}
  %0 = tile.recompute %a, %x[] affine_map<(d0, d1, d2) -> (d0, d2)>, %w[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 64 : tensor<16x8xf16>, memref<16x64xf32>, memref<64x8xf32>
  return
}

// -----

// recompute C1: so are the memrefs.
func.func @recompute_c1_memref(%a: tensor<16x8xf32>, %x: memref<16x64xf32>, %w: memref<64x8xf16>) {
  // expected-error @below {{'tile.recompute' op rhs has elements of 'f16', expected f32}}
  %0 = tile.recompute %a, %x[] affine_map<(d0, d1, d2) -> (d0, d2)>, %w[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 64 : tensor<16x8xf32>, memref<16x64xf32>, memref<64x8xf16>
  return
}

// -----

// recompute C2: a map has a symbol for each index.
func.func @recompute_c2(%a: tensor<16x8xf32>, %x: memref<16x64xf32>, %w: memref<64x8xf32>, %i: index) {
  // expected-error @below {{'tile.recompute' op map of lhs is affine_map<(d0, d1, d2) -> (d0, d2)>, expected 3 dimensions, 1 symbols and 2 results}}
  %0 = tile.recompute %a, %x[%i] affine_map<(d0, d1, d2) -> (d0, d2)>, %w[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 64 : tensor<16x8xf32>, memref<16x64xf32>, memref<64x8xf32>
  return
}

// -----

// recompute C3: there is something to add.
func.func @recompute_c3(%a: tensor<16x8xf32>, %x: memref<16x64xf32>, %w: memref<64x8xf32>) {
  // expected-error @below {{'tile.recompute' op adds 0 products, expected a positive number}}
  %0 = tile.recompute %a, %x[] affine_map<(d0, d1, d2) -> (d0, d2)>, %w[] affine_map<(d0, d1, d2) -> (d2, d1)> depth 0 : tensor<16x8xf32>, memref<16x64xf32>, memref<64x8xf32>
  return
}

// -----

// dot C6: tf32 is of f32.
func.func @dot_c6(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.dot' op has precision tf32 and multiplies 'f16', expected f32}}
  %0 = tile.dot %a dims [0, 2], %b dims [2, 1], %c precision tf32 : tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>
  return
}

// -----

// atom C1: powers of two.
// expected-error @below {{atom has warps [3, 1], expected powers of two, 32 at most in all}}
"test.op"() {a = #tile.atom<mma_sync, warps = [3, 1]>} : () -> ()

// -----

// atom C1: 32 warps in all.
// expected-error @below {{atom has warps [8, 8], expected powers of two, 32 at most in all}}
"test.op"() {a = #tile.atom<mma_sync, warps = [8, 8]>} : () -> ()

// -----

// atom C2: multiply-adds are no atom.
// expected-error @below {{a tile.dot without an atom is of multiply-adds, expected mma_sync or wgmma}}
"test.op"() {a = #tile.atom<fma, warps = [1, 1]>} : () -> ()

// -----

// buffer C3: rows hold whole spans of the swizzle.
// expected-error @below {{buffer has rows of 64 bytes, expected a power of two of at least the swizzle of 128}}
"test.op"() {a = !tile.buffer<8x32xf16, #tile.shared<pad = 0, swizzle = 128>>} : () -> ()

// -----

// target C1: the rate of mma.sync may be 0, but is not negative.
// expected-error @below {{target x has the number -1, expected 0 or more}}
"test.op"() {a = #tile.target<chip = "x", multiprocessors = 1, warps_per_multiprocessor = 1, blocks_per_multiprocessor = 1, registers_per_multiprocessor = 1, registers_per_thread = 1, threads_per_block = 1, shared_per_multiprocessor = 1, shared_per_block = 1, l2_bytes = 1, dram_bytes_per_second = 1, f32_flops_per_second = 1, launch_nanoseconds = 1, mma_flops_per_second = -1>} : () -> ()

// -----

// schedule C3: rows and columns of a warp tile.
// expected-error @below {{schedule has 1 sizes of a warp tile, expected rows and columns}}
"test.op"() {a = #tile.schedule<block = [64, 64], warps = 4, vector = 4, warp_tile = [64]>} : () -> ()

// -----

// schedule C6: tensor cores compute warp tiles.
// expected-error @below {{schedule has the atom mma_sync and no warp_tile, expected rows and columns}}
"test.op"() {a = #tile.schedule<block = [64, 64], warps = 4, vector = 4, atom = mma_sync>} : () -> ()

// -----

// schedule C3: rows and columns of a thread.
// expected-error @below {{schedule has 1 sizes of a thread, expected rows and columns}}
"test.op"() {a = #tile.schedule<block = [64, 64], warps = 4, vector = 4, thread = [8]>} : () -> ()

// -----

// schedule C3: powers of two.
// expected-error @below {{schedule has thread = 3, expected a power of two}}
"test.op"() {a = #tile.schedule<block = [64, 64], warps = 4, vector = 4, thread = [3, 8]>} : () -> ()

// -----

// schedule C4: stages.
// expected-error @below {{schedule has 0 stages, expected at least one}}
"test.op"() {a = #tile.schedule<block = [64, 64], warps = 4, vector = 4, thread = [8, 8], stages = 0>} : () -> ()

// -----

// slot C1: the ring without its first dimension.
tile.kernel @k() axes(%i = 8 tile) {
  %c0 = arith.constant 0 : index
  %r = tile.alloc : !tile.buffer<3x64x16xf32, #tile.shared<>>
  // expected-error @below {{'tile.slot' op is '!tile.buffer<64x8xf32, #tile.shared<>>' of the ring}}
  %s = tile.slot %r[%c0] : !tile.buffer<3x64x16xf32, #tile.shared<>> -> !tile.buffer<64x8xf32, #tile.shared<>>
}

// -----

// kernel: an axis is tile, grid or cluster.
// expected-error @below {{axis kind is tile, grid or cluster, got gird}}
tile.kernel @k(%x: memref<8xf32>) axes(%i = 8 gird) {
}

// -----

// tile.kernel: C3.

// expected-error @below {{axis 0 is a cluster axis, expected the last one alone}}
tile.kernel @cluster_axis_first(%x: memref<8x8xf32>) axes(%i = 8 step 4 cluster, %j = 8 step 1 grid) {
}

// -----

// tile.cluster_reduce: C1 to C3.

tile.kernel @cluster_reduce_counts(%x: memref<8xf32>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{has 2 monoids, 1 operands and 1 results}}
  %b = tile.cluster_reduce [add, max] %a : tensor<4xf32>
}

// -----

tile.kernel @cluster_reduce_result(%x: memref<8xf32>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{result is 'tensor<4xf16>', expected 'tensor<4xf32>'}}
  %b = "tile.cluster_reduce"(%a) {kinds = [0 : i32]} : (tensor<4xf32>) -> tensor<4xf16>
}

// -----

tile.kernel @cluster_reduce_shapes(%x: memref<8xf32>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  %b = tile.load %x[%i] : memref<8xf32> -> tensor<2xf32>
  // expected-error @below {{must have the same shape}}
  %c:2 = tile.cluster_reduce [add, add] %a, %b : tensor<4xf32>, tensor<2xf32>
}

// -----

tile.kernel @cluster_reduce_alone(%x: memref<8xf32>) axes(%i = 8 step 4 grid) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{is not directly in a tile.kernel that has a cluster axis}}
  %b = tile.cluster_reduce [add] %a : tensor<4xf32>
}

// -----

// tile.cluster_reduce_scatter: C1 to C3.

tile.kernel @scatter_alone(%x: memref<8xf32>) axes(%i = 8 step 4 grid) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{is not directly in a tile.kernel that has a cluster axis}}
  %b = tile.cluster_reduce_scatter %a dim 0 : tensor<4xf32> -> tensor<2xf32>
}

// -----

tile.kernel @scatter_dim(%x: memref<8xf32>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{has the dim 1, its operand has 1 dimensions}}
  %b = tile.cluster_reduce_scatter %a dim 1 : tensor<4xf32> -> tensor<2xf32>
}

// -----

tile.kernel @scatter_size(%x: memref<8xf32>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf32> -> tensor<4xf32>
  // expected-error @below {{gives 'tensor<1xf32>' of 'tensor<4xf32>', expected f32 and one of 2 equal parts along dimension 0}}
  %b = tile.cluster_reduce_scatter %a dim 0 : tensor<4xf32> -> tensor<1xf32>
}

// -----

tile.kernel @scatter_type(%x: memref<8xf16>) axes(%i = 8 step 4 cluster) {
  %a = tile.load %x[%i] : memref<8xf16> -> tensor<4xf16>
  // expected-error @below {{expected f32 and one of 2 equal parts}}
  %b = tile.cluster_reduce_scatter %a dim 0 : tensor<4xf16> -> tensor<2xf16>
}

// -----

#lanes = #tile.layout<[64], register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#part = #tile.layout<[32], register = [[1]], lane = [[2], [4], [8], [16], [0]], warp = []>
tile.kernel @scatter_threads(%x: memref<128xf32>) axes(%i = 128 step 64 cluster) warps(1) {
  %a = tile.load %x[%i] : memref<128xf32> -> tensor<64xf32, #lanes>
  // expected-error @below {{can't be divided among blocks: parts along dimension 0 are in other threads}}
  %b = tile.cluster_reduce_scatter %a dim 0 : tensor<64xf32, #lanes> -> tensor<32xf32, #part>
}

// -----

#whole = #tile.layout<[64], register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = []>
#other = #tile.layout<[32], register = [], lane = [[16], [8], [4], [2], [1]], warp = []>
tile.kernel @scatter_layout(%x: memref<128xf32>) axes(%i = 128 step 64 cluster) warps(1) {
  %a = tile.load %x[%i] : memref<128xf32> -> tensor<64xf32, #whole>
  // expected-error @below {{has another layout than what its operand's leaves}}
  %b = tile.cluster_reduce_scatter %a dim 0 : tensor<64xf32, #whole> -> tensor<32xf32, #other>
}

// -----

// #tile.schedule: C5, and #tile.launch: C2.

// expected-error @below {{schedule has cluster = 0, expected a positive number}}
tile.kernel @schedule_cluster(%x: memref<8xf32>) axes(%i = 8 tile) attributes {schedule = #tile.schedule<block = [1], warps = 1, vector = 1, cluster = 0>} {
}

// -----

// expected-error @below {{launch of 6 blocks in clusters of 4, expected a divisor}}
func.func private @launch_cluster() attributes {tile.launch = #tile.launch<blocks = 6, threads = 32, shared_bytes = 0, cluster = 4>}

// -----

// tile.concat: C1.

// expected-error @below {{argument 0 is 'index', expected a memref}}
tile.concat @concat_argument(%x: index) {
}

// -----

// tile.concat: C2.

// expected-error @below {{has an operation that is no tile.part}}
tile.concat @concat_body(%x: memref<8xf32>) {
  // expected-note @below {{it is here}}
  %c0 = arith.constant 0 : index
}

// -----

// tile.concat: C2.

// expected-error @below {{has 0 parts, expected at least two; launch the kernel}}
tile.concat @concat_of_none(%x: memref<8xf32>) {
}

// -----

// tile.part: C1.

tile.concat @part_of_nothing(%x: memref<8xf32>) {
  // expected-error @below {{names @nobody, which is no kernel of the module}}
  tile.part @nobody(%x) : memref<8xf32>
  tile.part @nobody(%x) : memref<8xf32>
}

// -----

// tile.part: C2.

tile.concat @part_of_two_buffers(%x: memref<8xf32>) {
  // expected-error @below {{passes 2 buffers to @part_kernel, which takes 1}}
  tile.part @part_kernel(%x, %x) : memref<8xf32>, memref<8xf32>
  tile.part @part_kernel(%x) : memref<8xf32>
}
tile.kernel @part_kernel(%x: memref<8xf32>) axes(%i = 8 tile) {
}

// -----

// tile.part: C2.

tile.concat @part_of_other_types(%x: memref<8xf32>, %y: memref<4xf32>) {
  tile.part @part_kernel(%x) : memref<8xf32>
  // expected-error @below {{passes 'memref<4xf32>' as argument 0 of @part_kernel, expected 'memref<8xf32>'}}
  tile.part @part_kernel(%y) : memref<4xf32>
}
tile.kernel @part_kernel(%x: memref<8xf32>) axes(%i = 8 tile) {
}

// -----

// Attribute tile.pieces: of which argument.
// expected-error @below {{attribute tile.pieces says that argument 1 of 'memref<3x8x8xbf16>' holds the pieces of argument 2}}
tile.kernel @k(%x: memref<8x8xf32>, %p: memref<3x8x8xbf16>) axes(%i = 8 tile) attributes {tile.pieces = array<i64: 2>} {
}

// -----

// Attribute tile.pieces: three of bf16.
// expected-error @below {{attribute tile.pieces says that argument 1 of 'memref<2x8x8xbf16>' holds the pieces of argument 0}}
tile.kernel @k(%x: memref<8x8xf32>, %p: memref<2x8x8xbf16>) axes(%i = 8 tile) attributes {tile.pieces = array<i64: 0>} {
}

// -----

// Attribute tile.part_of: of a reduction.
// expected-error @below {{attribute tile.part_of is a positive integer on loop.reduce}}
module attributes {tile.part_of = 64 : i64} {
}

// -----

// Attribute tile.part_of: a positive integer.
loop.kernel @part_of(%x: memref<64xf32>, %y: memref<1xf32>) {
  // expected-error @below {{attribute tile.part_of is a positive integer on loop.reduce}}
  %s = loop.reduce add %k = 0 to 64 : f32 attributes {tile.part_of = 0 : i64} {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
}

// -----

// Attribute tile.pieces: of a kernel.
// expected-error @below {{attribute tile.pieces is an array with a number for each of the last arguments of a kernel}}
module attributes {tile.pieces = array<i64: 0>} {
}

// -----

// tile.reduce C5: a part with their number.
tile.kernel @reduce_c5_number(%x: memref<64xf32>) axes(%i = 4 step 1 grid) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
  // expected-error @below {{'tile.reduce' op expects a part together with the number of parts}}
  %s = "tile.reduce"(%a, %i) <{axis = 0 : i64, kinds = [0 : i32], operandSegmentSizes = array<i32: 1, 1>}> : (tensor<64xf32>, index) -> tensor<f32>
}

// -----

// tile.reduce C5: an axis of as many blocks.
tile.kernel @reduce_c5_axis(%x: memref<64xf32>) axes(%i = 4 step 2 grid) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
  // expected-error @below {{'tile.reduce' op is one of 4 parts, expected at least 2 and an axis of as many blocks}}
  %s = tile.reduce [add] %a axis 0 part %i of 4 : tensor<64xf32> -> tensor<f32>
}
