// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drives the fusion of sibling loops of one kind in a kernel.

#ifndef DEPLO_LIB_DIALECT_LOOP_TRANSFORMS_FUSESIBLINGS_H
#define DEPLO_LIB_DIALECT_LOOP_TRANSFORMS_FUSESIBLINGS_H

#include "deplo/Dialect/Loop/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/FormatVariadic.h"

namespace deplo::loop {

template <typename LoopOp>
using FuseFunction = mlir::FailureOr<LoopOp> (*)(LoopOp, LoopOp,
                                                 mlir::RewriterBase &,
                                                 llvm::StringRef &);

/// Fuses the first pair of `block` that shares loads and may be fused. Pairs
/// that may not are reported when nothing is left to fuse.
template <typename LoopOp>
bool fuseFirstPair(mlir::Block &block, FuseFunction<LoopOp> fuse,
                   mlir::RewriterBase &rewriter,
                   mlir::remark::RemarkOpts options) {
  llvm::SmallVector<LoopOp> loops(block.getOps<LoopOp>());
  llvm::SmallVector<std::pair<mlir::Location, llvm::StringRef>> refused;
  for (size_t i = 0; i < loops.size(); ++i)
    for (size_t j = i + 1; j < loops.size(); ++j) {
      int64_t bytes = getSharedLoadBytes(loops[i], loops[j]);
      if (bytes == 0)
        continue;
      llvm::StringRef reason;
      mlir::FailureOr<LoopOp> fused =
          fuse(loops[i], loops[j], rewriter, reason);
      if (failed(fused)) {
        refused.push_back({loops[j].getLoc(), reason});
        continue;
      }
      mlir::remark::passed(fused->getLoc(), options)
          << llvm::formatv("one loop in place of two saves {0} bytes of loads",
                           bytes)
                 .str();
      return true;
    }
  for (auto [loc, reason] : refused)
    mlir::remark::missed(loc, options) << reason;
  return false;
}

/// Fuses siblings of `block`, then of the blocks in it: fusing two loops makes
/// siblings of the loops in them.
template <typename LoopOp>
bool fuseSiblings(mlir::Block &block, FuseFunction<LoopOp> fuse,
                  mlir::RewriterBase &rewriter,
                  mlir::remark::RemarkOpts options) {
  bool changed = false;
  while (fuseFirstPair(block, fuse, rewriter, options))
    changed = true;
  for (mlir::Operation &op : block)
    for (mlir::Region &region : op.getRegions())
      for (mlir::Block &inner : region)
        changed |= fuseSiblings(inner, fuse, rewriter, options);
  return changed;
}

/// Fuses siblings of `kernel` and makes one of equal loads.
template <typename LoopOp>
void fuseSiblings(KernelOp kernel, FuseFunction<LoopOp> fuse,
                  llvm::StringRef category) {
  mlir::IRRewriter rewriter(kernel.getContext());
  mlir::remark::RemarkOpts options =
      mlir::remark::RemarkOpts::name("fuse").category(category).function(
          kernel.getSymName());
  if (!fuseSiblings(*kernel.getBody(), fuse, rewriter, options))
    return;
  mlir::DominanceInfo dominance(kernel);
  mlir::eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

} // namespace deplo::loop

#endif // DEPLO_LIB_DIALECT_LOOP_TRANSFORMS_FUSESIBLINGS_H
