// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs (m, s) of a maximum and a sum of exp(x - m) form a monoid:
//
//   (m, s) + (n, t) = (p, s * exp(m - p) + t * exp(n - p)),  p = max(m, n)
//
// so both are known after one sweep over x. For one more element, one of the
// two factors is 1 and the other exp(-|x - m|).
//
// Special values are those of two sweeps. The reference that sums are relative
// to is finite or +inf: the lowest number where the maximum is -inf, so that
// exp(-inf - reference) is 0. NaN and +inf make the sum NaN, as exp(inf - inf)
// does; so does a row of -inf.

#include "OnlineSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace deplo::tile {

/// The tile where `mask` holds and `identity` elsewhere, as padding of a
/// reduced dimension is masked.
static Value getUnmasked(Value tile, Monoid kind, Value &mask) {
  auto select = tile.getDefiningOp<arith::SelectOp>();
  if (!select)
    return tile;
  Attribute constant;
  Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  if (!matchPattern(select.getFalseValue(), m_Constant(&constant)))
    return tile;
  auto splat = dyn_cast<SplatElementsAttr>(constant);
  if (!splat || splat.getSplatValue<Attribute>() != getIdentity(kind, element))
    return tile;
  mask = select.getCondition();
  return select.getTrueValue();
}

static bool isOf(ReduceOp reduce, Monoid kind) {
  return reduce && reduce.getMonoids() == ArrayRef{kind} &&
         isa<FloatType>(getElementTypeOrSelf(reduce.getInputs().front()));
}

std::optional<OnlineSum> OnlineSum::get(ReduceOp sum) {
  if (!isOf(sum, Monoid::Add))
    return std::nullopt;
  Value maskOfSum, maskOfMaximum;
  auto exp = getUnmasked(sum.getInputs().front(), Monoid::Add, maskOfSum)
                 .getDefiningOp<math::ExpOp>();
  auto difference =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  auto broadcast = difference ? difference.getRhs().getDefiningOp<BroadcastOp>()
                              : BroadcastOp();
  auto maximum = broadcast ? broadcast.getInput().getDefiningOp<ReduceOp>()
                           : ReduceOp();
  if (!isOf(maximum, Monoid::Max) || maximum->getBlock() != sum->getBlock() ||
      maximum.getAxis() != sum.getAxis() ||
      llvm::is_contained(broadcast.getDims(), int64_t(sum.getAxis())))
    return std::nullopt;
  Value x =
      getUnmasked(maximum.getInputs().front(), Monoid::Max, maskOfMaximum);
  if (x != difference.getLhs() || maskOfSum != maskOfMaximum)
    return std::nullopt;
  return OnlineSum{maximum, sum, exp};
}

static Value getSplat(OpBuilder &builder, Location loc, Value like,
                      const APFloat &value) {
  auto type = cast<RankedTensorType>(like.getType());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, value));
}

Value OnlineSum::createExp(OpBuilder &builder, Value x) {
  return math::ExpOp::create(builder, exp->getLoc(), x, exp.getFastmath());
}

Value OnlineSum::getReference(OpBuilder &builder, Value maximum) {
  auto type = cast<FloatType>(getElementTypeOrSelf(maximum));
  Value lowest = getSplat(
      builder, exp->getLoc(), maximum,
      APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true));
  return arith::MaximumFOp::create(builder, exp->getLoc(), maximum, lowest);
}

OnlineSum::State OnlineSum::accumulate(OpBuilder &builder, State state,
                                       Value x) {
  Location loc = sum->getLoc();
  auto type = cast<FloatType>(getElementTypeOrSelf(x));
  Value one = getSplat(builder, loc, x, APFloat(type.getFloatSemantics(), 1));
  Value reference = getReference(builder, state.maximum);
  Value distance = math::AbsFOp::create(
      builder, loc, arith::SubFOp::create(builder, loc, x, reference));
  Value factor =
      createExp(builder, arith::NegFOp::create(builder, loc, distance));
  Value isGreater = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OGT, x, reference);
  Value rescaled = math::FmaOp::create(builder, loc, state.sum, factor, one);
  Value added = arith::AddFOp::create(builder, loc, state.sum, factor);
  return {
      arith::MaximumFOp::create(builder, loc, state.maximum, x),
      arith::SelectOp::create(builder, loc, isGreater, rescaled, added)};
}

OnlineSum::State OnlineSum::finish(OpBuilder &builder, State state) {
  Location loc = sum->getLoc();
  int64_t axis = sum.getAxis();
  auto type = cast<RankedTensorType>(state.sum.getType());
  Value total = ReduceOp::create(builder, maximum->getLoc(), Monoid::Max,
                                 state.maximum, axis)
                    .getResults()
                    .front();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != axis)
      dims.push_back(dim);
  Value everywhere = BroadcastOp::create(builder, loc, type, total, dims);
  Value factor = createExp(
      builder,
      arith::SubFOp::create(builder, loc, getReference(builder, state.maximum),
                            everywhere));
  Value scaled = arith::MulFOp::create(builder, loc, state.sum, factor);
  Value totalSum = ReduceOp::create(builder, loc, Monoid::Add, scaled, axis)
                       .getResults()
                       .front();
  return {total, totalSum};
}

} // namespace deplo::tile
