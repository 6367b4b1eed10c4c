// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --deplo-tileify --split-input-file | FileCheck %s
// RUN: deplo-opt %s --deplo-tileify --split-input-file --remark-format=emitRemark --remarks-filter=deplo-tileify -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The loop over rows is an axis; the reduction stays a loop, over a tile of one
// element for each row; the loop over columns is a dimension of tiles. The
// schedule goes along.

// CHECK-LABEL: tile.kernel @rms_norm
// CHECK-SAME:    (%[[X:.+]]: memref<1x32x2048xf32>, %[[W:.+]]: memref<2048xf32>, %[[Y:.+]]: memref<1x32x2048xf32>)
// CHECK-SAME:    axes(%[[I:.+]] = 32 tile) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4>} {
// CHECK:         %[[SS:.+]] = loop.reduce add %[[K:.+]] = 0 to 2048 : tensor<32xf32> {
// CHECK:           %[[A:.+]] = tile.load %[[X]][%{{.+}}, %[[I]], %[[K]]] dims [1] : memref<1x32x2048xf32> -> tensor<32xf32>
// CHECK-NEXT:      %[[B:.+]] = arith.mulf %[[A]], %[[A]] : tensor<32xf32>
// CHECK-NEXT:      loop.yield %[[B]] : tensor<32xf32>
// CHECK:         %[[INV:.+]] = arith.constant dense<4.8828125E-4> : tensor<32xf32>
// CHECK-NEXT:    %[[M:.+]] = arith.mulf %[[SS]], %[[INV]] fastmath<contract> : tensor<32xf32>
// CHECK:         %[[R:.+]] = math.rsqrt %{{.+}} : tensor<32xf32>
// CHECK:         %[[C:.+]] = tile.load %[[X]][%{{.+}}, %[[I]], %{{.+}}] : memref<1x32x2048xf32> -> tensor<32x2048xf32>
// CHECK:         %[[G:.+]] = tile.load %[[W]][%{{.+}}] : memref<2048xf32> -> tensor<2048xf32>
// CHECK:         %[[RB:.+]] = tile.broadcast %[[R]] dims [0] : tensor<32xf32> -> tensor<32x2048xf32>
// CHECK:         %[[S:.+]] = arith.mulf %[[C]], %[[RB]] : tensor<32x2048xf32>
// CHECK:         %[[GB:.+]] = tile.broadcast %[[G]] dims [1] : tensor<2048xf32> -> tensor<32x2048xf32>
// CHECK:         %[[O:.+]] = arith.mulf %[[S]], %[[GB]] : tensor<32x2048xf32>
// CHECK:         tile.store %[[O]], %[[Y]][%{{.+}}, %[[I]], %{{.+}}] : tensor<32x2048xf32>, memref<1x32x2048xf32>

