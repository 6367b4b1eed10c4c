// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prefetch_fragments: operands are read from shared memory a step before the
// tensor cores take them, the first ones of a chunk in the iteration before.
//
//   scf.for %k ... iter_args(%acc = %zeros, %t = %p0, %u = %p1) {
//     tile.await %t
//     tile.barrier
//     %v = tile.async_copy (chunk %k + 2)
//     %d = scf.for %kk = 0 to 32 step 16 iter_args(%c = %acc) {
//       %a = tile.read (slot %k)[.., %kk]
//       %e = tile.dot %a, ..., %c
//       scf.yield %e
//     }
//     scf.yield %d, %u, %v
//   }
//   tile.await %t', %u'
//
// becomes
//
//   tile.await %p0
//   tile.barrier
//   %a0 = tile.read (slot 0)[.., 0]
//   scf.for %k ... iter_args(%acc = %zeros, %u = %p1, %a = %a0) {
//     %v = tile.async_copy (chunk %k + 2)
//     %b = tile.read (slot %k)[.., 16]
//     %d = tile.dot %a, ..., %acc
//     tile.await %u
//     tile.barrier
//     %n = tile.read (slot %k + 1)[.., 0]
//     %e = tile.dot %b, ..., %d
//     scf.yield %e, %v, %n
//   }
//   tile.await %v'
//
// Legality: a chunk is read after its await and a barrier. A copy fills the
// slot that was read in the iteration before, whose last read is before the
// barrier at its end. The last iteration reads a slot beyond the chunks, which
// was filled like all others and which nobody uses. Products are added in the
// same order. Operands of the next chunk that the loop computes (compute_ahead)
// are written before that barrier.

#include "CarriedValues.h"
#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-prefetch-fragments"

namespace deplo::tile {
#define GEN_PASS_DEF_PREFETCHFRAGMENTSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// A pipelined loop over chunks, and the steps of one chunk.
struct Chunks {
  scf::ForOp loop;
  AwaitOp await;
  BarrierOp barrier;
  /// Between the barrier and the steps: copies, slots and what they need.
  SmallVector<Operation *> before;
  scf::ForOp steps;
  SmallVector<ReadOp> reads;
  DotOp dot;
  /// Behind the steps: what computes operands of the next chunk.
  SmallVector<Operation *> after;
  /// Positions of the tokens among the carried values, oldest first, and what
  /// waits for the rest of them behind the loop.
  SmallVector<unsigned> tokens;
  AwaitOp lastAwait;

  static std::optional<Chunks> get(scf::ForOp loop);
  bool getSteps();
  bool getTokens();
  SmallVector<Operation *> getSlots();
  unsigned getGroup() { return await.getTokens().size(); }
};

} // namespace

/// Reads, what computes their places, and a dot by tensor cores.
bool Chunks::getSteps() {
  std::optional<int64_t> lower = getConstantIntValue(steps.getLowerBound());
  if (lower != 0 || !getConstantIntValue(steps.getUpperBound()) ||
      !getConstantIntValue(steps.getStep()) || steps.getInitArgs().size() != 1)
    return false;
  for (Operation &op : steps.getBody()->without_terminator()) {
    if (auto read = dyn_cast<ReadOp>(op))
      reads.push_back(read);
    else if (auto found = dyn_cast<DotOp>(op); found && !dot)
      dot = found;
    else if (!isa<arith::AddIOp>(op))
      return false;
  }
  return dot && dot.getAtomAttr() &&
         dot.getAccumulator() == steps.getRegionIterArgs().front() &&
         steps.getYieldedValues().front() == dot.getResult() &&
         llvm::all_of(reads, [&](ReadOp read) {
           return read->hasOneUse() && *read->user_begin() == dot &&
                  read.getBuffer().getDefiningOp<SlotOp>();
         });
}

/// The slots that are read, and what they need.
SmallVector<Operation *> Chunks::getSlots() {
  llvm::SmallDenseSet<Operation *> needed;
  for (ReadOp read : reads)
    needed.insert(read.getBuffer().getDefiningOp());
  for (Operation *op : llvm::reverse(before))
    if (needed.contains(op))
      for (Value operand : op->getOperands())
        if (Operation *definition = operand.getDefiningOp())
          needed.insert(definition);
  return llvm::to_vector(llvm::make_filter_range(
      before, [&](Operation *op) { return needed.contains(op); }));
}

