// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_IR_GRAPH_H
#define DEPLO_DIALECT_GRAPH_IR_GRAPH_H

#include "deplo/Dialect/Monoid.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
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

#endif // DEPLO_DIALECT_GRAPH_IR_GRAPH_H
