// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged PTX never crashes the emulator: it is rejected, or runs into a
// finding, or just runs. The seed is fixed.

#include "Harness.h"

#include <random>

using namespace deplo::emulator;

static const std::string source = kernelAround(R"(
  mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd2, %rd0, %rd4;
  add.s64 %rd3, %rd1, %rd4;
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  cp.async.ca.shared.global [%rd6], [%rd2], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.v2.u32 {%r1, %r2}, [%rd5+8];
  setp.lt.u32 %p1, %r0, 16;
  @!%p1 bra ELSE;
  { .reg .b32 t; shl.b32 t, %r1, 3; add.u32 %r3, t, 1; }
  bra.uni JOIN;
ELSE:
  cvt.rn.f32.u32 %f1, %r2;
  fma.rn.ftz.f32 %f2, %f1, 0f3F800000, %f1;
  cvt.rzi.u32.f32 %r3, %f2;
JOIN:
  shfl.sync.bfly.b32 %r4|%p2, %r3, 1, 31, -1;
  atom.global.add.u32 %r5, [counter], 1;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f3, %f4, %f5, %f6}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f2, %f2, %f2, %f2};
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%rd5];
  mbarrier.init.shared.b64 [%rd5+128], 32;
  mbarrier.arrive.shared.b64 %rd7, [%rd5+128];
  mbarrier.test_wait.shared.b64 %p3, [%rd5+128], %rd7;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], 3;
    call (b), recursive, (a);
    ld.param.b32 %r8, [b]; }
  st.global.u32 [%rd3], %r4;
)",
                                               ".shared .align 16 .b8 "
                                               "buffer[256];\n.global .u32 "
                                               "counter;\n"
                                               R"(
.func (.param .b32 result) recursive(.param .b32 n) {
  .reg .pred %p;
  .reg .b32 %x<3>;
  .param .b32 a;
  .param .b32 b;
  .local .b32 own;
  ld.param.b32 %x0, [n];
  st.local.b32 [own], %x0;
  setp.eq.u32 %p, %x0, 0;
  sub.u32 %x1, %x0, 1;
  st.param.b32 [a], %x1;
  @!%p call (b), recursive, (a);
  ld.local.b32 %x2, [own];
  st.param.b32 [result], %x2;
  ret;
})");

/// Pieces that are put in at random.
static const char *const pieces[] = {"%r1",
                                     "%rd1",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ";",
                                     ",",
                                     ".f32",
                                     ".v4",
                                     ".b128",
                                     "bra",
                                     "@%p1 ",
                                     "0",
                                     "-1",
                                     "4294967295",
                                     "18446744073709551615",
                                     ":",
                                     "%p1|%p2",
                                     ".reg .b32 %r<9999999>;",
                                     ".shared .b8 z[99999999];",
                                     "call f;",
                                     "ret;",
                                     "0f7FC00000",
                                     "99999999999999999999.5e300",
                                     "/*",
                                     "\"",
                                     "wgmma",
                                     ".local",
                                     "_"};

TEST(Mutation, NeverCrashes) {
  std::mt19937 generator(20260101);
  auto below = [&](size_t n) { return size_t(generator()) % n; };
  unsigned rejected = 0, ran = 0;
  for (unsigned round = 0; round < 4000; ++round) {
    std::string text = source;
    unsigned changes = 1 + unsigned(below(3));
    for (unsigned i = 0; i < changes; ++i) {
      size_t at = below(text.size());
      switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(12));
        break;
      case 1:
        text[at] = char(32 + below(95));
        break;
      case 2:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 3: { // A line twice, or gone.
        size_t end = text.find('\n', at);
        end = end == std::string::npos ? text.size() : end;
        std::string line = text.substr(at, end - at);
        below(2) ? text.erase(at, end - at) : text.insert(at, line);
        break;
      }
      default: // A digit becomes another.
        at = text.find_first_of("0123456789", at);
        if (at != std::string::npos)
          text[at] = char('0' + below(10));
      }
    }
    Setting setting;
    setting.budget = 20000;
    Ran result = runText(text, setting);
    ++(result.error.empty() ? ran : rejected);
  }
  // Both kinds have to be there for the test to mean something.
  EXPECT_GT(rejected, 1000u);
  EXPECT_GT(ran, 100u);
}
