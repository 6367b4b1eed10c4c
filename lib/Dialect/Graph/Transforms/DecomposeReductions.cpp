// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and normalisations as maps and reductions of f32 values.

#include "DecomposePatterns.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace deplo::graph {

static int64_t countElements(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shape[axis];
  return count;
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

namespace {
/// What the variance of `x` over some axes is computed from; all but
/// `deviation` have size 1 along them.
struct Moments {
  Value mean;      // sum of x / n
  Value deviation; // x - mean
  Value residue;   // sum of the deviations
  Value squares;   // sum of the squared deviations
  int64_t count;   // n
};
} // namespace

/// The corrected two-pass algorithm (Chan, Golub and LeVeque, 1983). The mean
/// is rounded, so the deviations do not add up to 0. Their sum corrects the
/// variance and, divided by n, the mean: a row of equal numbers, however large,
/// has variance 0 and deviations 0.
static Moments buildMoments(PrimitiveBuilder &builder, Value x,
                            ArrayRef<int64_t> axes) {
  Moments moments;
  moments.count = countElements(getShape(x), axes);
  auto sum = [&](Value value) {
    return builder.keepDims(builder.reduce(Monoid::Add, value, axes), axes);
  };
  moments.mean = builder.map(sum(x), [&](Scalars s, ValueRange v) {
    return s.div(v[0], s.size(moments.count));
  });
  moments.deviation =
      builder.map({x, moments.mean},
                  [](Scalars s, ValueRange v) { return s.sub(v[0], v[1]); });
  moments.residue = sum(moments.deviation);
  moments.squares =
      sum(builder.map(moments.deviation, [](Scalars s, ValueRange v) {
        return s.mul(v[0], v[0]);
      }));
  return moments;
}

/// (squares - residue^2 / n) / divisor, never negative: rounding may leave the
/// difference a little below 0, and rsqrt would make that NaN.
static Value buildVariance(Scalars s, Value squares, Value residue,
                           int64_t count, Value divisor) {
  Value correction = s.div(s.mul(residue, residue), s.size(count));
  Value positive = s.max(s.sub(squares, correction), s.constant(0));
  return s.div(positive, divisor);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A reduction of f32 values, rounded to the operand's type.
template <typename OpTy>
static Value buildReduction(PrimitiveBuilder &builder, OpTy op, Monoid kind) {
  Value reduced =
      builder.reduce(kind, builder.widen(op.getInput()), op.getAxes());
  if (isa<MeanOp>(op.getOperation())) {
    int64_t count = countElements(getShape(op.getInput()), op.getAxes());
    reduced = builder.map(
        getShape(reduced), op.getType().getElementType(), reduced,
        [&](Scalars s, ValueRange v) { return s.div(v[0], s.size(count)); });
  }
  reduced = builder.convert(reduced, op.getType().getElementType());
  return op.getKeepdims() ? builder.keepDims(reduced, op.getAxes()) : reduced;
}

/// What a variance of `count` elements is divided by, never negative.
static Value buildDivisor(Scalars s, int64_t count, double correction) {
  if (s.sizes.isSymbolic(count))
    return s.max(s.sub(s.size(count), s.constant(correction)), s.constant(0));
  return s.constant(std::max(0.0, count - correction));
}

static Value buildVar(PrimitiveBuilder &builder, VarOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  Moments m = buildMoments(builder, builder.widen(op.getInput()), axes);
  double correction = op.getCorrection().convertToDouble();
  Value variance =
      builder.map(getShape(m.squares), op.getType().getElementType(),
                  {m.squares, m.residue}, [&](Scalars s, ValueRange v) {
                    return buildVariance(s, v[0], v[1], m.count,
                                         buildDivisor(s, m.count, correction));
                  });
  return builder.reshape(variance, op.getType().getShape());
}

Value decomposeReduction(PrimitiveBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<SumOp, MeanOp>(
          [&](auto op) { return buildReduction(builder, op, Monoid::Add); })
      .Case([&](ProdOp op) { return buildReduction(builder, op, Monoid::Mul); })
      .Case([&](AmaxOp op) { return buildReduction(builder, op, Monoid::Max); })
      .Case([&](AminOp op) { return buildReduction(builder, op, Monoid::Min); })
      .Case([&](VarOp op) { return buildVar(builder, op); })
      .Default([](Operation *) { return Value(); });
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

template <typename NormOp> static SmallVector<int64_t> getNormAxes(NormOp op) {
  int64_t operandRank = op.getType().getRank();
  return llvm::to_vector(
      llvm::seq<int64_t>(operandRank - op.getRank(), operandRank));
}

static Value buildRmsNorm(PrimitiveBuilder &builder, RmsNormOp op) {
  SmallVector<int64_t> axes = getNormAxes(op);
  Value x = builder.widen(op.getInput());
  Value squares =
      builder.map(x, [](Scalars s, ValueRange v) { return s.mul(v[0], v[0]); });
  int64_t count = countElements(getShape(x), axes);
  double eps = op.getEps().convertToDouble();
  Value scale = builder.map(builder.reduce(Monoid::Add, squares, axes),
                            [&](Scalars s, ValueRange v) {
                              Value mean = s.mean(v[0], count);
                              return s.rsqrt(s.add(mean, s.constant(eps)));
                            });
  SmallVector<Value> operands = {x, builder.keepDims(scale, axes)};
  if (op.getWeight())
    operands.push_back(op.getWeight());
  return builder.map(getShape(x), op.getType().getElementType(), operands,
                     [&](Scalars s, ValueRange v) {
                       Value y = s.mul(v[0], v[1]);
                       return op.getWeight() ? s.mul(y, v[2]) : y;
                     });
}

static Value buildLayerNorm(PrimitiveBuilder &builder, LayerNormOp op) {
  SmallVector<int64_t> axes = getNormAxes(op);
  Moments m = buildMoments(builder, builder.widen(op.getInput()), axes);
  double eps = op.getEps().convertToDouble();
  Value scale =
      builder.map({m.squares, m.residue}, [&](Scalars s, ValueRange v) {
        Value variance = buildVariance(s, v[0], v[1], m.count, s.size(m.count));
        return s.rsqrt(s.add(variance, s.constant(eps)));
      });
  Value shift = builder.map(m.residue, [&](Scalars s, ValueRange v) {
    return s.div(v[0], s.size(m.count));
  });
  SmallVector<Value> operands = {m.deviation, shift, scale};
  if (op.getWeight())
    operands.push_back(op.getWeight());
  if (op.getBias())
    operands.push_back(op.getBias());
  return builder.map(getShape(op.getInput()), op.getType().getElementType(),
                     operands, [&](Scalars s, ValueRange v) {
                       Value y = s.mul(s.sub(v[0], v[1]), v[2]);
                       if (op.getWeight())
                         y = s.mul(y, v[3]);
                       return op.getBias() ? s.add(y, v.back()) : y;
                     });
}

/// The largest element comes off before e^x, so that nothing overflows.
template <typename OpTy>
static Value buildSoftmaxLike(PrimitiveBuilder &builder, OpTy op) {
  SmallVector<int64_t> axes = {static_cast<int64_t>(op.getAxis())};
  auto reduce = [&](Monoid kind, Value value) {
    return builder.keepDims(builder.reduce(kind, value, axes), axes);
  };
  Value x = builder.widen(op.getInput());
  Value shifted =
      builder.map({x, reduce(Monoid::Max, x)},
                  [](Scalars s, ValueRange v) { return s.sub(v[0], v[1]); });
  bool isRounded = isNarrow(op.getType().getElementType());
  Value exponential = builder.map(shifted, [&](Scalars s, ValueRange v) {
    return isRounded ? s.approximateExp(v[0]) : s.exp(v[0]);
  });
  Value sum = reduce(Monoid::Add, exponential);
  bool isLog = isa<LogSoftmaxOp>(op.getOperation());
  // One logarithm or reciprocal for a row: the sum is at least 1, and NaN if
  // anything is NaN or all is infinite.
  Value divisor = builder.map(sum, [&](Scalars s, ValueRange v) {
    return isLog ? s.log(v[0]) : s.div(s.constant(1), v[0]);
  });
  return builder.map(getShape(x), op.getType().getElementType(),
                     {isLog ? shifted : exponential, divisor},
                     [&](Scalars s, ValueRange v) {
                       return isLog ? s.sub(v[0], v[1]) : s.mul(v[0], v[1]);
                     });
}

Value decomposeNormalization(PrimitiveBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](RmsNormOp op) { return buildRmsNorm(builder, op); })
      .Case([&](LayerNormOp op) { return buildLayerNorm(builder, op); })
      .Case<SoftmaxOp, LogSoftmaxOp>(
          [&](auto op) { return buildSoftmaxLike(builder, op); })
      .Default([](Operation *) { return Value(); });
}

} // namespace deplo::graph
