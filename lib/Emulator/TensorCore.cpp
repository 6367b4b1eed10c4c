// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorCore.h"
#include "Float.h"

#include <algorithm>

using namespace deplo::emulator;

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

Factor deplo::emulator::makeFactor(Type type, uint32_t bits) {
  if (type == Type::TF32) // The lower bits are not looked at.
    bits &= 0xffffe000;
  Format format = formatOf(type);
  Factor factor;
  factor.value = type == Type::TF32   ? double(asFloat(bits))
                 : type == Type::BF16 ? bfloatToFloat(uint16_t(bits))
                 : type == Type::F16  ? halfToFloat(uint16_t(bits))
                                      : decode(format, bits);
  int biased = int((bits & (format.sign() - 1)) >> format.fractionBits);
  factor.exponent = std::max(biased, 1) - format.bias();
  return factor;
}

/// 2^exponent, within the range of double.
static double powerOfTwo(int exponent) {
  return asDouble(uint64_t(exponent + 1023) << 52);
}

float deplo::emulator::dotProduct(float accumulator, const Factor *a,
                                  const Factor *b, unsigned count,
                                  int keptBits) {
  constexpr int none = -100000;
  double products[64];
  int largest = none;
  bool isFinite = true;
  for (unsigned i = 0; i < count; ++i) {
    products[i] = a[i].value * b[i].value;
    isFinite &= std::isfinite(products[i]);
    if (products[i] != 0)
      largest = std::max(largest, a[i].exponent + b[i].exponent);
  }
  if (!isFinite || !std::isfinite(accumulator)) {
    double sum = accumulator;
    for (unsigned i = 0; i < count; ++i)
      sum += products[i];
    return sum != sum ? asFloat(canonicalNan) : float(sum);
  }
  uint32_t magnitude = asBits(accumulator) & 0x7fffffff;
  if (magnitude != 0)
    largest = std::max(largest, std::max(int(magnitude >> 23), 1) - 127);
  if (largest == none)
    return 0.0f + accumulator;
  double scale = powerOfTwo(keptBits - largest);
  auto sum = int64_t(double(accumulator) * scale);
  for (unsigned i = 0; i < count; ++i)
    sum += int64_t(products[i] * scale);
  double value = double(sum) * powerOfTwo(largest - keptBits);
  if (value == 0)
    return 0.0f;
  if (std::abs(value) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), float(value));
  return asFloat(encode(f32Format, value, Rounding::Zero));
}
