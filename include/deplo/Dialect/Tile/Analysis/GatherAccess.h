// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be said of the addresses of a tile.gather without running it: how
// they grow from one element to the next.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_GATHERACCESS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_GATHERACCESS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// Integers of a tile in a run of `width` neighbours along a dimension that
/// starts at a multiple of `width`: first, first + step, first + 2 * step, ...
struct Progression {
  int64_t step = 0;
  /// first is `residue` modulo `modulus`; exactly `residue` if that is 0.
  int64_t modulus = 1;
  int64_t residue = 0;

  bool isFirstMultipleOf(int64_t divisor) const {
    return modulus % divisor == 0 && residue % divisor == 0;
  }
};

/// Nothing if the integers are not seen to progress in equal steps.
std::optional<Progression> getProgression(mlir::Value tile, unsigned dim,
                                          int64_t width);

/// Whether bools of a tile are the same in every run of `width` neighbours
/// along `dim` that starts at a multiple of `width`.
bool isUniform(mlir::Value tile, unsigned dim, int64_t width);

/// Whether all bools of a tile are the same, so that a block can branch on
/// them.
bool isUniform(mlir::Value tile);

/// The dimension along which neighbours are neighbours in memory: the last, if
/// there are several.
std::optional<unsigned> getUnitStrideDim(GatherOp gather);

/// The most elements along `dim` that one access can move: neighbours in
/// memory, aligned where memrefs are aligned to `alignment` bytes, and masked
/// alike.
int64_t getGatherWidth(GatherOp gather, unsigned dim, int64_t alignment);

/// The longest runs of neighbours along `dim`, `limit` at most and each from a
/// multiple of its length, that are one element in memory and masked alike.
int64_t getEqualRun(GatherOp gather, unsigned dim, int64_t limit);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_GATHERACCESS_H
