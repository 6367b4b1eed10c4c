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

/// The most factors that one instruction multiplies for each result.
constexpr unsigned maxDepth = 64;

/// A row of A or a column of B, taken apart: values, and the exponents as their
/// format has them. Those of zeros are so small that they never count.
struct FactorRow {
  double value[maxDepth];
  int32_t exponent[maxDepth];

  /// Number `k`, of `type` f16, bf16, tf32, e4m3 or e5m2.
  void set(unsigned k, Type type, uint32_t bits, bool isNegated = false);
};

/// Bits below the largest exponent that are kept.
struct Precision {
  /// Of what is added up.
  int aligned;
  /// Of the sum.
  int result;
  /// The sum will be rounded once more, to f16: its last bit says whether
  /// anything was cut off.
  bool isSticky = false;
};

/// Of wgmma and mma.sync on factors of `type`, to a result of `d`.
Precision precisionOf(Type type, Type d = Type::F32);

/// The sum as f16: to the nearest, and never -0.
uint16_t sumAsHalf(float sum);

/// results[i] = accumulators[i] + sum over k of a[k] * b[i][k], as f32.
void dotProducts(float *results, const float *accumulators, const FactorRow &a,
                 const FactorRow *b, unsigned count, unsigned depth,
                 Precision precision);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_TENSORCORE_H
