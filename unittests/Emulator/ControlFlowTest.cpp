// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Harness.h"

using namespace deplo::emulator;

TEST(ControlFlow, LanesMeetAgainAfterABranch) {
  Ran ran = runBody(std::string(perThread) + R"(
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra EVEN;
  mov.u32 %r2, 7;
  bra JOIN;
EVEN:
  mov.u32 %r2, 3;
JOIN:
  activemask.b32 %r3;
  setp.eq.u32 %p2, %r3, 0xffffffff;
  selp.u32 %r4, %r2, 0, %p2;
  st.global.u32 [%rd3], %r4;
)");
  EXPECT_EQ(ran.findings(), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i % 2 ? 7u : 3u);
  EXPECT_EQ(ran.outcome.counters.divergentBranches, 1u);
}

/// Paths that end in a trap are none that others wait for.
TEST(ControlFlow, LanesMeetBeforeTheEndThoughOneMayTrap) {
  Ran ran = runBody(std::string(perThread) + R"(
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra SMALL;
  setp.lt.u32 %p2, %r0, 32;
  @%p2 bra JOIN;
  trap;
SMALL:
  mov.u32 %r2, 3;
JOIN:
  activemask.b32 %r3;
  st.global.u32 [%rd3], %r3;
)");
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 0xffffffffu);
  EXPECT_EQ(ran.out[31], 0xffffffffu);
}

TEST(ControlFlow, LoopsOfDifferentLengths) {
  Ran ran = runBody(std::string(perThread) + R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
LOOP:
  add.u32 %r2, %r2, %r1;
  add.u32 %r1, %r1, 1;
  setp.le.u32 %p1, %r1, %r0;
  @%p1 bra LOOP;
  shfl.sync.idx.b32 %r3|%p2, %r2, 31, 31, 0xffffffff;
  add.u32 %r3, %r3, %r2;
  st.global.u32 [%rd3], %r3;
)");
  EXPECT_EQ(ran.findings(), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i * (i + 1) / 2 + 31 * 32 / 2);
}

TEST(ControlFlow, EarlyReturnLeavesTheOthersTogether) {
  Setting setting;
  setting.block = {64, 1, 1};
  Ran ran = runBody(std::string(perThread) + R"(
  mov.u32 %r1, 0;
LOOP:
  setp.eq.u32 %p1, %r0, 5;
  @%p1 ret;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 4;
  @%p2 bra LOOP;
  bar.sync 0;
  vote.sync.ballot.b32 %r2, %p2, 0xffffffdf;
  st.global.u32 [%rd3], %r1;
)",
                    setting);
  // The second warp has no thread that returned, so its mask is wrong there.
  EXPECT_TRUE(ran.has(Fault::BarrierDivergence)) << ran.findings();
  setting.block = {32, 1, 1};
  ran = runBody(std::string(perThread) + R"(
  mov.u32 %r1, 0;
LOOP:
  setp.eq.u32 %p1, %r0, 5;
  @%p1 ret;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 4;
  @%p2 bra LOOP;
  bar.sync 0;
  vote.sync.ballot.b32 %r2, !%p2, 0xffffffdf;
  st.global.u32 [%rd3], %r2;
)",
                setting);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 0xffffffdfu);
  EXPECT_EQ(ran.out[5], 0xdeadbeefu);
}

TEST(ControlFlow, IndexedBranches) {
  Ran ran = runBody(std::string(perThread) + R"(
  and.b32 %r1, %r0, 3;
T: .branchtargets A, B, C, A;
  brx.idx %r1, T;
A: mov.u32 %r2, 10; bra OUT;
B: mov.u32 %r2, 20; bra OUT;
C: mov.u32 %r2, 30;
OUT:
  st.global.u32 [%rd3], %r2;
)");
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 10u);
  EXPECT_EQ(ran.out[1], 20u);
  EXPECT_EQ(ran.out[2], 30u);
  EXPECT_EQ(ran.out[3], 10u);
}

