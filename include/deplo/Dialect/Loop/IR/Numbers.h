// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of the IR as values of a program.

#ifndef DEPLO_DIALECT_LOOP_IR_NUMBERS_H
#define DEPLO_DIALECT_LOOP_IR_NUMBERS_H

#include "deplo/Dialect/SymbolicSizes.h"
#include "mlir/IR/Builders.h"

namespace deplo::loop {

/// `number` as an integer of `type`: a constant, or a size that is known when
/// the program runs.
mlir::Value createNumber(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, int64_t number,
                         const SymbolicSizes &sizes);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_IR_NUMBERS_H
