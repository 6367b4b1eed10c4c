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

namespace deplo::graph {

/// What named operations decompose into, and what a kernel may hold.
template <typename OpT>
class IsPrimitive : public mlir::OpTrait::TraitBase<OpT, IsPrimitive> {};

/// A primitive that is evaluated, unlike views and constants, which are read
/// through.
template <typename OpT>
class IsComputation : public mlir::OpTrait::TraitBase<OpT, IsComputation> {};

} // namespace deplo::graph

#define GET_OP_CLASSES
#include "deplo/Dialect/Graph/IR/GraphOps.h.inc"

namespace deplo::graph {

/// Whether `type` is a tensor that a primitive may have as an operand.
#include "deplo/Dialect/Graph/IR/GraphTypes.h.inc"

inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether a computation has `value` as its result.
inline bool isComputed(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && op->hasTrait<IsComputation>();
}

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