TEST(ControlFlow, CallsPassParametersAndResults) {
  const char *functions = R"(
.func (.param .b32 result) square(.param .b32 x)
{
  .reg .b32 %r<4>;
  .reg .pred %p1;
  ld.param.u32 %r1, [x];
  setp.gt.u32 %p1, %r1, 20;
  @%p1 bra BIG;
  mul.lo.u32 %r2, %r1, %r1;
  st.param.u32 [result], %r2;
  ret;
BIG:
  st.param.u32 [result], 1;
  ret;
}
.func (.reg .b32 result) twice(.reg .b32 x)
{
  add.u32 result, x, x;
  ret;
}
)";
  Ran ran = runBody(std::string(perThread) + R"(
  { .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r0;
    call.uni (r), square, (a);
    ld.param.b32 %r1, [r]; }
  setp.lt.u32 %p1, %r0, 16;
  @%p1 call (%r1), twice, (%r1);
  st.global.u32 [%rd3], %r1;
)",
                    {}, functions);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[3], 18u);
  EXPECT_EQ(ran.out[17], 289u);
  EXPECT_EQ(ran.out[25], 1u);
}

TEST(ControlFlow, LanesThatSpinLetOthersGoOn) {
  // Each lane takes a lock in turn.
  Ran ran = runBody(R"(
  mov.u64 %rd5, lock;
AGAIN:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd5], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ld.global.u32 %r2, [%rd5+4];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd5+4], %r2;
  atom.release.gpu.global.exch.b32 %r1, [%rd5], 0;
  bar.warp.sync 0xffffffff;
  ld.global.u32 %r2, [%rd5+4];
  st.global.u32 [%rd1], %r2;
)",
                    {}, ".global .align 8 .u32 lock[2];");
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 32u);
}

TEST(ControlFlow, WhatNeverEndsIsStopped) {
  Ran ran = runBody("L: add.u32 %r1, %r0, 1; bra L;");
  EXPECT_TRUE(ran.has(Fault::Budget)) << ran.findings();
  EXPECT_NE(ran.findings().find("16:"), std::string::npos);
}

/// Lanes go through a table of functions to different ones.
TEST(ControlFlow, CallsThroughRegisters) {
  std::string functions = R"(
.func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 %v;
  ld.param.b32 %v, [x];
  add.u32 %v, %v, %v;
  st.param.b32 [result], %v;
  ret;
}
.func (.param .b32 result) next(.param .b32 x) {
  .reg .b32 %v;
  ld.param.b32 %v, [x];
  add.u32 %v, %v, 1;
  st.param.b32 [result], %v;
  ret;
}
.func (.param .b64 result) another(.param .b64 x) { ret; }
.global .align 8 .u64 functions[3] = {twice, next, another};
)";
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, functions;
  and.b32 %r1, %r0, 1;
  mul.wide.u32 %rd6, %r1, 8;
  add.s64 %rd5, %rd5, %rd6;
  ld.global.u64 %rd7, [%rd5];
  {
  .param .b32 argument;
  .param .b32 outcome;
  st.param.b32 [argument], %r0;
  prototype : .callprototype (.param .b32 _) _ (.param .b32 _);
  call (outcome), %rd7, (argument), prototype;
  ld.param.b32 %r2, [outcome];
  }
  st.global.u32 [%rd3], %r2;
)";
  Ran ran = runBody(body, {}, functions);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[6], 12u);
  EXPECT_EQ(ran.out[7], 8u);
  // The address of a function that takes something else.
  std::string wrong = body;
  wrong.replace(wrong.find("%r0, 1;"), 7, "%r0, 2;");
  EXPECT_TRUE(runBody(wrong, {}, functions).has(Fault::Trap));
}

TEST(ControlFlow, FunctionsWithoutABodyAndTraps) {
  EXPECT_TRUE(
      runBody("call ext;", {}, ".extern .func ext;").has(Fault::Unsupported));
  EXPECT_TRUE(runBody("trap;").has(Fault::Trap));
}

//===----------------------------------------------------------------------===//
// Functions that call themselves
//===----------------------------------------------------------------------===//

/// Lanes go to different depths; each call has its own register and variable.
TEST(ControlFlow, Recursion) {
  const char *functions = R"(
.func (.reg .b32 result) fibonacci(.reg .b32 n)
{
  .reg .pred %p1;
  .reg .b32 %r<4>;
  setp.lt.u32 %p1, n, 2;
  @%p1 bra SMALL;
  sub.u32 %r1, n, 1;
  call (%r2), fibonacci, (%r1);
  sub.u32 %r1, n, 2;
  call (%r3), fibonacci, (%r1);
  add.u32 result, %r2, %r3;
  ret;
SMALL:
  mov.u32 result, n;
  ret;
}
)";
  Ran ran = runBody(std::string(perThread) + R"(
  and.b32 %r1, %r0, 15;
  call (%r2), fibonacci, (%r1);
  activemask.b32 %r3;
  setp.eq.u32 %p1, %r3, 0xffffffff;
  selp.u32 %r2, %r2, 0, %p1;
  st.global.u32 [%rd3], %r2;
)",
                    {}, functions);
  EXPECT_EQ(ran.findings(), "");
  unsigned sum = 0, last = 1;
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_EQ(ran.out[i], sum) << i;
    EXPECT_EQ(ran.out[16 + i], sum) << i;
    std::swap(sum, last);
    sum += last;
  }
}

