// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/BitSwaps.h"

#include "deplo/Analysis/FragmentLayouts.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

LinearLayout getAccumulator(llvm::ArrayRef<int64_t> shape) {
  return llvm::cantFail(mmaTile(MmaOperand::Accumulator, 16, shape, 1, 1));
}

/// Runs the swaps as butterfly shuffles do, on the elements' coordinates.
void expectConverts(const LinearLayout &from, const LinearLayout &to) {
  std::optional<BitSwaps> plan = getBitSwaps(from, to);
  ASSERT_TRUE(plan);
  int32_t lanes = from.getSize(InputDim::Lane);
  std::vector<std::vector<Coordinates>> held(lanes);
  for (int32_t lane = 0; lane < lanes; ++lane)
    for (int32_t reg = 0; reg < from.getNumRegisters(); ++reg)
      held[lane].push_back(from.apply(reg, lane));
  for (const BitSwaps::Swap &swap : plan->swaps) {
    int32_t registerMask = 1 << swap.registerBit, laneMask = 1 << swap.laneBit;
    for (int32_t lane = 0; lane < lanes; ++lane)
      for (int32_t reg = 0; reg < from.getNumRegisters(); ++reg)
        if ((lane & laneMask) == 0 && (reg & registerMask) == 0)
          std::swap(held[lane][reg | registerMask], held[lane | laneMask][reg]);
  }
  for (int32_t lane = 0; lane < lanes; ++lane)
    for (int32_t reg = 0; reg < to.getNumRegisters(); ++reg)
      EXPECT_EQ(held[lane][plan->registers[reg]], to.apply(reg, lane))
          << "lane " << lane << ", register " << reg;
}

/// Accumulators of tensor cores: two neighbours in a lane become eight or four.
TEST(BitSwaps, AccumulatorsBecomeRuns) {
  LinearLayout accumulator = getAccumulator({64, 64});
  for (int32_t width : {4, 8}) {
    LinearLayout rows = getWidened(accumulator, 1, width);
    EXPECT_EQ(rows.contiguity(1), width);
    expectConverts(accumulator, rows);
  }
}

/// A lane gets no more neighbours than it has others to give.
TEST(BitSwaps, WidthIsLimitedByWhatALaneHolds) {
  LinearLayout accumulator = getAccumulator({16, 16});
  EXPECT_EQ(getWidened(accumulator, 1, 8).contiguity(1), 4);
  EXPECT_EQ(getWidened(getAccumulator({16, 8}), 1, 8), getAccumulator({16, 8}));
}

TEST(BitSwaps, RegistersAreReordered) {
  LinearLayout accumulator = getAccumulator({32, 16});
  expectConverts(accumulator, accumulator.withContiguousRegisters(0));
  std::optional<BitSwaps> plan = getBitSwaps(accumulator, accumulator);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->swaps.empty());
}

/// Lanes that trade places among themselves, other warps, and replicas.
TEST(BitSwaps, OtherConversionsAreNone) {
  LinearLayout rows = llvm::cantFail(
      LinearLayout::blocked({32, 32}, {1, 4}, {4, 8}, {1, 1}, {1, 0}));
  LinearLayout columns = llvm::cantFail(
      LinearLayout::blocked({32, 32}, {1, 4}, {4, 8}, {1, 1}, {0, 1}));
  EXPECT_FALSE(getBitSwaps(rows, columns));
  LinearLayout twoWarps = llvm::cantFail(
      LinearLayout::blocked({32, 32}, {1, 4}, {4, 8}, {2, 1}, {1, 0}));
  EXPECT_FALSE(getBitSwaps(rows, twoWarps));
  LinearLayout replicas = llvm::cantFail(
      LinearLayout::blocked({4, 4}, {1, 1}, {4, 4}, {1, 1}, {1, 0}));
  EXPECT_FALSE(
      getBitSwaps(llvm::cantFail(replicas.replicated(InputDim::Lane, 32)),
                  llvm::cantFail(replicas.replicated(InputDim::Lane, 32))));
}

} // namespace
