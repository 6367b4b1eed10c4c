// RUN: deplo-opt %s --deplo-fuse-reductions --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-fuse-reductions --split-input-file -o /dev/null \
// RUN:   --remarks-filter=deplo-fuse-reductions 2>&1 | FileCheck %s --check-prefix=REMARK

// Two reductions of the same row become one, and the row is loaded once:
// 32 rows x 64 elements x 4 bytes are not loaded again.
// REMARK: [Passed] fuse | Category:deplo-fuse-reductions | Function=extrema | Remark="one loop in place of two saves 8192 bytes of loads"
// CHECK-LABEL: loop.kernel @extrema
// CHECK:         loop.for %[[I:.*]] = 0 to 32 {
// CHECK-NEXT:      %[[R:.*]]:2 = loop.reduce [max, min] %[[K:.*]] = 0 to 64 : f32, f32 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %{{.*}}[%[[I]], %[[K]]] : memref<32x64xf32>
// CHECK-NEXT:        loop.yield %[[A]], %[[A]] : f32, f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[D:.*]] = arith.subf %[[R]]#0, %[[R]]#1
loop.kernel @extrema(%x: memref<32x64xf32>, %y: memref<32xf32>) {
  loop.for %i = 0 to 32 {
    %max = loop.reduce max %k = 0 to 64 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x64xf32>
      loop.yield %a : f32
    }
    %min = loop.reduce min %k = 0 to 64 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x64xf32>
      loop.yield %a : f32
    }
    %d = arith.subf %max, %min : f32
    loop.store %d, %y[%i] : memref<32xf32>
  }
}

// -----

// Three become one, a value in between that the last one needs moves up.
// CHECK-LABEL: loop.kernel @three
// CHECK:         %[[C:.*]] = loop.load %{{.*}}[] : memref<f32>
// CHECK-NEXT:    %{{.*}}:3 = loop.reduce [add, max, add] %{{.*}} = 0 to 64 : f32, f32, f32 {
// CHECK-NEXT:      %[[A:.*]] = loop.load
// CHECK-NEXT:      %[[B:.*]] = arith.mulf %[[A]], %[[C]]
// CHECK-NEXT:      loop.yield %[[A]], %[[A]], %[[B]]
// CHECK-NOT:     loop.reduce
loop.kernel @three(%x: memref<64xf32>, %c: memref<f32>, %y: memref<3xf32>) {
  %s = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<3xf32>
  %m = loop.reduce max %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  loop.store %m, %y[1] : memref<3xf32>
  %scale = loop.load %c[] : memref<f32>
  %t = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    %b = arith.mulf %a, %scale : f32
    loop.yield %b : f32
  }
  loop.store %t, %y[2] : memref<3xf32>
}

// -----

// Nested reductions: the outer ones fuse, then the inner ones.
// CHECK-LABEL: loop.kernel @nested
// CHECK:         %{{.*}}:2 = loop.reduce [add, max] %{{.*}} = 0 to 4 : f32, f32 {
// CHECK-NEXT:      %{{.*}}:2 = loop.reduce [add, max] %{{.*}} = 0 to 8 : f32, f32 {
// CHECK-NEXT:        loop.load
// CHECK-NEXT:        loop.yield
loop.kernel @nested(%x: memref<4x8xf32>, %y: memref<2xf32>) {
  %s = loop.reduce add %k = 0 to 4 : f32 {
    %t = loop.reduce add %l = 0 to 8 : f32 {
      %a = loop.load %x[%k, %l] : memref<4x8xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  %m = loop.reduce max %k = 0 to 4 : f32 {
    %t = loop.reduce max %l = 0 to 8 : f32 {
      %a = loop.load %x[%k, %l] : memref<4x8xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<2xf32>
  loop.store %m, %y[1] : memref<2xf32>
}

// -----

// Softmax: the sum needs the maximum, so there are two passes.
// REMARK: [Missed] fuse | Category:deplo-fuse-reductions | Function=softmax | Remark="the later reduction depends on the earlier one"
// CHECK-LABEL: loop.kernel @softmax
// CHECK:         %[[M:.*]] = loop.reduce max
// CHECK:         loop.reduce add
// CHECK:           arith.subf %{{.*}}, %[[M]]
loop.kernel @softmax(%x: memref<64xf32>, %y: memref<f32>) {
  %m = loop.reduce max %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  %s = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    %b = arith.subf %a, %m : f32
    %e = math.exp %b : f32
    loop.yield %e : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// A dependence through other values counts as well.
// REMARK: Function=centred | Remark="the later reduction depends on the earlier one"
// CHECK-LABEL: loop.kernel @centred
// CHECK:         = loop.reduce add %{{.*}} : f32 {
// CHECK:         = loop.reduce add %{{.*}} : f32 {
loop.kernel @centred(%x: memref<64xf32>, %y: memref<f32>) {
  %c = arith.constant 0.015625 : f32
  %s = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  %mean = arith.mulf %s, %c : f32
  %v = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    %d = arith.subf %a, %mean : f32
    %q = arith.mulf %d, %d : f32
    loop.yield %q : f32
  }
  loop.store %v, %y[] : memref<f32>
}

// -----

// Different extents stay apart.
// REMARK: Function=extents | Remark="the reductions read the same data over different extents"
// CHECK-LABEL: loop.kernel @extents
// CHECK:         = loop.reduce add %{{.*}} = 0 to 64 : f32 {
// CHECK:         = loop.reduce max %{{.*}} = 0 to 32 : f32 {
loop.kernel @extents(%x: memref<64xf32>, %y: memref<2xf32>) {
  %s = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  %m = loop.reduce max %k = 0 to 32 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<2xf32>
  loop.store %m, %y[1] : memref<2xf32>
}

// -----

// Reductions of different data gain nothing.
// CHECK-LABEL: loop.kernel @apart
// CHECK:         = loop.reduce add %{{.*}} : f32 {
// CHECK:         = loop.reduce add %{{.*}} : f32 {
loop.kernel @apart(%x: memref<64xf32>, %z: memref<64xf32>, %y: memref<2xf32>) {
  %s = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %x[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  %t = loop.reduce add %k = 0 to 64 : f32 {
    %a = loop.load %z[%k] : memref<64xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<2xf32>
  loop.store %t, %y[1] : memref<2xf32>
}
