// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WarpPieces.h"

#include "deplo/Analysis/ContractionLayouts.h"

#include "gtest/gtest.h"

#include <set>

using namespace deplo;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// The accumulator of wgmma, of warps along rows and columns.
LinearLayout accumulator(int64_t rows, int64_t columns, int64_t warpsAlongRows,
                         int64_t warpsAlongColumns) {
  return llvm::cantFail(getWgmmaAccumulator(
      {{rows, columns}, {warpsAlongRows, warpsAlongColumns}, 0, 1, 16}));
}

/// Each element of the tile is in one piece of one warp, where both layouts
/// say.
void expectCovers(const LinearLayout &layout, const WarpPieces &pieces) {
  std::set<std::pair<int32_t, int32_t>> seen;
  for (int32_t warp = 0; warp < layout.getSize(InputDim::Warp); ++warp)
    for (const WarpPieces::Piece &piece : pieces.pieces)
      for (auto [reg, ofTile] : llvm::enumerate(piece.registers))
        for (int32_t lane = 0; lane < 32; ++lane) {
          Coordinates inPiece = pieces.layout.apply(reg, lane);
          Coordinates ofWarp = layout.apply(0, 0, warp);
          Coordinates element = layout.apply(ofTile, lane, warp);
          for (unsigned dim = 0; dim < 2; ++dim)
            EXPECT_EQ(element[dim],
                      ofWarp[dim] + piece.start[dim] + inPiece[dim]);
          EXPECT_TRUE(seen.insert({element[0], element[1]}).second);
        }
  EXPECT_EQ(int64_t(seen.size()), layout.getNumElements());
}

TEST(WarpPieces, RowsOfAnInstruction) {
  LinearLayout layout = accumulator(128, 256, 8, 1);
  std::optional<WarpPieces> pieces = WarpPieces::get(layout, {16, 64});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(Shape(pieces->layout.getShape()), Shape({16, 64}));
  EXPECT_EQ(pieces->pieces.size(), 4u);
  expectCovers(layout, *pieces);
}

TEST(WarpPieces, SeveralInstructionsAndWarpsAlongColumns) {
  LinearLayout layout = accumulator(128, 128, 4, 2);
  std::optional<WarpPieces> pieces = WarpPieces::get(layout, {16, 32});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(Shape(pieces->layout.getShape()), Shape({16, 32}));
  EXPECT_EQ(pieces->pieces.size(), 4u);
  expectCovers(layout, *pieces);
}

TEST(WarpPieces, NoMoreThanTheTile) {
  LinearLayout layout = accumulator(64, 16, 4, 1);
  std::optional<WarpPieces> pieces = WarpPieces::get(layout, {64, 64});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(Shape(pieces->layout.getShape()), Shape({16, 16}));
  EXPECT_EQ(pieces->pieces.size(), 1u);
}

TEST(WarpPieces, LanesFurtherApart) {
  EXPECT_FALSE(WarpPieces::get(accumulator(64, 16, 4, 1), {4, 16}));
}

TEST(WarpPieces, Replicas) {
  // Eight columns for 32 lanes.
  LinearLayout layout =
      llvm::cantFail(LinearLayout::blocked({8}, {1}, {32}, {1}, {0}));
  EXPECT_FALSE(WarpPieces::get(layout, {64}));
}

} // namespace
