// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/FusionCost.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

// Round numbers: 1 TB/s, 10 operations a byte, 1 us a launch.
constexpr MachineModel machine = {1e12, 1e13, 1e-6, 100, 1 << 18, 255};

KernelCost makeKernel(int64_t read, int64_t written, double operations,
                      int64_t pieces = 1000, int64_t sweeps = 1) {
  return {read, written, operations, pieces, sweeps};
}

TEST(FusionCost, LaunchAloneForNothing) {
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(0, 0, 0), machine), 1e-6);
}

TEST(FusionCost, MemoryBound) {
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(600'000, 400'000, 1000), machine),
                   2e-6);
}

TEST(FusionCost, ComputeBound) {
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(1000, 1000, 2e7), machine), 3e-6);
}

TEST(FusionCost, FewPiecesLeaveMultiprocessorsIdle) {
  EXPECT_DOUBLE_EQ(
      estimateSeconds(makeKernel(500'000, 500'000, 0, 50), machine), 3e-6);
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(10'000, 0, 0, 1), machine), 2e-6);
}

TEST(FusionCost, EachKernelWaitsForItsFirstLoad) {
  MachineModel slow = machine;
  slow.latencySeconds = 0.5e-6;
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(0, 0, 0), slow), 1.5e-6);
}

TEST(FusionCost, FewPiecesDrawMoreThanTheirShareOfBandwidth) {
  MachineModel bursting = machine;
  bursting.bandwidthBurst = 2;
  EXPECT_DOUBLE_EQ(
      estimateSeconds(makeKernel(500'000, 500'000, 0, 50), bursting), 2e-6);
  // Arithmetic does not burst.
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(0, 0, 1e7, 50), bursting), 3e-6);
}

TEST(FusionCost, LongPiecesAreReadInEachSweep) {
  // 1 MB a piece does not stay on chip.
  KernelCost longRows = makeKernel(100 << 20, 0, 0, 100, 3);
  KernelCost once = makeKernel(100 << 20, 0, 0, 100, 1);
  double launch = machine.launchSeconds;
  EXPECT_DOUBLE_EQ(estimateSeconds(longRows, machine) - launch,
                   3 * (estimateSeconds(once, machine) - launch));
  // 1 KB does.
  EXPECT_DOUBLE_EQ(
      estimateSeconds(makeKernel(100 << 10, 0, 0, 100, 3), machine),
      estimateSeconds(makeKernel(100 << 10, 0, 0, 100, 1), machine));
}

TEST(FusionCost, LongRowsMayBeDivided) {
  // One row of 1 GB: a kernel for its parts at full bandwidth, one for totals.
  double seconds = estimateSeconds(makeKernel(1e9, 0, 0, 1), machine);
  EXPECT_DOUBLE_EQ(seconds, 2e-6 + 1e-3);
  // Each of two sweeps reads it again.
  EXPECT_DOUBLE_EQ(estimateSeconds(makeKernel(1e9, 0, 0, 1, 2), machine),
                   4e-6 + 2e-3);
}

TEST(FusionCost, SavedTrafficPays) {
  KernelCost producer = makeKernel(1 << 20, 1 << 20, 1 << 20);
  KernelCost consumer = makeKernel(1 << 20, 1 << 20, 1 << 20);
  KernelCost fused = makeKernel(1 << 20, 1 << 20, 2 << 20);
  EXPECT_TRUE(pays(fused, producer, consumer, machine));
}

TEST(FusionCost, RecomputationThatCostsMoreThanALaunchDoesNot) {
  KernelCost producer = makeKernel(1 << 10, 1 << 10, 1e5);
  KernelCost consumer = makeKernel(1 << 20, 1 << 20, 1 << 20);
  KernelCost fused = makeKernel(1 << 20, 1 << 20, 1e5 * 1000);
  EXPECT_FALSE(pays(fused, producer, consumer, machine));
}

TEST(FusionCost, LosingParallelismDoesNot) {
  // A sum of everything, and a map that divides by it.
  KernelCost sum = makeKernel(1 << 28, 4, 1 << 26, 1);
  KernelCost map = makeKernel(1 << 28, 1 << 28, 1 << 26, 1 << 18);
  KernelCost fused = makeKernel(1 << 28, 1 << 28, 1 << 27, 1, 2);
  EXPECT_FALSE(pays(fused, sum, map, machine));
}

TEST(FusionCost, TranscendentalsCostMore) {
  EXPECT_EQ(getOperationCost("arith.constant"), 0);
  EXPECT_EQ(getOperationCost("arith.addf"), 1);
  EXPECT_GT(getOperationCost("math.exp"), getOperationCost("arith.divf"));
  EXPECT_GT(getOperationCost("math.powf"), getOperationCost("math.exp"));
}

} // namespace