// REMARK: [Passed] Tileify | Category:deplo-tileify | Function=rms_norm | Remark="parallel axes of 32"
loop.kernel @rms_norm(%x: memref<1x32x2048xf32>, %w: memref<2048xf32>, %y: memref<1x32x2048xf32>) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4>} {
  %inv = arith.constant 4.8828125e-04 : f32
  %eps = arith.constant 1.0e-06 : f32
  loop.for %i = 0 to 32 {
    %ss = loop.reduce add %k = 0 to 2048 : f32 {
      %a = loop.load %x[0, %i, %k] : memref<1x32x2048xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b : f32
    }
    %m = arith.mulf %ss, %inv fastmath<contract> : f32
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

// -----

// A perfect nest gives several axes, also with values between its loops. Values
// that depend on no loop have no dimensions; a transposed access says which
// dimensions of memory its tile spans.

// CHECK-LABEL: tile.kernel @transpose_bias
// CHECK-SAME:    (%[[X:.+]]: memref<100x60xf32>, %[[B:.+]]: memref<60xf32>, %[[E:.+]]: memref<1xf32>, %[[Y:.+]]: memref<60x100xf32>)
// CHECK-SAME:    axes(%[[I:.+]] = 60 tile, %[[J:.+]] = 100 tile) {
// CHECK:         %[[C:.+]] = tile.load %[[E]][%{{.+}}] : memref<1xf32> -> tensor<f32>
// CHECK:         %[[BIAS:.+]] = tile.load %[[B]][%[[I]]] : memref<60xf32> -> tensor<60xf32>
// CHECK:         %[[A:.+]] = tile.load %[[X]][%[[J]], %[[I]]] dims [1, 0] : memref<100x60xf32> -> tensor<60x100xf32>
// CHECK:         tile.broadcast %[[BIAS]] dims [0] : tensor<60xf32> -> tensor<60x100xf32>
// CHECK:         tile.broadcast %[[C]] dims [] : tensor<f32> -> tensor<60x100xf32>
// CHECK:         tile.store %{{.+}}, %[[Y]][%[[I]], %[[J]]] : tensor<60x100xf32>, memref<60x100xf32>

// REMARK: Function=transpose_bias | Remark="parallel axes of 60 x 100"
loop.kernel @transpose_bias(%x: memref<100x60xf32>, %b: memref<60xf32>, %e: memref<1xf32>, %y: memref<60x100xf32>) {
  %c = loop.load %e[0] : memref<1xf32>
  loop.for %i = 0 to 60 {
    %bias = loop.load %b[%i] : memref<60xf32>
    loop.for %j = 0 to 100 {
      %a = loop.load %x[%j, %i] : memref<100x60xf32>
      %s = arith.addf %a, %bias : f32
      %o = arith.mulf %s, %c : f32
      loop.store %o, %y[%i, %j] : memref<60x100xf32>
    }
  }
}

// -----

// Multiples and offsets of a loop variable are steps and corners of the box.
// Comparison and selection work on tiles as well.

// CHECK-LABEL: tile.kernel @strided
// CHECK-SAME:    (%[[X:.+]]: memref<64x200xbf16>, %[[Y:.+]]: memref<64x50xbf16>) axes(%[[I:.+]] = 64 tile, %[[J:.+]] = 50 tile)
// CHECK:         %[[THREE:.+]] = arith.constant 3 : index
// CHECK-NEXT:    %[[M:.+]] = arith.muli %[[J]], %[[THREE]] : index
// CHECK-NEXT:    %[[SEVEN:.+]] = arith.constant 7 : index
// CHECK-NEXT:    %[[CORNER:.+]] = arith.addi %[[M]], %[[SEVEN]] : index
// CHECK-NEXT:    %[[A:.+]] = tile.load %[[X]][%[[I]], %[[CORNER]]] steps [1, 3] : memref<64x200xbf16> -> tensor<64x50xbf16>
// CHECK:         %[[P:.+]] = arith.cmpf ogt, %[[A]], %{{.+}} : tensor<64x50xbf16>
// CHECK:         arith.select %[[P]], %[[A]], %{{.+}} : tensor<64x50xi1>, tensor<64x50xbf16>
loop.kernel @strided(%x: memref<64x200xbf16>, %y: memref<64x50xbf16>) {
  %zero = arith.constant 0.0 : bf16
  loop.for %i = 0 to 64 {
    loop.for %j = 0 to 50 {
      %a = loop.load %x[%i, %j * 3 + 7] : memref<64x200xbf16>
      %p = arith.cmpf ogt, %a, %zero : bf16
      %o = arith.select %p, %a, %zero : bf16
      loop.store %o, %y[%i, %j] : memref<64x50xbf16>
    }
  }
}

// -----

// Without a parallel loop around everything, the kernel has an axis of one
// iteration.

// CHECK-LABEL: tile.kernel @normalise
// CHECK-SAME:    axes(%{{.+}} = 1 tile)
// CHECK:         %[[S:.+]] = loop.reduce add %{{.+}} = 0 to 2048 : tensor<f32> {
// CHECK:         tile.broadcast %[[S]] dims [] : tensor<f32> -> tensor<2048xf32>
loop.kernel @normalise(%x: memref<2048xf32>, %y: memref<2048xf32>) {
  %s = loop.reduce add %k = 0 to 2048 : f32 {
    %a = loop.load %x[%k] : memref<2048xf32>
    loop.yield %a : f32
  }
  loop.for %j = 0 to 2048 {
    %a = loop.load %x[%j] : memref<2048xf32>
    %o = arith.divf %a, %s : f32
    loop.store %o, %y[%j] : memref<2048xf32>
  }
}

// -----

// Values that are reduced together have the same dimensions, also a constant.

// CHECK-LABEL: tile.kernel @mean_and_count
// CHECK:         %{{.+}}:2 = loop.reduce [add, add] %{{.+}} = 0 to 8 : tensor<4xf32>, tensor<4xf32> {
// CHECK:           %[[A:.+]] = tile.load
// CHECK:           %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK:           loop.yield %[[A]], %[[ONE]] : tensor<4xf32>, tensor<4xf32>
loop.kernel @mean_and_count(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  loop.for %i = 0 to 4 {
    %s:2 = loop.reduce [add, add] %k = 0 to 8 : f32, f32 {
      %a = loop.load %x[%i, %k] : memref<4x8xf32>
      loop.yield %a, %one : f32, f32
    }
    %m = arith.divf %s#0, %s#1 : f32
    loop.store %m, %y[%i] : memref<4xf32>
  }
}

// -----

// Loops of one iteration are no dimensions, and a reduction of one element is
// that element.

// CHECK-LABEL: tile.kernel @ones
// CHECK-SAME:    (%[[X:.+]]: memref<1x1x5xf32>, %[[Y:.+]]: memref<5xf32>) axes(%{{.+}} = 1 tile, %[[J:.+]] = 5 tile)
// CHECK-NOT:     loop.reduce
// CHECK:         %[[A:.+]] = tile.load %[[X]][%{{.+}}, %{{.+}}, %[[J]]] : memref<1x1x5xf32> -> tensor<5xf32>
// CHECK:         tile.store %[[A]], %[[Y]][%[[J]]]
loop.kernel @ones(%x: memref<1x1x5xf32>, %y: memref<5xf32>) {
  loop.for %i = 0 to 1 {
    loop.for %j = 0 to 5 {
      %s = loop.reduce max %k = 0 to 1 : f32 {
        %a = loop.load %x[%i, %k, %j] : memref<1x1x5xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%j] : memref<5xf32>
    }
  }
}

// -----

// A loop without iterations leaves a kernel that does nothing.

// CHECK-LABEL: tile.kernel @empty
// CHECK-SAME:    axes(%{{.+}} = 1 tile) {
// CHECK-NEXT:  }
loop.kernel @empty(%x: memref<0x8xf32>, %y: memref<0x8xf32>) {
  loop.for %i = 0 to 0 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<0x8xf32>
      loop.store %a, %y[%i, %j] : memref<0x8xf32>
    }
  }
}

