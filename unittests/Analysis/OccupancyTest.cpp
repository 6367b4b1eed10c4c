// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/Occupancy.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

int64_t count(int64_t warps, int64_t registers, int64_t sharedBytes) {
  return countResidentBlocks(*findTarget("sm_90a"), warps, registers,
                             sharedBytes);
}

/// What cuOccupancyMaxActiveBlocksPerMultiprocessor says of an H200.
TEST(Occupancy, Registers) {
  EXPECT_EQ(count(8, 128, 0), 2);
  EXPECT_EQ(count(4, 168, 0), 3);
  EXPECT_EQ(count(8, 255, 0), 1);
}

/// Registers of a multiprocessor are in four parts: with 176 in a thread there
/// are two warps in each, though eleven warps would fit in all together.
TEST(Occupancy, PartsOfRegisters) {
  EXPECT_EQ(count(1, 176, 0), 8);
  EXPECT_EQ(count(1, 168, 0), 12);
  EXPECT_EQ(count(1, 161, 0), 12);
}

TEST(Occupancy, WarpsAndBlocks) {
  EXPECT_EQ(count(1, 32, 0), 32);
  EXPECT_EQ(count(4, 32, 0), 16);
}

TEST(Occupancy, SharedMemory) {
  EXPECT_EQ(count(4, 32, 227 << 10), 1);
  EXPECT_EQ(count(4, 32, 113 << 10), 2);
  EXPECT_EQ(count(4, 32, 114 << 10), 1);
  EXPECT_EQ(count(4, 32, 228 << 10), 0);
}

/// Blocks with a warpgroup that copies: sums of an instruction have to fit what
/// a thread starts with, unless there is one block only.
TEST(Occupancy, Roles) {
  TargetDescription target = *findTarget("sm_90a");
  EXPECT_EQ(countResidentRoles(target, 8, 168, 200 << 10), 1);
  EXPECT_EQ(countResidentRoles(target, 8, 241, 0), 0);
  EXPECT_EQ(countResidentRoles(target, 4, 104, 64 << 10), 2);
  EXPECT_EQ(countResidentRoles(target, 4, 104, 200 << 10), 1);
  EXPECT_EQ(countResidentRoles(target, 4, 56, 32 << 10), 4);
  RoleRegisters alone = shareRegisters(target, 8, 1),
                two = shareRegisters(target, 4, 2);
  EXPECT_EQ(alone.ofProducer, 40);
  EXPECT_EQ(alone.ofOthers, 232);
  EXPECT_LE((two.ofProducer + two.ofOthers) * 4 * 32 * 2,
            target.registersPerMultiprocessor);
}

} // namespace
