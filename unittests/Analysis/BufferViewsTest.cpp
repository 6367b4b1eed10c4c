// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/BufferViews.h"

#include "gtest/gtest.h"

#include <random>

using namespace deplo;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

LinearCoordinate
makeCoordinate(int64_t constant,
               ArrayRef<std::pair<unsigned, int64_t>> terms = {}) {
  LinearCoordinate coordinate;
  coordinate.constant = constant;
  for (auto [variable, factor] : terms)
    coordinate.add(variable, factor);
  return coordinate;
}

/// Strides of the dimensions of `view` over a buffer with `strides`.
SmallVector<int64_t> getViewStrides(const BufferView &view,
                                    ArrayRef<int64_t> strides) {
  SmallVector<int64_t> result(view.shape.size());
  for (auto [merged, divided] : llvm::zip_equal(view.merged, view.divided)) {
    int64_t stride = strides[merged.back()];
    for (int64_t dim : llvm::reverse(divided)) {
      result[dim] = stride;
      stride *= view.shape[dim];
    }
  }
  return result;
}

/// The view reaches the same memory as the access, for all values of variables.
void expectSameMemory(ArrayRef<int64_t> strides,
                      ArrayRef<LinearCoordinate> coordinates,
                      const LoopNest &nest, const BufferView &view) {
  SmallVector<int64_t> viewStrides = getViewStrides(view, strides);
  SmallVector<int64_t> values(nest.extents.size(), 0);
  while (true) {
    int64_t expected = 0;
    for (auto [coordinate, stride] : llvm::zip_equal(coordinates, strides)) {
      int64_t at = coordinate.constant;
      for (auto [variable, factor] : coordinate.terms)
        at += values[variable] * factor;
      expected += at * stride;
    }
    int64_t address = 0;
    for (auto [box, stride, size] :
         llvm::zip_equal(view.coordinates, viewStrides, view.shape)) {
      int64_t loop = 0;
      if (box.factor != 0)
        for (unsigned variable : nest.loops[box.loop])
          loop = loop * nest.extents[variable] + values[variable];
      int64_t at = box.constant + box.factor * loop;
      ASSERT_GE(at, 0);
      ASSERT_LT(at, size);
      address += at * stride;
    }
    ASSERT_EQ(address, expected);
    size_t variable = 0;
    while (variable < values.size() &&
           ++values[variable] == nest.extents[variable])
      values[variable++] = 0;
    if (variable == values.size())
      return;
  }
}

