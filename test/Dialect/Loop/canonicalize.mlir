// RUN: deplo-opt %s --canonicalize --split-input-file | FileCheck %s
// RUN: deplo-opt %s --canonicalize --cse --loop-invariant-code-motion --split-input-file | FileCheck %s --check-prefix=MOTION

// Loops that run once are their bodies, at iteration 0.
// CHECK-LABEL: loop.kernel @unit_extents
// CHECK-NOT:     loop.for %{{.*}} = 0 to 1
// CHECK:         loop.for %[[I:.*]] = 0 to 32 {
// CHECK-NEXT:      %[[A:.*]] = loop.load %{{.*}}[0, %[[I]], 0] : memref<1x32x1xf32>
// CHECK-NEXT:      loop.store %[[A]], %{{.*}}[%[[I]]] : memref<32xf32>
// CHECK-NOT:     arith.constant
loop.kernel @unit_extents(%x: memref<1x32x1xf32>, %y: memref<32xf32>) {
  loop.for %b = 0 to 1 {
    loop.for %i = 0 to 32 {
      %s = loop.reduce add %k = 0 to 1 : f32 {
        %a = loop.load %x[%b, %i, %k] : memref<1x32x1xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%i] : memref<32xf32>
    }
  }
}

// -----

// A reduction over nothing is its identity.
// CHECK-LABEL: loop.kernel @over_nothing
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NOT:     loop.reduce
// CHECK:         loop.store %[[ZERO]]
// CHECK:         loop.store %[[LOW]]
loop.kernel @over_nothing(%x: memref<0xf32>, %y: memref<2xf32>) {
  %s:2 = loop.reduce [add, max] %k = 0 to 0 : f32, f32 {
    %a = loop.load %x[%k] : memref<0xf32>
    loop.yield %a, %a : f32, f32
  }
  loop.store %s#0, %y[0] : memref<2xf32>
  loop.store %s#1, %y[1] : memref<2xf32>
}

// -----

// Loops that never run and loops that do nothing go away.
// CHECK-LABEL: loop.kernel @nothing
// CHECK-NOT:     loop.for
// CHECK-NOT:     loop.load
loop.kernel @nothing(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 0 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
  }
}

// -----

// Results that nothing uses are dropped.
// CHECK-LABEL: loop.kernel @unused_result
// CHECK:         %[[R:.*]] = loop.reduce max %{{.*}} = 0 to 8 : f32 {
// CHECK-NEXT:      %[[A:.*]] = loop.load
// CHECK-NEXT:      loop.yield %[[A]] : f32
loop.kernel @unused_result(%x: memref<8xf32>, %y: memref<f32>) {
  %r:2 = loop.reduce [add, max] %k = 0 to 8 : f32, f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    %b = arith.mulf %a, %a : f32
    loop.yield %b, %a : f32, f32
  }
  loop.store %r#1, %y[] : memref<f32>
}

// -----

// Constants and equal indices fold into the coordinates, divisions by more than
// the extent vanish, unused indices are dropped.
// CHECK-LABEL: loop.kernel @coordinates
// CHECK:         loop.load %{{.*}}[%i + 3, %j] : memref<16x8xf32>
// CHECK:         loop.load %{{.*}}[%i * 2 + 1, 2] : memref<16x8xf32>
// CHECK:         loop.load %{{.*}}[%i, %j] : memref<16x8xf32>
#map = affine_map<(d0, d1, d2) -> (d0 + d1, d2)>
#twice = affine_map<(d0, d1, d2) -> (d0 + d1 + 1, 2)>
#reshape = affine_map<(d0, d1) -> ((d0 * 8 + d1) floordiv 8, (d0 * 8 + d1) mod 8)>
loop.kernel @coordinates(%x: memref<16x8xf32>, %y: memref<4x8xf32>) {
  %three = arith.constant 3 : index
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = "loop.load"(%x, %i, %three, %j) {map = #map, operandSegmentSizes = array<i32: 1, 3, 0, 0>} : (memref<16x8xf32>, index, index, index) -> f32
      %b = "loop.load"(%x, %i, %i, %j) {map = #twice, operandSegmentSizes = array<i32: 1, 3, 0, 0>} : (memref<16x8xf32>, index, index, index) -> f32
      %c = "loop.load"(%x, %i, %j) {map = #reshape, operandSegmentSizes = array<i32: 1, 2, 0, 0>} : (memref<16x8xf32>, index, index) -> f32
      %d = arith.addf %a, %b : f32
      %e = arith.addf %c, %d : f32
      loop.store %e, %y[%i, %j] : memref<4x8xf32>
    }
  }
}

// -----

// Loads and reductions have no effects: equal ones are one, even across a
// store, and invariant ones leave the loop.
// MOTION-LABEL: loop.kernel @motion
// MOTION-SAME:    (%[[X:.*]]: memref<8xf32>, %[[S:.*]]: memref<f32>, %{{.*}}: memref<4x8xf32>, %{{.*}}: memref<4x8xf32>)
// MOTION-DAG:     %[[B:.*]] = loop.load %[[S]][] : memref<f32>
// MOTION-DAG:     %[[R:.*]] = loop.reduce add
// MOTION:         loop.for
// MOTION-NOT:     loop.reduce
// MOTION:           loop.for
// MOTION-NEXT:        %[[A:.*]] = loop.load %[[X]][%{{.*}}] : memref<8xf32>
// MOTION-NEXT:        %[[C:.*]] = arith.addf %[[A]], %[[R]]
// MOTION-NEXT:        loop.store %[[C]]
// MOTION-NEXT:        %[[D:.*]] = arith.addf %[[C]], %[[B]]
// MOTION-NEXT:        loop.store %[[D]]
loop.kernel @motion(%x: memref<8xf32>, %s: memref<f32>, %y: memref<4x8xf32>, %z: memref<4x8xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %r = loop.reduce add %k = 0 to 8 : f32 {
        %v = loop.load %x[%k] : memref<8xf32>
        loop.yield %v : f32
      }
      %a = loop.load %x[%j] : memref<8xf32>
      %c = arith.addf %a, %r : f32
      loop.store %c, %y[%i, %j] : memref<4x8xf32>
      %b = loop.load %s[] : memref<f32>
      %a2 = loop.load %x[%j] : memref<8xf32>
      %r2 = loop.reduce add %k = 0 to 8 : f32 {
        %v = loop.load %x[%k] : memref<8xf32>
        loop.yield %v : f32
      }
      %c2 = arith.addf %a2, %r2 : f32
      %d = arith.addf %c2, %b : f32
      loop.store %d, %z[%i, %j] : memref<4x8xf32>
    }
  }
}

