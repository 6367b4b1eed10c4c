// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PrimitiveBuilder.h"

#include "deplo/Analysis/AffineRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace deplo::graph {

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Scalars::constant(double value) const {
  return arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
}

Value Scalars::size(int64_t number) const {
  if (!sizes.isSymbolic(number))
    return constant(number);
  Value size = SizeOp::create(builder, loc, builder.getI64Type(), number);
  return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), size);
}

Value Scalars::mean(Value sum, int64_t number) const {
  if (sizes.isSymbolic(number))
    return div(sum, size(number));
  return mul(sum, constant(1.0 / number));
}

#define DEPLO_UNARY(Name, Op)                                                  \
  Value Scalars::Name(Value x) const { return Op::create(builder, loc, x); }
DEPLO_UNARY(neg, arith::NegFOp)
DEPLO_UNARY(abs, math::AbsFOp)
DEPLO_UNARY(exp, math::ExpOp)
DEPLO_UNARY(log, math::LogOp)
DEPLO_UNARY(sqrt, math::SqrtOp)
DEPLO_UNARY(rsqrt, math::RsqrtOp)
DEPLO_UNARY(sin, math::SinOp)
DEPLO_UNARY(cos, math::CosOp)
DEPLO_UNARY(tanh, math::TanhOp)
DEPLO_UNARY(erf, math::ErfOp)
#undef DEPLO_UNARY

#define DEPLO_BINARY(Name, Op)                                                 \
  Value Scalars::Name(Value x, Value y) const {                                \
    return Op::create(builder, loc, x, y);                                     \
  }
DEPLO_BINARY(add, arith::AddFOp)
DEPLO_BINARY(sub, arith::SubFOp)
DEPLO_BINARY(mul, arith::MulFOp)
DEPLO_BINARY(div, arith::DivFOp)
DEPLO_BINARY(pow, math::PowFOp)
DEPLO_BINARY(max, arith::MaximumFOp)
DEPLO_BINARY(min, arith::MinimumFOp)
#undef DEPLO_BINARY

Value Scalars::fma(Value x, Value y, Value z) const {
  return math::FmaOp::create(builder, loc, x, y, z);
}

// What the flags allow is what the lowering to a device makes use of.
Value Scalars::quotient(Value x, Value y) const {
  return arith::DivFOp::create(builder, loc, x, y, arith::FastMathFlags::arcp);
}

Value Scalars::approximateExp(Value x) const {
  return math::ExpOp::create(builder, loc, x, arith::FastMathFlags::afn);
}

Value Scalars::approximateReciprocal(Value x) const {
  return arith::DivFOp::create(builder, loc, constant(1), x,
                               arith::FastMathFlags::afn);
}

Value Scalars::isNegative(Value x) const {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x,
                               constant(0));
}

Value Scalars::select(Value condition, Value x, Value y) const {
  return arith::SelectOp::create(builder, loc, condition, x, y);
}

bool isNarrow(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

/// `value` as `type`, through f32 between f16 and bf16.
static Value convertScalar(OpBuilder &builder, Location loc, Value value,
                           Type type) {
  if (value.getType() == type)
    return value;
  if (!value.getType().isF32())
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  if (!type.isF32())
    value = arith::TruncFOp::create(builder, loc, type, value);
  return value;
}

//===----------------------------------------------------------------------===//
// PrimitiveBuilder
//===----------------------------------------------------------------------===//

Value PrimitiveBuilder::map(ArrayRef<int64_t> shape, Type elementType,
                            ValueRange operands, Formula formula) {
  SmallVector<Value> inputs;
  for (Value operand : operands)
    inputs.push_back(broadcast(operand, shape));
  auto body = [&](OpBuilder &bodyBuilder, Location loc, ValueRange elements) {
    SmallVector<Value> wide;
    for (Value element : elements)
      wide.push_back(convertScalar(bodyBuilder, loc, element, getF32()));
    Value value =
        formula(Scalars{bodyBuilder, loc, isNarrow(elementType), sizes}, wide);
    return convertScalar(bodyBuilder, loc, value, elementType);
  };
  return MapOp::create(builder, loc, RankedTensorType::get(shape, elementType),
                       inputs, body);
}

Value PrimitiveBuilder::map(ValueRange operands, Formula formula) {
  return map(getTensorType(operands.front()).getShape(), getF32(), operands,
             formula);
}

Value PrimitiveBuilder::combine(Monoid kind, Value lhs, Value rhs) {
  auto body = [&](OpBuilder &bodyBuilder, Location loc, ValueRange elements) {
    return deplo::combine(bodyBuilder, loc, kind, elements[0], elements[1]);
  };
  return MapOp::create(builder, loc, getTensorType(lhs), {lhs, rhs}, body);
}

Value PrimitiveBuilder::convert(Value value, Type elementType) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == elementType)
    return value;
  return map(type.getShape(), elementType, value,
             [](Scalars, ValueRange x) { return x[0]; });
}

Value PrimitiveBuilder::widen(Value value) { return convert(value, getF32()); }

Value PrimitiveBuilder::reduce(Monoid kind, Value value,
                               ArrayRef<int64_t> axes) {
  return builder.createOrFold<ReduceOp>(loc, kind, value, axes);
}

Value PrimitiveBuilder::indexMap(Value value, ArrayRef<int64_t> shape,
                                 AffineMap map) {
  auto type =
      RankedTensorType::get(shape, getTensorType(value).getElementType());
  return builder.createOrFold<IndexMapOp>(
      loc, type, value, AffineMapAttr::get(simplifyInRange(map, shape)));
}

Value PrimitiveBuilder::gather(Value value, ArrayRef<int64_t> shape,
                               AffineMap map, AffineMap guard, TypedAttr fill) {
  auto type =
      RankedTensorType::get(shape, getTensorType(value).getElementType());
  return builder.createOrFold<GatherOp>(loc, type, value, ValueRange(),
                                        simplifyInRange(map, shape),
                                        simplifyInRange(guard, shape), fill);
}

Value PrimitiveBuilder::keepDims(Value value, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> coordinates;
  ArrayRef<int64_t> kept = getTensorType(value).getShape();
  int64_t rank = kept.size() + axes.size();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (llvm::is_contained(axes, axis)) {
      shape.push_back(1);
      continue;
    }
    shape.push_back(kept[coordinates.size()]);
    coordinates.push_back(builder.getAffineDimExpr(axis));
  }
  return indexMap(value, shape,
                  AffineMap::get(rank, 0, coordinates, builder.getContext()));
}

Value PrimitiveBuilder::broadcast(Value value, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = getTensorType(value).getShape();
  if (from == shape)
    return value;
  SmallVector<AffineExpr> coordinates;
  for (auto [axis, size] : llvm::enumerate(from))
    coordinates.push_back(size == 1 ? builder.getAffineConstantExpr(0)
                                    : builder.getAffineDimExpr(
                                          shape.size() - from.size() + axis));
  return indexMap(
      value, shape,
      AffineMap::get(shape.size(), 0, coordinates, builder.getContext()));
}

/// The position in row-major order is what operand and result share.
Value PrimitiveBuilder::reshape(Value value, ArrayRef<int64_t> to) {
  AffineExpr position = linearize(
      AffineMap::getMultiDimIdentityMap(to.size(), builder.getContext()),
      getRowMajorStrides(to));
  return indexMap(
      value, to,
      delinearize(position, getTensorType(value).getShape(), to.size()));
}

} // namespace deplo::graph
