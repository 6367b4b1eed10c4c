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

/// Bits below the largest exponent that alignment keeps, by the factors' type.
int alignmentBits(Type type);

/// results[i] = accumulators[i] + sum over k of a[k] * b[i][k], as f32.
void dotProducts(float *results, const float *accumulators, const FactorRow &a,
                 const FactorRow *b, unsigned count, unsigned depth,
                 int keptBits);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_TENSORCORE_H
