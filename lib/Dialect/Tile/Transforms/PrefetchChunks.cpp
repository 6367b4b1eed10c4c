// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prefetch_chunks: the loads of the next chunk start before a chunk is scanned.
//
//   scf.for %k = %c0 to %c8192 step %c1024 iter_args(%carry = %zero) {
//     %a = tile.load %x[%i, %k]
//     %s, %next = tile.scan add %a carry %carry axis 1
//     tile.store %s, %y[%i, %k]
//     scf.yield %next
//   }
//
// becomes
//
//   %first = tile.load %x[%i, %c0]
//   scf.for %k = %c0 to %c8192 step %c1024
//       iter_args(%carry = %zero, %a = %first) {
//     %n = arith.addi %k, %c1024
//     %b = tile.load %x[%i, %n] bounds [32, 8192]
//     %s, %next = tile.scan add %a carry %carry axis 1
//     tile.store %s, %y[%i, %k]
//     scf.yield %next, %b
//   }
//
// Legality:
//   L1: the kernel does not store to what is loaded, so a load gives the same
//       values earlier.
//   L2: the loop runs at least once, from its first chunk to its last.
//   L3: coordinates are computed from the loop's variable and from values of
//       before the loop, without effects.
//   L4: past the last chunk loads are masked, by the bounds that they have or
//       by those of the memref.

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "deplo-prefetch-chunks"

namespace deplo::tile {
#define GEN_PASS_DEF_PREFETCHCHUNKSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static bool isStoredTo(Value memref) {
  return llvm::any_of(memref.getUsers(), llvm::IsaPred<StoreOp>);
}

/// L3. `varies` says whether the loop's variable is among what it depends on.
static bool isKnownAhead(Value index, scf::ForOp loop, bool &varies) {
  if (index == loop.getInductionVar()) {
    varies = true;
    return true;
  }
  Operation *op = index.getDefiningOp();
  if (!loop->isAncestor(index.getParentRegion()->getParentOp()))
    return true;
  return op && index.getType().isIndex() && op->getNumRegions() == 0 &&
         isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isKnownAhead(operand, loop, varies);
         });
}

static bool canPrefetch(LoadOp load, scf::ForOp loop) {
  bool varies = false;
  return !isStoredTo(load.getMemref()) && // L1
         llvm::all_of(
             load.getIndices(),
             [&](Value index) { return isKnownAhead(index, loop, varies); }) &&
         varies;
}

/// `index` for another value of the loop's variable.
static Value cloneIndex(OpBuilder &builder, Value index, scf::ForOp loop,
                        IRMapping &mapping) {
  Operation *op = index.getDefiningOp();
  if (mapping.contains(index))
    return mapping.lookup(index);
  if (!op || !loop->isAncestor(op))
    return index;
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneIndex(builder, operand, loop, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(index);
}

static LoadOp cloneAt(OpBuilder &builder, LoadOp load, Value position,
                      scf::ForOp loop) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), position);
  for (Value index : load.getIndices())
    mapping.map(index, cloneIndex(builder, index, loop, mapping));
  return cast<LoadOp>(builder.clone(*load, mapping));
}

/// L4.
static void boundByMemref(LoadOp load) {
  if (load.getBounds())
    return;
  BoxAccess box = *BoxAccess::get(load);
  load.setBounds(llvm::map_to_vector(box.dims, [&](int64_t dim) {
    return load.getMemRefType().getDimSize(dim);
  }));
}

int64_t tile::prefetchChunks(scf::ForOp loop) {
  std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                         to = getConstantIntValue(loop.getUpperBound());
  if (!from || !to || *from >= *to || loop->hasAttr(descendingName)) // L2
    return 0;
  SmallVector<LoadOp> loads;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (canPrefetch(load, loop))
      loads.push_back(load);
  if (loads.empty())
    return 0;

  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> first;
  for (LoadOp load : loads)
    first.push_back(cloneAt(rewriter, load, loop.getLowerBound(), loop));
  NamedAttrList attributes(loop->getDiscardableAttrDictionary());
  auto prefetch = [&](OpBuilder &builder, Location loc,
                      ArrayRef<BlockArgument> current) {
    // The body is still in the old loop, and moves behind what is here.
    Block *body = current.front().getOwner();
    auto carrying = cast<scf::ForOp>(body->getParentOp());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body);
    Value position = arith::AddIOp::create(
        builder, loc, carrying.getInductionVar(), carrying.getStep());
    SmallVector<Value> next;
    for (LoadOp load : loads) {
      LoadOp ahead = cloneAt(builder, load, position, loop);
      boundByMemref(ahead);
      next.push_back(ahead);
    }
    for (auto [load, argument] : llvm::zip_equal(loads, current))
      load.getResult().replaceAllUsesWith(argument);
    return next;
  };
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false, prefetch);
  if (failed(replaced))
    return 0;
  (*replaced)->setDiscardableAttrs(
      attributes.getDictionary(rewriter.getContext()));
  for (LoadOp load : loads)
    load.erase();
  return first.size();
}

namespace {

struct PrefetchChunksPass
    : tile::impl::PrefetchChunksPassBase<PrefetchChunksPass> {
  using PrefetchChunksPassBase::PrefetchChunksPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("PrefetchChunks")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<ScanOp>().empty())
        loops.push_back(loop);
    });
    int64_t count = 0;
    for (scf::ForOp loop : loops)
      count += prefetchChunks(loop);
    if (count == 0)
      remark::missed(kernel.getLoc(), options)
          << (loops.empty() ? "no loop scans chunks"
                            : "what the loops load can't be loaded ahead");
    else
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} tiles of the next chunk are loaded ahead", count);
  }
};

} // namespace
