// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaPiecesModel.h"

#include "gtest/gtest.h"

using namespace deplo;

static ContractionFacts getFacts(int64_t rows, int64_t columns, int64_t depth) {
  ContractionFacts facts{};
  facts.batches = 1;
  facts.rows = rows;
  facts.columns = columns;
  facts.depth = depth;
  facts.elementBytes = 4;
  facts.isLhsAlongDepth = true;
  facts.inPieces = true;
  facts.inTwoLevels = sumsInTwoLevels(depth, facts.elementBytes);
  return facts;
}

static MmaChoice choose(const ContractionFacts &facts,
                        const MmaPins &pins = {}) {
  std::string error;
  std::optional<MmaChoice> choice =
      chooseWgmmaOfPieces(facts, *findTarget("sm_90a"), pins, error);
  EXPECT_TRUE(choice) << error;
  return choice.value_or(MmaChoice{});
}

TEST(WgmmaPiecesModel, LargeProductsHaveWideTiles) {
  MmaChoice choice = choose(getFacts(8192, 8192, 8192));
  EXPECT_EQ(choice.blockRows, 128);
  EXPECT_EQ(choice.blockColumns, 128);
  EXPECT_EQ(choice.warps, 8);
  EXPECT_EQ(choice.chunk, 32);
}

TEST(WgmmaPiecesModel, SmallProductsHaveTilesForAllMultiprocessors) {
  MmaChoice choice = choose(getFacts(1024, 1024, 1024));
  EXPECT_GT(choice.blocks, 64);
}

TEST(WgmmaPiecesModel, LongSumsHaveAsManyStages) {
  MmaPins pins;
  pins.blockRows = pins.blockColumns = 128;
  int64_t ofShort = choose(getFacts(4096, 4096, 1024), pins).stages;
  MmaChoice ofLong = choose(getFacts(4096, 4096, 1025), pins);
  EXPECT_EQ(ofLong.stages, ofShort);
  EXPECT_LE(ofLong.sharedBytes, findTarget("sm_90a")->sharedPerBlock);
}

TEST(WgmmaPiecesModel, SumsAndTheirRestsAreInRegisters) {
  MmaPins pins;
  pins.blockRows = pins.blockColumns = 128;
  MmaChoice one = choose(getFacts(4096, 4096, 4096), pins);
  ContractionFacts facts = getFacts(4096, 4096, 4096);
  facts.sums = 2;
  pins.warps = one.warps;
  std::string error;
  EXPECT_FALSE(chooseWgmmaOfPieces(facts, *findTarget("sm_90a"), pins, error));
  pins.blockColumns = 64;
  EXPECT_LT(choose(facts, pins).registersPerThread, 256);
}

TEST(WgmmaPiecesModel, WritingPiecesTakesTime) {
  // As many products, of more elements.
  EXPECT_GT(choose(getFacts(128, 32768, 4096)).nanoseconds,
            choose(getFacts(2048, 2048, 4096)).nanoseconds);
}

TEST(WgmmaPiecesModel, RefusesWhatDoesNotFit) {
  MmaPins pins;
  pins.blockRows = pins.blockColumns = 128;
  pins.stages = 8;
  std::string error;
  EXPECT_FALSE(chooseWgmmaOfPieces(getFacts(4096, 4096, 4096),
                                   *findTarget("sm_90a"), pins, error));
  EXPECT_NE(error.find("fewer stages"), std::string::npos);
}
