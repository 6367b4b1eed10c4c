// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loops of a kernel compute, as the schedule model sees it: tiles that
// are alive at once, reductions that wait for one another, instructions.

#include "ScheduleFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace deplo::tile {

/// Instructions and registers of a function of the math dialect or a division,
/// as a rule.
static constexpr int64_t functionCost = 8;
static constexpr int64_t functionTemporaries = 6;
/// Of a long computation, of which ptxas mixes the independent parts.
static constexpr int64_t instructionsPerLiveValue = 8;

static int64_t getCost(Operation *op);

/// Tiles that one inner loop reads and a later one reads again stay alive in
/// between; those read once stream through. Without inner loops nothing is in
/// the way of loading everything first.
void FactFinder::countLiveTiles() {
  int64_t kept = 0, loads = 0;
  for (auto [key, access] : llvm::zip_equal(keys, facts.accesses)) {
    if (access.isStore)
      continue;
    ++loads;
    if (key.loops.size() > 1)
      ++kept;
  }
  // The pieces of a concatenation come in one tile, each where it is read.
  kernel.walk([&](loop::LoadOp load) {
    if (load.getOtherwise() &&
        load.getOtherwise().getDefiningOp<loop::LoadOp>())
      --loads;
  });
  // Longer computations hold intermediate results.
  if (facts.inner.empty())
    kept = loads + (facts.instructions > 8 ? 1 : 0);
  facts.liveTiles = std::max<int64_t>(kept, 1);
  facts.peakTiles =
      facts.inner.empty()
          ? std::max({facts.liveTiles, countLiveValues(),
                      facts.instructions / instructionsPerLiveValue})
          : 1;
}

/// The most values that are alive at once between two operations of a kernel
/// without inner loops, and what the function that is computed there needs.
int64_t FactFinder::countLiveValues() {
  int64_t most = 0;
  kernel.walk([&](Block *block) {
    DenseSet<Value> live;
    for (Operation &op : llvm::reverse(*block)) {
      if (op.getNumRegions() != 0)
        return;
      for (Value result : op.getResults())
        live.erase(result);
      for (Value operand : op.getOperands())
        if (operand.getDefiningOp() && operand.getParentBlock() == block &&
            !matchPattern(operand, m_Constant()) &&
            operand.getType().isIntOrFloat() && !operand.getType().isInteger(1))
          live.insert(operand);
      int64_t ofFunction =
          getCost(&op) == functionCost ? functionTemporaries : 0;
      most = std::max(most, int64_t(live.size()) + ofFunction);
    }
  });
  return most;
}

/// The longest chain of reductions that wait for one another.
int64_t FactFinder::countReductions(Block &block) {
  int64_t longest = 0;
  for (Operation &op : block) {
    int64_t before = 0;
    for (Value operand : op.getOperands())
      before = std::max(before, reductionsBefore[operand]);
    for (Region &region : op.getRegions())
      before = std::max(before, countReductions(region.front()));
    if (auto reduce = dyn_cast<loop::ReduceOp>(op)) {
      // A reduction in a reduction is part of it.
      if (!isa<loop::ReduceOp>(op.getParentOp()))
        ++before;
    }
    for (Value result : op.getResults())
      reductionsBefore[result] = before;
    longest = std::max(longest, before);
  }
  return longest;
}

/// Whether two values are the same computation on the same elements, where
/// variable `b` of a loop stands for variable `a` of another. `known` are pairs
/// that were looked at: alike, or the whole is not.
static bool areAlike(Value x, Value y, Value a, Value b,
                     DenseSet<std::pair<Value, Value>> &known) {
  if (x == y || (x == a && y == b) || !known.insert({x, y}).second)
    return true;
  Operation *first = x.getDefiningOp(), *second = y.getDefiningOp();
  if (!first || !second || first->getName() != second->getName() ||
      first->getNumRegions() != 0 ||
      first->getAttrDictionary() != second->getAttrDictionary() ||
      first->getNumOperands() != second->getNumOperands())
    return false;
  return llvm::all_of(
      llvm::zip(first->getOperands(), second->getOperands()), [&](auto pair) {
        return areAlike(std::get<0>(pair), std::get<1>(pair), a, b, known);
      });
}

