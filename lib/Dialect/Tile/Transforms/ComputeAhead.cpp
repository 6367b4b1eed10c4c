// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compute_ahead: operands of the next chunk are computed while this one is
// multiplied.
//
//   scf.for %k ... iter_args(%acc = %zeros, %t = %p0, %u = %p1) {
//     tile.await %t
//     tile.barrier
//     %v = tile.async_copy (chunk %k + 2)
//     %a = tile.read (slot %k)
//     %f = math.exp %a
//     tile.write %f to %computed
//     tile.barrier
//     ... products of %computed
//     scf.yield ..., %u, %v
//   }
//   tile.await %t', %u'
//
// becomes
//
//   tile.await %p0
//   tile.barrier
//   ... (chunk 0 to slot 0 of %computed)
//   scf.for %k ... iter_args(%acc = %zeros, %u = %p1) {
//     tile.await %u
//     tile.barrier
//     %v = tile.async_copy (chunk %k + 2)
//     ... products of slot (%k mod 2) of %computed
//     %a = tile.read (slot %k + 1)
//     %f = math.exp %a
//     tile.write %f to slot (%k + 1 mod 2) of %computed
//     scf.yield ..., %v
//   }
//   tile.await %v'
//
// What is gathered is read before the products, and written behind them: they
// take as long as memory does.
//
// Legality:
//   L1: what is computed depends on the loop's variable, on values of before
//       the loop, on slots that copies fill and on memory that the kernel does
//       not store to.
//   L2: a slot of %computed is written after the barrier that follows the
//       products of the chunk that was in it, and read after the next one.
//   L3: copies are awaited an iteration earlier where they are computed from,
//       so that two chunks are under way at least. A copy fills the slot of the
//       chunk before, as it did.
//   L4: behind the last chunk nothing new is gathered, but that one again, and
//       nobody uses what is computed.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "deplo-compute-ahead"

namespace deplo::tile {
#define GEN_PASS_DEF_COMPUTEAHEADPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static constexpr int64_t slots = 2;

namespace {

/// A pipelined loop whose iterations compute operands between two barriers.
struct Computation {
  scf::ForOp loop;
  AwaitOp await;
  BarrierOp first, second;
  SmallVector<WriteOp> writes;
  /// Between the barriers: what computes the operands, and in that what leads
  /// to what is gathered.
  llvm::SetVector<Operation *> computed, gathered;
  bool readsCopies = false;
  /// Positions of the tokens among the carried values, oldest first, and what
  /// waits for them behind the loop.
  SmallVector<unsigned> tokens;
  AwaitOp lastAwait;

  static std::optional<Computation> get(scf::ForOp loop);
  int64_t getBytes() const;

private:
  bool getOperations();
  bool getTokens();
};

} // namespace

/// Adds `op` and what it depends on behind `first`.
static void addSlice(Operation *op, BarrierOp first,
                     llvm::SetVector<Operation *> &slice) {
  if (op->getBlock() != first->getBlock() || op->isBeforeInBlock(first) ||
      !slice.insert(op))
    return;
  for (Value operand : op->getOperands())
    if (Operation *definition = operand.getDefiningOp())
      addSlice(definition, first, slice);
}

bool Computation::getOperations() {
  llvm::SmallDenseSet<Value> stored;
  loop->getParentOfType<KernelOp>().walk(
      [&](StoreOp store) { stored.insert(store.getMemref()); });
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode()) {
    if (auto write = dyn_cast<WriteOp>(op))
      writes.push_back(write);
    else if (!isa<AsyncCopyOp, ReadOp, GatherOp>(op) && !isPure(op))
      return false;
  }
  for (WriteOp write : writes)
    addSlice(write, first, computed);
  for (Operation *op : computed) { // L1
    auto read = dyn_cast<ReadOp>(op);
    readsCopies |= read != nullptr;
    if ((read && !read.getBuffer().getDefiningOp<SlotOp>()) ||
        isa<AsyncCopyOp>(op))
      return false;
    auto gather = dyn_cast<GatherOp>(op);
    if (!gather)
      continue;
    if (stored.contains(gather.getMemref()))
      return false;
    addSlice(gather, first, gathered);
  }
  // What waits for a copy is not known when the next chunk is gathered.
  return llvm::none_of(gathered, llvm::IsaPred<ReadOp>);
}

