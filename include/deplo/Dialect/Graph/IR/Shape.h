// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes of graph operations and what verifiers say about them.

#ifndef DEPLO_DIALECT_GRAPH_IR_SHAPE_H
#define DEPLO_DIALECT_GRAPH_IR_SHAPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <string>

namespace deplo::graph {

/// `size` for a diagnostic: a number, or ? where it is symbolic.
std::string describeSize(int64_t size);

/// The axes are strictly increasing and within `rank`.
llvm::LogicalResult verifyAxes(mlir::Operation *op,
                               llvm::ArrayRef<int64_t> axes, int64_t rank);

/// `type` has `shape`; symbolic sizes only match each other.
llvm::LogicalResult verifyShape(mlir::Operation *op,
                                mlir::RankedTensorType type,
                                llvm::ArrayRef<int64_t> shape);

/// Every tensor that `op` reads or writes has fixed sizes, and fewer bytes than
/// can be counted; if not, an error in the name of `pass`.
llvm::LogicalResult verifyFixedSizes(mlir::Operation *op, llvm::StringRef pass);

/// The body of `function` has no control flow; if it has, an error in the name
/// of `pass`.
llvm::LogicalResult verifyOneBlock(mlir::FunctionOpInterface function,
                                   llvm::StringRef pass);

/// `shape` with `axes` removed, or of size 1 for `keepdims`.
llvm::SmallVector<int64_t> getReducedShape(llvm::ArrayRef<int64_t> shape,
                                           llvm::ArrayRef<int64_t> axes,
                                           bool keepdims);

} // namespace deplo::graph

#endif // DEPLO_DIALECT_GRAPH_IR_SHAPE_H
