// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_CONVERSION_PASSES_TD
#define DEPLO_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LinalgToGraphPass : Pass<"deplo-linalg-to-graph", "::mlir::func::FuncOp"> {
  let summary = "linalg, tensor, arith and math on tensors become graph";
  let description = [{
    Takes the functions that another compiler hands over. Before:

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %s = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %square = arith.mulf %a, %a : f32
        %next = arith.addf %sum, %square : f32
        linalg.yield %next : f32
      } -> tensor<4xf32>
      return %s : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %zero = arith.constant 0.0 : f32
      %e = graph.constant dense<0.0> : tensor<4xf32>
      %init = graph.constant dense<0.0> : tensor<4xf32>
      %squares = graph.map (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %square = arith.mulf %a, %a : f32
        graph.yield %square : f32
      }
      %s = graph.reduce add %squares axes [1] : tensor<4x8xf32> -> tensor<4xf32>
      return %s : tensor<4xf32>
    }
    ```

    | from | to |
    |---|---|
    | operations of `linalg` with a region (`generic`, `map`, `reduce`, `broadcast`, `transpose`, `exp`, `pooling_nchw_max`, ...) | `graph.index_map` for each operand, `graph.map`, `graph.reduce` |
    | sums of products of two operands whose elements are used over and over (`matmul`, `batch_matmul`, `conv_2d_nchw_fchw`, a `generic` of that form), floats of one type | `graph.contract` |
    | `linalg.fill`, `tensor.splat`, `tensor.empty`, `arith.constant` | `graph.constant` |
    | `linalg.softmax` | `graph.softmax` |
    | `tensor.expand_shape`, `tensor.collapse_shape`, `tensor.extract_slice`, `tensor.cast` | `graph.reshape`, `graph.slice` |
    | `tensor.pad`, `tensor.concat`, `tensor.insert_slice` | `graph.gather` |
    | `arith` and `math` on tensors | `graph.map` |

    An operation is converted if all its tensors have fixed sizes and elements
    that graph has; if its region is arithmetic on scalars that uses elements of
    operands and constants; if it writes each parallel loop once; and if a
    reduction is one `addf`, `mulf`, `maximumf`, `minimumf` or its integer
    counterpart of the accumulator and a term. Contractions (products of two
    operands that are both used over and over, as in `linalg.matmul` and
    convolutions) have no counterpart in graph; products with a vector do. Other
    operations on tensors, and those with effects, are errors.

    Reductions of f16 and bf16 accumulate in f32. Terms are combined in another
    order than that of the loops.
  }];
  let options = [
    Option<"partial", "partial", "bool", "false",
           "leave functions that hold an operation without counterpart as they are">,
  ];
  let dependentDialects = ["::deplo::graph::GraphDialect"];
}

def GraphToLoopPass : Pass<"deplo-graph-to-loop", "::mlir::ModuleOp"> {
  let summary = "fused groups become kernels of loops, the function their launch plan";
  let description = [{
    Before:

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %s = graph.fused @sum_8 (%a = %x : tensor<4x8xf32>) -> (tensor<4xf32>) {
        %sum = graph.reduce add %a axes [1] : tensor<4x8xf32> -> tensor<4xf32>
        graph.yield %sum : tensor<4xf32>
      }
      return %s : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<4x8xf32>, %y: memref<4xf32> {loop.result}) {
      loop.launch @sum_8(%x, %y) : memref<4x8xf32>, memref<4xf32>
      return
    }
    loop.kernel @sum_8(%x: memref<4x8xf32>, %y: memref<4xf32>) {
      loop.for %i = 0 to 4 {
        %sum = loop.reduce add %k = 0 to 8 : f32 {
          %a = loop.load %x[%i, %k] : memref<4x8xf32>
          loop.yield %a : f32
        }
        loop.store %sum, %y[%i] : memref<4xf32>
      }
    }
    ```

    The parallel loops of a kernel are the axes that its reductions keep, or all
    axes of its result. Axes of size 1 have no loop, and axes that always run
    together have one. Every load and store is a box: where the buffer's own shape
    does not allow that, the plan passes a view of it. Maps are computed where
    they are used, from loads. Floats narrower than f32 accumulate in f32.

    Values between kernels are `memref.alloc` in the plan; results are trailing
    arguments marked `loop.result`; `graph.strides` become strided memrefs.
  }];
  let dependentDialects = ["::deplo::loop::LoopDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect"];
}

