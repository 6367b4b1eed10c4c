// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_H
#define DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace deplo::graph {

/// When fusion merges groups that it may merge.
enum class FusionPolicy {
  Auto,   // where the cost model says that it pays
  Always, // wherever it is legal
  Never,  // groups stay as they are
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

} // namespace deplo::graph

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_H
