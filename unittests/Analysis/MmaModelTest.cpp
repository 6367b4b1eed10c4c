// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/MmaModel.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

MmaChoice choose(int64_t rows, int64_t columns, int64_t depth,
                 const MmaPins &pins = {}, const std::string &chip = "sm_90a",
                 int64_t elementBytes = 2) {
  std::string error;
  std::optional<MmaChoice> choice =
      chooseMma({/*batches=*/1, rows, columns, depth, elementBytes},
                *findTarget(chip), pins, error);
  EXPECT_TRUE(choice) << error;
  return choice.value_or(MmaChoice{});
}

/// Tiles of a warp are large where reads of shared memory would limit.
TEST(MmaModel, LargeProductsHaveLargeTiles) {
  for (const TargetDescription &target : getTargets()) {
    MmaChoice choice = choose(4096, 4096, 4096, {}, target.chip);
    EXPECT_GE(choice.warpRows * choice.warpColumns, 32 * 64) << target.chip;
    EXPECT_GE(choice.blockRows * choice.blockColumns, 64 * 128) << target.chip;
    EXPECT_GE(choice.stages, 2) << target.chip;
  }
}

/// What was measured as the fastest on an H200, or within a few per cent of it.
TEST(MmaModel, MeasuredChoices) {
  MmaChoice square = choose(4096, 4096, 4096);
  EXPECT_EQ(square.blockRows * square.blockColumns, 128 * 256);
  EXPECT_EQ(square.warpRows, 64);
  EXPECT_EQ(square.warpColumns, 64);
  EXPECT_EQ(square.chunk, 64);
  MmaChoice fewRows = choose(8, 18944, 3584);
  EXPECT_EQ(fewRows.blockRows, 16);
  EXPECT_LE(fewRows.blockColumns, 64);
}

TEST(MmaModel, SmallerProductsFillTheDevice) {
  EXPECT_GE(choose(1024, 1024, 1024).blocks, 64);
  EXPECT_GE(choose(256, 256, 256).blocks, 16);
  // Few rows: blocks that read weights in enough places at once.
  EXPECT_GE(choose(8, 4096, 4096).blocks, 64);
  EXPECT_GE(choose(8, 4096, 4096).stages, 4);
}

/// The instruction's rows and depth are the least.
TEST(MmaModel, TinyProductsTakeOneInstruction) {
  MmaChoice choice = choose(1, 7, 3);
  EXPECT_EQ(choice.blockRows, 16);
  EXPECT_EQ(choice.chunk, 16);
  EXPECT_EQ(choice.stages, 1);
  EXPECT_EQ(choose(1, 7, 3, {}, "sm_90a", 4).chunk, 8);
}

TEST(MmaModel, ChoicesFit) {
  for (const TargetDescription &target : getTargets())
    for (int64_t elementBytes : {2, 4}) {
      MmaChoice choice =
          choose(8192, 8192, 8192, {}, target.chip, elementBytes);
      EXPECT_LE(choice.sharedBytes, target.sharedPerBlock) << target.chip;
      EXPECT_LE(choice.registersPerThread, target.registersPerThread);
      EXPECT_EQ(choice.warps, choice.blockRows / choice.warpRows *
                                  (choice.blockColumns / choice.warpColumns));
    }
}

TEST(MmaModel, PinsAreKept) {
  MmaPins pins;
  pins.blockRows = 32;
  pins.blockColumns = 64;
  pins.warpRows = 16;
  pins.warpColumns = 32;
  pins.chunk = 32;
  pins.stages = 5;
  MmaChoice choice = choose(4096, 4096, 4096, pins);
  EXPECT_EQ(choice.blockRows, 32);
  EXPECT_EQ(choice.blockColumns, 64);
  EXPECT_EQ(choice.warps, 4);
  EXPECT_EQ(choice.chunk, 32);
  EXPECT_EQ(choice.stages, 5);
  pins = {};
  pins.warps = 2;
  EXPECT_EQ(choose(4096, 4096, 4096, pins).warps, 2);
}

TEST(MmaModel, WhatDoesNotFitIsRefused) {
  MmaPins pins;
  pins.stages = 100;
  pins.blockRows = pins.blockColumns = 256;
  std::string error;
  EXPECT_FALSE(
      chooseMma({1, 4096, 4096, 4096, 2}, *findTarget("sm_90a"), pins, error));
  EXPECT_EQ(error, "no tile of a contraction by mma.sync that agrees with what "
                   "is pinned fits sm_90a; use smaller blocks or fewer stages");
}

} // namespace