def TileToKernelPass : Pass<"deplo-tile-to-kernel", "::mlir::ModuleOp"> {
  let summary = "writes the program of one thread for each scheduled kernel";
  let description = [{
    Every `tile.kernel` becomes an `llvm.func` in the module's `gpu.module
    @kernels`. A tile becomes the vector of the elements that a thread holds;
    its layout says which. Before:

    ```mlir
    tile.kernel @double(%x: memref<1024xf32>, %y: memref<1024xf32>) axes(%i = 1024 step 256 grid) warps(2) {
      %a = tile.load %x[%i] vector 4 : memref<1024xf32> -> tensor<256xf32, #layout>
      %b = arith.addf %a, %a : tensor<256xf32, #layout>
      tile.store %b, %y[%i] vector 4 : tensor<256xf32, #layout>, memref<1024xf32>
    }
    ```

    After:

    ```mlir
    gpu.module @kernels {
      llvm.func @double(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel, ...} {
        %thread = nvvm.read.ptx.sreg.tid.x : i32
        ...
        %a = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
        %b = arith.addf %a, %a : vector<4xf32>
        llvm.store %b, %q : vector<4xf32>, !llvm.ptr<1>
        llvm.return
      }
    }
    ```

    Index arithmetic is in 32 bits where every offset of every argument fits, in
    64 bits otherwise.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every pointer argument is aligned to">,
  ];
}

def LoopToLLVMPass : Pass<"deplo-loop-to-llvm", "::mlir::ModuleOp"> {
  let summary = "writes every kernel as a function for the CPU";
  let description = [{
    Every `loop.kernel` becomes an `llvm.func` of a nested module, which takes
    the addresses of its buffers as one array. The launch plan stays as it is.
    Before:

    ```mlir
    loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<8xf32>
      }
    }
    ```

    After:

    ```mlir
    module @kernels {
      llvm.func private @double.body(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}) {
        ...
        %a = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> f32
        %b = llvm.fadd %a, %a : f32
        llvm.store %b, %q {alignment = 4 : i64} : f32, !llvm.ptr
        ...
      }
      llvm.func @double(%args: !llvm.ptr) {
        %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
        ...
        llvm.call @double.body(%x, %y) : (!llvm.ptr, !llvm.ptr) -> ()
        llvm.return
      }
    }
    ```

    Parallel loops run in order. Reductions run in 16 lanes where their terms
    lie together in memory, or where those of neighbouring results do;
    floating-point sums add in blocks of 16, blocks of blocks, and so on, so that
    the error grows with the logarithm of the number of terms. The order does not
    depend on the processor. Functions of `math` are expanded as by
    deplo-expand-math, in f32 for f16 and bf16.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandMathPass : Pass<"deplo-expand-math"> {
  let summary = "functions of the math dialect become arithmetic";
  let description = [{
    Before:

    ```mlir
    %y = math.rsqrt %x : f32
    ```

    After:

    ```mlir
    %r = llvm.call_intrinsic "llvm.sqrt"(%x) : (f32) -> f32
    %one = arith.constant 1.000000e+00 : f32
    %y = arith.divf %one, %r : f32
    ```

    The GPU and the host compute by the same polynomials, so neither needs a
    library and a test on one speaks for the other. Only `exp` and `exp2` use
    the GPU's own instruction. Rare arguments (large angles, remainders of
    numbers far apart) take a branch. How accurate each function is stands in
    docs/rationale/math.md. Functions of f16 and bf16 are computed in f32 and
    rounded; f64 has none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def WidenBF16Pass : Pass<"deplo-widen-bf16"> {
  let summary = "pairs of bf16 become f32 by a shift and a mask";
  let description = [{
    Before:

    ```mlir
    %y = arith.extf %x : vector<8xbf16> to vector<8xf32>
    ```

    After:

    ```mlir
    %pairs = vector.bitcast %x : vector<8xbf16> to vector<4xi32>
    %low = arith.shli %pairs, %c16 : vector<4xi32>
    %high = arith.andi %pairs, %upper : vector<4xi32>
    %bits = vector.shuffle %low, %high [0, 4, 1, 5, 2, 6, 3, 7] : vector<4xi32>, vector<4xi32>
    %y = arith.bitcast %bits : vector<8xi32> to vector<8xf32>
    ```

    A register of a GPU holds two elements: one instruction widens each of them,
    where a conversion of the upper one alone takes two. What is rounded to bf16
    and widened again is rounded in pairs too. Numbers, and vectors of an odd
    number of elements, are left alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

#endif // DEPLO_CONVERSION_PASSES_TD
