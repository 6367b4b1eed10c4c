// RUN: deplo-opt %s --deplo-expand-math --split-input-file | FileCheck %s

// On the host, by LLVM's intrinsics and arithmetic.
// CHECK-LABEL: llvm.func @host
// CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (vector<4xf32>) -> vector<4xf32>
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
// CHECK:         arith.divf %[[ONE]], %[[ROOT]]
// CHECK:         llvm.call_intrinsic "llvm.floor"
// CHECK-NOT:     math.
llvm.func @host(%x: vector<4xf32>) -> vector<4xf32> {
  %a = math.rsqrt %x : vector<4xf32>
  %b = math.floor %a : vector<4xf32>
  %c = math.exp %b : vector<4xf32>
  %d = math.log1p %c : vector<4xf32>
  llvm.return %d : vector<4xf32>
}

// -----

// A GPU has instructions for 2^x and 1 / sqrt(x).
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @gpu
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx"
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
  llvm.func @gpu(%x: f32) -> f32 {
    %a = math.exp %x : f32
    %b = math.rsqrt %a : f32
    llvm.return %b : f32
  }
}

// -----

// bf16 in f32, rounded once.
// CHECK-LABEL: llvm.func @half
// CHECK:         arith.extf %arg0 : bf16 to f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
llvm.func @half(%x: bf16) -> bf16 {
  %a = math.sqrt %x : bf16
  llvm.return %a : bf16
}

// -----

// Large angles are reduced in a branch.
// CHECK-LABEL: llvm.func @angle
// CHECK:         %[[ANY:.*]] = vector.reduction <or>, %{{.*}} : vector<2xi1> into i1
// CHECK:         scf.if %[[ANY]] -> (vector<2xi64>)
llvm.func @angle(%x: vector<2xf32>) -> vector<2xf32> {
  %a = math.sin %x : vector<2xf32>
  llvm.return %a : vector<2xf32>
}

// -----

// Integers: the lowest is its own absolute value.
// CHECK-LABEL: llvm.func @integer
// CHECK:         arith.cmpi slt
// CHECK:         arith.subi
// CHECK:         arith.select
llvm.func @integer(%x: i64) -> i64 {
  %a = math.absi %x : i64
  llvm.return %a : i64
}
