// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point formats as bits, and exact rounding between them. Everything
// narrower than double is computed in double: products of two such numbers are
// exact there, and sums are rounded to odd, so that the one rounding to the
// result's format is correct in every mode.

#ifndef DEPLO_LIB_EMULATOR_FLOAT_H
#define DEPLO_LIB_EMULATOR_FLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace deplo::emulator {

enum class Rounding : uint8_t {
  NearestEven,
  Zero,
  Down,
  Up,
  /// Ties go away from zero.
  NearestAway
};

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

inline float asFloat(uint32_t bits) { return bitCast<float>(bits); }
inline uint32_t asBits(float value) { return bitCast<uint32_t>(value); }
inline double asDouble(uint64_t bits) { return bitCast<double>(bits); }
inline uint64_t asBits(double value) { return bitCast<uint64_t>(value); }

/// What an f32 operation gives for NaN.
constexpr uint32_t canonicalNan = 0x7fffffff;

constexpr uint64_t signOfDouble = uint64_t(1) << 63;

/// A NaN of f64 keeps its sign and payload and becomes quiet.
inline double quieted(double nan) {
  return asDouble(asBits(nan) | uint64_t(1) << 51);
}

/// Flushes a subnormal number to zero of its sign.
inline float flush(float x) {
  uint32_t bits = asBits(x);
  return (bits & 0x7f800000) == 0 ? asFloat(bits & 0x80000000) : x;
}

/// A binary format below f64.
struct Format {
  unsigned exponentBits, fractionBits;
  /// The largest exponent is for infinities and NaN; e4m3 has no infinity.
  bool hasInfinity = true;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr uint32_t nan() const {
    return (1u << (exponentBits + fractionBits)) - 1;
  }
  constexpr uint32_t infinity() const {
    return ((1u << exponentBits) - 1) << fractionBits;
  }
  constexpr uint32_t largest() const {
    return hasInfinity ? infinity() - 1 : nan() - 1;
  }
  constexpr uint32_t sign() const {
    return 1u << (exponentBits + fractionBits);
  }
};

constexpr Format f16Format = {5, 10}, bf16Format = {8, 7}, f32Format = {8, 23},
                 tf32Format = {8, 10}, e5m2Format = {5, 2},
                 e4m3Format = {4, 3, false};

/// The value of `bits`, exactly.
inline double decode(Format format, uint32_t bits) {
  bool isNegative = bits & format.sign();
  uint32_t magnitude = bits & (format.sign() - 1);
  uint32_t fraction = magnitude & ((1u << format.fractionBits) - 1);
  int exponent = int(magnitude >> format.fractionBits);
  double value;
  if (format.hasInfinity && exponent == (1 << format.exponentBits) - 1)
    value = fraction ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (!format.hasInfinity && magnitude == format.nan())
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(double(fraction),
                       1 - format.bias() - int(format.fractionBits));
  else
    value = std::ldexp(double(fraction | 1u << format.fractionBits),
                       exponent - format.bias() - int(format.fractionBits));
  return isNegative ? -value : value;
}