/// Each iteration awaits the oldest tokens and carries on the others and those
/// of its own copies.
bool Computation::getTokens() {
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (isa<TokenType>(argument.getType()))
      tokens.push_back(i);
  unsigned group = await.getTokens().size();
  for (auto [i, position] : llvm::enumerate(tokens)) {
    Value argument = loop.getRegionIterArgs()[position];
    Value yielded = loop.getYieldedValues()[position];
    bool isKept = i + group < tokens.size();
    if ((i < group && await.getTokens()[i] != argument) ||
        (isKept ? yielded != loop.getRegionIterArgs()[tokens[i + group]]
                : !yielded.getDefiningOp<AsyncCopyOp>()) ||
        !loop.getResult(position).hasOneUse())
      return false;
    lastAwait = dyn_cast<AwaitOp>(*loop.getResult(position).getUsers().begin());
    if (!lastAwait || lastAwait.getTokens().size() != tokens.size())
      return false;
  }
  return group != 0 && tokens.size() >= (readsCopies ? 2 * group : group); // L3
}

/// Whether `write` fills a buffer that only the loop reads, behind `second`.
static bool isOfLoop(WriteOp write, scf::ForOp loop, BarrierOp second) {
  auto alloc = write.getBuffer().getDefiningOp<AllocOp>();
  return alloc && !loop->isAncestor(alloc) &&
         llvm::all_of(alloc->getUsers(), [&](Operation *user) {
           if (user == write)
             return true;
           Operation *inLoop = loop.getBody()->findAncestorOpInBlock(*user);
           return isa<ReadOp>(user) && inLoop &&
                  second->isBeforeInBlock(inLoop);
         });
}

std::optional<Computation> Computation::get(scf::ForOp loop) {
  Computation computation;
  computation.loop = loop;
  if (!getConstantIntValue(loop.getLowerBound()) ||
      !getConstantIntValue(loop.getUpperBound()) ||
      !getConstantIntValue(loop.getStep()))
    return std::nullopt;
  auto barriers = llvm::to_vector(loop.getBody()->getOps<BarrierOp>());
  computation.await = dyn_cast<AwaitOp>(loop.getBody()->front());
  if (barriers.size() != 2 || !computation.await ||
      computation.await->getNextNode() != barriers.front())
    return std::nullopt;
  computation.first = barriers.front();
  computation.second = barriers.back();
  auto isRead = [&](WriteOp write) {
    return isOfLoop(write, loop, computation.second);
  };
  if (!computation.getOperations() || computation.writes.empty() ||
      !llvm::all_of(computation.writes, isRead) || !computation.getTokens())
    return std::nullopt;
  return computation;
}

int64_t Computation::getBytes() const {
  int64_t bytes = 0;
  for (WriteOp write : writes)
    bytes += cast<BufferType>(write.getBuffer().getType()).getSizeInBytes();
  return bytes;
}

/// Makes a ring of the buffer of each write, and lets the loop read the slot of
/// its chunk. Writes take `slot` of the rings, which they map to.
static DenseMap<Value, Value> makeRings(Computation &computation,
                                        OpBuilder &before, OpBuilder &inside,
                                        Value slot) {
  DenseMap<Value, Value> rings;
  for (WriteOp write : computation.writes) {
    auto alloc = write.getBuffer().getDefiningOp<AllocOp>();
    BufferType type = alloc.getType();
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), slots);
    auto ring = AllocOp::create(before, alloc.getLoc(),
                                BufferType::get(type.getContext(), shape,
                                                type.getElementType(),
                                                type.getLayout()));
    auto view = SlotOp::create(inside, alloc.getLoc(), type, ring, slot);
    alloc.getResult().replaceUsesWithIf(view.getResult(), [&](OpOperand &use) {
      return use.getOwner() != write;
    });
    rings[alloc] = ring;
  }
  return rings;
}

