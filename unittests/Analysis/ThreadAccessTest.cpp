// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ThreadAccess.h"

#include "LayoutTesting.h"

using namespace deplo;
using namespace deplo::testing;

namespace {

constexpr int32_t lanes = 32;

/// The threads that touch each element of an array.
using Touched = std::map<int64_t, std::set<int32_t>>;

/// From the definition: threads take vectors in turn.
Touched touchInTurn(int64_t elements, int64_t width, int32_t threads) {
  Touched touched;
  for (int64_t i = 0; i < elements; ++i)
    touched[i].insert(int32_t(i / width % threads));
  return touched;
}

/// From the definition: a tile at every place in a row of `elements`.
Touched touchTiles(const LinearLayout &layout, int64_t elements,
                   int32_t threads) {
  Touched touched;
  for (int64_t corner = 0; corner < elements; corner += layout.getDimSize(0))
    for (int32_t thread = 0; thread < threads; ++thread)
      for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg)
        touched[corner +
                layout.apply(
                    reg, thread % lanes % layout.getSize(InputDim::Lane),
                    thread / lanes % layout.getSize(InputDim::Warp))[0]]
            .insert(thread);
  return touched;
}

bool isBySameThread(const Touched &a, const Touched &b) {
  for (const auto &[element, threads] : a) {
    auto others = b.find(element);
    if (others != b.end() && (threads.size() != 1 || others->second != threads))
      return false;
  }
  return true;
}

LinearLayout makeRow(int64_t size, int64_t values, int64_t warps) {
  return valueOf(
      LinearLayout::blocked({size}, {values}, {lanes}, {warps}, {0}));
}

/// Every width of copies against every way to hold a tile of the row.
TEST(ThreadAccess, CopiesAndTilesOfRows) {
  unsigned same = 0, different = 0;
  for (int64_t elements : {128, 512, 1536, 2048})
    for (int64_t tile : {32, 64, 256, 512})
      for (int64_t values : {1, 2, 4})
        for (int64_t width : {1, 2, 4})
          for (int64_t warps : {1, 2, 4}) {
            if (elements % tile != 0 || values > tile)
              continue;
            int32_t threads = int32_t(warps) * lanes;
            LinearLayout layout = makeRow(tile, values, warps);
            auto copy = ThreadAccess::inTurn({elements}, width, threads);
            auto read =
                ThreadAccess::ofTile(layout, {elements}, {tile}, threads);
            ASSERT_TRUE(copy && read);
            bool expected =
                isBySameThread(touchInTurn(elements, width, threads),
                               touchTiles(layout, elements, threads));
            EXPECT_EQ(copy->isBySameThread(*read), expected)
                << elements << " " << toString(layout) << " " << width;
            EXPECT_EQ(read->isBySameThread(*copy), expected);
            (expected ? same : different) += 1;
          }
  EXPECT_GT(same, 20u);
  EXPECT_GT(different, 20u);
}

/// A tile whose rows lie beside one another in each thread, in an array with
/// longer rows.
TEST(ThreadAccess, ColumnsOfMatrices) {
  LinearLayout byRows =
      valueOf(LinearLayout::blocked({4, 128}, {1, 4}, {1, 32}, {1, 1}, {1, 0}));
  LinearLayout byColumns =
      valueOf(LinearLayout::blocked({4, 128}, {4, 1}, {1, 32}, {1, 1}, {1, 0}));
  auto access = [&](const LinearLayout &layout) {
    return *ThreadAccess::ofTile(layout, {8, 128}, {4, 0}, lanes);
  };
  auto copy = ThreadAccess::inTurn({8, 128}, 4, lanes);
  EXPECT_TRUE(copy->isBySameThread(access(byRows)));
  EXPECT_FALSE(copy->isBySameThread(access(byColumns)));
  EXPECT_TRUE(access(byRows).isBySameThread(access(byRows)));
  EXPECT_FALSE(access(byRows).isBySameThread(access(byColumns)));
}

TEST(ThreadAccess, ReplicasAreSeveralThreads) {
  LinearLayout oneWarp = makeRow(128, 4, 1);
  auto access = [&](int64_t threads) {
    return *ThreadAccess::ofTile(oneWarp, {128}, {0}, threads);
  };
  EXPECT_TRUE(access(lanes).isBySameThread(access(lanes)));
  EXPECT_FALSE(access(2 * lanes).isBySameThread(access(2 * lanes)));
  // A copy by the first warp is read by the second one.
  auto copy = ThreadAccess::inTurn({128}, 4, 2 * lanes);
  EXPECT_FALSE(copy->isBySameThread(access(2 * lanes)));
  EXPECT_TRUE(copy->isBySameThread(*copy));
}

TEST(ThreadAccess, WhatIsNotLinearIsUnknown) {
  LinearLayout layout = makeRow(128, 4, 1);
  EXPECT_FALSE(ThreadAccess::ofTile(layout, {512}, {64}, lanes));
  EXPECT_FALSE(ThreadAccess::ofTile(layout, {512}, {1}, lanes));
  EXPECT_FALSE(ThreadAccess::ofTile(layout, {512}, {128}, 3 * lanes));
  EXPECT_FALSE(ThreadAccess::inTurn({2, 3, 4}, 1, lanes));
  EXPECT_FALSE(ThreadAccess::inTurn({512}, 1, 3 * lanes));
  // Sizes before the first that counts leave numbers alone, and it does too.
  EXPECT_TRUE(ThreadAccess::inTurn({1, 3, 4}, 1, lanes));
}

} // namespace
