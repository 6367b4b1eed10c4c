// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ScheduleModel.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

const TargetDescription &h200() { return *findTarget("sm_90a"); }

/// The largest power of two that divides a stride and 16 bytes.
int64_t alignmentOf(int64_t stride, int64_t bytes) {
  int64_t bits = stride | (16 / bytes);
  return bits & -bits;
}

/// `loads` loads and one store of n contiguous elements.
ScheduleFacts pointwise(int64_t n, int64_t bytes, int loads) {
  ScheduleFacts facts;
  facts.axes = {n};
  facts.accesses.assign(loads, {bytes, false, {1}, 16 / bytes});
  facts.accesses.push_back({bytes, true, {1}, 16 / bytes});
  facts.liveTiles = loads;
  return facts;
}

/// Rows normalised by one reduction, with a weight.
ScheduleFacts rmsNorm(int64_t rows, int64_t columns, int64_t bytes) {
  ScheduleFacts facts;
  facts.axes = {rows};
  facts.inner = {{columns, true}};
  int64_t alignment = alignmentOf(columns, bytes);
  facts.accesses = {{bytes, false, {columns, 1}, alignment},
                    {bytes, false, {0, 1}, 16 / bytes},
                    {bytes, true, {columns, 1}, alignment}};
  facts.dependentReductions = 1;
  facts.passes = 2;
  facts.instructions = 7;
  return facts;
}

/// Sums of `rows` rows; of columns if `strideAlongRow` is not 1.
ScheduleFacts sum(int64_t rows, int64_t length, int64_t rowStride,
                  int64_t strideAlongRow) {
  ScheduleFacts facts;
  facts.axes = {rows};
  facts.inner = {{length, true}};
  int64_t other = rowStride == 1 ? strideAlongRow : rowStride;
  facts.accesses = {
      {4, false, {rowStride, strideAlongRow}, alignmentOf(other, 4)},
      {4, true, {1, 0}, 4}};
  facts.dependentReductions = 1;
  return facts;
}

ScheduleChoice choose(const ScheduleFacts &facts, const SchedulePins &pins = {},
                      const TargetDescription &target = h200()) {
  std::string error;
  std::optional<ScheduleChoice> choice =
      chooseSchedule(facts, target, pins, error);
  EXPECT_TRUE(choice.has_value()) << error;
  return choice.value_or(ScheduleChoice());
}

int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

TEST(ScheduleModel, RowsFillThreadsWithSeveralWideAccesses) {
  ScheduleChoice row = choose(rmsNorm(32, 2048, 4));
  EXPECT_EQ(row.block, std::vector<int64_t>{1});
  EXPECT_EQ(row.warps, 8);
  EXPECT_EQ(row.elementsPerThread, 8);
  EXPECT_EQ(row.vector, 4);
  EXPECT_EQ(row.chunk, 0);
  EXPECT_EQ(row.blocks, 32);

  ScheduleChoice longer = choose(rmsNorm(8192, 8192, 4));
  EXPECT_EQ(longer.block, std::vector<int64_t>{1});
  EXPECT_EQ(longer.warps * longer.elementsPerThread * 32, 8192);
  EXPECT_GE(longer.elementsPerThread, 8);
  EXPECT_EQ(longer.chunk, 0);
}

TEST(ScheduleModel, ShortRowsShareBlocks) {
  ScheduleChoice choice = choose(rmsNorm(65536, 32, 4));
  EXPECT_GE(choice.block[0], 8);
  EXPECT_EQ(choice.vector, 4);
  EXPECT_GE(choice.blocks, h200().multiprocessors);
}

TEST(ScheduleModel, HalfPrecisionMovesEightElements) {
  EXPECT_EQ(choose(rmsNorm(512, 4096, 2)).vector, 8);
  EXPECT_EQ(choose(pointwise(1 << 24, 2, 2)).vector, 8);
}

TEST(ScheduleModel, ComputationsThatFillTheRegistersTakeNarrowerAccesses) {
  ScheduleFacts facts = pointwise(1 << 20, 2, 1);
  facts.peakTiles = 40;
  EXPECT_EQ(choose(facts).vector, 4);
  facts.peakTiles = 200;
  EXPECT_EQ(choose(facts).vector, 1);
}

TEST(ScheduleModel, UnalignedRowsCoalesceSingleElements) {
  EXPECT_EQ(choose(rmsNorm(512, 4097, 4)).vector, 1);
  EXPECT_EQ(choose(rmsNorm(512, 4098, 4)).vector, 2);
}

TEST(ScheduleModel, RowsBeyondRegistersAreChunked) {
  // 32 elements in each of 1024 threads are the most.
  EXPECT_EQ(choose(rmsNorm(2048, 32768, 4)).chunk, 0);
  ScheduleChoice choice = choose(rmsNorm(2048, 65536, 4));
  EXPECT_GT(choice.chunk, 0);
  EXPECT_LE(choice.registersPerThread * choice.warps * 32,
            h200().registersPerMultiprocessor);
}

