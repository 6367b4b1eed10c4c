// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What accesses of tiles to shared memory cost.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_BUFFERACCESS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_BUFFERACCESS_H

#include "deplo/Analysis/MatrixAccess.h"
#include "deplo/Analysis/SharedMemory.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// How ldmatrix serves `read`; none if it doesn't, or if the tile has no layout
/// yet.
std::optional<MatrixAccess> getMatrixAccess(ReadOp read);

/// What a warp does to a box of a buffer: to the model, a buffer of the box's
/// shape whose rows are followed by the rest of the real buffer's.
struct BoxOfBuffer {
  SharedAccess access;
  SharedBuffer box;
};

/// The accesses to a buffer, or to each slot of a ring.
struct BufferAccesses {
  /// The buffer or slot.
  BufferType buffer;
  /// Of reads, of writes, and of copies that go across rows.
  std::vector<BoxOfBuffer> boxes;
  /// The widest copy, in elements, which needs rows aligned.
  int64_t copyVector = 1;
  /// Whether ldmatrix does all reads.
  bool isOfMatrices = true;

  /// Nothing, if a tile has no layout or rows of a box are not evenly spaced.
  /// Accesses without a vector are as wide as memrefs that are aligned to
  /// `alignment` bytes allow.
  static std::optional<BufferAccesses> get(AllocOp alloc, int64_t alignment);

  /// What all boxes cost in a buffer of another layout; nothing if that
  /// misaligns one.
  std::optional<BankConflicts> getCost(SharedAttr layout) const;
};

/// What `buffer` is memory of: the ring that it is a slot of, or itself.
mlir::Value getMemory(mlir::Value buffer);

/// Gives a buffer, or a ring and its slots, another layout.
void setLayout(AllocOp alloc, SharedAttr layout);

/// What the buffer is to a user: that of the memref that is copied to it.
std::string getBufferName(AllocOp alloc,
                          llvm::function_ref<std::string(mlir::Value)> getName);

/// `2-way`, or `conflict-free`.
std::string describeConflicts(int64_t degree);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_BUFFERACCESS_H
