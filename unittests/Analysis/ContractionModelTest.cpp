// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ContractionModel.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

ContractionChoice choose(int64_t rows, int64_t columns, int64_t depth,
                         const ContractionPins &pins = {},
                         const std::string &chip = "sm_90a") {
  std::string error;
  ContractionFacts facts{/*batches=*/1, rows, columns, depth,
                         /*elementBytes=*/4};
  facts.inTwoLevels = sumsInTwoLevels(depth, facts.elementBytes);
  std::optional<ContractionChoice> choice =
      chooseContraction(facts, *findTarget(chip), pins, error);
  EXPECT_TRUE(choice) << error;
  return choice.value_or(ContractionChoice{});
}

/// Large products reuse what they load: 8x8 in each thread, which balances
/// reads of shared memory and multiply-adds.
TEST(ContractionModel, LargeProductsHaveLargeTiles) {
  for (const TargetDescription &target : getTargets())
    for (int64_t size : {2048, 4096}) {
      ContractionChoice choice = choose(size, size, size, {}, target.chip);
      EXPECT_EQ(choice.threadRows, 8) << target.chip << " " << size;
      EXPECT_EQ(choice.threadColumns, 8) << target.chip << " " << size;
      // Blocks of one warp look as fast there; that has not been measured.
      EXPECT_GE(choice.blockRows, 64) << target.chip << " " << size;
      EXPECT_GE(choice.blockColumns, 64) << target.chip << " " << size;
    }
}

/// Smaller ones need blocks for all multiprocessors as well.
TEST(ContractionModel, SmallerProductsFillTheDevice) {
  ContractionChoice choice = choose(1024, 1024, 1024);
  EXPECT_EQ(choice.threadRows * choice.threadColumns, 64);
  EXPECT_GE(choice.blocks, 128);
  choice = choose(128, 18944, 3584);
  EXPECT_EQ(choice.threadRows * choice.threadColumns, 64);
  EXPECT_GE(choice.blocks, 132);
}

/// One warp for each scheduler waits at barriers with nothing beside it.
TEST(ContractionModel, SingleWarpsWait) {
  ContractionPins pins;
  pins.blockRows = 64;
  pins.blockColumns = 128;
  pins.warps = 4;
  ContractionChoice one = choose(1024, 1024, 1024, pins);
  ContractionChoice two = choose(1024, 2048, 1024, pins);
  EXPECT_EQ(one.blocks, 128);
  EXPECT_EQ(two.blocks, 256);
  EXPECT_LT(two.nanoseconds, 1.75 * one.nanoseconds);
}

/// Chunks are copied ahead where there are several, and fewer at once than
/// there are.
TEST(ContractionModel, RingsAreShorterThanSums) {
  EXPECT_EQ(choose(1024, 1024, 1024).stages, 2);
  EXPECT_EQ(choose(1024, 1024, 32).stages, 1);
  EXPECT_EQ(choose(1024, 1024, 7).stages, 1);
  EXPECT_EQ(choose(1024, 1024, 7).chunk, 8);
}

/// Products of few rows have blocks of few rows, and chunks that are lines of
/// memory where these lie along the sums.
TEST(ContractionModel, FewRowsStream) {
  std::string error;
  ContractionFacts facts{/*batches=*/8, /*rows=*/8, /*columns=*/18944,
                         /*depth=*/448, /*elementBytes=*/4};
  facts.isLhsAlongDepth = facts.isRhsAlongDepth = true;
  std::optional<ContractionChoice> choice =
      chooseContraction(facts, *findTarget("sm_90a"), {}, error);
  ASSERT_TRUE(choice) << error;
  EXPECT_LE(choice->blockRows, 16);
  EXPECT_EQ(choice->chunk, 32);
}

/// Long sums of f32 have two levels, whose totals take shared memory.
TEST(ContractionModel, LongSumsHaveTwoLevels) {
  EXPECT_FALSE(sumsInTwoLevels(1024, 4));
  EXPECT_TRUE(sumsInTwoLevels(1025, 4));
  EXPECT_FALSE(sumsInTwoLevels(100000, 2));
  ContractionPins pins;
  pins.blockRows = 64;
  pins.blockColumns = 128;
  pins.chunk = 16;
  pins.stages = 2;
  ContractionChoice shorter = choose(1024, 1024, 1024, pins),
                    longer = choose(1024, 1024, 2048, pins);
  EXPECT_EQ(longer.sharedBytes - shorter.sharedBytes, 64 * 128 * 4);
}

/// What is chosen fits the target, and a pin that doesn't is refused.
TEST(ContractionModel, ChoicesFit) {
  for (const TargetDescription &target : getTargets()) {
    ContractionChoice choice = choose(4096, 4096, 4096, {}, target.chip);
    EXPECT_LE(choice.sharedBytes, target.sharedPerBlock) << target.chip;
    EXPECT_LE(choice.registersPerThread, target.registersPerThread);
    EXPECT_GE(choice.blocksPerMultiprocessor, 1);
  }
  ContractionPins pins;
  pins.stages = 64;
  pins.blockRows = pins.blockColumns = 128;
  std::string error;
  EXPECT_FALSE(chooseContraction({1, 4096, 4096, 4096, 4},
                                 *findTarget("sm_90a"), pins, error));
  EXPECT_NE(error.find("smaller blocks"), std::string::npos) << error;
}

TEST(ContractionModel, PinsAreKept) {
  ContractionPins pins;
  pins.blockRows = 32;
  pins.blockColumns = 64;
  pins.threadRows = pins.threadColumns = 4;
  pins.stages = 4;
  pins.chunk = 8;
  ContractionChoice choice = choose(512, 512, 512, pins);
  EXPECT_EQ(choice.blockRows, 32);
  EXPECT_EQ(choice.blockColumns, 64);
  EXPECT_EQ(choice.warps, 4);
  EXPECT_EQ(choice.stages, 4);
  EXPECT_EQ(choice.chunk, 8);
}

} // namespace
