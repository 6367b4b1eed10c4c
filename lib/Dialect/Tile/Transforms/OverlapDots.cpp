// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// overlap_dots: a contraction is awaited after the next one has started.
//
//   scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) {
//     tile.mbarrier_wait %full[%s(%k)] phase %p(%k)
//     %d, %t = tile.async_dot ..., %c
//     tile.await %t
//     tile.mbarrier_arrive %empty[%s(%k)]
//     scf.yield %d
//
// becomes
//
//   tile.mbarrier_wait %full[%s(0)] phase %p(0)
//   %d0, %t0 = tile.async_dot ..., %zeros
//   scf.for %k = %c64 to %c512 step %c64 iter_args(%c = %d0, %u = %t0) {
//     tile.mbarrier_wait %full[%s(%k)] phase %p(%k)
//     %d, %t = tile.async_dot ..., %c
//     tile.await %u
//     tile.mbarrier_arrive %empty[%s(%k - 64)]
//     scf.yield %d, %t
//   tile.await %t'
//   tile.mbarrier_arrive %empty[%s(448)]
//
// Legality: the first iteration is run by every kernel that runs the loop. A
// contraction adds to the result of the one before, which it may do without
// awaiting it. Slots are released once what reads them has been awaited; which
// ones follows from the loop's variable alone.

#include "CarriedValues.h"
#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-overlap-dots"

namespace deplo::tile {
#define GEN_PASS_DEF_OVERLAPDOTSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// An iteration that waits, starts contractions, awaits them and arrives.
struct Overlap {
  SmallVector<Operation *> start;
  SmallVector<AsyncDotOp> dots;
  SmallVector<AwaitOp> awaits;
  MBarrierArriveOp arrive;

  static std::optional<Overlap> get(scf::ForOp loop, std::string &reason);
};

} // namespace

/// Whether `op` may compute which slot an iteration releases.
static bool isRepeated(Operation *op) { return isPure(op) && !isa<SlotOp>(op); }

std::optional<Overlap> Overlap::get(scf::ForOp loop, std::string &reason) {
  Overlap overlap;
  auto refuse = [&](StringRef why) {
    reason = why.str();
    return std::nullopt;
  };
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound());
  if (!lower || !upper || *lower >= *upper ||
      !getConstantIntValue(loop.getStep()))
    return refuse("the loop may have no iteration");
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto await = dyn_cast<AwaitOp>(op)) {
      overlap.awaits.push_back(await);
    } else if (auto arrive = dyn_cast<MBarrierArriveOp>(op)) {
      if (overlap.arrive)
        return refuse("an iteration arrives at several barriers");
      overlap.arrive = arrive;
    } else if (overlap.arrive ||
               !(isPure(&op) || isa<MBarrierWaitOp, AsyncDotOp>(op))) {
      return refuse("an iteration does more than contractions");
    } else {
      overlap.start.push_back(&op);
      if (auto dot = dyn_cast<AsyncDotOp>(op))
        overlap.dots.push_back(dot);
    }
  }
  if (overlap.dots.empty() || !overlap.arrive)
    return refuse("no contraction releases a slot");
  for (Operation *op : overlap.start)
    if (isRepeated(op) && takeCarriedValue(op, loop))
      return refuse("which slot is free depends on what iterations compute");
  for (AsyncDotOp dot : overlap.dots) {
    if (dot.isOfPieces())
      return refuse("contractions of pieces await what a chunk comes to");
    auto carried = dyn_cast<BlockArgument>(dot.getAccumulator());
    if (!carried || carried.getOwner() != loop.getBody() ||
        loop.getYieldedValues()[carried.getArgNumber() - 1] != dot.getResult())
      return refuse("a contraction's result is not the next one's accumulator");
  }
  return overlap;
}

LogicalResult tile::overlapDots(scf::ForOp loop, std::string &reason) {
  std::optional<Overlap> overlap = Overlap::get(loop, reason);
  if (!overlap)
    return failure();
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  // The first iteration's contractions.
  IRMapping first;
  first.map(loop.getInductionVar(), loop.getLowerBound());
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Operation *op : overlap->start)
    builder.clone(*op, first);
  SmallVector<Value> inits;
  for (Value value : loop.getYieldedValues())
    inits.push_back(first.lookupOrDefault(value));
  for (AsyncDotOp dot : overlap->dots)
    inits.push_back(first.lookup(dot.getToken()));
  // The others.
  Value second =
      arith::AddIOp::create(builder, loc, loop.getLowerBound(), loop.getStep());
  auto others = scf::ForOp::create(builder, loc, second, loop.getUpperBound(),
                                   loop.getStep(), inits);
  unsigned carried = loop.getInitArgs().size();
  builder.setInsertionPointToStart(others.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), others.getInductionVar());
  mapping.map(loop.getRegionIterArgs(),
              others.getRegionIterArgs().take_front(carried));
  for (Operation *op : overlap->start)
    builder.clone(*op, mapping);
  AwaitOp::create(builder, overlap->awaits.back().getLoc(),
                  others.getRegionIterArgs().drop_front(carried));
  // Releases the slot of the iteration with `variable`.
  auto arrive = [&](Value variable) {
    IRMapping iteration;
    iteration.map(loop.getInductionVar(), variable);
    for (Operation *op : overlap->start)
      if (isRepeated(op))
        builder.clone(*op, iteration);
    builder.clone(*overlap->arrive, iteration);
  };
  arrive(arith::SubIOp::create(builder, loc, others.getInductionVar(),
                               loop.getStep()));
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  for (AsyncDotOp dot : overlap->dots)
    yielded.push_back(mapping.lookup(dot.getToken()));
  scf::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointAfter(others);
  AwaitOp::create(builder, loc, others.getResults().drop_front(carried));
  int64_t lower = *getConstantIntValue(loop.getLowerBound()),
          upper = *getConstantIntValue(loop.getUpperBound()),
          step = *getConstantIntValue(loop.getStep());
  arrive(arith::ConstantIndexOp::create(
      builder, loc, lower + (upper - 1 - lower) / step * step));
  loop.replaceAllUsesWith(others.getResults().take_front(carried));
  loop.erase();
  return success();
}

namespace {

struct OverlapDotsPass : tile::impl::OverlapDotsPassBase<OverlapDotsPass> {
  using OverlapDotsPassBase::OverlapDotsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("OverlapDots")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<AsyncDotOp>().empty())
        loops.push_back(loop);
    });
    bool isAny = false;
    std::string reason = "no loop starts contractions by wgmma";
    for (scf::ForOp loop : loops) {
      Location loc = loop.getLoc();
      if (failed(overlapDots(loop, reason)))
        continue;
      isAny = true;
      remark::passed(loc, options)
          << "contractions are awaited an iteration later";
    }
    if (isAny)
      return;
    remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
    markAllAnalysesPreserved();
  }
};

} // namespace
