// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_H
#define DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace deplo::tile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_H
