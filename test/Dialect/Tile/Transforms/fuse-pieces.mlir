// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32-fast pin=atom=wgmma},deplo-fuse-pieces{precision=f32-fast})' | FileCheck %s
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32-fast pin=atom=wgmma},deplo-fuse-pieces{precision=f32-fast})' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{precision=f32-fast pin=atom=wgmma},deplo-fuse-pieces{precision=f32-fast pin=fuse_pieces=never})' | FileCheck %s --check-prefix=NEVER
// RUN: deplo-opt %s --split-input-file --pass-pipeline='builtin.module(deplo-attach-target,deplo-split-pieces{pin=atom=wgmma},deplo-fuse-pieces)' --remark-policy=all --remark-format=emitRemark --remarks-filter=deplo-fuse-pieces -o /dev/null 2>&1 | FileCheck %s --check-prefix=F32

// F32: the precision is not f32-fast

// A kernel with whole rows folds what it computes, and writes both pieces where
// it stores it.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x1024xf32>, %[[W:[a-z0-9]+]]: memref<2048x1024xf32>, %[[Y:[a-z0-9]+]]: memref<2048x2048xf32>
// CHECK:         %[[T:.+]] = memref.alloc() : memref<2048x1024xf32>
// CHECK-NEXT:    %[[S:.+]] = memref.alloc() : memref<2048x1xf32>
// CHECK-NEXT:    %[[P:.+]] = memref.alloc() : memref<2x2048x1024xf16>
// CHECK:         loop.launch @norm(%[[X]], %[[T]], %[[S]], %[[P]])
// CHECK:         loop.launch @pieces(%[[W]],
// CHECK-NEXT:    loop.launch @mm(%[[T]], %[[W]], %[[Y]], %[[P]], %{{.+}}, %[[S]], %{{.+}})
// CHECK:       loop.kernel @norm(
// CHECK-SAME:    memref<2x2048x1024xf16>) {
// CHECK:         loop.for %[[I:.+]] = 0 to 2048
// CHECK:           loop.reduce add
// CHECK:           loop.reduce max %[[K:.+]] = 0 to 1024 : f32
// CHECK-NEXT:        %[[A:.+]] = loop.load %{{.+}}[%[[I]], %[[K]]]
// CHECK-NEXT:        %[[B:.+]] = arith.mulf %[[A]]
// CHECK-NEXT:        math.absf %[[B]]
// CHECK:           loop.for %[[J:.+]] = 0 to 1024
// CHECK-NEXT:        %[[C:.+]] = loop.load %{{.+}}[%[[I]], %[[J]]]
// CHECK-NEXT:        %[[V:.+]] = arith.mulf %[[C]]
// CHECK-NEXT:        loop.store %[[V]], %{{.+}}[%[[I]], %[[J]]]
// CHECK:             %[[N:.+]] = arith.mulf %[[V]]
// CHECK-NEXT:        %[[H:.+]] = arith.truncf %[[N]] : f32 to f16
// CHECK-NEXT:        loop.store %[[H]], %{{.+}}[0, %[[I]], %[[J]]]
// CHECK:             loop.store %{{.+}}, %{{.+}}[1, %[[I]], %[[J]]]
// CHECK-NOT:       loop.for
// CHECK:           loop.store %{{.+}}, %{{.+}}[%[[I]], 0]
// REMARK: {{.}}Passed{{.}}{{.*}}Function=norm | Remark="it writes the pieces of its result: rows are on chip"
// NEVER-LABEL: func.func @rows
// NEVER:         loop.launch @norm(
// NEVER:         loop.launch @pieces(
func.func @rows(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32> {loop.result}) {
  %t = memref.alloc() : memref<2048x1024xf32>
  loop.launch @norm(%x, %t) : memref<2048x1024xf32>, memref<2048x1024xf32>
  loop.launch @mm(%t, %w, %y) : memref<2048x1024xf32>, memref<2048x1024xf32>, memref<2048x2048xf32>
  return
}
loop.kernel @norm(%x: memref<2048x1024xf32>, %t: memref<2048x1024xf32>) {
  loop.for %i = 0 to 2048 {
    %s = loop.reduce add %k = 0 to 1024 : f32 {
      %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b : f32
    }
    %r = math.rsqrt %s : f32
    loop.for %j = 0 to 1024 {
      %a = loop.load %x[%i, %j] : memref<2048x1024xf32>
      %b = arith.mulf %a, %r : f32
      loop.store %b, %t[%i, %j] : memref<2048x1024xf32>
    }
  }
}
loop.kernel @mm(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
        %b = loop.load %w[%j, %k] : memref<2048x1024xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// A loop over all elements of memory becomes loops over rows and along them.

// CHECK-LABEL: func.func @elements
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x1024xf32>
// CHECK:         loop.launch @gate(%[[X]], %{{.+}}, %{{.+}}, %{{.+}}) : memref<2048x1024xf32>, memref<2048x1024xf32>, memref<2048x1xf32>, memref<2x2048x1024xf16>
// CHECK:       loop.kernel @gate(
// CHECK:         loop.for %[[I:.+]] = 0 to 2048
// CHECK:           loop.reduce max %[[K:.+]] = 0 to 1024 : f32
// CHECK-NEXT:        loop.load %{{.+}}[%[[I]], %[[K]]]
// CHECK-NEXT:        math.exp
// CHECK-NEXT:        math.absf
// CHECK:           loop.for %[[J:.+]] = 0 to 1024
// CHECK:             loop.store %{{.+}}, %{{.+}}[%[[I]], %[[J]]]
// CHECK:             loop.store %{{.+}}, %{{.+}}[0, %[[I]], %[[J]]]
// REMARK: {{.}}Passed{{.}}{{.*}}Function=gate |
func.func @elements(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32> {loop.result}) {
  %t = memref.alloc() : memref<2048x1024xf32>
  %v = memref.collapse_shape %x [[0, 1]] : memref<2048x1024xf32> into memref<2097152xf32>
  %u = memref.collapse_shape %t [[0, 1]] : memref<2048x1024xf32> into memref<2097152xf32>
  loop.launch @gate(%v, %u) : memref<2097152xf32>, memref<2097152xf32>
  loop.launch @mm(%t, %w, %y) : memref<2048x1024xf32>, memref<2048x1024xf32>, memref<2048x2048xf32>
  return
}
loop.kernel @gate(%x: memref<2097152xf32>, %t: memref<2097152xf32>) {
  loop.for %i = 0 to 2097152 {
    %a = loop.load %x[%i] : memref<2097152xf32>
    %b = math.exp %a : f32
    loop.store %b, %t[%i] : memref<2097152xf32>
  }
}
loop.kernel @mm(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
        %b = loop.load %w[%j, %k] : memref<2048x1024xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// Several blocks compute a row of a product.

// CHECK-LABEL: func.func @products
// CHECK:         loop.launch @mm(
// CHECK:         loop.launch @pieces(
// CHECK:         loop.launch @mm(
// REMARK: {{.}}Missed{{.}}{{.*}}Function=mm | {{.*}}pieces of its result are written by a kernel of their own: each of its elements is a sum of its own, and its rows are computed by several blocks
func.func @products(%x: memref<2048x2048xf32>, %w: memref<2048x2048xf32>, %y: memref<2048x2048xf32> {loop.result}) {
  %t = memref.alloc() : memref<2048x2048xf32>
  loop.launch @mm(%x, %w, %t) : memref<2048x2048xf32>, memref<2048x2048xf32>, memref<2048x2048xf32>
  loop.launch @mm(%t, %w, %y) : memref<2048x2048xf32>, memref<2048x2048xf32>, memref<2048x2048xf32>
  return
}
loop.kernel @mm(%x: memref<2048x2048xf32>, %w: memref<2048x2048xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 2048 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x2048xf32>
        %b = loop.load %w[%j, %k] : memref<2048x2048xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}

// -----

// Of two launches that write an operand, the last one computes what is read, and
// it stores a part of the rows only.

// CHECK-LABEL: func.func @parts
// CHECK:         loop.launch @whole(
// CHECK:         loop.launch @left(
// CHECK:         loop.launch @pieces(
// REMARK: {{.}}Missed{{.}}{{.*}}Function=left | {{.*}}its kernel doesn't store whole rows in one loop
func.func @parts(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32> {loop.result}) {
  %t = memref.alloc() : memref<2048x1024xf32>
  loop.launch @whole(%x, %t) : memref<2048x1024xf32>, memref<2048x1024xf32>
  loop.launch @left(%x, %t) : memref<2048x1024xf32>, memref<2048x1024xf32>
  loop.launch @mm(%t, %w, %y) : memref<2048x1024xf32>, memref<2048x1024xf32>, memref<2048x2048xf32>
  return
}
loop.kernel @whole(%x: memref<2048x1024xf32>, %t: memref<2048x1024xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 1024 {
      %a = loop.load %x[%i, %j] : memref<2048x1024xf32>
      loop.store %a, %t[%i, %j] : memref<2048x1024xf32>
    }
  }
}
loop.kernel @left(%x: memref<2048x1024xf32>, %t: memref<2048x1024xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 512 {
      %a = loop.load %x[%i, %j * 2] : memref<2048x1024xf32>
      loop.store %a, %t[%i, %j] : memref<2048x1024xf32>
    }
  }
}
loop.kernel @mm(%x: memref<2048x1024xf32>, %w: memref<2048x1024xf32>, %y: memref<2048x2048xf32>) {
  loop.for %i = 0 to 2048 {
    loop.for %j = 0 to 2048 {
      %s = loop.reduce add %k = 0 to 1024 : f32 {
        %a = loop.load %x[%i, %k] : memref<2048x1024xf32>
        %b = loop.load %w[%j, %k] : memref<2048x1024xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %y[%i, %j] : memref<2048x2048xf32>
    }
  }
}
