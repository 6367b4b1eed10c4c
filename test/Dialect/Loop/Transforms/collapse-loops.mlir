// RUN: deplo-opt %s --deplo-collapse-loops --canonicalize --cse --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-collapse-loops --split-input-file -o /dev/null \
// RUN:   --remarks-filter=deplo-collapse-loops 2>&1 | FileCheck %s --check-prefix=REMARK

// A pointwise kernel on contiguous tensors is one loop; the launch plan passes
// views, of which equal ones are shared.
// REMARK: [Passed] collapse | Category:deplo-collapse-loops | Function=double | Remark="pairs of loops merged: 1; unit dimensions dropped: 2"
// CHECK-LABEL: func.func @pointwise
// CHECK-SAME:    %[[X:.*]]: memref<1x32x2048xf32>, %[[Y:.*]]: memref<1x32x2048xf32>
// CHECK:         %[[FX:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1, 2]] : memref<1x32x2048xf32> into memref<65536xf32>
// CHECK:         %[[FY:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1, 2]] : memref<1x32x2048xf32> into memref<65536xf32>
// CHECK:         loop.launch @double(%[[FX]], %[[FY]]) : memref<65536xf32>, memref<65536xf32>
// CHECK:       loop.kernel @double(%[[KX:.*]]: memref<65536xf32>, %[[KY:.*]]: memref<65536xf32>)
// CHECK-NEXT:    loop.for %[[I:.*]] = 0 to 65536 {
// CHECK-NEXT:      %[[A:.*]] = loop.load %[[KX]][%[[I]]] : memref<65536xf32>
// CHECK-NEXT:      %[[B:.*]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT:      loop.store %[[B]], %[[KY]][%[[I]]] : memref<65536xf32>
func.func @pointwise(%x: memref<1x32x2048xf32>, %y: memref<1x32x2048xf32> {loop.result}) {
  loop.launch @double(%x, %y) : memref<1x32x2048xf32>, memref<1x32x2048xf32>
  return
}
loop.kernel @double(%x: memref<1x32x2048xf32>, %y: memref<1x32x2048xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 2048 {
      %a = loop.load %x[0, %i, %j] : memref<1x32x2048xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %y[0, %i, %j] : memref<1x32x2048xf32>
    }
  }
}

// -----

// Three loops become one; a temporary is viewed like an argument.
// CHECK-LABEL: func.func @temporary
// CHECK:         %[[T:.*]] = memref.alloc() : memref<4x8x16xf32>
// CHECK:         memref.collapse_shape %[[T]] {{\[}}[0, 1, 2]] : memref<4x8x16xf32> into memref<512xf32>
// CHECK:       loop.kernel @three
// CHECK:         loop.for %{{.*}} = 0 to 512 {
// CHECK-NOT:     loop.for
func.func @temporary(%x: memref<4x8x16xf32>) {
  %t = memref.alloc() : memref<4x8x16xf32>
  loop.launch @three(%x, %t) : memref<4x8x16xf32>, memref<4x8x16xf32>
  return
}
loop.kernel @three(%x: memref<4x8x16xf32>, %y: memref<4x8x16xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      loop.for %l = 0 to 16 {
        %a = loop.load %x[%i, %j, %l] : memref<4x8x16xf32>
        loop.store %a, %y[%i, %j, %l] : memref<4x8x16xf32>
      }
    }
  }
}

// -----

