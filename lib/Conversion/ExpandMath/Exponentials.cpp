// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponential functions and those built on them. Polynomials are minimax fits
// of the relative error, in f32; what the comments call an error is that of the
// polynomial alone.

#include "MathBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace deplo {

// ln 2 in two parts; the first times an integer below 2^9 is exact in an fma.
static constexpr double ln2High = 0x1.62e430p-1, ln2Low = -0x1.05c610p-29;
static constexpr double log2e = llvm::numbers::log2e;

/// In two steps, the second of which may leave the normal numbers.
Value MathBuilder::scale(Value x, Value exponent) {
  auto power = [&](Value n) { return fromBits(shl(addI(n, 127), 23)); };
  Value half = shrS(exponent, 1);
  return mul(mul(x, power(half)), power(subI(exponent, half)));
}

/// e^x = 2^n e^r with |r| <= ln 2 / 2, e^r by its series (5e-9).
Value MathBuilder::expScaled(Value x, int64_t shift) {
  x = clamp(x, -105, 90 + shift * -1.0);
  Value n = roundEven(mul(x, log2e));
  Value r = fma(n, -ln2Low, fma(n, -ln2High, x));
  Value p = polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120,
                           1.0 / 720, 1.0 / 5040});
  return scale(p, addI(toInteger(n), shift));
}

Value MathBuilder::callEach(StringRef intrinsic, Value x) {
  auto call = [&](Value number) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, number.getType(),
                                         builder.getStringAttr(intrinsic),
                                         ValueRange(number))
        ->getResult(0);
  };
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return call(x);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(call(vector::ExtractOp::create(builder, x, i)));
  return vector::FromElementsOp::create(builder, type, elements);
}

/// 2 ulp (PTX ISA, ex2.approx).
Value MathBuilder::exp2Approximate(Value x) {
  return callEach("llvm.nvvm.ex2.approx", x);
}

/// On a GPU 2^(x log2 e), with what the product loses. x is at most the least
/// number whose result overflows, for which that loss is positive: infinity
/// times a negative one would be NaN.
Value MathBuilder::exp(Value x) {
  constexpr double leastOverflow = 88.72283935546875;
  if (!isGpu)
    return select(isNaN(x), x, expScaled(x, 0));
  x = clamp(x, -105, leastOverflow);
  Value high = mul(x, log2e);
  constexpr double log2eLow = log2e - static_cast<float>(log2e);
  Value low = fma(x, log2eLow, fma(x, log2e, neg(high)));
  Value power = exp2Approximate(high);
  return fma(power, mul(low, llvm::numbers::ln2), power);
}

Value MathBuilder::exp2(Value x) {
  if (isGpu)
    return exp2Approximate(x);
  Value in = clamp(x, -152, 130);
  Value n = roundEven(in);
  Value r = mul(sub(in, n), llvm::numbers::ln2);
  Value p = polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120,
                           1.0 / 720, 1.0 / 5040});
  return select(isNaN(x), x, scale(p, toInteger(n)));
}

/// 2^n (e^r - 1) + (2^n - 1), halved until the end so that 2^n is a number.
Value MathBuilder::expM1(Value x) {
  Value in = clamp(x, -18, 89);
  Value n = roundEven(mul(in, log2e));
  Value r = fma(n, -ln2Low, fma(n, -ln2High, in));
  Value q = polynomial(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                           1.0 / 5040, 1.0 / 40320});
  Value small = fma(mul(r, r), q, r);
  Value half = fromBits(shl(addI(toInteger(n), 126), 23));
  Value large = mul(fma(small, half, sub(half, 0.5)), 2.0);
  Value result = select(isEqual(n, 0), small, large);
  // Keeps -0 and NaN.
  return select(isLess(abs(x), 0x1p-30), x, select(isNaN(x), x, result));
}

