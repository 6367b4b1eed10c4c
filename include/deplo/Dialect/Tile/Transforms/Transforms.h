// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rewrites behind the tile passes, as free functions for passes, transform
// operations and other compilers.

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// register_tile
//===----------------------------------------------------------------------===//

/// What assignLayouts did.
struct LayoutSummary {
  /// Layouts chosen from memory accesses; all others are slices of them.
  llvm::SmallVector<LayoutAttr> anchors;
  /// tile.convert_layout operations inserted.
  int64_t conversions = 0;
  /// 32-bit registers of a thread that tiles occupy where most are alive at a
  /// point at which threads wait for each other.
  int64_t registers = 0;
};

/// Gives each tile of `kernel` a layout in which threads hold up to `vector`
/// neighbours in memory. Emits an error and fails if a tile can't have one.
mlir::FailureOr<LayoutSummary> assignLayouts(KernelOp kernel, int64_t vector);

/// 32-bit registers of a thread that tiles with layouts occupy at once where
/// threads wait for each other: nothing can be delayed past such a point.
int64_t estimateRegisters(KernelOp kernel);

//===----------------------------------------------------------------------===//
// vectorize_access
//===----------------------------------------------------------------------===//

/// Sets `vector` of an access (see getAccessWidth) unless it is set or 1, and
/// returns whether it did.
bool vectorizeAccess(mlir::Operation *access, int64_t alignment);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
