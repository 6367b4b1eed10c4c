// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that do not read from each other become one with several results.
//
//   %s = graph.fused @sum_2048 (%p = %x) { graph.reduce add %p axes [1] }
//   %e = graph.fused @exp_2048 (%p = %x) { graph.map (%a = %p) { math.exp } }
//
// becomes
//
//   %s, %e = graph.fused @sum_2048 (%p = %x) -> (...) {
//     %s = graph.reduce add %p axes [1]
//     %e = graph.map (%a = %p) { math.exp }
//     graph.yield %s, %e
//   }
//
// It is legal where
// - neither needs what the other computes, directly or through other kernels,
// - both run in the same loops (IterationSpace::joinParts): they read one
// buffer
//   alike, or have results of one shape,
// - the reductions of both keep the same axes, and every result is computed
//   once in all parallel loops,
// - and what a piece of work reads of both stays on chip, if it did of each.
// It is done where the cost model says that it pays: for the bytes that both
// read, or for the launch, where that is most of what they cost.

#include "FusionGroups.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-fuse-horizontal"

using namespace mlir;

namespace deplo::graph {

#define GEN_PASS_DEF_FUSEHORIZONTALPASS
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

namespace {
struct FuseHorizontalPass : impl::FuseHorizontalPassBase<FuseHorizontalPass> {
  using FuseHorizontalPassBase::FuseHorizontalPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto target = tile::TargetAttr::lookup(function);
    if (!target)
      return signalPassFailure();
    if (failed(verifyOneBlock(function, DEBUG_TYPE)))
      return signalPassFailure();
    FusionGroups groups(function, getMachineModel(target), policy,
                        FusionGroups::Kernels::Merged);
    groups.fuseSiblings();
    groups.emitRemarks(DEBUG_TYPE, "no two kernels share an input, and small "
                                   "ones of one shape are fused already");
    IRRewriter rewriter(&getContext());
    groups.mergeKernels(rewriter);
  }
};
} // namespace

} // namespace deplo::graph
