// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which asynchronous copies one cp.async.commit_group covers, and which
// contractions of buffers are one.

#ifndef DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H
#define DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"

namespace deplo {

/// Copies that follow one another and are awaited together are a group: those
/// of both operands of a chunk. So are contractions of the same rows by columns
/// that lie one after the other, for which there are instructions. Loops carry
/// groups whole.
class CopyGroups {
public:
  explicit CopyGroups(tile::KernelOp kernel);

  /// Whether nothing joins the group of `op` after it.
  bool isLast(mlir::Operation *op) const { return !next.contains(op); }

  /// Rings whose slots lie side by side, so that a slot of each is one operand:
  /// `ring` and others, or `ring` alone.
  llvm::SmallVector<tile::AllocOp> getRings(tile::AllocOp ring) const;

  /// The group of contractions of which `last` is the last.
  llvm::SmallVector<tile::AsyncDotOp> getDots(tile::AsyncDotOp last) const;

  /// Whether two tokens, one after the other, are of one group.
  bool isJoined(mlir::Value token, mlir::Value following) const;

private:
  /// Makes `after`, the next contraction behind `dot`, one of its group if
  /// there are instructions for both.
  void join(tile::AsyncDotOp dot, tile::AsyncDotOp after);

  /// The ring whose slots lie behind those of another.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> following;
  /// The copy or contraction that follows in the same group.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> next;
};

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H
