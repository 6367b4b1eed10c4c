// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/AffineRanges.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <random>

using namespace deplo;
using mlir::AffineExpr;
using mlir::AffineMap;

namespace {

class AffineRangesTest : public testing::Test {
protected:
  AffineExpr dim(unsigned position) {
    return mlir::getAffineDimExpr(position, &context);
  }
  AffineExpr constant(int64_t value) {
    return mlir::getAffineConstantExpr(value, &context);
  }

  /// Calls `visit` with every point of a box.
  template <typename Visitor>
  void forEachPoint(llvm::ArrayRef<int64_t> extents, Visitor visit) {
    llvm::SmallVector<int64_t> point(extents.size(), 0);
    while (true) {
      visit(llvm::ArrayRef<int64_t>(point));
      size_t dim = 0;
      while (dim < extents.size() && ++point[dim] == extents[dim])
        point[dim++] = 0;
      if (dim == extents.size())
        return;
    }
  }

  int64_t evaluate(AffineExpr expr, llvm::ArrayRef<int64_t> point) {
    return AffineMap::get(point.size(), 0, expr).compose(point).front();
  }

  mlir::MLIRContext context;
};

TEST_F(AffineRangesTest, RangeOfSumIsExact) {
  auto range = getRange(dim(0) * 3 - dim(1) + 2, {4, 5});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, -2);
  EXPECT_EQ(range->max, 11);
}

TEST_F(AffineRangesTest, NoRangeWhenEmptyOrOverflowing) {
  EXPECT_FALSE(getRange(dim(0), {0}));
  EXPECT_FALSE(getRange(dim(1), {4}));
  EXPECT_FALSE(getRange(dim(0) * (int64_t(1) << 62), {16}));
  EXPECT_FALSE(getRange(dim(0).floorDiv(dim(1)), {4, 4}));
}

TEST_F(AffineRangesTest, DivisionsOfWholeRowsGoAway) {
  AffineExpr position = dim(0) * 8 + dim(1);
  EXPECT_EQ(simplifyInRange(position.floorDiv(8), {4, 8}), dim(0));
  EXPECT_EQ(simplifyInRange(position % 8, {4, 8}), dim(1));
  EXPECT_EQ(simplifyInRange(position.floorDiv(32), {16, 8}),
            dim(0).floorDiv(4));
  EXPECT_EQ(simplifyInRange(position % 32, {16, 8}), (dim(0) % 4) * 8 + dim(1));
}

TEST_F(AffineRangesTest, DivisionsThatMatterStay) {
  // The second dimension reaches over a row.
  AffineExpr position = dim(0) * 8 + dim(1);
  EXPECT_NE(simplifyInRange(position % 8, {4, 9}), dim(1));
}

TEST_F(AffineRangesTest, DigitsComeTogether) {
  AffineExpr digits =
      dim(0).floorDiv(12) * 12 + (dim(0).floorDiv(4) % 3) * 4 + dim(0) % 4;
  EXPECT_EQ(simplifyInRange(digits, {48}), dim(0));
}

TEST_F(AffineRangesTest, UnitDimensionsAreZero) {
  AffineMap map = AffineMap::get(2, 0, {dim(0), dim(1)}, &context);
  AffineMap expected = AffineMap::get(2, 0, {constant(0), dim(1)}, &context);
  EXPECT_EQ(simplifyInRange(map, {1, 8}), expected);
}

/// Simplification keeps values and ranges hold, on random expressions.
TEST_F(AffineRangesTest, SimplificationKeepsValues) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    llvm::SmallVector<int64_t> extents = {pick(1, 6), pick(1, 6), pick(1, 6)};
    AffineExpr expr = dim(pick(0, 2));
    for (int step = 0; step < 5; ++step) {
      switch (pick(0, 3)) {
      case 0:
        expr = expr + dim(pick(0, 2)) * pick(-3, 6);
        break;
      case 1:
        expr = expr * pick(1, 6) + pick(0, 5);
        break;
      case 2:
        expr = expr.floorDiv(pick(1, 12));
        break;
      case 3:
        expr = expr % pick(1, 12);
        break;
      }
    }
    AffineExpr simple = simplifyInRange(expr, extents);
    auto range = getRange(expr, extents);
    ASSERT_TRUE(range);
    forEachPoint(extents, [&](llvm::ArrayRef<int64_t> point) {
      int64_t value = evaluate(expr, point);
      ASSERT_EQ(evaluate(simple, point), value);
      ASSERT_GE(value, range->min);
      ASSERT_LE(value, range->max);
    });
  }
}

TEST_F(AffineRangesTest, ReshapesAreFlat) {
  // Every reshape between shapes of 24 elements, nesting or not.
  llvm::SmallVector<llvm::SmallVector<int64_t>> shapes = {
      {24}, {4, 6}, {6, 4}, {2, 3, 4}, {3, 1, 8}, {2, 2, 2, 3}};
  for (const auto &from : shapes)
    for (const auto &to : shapes) {
      AffineExpr position =
          linearize(AffineMap::getMultiDimIdentityMap(to.size(), &context),
                    getRowMajorStrides(to));
      AffineMap map =
          simplifyInRange(delinearize(position, from, to.size()), to);
      auto form = getFlatForm(map, from, to);
      ASSERT_TRUE(form);
      EXPECT_EQ(form->constant, 0);
      for (auto [extent, coefficient, stride] :
           llvm::zip(to, form->coefficients, getRowMajorStrides(to)))
        if (extent != 1)
          EXPECT_EQ(coefficient, stride);
    }
}

TEST_F(AffineRangesTest, OtherMapsAreNotFlat) {
  AffineMap wraps = AffineMap::get(1, 0, (dim(0) * 5) % 7, &context);
  EXPECT_FALSE(getFlatForm(wraps, {7}, {7}));
}

TEST_F(AffineRangesTest, LinearForms) {
  auto form = getLinearForm((dim(1) * 2 + dim(0)) * 3 + 4, 2);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->constant, 4);
  EXPECT_EQ(form->coefficients, (llvm::SmallVector<int64_t>{3, 6}));
  EXPECT_FALSE(getLinearForm(dim(0).floorDiv(2), 1));
}

TEST_F(AffineRangesTest, DividingDimensions) {
  EXPECT_TRUE(dividesDimsOnly(dim(0).floorDiv(8) % 4 + dim(1) * 2));
  EXPECT_FALSE(dividesDimsOnly((dim(0) + dim(1)).floorDiv(8)));
}

} // namespace
