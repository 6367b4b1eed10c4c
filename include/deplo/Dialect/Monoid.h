// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The named monoids of reductions and how arith computes them.

#ifndef DEPLO_DIALECT_MONOID_H
#define DEPLO_DIALECT_MONOID_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "deplo/Dialect/Monoid.h.inc"

namespace deplo {

/// The identity of `kind` for elements of `type` (an integer or float type):
/// 0, 1, the lowest or the highest value.
mlir::TypedAttr getIdentity(Monoid kind, mlir::Type type);

/// `lhs` combined with `rhs`: arith.addf, mulf, maximumf or minimumf, or the
/// signed integer counterparts. Operands may be scalars, vectors or tensors.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, Monoid kind,
                    mlir::Value lhs, mlir::Value rhs);

} // namespace deplo

#endif // DEPLO_DIALECT_MONOID_H
