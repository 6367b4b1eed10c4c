// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// carry_slots: loops count slots of rings and their rounds instead of dividing.
//
//   scf.for %k = 0 to 2048 step 64 {
//     %s = %k / 64 mod 6
//     %p = %k / 64 / 6
//     ... tile.slot %ring[%s] ... phase %p
//
// becomes
//
//   scf.for %k = 0 to 2048 step 64 iter_args(%s = 0, %p = 0) {
//     ... tile.slot %ring[%s] ... phase %p
//     %n = %s + 1
//     yield %n == 6 ? 0 : %n, %n == 6 ? %p + 1 : %p
//
// A remainder by a number that is no power of two is a product and more, which
// each chunk waits for: in a ring of six or seven slots 64x128 of bf16 took 16
// and 33 % longer than in one of eight (H200).
//
// Legality: the number of a chunk, %k / 64, is never negative and grows by one
// in each iteration, for %k grows by what divides it. Powers of two are masks
// and stay.

#include "CarriedValues.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-carry-slots"

namespace deplo::tile {
#define GEN_PASS_DEF_CARRYSLOTSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// What a loop computes of one number of chunks and one number of slots.
struct Ring {
  SmallVector<arith::RemUIOp> slots;
  SmallVector<arith::DivUIOp> rounds;
};

/// By the value that grows by the loop's step, and the number of slots.
using Rings = llvm::MapVector<std::pair<Value, int64_t>, Ring>;

} // namespace

/// Whether `value` is the variable of `loop`, or that and what is the same in
/// all iterations.
static bool grows(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  auto isFixed = [&](Value operand) {
    return loop.isDefinedOutsideOfLoop(operand) ||
           getConstantIntValue(operand).has_value();
  };
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) &&
      grows(op->getOperand(0), loop) && isFixed(op->getOperand(1)))
    return true;
  return isa_and_nonnull<arith::AddIOp>(op) && grows(op->getOperand(1), loop) &&
         isFixed(op->getOperand(0));
}

/// The value that `chunk` is a quotient of by the step of `loop`, if it grows
/// by that; else null.
static Value getCounted(Value chunk, scf::ForOp loop) {
  auto divide = chunk.getDefiningOp<arith::DivUIOp>();
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!divide || !step || getConstantIntValue(divide.getRhs()) != step ||
      !grows(divide.getLhs(), loop))
    return {};
  return divide.getLhs();
}

static Rings findRings(scf::ForOp loop) {
  Rings rings;
  for (auto slot : loop.getBody()->getOps<arith::RemUIOp>()) {
    std::optional<int64_t> slots = getConstantIntValue(slot.getRhs());
    Value counted = getCounted(slot.getLhs(), loop);
    if (counted && slots && *slots > 0 && !llvm::isPowerOf2_64(*slots))
      rings[{counted, *slots}].slots.push_back(slot);
  }
  for (auto round : loop.getBody()->getOps<arith::DivUIOp>()) {
    std::optional<int64_t> slots = getConstantIntValue(round.getRhs());
    Value counted = getCounted(round.getLhs(), loop);
    auto found = counted && slots ? rings.find({counted, *slots}) : rings.end();
    if (found != rings.end())
      found->second.rounds.push_back(round);
  }
  return rings;
}

/// Carries slots and rounds of `rings` through `loop`, rounds behind the slots
/// of the same ring and where there are any.
static void carry(scf::ForOp loop, const Rings &rings) {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  IRMapping ofFirst;
  ofFirst.map(loop.getInductionVar(), loop.getLowerBound());
  SmallVector<Value> first;
  for (const auto &[key, ring] : rings) {
    auto [counted, slots] = key;
    Value chunk = arith::DivUIOp::create(
        rewriter, loc, cloneFromBody(rewriter, counted, loop, ofFirst),
        loop.getStep());
    Value count = arith::ConstantIndexOp::create(rewriter, loc, slots);
    first.push_back(arith::RemUIOp::create(rewriter, loc, chunk, count));
    if (!ring.rounds.empty())
      first.push_back(arith::DivUIOp::create(rewriter, loc, chunk, count));
  }
  auto getNext = [&](OpBuilder &builder, Location at,
                     ArrayRef<BlockArgument> carried) {
    SmallVector<Value> next;
    Value one = arith::ConstantIndexOp::create(builder, at, 1);
    Value zero = arith::ConstantIndexOp::create(builder, at, 0);
    for (const auto &[key, ring] : rings) {
      Value slot =
          arith::AddIOp::create(builder, at, carried[next.size()], one);
      Value isOver = arith::CmpIOp::create(
          builder, at, arith::CmpIPredicate::eq, slot,
          arith::ConstantIndexOp::create(builder, at, key.second));
      next.push_back(arith::SelectOp::create(builder, at, isOver, zero, slot));
      if (ring.rounds.empty())
        continue;
      Value round = carried[next.size()];
      Value after = arith::AddIOp::create(builder, at, round, one);
      next.push_back(
          arith::SelectOp::create(builder, at, isOver, after, round));
    }
    return next;
  };
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false, getNext));
  replaced->setDiscardableAttrs(attributes);
  const BlockArgument *carried =
      replaced.getRegionIterArgs().take_back(first.size()).begin();
  auto replace = [&](auto ops) {
    for (auto op : ops)
      rewriter.replaceOp(op, *carried);
    ++carried;
  };
  for (const auto &[key, ring] : rings) {
    replace(ring.slots);
    if (!ring.rounds.empty())
      replace(ring.rounds);
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*replaced.getBody())))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

namespace {

struct CarrySlotsPass : tile::impl::CarrySlotsPassBase<CarrySlotsPass> {
  using CarrySlotsPassBase::CarrySlotsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    int64_t count = 0;
    for (scf::ForOp loop : loops) {
      Rings rings = findRings(loop);
      if (rings.empty())
        continue;
      carry(loop, rings);
      ++count;
    }
    auto options = remark::RemarkOpts::name("CarrySlots")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (count != 0) {
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} loops count the slots of rings", count);
      return;
    }
    remark::missed(kernel.getLoc(), options)
        << "no loop divides the numbers of chunks by anything but powers of "
           "two";
    markAllAnalysesPreserved();
  }
};

} // namespace
