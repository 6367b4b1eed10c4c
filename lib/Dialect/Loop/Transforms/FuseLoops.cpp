// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes one parallel loop of neighbours that read the same.
//
//   loop.for %i = 0 to 64 {                loop.for %i = 0 to 64 {
//     %a = loop.load %x[%i]                  %a = loop.load %x[%i]
//     loop.store %a, %y[%i]                  loop.store %a, %y[%i]
//   }                                        %b = math.exp %a : f32
//   loop.for %i = 0 to 64 { .. %z[%i] }      loop.store %b, %z[%i] }
//
// Legality. The kernel loads nothing that it stores, so no value flows from one
// loop to the other through memory, and iterations of each are independent. Two
// loops that store to one memref could store to the same element; their order
// is the program's and they stay as they are.

#include "FuseSiblings.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"

namespace deplo::loop {
#define GEN_PASS_DEF_FUSELOOPSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

#define DEBUG_TYPE "deplo-fuse-loops"

using namespace mlir;
using namespace deplo::loop;

static llvm::SmallPtrSet<Value, 4> getStoredMemrefs(ForOp loop) {
  llvm::SmallPtrSet<Value, 4> memrefs;
  loop.walk([&](StoreOp store) { memrefs.insert(store.getMemref()); });
  return memrefs;
}

FailureOr<ForOp> deplo::loop::fuseLoops(ForOp first, ForOp second,
                                        RewriterBase &rewriter,
                                        StringRef &reason) {
  if (first.getExtent() != second.getExtent()) {
    reason = "the loops read the same data over different extents";
    return failure();
  }
  llvm::SmallPtrSet<Value, 4> stored = getStoredMemrefs(first);
  for (Value memref : getStoredMemrefs(second))
    if (stored.contains(memref)) {
      reason = "both loops store to the same memref";
      return failure();
    }
  if (!canMoveUp(second, first)) {
    reason =
        "the later loop depends on what can't move in front of the earlier";
    return failure();
  }
  moveUp(second, first, rewriter);
  rewriter.modifyOpInPlace(first, [&] {
    first->setLoc(rewriter.getFusedLoc({first.getLoc(), second.getLoc()}));
  });
  rewriter.mergeBlocks(second.getBody(), first.getBody(),
                       first.getInductionVar());
  rewriter.eraseOp(second);
  return first;
}

namespace {

struct FuseLoopsPass : deplo::loop::impl::FuseLoopsPassBase<FuseLoopsPass> {
  void runOnOperation() override {
    fuseSiblings<ForOp>(getOperation(), fuseLoops, DEBUG_TYPE);
  }
};

} // namespace
