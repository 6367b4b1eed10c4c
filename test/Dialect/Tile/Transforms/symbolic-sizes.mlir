// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-tile-pipeline | FileCheck %s

// A row of up to 3000 elements is one tile, masked where the size ends; the
// bound stands for the size.
// CHECK-LABEL: tile.kernel @whole_rows
// CHECK:         %[[N:.*]] = loop.size 1048583 : i64
// CHECK:         tile.load %x[%i, %{{.*}}] bounds [64, 1048583] {{.*}} -> tensor<1x4096xf32
// CHECK:         tile.in_bounds
// CHECK-SAME:    bounds [1, 1048583]
// CHECK:         tile.reduce [add]
// CHECK:         arith.sitofp %[[N]]
// CHECK:         tile.store %{{.*}} bounds [64, 1048583]
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 3000>}} {
  loop.kernel @whole_rows(%x: memref<64x1048583xf32>, %y: memref<64x1048583xf32>) {
    %n = loop.size 1048583 : i64
    loop.for %i = 0 to 64 {
      %s = loop.reduce add %k = 0 to 1048583 : f32 {
        %a = loop.load %x[%i, %k] : memref<64x1048583xf32>
        loop.yield %a : f32
      }
      %f = arith.sitofp %n : i64 to f32
      %m = arith.divf %s, %f : f32
      loop.for %k = 0 to 1048583 {
        %a = loop.load %x[%i, %k] : memref<64x1048583xf32>
        %d = arith.subf %a, %m : f32
        loop.store %d, %y[%i, %k] : memref<64x1048583xf32>
      }
    }
  }
}

// -----

// Rows that may be too long for a block are a loop over as many chunks as the
// size needs, which is not known here.
// CHECK-LABEL: tile.kernel @chunks
// CHECK:         %[[N:.*]] = loop.size 1073741827 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[N]] step
// CHECK:           tile.load %x[%i, %{{.*}}] bounds [64, 1073741827]
module attributes {graph.sizes = {n = array<i64: 1073741827, 1, 1000000000>}} {
  loop.kernel @chunks(%x: memref<64x1073741827xf32>, %y: memref<64xf32>) {
    loop.for %i = 0 to 64 {
      %s = loop.reduce add %k = 0 to 1073741827 : f32 {
        %a = loop.load %x[%i, %k] : memref<64x1073741827xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%i] : memref<64xf32>
    }
  }
}

// -----

// What 8 divides is accessed 4 elements at a time, without a check for ends
// within an access.
// CHECK-LABEL: tile.kernel @multiples_of_8
// CHECK-NOT:     tile.misalignment
// CHECK:         tile.load %x[%i, %{{.*}}] bounds [64, 8388664] vector 4
module attributes {graph.sizes = {d = array<i64: 1048583, 1, 500>}} {
  loop.kernel @multiples_of_8(%x: memref<64x8388664xf32>, %y: memref<64xf32>) {
    loop.for %i = 0 to 64 {
      %s = loop.reduce max %k = 0 to 8388664 : f32 {
        %a = loop.load %x[%i, %k] : memref<64x8388664xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%i] : memref<64xf32>
    }
  }
}
