// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check has a kernel that it must flag, made from one that it must not by
// taking one thing away.

#include "Harness.h"

using namespace deplo::emulator;

/// Replaces `what` in `text`.
static std::string without(std::string text, const std::string &what,
                           const std::string &by = "") {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

static Setting threads(uint32_t count) {
  Setting setting;
  setting.block = {count, 1, 1};
  return setting;
}

/// Thread i gives its value to thread 63 - i.
static const std::string reversal = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  ld.global.u32 %r1, [%rd2];
  st.shared.u32 [%rd6], %r1;
  bar.sync 0;
  sub.u32 %r2, 63, %r0;
  mul.wide.u32 %rd7, %r2, 4;
  add.s64 %rd8, %rd5, %rd7;
  ld.shared.u32 %r3, [%rd8];
  st.global.u32 [%rd3], %r3;
)";
static const std::string buffer = ".shared .align 16 .b8 buffer[256];";

TEST(Checks, MissingBarrierIsARace) {
  Setting setting = threads(64);
  for (uint32_t i = 0; i < 64; ++i)
    setting.in[i] = i;
  Ran good = runBody(reversal, setting, buffer);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[0], 63u);
  // All values are there before they are read, in the emulator's order: only
  // the race detector sees what is missing.
  Ran bad = runBody(
      without(reversal, "bar.sync 0;", "st.shared.u32 [%rd5+256], %r1;"),
      setting, ".shared .align 16 .b8 buffer[512];");
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
}

/// Waits for the grids that it depends on, then touches global memory.
static const std::string dependent = std::string(perThread) + R"(
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd3], %r1;
)";

TEST(Checks, GlobalMemoryBeforeTheWaitForOtherGridsIsARace) {
  Ran good = runBody(dependent, threads(64));
  EXPECT_EQ(good.findings(), "");
  Ran early = runBody(without(dependent, "griddepcontrol.launch_dependents;",
                              "ld.global.u32 %r1, [%rd2];"),
                      threads(64));
  EXPECT_TRUE(early.has(Fault::Race)) << early.findings();
  EXPECT_NE(early.findings().find("before griddepcontrol.wait"),
            std::string::npos);
}

TEST(Checks, ThreadsThatEndWithoutTheWaitForOtherGridsAreReported) {
  Ran ran = runBody(
      without(dependent, "griddepcontrol.wait;",
              "setp.lt.u32 %p1, %r0, 64;\n  @%p1 bra waits;\n  ret;\nwaits:\n"
              "  griddepcontrol.wait;"),
      threads(96));
  EXPECT_TRUE(ran.has(Fault::Race)) << ran.findings();
  EXPECT_NE(ran.findings().find("ends without griddepcontrol.wait"),
            std::string::npos);
}

TEST(Checks, RaceNamesLineBlockThreadAddressAndTheOtherAccess) {
  Ran ran = runBody(R"(
  mov.u64 %rd5, buffer;
  st.shared.u32 [%rd5], %r0;
)",
                    threads(64), buffer);
  EXPECT_NE(ran.findings().find(
                "18:3: data race: block (0, 0, 0), thread (1, 0, 0), address "
                "0x400: write after the write at line 18 'st.shared.u32 "
                "[%rd5], %r0' by thread (0, 0, 0), with nothing that puts them "
                "in order, in 'st.shared.u32 [%rd5], %r0'"),
            std::string::npos)
      << ran.findings();
}

TEST(Checks, SameValueFromManyThreadsIsNoRace) {
  std::string body = R"(
  mov.u64 %rd5, buffer;
  mov.u32 %r1, 7;
  st.shared.u32 [%rd5], %r1;
  ld.shared.u32 %r2, [%rd5];
  bar.sync 0;
  st.shared.u32 [%rd5], 9;
)";
  EXPECT_EQ(runBody(body, threads(64), buffer).findings(), "");
  // A reader that wrote nothing needs an order with one of them.
  EXPECT_TRUE(runBody(R"(
  mov.u64 %rd5, buffer;
  setp.lt.u32 %p1, %r0, 32;
  @%p1 st.shared.u32 [%rd5], 7;
  ld.shared.u32 %r2, [%rd5];
)",
                      threads(64), buffer)
                  .has(Fault::Race));
}

