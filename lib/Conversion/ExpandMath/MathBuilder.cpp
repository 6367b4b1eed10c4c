// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MathBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace deplo {

Type MathBuilder::getType(Value like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return vector.clone(element);
  return element;
}

static Value createConstant(ImplicitLocOpBuilder &builder, Type type,
                            Attribute element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder,
                                     DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(builder, cast<TypedAttr>(element));
}

Value MathBuilder::constant(Value like, double value) {
  Type type = like.getType();
  return createConstant(
      builder, type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value MathBuilder::integer(Value like, int64_t value) {
  Type type = like.getType();
  return createConstant(
      builder, type, builder.getIntegerAttr(getElementTypeOrSelf(type), value));
}

#define DEPLO_BINARY(Name, Op)                                                 \
  Value MathBuilder::Name(Value x, Value y) {                                  \
    return Op::create(builder, x, y);                                          \
  }
DEPLO_BINARY(add, arith::AddFOp)
DEPLO_BINARY(sub, arith::SubFOp)
DEPLO_BINARY(mul, arith::MulFOp)
DEPLO_BINARY(div, arith::DivFOp)
DEPLO_BINARY(addI, arith::AddIOp)
DEPLO_BINARY(subI, arith::SubIOp)
DEPLO_BINARY(mulI, arith::MulIOp)
DEPLO_BINARY(andI, arith::AndIOp)
DEPLO_BINARY(orI, arith::OrIOp)
DEPLO_BINARY(both, arith::AndIOp)
DEPLO_BINARY(either, arith::OrIOp)
DEPLO_BINARY(shl, arith::ShLIOp)
DEPLO_BINARY(shrU, arith::ShRUIOp)
DEPLO_BINARY(shrS, arith::ShRSIOp)
#undef DEPLO_BINARY

// LLVM's own operations, which every target has instructions for. The plain
// intrinsics that GPUs are denied by MLIR's conversion are called by name.
static Value callIntrinsic(ImplicitLocOpBuilder &builder, StringRef name,
                           ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, operands.front().getType(),
                                       builder.getStringAttr(name), operands)
      ->getResult(0);
}

Value MathBuilder::fma(Value x, Value y, Value z) {
  return LLVM::FMAOp::create(builder, x, y, z);
}
Value MathBuilder::neg(Value x) { return arith::NegFOp::create(builder, x); }
Value MathBuilder::abs(Value x) {
  return callIntrinsic(builder, "llvm.fabs", x);
}
Value MathBuilder::sqrt(Value x) {
  return callIntrinsic(builder, "llvm.sqrt", x);
}
Value MathBuilder::floor(Value x) {
  return callIntrinsic(builder, "llvm.floor", x);
}
Value MathBuilder::trunc(Value x) {
  return callIntrinsic(builder, "llvm.trunc", x);
}
Value MathBuilder::roundEven(Value x) {
  return callIntrinsic(builder, "llvm.roundeven", x);
}
Value MathBuilder::copySign(Value magnitude, Value sign) {
  return callIntrinsic(builder, "llvm.copysign", {magnitude, sign});
}

Value MathBuilder::clamp(Value x, double low, double high) {
  x = select(isLess(x, low), low, x);
  return select(isGreater(x, high), high, x);
}

Value MathBuilder::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = constant(x, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, coefficient);
  return result;
}

Value MathBuilder::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(builder, predicate, x, y);
}
Value MathBuilder::isLess(Value x, double y) {
  return compare(arith::CmpFPredicate::OLT, x, constant(x, y));
}
Value MathBuilder::isGreater(Value x, double y) {
  return compare(arith::CmpFPredicate::OGT, x, constant(x, y));
}
Value MathBuilder::isEqual(Value x, double y) {
  return compare(arith::CmpFPredicate::OEQ, x, constant(x, y));
}
Value MathBuilder::isNaN(Value x) {
  return compare(arith::CmpFPredicate::UNO, x, x);
}
Value MathBuilder::isNegative(Value x) {
  Value word = bits(x);
  return compareI(arith::CmpIPredicate::slt, word, integer(word, 0));
}
Value MathBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(builder, condition, x, y);
}
Value MathBuilder::compareI(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(builder, predicate, x, y);
}
Value MathBuilder::isNotZero(Value x) {
  return compareI(arith::CmpIPredicate::ne, x, integer(x, 0));
}
Value MathBuilder::negate(Value condition) {
  return arith::XOrIOp::create(builder, condition, integer(condition, 1));
}

Value MathBuilder::toInteger(Value x) {
  return arith::FPToSIOp::create(builder, i32(x), x);
}
Value MathBuilder::toFloat(Value x) {
  return arith::SIToFPOp::create(builder, f32(x), x);
}
Value MathBuilder::bits(Value x) {
  return arith::BitcastOp::create(builder, i32(x), x);
}
Value MathBuilder::fromBits(Value x) {
  return arith::BitcastOp::create(builder, f32(x), x);
}
Value MathBuilder::widen(Value x) {
  return arith::ExtFOp::create(builder, f64(x), x);
}
Value MathBuilder::narrow(Value x) {
  return arith::TruncFOp::create(builder, f32(x), x);
}
Value MathBuilder::toF32(Value x) {
  return arith::ExtFOp::create(builder, f32(x), x);
}
Value MathBuilder::round(Value x, Type type) {
  return arith::TruncFOp::create(builder, type, x);
}
Value MathBuilder::extend(Value x) {
  return arith::ExtUIOp::create(builder, i64(x), x);
}
Value MathBuilder::truncate(Value x) {
  return arith::TruncIOp::create(builder, i32(x), x);
}

Value MathBuilder::unless(Value condition, Value fast,
                          llvm::function_ref<Value()> slow) {
  Value any = condition;
  if (isa<VectorType>(condition.getType()))
    any = vector::ReductionOp::create(builder, vector::CombiningKind::OR,
                                      condition);
  auto branch = scf::IfOp::create(builder, fast.getType(), any,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, select(condition, slow(), fast));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, fast);
  return branch.getResult(0);
}

} // namespace deplo
