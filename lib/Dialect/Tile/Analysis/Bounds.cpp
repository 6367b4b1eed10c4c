// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/Bounds.h"

#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

AffineIndex AffineIndex::get(Value index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return {Value(), 0, *constant};
  if (auto add = index.getDefiningOp<arith::AddIOp>()) {
    AffineIndex lhs = get(add.getLhs()), rhs = get(add.getRhs());
    if (!lhs.base)
      std::swap(lhs, rhs);
    if (!rhs.base)
      return {lhs.base, lhs.scale, lhs.offset + rhs.offset};
  }
  if (auto mul = index.getDefiningOp<arith::MulIOp>()) {
    AffineIndex lhs = get(mul.getLhs()), rhs = get(mul.getRhs());
    if (!lhs.base)
      std::swap(lhs, rhs);
    if (!rhs.base)
      return {lhs.base, lhs.scale * rhs.offset, lhs.offset * rhs.offset};
  }
  return {index, 1, 0};
}

Value AffineIndex::rebuild(OpBuilder &builder, Location loc,
                           Value newBase) const {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (!newBase || scale == 0)
    return constant(offset);
  Value index = newBase;
  if (scale != 1)
    index = arith::MulIOp::create(builder, loc, index, constant(scale));
  if (offset != 0)
    index = arith::AddIOp::create(builder, loc, index, constant(offset));
  return index;
}

/// The least and the greatest value of an axis of a kernel, a loop variable, or
/// a sum of two indices.
static std::optional<std::pair<int64_t, int64_t>> getRange(Value base) {
  if (auto sum = base.getDefiningOp<arith::AddIOp>()) {
    std::pair<int64_t, int64_t> total = {0, 0};
    for (Value part : {sum.getLhs(), sum.getRhs()}) {
      AffineIndex index = AffineIndex::get(part);
      std::pair<int64_t, int64_t> ends = {0, 0};
      if (index.base) {
        auto range = getRange(index.base);
        if (!range)
          return std::nullopt;
        ends = std::minmax(index.scale * range->first,
                           index.scale * range->second);
      }
      total.first += ends.first + index.offset;
      total.second += ends.second + index.offset;
    }
    return total;
  }
  auto argument = dyn_cast<BlockArgument>(base);
  if (!argument)
    return std::nullopt;
  if (std::optional<AxisAttr> axis = getAxisOf(argument))
    return std::pair(int64_t(0), (axis->getBlocks() - 1) * axis->getStep());
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar())
    return std::nullopt;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step < 1 || *upper <= *lower)
    return std::nullopt;
  return std::pair(*lower, *lower + (*upper - 1 - *lower) / *step * *step);
}

std::optional<int64_t> AffineIndex::getMax() const {
  if (!base)
    return offset;
  std::optional<std::pair<int64_t, int64_t>> range = getRange(base);
  if (!range)
    return std::nullopt;
  return std::max(scale * range->first, scale * range->second) + offset;
}

std::optional<int64_t> AffineIndex::getMin() const {
  if (!base)
    return offset;
  std::optional<std::pair<int64_t, int64_t>> range = getRange(base);
  if (!range)
    return std::nullopt;
  return std::min(scale * range->first, scale * range->second) + offset;
}

/// Whether `index` goes as far as a size that is known when the program runs.
static bool followsSize(const AffineIndex &index, const SymbolicSizes &sizes) {
  std::optional<AxisAttr> axis = getAxisOf(index.base);
  return axis && sizes.isSymbolic(axis->getExtent());
}

bool isWithinBound(Value corner, int64_t step, int64_t size, int64_t bound) {
  AffineIndex index = AffineIndex::get(corner);
  std::optional<int64_t> first = index.getMin(), last = index.getMax();
  if (!first || !last)
    return false;
  // What is below a generic number need not be below the size, unless it goes
  // as far as that does.
  SymbolicSizes sizes =
      SymbolicSizes::get(corner.getParentRegion()->getParentOp());
  if (sizes.isSymbolic(bound) && !followsSize(index, sizes))
    bound = sizes.getMin(bound);
  return *first >= 0 && *last + (size - 1) * step < bound;
}

} // namespace deplo::tile
