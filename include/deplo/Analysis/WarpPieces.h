// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a warp holds of a tile, as boxes of neighbours.
//
// A warp that stores its part by copies of boxes writes one after the other to
// shared memory: each box is spread over all of its lanes.

#ifndef DEPLO_ANALYSIS_WARPPIECES_H
#define DEPLO_ANALYSIS_WARPPIECES_H

#include "deplo/Analysis/LinearLayout.h"

#include <optional>

namespace deplo {

struct WarpPieces {
  /// Which register and lane of the warp hold which element of a piece.
  LinearLayout layout;
  /// For each piece, where it is in the warp's part, and the tile's register
  /// for each register of `layout`.
  struct Piece {
    Coordinates start;
    llvm::SmallVector<int32_t> registers;
  };
  llvm::SmallVector<Piece> pieces;

  /// The largest pieces with at most `mostShape` elements along each dimension;
  /// none if bits of registers, lanes or warps don't each move along one
  /// dimension, by a distance of their own, or if lanes are further apart.
  static std::optional<WarpPieces> get(const LinearLayout &layout,
                                       llvm::ArrayRef<int64_t> mostShape);
};

} // namespace deplo

#endif // DEPLO_ANALYSIS_WARPPIECES_H
