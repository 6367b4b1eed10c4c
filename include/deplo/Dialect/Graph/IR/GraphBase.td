// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_IR_GRAPHBASE_TD
#define DEPLO_DIALECT_GRAPH_IR_GRAPHBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::deplo::graph";
  let summary = "Tensor programs: named PyTorch operators and the primitives they decompose to";
  let description = [{
    Value semantics on builtin `tensor` types. Two tiers live in one dialect:

    - *named* operators mirror PyTorch (`graph.rms_norm`, `graph.silu`), one per
      line of the source program, with NumPy broadcasting between operands;
    - *primitives* say how: `graph.map` (a scalar function of each element),
      `graph.reduce` (a monoid over axes), `graph.contract` (sums of products) and
      `graph.index_map` (a read through an affine map).

    `graph.fused` wraps the primitives that become one kernel: only its operands
    and results touch memory.

    Function arguments may carry
    - `graph.name`, a string: the name in the source program,
    - `graph.strides`, an array of integers: element strides of an input that is
      not row-major contiguous, one for each dimension, none negative,
    - `graph.unsigned`, a unit: the elements, i8, are unsigned for the caller.
      Results may carry it as well,
    - `graph.weight`, a unit: calls give the same values until the caller says
      that they have changed, as of a parameter (`deplo-prepare-weights`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Graph_DimsAttr : AttrDef<Graph_Dialect, "Dims", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "names of a tensor's symbolic dimensions";
  let description = [{
    The encoding of a tensor with symbolic dimensions: one name for each
    dimension, empty where the size is static. Equal names mean equal sizes.

    ```mlir
    tensor<?x2048xf32, #graph.dims<"s0", "">>
    ```

    Constraints:
    - C1: as many names as dimensions.
    - C2: a name is empty exactly where the dimension is static.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
}

#endif // DEPLO_DIALECT_GRAPH_IR_GRAPHBASE_TD
