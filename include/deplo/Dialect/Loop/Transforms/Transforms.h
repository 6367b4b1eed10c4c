// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rewrites of the loop level as functions, for passes and for others.

#ifndef DEPLO_DIALECT_LOOP_TRANSFORMS_TRANSFORMS_H
#define DEPLO_DIALECT_LOOP_TRANSFORMS_TRANSFORMS_H

#include "deplo/Dialect/Loop/IR/Loop.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace deplo::loop {

/// What collapseLoops did to a kernel.
struct CollapseCounts {
  unsigned loops = 0;          // pairs of loops that became one
  unsigned unitDimensions = 0; // dimensions of size 1 dropped from memrefs
};

/// Merges loops of `kernel` over adjacent contiguous dimensions and drops unit
/// dimensions; `launches` are all launches of it, which get views to match.
CollapseCounts collapseLoops(KernelOp kernel,
                             llvm::ArrayRef<LaunchOp> launches);

/// Whether two kernels differ in their names and locations only.
bool areEqual(KernelOp a, KernelOp b);

/// Bytes that fusing two loops saves: what `second` loads that `first`, at the
/// same iteration, loads as well.
int64_t getSharedLoadBytes(mlir::Operation *first, mlir::Operation *second);

/// Whether `later` could run at the place of `earlier`, before it in the same
/// block: it uses nothing that depends on `earlier`, and what it needs from in
/// between has no effects.
bool canMoveUp(mlir::Operation *later, mlir::Operation *earlier);

/// Moves `later`, and what it needs from in between, directly behind `earlier`.
/// Requires canMoveUp.
void moveUp(mlir::Operation *later, mlir::Operation *earlier,
            mlir::RewriterBase &rewriter);

/// One reduction with the results of both, in order, in place of `first`;
/// `second` comes later in the same block. Fails, and says why in `reason`, if
/// the extents differ or one depends on the other.
mlir::FailureOr<ReduceOp> fuseReductions(ReduceOp first, ReduceOp second,
                                         mlir::RewriterBase &rewriter,
                                         llvm::StringRef &reason);

/// One loop with the bodies of both in place of `first`; `second` comes later
/// in the same block. Fails, and says why in `reason`, if the extents differ,
/// one depends on the other, or both store to the same memref.
mlir::FailureOr<ForOp> fuseLoops(ForOp first, ForOp second,
                                 mlir::RewriterBase &rewriter,
                                 llvm::StringRef &reason);

/// Whether `reduce` is over a window: at most `maxElements`, all loads of which
/// are of elements that other results may read as well, or are conditional.
bool isWindow(ReduceOp reduce, int64_t maxElements);

/// Replaces a reduction over at least one element by its iterations, combined
/// in order.
void unroll(ReduceOp reduce, mlir::RewriterBase &rewriter);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_TRANSFORMS_TRANSFORMS_H
