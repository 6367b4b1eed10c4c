// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gather of what another one gathers, as one.

#ifndef DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_COMPOSEGATHERS_H
#define DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_COMPOSEGATHERS_H

#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/PatternMatch.h"

namespace deplo::graph {

/// Whether `outer` can read what `inner`, a source of it, reads, and registers
/// hold what that takes: no coordinate of either depends on an index, and
/// windows read one source.
bool canCompose(GatherOp outer, GatherOp inner);

/// Lets `outer` read the sources of `inner`. Returns what takes its place.
GatherOp composeGathers(mlir::RewriterBase &rewriter, GatherOp outer,
                        GatherOp inner);

} // namespace deplo::graph

#endif // DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_COMPOSEGATHERS_H