/// Each iteration awaits the oldest tokens and carries on the others and those
/// of its own copies.
bool Chunks::getTokens() {
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (isa<TokenType>(argument.getType()))
      tokens.push_back(i);
  unsigned group = getGroup();
  for (auto [i, position] : llvm::enumerate(tokens)) {
    Value argument = loop.getRegionIterArgs()[position];
    Value yielded = loop.getYieldedValues()[position];
    if (i < group && await.getTokens()[i] != argument)
      return false;
    bool isKept = i + group < tokens.size();
    if (isKept ? yielded != loop.getRegionIterArgs()[tokens[i + group]]
               : !yielded.getDefiningOp<AsyncCopyOp>())
      return false;
    if (!loop.getResult(position).hasOneUse())
      return false;
    lastAwait = dyn_cast<AwaitOp>(*loop.getResult(position).getUsers().begin());
    if (!lastAwait || lastAwait.getTokens().size() != tokens.size())
      return false;
  }
  return group != 0 && group <= tokens.size();
}

std::optional<Chunks> Chunks::get(scf::ForOp loop) {
  Chunks chunks;
  chunks.loop = loop;
  if (!getConstantIntValue(loop.getStep()))
    return std::nullopt;
  auto at = loop.getBody()->begin();
  chunks.await = dyn_cast<AwaitOp>(*at++);
  if (!chunks.await)
    return std::nullopt;
  chunks.barrier = dyn_cast<BarrierOp>(*at++);
  if (!chunks.barrier)
    return std::nullopt;
  for (; !at->hasTrait<OpTrait::IsTerminator>(); ++at) {
    if ((chunks.steps = dyn_cast<scf::ForOp>(*at)))
      break;
    if (!isa<AsyncCopyOp, GatherOp>(*at) && !isPure(&*at))
      return std::nullopt;
    chunks.before.push_back(&*at);
  }
  if (!chunks.steps)
    return std::nullopt;
  for (Operation *op = chunks.steps->getNextNode();
       op != loop.getBody()->getTerminator(); op = op->getNextNode()) {
    if (!isa<ReadOp, WriteOp>(op) && !isPure(op))
      return std::nullopt;
    chunks.after.push_back(op);
  }
  if (!chunks.getSteps() || !chunks.getTokens() ||
      takeCarriedValue(chunks.getSlots(), loop))
    return std::nullopt;
  return chunks;
}

/// Reads of step `step` of the chunk at `variable`, of which `mapping` knows
/// the slots.
static SmallVector<Value> emitReads(OpBuilder &builder, Chunks &chunks,
                                    int64_t step, IRMapping mapping) {
  mapping.map(
      chunks.steps.getInductionVar(),
      arith::ConstantIndexOp::create(builder, chunks.steps.getLoc(), step)
          .getResult());
  SmallVector<Value> tiles;
  for (Operation &op : chunks.steps.getBody()->without_terminator()) {
    if (&op == chunks.dot)
      continue;
    Operation *clone = builder.clone(op, mapping);
    if (isa<ReadOp>(clone))
      tiles.push_back(clone->getResult(0));
  }
  return tiles;
}

/// The slots that are read of the chunk at `variable`.
static IRMapping emitSlots(OpBuilder &builder, Chunks &chunks, Value variable) {
  IRMapping mapping;
  mapping.map(chunks.loop.getInductionVar(), variable);
  for (Operation *op : chunks.getSlots())
    builder.clone(*op, mapping);
  return mapping;
}

