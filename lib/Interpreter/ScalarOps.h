// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_INTERPRETER_SCALAROPS_H
#define DEPLO_LIB_INTERPRETER_SCALAROPS_H

#include "deplo/Dialect/Monoid.h"
#include "deplo/Interpreter/HostArray.h"

#include <functional>

namespace deplo {

/// One element of the result from those of the operands.
using ScalarFunction = std::function<Number(const Number *)>;

/// What an elementwise operation of arith or math does to one element; null if
/// it is not known.
ScalarFunction getScalarFunction(mlir::Operation *op);

/// What `kind` does to two elements of `type`.
ScalarFunction getScalarFunction(Monoid kind, mlir::Type type);

/// The number that an attribute of an element type stands for.
Number getNumber(mlir::Attribute attribute);

} // namespace deplo

#endif // DEPLO_LIB_INTERPRETER_SCALAROPS_H
