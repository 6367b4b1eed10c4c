// RUN: deplo-opt %s --deplo-expand-math --split-input-file --verify-diagnostics

llvm.func @f64(%x: f64) -> f64 {
  // expected-error @below {{of 'f64' has no expansion, expected f32, f16 or bf16}}
  %a = math.exp %x : f64
  llvm.return %a : f64
}

// -----

llvm.func @unknown(%x: f32) -> f32 {
  // expected-error @below {{has no expansion into arithmetic, use a function that has one}}
  %a = math.cbrt %x : f32
  llvm.return %a : f32
}
