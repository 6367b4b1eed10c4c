// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Primitives become groups, one kernel each.
//
//   %e = graph.map (%a = %x) { math.exp }
//   %s = graph.reduce add %e axes [1]
//
// becomes
//
//   %s = graph.fused @sum_2048 (%p = %x) -> (...) {
//     %e = graph.map (%a = %p) { math.exp }
//     %s = graph.reduce add %e axes [1]
//     graph.yield %s
//   }
//
// Every primitive is a group at first. The groups of a value's producer and of
// its consumer are then merged, those that save most bytes first, where
// - no other kernel would have to run between the two,
// - all reads between them run in the same loops (IterationSpace),
// - the reductions of the result keep the same axes: its parallel loops,
// - every value that leaves the group is computed in all of those loops, once,
// - and the cost model says that it pays.
// A merge that fails, for a reason that a later one removes, is tried again.
// Maps that several kernels read are then computed in each of them where that
// is cheaper than a kernel that stores their results (FusionRecompute.cpp).

#include "FusionGroups.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

#define DEBUG_TYPE "deplo-fuse-vertical"

using namespace mlir;

namespace deplo::graph {

#define GEN_PASS_DEF_FUSEVERTICALPASS
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

namespace {
struct FuseVerticalPass : impl::FuseVerticalPassBase<FuseVerticalPass> {
  using FuseVerticalPassBase::FuseVerticalPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto target = tile::TargetAttr::lookup(function);
    if (!target)
      return signalPassFailure();
    std::optional<tile::Precision> mode = tile::findPrecision(precision);
    if (!mode) {
      function.emitError() << "schedule: precision is '" << precision
                           << "', expected " << tile::namesOfPrecisions;
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    if (failed(makeReadable(rewriter, function)))
      return signalPassFailure();
    auto fuse = [&] {
      auto groups = std::make_unique<FusionGroups>(
          function, getMachineModel(target, *mode), policy,
          FusionGroups::Kernels::Fixed, windows);
      groups->fuse();
      return groups;
    };
    std::unique_ptr<FusionGroups> groups = fuse();
    // What is computed in several kernels may in turn be all that reads another
    // map.
    while (true) {
      SmallVector<FusionGroups::Recomputed> recomputed =
          groups->findRecomputed();
      if (policy == FusionPolicy::Never || recomputed.empty())
        break;
      Recomputation copies;
      copies.apply(rewriter, recomputed);
      std::unique_ptr<FusionGroups> next = fuse();
      if (next->getSeconds() >= groups->getSeconds()) {
        copies.undo(rewriter);
        groups = fuse();
        break;
      }
      groups = std::move(next);
    }
    groups->emitRemarks(DEBUG_TYPE, "no primitive reads what another computes");
    groups->outline(rewriter);
  }
};
} // namespace

} // namespace deplo::graph
