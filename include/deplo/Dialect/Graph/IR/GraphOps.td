// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_IR_GRAPHOPS_TD
#define DEPLO_DIALECT_GRAPH_IR_GRAPHOPS_TD

include "deplo/Dialect/Graph/IR/GraphBase.td"
include "deplo/Dialect/Monoid.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

def Graph_FloatTensor : RankedTensorOf<[F16, BF16, F32]>;
// Primitives compute on every element type that a buffer may hold.
def Graph_AnyTensor : RankedTensorOf<[F16, BF16, F32, I1, I8, I32, I64]> {
  let cppFunctionName = "isGraphTensor";
}
def Graph_IndexTensor : RankedTensorOf<[I32, I64]>;

//===----------------------------------------------------------------------===//
// Named tier: pointwise
//===----------------------------------------------------------------------===//

// Rounds once to the result's element type; inner arithmetic is f32 for f16 and
// bf16 operands, as PyTorch computes.
class Graph_UnaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType], traits)> {
  let summary = "y = " # formula # ", elementwise";
  let description = "\n    Computes `y = " # formula # [{` for every element, in f32 for f16 and
    bf16 operands, rounded once.

    ```mlir
    %y = graph.}] # mnemonic # [{ %x : tensor<4x8xf32>
    ```

    Constraints:
    - C1: operand and result have the same type.
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Graph_NegOp : Graph_UnaryOp<"neg", "-x"> { let hasFolder = 1; }
def Graph_AbsOp : Graph_UnaryOp<"abs", "|x|">;
def Graph_ExpOp : Graph_UnaryOp<"exp", "e^x">;
def Graph_LogOp : Graph_UnaryOp<"log", "ln x">;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "x^(1/2), correctly rounded">;
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", "x^(-1/2)">;
def Graph_ReciprocalOp : Graph_UnaryOp<"reciprocal", "1 / x, correctly rounded">;
def Graph_SinOp : Graph_UnaryOp<"sin", "sin x">;
def Graph_CosOp : Graph_UnaryOp<"cos", "cos x">;
def Graph_TanhOp : Graph_UnaryOp<"tanh", "tanh x">;
def Graph_ErfOp : Graph_UnaryOp<"erf", "erf x">;
def Graph_SigmoidOp : Graph_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Graph_ReluOp : Graph_UnaryOp<"relu", "max(x, 0), NaN stays NaN">;
def Graph_SiluOp : Graph_UnaryOp<"silu", "x / (1 + e^-x)">;
def Graph_GeluOp : Graph_UnaryOp<"gelu", "x / 2 * (1 + erf(x / sqrt 2))">;
def Graph_GeluTanhOp : Graph_UnaryOp<"gelu_tanh",
    "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))">;

class Graph_BinaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultElementType,
        ResultsBroadcastableShape], traits)> {
  let summary = "z = " # formula # ", elementwise with broadcasting";
  let description = "\n    Computes `z = " # formula # [{` for every element, in f32 for f16 and
    bf16 operands, rounded once. Shapes broadcast as in NumPy.

    ```mlir
    %z = graph.}] # mnemonic # [{ %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```

    Constraints:
    - C1: operands and result have the same element type.
    - C2: the result's shape is the operands' broadcast shape.
  }];
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_AddOp : Graph_BinaryOp<"add", "x + y", [Commutative]>;
def Graph_SubOp : Graph_BinaryOp<"sub", "x - y">;
def Graph_MulOp : Graph_BinaryOp<"mul", "x * y", [Commutative]>;
def Graph_DivOp : Graph_BinaryOp<"div", "x / y, correctly rounded">;
def Graph_PowOp : Graph_BinaryOp<"pow", "x^y">;
def Graph_MaximumOp : Graph_BinaryOp<"maximum", "max(x, y), NaN if either is NaN", [Commutative]>;
def Graph_MinimumOp : Graph_BinaryOp<"minimum", "min(x, y), NaN if either is NaN", [Commutative]>;

