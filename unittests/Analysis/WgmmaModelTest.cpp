// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaModel.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

ContractionFacts getFacts(int64_t rows, int64_t columns, int64_t depth) {
  ContractionFacts facts{/*batches=*/1, rows, columns, depth,
                         /*elementBytes=*/2};
  facts.isLhsAlongDepth = facts.isRhsAlongDepth = true;
  return facts;
}

MmaChoice choose(int64_t rows, int64_t columns, int64_t depth,
                 const MmaPins &pins = {}) {
  std::string error;
  std::optional<MmaChoice> choice = chooseWgmma(
      getFacts(rows, columns, depth), *findTarget("sm_90a"), pins, error);
  EXPECT_TRUE(choice) << error;
  return choice.value_or(MmaChoice{});
}

/// Large products have the tile that reads shared memory least.
TEST(WgmmaModel, LargeProducts) {
  for (int64_t size : {2048, 4096, 8192}) {
    MmaChoice choice = choose(size, size, size);
    // Or a few columns more, where that makes whole waves.
    EXPECT_GE(choice.blockRows * choice.blockColumns, 128 * 256) << size;
    EXPECT_EQ(choice.cluster, 1) << size;
    EXPECT_STREQ(choice.limit, "instructions") << size;
  }
}

/// Few rows are columns of the instruction, in blocks of which several share a
/// multiprocessor.
TEST(WgmmaModel, FewRows) {
  for (int64_t rows : {5, 16}) {
    MmaChoice choice = choose(rows, 18944, 3584);
    EXPECT_EQ(choice.blockRows, std::max<int64_t>(rows, 16) & ~15) << rows;
    EXPECT_EQ(choice.warpRows, choice.blockRows) << rows;
    EXPECT_GE(choice.blocksPerMultiprocessor, 2) << rows;
  }
}

/// A ring is refilled once in a latency, so short rings limit what has few
/// blocks.
TEST(WgmmaModel, RingsHideLatency) {
  MmaPins pins;
  pins.blockRows = 64;
  pins.blockColumns = 128;
  pins.cluster = 1;
  pins.stages = 3;
  MmaChoice few = choose(128, 5632, 2048, pins);
  EXPECT_STREQ(few.limit, "latency of copies");
  pins.stages = 8;
  EXPECT_LT(choose(128, 5632, 2048, pins).nanoseconds, 0.7 * few.nanoseconds);
}

/// Clusters share chunks that are whole for each block, and columns that a
/// thread has all of; then they take room for the sums.
TEST(WgmmaModel, Clusters) {
  MmaPins pins;
  pins.blockRows = 64;
  pins.blockColumns = 128;
  pins.warpRows = 16;
  pins.warpColumns = 128;
  pins.stages = 4;
  pins.cluster = 1;
  MmaChoice alone = choose(128, 3584, 3584, pins);
  pins.cluster = 2;
  MmaChoice shared = choose(128, 3584, 3584, pins);
  EXPECT_EQ(shared.blocks, 2 * alone.blocks);
  EXPECT_EQ(shared.sharedBytes - alone.sharedBytes, 64 * 128 * 4);
  std::string error;
  // 57 chunks are not twice as many for anybody.
  EXPECT_FALSE(chooseWgmma(getFacts(128, 3584, 57 * 64), *findTarget("sm_90a"),
                           pins, error));
  // Two warpgroups have half of the columns each.
  pins.warpColumns = 64;
  EXPECT_FALSE(chooseWgmma(getFacts(128, 3584, 3584), *findTarget("sm_90a"),
                           pins, error));
}

/// Tiles of columns that don't lie along the sum are instructions of their own;
/// narrow ones wait for their sums.
TEST(WgmmaModel, NarrowTilesWait) {
  ContractionFacts facts = getFacts(512, 3584, 3584);
  auto estimate = [&](int64_t columns) {
    MmaPins pins;
    pins.blockRows = 64;
    pins.blockColumns = columns;
    pins.warps = 4;
    std::string error;
    auto choice = chooseWgmma(facts, *findTarget("sm_90a"), pins, error);
    EXPECT_TRUE(choice) << error;
    return choice ? choice->nanoseconds : 0;
  };
  double one = estimate(224);
  facts.isRhsAlongDepth = false;
  EXPECT_GT(estimate(224), 1.1 * one);
  EXPECT_LT(estimate(256), estimate(224));
}

/// Where operands exceed L2, rings are no deeper than copies need.
TEST(WgmmaModel, RingsKeepBlocksTogether) {
  MmaPins pins;
  pins.blockRows = 128;
  pins.blockColumns = 112;
  EXPECT_EQ(choose(512, 3584, 3584, pins).stages, 7);
  EXPECT_EQ(choose(512, 3584, 18944, pins).stages, 6);
}

} // namespace