TEST(BufferViews, BoxIsItself) {
  SmallVector<SmallVector<unsigned>> loops = {{0}, {1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  SmallVector<LinearCoordinate> access = {makeCoordinate(1, {{1u, 2}}),
                                          makeCoordinate(0, {{0u, 1}})};
  auto view = getBoxView({20, 4}, {4, 1}, access, nest);
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->merges());
  EXPECT_FALSE(view->divides());
  expectSameMemory({4, 1}, access, nest, *view);
}

TEST(BufferViews, OneLoopOverTwoDimensionsMergesThem) {
  SmallVector<SmallVector<unsigned>> loops = {{0, 1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  SmallVector<LinearCoordinate> access = {makeCoordinate(0, {{0u, 1}}),
                                          makeCoordinate(0, {{1u, 1}})};
  auto view = getBoxView({4, 8}, {8, 1}, access, nest);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->shape, (SmallVector<int64_t>{32}));
  expectSameMemory({8, 1}, access, nest, *view);
  // Rows with a gap between them are not one dimension.
  EXPECT_FALSE(getBoxView({4, 8}, {16, 1}, access, nest));
  // Elements with equal gaps are.
  EXPECT_TRUE(getBoxView({4, 8}, {16, 2}, access, nest));
}

TEST(BufferViews, UnitDimensionsGoAlong) {
  SmallVector<SmallVector<unsigned>> loops = {{0, 1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  SmallVector<LinearCoordinate> access = {
      makeCoordinate(0), makeCoordinate(0, {{0u, 1}}),
      makeCoordinate(0, {{1u, 1}}), makeCoordinate(0)};
  auto view = getBoxView({1, 4, 8, 1}, {32, 8, 1, 1}, access, nest);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->shape, (SmallVector<int64_t>{32}));
}

TEST(BufferViews, TwoLoopsOverOneDimensionDivideIt) {
  SmallVector<SmallVector<unsigned>> loops = {{0}, {1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  SmallVector<LinearCoordinate> access = {
      makeCoordinate(0, {{0u, 8}, {1u, 1}})};
  auto view = getBoxView({32}, {1}, access, nest);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->shape, (SmallVector<int64_t>{4, 8}));
  expectSameMemory({1}, access, nest, *view);
}

TEST(BufferViews, PartsOfDividedDimensions) {
  // Every second row from the first, columns 3 to 5, of 6 x 8 in one dimension.
  SmallVector<SmallVector<unsigned>> loops = {{0}, {1}};
  SmallVector<int64_t> extents = {3, 3};
  LoopNest nest{extents, loops};
  SmallVector<LinearCoordinate> access = {
      makeCoordinate(8 + 3, {{0u, 16}, {1u, 1}})};
  auto view = getBoxView({48}, {1}, access, nest);
  ASSERT_TRUE(view);
  expectSameMemory({1}, access, nest, *view);
}

TEST(BufferViews, SumsOfLoopsAreNoBox) {
  // x[i + j]: neighbours share elements.
  SmallVector<SmallVector<unsigned>> loops = {{0}, {1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  EXPECT_FALSE(
      getBoxView({32}, {1}, {makeCoordinate(0, {{0u, 1}, {1u, 1}})}, nest));
  EXPECT_FALSE(
      getBoxView({32}, {1}, {makeCoordinate(0, {{0u, 4}, {1u, 1}})}, nest));
}

TEST(BufferViews, PartOfALoopIsNoBox) {
  SmallVector<SmallVector<unsigned>> loops = {{0, 1}};
  SmallVector<int64_t> extents = {4, 8};
  LoopNest nest{extents, loops};
  EXPECT_FALSE(getBoxView({4}, {1}, {makeCoordinate(0, {{0u, 1}})}, nest));
}

TEST(BufferViews, RankZero) {
  auto view = getBoxView({}, {}, {}, LoopNest{});
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->shape.empty());
}

/// Whatever view is found reaches the right memory.
TEST(BufferViews, RandomAccesses) {
  std::mt19937 random(11);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    SmallVector<int64_t> extents = {pick(1, 3), pick(2, 3), pick(1, 4)};
    SmallVector<SmallVector<unsigned>> loops =
        pick(0, 1) ? SmallVector<SmallVector<unsigned>>{{0}, {1}, {2}}
                   : SmallVector<SmallVector<unsigned>>{{0, 1}, {2}};
    LoopNest nest{extents, loops};
    SmallVector<LinearCoordinate> access;
    SmallVector<int64_t> shape;
    for (int dim = pick(1, 3); dim > 0; --dim) {
      LinearCoordinate coordinate = makeCoordinate(pick(0, 2));
      int64_t max = coordinate.constant;
      for (unsigned variable = 0; variable < 3; ++variable)
        if (pick(0, 2) == 0) {
          int64_t factor = pick(1, 2) * (pick(0, 1) ? 1 : extents[2]);
          coordinate.add(variable, factor);
          max += factor * (extents[variable] - 1);
        }
      access.push_back(coordinate);
      shape.push_back(max + 1 + pick(0, 3));
    }
    SmallVector<int64_t> strides(shape.size(), 1);
    for (size_t dim = shape.size(); dim-- > 1;)
      strides[dim - 1] = strides[dim] * shape[dim];
    if (auto view = getBoxView(shape, strides, access, nest)) {
      ++found;
      expectSameMemory(strides, access, nest, *view);
    }
  }
  EXPECT_GT(found, 200);
}

} // namespace