// -----

// A reduction of nothing is the identity.

// CHECK-LABEL: tile.kernel @empty_reduce
// CHECK:         %[[LOWEST:.+]] = arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK:         tile.store %[[LOWEST]]
loop.kernel @empty_reduce(%x: memref<4x0xf32>, %y: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    %s = loop.reduce max %k = 0 to 0 : f32 {
      %a = loop.load %x[%i, %k] : memref<4x0xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<4xf32>
  }
}

// -----

// REMARK: [Missed] Tileify | Category:deplo-tileify | Remark="the module has no loop.kernel"
module {
}

// -----

// A loop variable as a number: a tile of them for a parallel loop, one for a
// loop that stays.
// CHECK-LABEL: tile.kernel @numbers
// CHECK:         tile.iota %i : tensor<8xi64>
// CHECK:         loop.reduce min %[[K:.+]] = 0 to 64
// CHECK:           tile.iota %[[K]] : tensor<i64>
// CHECK:           tile.broadcast %{{.+}} dims [] : tensor<i64> -> tensor<8xi64>
loop.kernel @numbers(%y: memref<8xi64>) {
  loop.for %i = 0 to 8 {
    %n = arith.index_cast %i : index to i64
    %m = loop.reduce min %k = 0 to 64 : i64 {
      %l = arith.index_cast %k : index to i64
      %s = arith.subi %l, %n : i64
      loop.yield %s : i64
    }
    loop.store %m, %y[%i] : memref<8xi64>
  }
}

