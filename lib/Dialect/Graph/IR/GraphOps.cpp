// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What TableGen makes of GraphOps.td. Verifiers, folders and assembly are in
// GraphNamedOps.cpp and GraphPrimitives.cpp.

#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "deplo/Dialect/Graph/IR/GraphOps.cpp.inc"

namespace deplo::graph {
#include "deplo/Dialect/Graph/IR/GraphTypes.cpp.inc"
} // namespace deplo::graph