TEST(Checks, WarpsNeedASyncToo) {
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  st.shared.u32 [%rd6], %r0;
  bar.warp.sync 0xffffffff;
  xor.b32 %r2, %r0, 1;
  mul.wide.u32 %rd7, %r2, 4;
  add.s64 %rd8, %rd5, %rd7;
  ld.shared.u32 %r3, [%rd8];
  st.global.u32 [%rd3], %r3;
)";
  Ran good = runBody(body, threads(64), buffer);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[4], 5u);
  EXPECT_TRUE(
      runBody(without(body, "bar.warp.sync 0xffffffff;"), threads(64), buffer)
          .has(Fault::Race));
}

/// The last block to come adds up what all have left: the pattern of split
/// reductions.
static const std::string lastBlock = R"(
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd3, %rd1, %rd4;
  add.u32 %r2, %r1, 100;
  st.global.u32 [%rd3], %r2;
  membar.gl;
  mov.u64 %rd5, counter;
  atom.global.add.u32 %r3, [%rd5], 1;
  mov.u32 %r4, %nctaid.x;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p1, %r3, %r4;
  @%p1 ret;
  membar.gl;
  ld.global.u32 %r5, [%rd1];
  ld.global.u32 %r6, [%rd1+4];
  ld.global.u32 %r7, [%rd1+8];
  add.u32 %r5, %r5, %r6;
  add.u32 %r5, %r5, %r7;
  st.global.u32 [%rd1+128], %r5;
)";

TEST(Checks, BlocksNeedFencesAroundTheAtomic) {
  Setting setting = threads(1);
  setting.grid = {3, 1, 1};
  const char *counter = ".global .u32 counter;";
  Ran good = runBody(lastBlock, setting, counter);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[32], 303u);
  Ran bad = runBody(without(lastBlock, "membar.gl;"), setting, counter);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
  EXPECT_NE(bad.findings().find("a thread of another block"),
            std::string::npos);
}

/// All threads of a block write and fence; one tells of it.
TEST(Checks, FencesBeforeABarrierCount) {
  std::string body = R"(
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 32, %r0;
  mul.wide.u32 %rd4, %r2, 4;
  add.s64 %rd3, %rd1, %rd4;
  st.global.u32 [%rd3], %r2;
  membar.gl;
  bar.sync 0;
  mov.u64 %rd5, counter;
  mov.u64 %rd6, flag;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra TOLD;
  atom.global.add.u32 %r3, [%rd5], 1;
  st.shared.u32 [%rd6], %r3;
TOLD:
  bar.sync 0;
  ld.shared.u32 %r3, [%rd6];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 ret;
  membar.gl;
  sub.u32 %r4, 63, %r2;
  mul.wide.u32 %rd7, %r4, 4;
  add.s64 %rd8, %rd1, %rd7;
  ld.global.u32 %r5, [%rd8];
  add.s64 %rd9, %rd3, 256;
  st.global.u32 [%rd9], %r5;
)";
  const char *variables = ".global .u32 counter;\n.shared .u32 flag;";
  Setting setting = threads(32);
  setting.grid = {2, 1, 1};
  setting.outWords = 128;
  Ran good = runBody(body, setting, variables);
  EXPECT_EQ(good.findings(), "");
  Ran bad = runBody(without(body, "  membar.gl;\n"), setting, variables);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
}

TEST(Checks, BlocksThatWriteTheSamePlaceRace) {
  Setting setting = threads(1);
  setting.grid = {2, 1, 1};
  EXPECT_TRUE(
      runBody("mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1;", setting)
          .has(Fault::Race));
  EXPECT_EQ(runBody("red.global.add.u32 [%rd1], 1;",
                    [&] {
                      Setting initialized = setting;
                      initialized.isOutInitialized = true;
                      return initialized;
                    }())
                .findings(),
            "");
}

