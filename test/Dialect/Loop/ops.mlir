// RUN: deplo-opt %s | FileCheck %s
// RUN: deplo-opt %s --mlir-print-op-generic | deplo-opt | FileCheck %s
// RUN: deplo-opt %s --emit-bytecode | deplo-opt | FileCheck %s

// The launch plan: temporaries, views, launches; results are marked.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<1x32x2048xf32>, %[[W:.*]]: memref<2048xf32>, %[[Y:.*]]: memref<1x32x2048xf32> {loop.result})
// CHECK:         loop.launch @rms_norm(%[[X]], %[[W]], %[[Y]]) : memref<1x32x2048xf32>, memref<2048xf32>, memref<1x32x2048xf32>
func.func @main(%x: memref<1x32x2048xf32>, %w: memref<2048xf32>, %y: memref<1x32x2048xf32> {loop.result}) {
  loop.launch @rms_norm(%x, %w, %y) : memref<1x32x2048xf32>, memref<2048xf32>, memref<1x32x2048xf32>
  return
}

// A parallel loop, a reduction, loads and stores.
// CHECK-LABEL: loop.kernel @rms_norm
// CHECK-SAME:    (%[[X:.*]]: memref<1x32x2048xf32>, %[[W:.*]]: memref<2048xf32>, %[[Y:.*]]: memref<1x32x2048xf32>) {
// CHECK:         loop.for %i = 0 to 32 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %k = 0 to 2048 : f32 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %[[X]][0, %i, %k] : memref<1x32x2048xf32>
// CHECK-NEXT:        %[[B:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT:        loop.yield %[[B]] : f32
// CHECK-NEXT:      }
// CHECK:           loop.for %j = 0 to 2048 {
// CHECK:             loop.store %{{.*}}, %[[Y]][0, %i, %j] : memref<1x32x2048xf32>
loop.kernel @rms_norm(%x: memref<1x32x2048xf32>, %w: memref<2048xf32>, %y: memref<1x32x2048xf32>) {
  %c = arith.constant 4.8828125e-4 : f32
  %eps = arith.constant 1.0e-6 : f32
  loop.for %i = 0 to 32 {
    %ss = loop.reduce add %k = 0 to 2048 : f32 {
      %a = loop.load %x[0, %i, %k] : memref<1x32x2048xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b : f32
    }
    %m = arith.mulf %ss, %c : f32
    %e = arith.addf %m, %eps : f32
    %r = math.rsqrt %e : f32
    loop.for %j = 0 to 2048 {
      %a = loop.load %x[0, %i, %j] : memref<1x32x2048xf32>
      %g = loop.load %w[%j] : memref<2048xf32>
      %s = arith.mulf %a, %r : f32
      %o = arith.mulf %s, %g : f32
      loop.store %o, %y[0, %i, %j] : memref<1x32x2048xf32>
    }
  }
}

// Several results, every monoid.
// CHECK-LABEL: loop.kernel @monoids
// CHECK:         %{{.*}}:4 = loop.reduce [add, mul, max, min] %k = 0 to 8 : f32, f32, i32, i32 {
// CHECK:           loop.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, i32, i32
loop.kernel @monoids(%x: memref<8xf32>, %n: memref<8xi32>) {
  %r:4 = loop.reduce [add, mul, max, min] %k = 0 to 8 : f32, f32, i32, i32 {
    %a = loop.load %x[%k] : memref<8xf32>
    %b = loop.load %n[%k] : memref<8xi32>
    loop.yield %a, %a, %b, %b : f32, f32, i32, i32
  }
}

// Coordinates are affine, down to rank 0.
// CHECK-LABEL: loop.kernel @coordinates
// CHECK:         %[[A:.*]] = loop.load %{{.*}}[%i * 2 + %j + 1, %j floordiv 2, %i mod 3] : memref<17x4x8xf32>
// CHECK:         %[[B:.*]] = loop.load %{{.*}}[] : memref<f32>
loop.kernel @coordinates(%x: memref<17x4x8xf32>, %s: memref<f32>, %y: memref<4x8xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i * 2 + %j + 1, %j floordiv 2, %i mod 3] : memref<17x4x8xf32>
      %b = loop.load %s[] : memref<f32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %y[%i, %j] : memref<4x8xf32>
    }
  }
}

// Other attributes, empty bodies, loops that never run, names by depth.
// CHECK-LABEL: loop.kernel @attributes() attributes {note = "kept", schedule = 7 : i64} {
// CHECK-NEXT:    loop.for %i = 0 to 0 attributes {note} {
// CHECK-NEXT:      loop.for %j = 0 to 2 {
// CHECK-NEXT:        loop.for %l = 0 to 2 {
loop.kernel @attributes() attributes {schedule = 7, note = "kept"} {
  loop.for %a = 0 to 0 attributes {note} {
    loop.for %b = 0 to 2 {
      loop.for %c = 0 to 2 {
      }
    }
  }
}

// Loads under a condition, at an index that is loaded too.
// CHECK-LABEL: loop.kernel @conditional
// CHECK:         %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK:         %[[A:.*]] = loop.load %{{.*}}[%[[I]], %i - 2] if %{{.*}} else %{{.*}} : memref<8x4xf32>
loop.kernel @conditional(%x: memref<8x4xf32>, %n: memref<8xi64>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i64
  loop.for %i = 0 to 8 {
    %m = loop.load %n[%i] : memref<8xi64>
    %index = arith.index_cast %m : i64 to index
    %condition = arith.cmpi sge, %m, %c0 : i64
    %a = loop.load %x[%index, %i - 2] if %condition else %zero : memref<8x4xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// A size that is known when the program runs, as a number.
// CHECK-LABEL: loop.kernel @size
// CHECK:         loop.size 1048583 : i64
loop.kernel @size(%y: memref<i64>) {
  %n = loop.size 1048583 : i64
  loop.store %n, %y[] : memref<i64>
}

// A sweep with running values, one of them of another.
// CHECK-LABEL: loop.kernel @scan
// CHECK:         loop.scan %k = 0 to 8 {
// CHECK-NEXT:      %[[A:.*]] = loop.load %{{.*}}[%k] : memref<8xf32>
// CHECK-NEXT:      %[[S:.*]] = loop.running add %[[A]] : f32
// CHECK-NEXT:      %[[M:.*]] = loop.running logaddexp %[[S]] : f32
// CHECK-NEXT:      loop.store %[[M]], %{{.*}}[%k] : memref<8xf32>
loop.kernel @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.scan %k = 0 to 8 {
    %a = loop.load %x[%k] : memref<8xf32>
    %s = loop.running add %a : f32
    %m = loop.running logaddexp %s : f32
    loop.store %m, %y[%k] : memref<8xf32>
  }
}

// Blocks of a device fold a part each of one reduction.
// CHECK-LABEL: loop.kernel @parts
// CHECK:         loop.for %[[P:.+]] = 0 to 4 {
// CHECK-NEXT:      %{{.+}} = loop.reduce add %{{.+}} = 0 to 1000 part %[[P]] of 4 : f32 {
loop.kernel @parts(%x: memref<1000xf32>, %y: memref<4xf32>) {
  loop.for %p = 0 to 4 {
    %s = loop.reduce add %k = 0 to 1000 part %p of 4 : f32 {
      %a = loop.load %x[%k] : memref<1000xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%p] : memref<4xf32>
  }
}
