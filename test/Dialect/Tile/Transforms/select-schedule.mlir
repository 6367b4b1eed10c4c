// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-attach-target --deplo-select-schedule --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-attach-target --deplo-select-schedule --split-input-file --remark-format=emitRemark --remarks-filter=deplo-select-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --deplo-attach-target --deplo-select-schedule=pin=warps=4,stage_inputs=always --split-input-file | FileCheck %s --check-prefix=PINNED
// RUN: deplo-opt %s --deplo-attach-target --deplo-select-schedule='pin=vector=2,unroll=2,async_copy=never,pad_smem=auto' --split-input-file | FileCheck %s --check-prefix=MORE

// A row of 2048 in registers: 8 warps, 8 elements in two accesses of 16 bytes.
// Pinned fields stay, the others are chosen for them.

// CHECK: loop.kernel @rms_norm
// CHECK-SAME: attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4>}
// PINNED: loop.kernel @rms_norm
// PINNED-SAME: attributes {schedule = #tile.schedule<block = [1], warps = 4, vector = 4, stage_inputs = always>}
// MORE: loop.kernel @rms_norm
// MORE-SAME: vector = 2, unroll = 2, async_copy = never>}

// REMARK: [Analysis] SelectSchedule | Category:deplo-select-schedule | Function=rms_norm
// REMARK-SAME: Blocks=32
// REMARK-SAME: BytesRead=270336, BytesWritten=262144
// REMARK-SAME: Remark="1 row of 2048 a block, 8 warps with 8 elements a thread, 4 side by side; 32 blocks on 132 multiprocessors"
loop.kernel @rms_norm(%x: memref<32x2048xf32>, %w: memref<2048xf32>, %y: memref<32x2048xf32>) {
  %inv = arith.constant 4.8828125e-04 : f32
  loop.for %i = 0 to 32 {
    %ss = loop.reduce add %k = 0 to 2048 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b : f32
    }
    %m = arith.mulf %ss, %inv : f32
    %r = math.rsqrt %m : f32
    loop.for %j = 0 to 2048 {
      %a = loop.load %x[%i, %j] : memref<32x2048xf32>
      %g = loop.load %w[%j] : memref<2048xf32>
      %s = arith.mulf %a, %r : f32
      %o = arith.mulf %s, %g : f32
      loop.store %o, %y[%i, %j] : memref<32x2048xf32>
    }
  }
}

// -----

// Elements of 2 bytes go 8 at a time.

// CHECK: loop.kernel @pointwise_bf16
// CHECK-SAME: vector = 8>}
loop.kernel @pointwise_bf16(%x: memref<9699328xbf16>, %y: memref<9699328xbf16>) {
  loop.for %i = 0 to 9699328 {
    %a = loop.load %x[%i] : memref<9699328xbf16>
    %b = arith.addf %a, %a : bf16
    loop.store %b, %y[%i] : memref<9699328xbf16>
  }
}

// -----

// Rows of 4097 elements are aligned to one element only; align_rows will shift
// their tiles, so that threads hold the elements of one access side by side.

// CHECK: loop.kernel @odd_rows
// CHECK-SAME: vector = 4
loop.kernel @odd_rows(%x: memref<64x4097xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %s = loop.reduce add %k = 0 to 4097 : f32 {
      %a = loop.load %x[%i, %k] : memref<64x4097xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<64xf32>
  }
}

// -----

// A row that one block can't hold is shared by the blocks of a cluster.

// CHECK: loop.kernel @long_rows
// CHECK-SAME: cluster = 8
// REMARK: Function=long_rows
// REMARK-SAME: a row of 131072 in 8 blocks of a cluster, 16384 each
loop.kernel @long_rows(%x: memref<512x131072xf32>, %y: memref<512x131072xf32>) {
  loop.for %i = 0 to 512 {
    %m = loop.reduce max %k = 0 to 131072 : f32 {
      %a = loop.load %x[%i, %k] : memref<512x131072xf32>
      loop.yield %a : f32
    }
    loop.for %j = 0 to 131072 {
      %a = loop.load %x[%i, %j] : memref<512x131072xf32>
      %o = arith.subf %a, %m : f32
      loop.store %o, %y[%i, %j] : memref<512x131072xf32>
    }
  }
}

// -----

// Columns: the parallel axis is the contiguous one, and a block takes a run of
// it.

// CHECK: loop.kernel @columns
// CHECK-SAME: block = [{{16|32|64}}]
loop.kernel @columns(%x: memref<16384x16384xf32>, %y: memref<16384xf32>) {
  loop.for %i = 0 to 16384 {
    %s = loop.reduce add %k = 0 to 16384 : f32 {
      %a = loop.load %x[%k, %i] : memref<16384x16384xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<16384xf32>
  }
}

// -----

// A transposition has contiguous accesses along both axes, and its block a run
// of each.

// CHECK: loop.kernel @transpose
// CHECK-SAME: block = [{{16|32|64}}, {{16|32|64|128}}]
loop.kernel @transpose(%x: memref<8192x8192xf32>, %y: memref<8192x8192xf32>) {
  loop.for %i = 0 to 8192 {
    loop.for %j = 0 to 8192 {
      %a = loop.load %x[%j, %i] : memref<8192x8192xf32>
      loop.store %a, %y[%i, %j] : memref<8192x8192xf32>
    }
  }
}

// -----

// Nothing to do still has a schedule, and so has a single element.

// CHECK: loop.kernel @empty
// CHECK-SAME: block = [1], warps = 1
loop.kernel @empty(%x: memref<0xf32>, %y: memref<0xf32>) {
  loop.for %i = 0 to 0 {
    %a = loop.load %x[%i] : memref<0xf32>
    loop.store %a, %y[%i] : memref<0xf32>
  }
}

// CHECK: loop.kernel @scalar
// CHECK-SAME: block = [1], warps = 1
loop.kernel @scalar(%x: memref<f32>, %y: memref<f32>) {
  %a = loop.load %x[] : memref<f32>
  loop.store %a, %y[] : memref<f32>
}

// -----

// REMARK: [Missed] SelectSchedule | Category:deplo-select-schedule | Remark="the module has no loop.kernel"
module {
}
