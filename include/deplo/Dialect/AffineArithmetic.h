// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine expressions as integer arithmetic, on scalars or on tiles.

#ifndef DEPLO_DIALECT_AFFINEARITHMETIC_H
#define DEPLO_DIALECT_AFFINEARITHMETIC_H

#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace deplo {

/// Whether `expr` and every part of it is far from the ends of i32 where
/// dimension `i` runs from 0 to `extents[i] - 1`.
inline bool fitsIn32Bits(mlir::AffineExpr expr,
                         llvm::ArrayRef<int64_t> extents) {
  constexpr int64_t limit = int64_t(1) << 30;
  bool fits = true;
  expr.walk([&](mlir::AffineExpr part) {
    std::optional<ValueRange64> range = getRange(part, extents);
    fits &= range && range->min > -limit && range->max < limit;
  });
  return fits;
}

/// What is left of a coordinate without the size of its dimension, if that is
/// known when the program runs and the coordinate counts back from it, as
/// `size - 1 - i` does. What counts forward is far from it.
inline std::optional<mlir::AffineExpr> getFromEnd(mlir::AffineExpr coordinate,
                                                  unsigned numDims,
                                                  int64_t size,
                                                  const SymbolicSizes &sizes) {
  std::optional<LinearForm> form = sizes.isSymbolic(size)
                                       ? getLinearForm(coordinate, numDims)
                                       : std::nullopt;
  if (!form || form->constant <= size / 2)
    return std::nullopt;
  form->constant -= size;
  return getExpr(*form, coordinate.getContext());
}

/// `number` as an integer of `type`: a constant, or a size that is known when
/// the program runs, which is a `SizeOpT` of the dialect.
template <typename SizeOpT>
mlir::Value createNumber(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, int64_t number,
                         const SymbolicSizes &sizes) {
  using namespace mlir;
  if (!sizes.isSymbolic(number))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  Value size = SizeOpT::create(builder, loc, builder.getI64Type(), number);
  return type.isInteger(64)
             ? size
             : arith::TruncIOp::create(builder, loc, type, size).getResult();
}

/// Computes `expr`. The emitter gives values to dimensions and constants and
/// creates operations on two values:
///
///   Value getDim(unsigned), Value getConstant(int64_t),
///   template <typename OpT> Value create(Value lhs, Value rhs)
///
/// Division rounds down: where `extents` don't show that the dividend is not
/// negative, a multiple of the divisor that makes it so is added first.
template <typename Emitter>
auto emitAffine(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> extents,
                Emitter &emitter) -> decltype(emitter.getDim(0)) {
  using namespace mlir;
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return emitter.getConstant(constant.getValue());
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return emitter.getDim(dim.getPosition());
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  auto lhs = emitAffine(binary.getLHS(), extents, emitter);
  auto rhs = emitAffine(binary.getRHS(), extents, emitter);
  if (expr.getKind() == AffineExprKind::Add)
    return emitter.template create<arith::AddIOp>(lhs, rhs);
  if (expr.getKind() == AffineExprKind::Mul)
    return emitter.template create<arith::MulIOp>(lhs, rhs);
  int64_t divisor = llvm::cast<AffineConstantExpr>(binary.getRHS()).getValue();
  bool isRemainder = expr.getKind() == AffineExprKind::Mod;
  std::optional<ValueRange64> range = getRange(binary.getLHS(), extents);
  int64_t wraps =
      range && range->min < 0 ? llvm::divideCeil(-range->min, divisor) : 0;
  if (wraps != 0)
    lhs = emitter.template create<arith::AddIOp>(
        lhs, emitter.getConstant(wraps * divisor));
  if (isRemainder)
    return emitter.template create<arith::RemUIOp>(lhs, rhs);
  auto quotient = emitter.template create<arith::DivUIOp>(lhs, rhs);
  if (wraps == 0)
    return quotient;
  return emitter.template create<arith::AddIOp>(quotient,
                                                emitter.getConstant(-wraps));
}

} // namespace deplo

#endif // DEPLO_DIALECT_AFFINEARITHMETIC_H