TEST(ScheduleModel, SmallProblemsSpreadOverTheDevice) {
  ScheduleChoice choice = choose(pointwise(32 * 5632, 4, 2));
  EXPECT_GE(choice.blocks, 2 * h200().multiprocessors);
  EXPECT_EQ(choice.vector, 4);
}

TEST(ScheduleModel, BlocksAreLargeEnoughToBeStartedInTime) {
  // One block starts in a cycle: blocks of one warp would take longer to start
  // than their data to arrive.
  ScheduleChoice choice = choose(pointwise(1 << 28, 4, 1));
  EXPECT_GE(product(choice.block), 512);
}

TEST(ScheduleModel, BlocksOfDataInL2AreStartedInTheTimeOfTheKernel) {
  // All blocks fit at once and take the place of those of the kernel before,
  // one in two cycles: 2048 of them would take 2.5 us, and 8 MB in L2 2.1.
  ScheduleChoice choice = choose(pointwise(1 << 20, 4, 1));
  EXPECT_LE(choice.blocks, 1024);
  EXPECT_EQ(choice.elementsPerThread, 4);
  // Small ones don't wait for blocks: they spread as far as they can.
  ScheduleChoice small = choose(pointwise(1 << 17, 4, 1));
  EXPECT_GE(small.blocks, h200().multiprocessors);
}

TEST(ScheduleModel, WavesOfDataInL2HaveSeveralAccessesUnderWay) {
  ScheduleChoice waves = choose(pointwise(1 << 22, 4, 1));
  EXPECT_GT(waves.waves, 1);
  EXPECT_GE(waves.elementsPerThread, 2 * waves.vector);
  // From memory they spread over more of it.
  EXPECT_EQ(choose(pointwise(1 << 28, 4, 1)).elementsPerThread, 4);
}

TEST(ScheduleModel, LongRowsInStepAreReadInBursts) {
  // 32 KB at a time from rows that are 512 KB apart.
  ScheduleChoice far = choose(sum(1024, 131072, 131072, 1));
  EXPECT_GT(far.chunk, 0);
  EXPECT_GE(far.chunk * far.unroll * 4, 32768);
  // Rows of 32 KB are in the same pages: half of that is enough.
  ScheduleChoice near = choose(sum(32768, 8192, 8192, 1));
  ASSERT_GT(near.chunk, 0);
  EXPECT_LT(near.chunk * near.unroll * 4 * near.block[0], 32768);
}

TEST(ScheduleModel, TiesOfLongRowsGoToFewerRegisters) {
  // As many bytes in flight: eight iterations of one access, or four of two.
  SchedulePins two;
  two.warps = 8;
  two.cluster = 1;
  ScheduleFacts facts = sum(1024, 131072, 131072, 1);
  ScheduleChoice choice = choose(facts, two);
  EXPECT_EQ(choice.elementsPerThread, choice.vector);
  EXPECT_EQ(choice.unroll, 8);
}

TEST(ScheduleModel, RowsOfAnyLengthHaveMasksInRegisters) {
  ScheduleFacts facts = rmsNorm(2048, 4097, 4);
  SchedulePins pins;
  pins.block = {1};
  pins.warps = 8;
  pins.chunk = 0;
  int64_t fixed = choose(facts, pins).registersPerThread;
  facts.hasSymbolicRows = true;
  facts.symbolicSizes = 1;
  ScheduleChoice any = choose(facts, pins);
  EXPECT_EQ(any.vector, 1);
  EXPECT_GE(any.registersPerThread, fixed + any.elementsPerThread);
}

TEST(ScheduleModel, BlocksAreNoMoreThanALaunchHas) {
  ScheduleFacts facts = rmsNorm(int64_t(1) << 33, 4096, 4);
  ScheduleChoice choice = choose(facts);
  EXPECT_GE(choice.block[0], 8);
  EXPECT_LE(choice.blocks, maxBlocksPerLaunch);
  SchedulePins pins;
  pins.block = {1};
  std::string error;
  EXPECT_FALSE(chooseSchedule(facts, h200(), pins, error).has_value());
  EXPECT_NE(error.find("use a larger block"), std::string::npos) << error;
}

TEST(ScheduleModel, ColumnsTakeRunsOfMemory) {
  ScheduleChoice choice = choose(sum(16384, 16384, 1, 16384));
  EXPECT_GE(choice.block[0] * 4, 128);
  EXPECT_GE(choice.blocks, h200().multiprocessors);
}

TEST(ScheduleModel, TranspositionsTakeRunsOfBothSides) {
  ScheduleFacts facts;
  facts.axes = {8192, 8192};
  facts.accesses = {{4, false, {1, 8192}, 4}, {4, true, {8192, 1}, 4}};
  ScheduleChoice choice = choose(facts);
  EXPECT_GE(choice.block[0] * 4, 64);
  EXPECT_GE(choice.block[1] * 4, 64);
}