/// (e^x - e^-x) / 2 with e^x / 2 in one step, or the series near 0.
Value MathBuilder::sinh(Value x) {
  Value a = abs(x);
  Value e = expScaled(a, -1);
  Value large = copySign(sub(e, div(0.25, e)), x);
  Value s = mul(x, x);
  Value q = polynomial(
      s, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800});
  Value small = fma(mul(x, s), q, x);
  Value result = select(isLess(a, 1.0), small, large);
  return select(either(isNaN(x), isEqual(x, 0)), x, result);
}

Value MathBuilder::cosh(Value x) {
  Value e = expScaled(abs(x), -1);
  return select(isNaN(x), x, add(e, div(0.25, e)));
}

/// 1 - 2 / (e^2x + 1), or a polynomial (2.8e-9) near 0.
Value MathBuilder::tanh(Value x) {
  Value a = abs(x);
  Value e = exp(mul(a, 2.0));
  Value large = copySign(sub(1.0, div(2.0, add(e, 1.0))), x);
  Value s = mul(x, x);
  Value q = polynomial(
      s, {-0.33333298, 0.133319241, -0.053783828, 0.0207959646, -0.0058951503});
  Value small = fma(mul(x, s), q, x);
  Value result = select(isLess(a, 0.6), small, large);
  return select(either(isNaN(x), isEqual(x, 0)), x, result);
}

/// x + x p(x^2) (4e-10), or 1 - e^(-q(x)).
Value MathBuilder::erf(Value x) {
  Value a = abs(x), s = mul(x, x);
  Value p =
      polynomial(s, {0.128379167, -0.376126341, 0.112837006, -0.0268596711,
                     0.00520168007, -0.000814971408, 8.39832713e-05});
  Value small = fma(p, x, x);
  Value q = polynomial(a, {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1,
                           2.42546219e-2, -3.88396438e-3, 3.83197126e-4,
                           -1.72853470e-5});
  // Beyond 4 the result is 1, and the polynomial grows.
  Value large = sub(1.0, exp(fma(q, clamp(a, 0, 4), neg(clamp(a, 0, 4)))));
  large = select(isGreater(a, 4.0), 1.0, large);
  Value result = select(isGreater(a, 0.921875), copySign(large, x), small);
  return select(isNaN(x), x, result);
}

/// e^(-x^2) (1 + p(q)) / (1 + 2 x) with q = (x - 2) / (x + 2), a rational
/// interval for all x >= 0 (Shepherd and Laframboise, 1981).
Value MathBuilder::erfc(Value x) {
  Value a = clamp(abs(x), 0, 11);
  Value r = div(1.0, add(a, 2.0));
  Value q = mul(sub(a, 2.0), r);
  Value t = fma(add(q, 1.0), -2.0, a);
  q = fma(r, fma(neg(q), a, t), q);
  Value p = polynomial(q, {0x1.1ba03ap-2, -0x1.7bf616p-4, -0x1.540840p-3,
                           0x1.4ffc46p-3, -0x1.bc0b6ap-5, -0x1.081b82p-7,
                           0x1.1adcc4p-7, 0x1.585714p-10, -0x1.42a260p-10,
                           -0x1.a4a000p-12});
  Value d = fma(a, 2.0, constant(a, 1.0));
  r = div(1.0, d);
  q = fma(p, r, r);
  Value e = fma(fma(q, neg(a), 0.5), 2.0, sub(p, q));
  r = fma(e, r, q);
  // e^-s with what the square loses.
  Value s = mul(a, a);
  Value lost = fma(neg(a), a, s);
  Value power = expScaled(neg(s), 0);
  r = fma(r, power, mul(mul(r, power), lost));
  Value result = select(isNegative(x), sub(2.0, r), r);
  return select(isNaN(x), x, result);
}

/// On a GPU to 2^-22.9 (PTX ISA, rsqrt.approx).
Value MathBuilder::rsqrt(Value x) {
  if (isGpu)
    return callEach("llvm.nvvm.rsqrt.approx.f", x);
  return div(1.0, sqrt(x));
}

} // namespace deplo
