// From a kernel to PTX: the instructions that the layout promised.

// RUN: deplo-opt %s --deplo-kernel-pipeline --deplo-llvm-pipeline --deplo-kernel-to-ptx | tr '\\' '\n' | FileCheck %s

#row = #tile.layout<[1, 1024], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128], [0, 256], [0, 512]]>
#rows = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0], [0]]>

// CHECK: gpu.binary @kernels
// CHECK-SAME: #gpu.kernel_metadata<"row_norm"
// CHECK-SAME: metadata = {launch = #tile.launch<blocks = 32, threads = 256, shared_bytes = 32>}
// CHECK: .version 8.1
// CHECK: .target sm_90a
// CHECK: .visible .entry row_norm(
// CHECK: .reqntid 256, 1, 1
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared.b32
// CHECK: bar{{(rier)?}}.sync
// CHECK-COUNT-2: ld.shared.v4.b32
// CHECK: rsqrt.approx.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: .local
module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, registers_per_multiprocessor = 65536, registers_per_thread = 255, threads_per_block = 1024, shared_per_multiprocessor = 233472, shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = 4800000000000, f32_flops_per_second = 67000000000000, launch_nanoseconds = 760>} {
  tile.kernel @row_norm(%x: memref<32x1024xf32>, %y: memref<32x1024xf32>) axes(%i = 32 step 1 grid) warps(8) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] vector 4 : memref<32x1024xf32> -> tensor<1x1024xf32, #row>
    %q = arith.mulf %a, %a : tensor<1x1024xf32, #row>
    %s = tile.reduce [add] %q axis 1 : tensor<1x1024xf32, #row> -> tensor<1xf32, #rows>
    %r = math.rsqrt %s : tensor<1xf32, #rows>
    %b = tile.broadcast %r dims [0] : tensor<1xf32, #rows> -> tensor<1x1024xf32, #row>
    %o = arith.mulf %a, %b : tensor<1x1024xf32, #row>
    tile.store %o, %y[%i, %c0] vector 4 : tensor<1x1024xf32, #row>, memref<32x1024xf32>
  }
}
