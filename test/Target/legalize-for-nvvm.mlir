// RUN: deplo-opt %s --pass-pipeline='builtin.module(gpu.module(deplo-legalize-for-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

// Unroll annotations move to where the translation reads them.
// CHECK-LABEL: llvm.func @annotated
//       CHECK:   llvm.br ^bb1 {loop_annotation = #{{.+}}}
//   CHECK-NOT:   llvm.loop_annotation
gpu.module @kernels {
  llvm.func @annotated() {
    llvm.br ^bb1 {llvm.loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
  ^bb1:
    llvm.return
  }
}

// -----

// What the lowering left behind is named.
gpu.module @kernels {
  llvm.func @left(%a: f32) -> f32 {
    // expected-error @below {{operation arith.addf was left by the lowering to LLVM}}
    %b = arith.addf %a, %a : f32
    llvm.return %b : f32
  }
}