static void prefetch(Chunks chunks) {
  scf::ForOp loop = chunks.loop;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  unsigned group = chunks.getGroup();
  auto isAwaited = [&](unsigned position) {
    return llvm::is_contained(ArrayRef(chunks.tokens).take_front(group),
                              position);
  };
  auto getKept = [&](ValueRange values) {
    SmallVector<Value> kept;
    for (auto [i, value] : llvm::enumerate(values))
      if (!isAwaited(i))
        kept.push_back(value);
    return kept;
  };

  // The first chunk's first step.
  SmallVector<Value> first;
  for (unsigned position : ArrayRef(chunks.tokens).take_front(group))
    first.push_back(loop.getInitArgs()[position]);
  AwaitOp::create(builder, chunks.await.getLoc(), first);
  BarrierOp::create(builder, chunks.barrier.getLoc());
  SmallVector<Value> inits = getKept(loop.getInitArgs());
  unsigned carried = inits.size();
  llvm::append_range(
      inits, emitReads(builder, chunks, 0,
                       emitSlots(builder, chunks, loop.getLowerBound())));
  auto rotated =
      scf::ForOp::create(builder, loc, loop.getLowerBound(),
                         loop.getUpperBound(), loop.getStep(), inits);

  builder.setInsertionPointToStart(rotated.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), rotated.getInductionVar());
  mapping.map(getKept(loop.getRegionIterArgs()),
              rotated.getRegionIterArgs().take_front(carried));
  for (Operation *op : chunks.before)
    builder.clone(*op, mapping);
  // Tokens in the order in which the old loop yields them: the first of these
  // is what the next iteration would await.
  SmallVector<Value> inFlight;
  for (unsigned position : chunks.tokens)
    inFlight.push_back(
        mapping.lookupOrDefault(loop.getYieldedValues()[position]));

  int64_t end = *getConstantIntValue(chunks.steps.getUpperBound());
  int64_t step = *getConstantIntValue(chunks.steps.getStep());
  Value sum = mapping.lookupOrDefault(chunks.steps.getInitArgs().front());
  SmallVector<Value> tiles(rotated.getRegionIterArgs().drop_front(carried));
  for (int64_t at = 0; at < end; at += step) {
    SmallVector<Value> next;
    if (at + step < end) {
      next = emitReads(builder, chunks, at + step, mapping);
    } else {
      for (Operation *op : chunks.after)
        builder.clone(*op, mapping);
      AwaitOp::create(builder, chunks.await.getLoc(),
                      ArrayRef(inFlight).take_front(group));
      BarrierOp::create(builder, chunks.barrier.getLoc());
      Value later = arith::AddIOp::create(
          builder, loc, rotated.getInductionVar(), rotated.getStep());
      next = emitReads(builder, chunks, 0, emitSlots(builder, chunks, later));
    }
    IRMapping ofStep;
    for (auto [read, tile] : llvm::zip_equal(chunks.reads, tiles))
      ofStep.map(read.getResult(), tile);
    ofStep.map(chunks.dot.getAccumulator(), sum);
    sum = builder.clone(*chunks.dot, ofStep)->getResult(0);
    tiles = std::move(next);
  }
  mapping.map(chunks.steps.getResult(0), sum);

  SmallVector<Value> yielded;
  ArrayRef<Value> left = ArrayRef(inFlight).drop_front(group);
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues())) {
    if (isAwaited(i))
      continue;
    if (!isa<TokenType>(value.getType())) {
      yielded.push_back(mapping.lookupOrDefault(value));
      continue;
    }
    yielded.push_back(left.front());
    left = left.drop_front();
  }
  llvm::append_range(yielded, tiles);
  scf::YieldOp::create(builder, loc, yielded);

  // What is in flight behind the loop is one chunk less.
  SmallVector<Value> results(rotated.getResults().take_front(carried));
  SmallVector<Value> last;
  for (Value result : results)
    if (isa<TokenType>(result.getType()))
      last.push_back(result);
  if (last.empty()) {
    chunks.lastAwait.erase();
  } else {
    builder.setInsertionPoint(chunks.lastAwait);
    AwaitOp::create(builder, chunks.lastAwait.getLoc(), last);
    chunks.lastAwait.erase();
  }
  unsigned number = 0;
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    if (!isAwaited(i))
      result.replaceAllUsesWith(results[number++]);
  loop.erase();
}

bool tile::prefetchFragments(scf::ForOp loop) {
  std::optional<Chunks> chunks = Chunks::get(loop);
  if (chunks)
    prefetch(*chunks);
  return chunks.has_value();
}

namespace {

struct PrefetchFragmentsPass
    : tile::impl::PrefetchFragmentsPassBase<PrefetchFragmentsPass> {
  using PrefetchFragmentsPassBase::PrefetchFragmentsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("PrefetchFragments")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    unsigned count = 0;
    for (scf::ForOp loop : loops) {
      Location loc = loop.getLoc();
      if (!prefetchFragments(loop))
        continue;
      remark::passed(loc, options) << "fragments are read a step ahead";
      ++count;
    }
    if (count != 0)
      return;
    remark::missed(kernel.getLoc(), options)
        << "no pipelined loop reads fragments of tensor cores in several steps";
    markAllAnalysesPreserved();
  }
};

} // namespace
