// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --deplo-concat-grids | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-concat-grids --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-concat-grids -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Sums that read one buffer start together, in both layers as one kernel, where
// the last of them started.
// CHECK-LABEL: func.func @projections
// CHECK-NEXT:    loop.launch @wide_and_narrow(%arg0, %arg2, %arg4, %arg3, %arg5)
// CHECK-NEXT:    loop.launch @wide_and_narrow(%arg1, %arg2, %arg6, %arg3, %arg7)
// CHECK-NEXT:    return
// CHECK:       tile.concat @wide_and_narrow(
// CHECK-NEXT:    tile.part @wide(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}})
// CHECK-NEXT:    tile.part @narrow(
// CHECK-NEXT:  }
// CHECK-NOT:   tile.concat
// REMARK: ConcatGrids | Category:deplo-concat-grids | Function=wide_and_narrow
// REMARK-SAME: blocks of @wide and @narrow start together
func.func @projections(%x: memref<4x8xf32>, %u: memref<4x8xf32>, %v: memref<8x16xf32>, %w: memref<8x2xf32>, %q: memref<4x16xf32> {loop.result}, %k: memref<4x2xf32> {loop.result}, %r: memref<4x16xf32> {loop.result}, %l: memref<4x2xf32> {loop.result}) {
  loop.launch @wide(%x, %v, %q) : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32>
  loop.launch @narrow(%x, %w, %k) : memref<4x8xf32>, memref<8x2xf32>, memref<4x2xf32>
  loop.launch @wide(%u, %v, %r) : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32>
  loop.launch @narrow(%u, %w, %l) : memref<4x8xf32>, memref<8x2xf32>, memref<4x2xf32>
  return
}
loop.kernel @wide(%x: memref<4x8xf32>, %w: memref<8x16xf32>, %y: memref<4x16xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 16 {
      %s = loop.reduce add %k = 0 to 8 : f32 {
        %a = loop.load %x[%i, %k] : memref<4x8xf32>
        %b = loop.load %w[%k, %j] : memref<8x16xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<4x16xf32>
    }
  }
}
loop.kernel @narrow(%x: memref<4x8xf32>, %w: memref<8x2xf32>, %y: memref<4x2xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 2 {
      %s = loop.reduce add %k = 0 to 8 : f32 {
        %a = loop.load %x[%i, %k] : memref<4x8xf32>
        %b = loop.load %w[%k, %j] : memref<8x2xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<4x2xf32>
    }
  }
}

// -----

// One that reads what another computes can't; nor can one over which a launch
// that writes what it reads would have to move.
// CHECK-LABEL: func.func @in_turn
// CHECK-COUNT-3: loop.launch @sum(
// REMARK: no two sums share an input and can start together
func.func @in_turn(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32> {loop.result}) {
  %t = memref.alloc() : memref<4x4xf32>
  loop.launch @sum(%x, %x, %y) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  loop.launch @sum(%x, %y, %t) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  loop.launch @sum(%t, %y, %z) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}
loop.kernel @sum(%x: memref<4x4xf32>, %w: memref<4x4xf32>, %y: memref<4x4xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 4 {
      %s = loop.reduce add %k = 0 to 4 : f32 {
        %a = loop.load %x[%i, %k] : memref<4x4xf32>
        %b = loop.load %w[%k, %j] : memref<4x4xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<4x4xf32>
    }
  }
}