/// `value` rounded to `format`. `saturates` gives the largest finite number in
/// place of infinity, also for an infinite value.
inline uint32_t encode(Format format, double value, Rounding rounding,
                       bool saturates = false) {
  uint64_t bits = asBits(value);
  bool isNegative = bits >> 63;
  uint32_t sign = isNegative ? format.sign() : 0;
  if (value != value)
    return format.nan();
  auto overflow = [&](bool isInfinite) {
    bool towardZero = rounding == Rounding::Zero ||
                      (rounding == Rounding::Down && !isNegative) ||
                      (rounding == Rounding::Up && isNegative);
    if (saturates || (towardZero && !isInfinite))
      return sign | format.largest();
    return format.hasInfinity ? sign | format.infinity() : sign | format.nan();
  };
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  int exponent = int(magnitude >> 52);
  if (exponent == 2047)
    return overflow(true);
  if (magnitude == 0)
    return sign;
  uint64_t significand = magnitude & ((uint64_t(1) << 52) - 1);
  if (exponent != 0)
    significand |= uint64_t(1) << 52;
  else
    exponent = 1;
  // value = significand * 2^(exponent - 1075)
  int unbiased = exponent - 1023;
  int smallest = 1 - format.bias();
  int drop = 52 - int(format.fractionBits);
  if (unbiased < smallest)
    drop += smallest - unbiased;
  drop = drop > 62 ? 62 : drop;
  uint64_t kept = significand >> drop;
  uint64_t rest = significand & ((uint64_t(1) << drop) - 1);
  uint64_t half = uint64_t(1) << (drop - 1);
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::NearestAway:
    up = rest >= half;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    up = isNegative && rest != 0;
    break;
  case Rounding::Up:
    up = !isNegative && rest != 0;
    break;
  }
  kept += up;
  uint64_t result;
  if (unbiased < smallest)
    result = kept; // The carry into the exponent makes it normal.
  else
    result =
        kept + (uint64_t(unbiased + format.bias() - 1) << format.fractionBits);
  if (result > format.largest())
    return overflow(false);
  return sign | uint32_t(result);
}

/// a + b in double, rounded to odd: the last bit says whether anything was
/// lost, which keeps a second rounding to fewer bits correct.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double bb = sum - a;
  double error = (a - (sum - bb)) + (b - bb);
  uint64_t bits = asBits(sum);
  if (error == 0 || (bits & 1))
    return sum;
  // Toward the exact value.
  bool isLarger = (error > 0) == (sum > 0);
  return asDouble(isLarger ? bits + 1 : bits - 1);
}

/// The sum of an exact product and a number, of formats up to f32.
inline double fmaToOdd(double a, double b, double c) {
  return addToOdd(a * b, c);
}

/// The smaller one, or the number where the other is NaN; -0 is below +0.
template <typename T> inline T lesserOf(T a, T b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <typename T> inline T greaterOf(T a, T b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// a + b in f64, as atomics on global memory do it: a NaN stays as it is.
inline double addInMemory(double a, double b) {
  return b != b ? b : a != a ? a : a + b;
}

/// What an f64 operation makes of its exact `value` and NaN operands: it hands
/// on that of the second, if it is one, else of the third, else of the first.
inline double handOnNan(double value, double a) {
  return a != a ? quieted(a) : value;
}
inline double handOnNan(double value, double a, double b) {
  return b != b ? quieted(b) : handOnNan(value, a);
}
inline double handOnNan(double value, double a, double b, double c) {
  return b != b ? quieted(b) : c != c ? quieted(c) : handOnNan(value, a);
}
/// One of f32 makes its own NaN.
template <typename... Operands>
inline float handOnNan(float value, Operands...) {
  return value;
}

/// A NaN of f64 in a narrower format: what of its payload fits, quiet.
inline uint32_t narrowNan(Format format, double nan) {
  uint64_t bits = asBits(quieted(nan));
  uint32_t payload = uint32_t((bits << 12) >> (64 - format.fractionBits));
  return (bits >> 63 ? format.sign() : 0) | format.infinity() | payload;
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31)
    return asFloat(fraction ? canonicalNan : sign | 0x7f800000);
  if (exponent == 0)
    return asFloat(asBits(float(fraction) * 0x1p-24f) | sign);
  return asFloat(sign | (exponent + 112) << 23 | fraction << 13);
}

inline float bfloatToFloat(uint16_t bits) {
  return asFloat(uint32_t(bits) << 16);
}

/// To the nearest, ties to even.
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = asBits(value);
  if (value != value)
    return 0x7fff;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline uint16_t floatToHalf(float value) {
  uint32_t bits = asBits(value);
  uint32_t magnitude = bits & 0x7fffffff;
  uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  if (magnitude >= 0x38800000 && magnitude < 0x477ff000) // Normal results.
    return uint16_t(
        sign |
        ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13));
  return uint16_t(encode(f16Format, double(value), Rounding::NearestEven));
}

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_FLOAT_H
