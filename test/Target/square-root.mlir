// Square roots are correctly rounded.

// RUN: deplo-opt %s --deplo-kernel-pipeline --deplo-llvm-pipeline --deplo-kernel-to-ptx | tr '\\' '\n' | FileCheck %s

// CHECK: sqrt.rn.f32
// CHECK-NOT: sqrt.approx

#pointwise = #tile.layout<[32], register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @roots(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 64 step 32 grid) warps(1) {
    %a = tile.load %x[%i] : memref<64xf32> -> tensor<32xf32, #pointwise>
    %b = math.sqrt %a : tensor<32xf32, #pointwise>
    tile.store %b, %y[%i] : tensor<32xf32, #pointwise>, memref<64xf32>
  }
}
