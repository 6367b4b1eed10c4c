// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dot products as tensor cores do them: the products are exact; they and the
// accumulator are aligned to the largest exponent among them and cut off, not
// rounded, a few bits below; the sum is cut off to the result's precision.

#ifndef DEPLO_LIB_EMULATOR_TENSORCORE_H
#define DEPLO_LIB_EMULATOR_TENSORCORE_H

#include "Program.h"

namespace deplo::emulator {

/// A factor, taken apart: value, and exponent as its format has it.
struct Factor {
  double value = 0;
  int32_t exponent = 0;
};

/// The number of `type` (f16, bf16, tf32, e4m3, e5m2) with these bits.
Factor makeFactor(Type type, uint32_t bits);

/// Bits below the largest exponent that alignment keeps.
constexpr int alignmentBits = 25;
/// The same for factors of eight bits.
constexpr int alignmentBits8 = 13;

/// accumulator + sum of a[i] * b[i * stride], as f32.
float dotProduct(float accumulator, const Factor *a, const Factor *b,
                 unsigned count, int keptBits);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_TENSORCORE_H
