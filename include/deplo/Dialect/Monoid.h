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

/// The keywords of all monoids, for diagnostics: "add, mul, max, ...".
std::string getMonoidNames();

/// Whether `kind` combines elements of `type` (an integer or float type).
bool isDefinedFor(Monoid kind, mlir::Type type);

/// Emits an error on `op` and fails unless `kind` is defined for the elements
/// of `type`, a scalar or shaped type.
mlir::LogicalResult verifyMonoid(mlir::Operation *op, Monoid kind,
                                 mlir::Type type);

/// The identity of `kind` for elements of `type` (an integer or float type):
/// 0, 1, the lowest or the highest value.
mlir::TypedAttr getIdentity(Monoid kind, mlir::Type type);

/// `lhs` combined with `rhs`: arith.addf, mulf, maximumf or minimumf, or the
/// signed integer counterparts, or several operations of arith and math.
/// Operands may be scalars, vectors or tensors.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, Monoid kind,
                    mlir::Value lhs, mlir::Value rhs);

} // namespace deplo

#endif // DEPLO_DIALECT_MONOID_H