TEST(Checks, OutOfBounds) {
  std::string body = std::string(perThread) + "st.global.u32 [%rd3], %r0;";
  EXPECT_EQ(runBody(body, threads(64)).findings(), "");
  Setting small = threads(64);
  small.outWords = 63;
  Ran ran = runBody(body, small);
  EXPECT_TRUE(ran.has(Fault::OutOfBounds));
  EXPECT_NE(ran.findings().find("thread (63, 0, 0)"), std::string::npos);
  EXPECT_NE(ran.findings().find("0 bytes past the end of 'out' (252 bytes)"),
            std::string::npos)
      << ran.findings();
  // Shared memory: past the only variable.
  EXPECT_EQ(runBody("mov.u64 %rd5, buffer; st.shared.u32 [%rd5+252], 1;",
                    threads(1), buffer)
                .findings(),
            "");
  EXPECT_TRUE(runBody("mov.u64 %rd5, buffer; st.shared.u32 [%rd5+256], 1;",
                      threads(1), buffer)
                  .has(Fault::OutOfBounds));
  // Local memory.
  EXPECT_TRUE(runBody(".local .align 4 .b8 own[8]; mov.u64 %rd5, own;"
                      "st.local.u32 [%rd5+8], 1;",
                      threads(1))
                  .has(Fault::OutOfBounds));
  // A null pointer.
  EXPECT_TRUE(runBody("mov.u64 %rd5, 0; ld.global.u32 %r1, [%rd5];")
                  .has(Fault::OutOfBounds));
}

/// An aligned access whose last element alone is behind the buffer.
TEST(Checks, TheEndOfABufferIsExact) {
  Setting setting = threads(1);
  setting.in.resize(7);
  EXPECT_EQ(runBody("ld.global.v2.u32 {%r1, %r2}, [%rd0+16];"
                    "ld.global.u32 %r3, [%rd0+24];",
                    setting)
                .findings(),
            "");
  Ran ran =
      runBody("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+16];", setting);
  EXPECT_TRUE(ran.has(Fault::OutOfBounds));
  EXPECT_NE(ran.findings().find("it begins 16 bytes into 'in' (28 bytes) and "
                                "ends past it"),
            std::string::npos)
      << ran.findings();
}

TEST(Checks, WritesToWhatCanOnlyBeRead) {
  EXPECT_TRUE(runBody("st.global.u32 [%rd0], 1;").has(Fault::ReadOnly));
  EXPECT_TRUE(runBody("mov.u64 %rd5, c; st.global.u32 [%rd5], 1;", {},
                      ".const .u32 c = 1;")
                  .has(Fault::ReadOnly));
}

TEST(Checks, Misaligned) {
  EXPECT_EQ(runBody("ld.global.v2.u32 {%r1, %r2}, [%rd0+8];").findings(), "");
  Ran ran = runBody("ld.global.v2.u32 {%r1, %r2}, [%rd0+4];");
  EXPECT_TRUE(ran.has(Fault::Misaligned));
  EXPECT_NE(ran.findings().find("must be aligned to 8"), std::string::npos);
}

TEST(Checks, UninitializedMemory) {
  std::string body = "mov.u64 %rd5, buffer; st.shared.u32 [%rd5], 1;"
                     "ld.shared.u32 %r1, [%rd5];";
  EXPECT_EQ(runBody(body, threads(1), buffer).findings(), "");
  EXPECT_TRUE(
      runBody(without(body, "st.shared.u32 [%rd5], 1;"), threads(1), buffer)
          .has(Fault::Uninitialized));
  EXPECT_TRUE(runBody("ld.global.u32 %r1, [%rd1];").has(Fault::Uninitialized));
  EXPECT_TRUE(runBody(".local .align 4 .b8 own[8]; mov.u64 %rd5, own;"
                      "ld.local.u32 %r1, [%rd5]; st.local.u32 [%rd5+4], %r1;"
                      "ld.local.u32 %r2, [%rd5+4];"
                      "st.global.u32 [%rd1], %r2;")
                  .has(Fault::UndefinedRegister));
}