/// Sums of exp(x - m), where m is the maximum of x (OnlineSum).
int64_t FactFinder::countJoinedPasses() {
  int64_t count = 0;
  kernel.walk([&](loop::ReduceOp sum) {
    if (sum.getMonoids() != ArrayRef{Monoid::Add})
      return;
    auto exp = sum.getYield().getValues()[0].getDefiningOp<math::ExpOp>();
    auto difference =
        exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    auto maximum = difference
                       ? difference.getRhs().getDefiningOp<loop::ReduceOp>()
                       : loop::ReduceOp();
    DenseSet<std::pair<Value, Value>> known;
    if (maximum && maximum.getMonoids() == ArrayRef{Monoid::Max} &&
        maximum.getExtent() == sum.getExtent() &&
        maximum->getBlock() == sum->getBlock() &&
        areAlike(difference.getLhs(), maximum.getYield().getValues()[0],
                 sum.getInductionVar(), maximum.getInductionVar(), known))
      ++count;
  });
  return count;
}

/// Instructions that fold two values of a scan.
static int64_t getFoldCost(loop::RunningOp running) {
  constexpr int64_t ofExponents = 90;
  return running.getKind() == Monoid::LogAddExp ? ofExponents : 1;
}

/// Instructions of the usual expansion of an operation.
static int64_t getCost(Operation *op) {
  // Each element is folded in its thread and with what is before that.
  constexpr int64_t folds = 2;
  if (auto running = dyn_cast<loop::RunningOp>(op))
    return folds * getFoldCost(running);
  if (isa<math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::FmaOp, math::AbsFOp>(op))
    return 1;
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  if (isa<arith::DivFOp, math::ExpOp>(op) &&
      math.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
    return 3; // an approximation
  if (isa<math::MathDialect>(op->getDialect()))
    return functionCost;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::RemFOp, arith::RemSIOp>(op))
    return functionCost;
  return 1;
}

/// What computes nothing but where a load reads, and whether: neighbours that
/// move at once share it.
DenseSet<Operation *> FactFinder::findIndexing() {
  DenseSet<Operation *> indexing;
  auto isIndexing = [&](OpOperand &use) {
    if (auto load = dyn_cast<loop::LoadOp>(use.getOwner()))
      return load.getOtherwise() != use.get();
    return indexing.contains(use.getOwner());
  };
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op->getNumResults() == 1 && op->getNumRegions() == 0 &&
        !isa<loop::LoadOp>(op) && !op->use_empty() &&
        llvm::all_of(op->getUses(), isIndexing))
      indexing.insert(op);
  });
  return indexing;
}

void FactFinder::countScans() {
  kernel.walk([&](loop::RunningOp running) {
    ++facts.scans;
    facts.foldInstructions =
        std::max(facts.foldInstructions, getFoldCost(running));
  });
}

/// Instructions for each element of the inner loops (or, without them, of the
/// axes). What several loops compute from the same loads counts once.
void FactFinder::countInstructions() {
  DenseSet<Operation *> indexing = findIndexing();
  int64_t count = 0;
  std::map<std::vector<const void *>, Value> known;
  DenseMap<Value, Value> same; // the first value that equals a value
  kernel.walk([&](Operation *op) {
    bool isInner = facts.inner.empty() ||
                   llvm::any_of(innerLoops, [&](ArrayRef<Operation *> loops) {
                     return llvm::is_contained(loops, op->getParentOp());
                   });
    if (!isInner || op->getNumRegions() != 0 || isa<arith::ConstantOp>(op))
      return;
    if (op->getNumResults() != 1) {
      count += 1; // a store or the combination of a yielded value
      return;
    }
    std::vector<const void *> key = {op->getName().getAsOpaquePointer()};
    if (auto load = dyn_cast<loop::LoadOp>(op)) {
      key.push_back(load.getMemref().getAsOpaquePointer());
      key.push_back(load.getMap().getAsOpaquePointer());
      for (Value index : load.getIndices()) {
        auto dim = dimOf.find(index);
        key.push_back(dim == dimOf.end() ? nullptr
                                         : reinterpret_cast<const void *>(
                                               uintptr_t(dim->second) + 1));
      }
    } else {
      key.push_back(op->getAttrDictionary().getAsOpaquePointer());
      for (Value operand : op->getOperands())
        key.push_back(same.lookup_or(operand, operand).getAsOpaquePointer());
    }
    auto [entry, isNew] = known.insert({key, op->getResult(0)});
    same[op->getResult(0)] = entry->second;
    if (isNew)
      (indexing.contains(op) ? facts.indexInstructions : count) += getCost(op);
  });
  facts.instructions = std::max<int64_t>(count, 1);
}
} // namespace deplo::tile
