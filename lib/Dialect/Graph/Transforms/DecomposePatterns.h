// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each kind of named operator: the primitives it stands for.
// Each returns null for an operation of another kind.

#ifndef DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_DECOMPOSEPATTERNS_H
#define DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_DECOMPOSEPATTERNS_H

#include "PrimitiveBuilder.h"

namespace deplo::graph {

mlir::Value decomposePointwise(PrimitiveBuilder &builder, mlir::Operation *op);
mlir::Value decomposeReduction(PrimitiveBuilder &builder, mlir::Operation *op);
mlir::Value decomposeNormalization(PrimitiveBuilder &builder,
                                   mlir::Operation *op);
mlir::Value decomposeView(PrimitiveBuilder &builder, mlir::Operation *op);

} // namespace deplo::graph

#endif // DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_DECOMPOSEPATTERNS_H