// A row-wise kernel keeps rows and columns: reduced axes merge with each other
// and so do the loops that go over them again, but not with the rows.
// REMARK: Function=rows | Remark="pairs of loops merged: 3; unit dimensions dropped: 0"
// CHECK-LABEL: loop.kernel @rows
// CHECK-SAME:    (%[[X:.*]]: memref<10x12xf32>, %[[W:.*]]: memref<12xf32>, %[[Y:.*]]: memref<10x12xf32>)
// CHECK-NEXT:    loop.for %[[I:.*]] = 0 to 10 {
// CHECK-NEXT:      %[[S:.*]] = loop.reduce add %[[K:.*]] = 0 to 12 : f32 {
// CHECK-NEXT:        %[[A:.*]] = loop.load %[[X]][%[[I]], %[[K]]]
// CHECK-NEXT:        loop.yield %[[A]]
// CHECK:           loop.for %[[J:.*]] = 0 to 12 {
// CHECK:             loop.load %[[W]][%[[J]]] : memref<12xf32>
// CHECK:             loop.store %{{.*}}, %[[Y]][%[[I]], %[[J]]] : memref<10x12xf32>
loop.kernel @rows(%x: memref<2x5x3x4xf32>, %w: memref<3x4xf32>, %y: memref<2x5x3x4xf32>) {
  loop.for %b = 0 to 2 {
    loop.for %i = 0 to 5 {
      %s = loop.reduce add %k = 0 to 3 : f32 {
        %t = loop.reduce add %l = 0 to 4 : f32 {
          %a = loop.load %x[%b, %i, %k, %l] : memref<2x5x3x4xf32>
          loop.yield %a : f32
        }
        loop.yield %t : f32
      }
      loop.for %j = 0 to 3 {
        loop.for %m = 0 to 4 {
          %g = loop.load %w[%j, %m] : memref<3x4xf32>
          %o = arith.mulf %g, %s : f32
          loop.store %o, %y[%b, %i, %j, %m] : memref<2x5x3x4xf32>
        }
      }
    }
  }
}

// -----

// A vector broadcast along the outer loop keeps the two loops apart.
// REMARK: [Missed] collapse | Category:deplo-collapse-loops | Function=bias
// REMARK-SAME: no two adjacent loops index adjacent, contiguous dimensions of every memref they access
// CHECK-LABEL: loop.kernel @bias
// CHECK:         loop.for %{{.*}} = 0 to 32 {
// CHECK-NEXT:      loop.for %{{.*}} = 0 to 64 {
loop.kernel @bias(%x: memref<32x64xf32>, %w: memref<64xf32>, %y: memref<32x64xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 64 {
      %a = loop.load %x[%i, %j] : memref<32x64xf32>
      %g = loop.load %w[%j] : memref<64xf32>
      %b = arith.addf %a, %g : f32
      loop.store %b, %y[%i, %j] : memref<32x64xf32>
    }
  }
}

// -----

// A transposed memref keeps them apart too.
// CHECK-LABEL: loop.kernel @transpose
// CHECK:         loop.load %{{.*}}[%i, %j] : memref<32x64xf32>
// CHECK:         loop.store %{{.*}}, %{{.*}}[%j, %i] : memref<64x32xf32>
loop.kernel @transpose(%x: memref<32x64xf32>, %y: memref<64x32xf32>) {
  loop.for %i = 0 to 32 {
    loop.for %j = 0 to 64 {
      %a = loop.load %x[%i, %j] : memref<32x64xf32>
      loop.store %a, %y[%j, %i] : memref<64x32xf32>
    }
  }
}

// -----

// Strides decide: rows that lie apart in memory don't merge with columns, but
// the two outer dimensions here do.
// CHECK-LABEL: func.func @strided
// CHECK:         memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : memref<2x3x8xf32, strided<[48, 16, 1]>> into memref<6x8xf32, strided<[16, 1]>>
// CHECK:         memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : memref<2x3x8xf32> into memref<6x8xf32>
// CHECK:       loop.kernel @copy_rows(%{{.*}}: memref<6x8xf32, strided<[16, 1]>>, %{{.*}}: memref<6x8xf32>)
// CHECK:         loop.for %{{.*}} = 0 to 6 {
// CHECK-NEXT:      loop.for %{{.*}} = 0 to 8 {
func.func @strided(%x: memref<2x3x8xf32, strided<[48, 16, 1]>>, %y: memref<2x3x8xf32> {loop.result}) {
  loop.launch @copy_rows(%x, %y) : memref<2x3x8xf32, strided<[48, 16, 1]>>, memref<2x3x8xf32>
  return
}
loop.kernel @copy_rows(%x: memref<2x3x8xf32, strided<[48, 16, 1]>>, %y: memref<2x3x8xf32>) {
  loop.for %i = 0 to 2 {
    loop.for %j = 0 to 3 {
      loop.for %l = 0 to 8 {
        %a = loop.load %x[%i, %j, %l] : memref<2x3x8xf32, strided<[48, 16, 1]>>
        loop.store %a, %y[%i, %j, %l] : memref<2x3x8xf32>
      }
    }
  }
}

