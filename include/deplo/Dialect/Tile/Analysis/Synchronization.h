// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which accesses of different threads a barrier keeps apart.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_SYNCHRONIZATION_H
#define DEPLO_DIALECT_TILE_ANALYSIS_SYNCHRONIZATION_H

#include "deplo/Analysis/ThreadAccess.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// What an operation reads or writes of a buffer or of a memref.
struct MemoryAccess {
  mlir::Operation *op;
  /// The buffer, the ring of a slot, or the memref; null if not known.
  mlir::Value memory;
  bool isWrite;
  /// Nothing, if any thread may touch any element.
  std::optional<ThreadAccess> threads;
};

/// A pair of accesses in this order, by different threads and not both reads.
struct Conflict {
  MemoryAccess first, second;
};

/// A conflict that only `barrier` keeps in order: its accesses are reached from
/// the barrier, backwards and forwards, without passing another one.
std::optional<Conflict> findConflict(BarrierOp barrier);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_SYNCHRONIZATION_H