static Value getNumberOfSlot(OpBuilder &builder, scf::ForOp loop,
                             Value variable) {
  Location loc = loop.getLoc();
  Value number = arith::DivUIOp::create(builder, loc, variable, loop.getStep());
  return arith::RemUIOp::create(
      builder, loc, number,
      arith::ConstantIndexOp::create(builder, loc, slots));
}

/// Computes the operands of the chunk at `variable`, of which `mapping` has
/// what is gathered, into `slot`.
static void emitComputed(OpBuilder &builder, Computation &computation,
                         IRMapping mapping, Value slot,
                         const DenseMap<Value, Value> &rings) {
  for (Operation *op = computation.first->getNextNode();
       op != computation.second; op = op->getNextNode()) {
    if (!computation.computed.contains(op) || isa<GatherOp>(op))
      continue;
    if (auto write = dyn_cast<WriteOp>(op)) {
      Value buffer = write.getBuffer();
      mapping.map(buffer, SlotOp::create(builder, write.getLoc(),
                                         cast<BufferType>(buffer.getType()),
                                         rings.lookup(buffer), slot)
                              .getResult());
    }
    builder.clone(*op, mapping);
  }
}

/// Gathers for the chunk at `variable`.
static void emitGathered(OpBuilder &builder, Computation &computation,
                         Value variable, IRMapping &results) {
  IRMapping mapping;
  mapping.map(computation.loop.getInductionVar(), variable);
  for (Operation *op = computation.first->getNextNode();
       op != computation.second; op = op->getNextNode())
    if (computation.gathered.contains(op)) {
      Operation *clone = builder.clone(*op, mapping);
      if (isa<GatherOp>(op))
        results.map(op->getResult(0), clone->getResult(0));
    }
}

