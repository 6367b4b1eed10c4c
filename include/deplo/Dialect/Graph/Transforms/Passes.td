// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
