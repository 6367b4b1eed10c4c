// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operators as maps.

#include "DecomposePatterns.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::graph {

/// 1 + e^-x.
static Value buildLogisticDivisor(Scalars s, Value x) {
  Value exponent = s.neg(x);
  return s.add(s.isNarrow ? s.approximateExp(exponent) : s.exp(exponent),
               s.constant(1));
}

/// 1 / (1 + e^-x): where e^-x overflows the quotient is 0, as it should be.
static Value buildSigmoid(Scalars s, Value x) {
  return s.quotient(s.constant(1), buildLogisticDivisor(s, x));
}

static Value buildSilu(Scalars s, Value x) {
  return s.quotient(x, buildLogisticDivisor(s, x));
}

/// The normal distribution function within 2e-7, without branches (Abramowitz
/// and Stegun, Handbook of Mathematical Functions, 7.1.26): with z = |x| /
/// sqrt 2 and t = 1 / (1 + p z), half of e^-z^2 times a polynomial of t is what
/// lies beyond |x|.
static Value buildApproximatePhi(Scalars s, Value x) {
  constexpr double p = 0.3275911;
  constexpr double coefficients[] = {1.061405429, -1.453152027, 1.421413741,
                                     -0.284496736, 0.254829592};
  Value one = s.constant(1);
  Value t = s.approximateReciprocal(
      s.fma(s.abs(x), s.constant(p / llvm::numbers::sqrt2), one));
  Value sum = s.constant(coefficients[0] / 2);
  for (double coefficient : llvm::drop_begin(coefficients))
    sum = s.fma(sum, t, s.constant(coefficient / 2));
  Value bell = s.approximateExp(s.mul(s.mul(x, x), s.constant(-0.5)));
  Value tail = s.mul(s.mul(sum, t), bell);
  return s.select(s.isNegative(x), tail, s.sub(one, tail));
}

static Value buildGelu(Scalars s, Value x) {
  if (s.isNarrow)
    return s.mul(x, buildApproximatePhi(s, x));
  Value phi = s.erf(s.mul(x, s.constant(1 / llvm::numbers::sqrt2)));
  return s.mul(s.mul(x, s.constant(0.5)), s.add(phi, s.constant(1)));
}

/// (1 + tanh u) / 2 is 1 / (1 + e^-2u): no difference cancels for negative u.
static Value buildGeluTanh(Scalars s, Value x) {
  Value cube = s.mul(s.mul(x, x), x);
  Value inner = s.add(x, s.mul(cube, s.constant(0.044715)));
  double scale = 2 * llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
  Value twice = s.mul(inner, s.constant(scale));
  return s.quotient(x, buildLogisticDivisor(s, twice));
}

static Value buildUnary(Operation *op, Scalars s, Value x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<NegOp>([&](auto) { return s.neg(x); })
      .Case<AbsOp>([&](auto) { return s.abs(x); })
      .Case<ExpOp>([&](auto) { return s.exp(x); })
      .Case<LogOp>([&](auto) { return s.log(x); })
      .Case<SqrtOp>([&](auto) { return s.sqrt(x); })
      .Case<RsqrtOp>([&](auto) { return s.rsqrt(x); })
      .Case<ReciprocalOp>([&](auto) { return s.div(s.constant(1), x); })
      .Case<SinOp>([&](auto) { return s.sin(x); })
      .Case<CosOp>([&](auto) { return s.cos(x); })
      .Case<TanhOp>([&](auto) { return s.tanh(x); })
      .Case<ErfOp>([&](auto) { return s.erf(x); })
      .Case<SigmoidOp>([&](auto) { return buildSigmoid(s, x); })
      .Case<ReluOp>([&](auto) { return s.max(x, s.constant(0)); })
      .Case<SiluOp>([&](auto) { return buildSilu(s, x); })
      .Case<GeluOp>([&](auto) { return buildGelu(s, x); })
      .Case<GeluTanhOp>([&](auto) { return buildGeluTanh(s, x); })
      .Case<CastOp>([&](auto) { return x; })
      .Default([](Operation *) { return Value(); });
}

static Value buildBinary(Operation *op, Scalars s, Value x, Value y) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return s.add(x, y); })
      .Case<SubOp>([&](auto) { return s.sub(x, y); })
      .Case<MulOp>([&](auto) { return s.mul(x, y); })
      .Case<DivOp>([&](auto) { return s.div(x, y); })
      .Case<PowOp>([&](auto) { return s.pow(x, y); })
      .Case<MaximumOp>([&](auto) { return s.max(x, y); })
      .Case<MinimumOp>([&](auto) { return s.min(x, y); })
      .Default([](Operation *) { return Value(); });
}

static bool isUnary(Operation *op) {
  return isa<NegOp, AbsOp, ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp, SinOp,
             CosOp, TanhOp, ErfOp, SigmoidOp, ReluOp, SiluOp, GeluOp,
             GeluTanhOp, CastOp>(op);
}

static bool isBinary(Operation *op) {
  return isa<AddOp, SubOp, MulOp, DivOp, PowOp, MaximumOp, MinimumOp>(op);
}

Value decomposePointwise(PrimitiveBuilder &builder, Operation *op) {
  if (!isUnary(op) && !isBinary(op))
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return builder.map(type.getShape(), type.getElementType(), op->getOperands(),
                     [&](Scalars s, ValueRange x) {
                       return isUnary(op) ? buildUnary(op, s, x[0])
                                          : buildBinary(op, s, x[0], x[1]);
                     });
}

} // namespace deplo::graph
