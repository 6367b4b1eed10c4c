// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes one pass over the data of reductions that read the same.
//
//   %s = loop.reduce add %k = 0 to 64 {     %s, %m = loop.reduce [add, max]
//     %a = loop.load %x[%i, %k]                      %k = 0 to 64 {
//     loop.yield %a                           %a = loop.load %x[%i, %k]
//   }                                         loop.yield %a, %a
//   %m = loop.reduce max ...                }
//
// Legality. A reduction has no effects (C3) and reads memory that the kernel
// does not write, so only its operands order it: it may run wherever they are
// known. Both have the same iterations, and each result keeps its own monoid.

#include "FuseSiblings.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"

namespace deplo::loop {
#define GEN_PASS_DEF_FUSEREDUCTIONSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

#define DEBUG_TYPE "deplo-fuse-reductions"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

FailureOr<ReduceOp> deplo::loop::fuseReductions(ReduceOp first, ReduceOp second,
                                                RewriterBase &rewriter,
                                                StringRef &reason) {
  if (first.getExtent() != second.getExtent()) {
    reason = "the reductions read the same data over different extents";
    return failure();
  }
  if (first.getPart() != second.getPart()) {
    reason = "the reductions fold different parts";
    return failure();
  }
  if (!canMoveUp(second, first)) {
    reason = "the later reduction depends on the earlier one";
    return failure();
  }
  moveUp(second, first, rewriter);
  SmallVector<Monoid> kinds = first.getMonoids();
  llvm::append_range(kinds, second.getMonoids());
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  rewriter.setInsertionPoint(first);
  auto fused = ReduceOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}), kinds,
      first.getExtent(), types, first.getPart(), first.getParts());

  SmallVector<Value> yielded, results;
  for (ReduceOp part : {first, second}) {
    YieldOp yield = part.getYield();
    llvm::append_range(yielded, yield.getValues());
    llvm::append_range(results, part.getResults());
    rewriter.eraseOp(yield);
    rewriter.mergeBlocks(part.getBody(), fused.getBody(),
                         fused.getInductionVar());
  }
  rewriter.setInsertionPointToEnd(fused.getBody());
  YieldOp::create(rewriter, fused.getLoc(), yielded);
  rewriter.replaceAllUsesWith(results, fused.getResults());
  rewriter.eraseOp(first);
  rewriter.eraseOp(second);
  return fused;
}

namespace {

struct FuseReductionsPass
    : deplo::loop::impl::FuseReductionsPassBase<FuseReductionsPass> {
  void runOnOperation() override {
    fuseSiblings<ReduceOp>(getOperation(), fuseReductions, DEBUG_TYPE);
  }
};

} // namespace
