// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many blocks the grid of a kernel has, where a launch gives extents.

#ifndef DEPLO_DIALECT_TILE_IR_TILEGRID_H
#define DEPLO_DIALECT_TILE_IR_TILEGRID_H

#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

/// The most blocks along an axis of `kernel`.
int64_t getMostBlocks(KernelOp kernel, unsigned axis);

/// The most blocks of its grid, without tile.each_tile; INT64_MAX if there may
/// be more.
int64_t getMostBlocks(KernelOp kernel);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_IR_TILEGRID_H
