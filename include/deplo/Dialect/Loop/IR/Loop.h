// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_IR_LOOP_H
#define DEPLO_DIALECT_LOOP_IR_LOOP_H

#include "deplo/Dialect/Monoid.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "deplo/Dialect/Loop/IR/LoopDialect.h.inc"

#define GET_OP_CLASSES
#include "deplo/Dialect/Loop/IR/LoopOps.h.inc"

namespace deplo::loop {

/// The extent of a loop.for, loop.reduce or loop.scan; none of anything else.
std::optional<int64_t> getLoopExtent(mlir::Operation *loop);

/// The extent of the loop that `value` is the induction variable of.
std::optional<int64_t> getExtentOf(mlir::Value value);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_IR_LOOP_H
