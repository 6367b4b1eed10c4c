// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What contractions by mma.sync and by wgmma have in common.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_TENSORIZESUPPORT_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_TENSORIZESUPPORT_H

#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

/// How many of `warps` are along each dimension of the result, if each has a
/// tile of `warpTile`; else gives the reason.
mlir::FailureOr<llvm::SmallVector<int64_t>>
getWarpsPerDim(DotOp dot, llvm::ArrayRef<int64_t> warpTile, int64_t warps,
               std::string &reason);

/// The atom of wgmma for `dot`, whose operands have elements of `elementBytes`
/// in shared memory; else gives the reason.
mlir::FailureOr<AtomAttr> getWgmmaAtom(DotOp dot,
                                       llvm::ArrayRef<int64_t> warpTile,
                                       int64_t warps, int64_t elementBytes,
                                       std::string &reason);

/// The buffer that `operand` is all of; null if it is of none.
mlir::Value getWholeBuffer(mlir::Value operand);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_TENSORIZESUPPORT_H
