// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The named monoids of reductions, shared by the graph, loop and tile dialects.

#ifndef DEPLO_DIALECT_MONOID_TD
#define DEPLO_DIALECT_MONOID_TD

include "mlir/IR/EnumAttr.td"

// `max` and `min` propagate NaN, as IEEE 754-2019 maximum and minimum do (and
// as PyTorch does). `logaddexp` is ln(e^x + e^y), of floats only.
def Deplo_Monoid : I32EnumAttr<"Monoid", "associative, commutative operator with an identity", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"LogAddExp", 4, "logaddexp">,
  ]> {
  let cppNamespace = "::deplo";
}

#endif // DEPLO_DIALECT_MONOID_TD
