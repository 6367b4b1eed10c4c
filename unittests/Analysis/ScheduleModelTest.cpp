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
  facts.liveTiles = 2;
  facts.dependentReductions = 1;
  facts.instructions = 5;
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

TEST(ScheduleModel, PRINT) {
  auto p = [](const char *n, const ScheduleChoice &c) {
    printf("%-22s %s | unroll %ld regs %ld bpsm %ld waves %.2f ns %.0f\n", n, c.reason.c_str(), c.unroll, c.registersPerThread, c.blocksPerMultiprocessor, c.waves, c.nanoseconds);
  };
  for (long n : {1L, 7L, 1000L, 180224L, 720896L, 11272192L, 268435456L}) for (int b : {2,4}) for (int l : {1,2}) p(("pw " + std::to_string(n)+" "+std::to_string(b)+" "+std::to_string(l)).c_str(), choose(pointwise(n,b,l)));
  for (long r : {1L, 32L, 128L, 512L, 8192L, 65536L}) for (long c : {32L, 100L, 128L, 512L, 896L, 2048L, 3584L, 4096L, 8192L, 16384L, 32768L, 50257L, 131072L}) for (int b : {2,4}) p(("rms " + std::to_string(r)+"x"+std::to_string(c)+" "+std::to_string(b)).c_str(), choose(rmsNorm(r,c,b)));
  p("sum 16384x16384", choose(sum(16384,16384,16384,1)));
  p("sum 1x2^28", choose(sum(1,1<<28,1<<28,1)));
  p("col 16384x16384", choose(sum(16384,16384,1,16384)));
  p("col 4096x2048", choose(sum(2048,4096,1,2048)));
  p("col 32x32", choose(sum(32,32,1,32)));
  p("col 1000000x3", choose(sum(3,1000000,1,3)));
  p("col 128x1000000", choose(sum(1000000,128,1,1000000)));
}
} // namespace
