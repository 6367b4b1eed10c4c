// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_IR_GRAPH_H
#define DEPLO_DIALECT_GRAPH_IR_GRAPH_H

#include "deplo/Dialect/Monoid.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "deplo/Dialect/Graph/IR/GraphDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "deplo/Dialect/Graph/IR/GraphAttrs.h.inc"

#define GET_OP_CLASSES
#include "deplo/Dialect/Graph/IR/GraphOps.h.inc"

namespace deplo::graph {

/// The map of a read through `outer`, into a tensor of `outerShape`, of a read
/// through `inner`, into one of `innerShape`, from one of `sourceShape`; null
/// if it would divide sums of coordinates and is not a reshape either.
mlir::AffineMap composeReads(mlir::AffineMap outer,
                             llvm::ArrayRef<int64_t> outerShape,
                             mlir::AffineMap inner,
                             llvm::ArrayRef<int64_t> innerShape,
                             llvm::ArrayRef<int64_t> sourceShape);

} // namespace deplo::graph

#endif // DEPLO_DIALECT_GRAPH_IR_GRAPH_H
