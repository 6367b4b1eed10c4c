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
    where can be read from the IR. Before:

    ```mlir
    func.func @main(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
      %y = graph.silu %x : tensor<4x8xbf16>
      return %y : tensor<4x8xbf16>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
      %y = graph.map (%a = %x : tensor<4x8xbf16>) -> tensor<4x8xbf16> {
        %wide = arith.extf %a : bf16 to f32
        %neg = arith.negf %wide : f32
        %exp = math.exp %neg fastmath<afn> : f32
        %one = arith.constant 1.000000e+00 : f32
        %sum = arith.addf %exp, %one : f32
        %quotient = arith.divf %wide, %sum fastmath<arcp> : f32
        %narrow = arith.truncf %quotient : f32 to bf16
        graph.yield %narrow : bf16
      }
      return %y : tensor<4x8xbf16>
    }
    ```

    The primitives' locations name the operator they came from, as
    `fused<"silu">["model.py":3:0]`; kernels get their names from it.
  }];
  let dependentDialects = ["::deplo::graph::GraphDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def FuseVerticalPass : Pass<"deplo-fuse-vertical", "::mlir::func::FuncOp"> {
  let summary = "primitives become groups, one kernel each";
  let description = [{
    Merges consumers with what they read into `graph.fused`, where that is legal
    and the cost model says that it pays. Before:

    ```mlir
    func.func @main(%x: tensor<32x2048xf32>) -> tensor<32xf32> {
      %e = graph.map (%a = %x : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
        %0 = math.exp %a : f32
        graph.yield %0 : f32
      }
      %s = graph.reduce add %e axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
      return %s : tensor<32xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<32x2048xf32>) -> tensor<32xf32> {
      %s = graph.fused @reduce_add_2048 (%p = %x : tensor<32x2048xf32>) -> (tensor<32xf32>) {
        %e = graph.map (%a = %p : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
          %0 = math.exp %a : f32
          graph.yield %0 : f32
        }
        %r = graph.reduce add %e axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
        graph.yield %r : tensor<32xf32>
      }
      return %s : tensor<32xf32>
    }
    ```

    Legal means: no other kernel runs between the two; every read between them
    runs in the loops that the value is computed in; reductions of one group keep
    the same axes; a value that leaves the group is computed once. Reads that no
    loops over a box can make are made from a copy.

    Each merge is a remark with its numbers, each pair kept apart one with the
    reason, each kernel one with what it moves and computes.
  }];
  let options = [
    Option<"policy", "policy", "::deplo::graph::FusionPolicy",
           /*default=*/"::deplo::graph::FusionPolicy::Auto", "when to merge groups",
           [{::llvm::cl::values(
             clEnumValN(::deplo::graph::FusionPolicy::Auto, "auto", "where the cost model says that it pays"),
             clEnumValN(::deplo::graph::FusionPolicy::Always, "always", "wherever it is legal"),
             clEnumValN(::deplo::graph::FusionPolicy::Never, "never", "every primitive is a kernel"))}]>
  ];
  let dependentDialects = ["::deplo::graph::GraphDialect"];
}

def FuseHorizontalPass : Pass<"deplo-fuse-horizontal", "::mlir::func::FuncOp"> {
  let summary = "kernels that share inputs become one with several results";
  let description = [{
    Merges `graph.fused` operations that do not read from each other, where that
    is legal and the cost model says that it pays. Before:

    ```mlir
    func.func @main(%x: tensor<32x2048xf32>) -> (tensor<32xf32>, tensor<32x2048xf32>) {
      %s = graph.fused @sum_2048 (%p = %x : tensor<32x2048xf32>) -> (tensor<32xf32>) {
        %r = graph.reduce add %p axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
        graph.yield %r : tensor<32xf32>
      }
      %e = graph.fused @exp_2048 (%p = %x : tensor<32x2048xf32>) -> (tensor<32x2048xf32>) {
        %m = graph.map (%a = %p : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
          %0 = math.exp %a : f32
          graph.yield %0 : f32
        }
        graph.yield %m : tensor<32x2048xf32>
      }
      return %s, %e : tensor<32xf32>, tensor<32x2048xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<32x2048xf32>) -> (tensor<32xf32>, tensor<32x2048xf32>) {
      %0:2 = graph.fused @reduce_add_2048 (%p = %x : tensor<32x2048xf32>) -> (tensor<32xf32>, tensor<32x2048xf32>) {
        %r = graph.reduce add %p axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
        %m = graph.map (%a = %p : tensor<32x2048xf32>) -> tensor<32x2048xf32> {
          %1 = math.exp %a : f32
          graph.yield %1 : f32
        }
        graph.yield %r, %m : tensor<32xf32>, tensor<32x2048xf32>
      }
      return %0#0, %0#1 : tensor<32xf32>, tensor<32x2048xf32>
    }
    ```

    Legal means: neither needs what the other computes, directly or through other
    kernels; both run in the same loops, because they read one tensor alike or
    have results of one shape; their reductions keep the same axes; what a piece
    of work reads of both stays on chip, if it did of each. It pays for the bytes
    that both read, and for the launch where that is most of what both cost.

    Each merge is a remark with its numbers, each pair that shares inputs and is
    kept apart one with the reason.
  }];
  let options = [
    Option<"policy", "policy", "::deplo::graph::FusionPolicy",
           /*default=*/"::deplo::graph::FusionPolicy::Auto", "when to merge kernels",
           [{::llvm::cl::values(
             clEnumValN(::deplo::graph::FusionPolicy::Auto, "auto", "where the cost model says that it pays"),
             clEnumValN(::deplo::graph::FusionPolicy::Always, "always", "wherever it is legal"),
             clEnumValN(::deplo::graph::FusionPolicy::Never, "never", "kernels stay as they are"))}]>
  ];
  let dependentDialects = ["::deplo::graph::GraphDialect"];
}

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
