// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and arrays of the interpreter.

#ifndef DEPLO_INTERPRETER_HOSTARRAY_H
#define DEPLO_INTERPRETER_HOSTARRAY_H

#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <vector>

namespace deplo {

/// One element: a float of any type, widened exactly, or an integer of any
/// width, sign-extended. Which of them, the type in the IR says.
union Number {
  double real;
  int64_t integer;
};

/// `number` as an element of `type` holds it: floats rounded to nearest even,
/// integers wrapped.
Number roundTo(Number number, mlir::Type type);

/// The elements of a memref in the order of memory: element (i, j, ...) is at
/// offset + i * strides[0] + j * strides[1] + ...
struct HostArray {
  /// All zero, as large as a memref of `type` reaches. Its layout must be
  /// strided, with static sizes.
  explicit HostArray(mlir::MemRefType type);

  mlir::MemRefType type;
  std::vector<Number> elements;

  double getReal(int64_t i) const { return elements[i].real; }
  void setReal(int64_t i, double value) {
    elements[i] = roundTo({value}, type.getElementType());
  }
};

} // namespace deplo

#endif // DEPLO_INTERPRETER_HOSTARRAY_H
