// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several groups of a kernel's warps in one block.

#ifndef DEPLO_DIALECT_TILE_IR_TEAMS_H
#define DEPLO_DIALECT_TILE_IR_TEAMS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

/// Attribute of a kernel with a `tile.each_tile`: so many times its warps are in
/// a block. Each team runs one in so many of the block's tiles, in their order,
/// and has buffers of its own for what it stores.
constexpr llvm::StringLiteral teamsName = "tile.teams";

inline int64_t getTeams(KernelOp kernel) {
  auto teams = kernel->getAttrOfType<mlir::IntegerAttr>(teamsName);
  return teams ? teams.getInt() : 1;
}

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_IR_TEAMS_H
