// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-gather-operands --canonicalize | FileCheck %s
// RUN: deplo-opt %s --split-input-file --deplo-attach-target --deplo-gather-operands --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-gather-operands -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Half of a rotary embedding: the negation is of what is gathered.
// CHECK-LABEL: @rotate_half
// CHECK-NOT:     graph.map
// CHECK-DAG:     %[[G:.+]] = graph.gather %arg0 by #{{.*}} where #{{.*}} : (tensor<4x8xf32>)
// CHECK-DAG:     %[[P:.+]] = graph.gather %{{.*}}, %{{.*}} else false : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x8xi1>
// CHECK-DAG:     %[[Z:.+]] = graph.gather %arg0 by #{{.*}} where #{{.*}} else 0.000000e+00 : f32 : (tensor<4x8xf32>)
// CHECK:         graph.map (%a = %[[G]] : tensor<4x8xf32>, %b = %[[P]] : tensor<4x8xi1>, %c = %[[Z]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:      %[[N:.+]] = arith.negf %a
// CHECK-NEXT:      %[[S:.+]] = arith.select %b, %[[N]], %c
// CHECK-NEXT:      graph.yield %[[S]]
// REMARK: [Passed] GatherOperands | Category:deplo-gather-operands | Function=rotate_half | Remark="1 maps or gathers are computed on what is gathered"
func.func @rotate_half(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = graph.index_map %x by affine_map<(d0, d1) -> (d0, d1)> : tensor<4x8xf32> -> tensor<4x4xf32>
  %high = graph.index_map %x by affine_map<(d0, d1) -> (d0, d1 + 4)> : tensor<4x8xf32> -> tensor<4x4xf32>
  %n = graph.map (%a = %high : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = arith.negf %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %n by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d1)>, %low by affine_map<(d0, d1) -> (d0, d1 - 4)> where affine_map<(d0, d1) -> (d1 - 4)> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// What is always read needs no selection.
// CHECK-LABEL: @reversed
// CHECK-NEXT:    %[[G:.+]] = graph.gather %arg0
// CHECK-NEXT:    graph.map (%a = %[[G]] : tensor<8xf32>)
// CHECK-NOT:       arith.select
func.func @reversed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %n = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %n by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// Left alone: a map that others read too, one that uses coordinates, and one
// that would take longer to compute a hundred times than to store.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-3: graph.map
// CHECK-COUNT-3: graph.gather
// REMARK: [Missed] GatherOperands | Category:deplo-gather-operands | Function=left_alone | Remark="no gather reads what only it needs of a map or gather"
func.func @left_alone(%x: tensor<8xf32>, %n: tensor<8xi64>, %y: tensor<65536xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<6553600xf32>) {
  %e = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.exp %a : f32
    graph.yield %0 : f32
  }
  %i = graph.map (%a = %n : tensor<8xi64>) -> tensor<8xi64> {
    %0 = graph.index 0 : i64
    %1 = arith.addi %a, %0 : i64
    graph.yield %1 : i64
  }
  %f = graph.map (%a = %y : tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = math.sin %a : f32
    graph.yield %0 : f32
  }
  %c = graph.gather %e by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  %d = graph.gather %i by affine_map<(d0) -> (7 - d0)> : (tensor<8xi64>) -> tensor<8xi64>
  %g = graph.gather %f by affine_map<(d0) -> (65535 - d0 mod 65536)> : (tensor<65536xf32>) -> tensor<6553600xf32>
  return %e, %c, %d, %g : tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<6553600xf32>
}

// -----

// Windows that overlap: the map is cheap enough to compute for each of them.
// CHECK-LABEL: @windows_of_map
// CHECK-NEXT:    %[[G:.+]] = graph.gather %arg0 {{.*}} -> tensor<4094x3xf32>
// CHECK-NEXT:    graph.map (%a = %[[G]] : tensor<4094x3xf32>)
// CHECK-NEXT:      arith.negf
func.func @windows_of_map(%x: tensor<4096xf32>) -> tensor<4094xf32> {
  %n = graph.map (%a = %x : tensor<4096xf32>) -> tensor<4096xf32> {
    %0 = arith.negf %a : f32
    graph.yield %0 : f32
  }
  %w = graph.gather %n by affine_map<(d0, d1) -> (d0 + d1)> : (tensor<4096xf32>) -> tensor<4094x3xf32>
  %m = graph.reduce max %w axes [1] : tensor<4094x3xf32> -> tensor<4094xf32>
  return %m : tensor<4094xf32>
}