/// Two functions in turn, with parameters in memory, whose order changes, and
/// a guard that the inner calls overwrite. A caller's variable is written
/// through its address.
TEST(ControlFlow, FunctionsThatCallEachOther) {
  const char *functions = R"(
.func (.param .b32 result) even(.param .b32 x, .param .b32 y, .param .b64 at);
.func (.reg .b32 result) odd(.reg .b32 x, .reg .b32 y, .reg .b64 at)
{
  .reg .pred %p1;
  .reg .b32 %r<4>;
  .param .b32 a;
  .param .b32 b;
  .param .b64 c;
  .param .b32 r;
  mov.b32 result, y;
  setp.ne.u32 %p1, x, 0;
  sub.u32 %r1, x, 1;
  st.param.b32 [a], y;
  st.param.b32 [b], %r1;
  st.param.b64 [c], at;
  @%p1 call (r), even, (a, b, c);
  @%p1 ld.param.b32 result, [r];
  @%p1 add.u32 result, result, x;
  ret;
}
.func (.param .b32 result) even(.param .b32 x, .param .b32 y, .param .b64 at)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .local .align 4 .b32 mine;
  ld.param.b32 %r1, [x];
  ld.param.b32 %r2, [y];
  ld.param.b64 %rd1, [at];
  st.local.b32 [mine], 0;
  mov.u64 %rd2, mine;
  call (%r3), odd, (%r2, %r1, %rd2);
  ld.local.b32 %r2, [mine];
  add.u32 %r2, %r2, 1;
  st.local.b32 [%rd1], %r2;
  st.param.b32 [result], %r3;
  ret;
}
)";
  Ran ran = runBody(std::string(perThread) + R"(
  .local .align 4 .b32 depth;
  st.local.b32 [depth], 0;
  mov.u64 %rd5, depth;
  mov.u32 %r1, 100;
  call (%r2), odd, (%r0, %r1, %rd5);
  st.global.u32 [%rd3], %r2;
  ld.local.b32 %r2, [depth];
  st.global.u32 [%rd3+128], %r2;
)",
                    {}, functions);
  EXPECT_EQ(ran.findings(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(ran.out[i], i * (i + 1) / 2 + 100) << i;
    EXPECT_EQ(ran.out[32 + i], i) << i;
  }
}

/// A pointer to a variable of a call that has returned is to nothing.
TEST(ControlFlow, FramesEnd) {
  const char *functions = R"(
.func (.reg .b64 result) f(.reg .b32 n)
{
  .reg .pred %p1;
  .reg .b32 %r1;
  .local .align 4 .b32 mine;
  mov.u64 result, mine;
  st.local.b32 [mine], 1;
  setp.eq.u32 %p1, n, 0;
  @%p1 ret;
  sub.u32 %r1, n, 1;
  call (result), f, (%r1);
}
)";
  Ran ran = runBody(R"(
  call (%rd5), f, (3);
  ld.local.b32 %r1, [%rd5];
)",
                    {}, functions);
  EXPECT_TRUE(ran.has(Fault::OutOfBounds)) << ran.findings();
  EXPECT_EQ(runBody("call (%rd5), f, (3);", {}, functions).findings(), "");
}

TEST(ControlFlow, TheStackHasAnEnd) {
  const char *endless = ".func f(.reg .b32 n) { .reg .b32 %r1;"
                        " add.u32 %r1, n, 1; call f, (%r1); }";
  Ran ran = runBody("call f, (0);", {}, endless);
  ASSERT_EQ(ran.outcome.diagnostics.size(), 1u) << ran.findings();
  EXPECT_TRUE(ran.has(Fault::Resources));
  EXPECT_NE(ran.findings().find("the stack of a thread, 65536 bytes, has no "
                                "room for another 'f' within 2048 calls"),
            std::string::npos)
      << ran.findings();
}
