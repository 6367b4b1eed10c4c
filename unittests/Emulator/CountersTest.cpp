// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Harness.h"

using namespace deplo::emulator;

/// 32 lanes read words that are `stride` bytes apart.
static Counters sharedReads(unsigned stride) {
  Ran ran = runBody("mov.u64 %rd5, buffer; mul.wide.u32 %rd6, %r0, " +
                        std::to_string(stride) +
                        "; add.s64 %rd7, %rd5, %rd6;"
                        "st.shared.u32 [%rd7], %r0; ld.shared.u32 %r1, [%rd7];",
                    {}, ".shared .align 128 .b8 buffer[8192];");
  EXPECT_EQ(ran.findings(), "");
  return ran.outcome.counters;
}

TEST(Counters, BankConflicts) {
  EXPECT_EQ(sharedReads(4).conflictDegree(), 1);
  EXPECT_EQ(sharedReads(8).conflictDegree(), 2);
  EXPECT_EQ(sharedReads(128).conflictDegree(), 32);
  EXPECT_EQ(sharedReads(132).conflictDegree(), 1);
  EXPECT_EQ(sharedReads(128).sharedWavefronts, 64u);
}

TEST(Counters, Sectors) {
  auto sectors = [](unsigned stride) {
    Setting setting;
    setting.in.resize(2048);
    Ran ran = runBody("mul.wide.u32 %rd6, %r0, " + std::to_string(stride) +
                          "; add.s64 %rd7, %rd0, %rd6;"
                          "ld.global.u32 %r1, [%rd7];",
                      setting);
    EXPECT_EQ(ran.findings(), "");
    return ran.outcome.counters;
  };
  // The buffer's address may put one more sector in.
  EXPECT_LE(sectors(4).globalSectors, 5u);
  EXPECT_GE(sectors(4).globalSectors, 4u);
  EXPECT_EQ(sectors(64).globalSectors, 32u);
  EXPECT_EQ(sectors(64).globalLoadBytes, 128u);
}

/// A copy is one request, of the lanes that have something to read.
TEST(Counters, AsyncCopiesAreLoads) {
  const std::string body = R"(
  mul.wide.u32 %rd4, %r0, 4;
  mov.u64 %rd7, source;
  add.s64 %rd2, %rd7, %rd4;
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  setp.lt.u32 %p1, %r0, 8;
  selp.u32 %r1, 4, 0, %p1;
  cp.async.ca.shared.global [%rd6], [%rd2], 4, %r1;
  cp.async.wait_all;
)";
  Ran ran = runBody(body, {},
                    ".shared .align 16 .b8 buffer[128];"
                    ".global .align 32 .b8 source[128];");
  EXPECT_EQ(ran.findings(), "");
  const Counters &counters = ran.outcome.counters;
  EXPECT_EQ(counters.globalRequests, 1u);
  // Eight words; the buffer's address may put one more sector in.
  EXPECT_GE(counters.globalSectors, 1u);
  EXPECT_LE(counters.globalSectors, 2u);
  EXPECT_EQ(counters.globalLoadBytes, 32u);
  EXPECT_EQ(counters.globalStoreBytes, 0u);
  EXPECT_EQ(counters.sharedWavefronts, 1u);
}

TEST(Counters, InstructionsAndJson) {
  Setting setting;
  setting.block = {64, 1, 1};
  setting.grid = {3, 1, 1};
  Ran ran = runBody("bar.sync 0; setp.lt.u32 %p1, %r0, 8; @%p1 add.u32 %r1, "
                    "%r0, 1;",
                    setting);
  const Counters &counters = ran.outcome.counters;
  EXPECT_EQ(counters.barriers, 6u);
  for (const InstructionCounters &entry : counters.instructions)
    if (entry.opcode == "add") {
      EXPECT_EQ(entry.warps, 6u);
      EXPECT_EQ(entry.threads, 24u);
    }
  std::string json = countersJson(counters);
  EXPECT_NE(json.find("\"barriers\":6"), std::string::npos);
  EXPECT_NE(json.find("\"mix\":{\"add\":6,"), std::string::npos) << json;
  EXPECT_NE(countersTable(counters).find("barriers"), std::string::npos);
}
