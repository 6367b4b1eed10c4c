// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was measured on an H200: alignment keeps two bits below the last one of
// f32, and everything is cut off toward zero.

#include "TensorCore.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <vector>

using namespace deplo::emulator;

/// accumulator + sum of `terms`, each as a product with one.
static float sumOf(float accumulator, std::vector<float> terms) {
  FactorRow a, b;
  for (unsigned k = 0; k < 16; ++k) {
    float term = k < terms.size() ? terms[k] : 0.0f;
    uint32_t bits;
    std::memcpy(&bits, &term, 4);
    a.set(k, Type::BF16, bits >> 16);
    b.set(k, Type::BF16, 0x3f80);
  }
  float result;
  dotProducts(&result, &accumulator, a, &b, 1, 16, precisionOf(Type::BF16));
  return result;
}

TEST(TensorCore, CutsOff) {
  EXPECT_EQ(sumOf(1, {std::ldexp(1.5f, -24)}), 1.0f);
  EXPECT_EQ(sumOf(-1, {std::ldexp(1.0f, -26)}), -1.0f);
  float quarter = std::ldexp(1.0f, -25);
  EXPECT_EQ(sumOf(1, {quarter, quarter, quarter, quarter}),
            1.0f + std::ldexp(1.0f, -23));
  float eighth = std::ldexp(1.0f, -26);
  EXPECT_EQ(sumOf(1, std::vector<float>(8, eighth)), 1.0f);
}

TEST(TensorCore, ExactWhereNothingIsLost) {
  EXPECT_EQ(sumOf(0.5f, {1, 2, 4, -8, 0.25f}), -0.25f);
  EXPECT_EQ(sumOf(0, {}), 0.0f);
  EXPECT_EQ(sumOf(0, {1, -1}), 0.0f);
  float small = std::ldexp(1.0f, -120);
  EXPECT_EQ(sumOf(0, {small, small}), 2 * small);
}

TEST(TensorCore, SpecialNumbers) {
  EXPECT_EQ(sumOf(1, {INFINITY}), INFINITY);
  EXPECT_TRUE(std::isnan(sumOf(-INFINITY, {INFINITY})));
  EXPECT_TRUE(std::isnan(sumOf(0, {NAN})));
  EXPECT_EQ(sumOf(std::ldexp(1.75f, 127), {std::ldexp(1.0f, 127)}), INFINITY);
}