static void computeAhead(Computation &computation) {
  scf::ForOp loop = computation.loop;
  Location loc = loop.getLoc();
  unsigned group =
      computation.readsCopies ? computation.await.getTokens().size() : 0;
  auto isAwaited = [&](unsigned position) {
    return llvm::is_contained(ArrayRef(computation.tokens).take_front(group),
                              position);
  };
  auto getKept = [&](ValueRange values) {
    SmallVector<Value> kept;
    for (auto [i, value] : llvm::enumerate(values))
      if (!isAwaited(i))
        kept.push_back(value);
    return kept;
  };
  OpBuilder builder(loop), inside(loop);
  inside.setInsertionPointAfter(computation.first);
  DenseMap<Value, Value> rings =
      makeRings(computation, builder, inside,
                getNumberOfSlot(inside, loop, loop.getInductionVar()));

  // The first chunk.
  if (group != 0) {
    SmallVector<Value> oldest;
    for (unsigned position : ArrayRef(computation.tokens).take_front(group))
      oldest.push_back(loop.getInitArgs()[position]);
    AwaitOp::create(builder, computation.await.getLoc(), oldest);
    BarrierOp::create(builder, computation.first.getLoc());
  }
  IRMapping ofFirst;
  ofFirst.map(loop.getInductionVar(), loop.getLowerBound());
  emitGathered(builder, computation, loop.getLowerBound(), ofFirst);
  emitComputed(builder, computation, ofFirst,
               getNumberOfSlot(builder, loop, loop.getLowerBound()), rings);

  auto ahead = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                  loop.getUpperBound(), loop.getStep(),
                                  getKept(loop.getInitArgs()));
  builder.setInsertionPointToStart(ahead.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), ahead.getInductionVar());
  mapping.map(getKept(loop.getRegionIterArgs()), ahead.getRegionIterArgs());
  // The tokens of the next chunk, which are yielded as those of this one.
  SmallVector<Value> awaited;
  for (auto [i, token] : llvm::enumerate(computation.await.getTokens()))
    awaited.push_back(mapping.lookup(
        group != 0 ? loop.getRegionIterArgs()[computation.tokens[i + group]]
                   : token));
  AwaitOp::create(builder, computation.await.getLoc(), awaited);
  BarrierOp::create(builder, computation.first.getLoc());
  Value next = arith::AddIOp::create(builder, loc, ahead.getInductionVar(),
                                     ahead.getStep());
  IRMapping ofNext;
  ofNext.map(loop.getInductionVar(), next);
  llvm::SmallDenseSet<Operation *> left;
  for (Operation *op = computation.first->getNextNode();
       op != computation.second; op = op->getNextNode()) {
    // Slots and numbers may be those of this chunk as well.
    bool isLeft = computation.computed.contains(op) &&
                  (!isPure(op) || llvm::any_of(op->getOperands(), [&](Value x) {
                    return left.contains(x.getDefiningOp());
                  }));
    if (isLeft)
      left.insert(op);
    else
      builder.clone(*op, mapping);
  }
  if (!computation.gathered.empty()) { // L4
    int64_t last = *getConstantIntValue(loop.getUpperBound()) -
                   *getConstantIntValue(loop.getStep());
    Value atMost = arith::ConstantIndexOp::create(builder, loc, last);
    emitGathered(builder, computation,
                 arith::MinUIOp::create(builder, loc, next, atMost), ofNext);
  }
  for (Operation *op = computation.second->getNextNode();
       op != loop.getBody()->getTerminator(); op = op->getNextNode())
    builder.clone(*op, mapping);
  emitComputed(builder, computation, ofNext,
               getNumberOfSlot(builder, loop, next), rings);
  // Without the oldest tokens, those that are left are one group further.
  SmallVector<Value> yielded;
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
    if (!isAwaited(i))
      yielded.push_back(mapping.lookupOrDefault(value));
  scf::YieldOp::create(builder, loc, yielded);

  builder.setInsertionPoint(computation.lastAwait);
  SmallVector<Value> rest;
  for (Value result : ahead.getResults())
    if (isa<TokenType>(result.getType()))
      rest.push_back(result);
  AwaitOp::create(builder, computation.lastAwait.getLoc(), rest);
  computation.lastAwait.erase();
  unsigned number = 0;
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    if (!isAwaited(i))
      result.replaceAllUsesWith(ahead.getResult(number++));
  SmallVector<Operation *> buffers;
  for (auto [buffer, ring] : rings)
    buffers.push_back(buffer.getDefiningOp());
  loop.erase();
  for (Operation *buffer : buffers)
    buffer->erase();
}

bool tile::computeAhead(scf::ForOp loop) {
  std::optional<Computation> computation = Computation::get(loop);
  if (computation)
    ::computeAhead(*computation);
  return computation.has_value();
}

namespace {

struct ComputeAheadPass : tile::impl::ComputeAheadPassBase<ComputeAheadPass> {
  using ComputeAheadPassBase::ComputeAheadPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("ComputeAhead")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<Computation> computations;
    kernel.walk([&](scf::ForOp loop) {
      if (std::optional<Computation> computation = Computation::get(loop))
        computations.push_back(*computation);
    });
    if (computations.empty()) {
      remark::missed(kernel.getLoc(), options)
          << "no pipelined loop computes what it multiplies";
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    for (Computation &computation : computations) {
      int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
      if (computation.getBytes() > left) {
        remark::missed(computation.loop.getLoc(), options) << remark::add(
            "a second chunk of what is computed takes {0} bytes, and {1} has "
            "{2} left",
            computation.getBytes(), target.getChip(), left);
        continue;
      }
      remark::passed(computation.loop.getLoc(), options)
          << (computation.gathered.empty()
                  ? "operands are computed a chunk ahead"
                  : "operands are gathered and computed a chunk ahead");
      ::computeAhead(computation);
    }
  }
};

} // namespace
