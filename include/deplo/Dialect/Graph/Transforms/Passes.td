// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"deplo-decompose", "::mlir::func::FuncOp"> {
  let summary = "named operators become maps, reductions and index maps";
  let description = [{
    Every named operator of a function is replaced by primitives. Each computes
    in f32 for f16 and bf16 operands and rounds once, to its result's type: the
    conversions are operations of the maps' regions, so that what is rounded
    where can be read from the IR.

    ```mlir
    %y = graph.silu %x : tensor<4x8xbf16>
    ```
    becomes
    ```mlir
    %y = graph.map (%a = %x : tensor<4x8xbf16>) -> tensor<4x8xbf16> {
      %x32 = arith.extf %a : bf16 to f32
      %n = arith.negf %x32 : f32
      %e = math.exp %n : f32
      %one = arith.constant 1.000000e+00 : f32
      %d = arith.addf %e, %one : f32
      %q = arith.divf %x32, %d : f32
      %r = arith.truncf %q : f32 to bf16
      graph.yield %r : bf16
    }
    ```

    The primitives' locations name the operator they came from, as
    `fused<"silu">["model.py":3:0]`; kernels get their names from it.
  }];
  let dependentDialects = ["::deplo::graph::GraphDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