// -----

// A load that is no box, or under a condition, gathers: offsets are integers,
// each computed over the loops that it depends on.
// CHECK-LABEL: tile.kernel @gather
// CHECK:         %[[I:.+]] = tile.iota %i : tensor<8xi32>
// CHECK:         %[[MASK:.+]] = arith.cmpi sge, %[[I]], %{{.+}} : tensor<8xi32>
// CHECK:         tile.iota %i : tensor<8xi32>
// CHECK:         tile.iota %j : tensor<16xi32>
// CHECK:         %[[SUM:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<8x16xi32>
// CHECK:         %[[OFFSET:.+]] = arith.addi %[[SUM]], %{{.+}} : tensor<8x16xi32>
// CHECK:         %[[SPREAD:.+]] = tile.broadcast %[[MASK]] dims [0] : tensor<8xi1> -> tensor<8x16xi1>
// CHECK:         tile.gather %{{.+}}[%[[OFFSET]]] mask %[[SPREAD]] else %{{.+}} : (memref<22xf32>, tensor<8x16xi32>, tensor<8x16xi1>, tensor<8x16xf32>) -> tensor<8x16xf32>
loop.kernel @gather(%x: memref<22xf32>, %y: memref<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i32
  loop.for %i = 0 to 8 {
    loop.for %j = 0 to 16 {
      %n = arith.index_cast %i : index to i32
      %condition = arith.cmpi sge, %n, %one : i32
      %a = loop.load %x[%i + %j - 1] if %condition else %zero : memref<22xf32>
      loop.store %a, %y[%i, %j] : memref<8x16xf32>
    }
  }
}

// -----

// An index is data; the row it leads to is 2^31 elements away, so offsets take
// 64 bits.
// CHECK-LABEL: tile.kernel @far
// CHECK:         %[[N:.+]] = tile.load %{{.+}}[%i] : memref<8xi32> -> tensor<8xi32>
// CHECK:         %[[WIDE:.+]] = arith.extsi %[[N]] : tensor<8xi32> to tensor<8xi64>
// CHECK:         arith.muli %[[WIDE]], %{{.+}} : tensor<8xi64>
// CHECK:         tile.gather %{{.+}}[%{{.+}}] mask %{{.+}} else %{{.+}} : (memref<24901x131072xf16>, tensor<8x16xi64>, tensor<8x16xi1>, tensor<8x16xf16>) -> tensor<8x16xf16>
loop.kernel @far(%x: memref<24901x131072xf16>, %n: memref<8xi32>, %y: memref<8x16xf16>) {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : i32
  loop.for %i = 0 to 8 {
    loop.for %j = 0 to 16 {
      %m = loop.load %n[%i] : memref<8xi32>
      %index = arith.index_cast %m : i32 to index
      %condition = arith.cmpi sge, %m, %c0 : i32
      %a = loop.load %x[%index, %j] if %condition else %zero : memref<24901x131072xf16>
      loop.store %a, %y[%i, %j] : memref<8x16xf16>
    }
  }
}

// -----

