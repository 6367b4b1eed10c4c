// RUN: deplo-opt %s --deplo-loop-to-llvm --split-input-file | FileCheck %s

// A kernel becomes two functions of a nested module: one that takes an array of
// addresses, and the body, where pointers are known not to alias. The launch
// plan stays.
// CHECK-LABEL: func.func @main
// CHECK:         loop.launch @double(%{{.*}}, %{{.*}}) : memref<8xf32>, memref<8xf32>
// CHECK-NOT:   loop.kernel
// CHECK:       module @kernels {
// CHECK:         llvm.func private @double.body(%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[Y:.*]]: !llvm.ptr {llvm.noalias}) {
// CHECK:           ^[[HEADER:.*]](%[[I:.*]]: i64):
// CHECK-NEXT:        llvm.icmp "slt" %[[I]]
// CHECK:             %[[P:.*]] = llvm.getelementptr inbounds %[[X]][%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:        %[[A:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT:        %[[B:.*]] = llvm.fadd %[[A]], %[[A]] : f32
// CHECK-NEXT:        %[[Q:.*]] = llvm.getelementptr inbounds %[[Y]][%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:        llvm.store %[[B]], %[[Q]] {alignment = 4 : i64} : f32, !llvm.ptr
// CHECK:         llvm.func @double(%[[ARGS:.*]]: !llvm.ptr) {
// CHECK-NEXT:      %[[AX:.*]] = llvm.load %[[ARGS]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-NEXT:      %[[AY:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:      llvm.call @double.body(%[[AX]], %[[AY]]) : (!llvm.ptr, !llvm.ptr) -> ()
func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}) {
  loop.launch @double(%x, %y) : memref<8xf32>, memref<8xf32>
  return
}
loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %y[%i] : memref<8xf32>
  }
}

// -----