TEST(Checks, UndefinedRegistersMayBeMovedButNotUsed) {
  EXPECT_EQ(runBody("add.u32 %r2, %r1, 1; mov.u32 %r3, %r2;").findings(), "");
  EXPECT_TRUE(runBody("add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r2;")
                  .has(Fault::UndefinedRegister));
  EXPECT_TRUE(runBody("@%p1 bra L; L: ret;").has(Fault::UndefinedRegister));
  // Written under a guard: only those lanes have a value.
  EXPECT_TRUE(runBody(std::string(perThread) + R"(
  setp.lt.u32 %p1, %r0, 31;
  @%p1 mov.u32 %r1, 1;
  st.global.u32 [%rd3], %r1;)")
                  .has(Fault::UndefinedRegister));
}

TEST(Checks, HalvesOfRegistersAreDefinedByThemselves) {
  // The upper half has no value until %h2 has one.
  std::string packed = ".reg .b16 %h<6>; mov.b16 %h1, 0x3c00;"
                       "mov.b32 %r2, {%h1, %h2}; add.rn.f16x2 %r3, %r2, %r2;",
              converted = ".reg .b16 %h<6>; .reg .f32 %f<3>;"
                          "mov.f32 %f1, 0f3f800000;"
                          "cvt.rn.bf16x2.f32 %r3, %f2, %f1;";
  for (const std::string &body : {packed, converted}) {
    std::string unpacked = body + "mov.b32 {%h4, %h5}, %r3;";
    EXPECT_EQ(runBody(unpacked + "st.global.b16 [%rd1], %h4;").findings(), "");
    EXPECT_TRUE(runBody(unpacked + "st.global.b16 [%rd1], %h5;")
                    .has(Fault::UndefinedRegister));
    EXPECT_EQ(runBody(body + "shl.b32 %r4, %r3, 16; st.global.b32 [%rd1], %r4;")
                  .findings(),
              "");
    EXPECT_TRUE(
        runBody(body + "shr.u32 %r4, %r3, 16; st.global.b32 [%rd1], %r4;")
            .has(Fault::UndefinedRegister));
    EXPECT_TRUE(
        runBody(body + "shl.b32 %r4, %r3, 15; st.global.b32 [%rd1], %r4;")
            .has(Fault::UndefinedRegister));
    EXPECT_TRUE(runBody(body + "st.global.b32 [%rd1], %r3;")
                    .has(Fault::UndefinedRegister));
    // What is written as a whole later has no half from before.
    EXPECT_TRUE(runBody(body + "add.u32 %r3, %r7, 1; mov.b32 {%h4, _}, %r3;"
                               "st.global.b16 [%rd1], %h4;")
                    .has(Fault::UndefinedRegister));
  }
}

TEST(Checks, BarrierDivergence) {
  std::string body = R"(
  setp.lt.u32 %p1, %r0, 16;
  @!%p1 bra JOIN;
  bar.sync 0;
JOIN:
  mov.u32 %r1, 1;
)";
  Ran ran = runBody(body);
  EXPECT_TRUE(ran.has(Fault::BarrierDivergence)) << ran.findings();
  EXPECT_NE(ran.findings().find("only lanes 0xffff of the warp's 0xffffffff"),
            std::string::npos)
      << ran.findings();
  EXPECT_EQ(runBody(without(body, "@!%p1 bra JOIN;")).findings(), "");
}

