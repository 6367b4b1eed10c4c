// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CollapseLoopsPass : Pass<"deplo-collapse-loops", "::mlir::ModuleOp"> {
  let summary = "merge loops over adjacent, contiguous dimensions and drop unit dimensions";
  let description = [{
    Two loops, one directly in the other, become one loop of the product of
    their extents if every access below uses their variables only as adjacent
    coordinates, outer before inner, of dimensions that lie one after the other
    in memory. The memrefs lose the dimension with it, in the kernel's
    arguments and, by views, in the launch plan. So a pointwise kernel on
    contiguous tensors is one loop whatever its rank, and a reduction over
    trailing axes has one loop over rows and one over columns.

    Dimensions of size 1 are dropped in the same way.

    Before:
    ```mlir
    func.func @main(%x: memref<4x8x16xf32>, %y: memref<4x8x16xf32> {loop.result}) {
      loop.launch @double(%x, %y) : memref<4x8x16xf32>, memref<4x8x16xf32>
      return
    }
    loop.kernel @double(%x: memref<4x8x16xf32>, %y: memref<4x8x16xf32>) {
      loop.for %i = 0 to 4 {
        loop.for %j = 0 to 8 {
          loop.for %l = 0 to 16 {
            %a = loop.load %x[%i, %j, %l] : memref<4x8x16xf32>
            %b = arith.addf %a, %a : f32
            loop.store %b, %y[%i, %j, %l] : memref<4x8x16xf32>
          }
        }
      }
    }
    ```

    After:
    ```mlir
    func.func @main(%x: memref<4x8x16xf32>, %y: memref<4x8x16xf32> {loop.result}) {
      %0 = memref.collapse_shape %x [[0, 1, 2]] : memref<4x8x16xf32> into memref<512xf32>
      %1 = memref.collapse_shape %y [[0, 1, 2]] : memref<4x8x16xf32> into memref<512xf32>
      loop.launch @double(%0, %1) : memref<512xf32>, memref<512xf32>
      return
    }
    loop.kernel @double(%x: memref<512xf32>, %y: memref<512xf32>) {
      loop.for %i = 0 to 512 {
        %a = loop.load %x[%i] : memref<512xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<512xf32>
      }
    }
    ```

    Reductions nest and merge alike: the order of a reduction is not specified.

    A dimension of a memref is merged for all accesses to it or for none, so
    all loops that run over the two dimensions are merged together. Strided
    memrefs are merged where their strides allow it.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MergeEqualKernelsPass : Pass<"deplo-merge-equal-kernels", "::mlir::ModuleOp"> {
  let summary = "keep one of kernels that differ in names only";
  let description = [{
    Kernels with the same attributes, argument types and operations become the
    first of them, which is launched in place of the others. Layers of a model
    that are alike are compiled once.

    Before:
    ```mlir
    func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}, %z: memref<8xf32> {loop.result}) {
      loop.launch @double(%x, %y) : memref<8xf32>, memref<8xf32>
      loop.launch @double_1(%y, %z) : memref<8xf32>, memref<8xf32>
      return
    }
    loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<8xf32>
      }
    }
    loop.kernel @double_1(%y: memref<8xf32>, %z: memref<8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %y[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %z[%i] : memref<8xf32>
      }
    }
    ```

    After:
    ```mlir
    func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}, %z: memref<8xf32> {loop.result}) {
      loop.launch @double(%x, %y) : memref<8xf32>, memref<8xf32>
      loop.launch @double(%y, %z) : memref<8xf32>, memref<8xf32>
      return
    }
    loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<8xf32>
      }
    }
    ```

    It runs where loops have been collapsed and before anything is decided, so
    kernels that compute the same in other shapes are merged as well.
  }];
}

def FuseReductionsPass : Pass<"deplo-fuse-reductions", "::deplo::loop::KernelOp"> {
  let summary = "make one pass over the data of reductions that read the same";
  let description = [{
    Reductions in one block, over the same number of iterations, that load at
    least one element in common and do not depend on each other become one
    reduction with several results. What both load is loaded once.

    Before:
    ```mlir
    %s = loop.reduce add %k = 0 to 2048 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      loop.yield %a : f32
    }
    %m = loop.reduce max %k = 0 to 2048 : f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      loop.yield %a : f32
    }
    ```

    After:
    ```mlir
    %s, %m = loop.reduce [add, max] %k = 0 to 2048 : f32, f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      loop.yield %a, %a : f32, f32
    }
    ```

    The pass visits what stands between the two as well: what the later one
    needs moves in front of the earlier one if it has no effects, which holds
    for all but loops that store.
  }];
}

def FuseLoopsPass : Pass<"deplo-fuse-loops", "::deplo::loop::KernelOp"> {
  let summary = "make one parallel loop of neighbours that read the same";
  let description = [{
    Parallel loops in one block, with the same extent, that load at least one
    element in common become one loop. They may be fused because a kernel never
    loads what it stores and iterations are independent; two loops that store to
    the same memref are left alone, since the order of their stores is the
    program's.

    Before:
    ```mlir
    loop.for %i = 0 to 64 {
      %a = loop.load %x[%i] : memref<64xf32>
      %b = math.exp %a : f32
      loop.store %b, %y[%i] : memref<64xf32>
    }
    loop.for %i = 0 to 64 {
      %a = loop.load %x[%i] : memref<64xf32>
      %b = math.tanh %a : f32
      loop.store %b, %z[%i] : memref<64xf32>
    }
    ```

    After:
    ```mlir
    loop.for %i = 0 to 64 {
      %a = loop.load %x[%i] : memref<64xf32>
      %b = math.exp %a : f32
      loop.store %b, %y[%i] : memref<64xf32>
      %c = math.tanh %a : f32
      loop.store %c, %z[%i] : memref<64xf32>
    }
    ```
  }];
}

def UnrollWindowsPass : Pass<"deplo-unroll-windows", "::deplo::loop::KernelOp"> {
  let summary = "make straight-line code of reductions over windows";
  let description = [{
    A reduction over few elements that neighbouring results may read as well, as
    in a pooling, becomes one load for each element. A thread then computes
    several neighbours at once, and what their windows share is loaded once.
    Conditions that hold for an element of all windows go.

    Before:
    ```mlir
    loop.for %i = 0 to 64 {
      %s = loop.reduce max %k = 0 to 2 : f32 {
        %a = loop.load %x[%i * 2 + %k] : memref<128xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%i] : memref<64xf32>
    }
    ```

    After:
    ```mlir
    loop.for %i = 0 to 64 {
      %a = loop.load %x[%i * 2] : memref<128xf32>
      %b = loop.load %x[%i * 2 + 1] : memref<128xf32>
      %s = arith.maximumf %a, %b : f32
      loop.store %s, %y[%i] : memref<64xf32>
    }
    ```
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", /*default=*/"32", "elements of the largest window">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PrepareWeightsPass : Pass<"deplo-prepare-weights", "::mlir::ModuleOp"> {
  let summary = "run launches that depend on weights alone once for all calls";
  let description = [{
    A launch that reads nothing but weights (arguments of the plan marked
    `graph.weight`) and what such launches write is *prepared*, if it writes to
    temporaries that no other launch writes to. The runtime runs it once for the
    weights that it is given, not in each call, and keeps what it wrote in memory
    of its own.

    Before:
    ```mlir
    func.func @main(%x: memref<64xf32>, %w: memref<64xf16> {graph.weight}, %y: memref<64xf32> {loop.result}) {
      %t = memref.alloc() : memref<64xf32>
      loop.launch @cast(%w, %t) : memref<64xf16>, memref<64xf32>
      loop.launch @add(%x, %t, %y) : memref<64xf32>, memref<64xf32>, memref<64xf32>
      return
    }
    ```

    After:
    ```mlir
    func.func @main(%x: memref<64xf32>, %w: memref<64xf16> {loop.weight}, %y: memref<64xf32> {loop.result}) {
      %t = memref.alloc() : memref<64xf32>
      loop.launch @cast(%w, %t) {loop.prepared} : memref<64xf16>, memref<64xf32>
      loop.launch @add(%x, %t, %y) : memref<64xf32>, memref<64xf32>, memref<64xf32>
      return
    }
    loop.kernel @add(%x: memref<64xf32>, %t: memref<64xf32>, %y: memref<64xf32>) attributes {loop.prepared_arguments = array<i64: 1>} {
      ...
    }
    ```

    Kernels say which of their arguments are weights, or made of weights, in all
    launches (`loop.prepared_arguments`): a copy of such an argument costs
    nothing in a call, which the models of contractions take into account.

    It runs before steps that ask for this, and again behind those that add
    launches. A launch that writes a result is none of a prepared one: results
    are the caller's. Where calls give sizes no launch is prepared.
  }];
}

def VerifySizesPass : Pass<"deplo-verify-sizes", "::mlir::ModuleOp"> {
  let summary = "check that kernels are right for every value of symbolic sizes";
  let description = [{
    A size that is known when the program runs is a generic number in the IR
    (`graph.sizes` of the module). This pass changes nothing: it fails where what
    a kernel does with such a size is not right, or not possible, for all values
    of its range:

    - the coordinate along a dimension of such a size is the variable of a loop
      of that extent, goes through it in reverse (`size - 1 - i`), or is a number
      below all sizes of the range;
    - no other coordinate contains a size;
    - reductions, and loops beside others, have at least one iteration: a kernel
      for results that are there has addresses of operands that are not.
  }];
}

#endif // DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_TD