TEST(ScheduleModel, PartsOfAReductionGoByChunks) {
  ScheduleFacts facts = sum(1024, 65536, /*rowStride=*/65536,
                            /*strideAlongRow=*/1);
  facts.partAxis = 0;
  facts.hasSymbolicRows = true;
  ScheduleChoice part = choose(facts);
  EXPECT_EQ(part.block, std::vector<int64_t>{1});
  EXPECT_GT(part.chunk, 0);
  // Loops of unknown ends are not laid out.
  EXPECT_EQ(part.unroll, 1);
  SchedulePins pins;
  pins.block = {2};
  std::string error;
  EXPECT_FALSE(chooseSchedule(facts, h200(), pins, error));
  EXPECT_EQ(error, "block has 2 parts of a reduction, and a block folds one; "
                   "give 1 for that axis");
}

TEST(ScheduleModel, ManyWarpsShareColumnsInNarrowAccesses) {
  // 16384 columns of bf16.
  ScheduleFacts facts = sum(16384, 16384, /*rowStride=*/1,
                            /*strideAlongRow=*/16384);
  facts.accesses[0].elementBytes = facts.accesses[1].elementBytes = 2;
  facts.accesses[0].alignment = 8;
  facts.instructions = 2;
  ScheduleChoice columns = choose(facts);
  EXPECT_LT(columns.vector, 8);
  EXPECT_GE(columns.warps, 16);
  // What is exchanged takes the place of the elements, unless a later pass
  // needs them.
  SchedulePins pins;
  pins.block = {64};
  pins.warps = 16;
  pins.vector = 4;
  pins.chunk = 64;
  int64_t once = choose(facts, pins).registersPerThread;
  facts.passes = 2;
  EXPECT_GT(choose(facts, pins).registersPerThread, once);
}

TEST(ScheduleModel, WhatAnIndexLeadsToWaitsForIt) {
  ScheduleFacts rows = pointwise(int64_t(1) << 28, 4, 1);
  double direct = choose(rows).nanoseconds;
  rows.indirections = 1;
  EXPECT_GT(choose(rows).nanoseconds, direct);
}

TEST(ScheduleModel, PinnedFieldsStay) {
  SchedulePins pins;
  pins.warps = 2;
  ScheduleChoice two = choose(rmsNorm(32, 2048, 4), pins);
  EXPECT_EQ(two.warps, 2);
  EXPECT_EQ(two.elementsPerThread, 32);

  pins = {};
  pins.block = {4};
  pins.chunk = 256;
  ScheduleChoice chunked = choose(rmsNorm(32, 2048, 4), pins);
  EXPECT_EQ(chunked.block, std::vector<int64_t>{4});
  EXPECT_EQ(chunked.chunk, 256);
}

TEST(ScheduleModel, PinsThatDontFitAreRefusedWithAReason) {
  std::string error;
  SchedulePins pins;
  pins.block = {1, 1};
  EXPECT_FALSE(chooseSchedule(rmsNorm(32, 2048, 4), h200(), pins, error));
  EXPECT_EQ(error, "block has 2 sizes, and the kernel has 1 parallel axis");

  pins = {};
  pins.warps = 64;
  EXPECT_FALSE(chooseSchedule(rmsNorm(32, 2048, 4), h200(), pins, error));
  EXPECT_EQ(error, "64 warps are 2048 threads, and sm_90a runs at most 1024 in "
                   "a block; use fewer warps");

  pins = {};
  pins.block = {64};
  pins.warps = 1;
  pins.chunk = 0;
  EXPECT_FALSE(chooseSchedule(rmsNorm(64, 512, 4), h200(), pins, error));
  EXPECT_NE(error.find("use more warps"), std::string::npos);
}

TEST(ScheduleModel, FiguresCountBytesOnce) {
  ScheduleChoice choice = choose(rmsNorm(32, 2048, 4));
  EXPECT_EQ(choice.bytesRead, (32 * 2048 + 2048) * 4);
  EXPECT_EQ(choice.bytesWritten, 32 * 2048 * 4);
  EXPECT_EQ(choice.reason,
            "1 row of 2048 a block, 8 warps with 8 elements a thread, 4 side "
            "by side; 32 blocks on 132 multiprocessors");
}

/// Every size on every target has a schedule that the target can run.
TEST(ScheduleModel, EverySizeHasASchedule) {
  auto check = [](const ScheduleFacts &facts, const TargetDescription &target) {
    ScheduleChoice choice = choose(facts, {}, target);
    EXPECT_EQ(choice.block.size(), facts.axes.size());
    EXPECT_LE(choice.warps * 32, target.threadsPerBlock);
    EXPECT_LE(choice.registersPerThread, target.registersPerThread);
    EXPECT_LE(choice.registersPerThread * choice.warps * 32,
              target.registersPerMultiprocessor);
    EXPECT_GE(choice.blocks, 1);
  };
  const int64_t sizes[] = {0,   1,    2,    3,    31,    33,     97,
                           127, 1000, 1009, 4096, 50257, 1000003};
  for (const TargetDescription &target : getTargets())
    for (int64_t rows : sizes) {
      check(pointwise(rows, 4, 2), target);
      check(pointwise(rows, 1, 1), target);
      for (int64_t columns : sizes) {
        check(rmsNorm(rows, columns, 2), target);
        check(sum(rows, columns, columns, 1), target);
        check(sum(rows, columns, 1, rows), target);
      }
    }
}

} // namespace