TEST(Checks, DeadlockSaysWhereEachWarpWaits) {
  std::string body = R"(
  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra FIRST;
  bar.sync 1, 64;
  bra OUT;
FIRST:
  bar.sync 2, 64;
OUT:
  mov.u32 %r1, 1;
)";
  Ran ran = runBody(body, threads(64));
  EXPECT_TRUE(ran.has(Fault::Deadlock)) << ran.findings();
  EXPECT_NE(ran.findings().find("warp 0 waits at line 22 'bar.sync 2, 64'; "
                                "warp 1 waits at line 19 'bar.sync 1, 64'"),
            std::string::npos)
      << ran.findings();
  EXPECT_EQ(runBody(without(body, "bar.sync 2", "bar.sync 1"), threads(64))
                .findings(),
            "");
}

TEST(Checks, BarriersHaveCountsInWarps) {
  EXPECT_TRUE(runBody("bar.sync 0, 20;").has(Fault::BarrierDivergence));
  EXPECT_TRUE(runBody("mov.u32 %r1, 16; bar.sync %r1;").has(Fault::Resources));
  EXPECT_TRUE(runBody("bar.sync 0, 64;").has(Fault::Deadlock));
}

TEST(Checks, ResourceLimits) {
  EXPECT_TRUE(runBody("", threads(2048)).has(Fault::Resources));
  Setting large;
  large.shared = 228 * 1024;
  EXPECT_TRUE(runBody("", large).has(Fault::Resources));
  large.shared = 227 * 1024;
  EXPECT_EQ(runBody("", large).findings(), "");
  EXPECT_TRUE(
      runBody("", threads(64), "", ".reqntid 32, 1, 1").has(Fault::Launch));
  EXPECT_TRUE(
      runBody("", threads(64), "", ".maxntid 32, 1, 1").has(Fault::Launch));
}

TEST(Checks, RegisterPool) {
  // 384 threads of 168 registers: 24 + 2 * 240 fit, 32 + 2 * 240 don't.
  std::string body = R"(
  setp.lt.u32 %p1, %r0, 128;
  @%p1 bra PRODUCER;
  setmaxnreg.inc.sync.aligned.u32 240;
  bra OUT;
PRODUCER:
  setmaxnreg.dec.sync.aligned.u32 24;
OUT:
  mov.u32 %r1, 1;
)";
  EXPECT_EQ(runBody(body, threads(384)).findings(), "");
  Ran ran = runBody(without(body, "u32 24;", "u32 32;"), threads(384));
  EXPECT_TRUE(ran.has(Fault::Deadlock)) << ran.findings();
}

TEST(Checks, MemberMasks) {
  EXPECT_EQ(runBody("redux.sync.add.u32 %r1, %r0, 0xffffffff;").findings(), "");
  EXPECT_TRUE(runBody("redux.sync.add.u32 %r1, %r0, 0x0000ffff;")
                  .has(Fault::BarrierDivergence));
  EXPECT_TRUE(runBody(R"(
  setp.lt.u32 %p1, %r0, 16;
  @%p1 redux.sync.add.u32 %r1, %r0, 0xffffffff;)")
                  .has(Fault::BarrierDivergence));
}

/// Lanes whose paths have not met yet wait for each other at a shuffle.
TEST(Checks, ShufflesWaitForDividedMembers) {
  // A divided warp comes to the loop's shuffle in two parts; the paths meet
  // behind the loop only.
  std::string body = std::string(perThread) + R"(
  mov.u32 %r1, 0;
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra LATE;
LOOP:
  shfl.sync.bfly.b32 %r2, %r0, 16, 31, 0xffffffff;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 3;
  @%p2 bra LOOP;
  bra OUT;
LATE:
  mov.u32 %r2, 0;
  setp.gt.u32 %p3, %r0, 99;
  @%p3 bra OUT;
  bra LOOP;
OUT:
  st.global.u32 [%rd3], %r2;
)";
  Ran good = runBody(body);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[3], 19u);
  EXPECT_EQ(good.out[20], 4u);
  // The late half never comes.
  Ran bad = runBody(without(body, "99;", "9;"));
  EXPECT_TRUE(bad.has(Fault::BarrierDivergence)) << bad.findings();
}
