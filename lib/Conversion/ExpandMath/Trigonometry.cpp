// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trigonometric functions and their inverses.

#include "MathBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace deplo {

static constexpr double infinity = HUGE_VAL;
static constexpr double pi = llvm::numbers::pi;

//===----------------------------------------------------------------------===//
// Reduction to a quadrant
//===----------------------------------------------------------------------===//

/// Cody and Waite (1980): pi / 2 in three parts, good below 2^16; Payne and
/// Hanek beyond.
MathBuilder::Reduced MathBuilder::reduceAngle(Value x) {
  Value q = roundEven(mul(x, 2 / pi));
  Value rest = fma(q, -0x1.921fb4p0, x);
  rest = fma(q, -0x1.4442d0p-24, rest);
  rest = fma(q, -0x1.846988p-48, rest);
  Value isLarge = isGreater(abs(x), 0x1p16);
  Value safe = select(isLarge, 0.0, q);
  Value quadrant = toInteger(safe);
  // Both parts of the slow way, as one value: the rest's bits above.
  Value fast = orI(shl(extend(bits(rest)), 32), extend(quadrant));
  Value packed = unless(isLarge, fast, [&] {
    Reduced large = reduceLargeAngle(x);
    return orI(shl(extend(bits(large.rest)), 32), extend(large.quadrant));
  });
  return {fromBits(truncate(shrU(packed, 32))), truncate(packed)};
}

/// Payne and Hanek (1983): the product with those bits of 2 / pi that leave a
/// multiple below 4 and a fraction of 62 bits.
MathBuilder::Reduced MathBuilder::reduceLargeAngle(Value x) {
  static constexpr uint32_t twoOverPi[] = {0x28BE60DB, 0x9391054A, 0x7F09D5F4,
                                           0x7D4D3770, 0x36D8A566, 0x4F10E410};
  Value word = bits(x);
  Value exponent = addI(andI(shrU(word, 23), 0xFF), -126);
  Value mantissa =
      orI(shl(word, 8), integer(word, static_cast<int32_t>(0x80000000)));
  Value first = shrS(exponent, 5), shift = andI(exponent, 31);
  // Four words of 2 / pi from word `first` - 1 on.
  auto getWord = [&](int64_t offset) {
    Value result = integer(word, 0);
    for (auto [i, bitsOfWord] : llvm::enumerate(twoOverPi)) {
      Value isIt =
          compareI(arith::CmpIPredicate::eq, first,
                   integer(first, static_cast<int64_t>(i) - offset + 1));
      result =
          select(isIt, integer(word, static_cast<int32_t>(bitsOfWord)), result);
    }
    return extend(result);
  };
  SmallVector<Value> words;
  for (int64_t offset = 0; offset < 4; ++offset)
    words.push_back(getWord(offset));
  Value wideShift = extend(shift);
  auto funnel = [&](Value high, Value low) {
    Value pair = orI(shl(high, 32), low);
    return andI(shrU(shl(pair, wideShift), 32), 0xFFFFFFFF);
  };
  Value high = funnel(words[0], words[1]), middle = funnel(words[1], words[2]),
        low = funnel(words[2], words[3]);
  Value m = extend(mantissa);
  Value product = mulI(m, low);
  product = addI(mulI(m, middle), shrU(product, 32));
  product = addI(shl(mulI(m, high), 32), product);
  Value quadrant = truncate(shrU(product, 62));
  product = andI(product, (int64_t(1) << 62) - 1);
  // To the nearest multiple.
  Value isUpper = isNotZero(andI(product, int64_t(1) << 61));
  product = select(isUpper, addI(product, -(int64_t(1) << 62)), product);
  quadrant = select(isUpper, addI(quadrant, 1), quadrant);
  Value rest = arith::SIToFPOp::create(builder, f64(x), product);
  rest = narrow(mul(rest, std::ldexp(pi / 2, -62)));
  Value isBelow = isNegative(x);
  return {select(isBelow, neg(rest), rest),
          select(isBelow, subI(integer(quadrant, 0), quadrant), quadrant)};
}

//===----------------------------------------------------------------------===//
// Sine, cosine, tangent
//===----------------------------------------------------------------------===//

/// Between -pi / 4 and pi / 4 (Moshier, Cephes; 1e-9 and 1e-8).
Value MathBuilder::sinCore(Value x) {
  Value s = mul(x, x);
  Value p =
      polynomial(s, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4});
  return fma(mul(p, s), x, x);
}

