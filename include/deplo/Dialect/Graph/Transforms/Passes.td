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

def GatherOperandsPass : Pass<"deplo-gather-operands", "::mlir::func::FuncOp"> {
  let summary = "gathers of what a map or gather computes gather what that reads";
  let description = [{
    A map whose result only one gather reads is computed on what is gathered: a
    gather reads memory, so the map would need a kernel of its own. Before, half
    of a rotary embedding:

    ```mlir
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = graph.map (%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
        %0 = arith.negf %a : f32
        graph.yield %0 : f32
      }
      %c = graph.gather %n by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d1)>, %x by affine_map<(d0, d1) -> (d0, d1 - 4)> where affine_map<(d0, d1) -> (d1 - 4)> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
      return %c : tensor<4x8xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %true = graph.constant dense<true> : tensor<4x4xi1>
      %false = graph.constant dense<false> : tensor<4x4xi1>
      %g = graph.gather %x by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d1)> : (tensor<4x4xf32>) -> tensor<4x8xf32>
      %p = graph.gather %true by affine_map<(d0, d1) -> (d0, d1)> where affine_map<(d0, d1) -> (3 - d1)>, %false by affine_map<(d0, d1) -> (d0, d1 - 4)> where affine_map<(d0, d1) -> (d1 - 4)> else false : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x8xi1>
      %z = graph.gather %x by affine_map<(d0, d1) -> (d0, d1 - 4)> where affine_map<(d0, d1) -> (d1 - 4)> else 0.0 : f32 : (tensor<4x4xf32>) -> tensor<4x8xf32>
      %c = graph.map (%a = %g : tensor<4x8xf32>, %b = %p : tensor<4x8xi1>, %d = %z : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %0 = arith.negf %a : f32
        %1 = arith.select %b, %0, %d : f32
        graph.yield %1 : f32
      }
      return %c : tensor<4x8xf32>
    }
    ```

    A gather of what only it reads of another gather, as the padding of a
    concatenation or the windows of a padding, reads the sources of that one.

    Legal because a map computes element by element. Not done if the map uses
    coordinates as numbers. What would be computed more than twice as often, as
    in overlapping windows, is computed again if all that leads to it is, and if
    that takes less time than a kernel that writes it.
  }];
  let dependentDialects = ["::deplo::graph::GraphDialect", "::mlir::arith::ArithDialect"];
}

def SplitScanPass : Pass<"deplo-split-scan", "::mlir::func::FuncOp"> {
  let summary = "scans with too few rows to go around become scans of parts";
  let description = [{
    A row is scanned by one block, so that a few long rows leave multiprocessors
    idle. Those are divided: parts are folded, what they fold to is scanned, and
    each part is scanned from what the parts before it fold to. Before:

    ```mlir
    func.func @main(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
      %y = graph.scan add %x axis 0 : tensor<1048576xf32>
      return %y : tensor<1048576xf32>
    }
    ```

    After:

    ```mlir
    #pairs = affine_map<(d0, d1) -> (d0 * 4096 + d1)>
    func.func @main(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
      %p = graph.index_map %x by #pairs : tensor<1048576xf32> -> tensor<256x4096xf32>
      %sum = graph.reduce add %p axes [1] : tensor<256x4096xf32> -> tensor<256xf32>
      %t = graph.scan add %sum axis 0 : tensor<256xf32>
      %b = graph.gather %t by affine_map<(d0) -> (d0 - 1)> where affine_map<(d0) -> (d0 - 1)> else 0.0 : f32 : (tensor<256xf32>) -> tensor<256xf32>
      %e = graph.index_map %b by affine_map<(d0, d1) -> (d0)> : tensor<256xf32> -> tensor<256x4096xf32>
      %s = graph.scan add %p axis 1 : tensor<256x4096xf32>
      %m = graph.map (%a = %e : tensor<256x4096xf32>, %c = %s : tensor<256x4096xf32>) -> tensor<256x4096xf32> {
        %0 = arith.addf %a, %c : f32
        graph.yield %0 : f32
      }
      %y = graph.index_map %m by affine_map<(d0) -> (d0 floordiv 4096, d0 mod 4096)> : tensor<256x4096xf32> -> tensor<1048576xf32>
      return %y : tensor<1048576xf32>
    }
    ```

    Legal because a monoid is associative; the order is fixed. Where no number of
    parts divides the axis, the last part is padded with the identity. f16 and
    bf16 are scanned in f32 and rounded once.

    Not done where rows keep the multiprocessors busy, where parts would be
    shorter than `least-part` elements, or where a size is symbolic.
  }];
  let options = [
    Option<"parts", "parts", "int64_t", /*default=*/"0", "parts of each row; 0: as many as the target keeps busy, 1: rows stay whole">,
    Option<"leastPart", "least-part", "int64_t", /*default=*/"4096", "the fewest elements that make a part of a row worth a block">
  ];
  let dependentDialects = ["::deplo::graph::GraphDialect", "::mlir::arith::ArithDialect"];
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
             clEnumValN(::deplo::graph::FusionPolicy::Never, "never", "every primitive is a kernel"))}]>,
    Option<"windows", "windows", "::deplo::graph::FusionPolicy",
           /*default=*/"::deplo::graph::FusionPolicy::Auto",
           "when contractions read the windows of their operand themselves",
           [{::llvm::cl::values(
             clEnumValN(::deplo::graph::FusionPolicy::Auto, "auto", "where the cost model says that it pays"),
             clEnumValN(::deplo::graph::FusionPolicy::Always, "always", "wherever it is legal"),
             clEnumValN(::deplo::graph::FusionPolicy::Never, "never", "a kernel gathers them"))}]>,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">
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
