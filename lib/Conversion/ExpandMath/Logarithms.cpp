// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logarithms and functions built on them, powers, and the exact remainder.

#include "MathBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace deplo {

static constexpr double infinity = HUGE_VAL;

/// x - x^2 / 2 + x^3 p(x) (5e-9).
Value MathBuilder::log1PCore(Value x) {
  Value p =
      polynomial(x, {0.33333216, -0.249997977, 0.200104063, -0.166804864,
                     0.140058625, -0.121842778, 0.139844672, -0.128916009});
  Value s = mul(x, x);
  return fma(s, fma(x, p, -0.5), x);
}

MathBuilder::Decomposed MathBuilder::decompose(Value x) {
  // Subnormal numbers are scaled first.
  Value isSmall = isLess(x, 0x1p-126);
  Value word = bits(select(isSmall, mul(x, 0x1p23), x));
  constexpr int64_t twoThirds = 0x3F2AAAAB;
  Value exponent = shrS(addI(word, -twoThirds), 23);
  Value mantissa = fromBits(subI(word, shl(exponent, 23)));
  Value shift = select(isSmall, integer(exponent, -23), integer(exponent, 0));
  return {sub(mantissa, 1.0), toFloat(addI(exponent, shift))};
}

Value MathBuilder::withLogLimits(Value x, Value result) {
  Value limit =
      select(isEqual(x, 0), -infinity, select(isLess(x, 0), std::nan(""), x));
  Value isPlain = both(isGreater(x, 0), isLess(x, infinity));
  return select(isPlain, result, limit);
}

Value MathBuilder::log(Value x) {
  Decomposed parts = decompose(x);
  Value result =
      fma(parts.exponent, llvm::numbers::ln2, log1PCore(parts.fraction));
  return withLogLimits(x, result);
}

Value MathBuilder::log2(Value x) {
  Decomposed parts = decompose(x);
  Value result =
      fma(log1PCore(parts.fraction), llvm::numbers::log2e, parts.exponent);
  return withLogLimits(x, result);
}

Value MathBuilder::log10(Value x) {
  Decomposed parts = decompose(x);
  constexpr double log10Of2 = 0.30102999566398120;
  constexpr double low = log10Of2 - static_cast<float>(log10Of2);
  Value fraction = mul(log1PCore(parts.fraction), llvm::numbers::log10e);
  Value result =
      fma(parts.exponent, log10Of2, fma(parts.exponent, low, fraction));
  return withLogLimits(x, result);
}

/// With 2^e near 1 + x: ln(1 + x) = e ln 2 + ln(1 + f), f = 2^-e (1 + x) - 1 in
/// one rounding.
Value MathBuilder::log1P(Value x) {
  Value u = add(x, 1.0);
  Value word = bits(u);
  constexpr int64_t twoThirds = 0x3F2AAAAB;
  Value exponent = shrS(addI(word, -twoThirds), 23);
  Value power =
      fromBits(subI(integer(word, int64_t(127) << 23), shl(exponent, 23)));
  Value near = fma(power, x, sub(power, 1.0));
  // Beyond 2^60 the power may be no number, and 1 does not matter.
  Value far = sub(fromBits(subI(word, shl(exponent, 23))), 1.0);
  Value f = select(isGreater(x, 0x1p60), far, near);
  Value result = fma(toFloat(exponent), llvm::numbers::ln2, log1PCore(f));
  return select(isEqual(x, 0), x, withLogLimits(u, result));
}

Value MathBuilder::asinh(Value x) {
  Value a = abs(x);
  Value in = clamp(a, 0, 0x1p30);
  Value s = mul(in, in);
  Value near = log1P(add(in, div(s, add(sqrt(add(s, 1.0)), 1.0))));
  Value far = add(log(a), llvm::numbers::ln2);
  Value result = select(isGreater(a, 0x1p30), far, near);
  return select(isEqual(x, 0), x, copySign(result, x));
}