Value MathBuilder::cosCore(Value x) {
  Value s = mul(x, x);
  Value p = polynomial(
      s, {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5});
  return fma(mul(s, s), p, fma(s, -0.5, constant(x, 1.0)));
}

Value MathBuilder::sinInQuadrant(Value x, int64_t shift) {
  Reduced angle = reduceAngle(x);
  Value quadrant = addI(angle.quadrant, shift);
  Value result = select(isNotZero(andI(quadrant, 1)), cosCore(angle.rest),
                        sinCore(angle.rest));
  result = select(isNotZero(andI(quadrant, 2)), neg(result), result);
  return select(isLess(abs(x), infinity), result, sub(x, x));
}

Value MathBuilder::sin(Value x) {
  return select(isEqual(x, 0), x, sinInQuadrant(x, 0));
}

Value MathBuilder::cos(Value x) { return sinInQuadrant(x, 1); }

Value MathBuilder::tan(Value x) {
  Reduced angle = reduceAngle(x);
  Value sine = sinCore(angle.rest), cosine = cosCore(angle.rest);
  Value isOdd = isNotZero(andI(angle.quadrant, 1));
  Value result =
      div(select(isOdd, neg(cosine), sine), select(isOdd, sine, cosine));
  result = select(isLess(abs(x), infinity), result, sub(x, x));
  return select(isEqual(x, 0), x, result);
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

Value MathBuilder::asinCore(Value x) {
  Value s = mul(x, x);
  Value p = polynomial(s, {0.1666666, 0.0750050418, 0.0445169552, 0.0318077186,
                           0.0144386044, 0.0375164508});
  return fma(mul(p, s), x, x);
}

/// Above 1/2 from the half angle: asin x = pi / 2 - 2 asin sqrt((1 - x) / 2).
Value MathBuilder::asin(Value x) {
  Value a = abs(x);
  Value isLarge = isGreater(a, 0.5);
  Value half = sqrt(mul(sub(1.0, a), 0.5));
  Value core = asinCore(select(isLarge, half, a));
  Value large = fma(core, -2.0, constant(x, pi / 2));
  Value result = copySign(select(isLarge, large, core), x);
  return select(isEqual(x, 0), x, result);
}

Value MathBuilder::acos(Value x) {
  Value a = abs(x);
  Value isLarge = isGreater(a, 0.5);
  Value half = sqrt(mul(sub(1.0, a), 0.5));
  Value core = asinCore(select(isLarge, half, a));
  constexpr double halfLow = pi / 2 - static_cast<float>(pi / 2);
  // pi / 2 - asin x, pi - 2 asin, 2 asin.
  Value middle = sub(constant(x, pi / 2), sub(copySign(core, x), halfLow));
  Value twice = mul(core, 2.0);
  Value below = sub(constant(x, pi), sub(twice, 2 * halfLow));
  Value large = select(isNegative(x), below, twice);
  return select(isLarge, large, middle);
}

/// x + x^3 p(x^2) (3e-9).
Value MathBuilder::atanCore(Value x) {
  Value s = mul(x, x);
  Value p = polynomial(s, {-0.333332991, 0.199985482, -0.142642408, 0.109521811,
                           -0.0840343665, 0.0579573595, -0.031177613,
                           0.010914481, -0.00179359389});
  return fma(mul(p, s), x, x);
}

Value MathBuilder::atan(Value x) {
  Value a = abs(x);
  Value isLarge = isGreater(a, 1.0);
  Value core = atanCore(select(isLarge, div(1.0, a), a));
  constexpr double halfLow = pi / 2 - static_cast<float>(pi / 2);
  Value large = sub(constant(x, pi / 2), sub(core, halfLow));
  return copySign(select(isLarge, large, core), x);
}

Value MathBuilder::atan2(Value y, Value x) {
  Value a = abs(x), b = abs(y);
  Value isSteep = compare(arith::CmpFPredicate::OGT, b, a);
  Value large = select(isSteep, b, a), small = select(isSteep, a, b);
  Value ratio = div(small, large);
  ratio = select(isEqual(large, 0), 0.0, ratio);
  ratio = select(both(isEqual(a, infinity), isEqual(b, infinity)), 1.0, ratio);
  Value result = atanCore(ratio);
  constexpr double halfLow = pi / 2 - static_cast<float>(pi / 2);
  result =
      select(isSteep, sub(constant(x, pi / 2), sub(result, halfLow)), result);
  result = select(isNegative(x), sub(constant(x, pi), sub(result, 2 * halfLow)),
                  result);
  result = copySign(result, y);
  return select(either(isNaN(x), isNaN(y)), add(x, y), result);
}

} // namespace deplo
