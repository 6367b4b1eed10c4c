// RUN: deplo-opt %s --deplo-tile-to-kernel --split-input-file --verify-diagnostics

// Without a target.
// expected-error @below {{no target: the module has no tile.target attribute; run deplo-attach-target first}}
module {
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) {
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // Warps not chosen.
  // expected-error @below {{has no number of warps; run deplo-blockify-launch first}}
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) {
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // No layout.
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) {
    // expected-error @below {{without a layout; run deplo-register-tile first}}
    %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // More shared memory than a block has.
  // expected-error @below {{kernel needs 262144 bytes of shared memory a block, sm_90a has 232448; lower block or chunk in its schedule}}
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) {
    %b = tile.alloc : !tile.buffer<65536xf32, #tile.shared<pad = 0, swizzle = 0>>
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // More blocks than a grid has.
  // expected-error @below {{kernel needs 4294967296 blocks, the most is 2147483647; raise block in its schedule}}
  tile.kernel @k(%x: memref<4294967296xi8>) axes(%i = 4294967296 step 1 grid) warps(1) {
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // A constant tile of several values.
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) {
    // expected-error @below {{constant tile has different elements, expected a splat}}
    %a = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0]> : tensor<32xf32, #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>>
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // An operation that no thread can do alone.
  tile.kernel @k(%x: memref<32xf32>) axes(%i = 32 tile) warps(1) {
    %a = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32, #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>>
    // expected-error @below {{operation scf.while has no lowering to a thread's program}}
    scf.while : () -> () {
      %t = arith.constant true
      scf.condition(%t)
    } do {
      scf.yield
    }
  }
}

// -----

module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  // Warps that count neighbours, and lanes that count what is further apart.
  tile.kernel @k(%x: memref<64xf32>) axes(%i = 64 tile) warps(2) {
    %a = tile.load %x[%i] : memref<64xf32> -> tensor<64xf32, #tile.layout<[64], register = [], lane = [[2], [4], [8], [16], [32]], warp = [[1]]>>
    // expected-error @below {{layout's registers, lanes and warps do not follow one another along axis 0}}
    %s, %t = tile.scan add %a axis 0 : (tensor<64xf32, #tile.layout<[64], register = [], lane = [[2], [4], [8], [16], [32]], warp = [[1]]>>) -> (tensor<64xf32, #tile.layout<[64], register = [], lane = [[2], [4], [8], [16], [32]], warp = [[1]]>>, tensor<f32, #tile.layout<[], register = [], lane = [[], [], [], [], []], warp = [[]]>>)
  }
}
