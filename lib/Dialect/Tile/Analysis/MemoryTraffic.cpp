// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/MemoryTraffic.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

namespace {

/// An axis of the kernel or a loop: its values are first + step * i.
struct Variable {
  int64_t first, step, count;
};

/// offset + sum of multiples of variables.
struct LinearIndex {
  int64_t offset = 0;
  SmallVector<std::pair<BlockArgument, int64_t>> terms;
};

/// A variable in an index: `count` values, `stride` apart.
struct Term {
  int64_t stride, count;
};

} // namespace

static std::optional<Variable> getVariable(BlockArgument argument) {
  if (std::optional<AxisAttr> axis = getAxisOf(argument))
    return Variable{0, axis->getStep(), axis->getBlocks()};
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar())
    return std::nullopt;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step < 1)
    return std::nullopt;
  int64_t span = std::max<int64_t>(*upper - *lower, 0);
  return Variable{*lower, *step, (span + *step - 1) / *step};
}

/// Adds `factor * index` to `sum`.
static LogicalResult addIndex(Value index, int64_t factor, LinearIndex &sum) {
  if (std::optional<int64_t> constant = getConstantIntValue(index)) {
    sum.offset += factor * *constant;
    return success();
  }
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    std::optional<Variable> variable = getVariable(argument);
    if (!variable)
      return failure();
    sum.offset += factor * variable->first;
    sum.terms.push_back({argument, factor});
    return success();
  }
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    return success(succeeded(addIndex(add.getLhs(), factor, sum)) &&
                   succeeded(addIndex(add.getRhs(), factor, sum)));
  // Shifted tiles still cover their rows: no element more or less is in bounds.
  if (auto shifted = index.getDefiningOp<arith::SubIOp>();
      shifted && shifted.getRhs().getDefiningOp<MisalignmentOp>())
    return addIndex(shifted.getLhs(), factor, sum);
  if (auto mul = index.getDefiningOp<arith::MulIOp>())
    for (auto [value, other] : {std::pair(mul.getLhs(), mul.getRhs()),
                                std::pair(mul.getRhs(), mul.getLhs())})
      if (std::optional<int64_t> constant = getConstantIntValue(other))
        return addIndex(value, factor * *constant, sum);
  return failure();
}

static int64_t countTrips(ArrayRef<Term> terms) {
  int64_t trips = 1;
  for (Term term : terms)
    trips *= term.count;
  return trips;
}

/// How many of the coordinates start + terms + step * c, 0 <= c < size, are
/// below `bound`, over all values of the terms.
static int64_t countBelow(int64_t bound, int64_t start, ArrayRef<Term> terms,
                          int64_t size, int64_t step) {
  int64_t last = start + (size - 1) * step;
  for (Term term : terms)
    last += (term.count - 1) * term.stride;
  if (last < bound)
    return size * countTrips(terms);
  if (start >= bound)
    return 0;
  if (terms.empty())
    return llvm::divideCeil(bound - start, step);
  // All of the first values of the outermost term are below, some of the last.
  Term outer = terms.front();
  ArrayRef<Term> inner = terms.drop_front();
  int64_t lastOfFirst = last - (outer.count - 1) * outer.stride;
  int64_t whole =
      lastOfFirst < bound
          ? std::min(outer.count, (bound - 1 - lastOfFirst) / outer.stride + 1)
          : 0;
  int64_t total = whole * size * countTrips(inner);
  for (int64_t i = whole; i < outer.count; ++i) {
    int64_t below =
        countBelow(bound, start + i * outer.stride, inner, size, step);
    if (below == 0)
      break;
    total += below;
  }
  return total;
}

/// Elements that `access` moves.
static std::optional<int64_t> countElements(Operation *op,
                                            const BoxAccess &access) {
  int64_t elements = 1;
  llvm::SmallPtrSet<Value, 4> used;
  for (auto [dim, index] : llvm::enumerate(access.indices)) {
    LinearIndex linear;
    if (failed(addIndex(index, 1, linear)))
      return std::nullopt;
    SmallVector<Term> terms;
    for (auto [argument, factor] : linear.terms) {
      Variable variable = *getVariable(argument);
      if (factor < 0 || !used.insert(argument).second)
        return std::nullopt;
      terms.push_back({factor * variable.step, variable.count});
    }
    llvm::erase_if(terms, [](Term term) { return term.count == 1; });
    if (llvm::any_of(terms, [](Term term) { return term.count == 0; }))
      return 0;
    llvm::sort(terms, [](Term a, Term b) { return a.stride > b.stride; });
    const auto *spanned = llvm::find(access.dims, static_cast<int64_t>(dim));
    if (spanned == access.dims.end()) {
      elements *= countTrips(terms);
      continue;
    }
    size_t tileDim = spanned - access.dims.begin();
    int64_t size = access.shape[tileDim];
    elements *= access.bounds.empty()
                    ? size * countTrips(terms)
                    : countBelow(access.bounds[tileDim], linear.offset, terms,
                                 size, access.steps[tileDim]);
  }
  // Loops that do not move the access repeat it.
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    std::optional<Variable> variable =
        getVariable(cast<BlockArgument>(loop.getInductionVar()));
    if (!variable)
      return std::nullopt;
    if (!used.contains(loop.getInductionVar()))
      elements *= variable->count;
  }
  return elements;
}

std::optional<SmallVector<BufferTraffic>> getMemoryTraffic(KernelOp kernel) {
  SmallVector<BufferTraffic> traffic(kernel.getNumMemrefs());
  WalkResult result = kernel.walk([&](Operation *op) {
    std::optional<BoxAccess> access = BoxAccess::get(op);
    if (!access)
      return WalkResult::advance();
    std::optional<int64_t> elements = countElements(op, *access);
    if (!elements)
      return WalkResult::interrupt();
    BufferTraffic &buffer =
        traffic[cast<BlockArgument>(access->memref).getArgNumber()];
    (isa<StoreOp, TmaStoreOp>(op) ? buffer.bytesWritten : buffer.bytesRead) +=
        *elements * access->getElementBytes();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  return traffic;
}

} // namespace deplo::tile
