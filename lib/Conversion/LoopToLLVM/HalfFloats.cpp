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
// LLVM's calls functions that not every C library has.

#include "HalfFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"

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

static bool isBFloat16Conversion(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
         (getElementTypeOrSelf(op->getOperand(0).getType()).isBF16() ||
          getElementTypeOrSelf(op->getResult(0).getType()).isBF16());
}

LogicalResult deplo::host::lowerHalfFloats(Operation *root) {
  SmallVector<Operation *> arithmetic, conversions;
  root->walk([&](Operation *op) {
    if (isBFloat16Conversion(op))
      conversions.push_back(op);
    else if (OpTrait::hasElementwiseMappableTraits(op) &&
             !isa<arith::SelectOp, arith::BitcastOp>(op))
      arithmetic.push_back(op);
  });
  for (Operation *op : arithmetic)
    computeInF32(op);
  for (Operation *op : conversions)
    convertThroughF32(op);

  RewritePatternSet patterns(root->getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  ConversionTarget target(*root->getContext());
  target.addLegalDialect<arith::ArithDialect>();
  target.addDynamicallyLegalOp<arith::ExtFOp, arith::TruncFOp>(
      [](Operation *op) { return !isBFloat16Conversion(op); });
  return applyPartialConversion(root, target, std::move(patterns));
}