// A condition that is known goes, but not the check of an index.
// CHECK-LABEL: loop.kernel @known_conditions
// CHECK:         %[[CST:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         loop.load %x[%i] : memref<8xf32>
// CHECK:         loop.load %x[%{{.*}}] if %{{.*}} else %[[CST]] : memref<8xf32>
// CHECK:         loop.store %{{.*}}, %y
// CHECK:         loop.store %[[CST]], %z
loop.kernel @known_conditions(%x: memref<8xf32>, %n: memref<8xi64>, %y: memref<8xf32>, %z: memref<8xf32>, %w: memref<8xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  %zero = arith.constant 0.0 : f32
  loop.for %i = 0 to 8 {
    %m = loop.load %n[%i] : memref<8xi64>
    %index = arith.index_cast %m : i64 to index
    %a = loop.load %x[%i] if %true else %zero : memref<8xf32>
    %b = loop.load %x[%i] if %false else %zero : memref<8xf32>
    %c = loop.load %x[%index] if %true else %zero : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
    loop.store %b, %z[%i] : memref<8xf32>
    loop.store %c, %w[%i] : memref<8xf32>
  }
}

// -----

// A scan of one iteration is its body, running values what they fold.
// CHECK-LABEL: loop.kernel @scan_once
// CHECK-NEXT:    %[[A:.*]] = loop.load %{{.*}}[0]
// CHECK-NEXT:    loop.store %[[A]], %{{.*}}[0]
// CHECK-NEXT:  }
loop.kernel @scan_once(%x: memref<1xf32>, %y: memref<1xf32>) {
  loop.scan %k = 0 to 1 {
    %a = loop.load %x[%k] : memref<1xf32>
    %s = loop.running add %a : f32
    loop.store %s, %y[%k] : memref<1xf32>
  }
}

// -----

// What a running value folds may be the same in all iterations, but it is not;
// one that nothing uses goes away.
// CHECK-LABEL: loop.kernel @scan_of_ones
// CHECK:         loop.scan %k = 0 to 8 {
// CHECK-NEXT:      %[[S:.*]] = loop.running add %{{.*}} : f32
// CHECK-NEXT:      loop.store %[[S]]
loop.kernel @scan_of_ones(%y: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  loop.scan %k = 0 to 8 {
    %s = loop.running add %one : f32
    %unused = loop.running mul %s : f32
    loop.store %s, %y[%k] : memref<8xf32>
  }
}

// -----

// Results that fold the same values alike are one.
// CHECK-LABEL: loop.kernel @equal_results
// CHECK:         %[[S:.+]]:2 = loop.reduce [add, max] %{{.*}} = 0 to 8 : f32, f32 {
// CHECK:         loop.store %[[S]]#0, %{{.*}}[0]
// CHECK:         loop.store %[[S]]#1, %{{.*}}[1]
// CHECK:         loop.store %[[S]]#0, %{{.*}}[2]
loop.kernel @equal_results(%x: memref<8xf32>, %y: memref<3xf32>) {
  %s:3 = loop.reduce [add, max, add] %k = 0 to 8 : f32, f32, f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a, %a, %a : f32, f32, f32
  }
  loop.store %s#0, %y[0] : memref<3xf32>
  loop.store %s#1, %y[1] : memref<3xf32>
  loop.store %s#2, %y[2] : memref<3xf32>
}