// A scan is a dimension of tiles, running values are scans of tiles along it.
// CHECK-LABEL: tile.kernel @scan
// CHECK-SAME:    axes(%i = 32 tile)
// CHECK:         %[[A:.*]] = tile.load %{{.*}}[%i, %{{.*}}] : memref<32x100xf32> -> tensor<32x100xf32>
// CHECK:         %[[S:.*]], %{{.*}} = tile.scan add %[[A]] axis 1 : (tensor<32x100xf32>) -> (tensor<32x100xf32>, tensor<32xf32>)
// CHECK:         %[[ONES:.*]] = arith.constant dense<1> : tensor<100xi32>
// CHECK:         %[[N:.*]], %{{.*}} = tile.scan add %[[ONES]] axis 0 : (tensor<100xi32>) -> (tensor<100xi32>, tensor<i32>)
loop.kernel @scan(%x: memref<32x100xf32>, %y: memref<32x100xf32>) {
  %one = arith.constant 1 : i32
  loop.for %i = 0 to 32 {
    loop.scan %k = 0 to 100 {
      %a = loop.load %x[%i, %k] : memref<32x100xf32>
      %s = loop.running add %a : f32
      %n = loop.running add %one : i32
      %f = arith.sitofp %n : i32 to f32
      %m = arith.divf %s, %f : f32
      loop.store %m, %y[%i, %k] : memref<32x100xf32>
    }
  }
}

// -----

// A load under a condition is a box with bounds where little of it is outside
// of the memref: what is read there in vain is not used.
// CHECK-LABEL: tile.kernel @padded
//       CHECK:   %[[A:.+]] = tile.load %{{.+}}[%{{.+}}] bounds [64] : memref<64xf32> -> tensor<66xf32>
//       CHECK:   arith.select %{{.+}}, %[[A]], %{{.+}} : tensor<66xi1>, tensor<66xf32>
loop.kernel @padded(%x: memref<64xf32>, %y: memref<66xf32>) {
  %one = arith.constant 1 : i32
  %last = arith.constant 64 : i32
  %fill = arith.constant 1.0 : f32
  loop.for %i = 0 to 66 {
    %0 = arith.index_cast %i : index to i32
    %1 = arith.cmpi sge, %0, %one : i32
    %2 = arith.cmpi sle, %0, %last : i32
    %3 = arith.andi %1, %2 : i1
    %a = loop.load %x[%i - 1] if %3 else %fill : memref<64xf32>
    loop.store %a, %y[%i] : memref<66xf32>
  }
}

// -----

// Where most is outside, as for a part of a concatenation, nothing is read.
// CHECK-LABEL: tile.kernel @part
//   CHECK-NOT:   tile.load
//       CHECK:   tile.gather
loop.kernel @part(%x: memref<16xf32>, %y: memref<64xf32>) {
  %first = arith.constant 16 : i32
  %fill = arith.constant 1.0 : f32
  loop.for %i = 0 to 64 {
    %0 = arith.index_cast %i : index to i32
    %1 = arith.cmpi slt, %0, %first : i32
    %a = loop.load %x[%i] if %1 else %fill : memref<16xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
}

// -----

// A block has one part of a reduction: its axis is a grid already.

// CHECK-LABEL: tile.kernel @parts
// CHECK-SAME:    axes(%[[I:.+]] = 8 tile, %[[J:.+]] = 4 step 1 grid)
// CHECK:         %[[S:.+]] = loop.reduce add %[[K:.+]] = 0 to 1000 part %[[J]] of 4 : tensor<8xf32> {
// CHECK-NEXT:      tile.load %{{.+}}[%[[K]], %[[I]]] : memref<1000x8xf32> -> tensor<8xf32>
// CHECK:         tile.store %[[S]], %{{.+}}[%[[J]], %[[I]]] : tensor<8xf32>, memref<4x8xf32>
loop.kernel @parts(%x: memref<1000x8xf32>, %y: memref<4x8xf32>) {
  loop.for %i = 0 to 8 {
    loop.for %p = 0 to 4 {
      %s = loop.reduce add %k = 0 to 1000 part %p of 4 : f32 {
        %a = loop.load %x[%k, %i] : memref<1000x8xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%p, %i] : memref<4x8xf32>
    }
  }
}
