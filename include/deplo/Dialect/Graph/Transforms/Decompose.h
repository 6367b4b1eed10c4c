// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H
#define DEPLO_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
class RewriterBase;
} // namespace mlir

namespace deplo::graph {

/// Replaces the named operator `op` by primitives; leaves primitives and
/// operations of other dialects alone. Fails, with an error, on symbolic sizes
/// only.
llvm::LogicalResult decompose(mlir::RewriterBase &rewriter,
                              mlir::Operation *op);

/// `loc`, remembering that what is there came from the operator `name`.
mlir::Location getSourceLoc(mlir::Location loc, llvm::StringRef name);

/// The operator that getSourceLoc put into `loc`; empty if there is none.
llvm::StringRef getSourceName(mlir::Location loc);

} // namespace deplo::graph

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H
