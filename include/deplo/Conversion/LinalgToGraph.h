// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How other compilers hand over tensor programs: linalg on tensors to graph.

#ifndef DEPLO_CONVERSION_LINALGTOGRAPH_H
#define DEPLO_CONVERSION_LINALGTOGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace deplo {

/// Whether `function` computes on tensors with other operations than graph's.
bool holdsForeignTensorOps(mlir::func::FuncOp function);

/// Replaces the operations of linalg, tensor, arith and math on tensors by
/// graph's. If one has no counterpart, an error at it, and `function` is left
/// half converted.
llvm::LogicalResult convertLinalgToGraph(mlir::func::FuncOp function);

} // namespace deplo

#endif // DEPLO_CONVERSION_LINALGTOGRAPH_H