def Graph_CastOp : Graph_Op<"cast", [Pure, SameOperandsAndResultShape]> {
  let summary = "conversion to another element type, rounding to nearest even";
  let description = [{
    ```mlir
    %y = graph.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
    ```

    Constraints:
    - C1: operand and result have the same shape.
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Named tier: reductions and normalisations
//===----------------------------------------------------------------------===//

class Graph_ReductionOp<string mnemonic, string formula, string constraints = "">
    : Graph_Op<mnemonic, [Pure, SameOperandsAndResultElementType]> {
  let summary = formula # " over axes";
  let description = "\n    Computes the " # formula # [{ over `axes`, accumulated in f32 and rounded once.

    ```mlir
    %y = graph.}] # mnemonic # [{ %x axes [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
    ```

    Constraints:
    - C1: `axes` is strictly increasing and within the operand's rank.
    - C2: the result has the operand's shape with the axes of size 1
      (`keepdims`) or removed.
    }] # constraints;
  let arguments = (ins Graph_FloatTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `axes` $axes (`keepdims` $keepdims^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_SumOp : Graph_ReductionOp<"sum", "sum">;
def Graph_MeanOp : Graph_ReductionOp<"mean", "mean (NaN over nothing)">;
def Graph_ProdOp : Graph_ReductionOp<"prod", "product">;

defvar Graph_NonEmpty = "- C3: the axes hold at least one element.\n";
def Graph_AmaxOp : Graph_ReductionOp<"amax", "maximum, NaN if any element is NaN,", Graph_NonEmpty>;
def Graph_AminOp : Graph_ReductionOp<"amin", "minimum, NaN if any element is NaN,", Graph_NonEmpty>;

def Graph_VarOp : Graph_Op<"var", [Pure, SameOperandsAndResultElementType]> {
  let summary = "variance over axes";
  let description = [{
    Computes `sum((x - mean(x))^2) / (n - correction)` over the `n` elements of
    `axes` in two passes on the data, in f32, rounded once. NaN where
    `n - correction` is 0; the divisor is never negative.

    ```mlir
    %y = graph.var %x axes [1] correction 1.0 : tensor<4x8xf32> -> tensor<4xf32>
    ```

    Constraints: C1 and C2 of `graph.sum`, and
    - C3: the correction is not negative.
  }];
  let arguments = (ins Graph_FloatTensor:$input, DenseI64ArrayAttr:$axes, F64Attr:$correction, UnitAttr:$keepdims);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `axes` $axes `correction` $correction (`keepdims` $keepdims^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

class Graph_NormOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, AllTypesMatch<["input", "result"]>, AttrSizedOperandSegments], traits)> {
  let arguments = (ins Graph_FloatTensor:$input, Optional<Graph_FloatTensor>:$weight,
                   Optional<Graph_FloatTensor>:$bias, I64Attr:$rank, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`weight` $weight^ `:` type($weight))? (`bias` $bias^ `:` type($bias))?
    `rank` $rank `eps` $eps attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Graph_RmsNormOp : Graph_NormOp<"rms_norm"> {
  let summary = "root-mean-square normalisation over the trailing axes";
  let description = [{
    Computes `x * rsqrt(mean(x^2) + eps) * weight` over the last `rank` axes
    (Zhang and Sennrich, 2019), in f32, rounded once.

    ```mlir
    %y = graph.rms_norm %x weight %w : tensor<8xf32> rank 1 eps 1.0e-06 : tensor<4x8xf32>
    ```

    Constraints:
    - C1: `rank` is between 1 and the operand's rank.
    - C2: weight and bias have the shape of the operand's last `rank` axes.
    - C3: no bias.
  }];
}

def Graph_LayerNormOp : Graph_NormOp<"layer_norm"> {
  let summary = "layer normalisation over the trailing axes";
  let description = [{
    Computes `(x - mean(x)) * rsqrt(var(x) + eps) * weight + bias` over the last
    `rank` axes with the biased variance (Ba, Kiros and Hinton, 2016), in f32,
    rounded once.

    ```mlir
    %y = graph.layer_norm %x weight %w : tensor<8xf32> bias %b : tensor<8xf32> rank 1 eps 1.0e-05 : tensor<4x8xf32>
    ```

    Constraints: C1 and C2 of `graph.rms_norm`.
  }];
}

class Graph_SoftmaxLikeOp<string mnemonic, string formula>
    : Graph_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = formula # " along an axis";
  let description = "\n    Computes `" # formula # [{` with `m = max(x)` along `axis`, in f32,
    rounded once.

    ```mlir
    %y = graph.}] # mnemonic # [{ %x axis 1 : tensor<4x8xf32>
    ```

    Constraints:
    - C1: `axis` is within the operand's rank.
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_SoftmaxLikeOp<"softmax", "e^(x - m) / sum e^(x - m)">;
def Graph_LogSoftmaxOp : Graph_SoftmaxLikeOp<"log_softmax", "x - m - ln sum e^(x - m)">;

//===----------------------------------------------------------------------===//
// Named tier: views
//===----------------------------------------------------------------------===//

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure, SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    ```mlir
    %y = graph.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
    ```

    Constraints:
    - C1: operand and result hold the same number of elements (static shapes).
  }];
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_PermuteOp : Graph_Op<"permute", [Pure, SameOperandsAndResultElementType]> {
  let summary = "reordered axes: result axis i is operand axis permutation[i]";
  let description = [{
    ```mlir
    %y = graph.permute %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    ```

    Constraints:
    - C1: `permutation` is a permutation of the operand's axes.
    - C2: the result's shape is the operand's, permuted.
  }];
  let arguments = (ins Graph_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input `by` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ExpandOp : Graph_Op<"expand", [Pure, SameOperandsAndResultElementType]> {
  let summary = "broadcast to a larger shape, as torch.Tensor.expand";
  let description = [{
    ```mlir
    %y = graph.expand %x : tensor<1x8xf32> -> tensor<4x8xf32>
    ```

    Constraints:
    - C1: aligned at the last axis, each operand size is 1 or the result's size,
      and the result's rank is no smaller.
  }];
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure, SameOperandsAndResultElementType]> {
  let summary = "elements offset + i * stride along each axis";
  let description = [{
    ```mlir
    %y = graph.slice %x offsets [1, 0] strides [2, 1] : tensor<4x8xf32> -> tensor<2x8xf32>
    ```

    Constraints:
    - C1: one offset and one stride for each axis; strides are positive.
    - C2: the result has the operand's rank and reads within its bounds.
  }];
  let arguments = (ins Graph_AnyTensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input `offsets` $offsets `strides` $strides attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Primitive tier
//===----------------------------------------------------------------------===//

def Graph_IsPrimitive : NativeOpTrait<"IsPrimitive"> { let cppNamespace = "::deplo::graph"; }
def Graph_IsComputation : NativeOpTrait<"IsComputation"> { let cppNamespace = "::deplo::graph"; }

def Graph_ConstantOp : Graph_Op<"constant", [Pure, Graph_IsPrimitive, ConstantLike, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a constant tensor";
  let description = [{
    ```mlir
    %half = graph.constant dense<5.000000e-01> : tensor<4xf32>
    ```

    Kernels hold constants whose elements are all the same; other tensors are
    arguments of the program.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Graph_MapOp : Graph_Op<"map", [Pure, Graph_IsPrimitive, Graph_IsComputation, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a scalar function of corresponding elements";
  let description = [{
    The region computes one element of the result from the elements of the
    operands at the same coordinates, with `arith` and `math` operations.

    ```mlir
    %y = graph.map (%a = %x : tensor<4xf32>, %b = %z : tensor<4xf32>) -> tensor<4xf32> {
      %s = arith.addf %a, %b : f32
      graph.yield %s : f32
    }
    ```

    Constraints:
    - C1: operands and result have the same shape.
    - C2: block arguments are the operands' element types.
    - C3: the region yields one value of the result's element type.
    - C4: the region's operations are scalar and have no side effects and no
      regions.
  }];
  let arguments = (ins Variadic<Graph_AnyTensor>:$inputs);
  let results = (outs Graph_AnyTensor:$result);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::RankedTensorType":$resultType, "::mlir::ValueRange":$inputs,
        "::llvm::function_ref<::mlir::Value(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = [{
    /// The scalar that the region yields.
    ::mlir::Value getYielded() { return getBody()->getTerminator()->getOperand(0); }
  }];
}

def Graph_SizeOp : Graph_Op<"size", [Pure, HasParent<"MapOp">]> {
  let summary = "a size that is known when the program runs, as a number";
  let description = [{
    What `number` stands for: a multiple of a generic number of `graph.sizes` is
    that multiple of the size, any other number is itself. The mean of an axis of
    such a size divides by it:

    ```mlir
    %m = graph.map (%s = %sum : tensor<8xf32>) -> tensor<8xf32> {
      %n = graph.size 1048583 : i64
      %f = arith.sitofp %n : i64 to f32
      %q = arith.divf %s, %f : f32
      graph.yield %q : f32
    }
    ```

    Constraints:
    - C1: the number is positive.
  }];
  let arguments = (ins I64Attr:$number);
  let results = (outs I64:$result);
  let assemblyFormat = "$number attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_IndexOp : Graph_Op<"index", [Pure, HasParent<"MapOp">]> {
  let summary = "a coordinate of the element that a map computes, as a number";
  let description = [{
    Coordinates count from 0 along `axis` of the result. A map without operands
    that yields one is an iota.

    ```mlir
    %r = graph.map () -> tensor<8xi64> {
      %i = graph.index 0 : i64
      graph.yield %i : i64
    }
    ```

    Constraints:
    - C1: `axis` is an axis of the enclosing map's result.
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_ReduceOp : Graph_Op<"reduce", [Pure, Graph_IsPrimitive, Graph_IsComputation,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a monoid folded over axes";
  let description = [{
    ```mlir
    %sum = graph.reduce add %x axes [1] : tensor<32x2048xf32> -> tensor<32xf32>
    ```

    Floats accumulate in f32 at least and are rounded once. Over nothing the
    result is the monoid's identity.

    Constraints:
    - C1: `axes` is strictly increasing and within the operand's rank.
    - C2: the result has the operand's shape without the axes, and its element
      type.
    - C3: the monoid is defined for the elements.
  }];
  let arguments = (ins Deplo_Monoid:$kind, Graph_AnyTensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::deplo::Monoid":$kind, "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$axes)>];
}

def Graph_ContractOp : Graph_Op<"contract", [Pure, Graph_IsPrimitive, Graph_IsComputation,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "sums of products of two tensors' elements";
  let description = [{
    `result[i] = sum over k of lhs[lhs_map(i, k)] * rhs[rhs_map(i, k)]`. A
    coordinate of the result that both maps use is a batch; one that only the map
    of `lhs` uses is a row, one that only the map of `rhs` uses a column. Matrix
    products, transposed and batched ones, products with vectors and windows of a
    convolution are all this operation.

    ```mlir
    %c = graph.contract %a by affine_map<(d0, d1, d2) -> (d0, d2)>, %b by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    ```

    Products and sums are f32 and are rounded once. A sum over nothing is 0.

    Constraints:
    - C1: both maps take the result's coordinates and, behind them, at least one
      that is summed over; they have no symbols and go to the operand's
      coordinates.
    - C2: each coordinate that is summed over is by itself a coordinate of an
      operand: its extent is the size there, equal wherever there are several.
    - C3: the operands have one element type; the result has it, or f32.
    - C4: every coordinate the maps yield is within the operand (static shapes).
  }];
  let arguments = (ins Graph_FloatTensor:$lhs, AffineMapAttr:$lhsMap, Graph_FloatTensor:$rhs, AffineMapAttr:$rhsMap);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `by` $lhsMap `,` $rhs `by` $rhsMap attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Extents of the result's coordinates, then of those summed over.
    ::llvm::SmallVector<int64_t> getIterationShape();
  }];
}

def Graph_ScanOp : Graph_Op<"scan", [Pure, Graph_IsPrimitive, Graph_IsComputation, SameOperandsAndResultType]> {
  let summary = "a monoid folded over each element and those before it";
  let description = [{
    `y[i] = x[0] * ... * x[i]` along `axis`, with the monoid in place of `*`:
    cumulative sums, products and extremes. Floats accumulate in f32 at least
    and are rounded once; the order is fixed, and not that from the first
    element to the last.

    ```mlir
    %y = graph.scan add %x axis 1 : tensor<4x8xf32>
    ```

    Constraints:
    - C1: `axis` is within the operand's rank.
    - C2: the monoid is defined for the elements.
  }];
  let arguments = (ins Deplo_Monoid:$kind, Graph_AnyTensor:$input, I64Attr:$axis);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$kind $input `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_IndexMapOp : Graph_Op<"index_map", [Pure, Graph_IsPrimitive]> {
  let summary = "a read through an affine map";
  let description = [{
    `result[i] = input[map(i)]`: broadcast, permutation, slice, flip and reshape
    are all this operation. It names where elements are and computes nothing;
    `graph.gather` chooses between sources and follows indices.

    ```mlir
    %b = graph.index_map %w by affine_map<(d0, d1) -> (d1)> : tensor<8xf32> -> tensor<4x8xf32>
    ```

    Constraints:
    - C1: the map takes the result's coordinates to the operand's and has no
      symbols.
    - C2: operand and result have the same element type.
    - C3: every coordinate the map yields is within the operand (static shapes).
  }];
  let arguments = (ins Graph_AnyTensor:$input, AffineMapAttr:$map);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input `by` $map attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_GatherOp : Graph_Op<"gather", [Pure, Graph_IsPrimitive, Graph_IsComputation, AttrSizedOperandSegments]> {
  let summary = "a read from the first source whose guard holds";
  let description = [{
    `result[i] = source_k[map_k(i, s)]` for the first `k` whose guard holds:
    none of the values of `guard_k(i, s)` is negative. Here `s` are the elements
    of the index tensors at `i`. Where a coordinate that depends on `s` is
    outside of its source, the guard of that source does not hold. Where no guard
    holds, the result is `fill`, zero by default. Concatenation, padding, windows
    of a pooling, embeddings and indexing with tensors are all this operation.

    ```mlir
    // Two rows of padding around x.
    %p = graph.gather %x by affine_map<(d0, d1) -> (d0 - 2, d1)> where affine_map<(d0, d1) -> (d0 - 2, 5 - d0)> else 0.0 : f32 : (tensor<4x8xf32>) -> tensor<8x8xf32>
    // Rows of a table.
    %e = graph.gather %w by affine_map<(d0, d1)[s0] -> (s0, d1)> at %n : (tensor<100x8xf32>, tensor<4x8xi64>) -> tensor<4x8xf32>
    ```

    Constraints:
    - C1: one map and one guard for each source, at least one; they take the
      result's coordinates and, as symbols, one index of each index tensor. Maps
      go to the source's coordinates.
    - C2: sources, fill and result have one element type.
    - C3: index tensors have the result's shape.
    - C4: where its guard holds, every coordinate that does not depend on an
      index is within its source (static shapes).
  }];
  let arguments = (ins Variadic<Graph_AnyTensor>:$sources, Variadic<Graph_IndexTensor>:$indices,
                       AffineMapArrayAttr:$maps, AffineMapArrayAttr:$guards, OptionalAttr<TypedAttrInterface>:$fill);
  let results = (outs Graph_AnyTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$resultType, "::mlir::ValueRange":$sources,
      "::mlir::ValueRange":$indices, "::llvm::ArrayRef<::mlir::AffineMap>":$maps,
      "::llvm::ArrayRef<::mlir::AffineMap>":$guards, CArg<"::mlir::TypedAttr", "{}">:$fill)>];
  let extraClassDeclaration = [{
    ::mlir::AffineMap getMap(unsigned source) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[source]).getValue();
    }
    ::mlir::AffineMap getGuard(unsigned source) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getGuards()[source]).getValue();
    }
    /// The fill, or the zero that stands for it.
    ::mlir::TypedAttr getFillOrZero();
    /// Whether what source `source` is, chosen between several sources, is
    /// better read from a tensor: windows that are guarded, each element of
    /// which would be a load from every source with a condition of its own.
    bool readsGuardedWindows(unsigned source);
  }];
}

def Graph_FusedOp : Graph_Op<"fused", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "primitives that become one kernel";
  let description = [{
    Only operands and results touch memory.

    ```mlir
    %y = graph.fused @scale (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      ...
      graph.yield %r : tensor<4xf32>
    }
    ```

    Constraints:
    - C1: block arguments have the operands' types.
    - C2: the region yields values of the result types.
    - C3: the region holds primitives only.
  }];
  let arguments = (ins SymbolNameAttr:$kernel, Variadic<Graph_AnyTensor>:$inputs);
  let results = (outs Variadic<Graph_AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$kernel, "::mlir::TypeRange":$outputTypes,
                                 "::mlir::ValueRange":$inputs)>];
  let extraClassDeclaration = [{
    ::deplo::graph::YieldOp getYield();
  }];
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "FusedOp"]>]> {
  let summary = "the values of the enclosing region: a scalar of a map, the results of a fused group";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "return;">];
}

#endif // DEPLO_DIALECT_GRAPH_IR_GRAPHOPS_TD
