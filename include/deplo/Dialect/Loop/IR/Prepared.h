// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What deplo-prepare-weights says of a launch plan and its kernels.

#ifndef DEPLO_DIALECT_LOOP_IR_PREPARED_H
#define DEPLO_DIALECT_LOOP_IR_PREPARED_H

#include "deplo/Dialect/Loop/IR/Loop.h"

namespace deplo::loop {

/// A unit attribute of arguments of a plan: each call gives the same values
/// until the caller says that they have changed.
inline constexpr llvm::StringLiteral weightAttrName = "loop.weight";

/// A unit attribute of launches that depend on such arguments alone: they run
/// once for all calls.
inline constexpr llvm::StringLiteral preparedAttrName = "loop.prepared";

/// An attribute of kernels: the numbers of the arguments that are weights, or
/// made of weights, in all launches.
inline constexpr llvm::StringLiteral preparedArgumentsAttrName =
    "loop.prepared_arguments";

bool isPrepared(LaunchOp launch);

/// Whether `memref` is such an argument of a kernel: a copy of it costs nothing
/// in a call.
bool isPrepared(mlir::Value memref);

/// The argument of the plan or the temporary that `buffer` is, or views.
mlir::Value getMemory(mlir::Value buffer);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_IR_PREPARED_H
