// RUN: deplo-opt %s --deplo-fuse-loops --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-fuse-loops --split-input-file -o /dev/null \
// RUN:   --remarks-filter=deplo-fuse-loops 2>&1 | FileCheck %s --check-prefix=REMARK

// Two outputs of one input: one loop, one load.
// REMARK: [Passed] fuse | Category:deplo-fuse-loops | Function=two_outputs | Remark="one loop in place of two saves 256 bytes of loads"
// CHECK-LABEL: loop.kernel @two_outputs
// CHECK-SAME:    (%[[X:.*]]: memref<64xf32>, %[[Y:.*]]: memref<64xf32>, %[[Z:.*]]: memref<64xf32>)
// CHECK-NEXT:    loop.for %[[I:.*]] = 0 to 64 {
// CHECK-NEXT:      %[[A:.*]] = loop.load %[[X]][%[[I]]]
// CHECK-NEXT:      %[[B:.*]] = math.exp %[[A]]
// CHECK-NEXT:      loop.store %[[B]], %[[Y]][%[[I]]]
// CHECK-NEXT:      %[[C:.*]] = math.tanh %[[A]]
// CHECK-NEXT:      loop.store %[[C]], %[[Z]][%[[I]]]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
loop.kernel @two_outputs(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = math.exp %a : f32
    loop.store %b, %y[%i] : memref<64xf32>
  }
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = math.tanh %a : f32
    loop.store %b, %z[%i] : memref<64xf32>
  }
}

// -----

// Rows fuse, then columns; the reduction that the second loop needs moves up.
// CHECK-LABEL: loop.kernel @rows
// CHECK:         loop.for %{{.*}} = 0 to 8 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add
// CHECK:           loop.for %{{.*}} = 0 to 64 {
// CHECK-NEXT:        %[[A:.*]] = loop.load
// CHECK-NEXT:        loop.store %[[A]]
// CHECK-NEXT:        %[[B:.*]] = arith.mulf %[[A]], %[[S]]
// CHECK-NEXT:        loop.store %[[B]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
loop.kernel @rows(%x: memref<8x64xf32>, %y: memref<8x64xf32>, %z: memref<8x64xf32>) {
  loop.for %i = 0 to 8 {
    loop.for %j = 0 to 64 {
      %a = loop.load %x[%i, %j] : memref<8x64xf32>
      loop.store %a, %y[%i, %j] : memref<8x64xf32>
    }
  }
  loop.for %i = 0 to 8 {
    %s = loop.reduce add %k = 0 to 64 : f32 {
      %a = loop.load %x[%i, %k] : memref<8x64xf32>
      loop.yield %a : f32
    }
    loop.for %j = 0 to 64 {
      %a = loop.load %x[%i, %j] : memref<8x64xf32>
      %b = arith.mulf %a, %s : f32
      loop.store %b, %z[%i, %j] : memref<8x64xf32>
    }
  }
}

// -----

// Stores to one memref keep their order.
// REMARK: [Missed] fuse | Category:deplo-fuse-loops | Function=same_output | Remark="both loops store to the same memref"
// CHECK-LABEL: loop.kernel @same_output
// CHECK-COUNT-2: loop.for
loop.kernel @same_output(%x: memref<64xf32>, %y: memref<128xf32>) {
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i] : memref<128xf32>
  }
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i + 64] : memref<128xf32>
  }
}

// -----

// REMARK: Function=extents | Remark="the loops read the same data over different extents"
// CHECK-LABEL: loop.kernel @extents
// CHECK:         loop.for %{{.*}} = 0 to 64 {
// CHECK:         loop.for %{{.*}} = 0 to 32 {
loop.kernel @extents(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<32xf32>) {
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
  loop.for %i = 0 to 32 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %z[%i] : memref<32xf32>
  }
}

// -----

// Loops that share nothing stay apart.
// CHECK-LABEL: loop.kernel @apart
// CHECK-COUNT-2: loop.for
loop.kernel @apart(%x: memref<64xf32>, %w: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
  loop.for %i = 0 to 64 {
    %a = loop.load %w[%i] : memref<64xf32>
    loop.store %a, %z[%i] : memref<64xf32>
  }
}