// A long sum whose terms lie together runs in 16 lanes: 256 rows in blocks of
// 16, then a tree over the lanes, then the rest one by one.
// CHECK-LABEL: llvm.func private @long_sum.body
// CHECK-DAG:     %[[ZERO:.*]] = llvm.mlir.constant(dense<0.000000e+00> : vector<16xf32>)
// CHECK-DAG:     %[[ROWS:.*]] = llvm.mlir.constant(256 : index) : i64
// CHECK:         llvm.br ^[[BLOCKS:.*]](%{{.*}}, %[[ZERO]] : i64, vector<16xf32>)
// CHECK:       ^[[BLOCKS]](%[[BLOCK:.*]]: i64, %[[TOTAL:.*]]: vector<16xf32>):
// CHECK-NEXT:    llvm.icmp "slt" %[[BLOCK]], %[[ROWS]]
// CHECK:         %[[END:.*]] = llvm.intr.smin(%{{.*}}, %[[ROWS]])
// CHECK:         llvm.br ^[[ROW:.*]](%[[BLOCK]], %[[ZERO]] : i64, vector<16xf32>)
// CHECK:       ^[[ROW]](%[[R:.*]]: i64, %[[SUM:.*]]: vector<16xf32>):
// CHECK-NEXT:    llvm.icmp "slt" %[[R]], %[[END]]
// CHECK:         %[[V:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK-NEXT:    llvm.fadd %[[SUM]], %[[V]] : vector<16xf32>
// CHECK:         llvm.fadd %[[TOTAL]], %[[SUM]] : vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<8xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<4xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<2xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<1xf32>
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT:    llvm.fadd %{{.*}} : f32
loop.kernel @long_sum(%x: memref<4099xf32>, %y: memref<f32>) {
  %s = loop.reduce add %k = 0 to 4099 : f32 {
    %a = loop.load %x[%k] : memref<4099xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// The order of a maximum doesn't matter: no blocks. NaN propagates.
// CHECK-LABEL: llvm.func private @maximum.body
// CHECK-NOT:     llvm.intr.smin
// CHECK:         llvm.intr.maximum(%{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
loop.kernel @maximum(%x: memref<4096xf32>, %y: memref<f32>) {
  %s = loop.reduce max %k = 0 to 4096 : f32 {
    %a = loop.load %x[%k] : memref<4096xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

// Sums of columns: 16 neighbouring columns at once, terms one after the other.
// CHECK-LABEL: llvm.func private @columns.body
// CHECK:         %[[V:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK-NEXT:    llvm.fadd %{{.*}}, %[[V]] : vector<16xf32>
// CHECK-NOT:     llvm.shufflevector
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
loop.kernel @columns(%x: memref<8x64xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 {
    %s = loop.reduce add %k = 0 to 8 : f32 {
      %a = loop.load %x[%k, %i] : memref<8x64xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<64xf32>
  }
}

// -----

// bf16 converts by integers; functions are arithmetic in f32, without a library.
// CHECK-LABEL: llvm.func private @functions.body
// CHECK:         llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK-NOT:     llvm.fpext
// CHECK:         llvm.call_intrinsic "llvm.roundeven"
// CHECK-NOT:     llvm.fptrunc
// CHECK-NOT:     llvm.call @
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr
loop.kernel @functions(%x: memref<8xbf16>, %y: memref<8xbf16>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xbf16>
    %b = math.exp %a : bf16
    %c = math.expm1 %b : bf16
    loop.store %c, %y[%i] : memref<8xbf16>
  }
}

// -----

// A conditional load is a branch: the address may be anywhere.
// CHECK-LABEL: llvm.func private @conditional.body
// CHECK:         llvm.icmp "sge"
// CHECK:         llvm.cond_br %{{.*}}, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK:       ^[[THEN]]:
// CHECK:         %[[A:.*]] = llvm.load
// CHECK:         llvm.br ^[[END:.*]](%[[A]] : f32)
// CHECK:       ^[[ELSE]]:
// CHECK:         llvm.br ^[[END]](%{{.*}} : f32)
loop.kernel @conditional(%x: memref<8xf32>, %y: memref<10xf32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2 : i32
  loop.for %i = 0 to 10 {
    %n = arith.index_cast %i : index to i32
    %condition = arith.cmpi sge, %n, %two : i32
    %a = loop.load %x[%i - 2] if %condition else %zero : memref<8xf32>
    loop.store %a, %y[%i] : memref<10xf32>
  }
}

// -----

// A choice between bf16 is one between bits, so that no processor converts.
// CHECK-LABEL: llvm.func private @choice.body
// CHECK:         llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, i16
// CHECK-NOT:     llvm.select %{{.*}} : i1, bf16
loop.kernel @choice(%c: memref<8xi8>, %x: memref<8xbf16>, %y: memref<8xbf16>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %c[%i] : memref<8xi8>
    %b = arith.trunci %a : i8 to i1
    %d = loop.load %x[%i] : memref<8xbf16>
    %zero = arith.constant 0.0 : bf16
    %e = arith.select %b, %d, %zero : bf16
    loop.store %e, %y[%i] : memref<8xbf16>
  }
}

// -----

// A scan is a loop that carries what its running values fold, sums of f32 in
// f64.
// CHECK-LABEL: llvm.func private @scan.body
// CHECK:         llvm.br ^[[LOOP:.*]](%{{.*}}, %{{.*}}, %{{.*}} : i64, f64, f32)
// CHECK:       ^[[LOOP]](%{{.*}}: i64, %[[S:.*]]: f64, %[[M:.*]]: f32):
// CHECK:         %[[A:.*]] = llvm.load
// CHECK:         %[[W:.*]] = llvm.fpext %[[A]] : f32 to f64
// CHECK:         %[[T:.*]] = llvm.fadd %[[S]], %[[W]] : f64
// CHECK:         %[[N:.*]] = llvm.fptrunc %[[T]] : f64 to f32
// CHECK:         %[[U:.*]] = llvm.intr.maximum(%[[M]], %[[N]]) : (f32, f32) -> f32
// CHECK:         llvm.store %[[U]]
// CHECK:         llvm.br ^[[LOOP]](%{{.*}}, %[[T]], %[[U]] : i64, f64, f32)
loop.kernel @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.scan %k = 0 to 8 {
    %a = loop.load %x[%k] : memref<8xf32>
    %s = loop.running add %a : f32
    %m = loop.running max %s : f32
    loop.store %m, %y[%k] : memref<8xf32>
  }
}

// -----

// Neighbouring columns are scanned at once.
// CHECK-LABEL: llvm.func private @columns.body
// CHECK:         %[[A:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<16xi64>
// CHECK:         llvm.add %{{.*}}, %[[A]] : vector<16xi64>
loop.kernel @columns(%x: memref<8x32xi64>, %y: memref<8x32xi64>) {
  loop.for %i = 0 to 32 {
    loop.scan %k = 0 to 8 {
      %a = loop.load %x[%k, %i] : memref<8x32xi64>
      %s = loop.running add %a : i64
      loop.store %s, %y[%k, %i] : memref<8x32xi64>
    }
  }
}

// -----

// Without kernels nothing changes.
// CHECK-LABEL: func.func @no_kernels
// CHECK-NOT:   module @kernels
func.func @no_kernels() {
  return
}
