// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Monoid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include "deplo/Dialect/Monoid.cpp.inc"

using namespace mlir;

namespace deplo {

static TypedAttr getFloatIdentity(Monoid kind, FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  switch (kind) {
  case Monoid::Add:
    return FloatAttr::get(type, llvm::APFloat::getZero(semantics));
  case Monoid::Mul:
    return FloatAttr::get(type, 1.0);
  case Monoid::Max:
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
  }
  llvm_unreachable("unknown monoid");
}

} // namespace deplo