// -----

// Computed on the way in a kernel that there is anyhow.
// CHECK-LABEL: @windows_of_epilogue
// CHECK:         %[[S:.+]] = graph.reduce add %arg0
// CHECK-NEXT:    %[[N:.+]] = graph.map (%a = %[[S]] : tensor<4096xf32>)
// CHECK:         graph.gather %[[N]]
func.func @windows_of_epilogue(%x: tensor<4096x512xf32>) -> tensor<4094xf32> {
  %s = graph.reduce add %x axes [1] : tensor<4096x512xf32> -> tensor<4096xf32>
  %n = graph.map (%a = %s : tensor<4096xf32>) -> tensor<4096xf32> {
    %0 = arith.negf %a : f32
    graph.yield %0 : f32
  }
  %w = graph.gather %n by affine_map<(d0, d1) -> (d0 + d1)> : (tensor<4096xf32>) -> tensor<4094x3xf32>
  %m = graph.reduce max %w axes [1] : tensor<4094x3xf32> -> tensor<4094xf32>
  return %m : tensor<4094xf32>
}

// -----

// What is around a concatenation has the fill of the padding, and where no piece
// is, that of the concatenation.
// CHECK-LABEL: @padded_cat
// CHECK:         %[[Z:.+]] = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[P:.+]] = graph.gather %arg0 by {{.+}}, %arg1 by {{.+}}, %[[Z]] by #{{.+}} where #{{.+}} else 5.000000e+00 : f32 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>) -> tensor<8x10xf32>
// CHECK-NEXT:    return %[[P]]
func.func @padded_cat(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x10xf32> {
  %c = graph.gather %x by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d0)>, %y by affine_map<(d0, d1) -> (d0 - 4, d1)> where affine_map<(d0, d1) -> (d0 - 4)> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = graph.gather %c by affine_map<(d0, d1) -> (d0, d1 - 1)> where affine_map<(d0, d1) -> (d1 - 1, 8 - d1)> else 5.0 : f32 : (tensor<8x8xf32>) -> tensor<8x10xf32>
  return %p : tensor<8x10xf32>
}

// -----

// Guarded windows read one source: padding, but no concatenation.
// CHECK-LABEL: @windows
// CHECK:         %[[C:.+]] = graph.gather %arg0 by {{.+}}, %arg1 by
// CHECK:         graph.gather %[[C]] by {{.+}} -> tensor<8x8x3xf32>
// CHECK:         graph.gather %arg0 by {{.+}} -> tensor<4x8x3xf32>
func.func @windows(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>) {
  %c = graph.gather %x by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d0)>, %y by affine_map<(d0, d1) -> (d0 - 4, d1)> where affine_map<(d0, d1) -> (d0 - 4)> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = graph.gather %c by affine_map<(d0, d1, d2) -> (d0, d1 + d2 - 1)> where affine_map<(d0, d1, d2) -> (d1 + d2 - 1, 8 - d1 - d2)> : (tensor<8x8xf32>) -> tensor<8x8x3xf32>
  %m = graph.reduce max %w axes [2] : tensor<8x8x3xf32> -> tensor<8x8xf32>
  %p = graph.gather %x by affine_map<(d0, d1) -> (d0, d1 - 1)> where affine_map<(d0, d1) -> (d1 - 1, 8 - d1)> : (tensor<4x8xf32>) -> tensor<4x10xf32>
  %v = graph.gather %p by affine_map<(d0, d1, d2) -> (d0, d1 + d2)> : (tensor<4x10xf32>) -> tensor<4x8x3xf32>
  %n = graph.reduce max %v axes [2] : tensor<4x8x3xf32> -> tensor<4x8xf32>
  return %m, %n : tensor<8x8xf32>, tensor<4x8xf32>
}

// -----

// A source without a guard is always read: it needs no fill.
// CHECK-LABEL: @shifted_twice
// CHECK-NEXT:    %[[G:.+]] = graph.gather %arg0 by #[[M:.+]] : (tensor<8xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %[[G]]
func.func @shifted_twice(%x: tensor<8xf32>) -> tensor<4xf32> {
  %a = graph.gather %x by affine_map<(d0) -> (7 - d0)> : (tensor<8xf32>) -> tensor<8xf32>
  %b = graph.gather %a by affine_map<(d0) -> (d0 + 2)> : (tensor<8xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
