// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes in f32 what is written in smaller floats, rounding after each
// operation, and converts bf16 by integers:
//
//   %e = math.exp %a : bf16      %f = arith.extf %a : bf16 to f32
//                                %g = math.exp %f : f32
//                                %e = arith.truncf %g : f32 to bf16
//
// MLIR's own emulation lets the two conversions between operations cancel, and
// LLVM's calls functions that not every C library has. What LLVM does not see
// as bf16 it does not convert by AVX512-BF16 either, which takes subnormal
// numbers for 0.

#include "HalfFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

/// `type` with f32 for its elements.
static Type withF32(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(f32);
  return f32;
}

/// Functions of f16 are the C library's in f32; LLVM has f16 arithmetic.
static bool isComputedInF32(Operation *op, Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() ||
         (element.isF16() && isa<math::MathDialect>(op->getDialect()));
}

static void computeInF32(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  for (OpOperand &operand : op->getOpOperands())
    if (isComputedInF32(op, operand.get().getType()))
      operand.set(arith::ExtFOp::create(
          builder, loc, withF32(operand.get().getType()), operand.get()));
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    Type type = result.getType();
    if (!isComputedInF32(op, type))
      continue;
    result.setType(withF32(type));
    Value rounded = arith::TruncFOp::create(builder, loc, type, result);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
}

/// A conversion between bf16 and another type than f32 goes through f32.
static void convertThroughF32(Operation *op) {
  OpBuilder builder(op);
  Value source = op->getOperand(0);
  Type from = source.getType(), to = op->getResult(0).getType();
  bool isExtension = isa<arith::ExtFOp>(op);
  if (getElementTypeOrSelf(isExtension ? to : from).isF32())
    return;
  Type wide = withF32(from);
  op->setOperand(
      0, isExtension
             ? arith::ExtFOp::create(builder, op->getLoc(), wide, source)
                   .getResult()
             : arith::TruncFOp::create(builder, op->getLoc(), wide, source)
                   .getResult());
}

/// The type with elements of an integer type.
static Type withInteger(Type type, unsigned width) {
  Type integer = IntegerType::get(type.getContext(), width);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(integer);
  return integer;
}

static Value getConstant(ImplicitLocOpBuilder &builder, Type type,
                         int64_t value) {
  Attribute element = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return arith::ConstantOp::create(builder,
                                     DenseElementsAttr::get(shaped, element));
  return arith::ConstantOp::create(builder, cast<TypedAttr>(element));
}

static Value bitcast(ImplicitLocOpBuilder &builder, Type type, Value value) {
  return arith::BitcastOp::create(builder, type, value);
}

/// A bf16 is the upper half of an f32.
static Value extendBits(ImplicitLocOpBuilder &builder, Value value) {
  Type narrow = withInteger(value.getType(), 16);
  Type wide = withInteger(value.getType(), 32);
  Value bits =
      arith::ExtUIOp::create(builder, wide, bitcast(builder, narrow, value));
  bits = arith::ShLIOp::create(builder, bits, getConstant(builder, wide, 16));
  return bitcast(builder, withF32(value.getType()), bits);
}

/// To nearest even: the lower half and the last bit that stays carry over.
static Value roundBits(ImplicitLocOpBuilder &builder, Value value, Type type) {
  Type narrow = withInteger(type, 16), wide = withInteger(type, 32);
  auto constant = [&](int64_t number) {
    return getConstant(builder, wide, number);
  };
  Value bits = bitcast(builder, wide, value);
  Value last = arith::AndIOp::create(
      builder, arith::ShRUIOp::create(builder, bits, constant(16)),
      constant(1));
  Value half = arith::AddIOp::create(builder, last, constant(0x7FFF));
  Value rounded = arith::ShRUIOp::create(
      builder, arith::AddIOp::create(builder, bits, half), constant(16));
  Value isNaN =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, value, value);
  constexpr int64_t quietNaN = 0x7FC0;
  rounded =
      arith::SelectOp::create(builder, isNaN, constant(quietNaN), rounded);
  return bitcast(builder, type,
                 arith::TruncIOp::create(builder, narrow, rounded));
}

/// A choice between bf16 is one between their bits.
static void selectBits(arith::SelectOp select) {
  ImplicitLocOpBuilder builder(select.getLoc(), select);
  Type bits = withInteger(select.getType(), 16);
  Value chosen =
      arith::SelectOp::create(builder, select.getCondition(),
                              bitcast(builder, bits, select.getTrueValue()),
                              bitcast(builder, bits, select.getFalseValue()));
  select.replaceAllUsesWith(bitcast(builder, select.getType(), chosen));
  select.erase();
}

static bool isBFloat16Conversion(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
         (getElementTypeOrSelf(op->getOperand(0).getType()).isBF16() ||
          getElementTypeOrSelf(op->getResult(0).getType()).isBF16());
}

void deplo::host::lowerHalfFloats(Operation *root) {
  SmallVector<Operation *> arithmetic, conversions;
  SmallVector<arith::SelectOp> selections;
  root->walk([&](Operation *op) {
    if (isBFloat16Conversion(op)) {
      conversions.push_back(op);
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      if (getElementTypeOrSelf(select.getType()).isBF16())
        selections.push_back(select);
    } else if (OpTrait::hasElementwiseMappableTraits(op) &&
               !isa<arith::BitcastOp>(op)) {
      arithmetic.push_back(op);
    }
  });
  for (Operation *op : arithmetic)
    computeInF32(op);
  for (Operation *op : conversions)
    convertThroughF32(op);
  llvm::for_each(selections, selectBits);

  conversions.clear();
  root->walk([&](Operation *op) {
    if (isBFloat16Conversion(op))
      conversions.push_back(op);
  });
  for (Operation *op : conversions) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    Value result = op->getResult(0), operand = op->getOperand(0);
    result.replaceAllUsesWith(
        isa<arith::ExtFOp>(op) ? extendBits(builder, operand)
                               : roundBits(builder, operand, result.getType()));
    op->erase();
  }
}
