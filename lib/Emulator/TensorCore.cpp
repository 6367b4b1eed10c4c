// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorCore.h"
#include "Float.h"

#include <algorithm>

using namespace deplo::emulator;

/// Of zero: no product with it has the largest exponent.
static constexpr int32_t noExponent = -100000;

static Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
    return f16Format;
  case Type::BF16:
    return bf16Format;
  case Type::E4M3:
    return e4m3Format;
  case Type::E5M2:
    return e5m2Format;
  default:
    return f32Format;
  }
}

void FactorRow::set(unsigned k, Type type, uint32_t bits, bool isNegated) {
  if (type == Type::TF32) // The lower bits are not looked at.
    bits &= 0xffffe000;
  Format format = formatOf(type);
  double x = type == Type::TF32   ? double(asFloat(bits))
             : type == Type::BF16 ? double(bfloatToFloat(uint16_t(bits)))
             : type == Type::F16  ? double(halfToFloat(uint16_t(bits)))
                                  : decode(format, bits);
  int biased = int((bits & (format.sign() - 1)) >> format.fractionBits);
  value[k] = isNegated ? -x : x;
  exponent[k] = x == 0 ? noExponent : std::max(biased, 1) - format.bias();
}

// Measured on an H200: two bits below the last one of f32. wgmma on numbers of
// eight bits keeps 13 fraction bits, of an f32 result too.
Precision deplo::emulator::precisionOf(Type type, Type d) {
  constexpr int bitsOfF32 = int(f32Format.fractionBits);
  constexpr int guardBits = 2, bitsOfEights = 13;
  const bool isHalf = d == Type::F16;
  if (type != Type::E4M3 && type != Type::E5M2)
    return {bitsOfF32 + guardBits, bitsOfF32, isHalf};
  return {bitsOfEights, isHalf ? bitsOfF32 : bitsOfEights, isHalf};
}

uint16_t deplo::emulator::sumAsHalf(float sum) {
  uint16_t half = floatToHalf(sum);
  return half == f16Format.sign() ? 0 : half;
}

/// 2^exponent, within the range of double.
static double powerOfTwo(int exponent) {
  return asDouble(uint64_t(exponent + 1023) << 52);
}

/// One of the numbers is infinite or NaN.
static float specialDotProduct(float accumulator, const FactorRow &a,
                               const FactorRow &b, unsigned depth) {
  double sum = accumulator;
  for (unsigned k = 0; k < depth; ++k)
    sum += a.value[k] * b.value[k];
  return sum != sum ? asFloat(canonicalNan) : float(sum);
}

/// The depth is a constant so that the loops become vector code.
template <unsigned depth>
static inline __attribute__((always_inline)) float
dotProduct(float accumulator, const FactorRow &a, const FactorRow &b,
           Precision precision) {
  double products[depth];
  int32_t largest = noExponent;
  for (unsigned k = 0; k < depth; ++k)
    largest = std::max(largest, a.exponent[k] + b.exponent[k]);
  uint32_t magnitude = asBits(accumulator) & 0x7fffffff;
  if (magnitude != 0)
    largest = std::max(largest, std::max(int(magnitude >> 23), 1) - 127);
  if (largest == noExponent)
    return accumulator + 0.0f;
  const double scale = powerOfTwo(precision.aligned - largest);
  double check = 0;
  for (unsigned k = 0; k < depth; ++k) {
    products[k] = a.value[k] * b.value[k];
    check += products[k] * 0.0;
  }
  if (check != 0 || magnitude >= 0x7f800000)
    return specialDotProduct(accumulator, a, b, depth);
  // Each is below 2^28 when scaled: 32 bits cut it off.
  double sum = double(int32_t(double(accumulator) * scale));
  for (unsigned k = 0; k < depth; ++k)
    sum += double(int32_t(products[k] * scale));
  double value = sum * powerOfTwo(largest - precision.aligned);
  if (std::abs(value) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), float(value));
  // Toward zero: what is left is below the last bit.
  float rounded = float(value);
  if (std::abs(double(rounded)) > std::abs(value))
    rounded = asFloat(asBits(rounded) - 1);
  int dropped = int(f32Format.fractionBits) - precision.result;
  uint32_t bits = asBits(rounded) >> dropped << dropped;
  rounded = asFloat(bits | uint32_t(precision.isSticky && rounded != value));
  return rounded == 0 ? 0.0f : rounded;
}

template <unsigned depth>
static inline __attribute__((always_inline)) void
dotRow(float *results, const float *accumulators, const FactorRow &a,
       const FactorRow *b, unsigned count, Precision precision) {
  for (unsigned i = 0; i < count; ++i)
    results[i] = dotProduct<depth>(accumulators[i], a, b[i], precision);
}

__attribute__((target_clones("avx2", "default"))) void
deplo::emulator::dotProducts(float *results, const float *accumulators,
                             const FactorRow &a, const FactorRow *b,
                             unsigned count, unsigned depth,
                             Precision precision) {
  switch (depth) {
  case 4:
    return dotRow<4>(results, accumulators, a, b, count, precision);
  case 8:
    return dotRow<8>(results, accumulators, a, b, count, precision);
  case 16:
    return dotRow<16>(results, accumulators, a, b, count, precision);
  default:
    return dotRow<32>(results, accumulators, a, b, count, precision);
  }
}
