// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// chunk_matmul_k: a factor of a sum of products, and a chunk of it.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CHUNKOPERANDS_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CHUNKOPERANDS_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// A factor of the products that a reduction adds: a load, or what is computed
/// from loads and gathers element by element.
struct Factor {
  /// Before it is widened and broadcast, and the dimension of the sum that each
  /// of its dimensions is.
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
  /// The load with all these dimensions, whose order in memory the chunks have;
  /// null where all of them are gathered.
  LoadOp load;

  bool isMapped() const { return !value.getDefiningOp<LoadOp>(); }
};

/// A reduction that adds products; both factors depend on its variable.
struct SumOfProducts {
  loop::ReduceOp reduce;
  Factor lhs, rhs;

  static std::optional<SumOfProducts> get(loop::ReduceOp reduce,
                                          unsigned result = 0);
};

/// A tile, and the dimension of the sum that each of its dimensions is; what is
/// summed over counts as one more behind the others.
struct ChunkedTile {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
};

/// Builds `chunk` summed elements of `factor` from `variable` on, at `inside`;
/// what does not depend on these goes to `before`. Elements beyond the extent
/// of the sum are zero.
ChunkedTile buildChunk(const Factor &factor, loop::ReduceOp reduce,
                       mlir::OpBuilder &before, mlir::OpBuilder &inside,
                       mlir::Value variable, int64_t chunk);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CHUNKOPERANDS_H
