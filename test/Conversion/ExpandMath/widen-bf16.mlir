// RUN: deplo-opt %s --deplo-widen-bf16 --split-input-file | FileCheck %s

// The lower element of each pair by a shift, the upper one by a mask.
// CHECK-LABEL: llvm.func @pairs
// CHECK-SAME:    %[[X:.*]]: vector<4xbf16>
// CHECK-DAG:     %[[PAIRS:.*]] = vector.bitcast %[[X]] : vector<4xbf16> to vector<2xi32>
// CHECK-DAG:     %[[BITS:.*]] = arith.constant dense<16> : vector<2xi32>
// CHECK-DAG:     %[[UPPER:.*]] = arith.constant dense<-65536> : vector<2xi32>
// CHECK-DAG:     %[[LOW:.*]] = arith.shli %[[PAIRS]], %[[BITS]]
// CHECK-DAG:     %[[HIGH:.*]] = arith.andi %[[PAIRS]], %[[UPPER]]
// CHECK:         %[[ALL:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 1, 3]
// CHECK:         %[[Y:.*]] = arith.bitcast %[[ALL]] : vector<4xi32> to vector<4xf32>
// CHECK:         llvm.return %[[Y]]
llvm.func @pairs(%x: vector<4xbf16>) -> vector<4xf32> {
  %y = arith.extf %x : vector<4xbf16> to vector<4xf32>
  llvm.return %y : vector<4xf32>
}

// -----

// What is rounded and widened again is widened by pairs, too.
// CHECK-LABEL: llvm.func @rounded
// CHECK:         arith.truncf
// CHECK-NEXT:    vector.bitcast
// CHECK-NOT:     arith.extf
llvm.func @rounded(%x: vector<4xf32>) -> vector<4xf32> {
  %half = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  %y = arith.extf %half : vector<4xbf16> to vector<4xf32>
  llvm.return %y : vector<4xf32>
}

// -----

// A sum that is rounded at once is left to bf16 instructions.
// CHECK-LABEL: llvm.func @sum
// CHECK-COUNT-2: arith.extf
// CHECK-NOT:     vector.bitcast
llvm.func @sum(%x: vector<4xbf16>, %y: vector<4xbf16>) -> vector<4xbf16> {
  %a = arith.extf %x : vector<4xbf16> to vector<4xf32>
  %b = arith.extf %y : vector<4xbf16> to vector<4xf32>
  %c = arith.addf %a, %b : vector<4xf32>
  %z = arith.truncf %c : vector<4xf32> to vector<4xbf16>
  llvm.return %z : vector<4xbf16>
}

// -----

// Numbers, odd vectors and f16 stay.
// CHECK-LABEL: llvm.func @others
// CHECK-COUNT-3: arith.extf
// CHECK-NOT:     vector.bitcast
llvm.func @others(%x: bf16, %y: vector<3xbf16>, %z: vector<4xf16>) -> vector<4xf32> {
  %a = arith.extf %x : bf16 to f32
  %b = arith.extf %y : vector<3xbf16> to vector<3xf32>
  %c = arith.extf %z : vector<4xf16> to vector<4xf32>
  %d = vector.insert %a, %c [0] : f32 into vector<4xf32>
  %e = vector.extract %b[1] : f32 from vector<3xf32>
  %f = vector.insert %e, %d [1] : f32 into vector<4xf32>
  llvm.return %f : vector<4xf32>
}
