// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rewrites of the scheduling passes, for passes, transform operations and
// other compilers. They emit diagnostics, not remarks.

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "mlir/Support/LLVM.h"

namespace deplo {
struct ScheduleFacts;
struct TargetDescription;
namespace tile {

/// The loops that become the axes of a kernel, outermost first: those that hold
/// nothing but one another and the values that the innermost ones use.
llvm::SmallVector<loop::ForOp> getAxisLoops(loop::KernelOp kernel);

/// Replaces a loop nest by its tile program (001). Fails with an error.
mlir::FailureOr<KernelOp> tileify(loop::KernelOp kernel);

/// Makes each reduction loop a dimension of tiles and a tile.reduce (004).
/// Returns how many there were.
unsigned reduceCooperatively(KernelOp kernel);

/// Divides the axes among blocks (005): `block` elements of each axis in a
/// block of `warps` warps. Fails with an error.
mlir::LogicalResult blockifyLaunch(KernelOp kernel,
                                   llvm::ArrayRef<int64_t> block, int64_t warps,
                                   TargetAttr target);

struct ChunkedDim {
  int64_t extent;
  int64_t chunk;
  int64_t chunks;
  /// How often each element is read from memory.
  int64_t reads;
};

/// Puts inner dimensions that are longer than `chunk` elements into loops over
/// chunks of them (006). Returns what was divided.
llvm::SmallVector<ChunkedDim> chunkReduce(KernelOp kernel, int64_t chunk);

/// Drops masks that mask nothing.
void simplifyMasks(KernelOp kernel);

/// A target as an attribute, and back as the models take it.
TargetAttr getTargetAttr(mlir::MLIRContext *context,
                         const TargetDescription &target);
TargetDescription describe(TargetAttr target);

/// What the schedule model asks of a kernel whose arguments are aligned to
/// `alignment` bytes.
ScheduleFacts getScheduleFacts(loop::KernelOp kernel, int64_t alignment);

} // namespace tile
} // namespace deplo

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
