// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Monoid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include "deplo/Dialect/Monoid.cpp.inc"

using namespace mlir;

namespace deplo {

std::string getMonoidNames() {
  std::string names;
  for (uint64_t kind = 0; kind <= getMaxEnumValForMonoid(); ++kind)
    names += (kind ? ", " : "") + stringifyMonoid(Monoid(kind)).str();
  return names;
}

bool isDefinedFor(Monoid kind, Type type) {
  return kind != Monoid::LogAddExp || isa<FloatType>(type);
}

LogicalResult verifyMonoid(Operation *op, Monoid kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isDefinedFor(kind, element))
    return success();
  return op->emitOpError() << "combines elements of " << element << " by "
                           << stringifyMonoid(kind) << ", expected floats";
}

static TypedAttr getFloatIdentity(Monoid kind, FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  switch (kind) {
  case Monoid::Add:
    return FloatAttr::get(type, llvm::APFloat::getZero(semantics));
  case Monoid::Mul:
    return FloatAttr::get(type, 1.0);
  case Monoid::Max:
  case Monoid::LogAddExp:
    return FloatAttr::get(type,
                          llvm::APFloat::getInf(semantics, /*Negative=*/true));
  case Monoid::Min:
    return FloatAttr::get(type, llvm::APFloat::getInf(semantics));
  }
  llvm_unreachable("unknown monoid");
}

TypedAttr getIdentity(Monoid kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return getFloatIdentity(kind, floatType);
  unsigned width = cast<IntegerType>(type).getWidth();
  // Of bools, 0 is the least.
  if (width == 1)
    return IntegerAttr::get(type, kind == Monoid::Mul || kind == Monoid::Min);
  switch (kind) {
  case Monoid::Add:
    return IntegerAttr::get(type, 0);
  case Monoid::Mul:
    return IntegerAttr::get(type, 1);
  case Monoid::Max:
    return IntegerAttr::get(type, llvm::APInt::getSignedMinValue(width));
  case Monoid::Min:
    return IntegerAttr::get(type, llvm::APInt::getSignedMaxValue(width));
  case Monoid::LogAddExp:
    break; // of floats only
  }
  llvm_unreachable("unknown monoid");
}

template <typename FloatOp, typename IntegerOp, typename BoolOp = IntegerOp>
static Value create(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (isa<FloatType>(getElementTypeOrSelf(lhs.getType())))
    return FloatOp::create(builder, loc, lhs, rhs);
  if (getElementTypeOrSelf(lhs.getType()).isInteger(1))
    return BoolOp::create(builder, loc, lhs, rhs);
  return IntegerOp::create(builder, loc, lhs, rhs);
}

/// max + ln(1 + e^(min - max)). The difference of equal infinities is no
/// number: equal operands differ by 0.
static Value combineExponents(OpBuilder &builder, Location loc, Value lhs,
                              Value rhs) {
  Value max = arith::MaximumFOp::create(builder, loc, lhs, rhs);
  Value min = arith::MinimumFOp::create(builder, loc, lhs, rhs);
  Value isEqual =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(lhs.getType()));
  Value difference =
      arith::SelectOp::create(builder, loc, isEqual, zero,
                              arith::SubFOp::create(builder, loc, min, max));
  Value part = math::ExpOp::create(builder, loc, difference);
  part = math::Log1pOp::create(builder, loc, part);
  return arith::AddFOp::create(builder, loc, max, part);
}

Value combine(OpBuilder &builder, Location loc, Monoid kind, Value lhs,
              Value rhs) {
  switch (kind) {
  case Monoid::Add:
    return create<arith::AddFOp, arith::AddIOp>(builder, loc, lhs, rhs);
  case Monoid::Mul:
    return create<arith::MulFOp, arith::MulIOp>(builder, loc, lhs, rhs);
  case Monoid::Max:
    return create<arith::MaximumFOp, arith::MaxSIOp, arith::OrIOp>(builder, loc,
                                                                   lhs, rhs);
  case Monoid::Min:
    return create<arith::MinimumFOp, arith::MinSIOp, arith::AndIOp>(
        builder, loc, lhs, rhs);
  case Monoid::LogAddExp:
    return combineExponents(builder, loc, lhs, rhs);
  }
  llvm_unreachable("unknown monoid");
}

} // namespace deplo
