// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pipeline_k_outer: chunks are copied some iterations before they are used.
//
//   scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) {
//     %s = tile.slot %ring[(%k / 16) mod 3]
//     %t = tile.async_copy %x[%i, %k] to %s
//     tile.await %t
//     tile.barrier
//     ...
//
// becomes
//
//   %p0 = tile.async_copy %x[%i, 0] to slot 0
//   %p1 = tile.async_copy %x[%i, 16] to slot 1
//   scf.for %k = ... iter_args(%acc = %zeros, %t0 = %p0, %t1 = %p1) {
//     tile.await %t0
//     tile.barrier
//     %t2 = tile.async_copy %x[%i, %k + 32] to slot ((%k + 32) / 16) mod 3
//     ... (slot (%k / 16) mod 3)
//     scf.yield ..., %t1, %t2
//   }
//   tile.await %t0', %t1'
//
// Legality: a copy in iteration i fills the slot that iteration i - 1 read, and
// the barrier before it shows that all threads have. What a copy beyond the
// last chunk would read is out of bounds: it reads nothing and fills with
// zeros that nobody uses. Each token is awaited once. Where copies start
// follows from the loop's variable alone.

#include "CarriedValues.h"
#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-pipeline-k-outer"

namespace deplo::tile {
#define GEN_PASS_DEF_PIPELINEKOUTERPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// An iteration that fills slots of rings, awaits that, and then computes.
struct Stages {
  scf::ForOp loop;
  /// Up to the await: copies, and what they need.
  SmallVector<Operation *> fill;
  SmallVector<AsyncCopyOp> copies;
  AwaitOp await;
  BarrierOp barrier;
  int64_t slots = 0;

  static std::optional<Stages> get(scf::ForOp loop);
};

} // namespace

std::optional<Stages> Stages::get(scf::ForOp loop) {
  Stages stages;
  stages.loop = loop;
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      !getConstantIntValue(loop.getStep()))
    return std::nullopt;
  for (Operation &op : *loop.getBody()) {
    if ((stages.await = dyn_cast<AwaitOp>(op)))
      break;
    stages.fill.push_back(&op);
    auto copy = dyn_cast<AsyncCopyOp>(op);
    if (!copy && !isa<SlotOp>(op) && !isPure(&op))
      return std::nullopt;
    if (!copy)
      continue;
    auto slot = copy.getBuffer().getDefiningOp<SlotOp>();
    if (!slot)
      return std::nullopt;
    int64_t slots = slot.getRing().getType().getShape().front();
    if (stages.slots != 0 && stages.slots != slots)
      return std::nullopt;
    stages.slots = slots;
    stages.copies.push_back(copy);
  }
  if (!stages.await || stages.slots < 2 ||
      stages.await.getTokens().size() != stages.copies.size() ||
      takeCarriedValue(stages.fill, loop))
    return std::nullopt;
  stages.barrier = dyn_cast_or_null<BarrierOp>(stages.await->getNextNode());
  return stages.barrier ? std::optional(stages) : std::nullopt;
}

/// Bounds of all dimensions, so that what is beyond the memref is not read.
static void boundCopy(AsyncCopyOp copy) {
  BoxAccess box = *BoxAccess::get(copy);
  if (!box.bounds.empty())
    return;
  SmallVector<int64_t> bounds;
  for (int64_t dim : box.dims)
    bounds.push_back(box.getMemRefType().getDimSize(dim));
  copy.setBounds(bounds);
}

/// Copies the chunk at `variable`; returns the tokens.
static SmallVector<Value> emitFill(OpBuilder &builder, Stages &stages,
                                   Value variable) {
  IRMapping mapping;
  mapping.map(stages.loop.getInductionVar(), variable);
  SmallVector<Value> tokens;
  for (Operation *op : stages.fill)
    builder.clone(*op, mapping);
  for (AsyncCopyOp copy : stages.copies)
    tokens.push_back(mapping.lookup(copy.getToken()));
  return tokens;
}

static void pipeline(Stages stages) {
  scf::ForOp loop = stages.loop;
  Location loc = loop.getLoc();
  int64_t step = *getConstantIntValue(loop.getStep());
  int64_t ahead = stages.slots - 1;
  unsigned copies = stages.copies.size();
  for (AsyncCopyOp copy : stages.copies)
    boundCopy(copy);

  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  for (int64_t i = 0; i < ahead; ++i)
    llvm::append_range(inits, emitFill(builder, stages,
                                       arith::ConstantIndexOp::create(
                                           builder, loc, i * step)));
  Value distance = arith::ConstantIndexOp::create(builder, loc, ahead * step);
  auto pipelined =
      scf::ForOp::create(builder, loc, loop.getLowerBound(),
                         loop.getUpperBound(), loop.getStep(), inits);
  unsigned carried = loop.getInitArgs().size();

  builder.setInsertionPointToStart(pipelined.getBody());
  ValueRange tokens = pipelined.getRegionIterArgs().drop_front(carried);
  AwaitOp::create(builder, stages.await.getLoc(), tokens.take_front(copies));
  BarrierOp::create(builder, stages.barrier.getLoc());
  Value later = arith::AddIOp::create(builder, loc, pipelined.getInductionVar(),
                                      distance);
  SmallVector<Value> next(tokens.drop_front(copies));
  llvm::append_range(next, emitFill(builder, stages, later));

  IRMapping mapping;
  mapping.map(loop.getInductionVar(), pipelined.getInductionVar());
  mapping.map(loop.getRegionIterArgs(),
              pipelined.getRegionIterArgs().take_front(carried));
  // The slots that are read, and what follows the barrier.
  for (Operation *op : stages.fill)
    if (!isa<AsyncCopyOp>(op))
      builder.clone(*op, mapping);
  for (Operation *op = stages.barrier->getNextNode();
       op != loop.getBody()->getTerminator(); op = op->getNextNode())
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  llvm::append_range(yielded, next);
  scf::YieldOp::create(builder, loc, yielded);

  builder.setInsertionPointAfter(pipelined);
  AwaitOp::create(builder, loc, pipelined.getResults().drop_front(carried));
  loop.replaceAllUsesWith(pipelined.getResults().take_front(carried));
  loop.erase();
}

bool tile::pipelineLoop(scf::ForOp loop) {
  std::optional<Stages> stages = Stages::get(loop);
  if (stages)
    pipeline(*stages);
  return stages.has_value();
}

namespace {

struct PipelineKOuterPass
    : tile::impl::PipelineKOuterPassBase<PipelineKOuterPass> {
  using PipelineKOuterPassBase::PipelineKOuterPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("PipelineKOuter")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    unsigned count = 0;
    for (scf::ForOp loop : loops) {
      std::optional<Stages> stages = Stages::get(loop);
      if (!stages)
        continue;
      remark::passed(loop.getLoc(), options)
          << remark::add("copies run {0} iterations ahead", stages->slots - 1);
      pipeline(*stages);
      ++count;
    }
    if (count != 0)
      return;
    remark::missed(kernel.getLoc(), options)
        << "no loop fills the slots of a ring by asynchronous copies";
    markAllAnalysesPreserved();
  }
};

} // namespace
