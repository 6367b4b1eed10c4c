// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What steps that move the starts of tiles have in common: cluster_reduce, of
// rows and of contractions, and blockify_launch of contractions.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERSUPPORT_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERSUPPORT_H

#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

/// An operand that says where a tile starts along a dimension, and how far one
/// element of the tile goes.
struct TileStart {
  mlir::OpOperand *index;
  int64_t step;
};

/// The starts of all accesses, numbers and masks along dimension `number`.
llvm::SmallVector<TileStart> findStarts(KernelOp kernel, const TileDims &dims,
                                        unsigned number);

/// Makes each tile along `axis`, of which a block has a number that is no power
/// of two, several that are. Leaves the kernel as it is and gives the reason if
/// it can't.
mlir::LogicalResult splitTiles(KernelOp kernel, unsigned axis,
                               std::string &reason);

/// The axes of `kernel` and one more, the last; returns its value.
mlir::Value addClusterAxis(KernelOp kernel, int64_t extent, int64_t slice);

/// The loop that goes over chunks of a contraction; null if there is none.
mlir::scf::ForOp findChunkLoop(KernelOp kernel);

/// How a contraction is shared.
struct ClusterChunks {
  int64_t chunks, blocks, slice;
};

/// Each of `blocks` blocks of a cluster adds up as many of the chunks of `loop`
/// as the others; nothing and the reason if that can't be.
std::optional<ClusterChunks> clusterContraction(KernelOp kernel,
                                                mlir::scf::ForOp loop,
                                                int64_t blocks,
                                                std::string &reason);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERSUPPORT_H
