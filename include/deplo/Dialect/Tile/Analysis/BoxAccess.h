// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to boxes of memory, seen alike: tile.load, store, copy, async_copy.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_BOXACCESS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_BOXACCESS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// A box of a memref, with the defaults of the op spelled out.
struct BoxAccess {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value> indices;
  /// For each tile dimension: its size, the memref dimension that it spans, and
  /// how far one step goes there.
  llvm::SmallVector<int64_t> shape, dims, steps;
  /// For each tile dimension; empty if nothing is masked.
  llvm::SmallVector<int64_t> bounds;

  /// Nothing, if `op` is not an access to global memory.
  static std::optional<BoxAccess> get(mlir::Operation *op);

  mlir::MemRefType getMemRefType() const {
    return llvm::cast<mlir::MemRefType>(memref.getType());
  }
  int64_t getElementBytes() const;
  int64_t getNumElements() const;

  /// The tile dimension along which neighbours are neighbours in memory: the
  /// largest, if sizes of one leave a choice.
  std::optional<unsigned> getUnitStrideDim() const;

  /// The tile's dimensions in the order in which threads share out a copy: the
  /// one along which neighbours are neighbours in memory, then the others from
  /// the last one on.
  llvm::SmallVector<unsigned> getMemoryOrder() const;

  /// What was subtracted from where the box starts along tile dimension `dim`,
  /// if align_rows has moved it to an aligned address; else null.
  MisalignmentOp getMisalignment(unsigned dim) const;
};

/// Neighbouring threads that a copy gives neighbours along `dim`.
struct CopyRun {
  unsigned dim;
  int64_t length;
};

/// How threads share out a copy of `vectors` accesses along each dimension:
/// along memory first, then along the others from the last one on. A copy that
/// transposes takes a sector of memory (32 bytes) and what it takes of the rest
/// of a row comes last: several rows of memory are neighbours in the buffer.
llvm::SmallVector<CopyRun> getCopyRuns(mlir::Operation *copy,
                                       llvm::ArrayRef<int64_t> vectors);

/// The largest number known to divide an index; 0 if it is known to be zero.
/// Knows constants, the coordinates of a block, induction variables, and sums
/// and products of them.
int64_t getKnownDivisor(mlir::Value index);

/// The most elements that one access of a thread may move, up to 16 bytes: a
/// power of two. `op` is a tile.load, store, copy, async_copy, read or write;
/// memrefs start at a multiple of `alignment` bytes. A box access is limited by
/// the layout of its tile (if it has one yet), by the alignment of the box in
/// memory. Bounds may end within an access.
int64_t getAccessWidth(mlir::Operation *op, int64_t alignment);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_BOXACCESS_H
