// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which asynchronous copies one cp.async.commit_group covers.

#ifndef DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H
#define DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"

namespace deplo {

/// Copies that follow one another and are awaited together are a group: those
/// of both operands of a chunk. Loops carry groups whole.
class CopyGroups {
public:
  explicit CopyGroups(tile::KernelOp kernel);

  /// Whether nothing joins the group of `copy` after it.
  bool isLast(tile::AsyncCopyOp copy) const { return !next.contains(copy); }

  /// Whether two tokens, one after the other, are of one group.
  bool isJoined(mlir::Value token, mlir::Value following) const;

private:
  /// The copy that follows in the same group.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> next;
};

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_TILETOKERNEL_COPYGROUPS_H
