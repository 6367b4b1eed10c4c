// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fuse_chunks: contractions that share an operand go over its chunks together.
//
//   %g = scf.for %k = 0 to 512 step 16 iter_args(%acc = %zeros) {
//     %a = tile.load %x[%i, %k] : tensor<64x16xf32>
//     %b = tile.load %v[%k, %j] : tensor<16x32xf32>
//     %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc
//     scf.yield %d
//   }
//   %u = scf.for %k = 0 to 512 step 16 iter_args(%acc = %zeros) {
//     %a = tile.load %x[%i, %k] ...
//     %b = tile.load %w[%k, %j] ...
//     ...
//
// becomes
//
//   %gu:2 = scf.for %k = 0 to 512 step 16 iter_args(%g = %zeros, %u = %zeros) {
//     %a = tile.load %x[%i, %k] : tensor<64x16xf32>
//     %b = tile.load %v[%k, %j] : tensor<16x32xf32>
//     %c = tile.load %w[%k, %j] : tensor<16x32xf32>
//     %d = tile.dot %a dims [0, 2], %b dims [2, 1], %g
//     %e = tile.dot %a dims [0, 2], %c dims [2, 1], %u
//     scf.yield %d, %e
//   }
//
// Legality: both loops run over the same chunks, have no effects but reads of
// memory that the kernel does not write, and neither needs the other's result.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

#define DEBUG_TYPE "deplo-fuse-chunks"

namespace deplo::tile {
#define GEN_PASS_DEF_FUSECHUNKSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// Whether `loop` adds chunks of memory that the kernel does not write.
static bool addsChunks(scf::ForOp loop) {
  llvm::SmallDenseSet<Value> stored;
  loop->getParentOfType<KernelOp>().walk(
      [&](StoreOp store) { stored.insert(store.getMemref()); });
  bool hasDot = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    hasDot |= isa<DotOp>(op);
    auto load = dyn_cast<LoadOp>(op);
    if (load ? stored.contains(load.getMemref()) : !isPure(&op))
      return false;
  }
  return hasDot;
}

static bool haveEqualBounds(scf::ForOp first, scf::ForOp second) {
  auto areEqual = [](Value a, Value b) {
    IntegerAttr x, y;
    return a == b || (matchPattern(a, m_Constant(&x)) &&
                      matchPattern(b, m_Constant(&y)) && x == y);
  };
  return areEqual(first.getLowerBound(), second.getLowerBound()) &&
         areEqual(first.getUpperBound(), second.getUpperBound()) &&
         areEqual(first.getStep(), second.getStep());
}

static bool shareLoads(scf::ForOp first, scf::ForOp second) {
  llvm::SmallDenseSet<Value> memrefs;
  for (auto load : first.getOps<LoadOp>())
    memrefs.insert(load.getMemref());
  return llvm::any_of(second.getOps<LoadOp>(), [&](LoadOp load) {
    return memrefs.contains(load.getMemref());
  });
}

/// Moves what `loop` needs before `point`; fails where that can't be.
static LogicalResult moveOperands(RewriterBase &rewriter, scf::ForOp loop,
                                  Operation *point) {
  SetVector<Value> values(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop.getRegion(), values);
  return moveValueDefinitions(rewriter, values.getArrayRef(), point);
}

/// Moves the loads of a loop before what is computed with them, so that one
/// barrier will do for all.
static void moveLoadsUp(RewriterBase &rewriter, scf::ForOp loop) {
  Operation *first = *loop.getOps<DotOp>().begin();
  for (LoadOp load : llvm::make_early_inc_range(loop.getOps<LoadOp>()))
    if (first->isBeforeInBlock(load) &&
        succeeded(moveOperationDependencies(rewriter, load, first)))
      rewriter.moveOpBefore(load, first);
}

static scf::ForOp fuse(RewriterBase &rewriter, scf::ForOp first,
                       scf::ForOp second) {
  SmallVector<Value> starts(first.getInitArgs());
  llvm::append_range(starts, second.getInitArgs());
  rewriter.setInsertionPoint(first);
  auto fused = scf::ForOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}),
      first.getLowerBound(), first.getUpperBound(), first.getStep(), starts);
  SmallVector<Value> yielded;
  Block::BlockArgListType arguments = fused.getRegionIterArgs();
  for (scf::ForOp part : {first, second}) {
    unsigned count = part.getNumRegionIterArgs();
    SmallVector<Value> replacements = {fused.getInductionVar()};
    llvm::append_range(replacements, arguments.take_front(count));
    arguments = arguments.drop_front(count);
    auto yield = cast<scf::YieldOp>(part.getBody()->getTerminator());
    llvm::append_range(yielded, yield.getOperands());
    rewriter.eraseOp(yield);
    rewriter.mergeBlocks(part.getBody(), fused.getBody(), replacements);
  }
  rewriter.setInsertionPointToEnd(fused.getBody());
  scf::YieldOp::create(rewriter, fused.getLoc(), yielded);
  unsigned count = first.getNumResults();
  rewriter.replaceAllUsesWith(first.getResults(),
                              fused.getResults().take_front(count));
  rewriter.replaceAllUsesWith(second.getResults(),
                              fused.getResults().drop_front(count));
  rewriter.eraseOp(first);
  rewriter.eraseOp(second);
  moveLoadsUp(rewriter, fused);
  return fused;
}

unsigned tile::fuseChunks(KernelOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (addsChunks(loop))
      loops.push_back(loop);
  });
  unsigned fused = 0;
  for (size_t i = 0; i < loops.size(); ++i)
    for (size_t j = i + 1; j < loops.size();) {
      if (loops[i]->getBlock() != loops[j]->getBlock() ||
          !haveEqualBounds(loops[i], loops[j]) ||
          !shareLoads(loops[i], loops[j]) ||
          failed(moveOperands(rewriter, loops[j], loops[i]))) {
        ++j;
        continue;
      }
      loops[i] = fuse(rewriter, loops[i], loops[j]);
      loops.erase(loops.begin() + j);
      ++fused;
    }
  if (fused) {
    DominanceInfo dominance(kernel);
    eliminateCommonSubExpressions(rewriter, dominance, kernel);
  }
  return fused;
}

namespace {

struct FuseChunksPass : tile::impl::FuseChunksPassBase<FuseChunksPass> {
  using FuseChunksPassBase::FuseChunksPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("FuseChunks")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    unsigned fused = fuseChunks(kernel);
    if (fused == 0) {
      remark::missed(kernel.getLoc(), options)
          << "no two contractions go over chunks of the same operand";
      return markAllAnalysesPreserved();
    }
    remark::passed(kernel.getLoc(), options)
        << remark::add("{0} contractions go over the chunks of another", fused);
  }
};

} // namespace