// -----

// A shift of the outer coordinate (rows stored behind others) goes along.
// CHECK-LABEL: loop.kernel @behind
// CHECK:         loop.for %[[I:.*]] = 0 to 32 {
// CHECK:           loop.store %{{.*}}, %{{.*}}[%[[I]] + 48] : memref<80xf32>
loop.kernel @behind(%x: memref<4x8xf32>, %y: memref<10x8xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<4x8xf32>
      loop.store %a, %y[%i + 6, %j] : memref<10x8xf32>
    }
  }
}

// -----

// A slice of the columns is not contiguous.
// CHECK-LABEL: loop.kernel @columns
// CHECK:         loop.load %{{.*}}[%i, %j] : memref<4x16xf32>
loop.kernel @columns(%x: memref<4x16xf32>, %y: memref<4x8xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<4x16xf32>
      loop.store %a, %y[%i, %j] : memref<4x8xf32>
    }
  }
}

// -----

// A memref that another loop nest reads row by row keeps its dimensions, and so
// does all that would have to merge with it.
// CHECK-LABEL: loop.kernel @both_ways
// CHECK:         loop.for %{{.*}} = 0 to 4 {
// CHECK-NEXT:      loop.for %{{.*}} = 0 to 8 {
// CHECK:         loop.for %{{.*}} = 0 to 4 {
// CHECK-NEXT:      %{{.*}} = loop.reduce add %{{.*}} = 0 to 8 : f32
loop.kernel @both_ways(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %z: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<4x8xf32>
      loop.store %a, %y[%i, %j] : memref<4x8xf32>
    }
  }
  loop.for %i = 0 to 4 {
    %s = loop.reduce add %k = 0 to 8 : f32 {
      %a = loop.load %x[%i, %k] : memref<4x8xf32>
      loop.yield %a : f32
    }
    loop.store %s, %z[%i] : memref<4xf32>
  }
}

// -----

// A variable that is also a value keeps its loop.
// CHECK-LABEL: loop.kernel @positions
// CHECK:         loop.for %{{.*}} = 0 to 4 {
// CHECK-NEXT:      loop.for %{{.*}} = 0 to 8 {
loop.kernel @positions(%y: memref<4x8xi64>) {
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = arith.index_cast %j : index to i64
      loop.store %a, %y[%i, %j] : memref<4x8xi64>
    }
  }
}

// -----

// Reductions with different monoids don't merge: a sum of maxima is no maximum.
// CHECK-LABEL: loop.kernel @sum_of_maxima
// CHECK:         loop.reduce add %{{.*}} = 0 to 4 : f32
// CHECK-NEXT:      loop.reduce max %{{.*}} = 0 to 8 : f32
loop.kernel @sum_of_maxima(%x: memref<4x8xf32>, %y: memref<f32>) {
  %s = loop.reduce add %k = 0 to 4 : f32 {
    %m = loop.reduce max %l = 0 to 8 : f32 {
      %a = loop.load %x[%k, %l] : memref<4x8xf32>
      loop.yield %a : f32
    }
    loop.yield %m : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// Only unit dimensions: rank 0.
// CHECK-LABEL: func.func @scalar
// CHECK:         memref.collapse_shape %{{.*}} [] : memref<1x1xf32> into memref<f32>
// CHECK:       loop.kernel @negate(%[[X:.*]]: memref<f32>, %[[Y:.*]]: memref<f32>)
// CHECK-NEXT:    %[[A:.*]] = loop.load %[[X]][] : memref<f32>
func.func @scalar(%x: memref<1x1xf32>, %y: memref<1x1xf32> {loop.result}) {
  loop.launch @negate(%x, %y) : memref<1x1xf32>, memref<1x1xf32>
  return
}
loop.kernel @negate(%x: memref<1x1xf32>, %y: memref<1x1xf32>) {
  %a = loop.load %x[0, 0] : memref<1x1xf32>
  %b = arith.negf %a : f32
  loop.store %b, %y[0, 0] : memref<1x1xf32>
}