Value MathBuilder::acosh(Value x) {
  Value t = sub(clamp(x, 0, 0x1p30), 1.0);
  Value near = log1P(add(t, sqrt(fma(t, t, mul(t, 2.0)))));
  Value far = add(log(x), llvm::numbers::ln2);
  return select(isGreater(x, 0x1p30), far, near);
}

Value MathBuilder::atanh(Value x) {
  Value a = abs(x);
  Value result = mul(log1P(div(mul(a, 2.0), sub(1.0, a))), 0.5);
  return select(isEqual(x, 0), x, copySign(result, x));
}

/// 2^(y log2 |x|) in f64: the product must be right to 2^-32 where the result
/// is large. Signs and limits as C99 has them.
Value MathBuilder::pow(Value x, Value y) {
  Value a = abs(x);
  Decomposed parts = decompose(a);
  // ln(1 + f) = 2 artanh(f / (2 + f)).
  Value f = widen(parts.fraction);
  Value z = div(f, add(f, 2.0));
  Value s = mul(z, z);
  Value series = polynomial(s, {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9,
                                1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17});
  Value logarithm =
      fma(mul(z, series), 2 * llvm::numbers::log2e, widen(parts.exponent));
  logarithm = select(isEqual(a, 0), constant(logarithm, -infinity), logarithm);
  logarithm =
      select(isEqual(a, infinity), constant(logarithm, infinity), logarithm);
  Value t = clamp(mul(widen(y), logarithm), -160, 140);
  Value n = roundEven(t);
  Value r = mul(sub(t, n), llvm::numbers::ln2);
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int k = 0; k <= 10; factorial *= ++k)
    coefficients.push_back(1 / factorial);
  Value fraction = polynomial(r, coefficients);
  Value exponent = arith::FPToSIOp::create(builder, i64(x), n);
  Value power =
      arith::BitcastOp::create(builder, f64(x), shl(addI(exponent, 1023), 52));
  Value result = narrow(mul(fraction, power));

  // Below 0: the sign of odd powers, NaN for those that are no integers.
  Value isInteger = compare(arith::CmpFPredicate::OEQ, trunc(y), y);
  Value half = mul(y, 0.5);
  Value isOdd =
      both(isInteger, compare(arith::CmpFPredicate::ONE, trunc(half), half));
  Value isBelow = isNegative(x);
  result = select(both(isBelow, isOdd), neg(result), result);
  Value isUndefined = both(both(isLess(x, 0), isGreater(x, -infinity)),
                           both(negate(isInteger), isLess(abs(y), infinity)));
  result = select(isUndefined, std::nan(""), result);
  result = select(either(isNaN(x), isNaN(y)), std::nan(""), result);
  Value isOne = either(isEqual(y, 0), isEqual(x, 1.0));
  isOne = either(isOne, both(isEqual(a, 1.0), isEqual(abs(y), infinity)));
  return select(isOne, 1.0, result);
}

/// x - trunc(x / y) y without rounding, as C's fmod. In f64 one step takes up
/// to 50 bits off the quotient; numbers further apart need several.
Value MathBuilder::remainder(Value x, Value y) {
  Value a = widen(abs(x)), b = widen(abs(y));
  auto step = [&](Value rest, Value divisor) {
    Value q = trunc(div(rest, divisor));
    Value next = fma(neg(q), divisor, rest);
    // The quotient may have been rounded up.
    return select(isLess(next, 0), add(next, divisor), next);
  };
  Value isFar = compare(arith::CmpFPredicate::OGT, a, mul(b, 0x1p50));
  Value rest = unless(isFar, step(a, b), [&] {
    constexpr int bitsPerStep = 32, mostBits = 256;
    Value slow = a;
    for (int shift = mostBits; shift >= 0; shift -= bitsPerStep)
      slow = step(slow, mul(b, std::ldexp(1.0, shift)));
    return slow;
  });
  Value result = copySign(narrow(rest), x);
  // By infinity nothing is taken off.
  Value isWhole = both(isEqual(abs(y), infinity), isLess(abs(x), infinity));
  return select(isWhole, x, result);
}

} // namespace deplo
