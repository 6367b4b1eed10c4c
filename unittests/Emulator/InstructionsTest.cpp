// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction at a time: values from the ISA's definitions.

#include "Harness.h"

#include <cmath>

using namespace deplo::emulator;

namespace {

uint32_t bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return word;
}

/// Runs `instruction` on %r1, %r2, %r4 (or %rd8, %rd9, %rd10) and gives %r3 (or
/// %rd11).
uint32_t eval32(const std::string &instruction, uint32_t a, uint32_t b = 0,
                uint32_t c = 0) {
  Setting setting;
  setting.block = {1, 1, 1};
  setting.in = {a, b, c};
  Ran ran = runBody("ld.global.u32 %r1, [%rd0]; ld.global.u32 %r2, [%rd0+4];"
                    "ld.global.u32 %r4, [%rd0+8];" +
                        instruction + "st.global.u32 [%rd1], %r3;",
                    setting);
  EXPECT_EQ(ran.findings(), "") << instruction;
  return ran.out.empty() ? 0 : ran.out[0];
}

uint64_t eval64(const std::string &instruction, uint64_t a, uint64_t b = 0,
                uint64_t c = 0) {
  Setting setting;
  setting.block = {1, 1, 1};
  setting.in = {uint32_t(a),       uint32_t(a >> 32), uint32_t(b),
                uint32_t(b >> 32), uint32_t(c),       uint32_t(c >> 32)};
  Ran ran = runBody("ld.global.u64 %rd8, [%rd0]; ld.global.u64 %rd9, [%rd0+8];"
                    "ld.global.u64 %rd10, [%rd0+16];" +
                        instruction + "st.global.u64 [%rd1], %rd11;",
                    setting);
  EXPECT_EQ(ran.findings(), "") << instruction;
  return ran.out.empty() ? 0 : ran.out[0] | uint64_t(ran.out[1]) << 32;
}

uint32_t evalFloat(const std::string &operation, float a, float b = 0,
                   float c = 0, unsigned operands = 2) {
  static const char *names[] = {"%f1", "%f1, %f2", "%f1, %f2, %f4"};
  return eval32("mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f4, %r4;" +
                    operation + " %f3, " + names[operands - 1] +
                    "; mov.b32 %r3, %f3;",
                bits(a), bits(b), bits(c));
}

} // namespace

TEST(Instructions, Integers) {
  EXPECT_EQ(eval32("add.u32 %r3, %r1, %r2;", 0xffffffff, 2), 1u);
  EXPECT_EQ(eval32("add.sat.s32 %r3, %r1, %r2;", 0x7fffffff, 2), 0x7fffffffu);
  EXPECT_EQ(eval32("mul.hi.s32 %r3, %r1, %r2;", 0x80000000, 0x80000000),
            0x40000000u);
  EXPECT_EQ(eval32("mad.lo.u32 %r3, %r1, %r2, %r4;", 7, 8, 9), 65u);
  EXPECT_EQ(eval64("mul.wide.s32 %rd11, %r1, %r2;"
                   "mov.b64 {%r1, %r2}, %rd8; mul.wide.s32 %rd11, %r1, %r2;",
                   uint64_t(uint32_t(-3)) | uint64_t(5) << 32),
            uint64_t(-15));
  EXPECT_EQ(eval32("div.s32 %r3, %r1, %r2;", uint32_t(-7), 2), uint32_t(-3));
  EXPECT_EQ(eval32("rem.s32 %r3, %r1, %r2;", uint32_t(-7), 2), uint32_t(-1));
  EXPECT_EQ(eval32("div.s32 %r3, %r1, %r2;", 0x80000000, uint32_t(-1)),
            0x80000000u);
  EXPECT_EQ(eval32("min.s32 %r3, %r1, %r2;", uint32_t(-1), 1), uint32_t(-1));
  EXPECT_EQ(eval32("min.u32 %r3, %r1, %r2;", uint32_t(-1), 1), 1u);
  EXPECT_EQ(eval32("abs.s32 %r3, %r1;", uint32_t(-9)), 9u);
  EXPECT_EQ(eval32("sad.u32 %r3, %r1, %r2, %r4;", 3, 10, 1), 8u);
  EXPECT_EQ(eval32("mul24.lo.u32 %r3, %r1, %r2;", 0xff000003, 5), 15u);
  // 2**46 - ... >> 16, plus what overflows.
  EXPECT_EQ(eval32("mad24.hi.sat.s32 %r3, %r1, %r2, %r4;", 0x7fffff, 0x7fffff,
                   0x7fffffff),
            0x7fffffffu);
  EXPECT_EQ(eval32("mad24.hi.sat.s32 %r3, %r1, %r2, %r4;", 0x10000, 0x10000,
                   uint32_t(-5)),
            0xfffbu);
  EXPECT_EQ(eval64("add.cc.u64 %rd11, %rd8, %rd9; addc.u64 %rd11, %rd10, 0;",
                   ~uint64_t(0), 1, 4),
            5u);
  EXPECT_EQ(
      eval32("dp4a.u32.u32 %r3, %r1, %r2, %r4;", 0x01020304, 0x01010101, 5),
      15u);
  EXPECT_EQ(eval32("add.u16x2 %r3, %r1, %r2;", 0x0001ffff, 0x00010001),
            0x00020000u);
}

/// `_` takes the place of any result.
TEST(Instructions, ResultsThatNobodyWants) {
  std::string text =
      "add.u32 _, %r1, %r2; mul.wide.u32 _, %r1, %r2; cvt.u16.u32 _, %r1;"
      "mov.b32 _, %r1; setp.lt.u32 _|%p1, %r1, %r2; setp.eq.u32 _, %r1, %r2;"
      "popc.b32 _, %r1; ld.global.v2.u32 {_, %r5}, [%rd0];"
      "vote.sync.any.pred _, %p1, 1; vote.sync.ballot.b32 _, %p1, 1;"
      "shfl.sync.idx.b32 _|%p3, %r1, 0, 31, 1; activemask.b32 _;"
      "add.f32 _, %f1, %f1; selp.u32 %r3, 7, 8, %p1;";
  EXPECT_EQ(eval32("mov.f32 %f1, 0f3F800000;" + text, 1, 2), 8u);
  EXPECT_EQ(eval32("mov.f32 %f1, 0f3F800000;" + text, 2, 1), 7u);
}

TEST(Instructions, Bits) {
  EXPECT_EQ(eval32("shl.b32 %r3, %r1, %r2;", 1, 33), 0u);
  EXPECT_EQ(eval32("shr.s32 %r3, %r1, %r2;", 0x80000000, 40), 0xffffffffu);
  EXPECT_EQ(eval32("shf.l.wrap.b32 %r3, %r1, %r2, %r4;", 0x80000000, 1, 1), 3u);
  EXPECT_EQ(eval32("bfe.u32 %r3, %r1, %r2, %r4;", 0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(eval32("bfe.s32 %r3, %r1, %r2, %r4;", 0x0000f000, 12, 4),
            0xffffffffu);
  EXPECT_EQ(eval32("bfi.b32 %r3, %r1, %r2, 8, 8;", 0xff, 0), 0xff00u);
  EXPECT_EQ(eval32("popc.b32 %r3, %r1;", 0xf0f0), 8u);
  EXPECT_EQ(eval32("clz.b32 %r3, %r1;", 0), 32u);
  EXPECT_EQ(eval32("brev.b32 %r3, %r1;", 1), 0x80000000u);
  EXPECT_EQ(eval32("bfind.u32 %r3, %r1;", 0x100), 8u);
  EXPECT_EQ(eval32("bfind.s32 %r3, %r1;", 0xffffffff), 0xffffffffu);
  EXPECT_EQ(eval32("lop3.b32 %r3, %r1, %r2, %r4, 0x96;", 0xff00, 0x0ff0, 0xf),
            0xf0ffu);
  for (uint32_t other : {0u, 1u}) {
    std::string text = "setp.ne.u32 %p1, %r2, 0; lop3.and.b32 %r5|%p2, %r1, "
                       "%r1, %r1, 0x80, %p1; lop3.or.b32 _|%p3, %r1, %r1, %r1, "
                       "0x80, %p1; selp.u32 %r3, 1, 0, %p2; selp.u32 %r6, 2, 0,"
                       " %p3; or.b32 %r3, %r3, %r6;";
    EXPECT_EQ(eval32(text, 4, other), other ? 3u : 2u);
    EXPECT_EQ(eval32(text, 0, other), other ? 2u : 0u);
  }
  EXPECT_EQ(eval32("prmt.b32 %r3, %r1, %r2, 0x5410;", 0x33221100, 0x77665544),
            0x55441100u);
  EXPECT_EQ(eval32("prmt.b32 %r3, %r1, %r2, 0x8888;", 0x80, 0), 0xffffffffu);
  EXPECT_EQ(eval32("prmt.b32.rc16 %r3, %r1, %r2, 1;", 0x33221100, 0),
            0x33223322u);
  EXPECT_EQ(eval32("fns.b32 %r3, %r1, 0, 3;", 0x2c), 5u);
}

TEST(Instructions, FloatRounding) {
  float tiny = std::ldexp(1.0f, -30);
  EXPECT_EQ(evalFloat("add.rn.f32", 1, tiny), bits(1));
  EXPECT_EQ(evalFloat("add.rp.f32", 1, tiny), bits(1) + 1);
  EXPECT_EQ(evalFloat("add.rz.f32", -1, tiny), bits(-1) - 1);
  EXPECT_EQ(evalFloat("sub.rm.f32", 1, tiny), bits(1) - 1);
  EXPECT_EQ(evalFloat("div.rn.f32", 1, 3), bits(1.0f / 3));
  EXPECT_EQ(evalFloat("div.rp.f32", 1, 3), 0x3eaaaaabu);
  EXPECT_EQ(evalFloat("div.rz.f32", 1, 3), 0x3eaaaaaau);
  EXPECT_EQ(evalFloat("sqrt.rz.f32", 2, 0, 0, 1), 0x3fb504f3u);
  EXPECT_EQ(evalFloat("sqrt.rp.f32", 2, 0, 0, 1), 0x3fb504f4u);
  float e = std::ldexp(1.0f, -23);
  EXPECT_EQ(evalFloat("fma.rn.f32", 1 + e, 1 + e, -1, 3),
            bits(std::fma(1 + e, 1 + e, -1.0f)));
  EXPECT_EQ(evalFloat("add.sat.f32", 2, 3), bits(1));
  EXPECT_EQ(evalFloat("add.sat.f32", NAN, 3), bits(0));
  EXPECT_EQ(evalFloat("add.f32", INFINITY, -INFINITY), 0x7fffffffu);
  EXPECT_EQ(evalFloat("mul.ftz.f32", std::ldexp(1.0f, -130), 1), 0u);
  EXPECT_EQ(evalFloat("mul.f32", std::ldexp(1.0f, -130), -1),
            bits(-std::ldexp(1.0f, -130)));
}

TEST(Instructions, MinimumAndMaximum) {
  EXPECT_EQ(evalFloat("min.f32", NAN, 3), bits(3));
  EXPECT_EQ(evalFloat("min.NaN.f32", NAN, 3), 0x7fffffffu);
  EXPECT_EQ(evalFloat("max.f32", -0.0f, 0.0f), bits(0.0f));
  EXPECT_EQ(evalFloat("min.f32", 0.0f, -0.0f), bits(-0.0f));
  EXPECT_EQ(evalFloat("max.xorsign.abs.f32", -2, 3), bits(-3));
}

TEST(Instructions, ApproximationsAreWithinTheirError) {
  auto near = [](uint32_t word, double exact, double ulps) {
    float value;
    std::memcpy(&value, &word, 4);
    return std::abs(value - exact) <= ulps * std::ldexp(std::abs(exact), -23);
  };
  EXPECT_TRUE(near(evalFloat("ex2.approx.f32", 0.3f, 0, 0, 1),
                   std::exp2(double(0.3f)), 2));
  EXPECT_TRUE(
      near(evalFloat("lg2.approx.f32", 10, 0, 0, 1), std::log2(10.0), 4));
  EXPECT_TRUE(
      near(evalFloat("rsqrt.approx.f32", 2, 0, 0, 1), 1 / std::sqrt(2.0), 2));
  EXPECT_TRUE(
      near(evalFloat("tanh.approx.f32", 0.5f, 0, 0, 1), std::tanh(0.5), 2048));
  EXPECT_EQ(evalFloat("ex2.approx.ftz.f32", -INFINITY, 0, 0, 1), 0u);
  EXPECT_EQ(evalFloat("rcp.approx.ftz.f32", -0.0f, 0, 0, 1), bits(-INFINITY));
}

TEST(Instructions, HalfPrecision) {
  // 1 + 2^-11 is half way: to even. With a fused 2^-24 more, it goes up.
  EXPECT_EQ(eval32("add.f16x2 %r3, %r1, %r2;", 0x3c003c00, 0x10001001),
            0x3c003c01u);
  EXPECT_EQ(eval32("mul.bf16x2 %r3, %r1, %r2;", 0x40003f80, 0x3f804040),
            0x40004040u);
  EXPECT_EQ(eval32("fma.rn.f16x2 %r3, %r1, %r2, %r4;", 0x3c00, 0x1000, 0x3c00),
            0x3c00u);
  EXPECT_EQ(eval32("fma.rn.relu.bf16x2 %r3, %r1, %r2, %r4;", 0xbf80bf80,
                   0x3f803f80, 0),
            0u);
  EXPECT_EQ(eval32("max.NaN.f16x2 %r3, %r1, %r2;", 0x7e003c00, 0x40004000),
            0x7fff4000u);
  EXPECT_EQ(eval32("neg.bf16x2 %r3, %r1;", 0x3f803f80), 0xbf80bf80u);
}

TEST(Instructions, Conversions) {
  auto toInt = [](const char *op, float x) {
    return eval32("mov.b32 %f1, %r1; " + std::string(op) + " %r3, %f1;",
                  bits(x));
  };
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", -1.7f), uint32_t(-1));
  EXPECT_EQ(toInt("cvt.rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(toInt("cvt.rpi.s32.f32", 2.1f), 3u);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", NAN), 0u);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", 1e20f), 0x7fffffffu);
  EXPECT_EQ(toInt("cvt.rzi.u32.f32", -5.0f), 0u);
  auto fromFloat = [](const std::string &op, float x, float y = 0) {
    return eval32("mov.b32 %f1, %r1; mov.b32 %f2, %r2;" + op, bits(x), bits(y));
  };
  EXPECT_EQ(fromFloat("cvt.rn.bf16x2.f32 %r3, %f1, %f2;", 1, -2), 0x3f80c000u);
  EXPECT_EQ(fromFloat("cvt.rz.bf16x2.f32 %r3, %f1, %f2;", 1.999f, 0),
            0x3fff0000u);
  EXPECT_EQ(fromFloat("cvt.rn.f16x2.f32 %r3, %f1, %f2;", 65520, 65519),
            0x7c007bffu);
  EXPECT_EQ(fromFloat("cvt.rna.tf32.f32 %r3, %f1;", 1 + std::ldexp(1.0f, -11)),
            0x3f802000u);
  EXPECT_EQ(fromFloat("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"
                      "cvt.u32.u16 %r3, %h1;",
                      1000, 1),
            0x7e38u);
  EXPECT_EQ(
      eval32("cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.e4m3x2 %r3, %h1;", 0x7e38),
      0x5f003c00u);
  EXPECT_EQ(eval32("cvt.rn.f32.s32 %f1, %r1; mov.b32 %r3, %f1;", 16777217),
            bits(16777216));
  EXPECT_EQ(eval32("cvt.rp.f32.s32 %f1, %r1; mov.b32 %r3, %f1;", 16777217),
            bits(16777218));
  EXPECT_EQ(eval64("cvt.rn.f32.u64 %f1, %rd8; mov.b32 %r1, %f1;"
                   "cvt.u64.u32 %rd11, %r1;",
                   0x8000008000000001),
            uint64_t(bits(9223373136366403584.0f)));
  EXPECT_EQ(eval32("cvt.s32.s8 %r3, %r1;", 0x80), 0xffffff80u);
  EXPECT_EQ(eval32("cvt.sat.u8.s32 %r3, %r1;", 300), 255u);
  EXPECT_EQ(eval32("cvt.pack.sat.s16.s32 %r3, %r1, %r2;", 40000, uint32_t(-5)),
            0x7ffffffbu);
}

TEST(Instructions, Comparisons) {
  auto compare = [](const std::string &op, float a, float b) {
    return eval32("mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp." + op +
                      ".f32 %p1, %f1, %f2; selp.u32 %r3, 1, 0, %p1;",
                  bits(a), bits(b));
  };
  EXPECT_EQ(compare("lt", 1, 2), 1u);
  EXPECT_EQ(compare("lt", NAN, 2), 0u);
  EXPECT_EQ(compare("ltu", NAN, 2), 1u);
  EXPECT_EQ(compare("ne", NAN, 2), 0u);
  EXPECT_EQ(compare("neu", NAN, NAN), 1u);
  EXPECT_EQ(compare("num", 1, NAN), 0u);
  EXPECT_EQ(compare("eq", 0.0f, -0.0f), 1u);
  EXPECT_EQ(eval32("setp.ne.s32 %p1, %r1, %r2; setp.lt.and.s32 %p2|%p3, %r1, "
                   "%r2, %p1; selp.u32 %r3, 1, 0, %p2;",
                   uint32_t(-1), 1),
            1u);
  EXPECT_EQ(eval32("set.lt.u32.s32 %r3, %r1, %r2;", 1, 2), 0xffffffffu);
  EXPECT_EQ(eval32("slct.s32.s32 %r3, %r1, %r2, %r4;", 5, 6, uint32_t(-1)), 6u);
}

TEST(Instructions, Doubles) {
  auto bits64 = [](double value) {
    uint64_t word;
    std::memcpy(&word, &value, 8);
    return word;
  };
  std::string load = "mov.b64 %d1, %rd8; mov.b64 %d2, %rd9;"
                     "mov.b64 %d4, %rd10;";
  auto eval = [&](const std::string &op, double a, double b, double c = 0) {
    return eval64(load + op + "mov.b64 %rd11, %d3;", bits64(a), bits64(b),
                  bits64(c));
  };
  EXPECT_EQ(eval("add.rp.f64 %d3, %d1, %d2;", 1, 1e-30), bits64(1) + 1);
  EXPECT_EQ(eval("fma.rn.f64 %d3, %d1, %d2, %d4;", 1.1, 1.1, -1.21),
            bits64(std::fma(1.1, 1.1, -1.21)));
  EXPECT_EQ(eval("div.rz.f64 %d3, %d1, %d2;", 2, 3), 0x3fe5555555555555u);
  EXPECT_EQ(eval("sqrt.rn.f64 %d3, %d1;", 2, 0), bits64(std::sqrt(2.0)));
}

TEST(Instructions, Warps) {
  auto perLane = [](const std::string &body) {
    Ran ran =
        runBody(std::string(perThread) + body + "st.global.u32 [%rd3], %r3;");
    EXPECT_EQ(ran.findings(), "") << body;
    ran.out.resize(32);
    return ran.out;
  };
  auto down = perLane("shfl.sync.down.b32 %r3|%p1, %r0, 1, 31, -1;");
  EXPECT_EQ(down[0], 1u);
  EXPECT_EQ(down[31], 31u);
  auto up = perLane("shfl.sync.up.b32 %r3, %r0, 2, 0, -1;");
  EXPECT_EQ(up[1], 1u);
  EXPECT_EQ(up[5], 3u);
  auto butterfly = perLane("shfl.sync.bfly.b32 %r3, %r0, 3, 31, -1;");
  EXPECT_EQ(butterfly[6], 5u);
  // Segments of eight lanes.
  auto index = perLane("shfl.sync.idx.b32 %r3, %r0, 2, 0x181f, -1;");
  EXPECT_EQ(index[13], 10u);
  auto ballot = perLane("setp.lt.u32 %p1, %r0, 4;"
                        "vote.sync.ballot.b32 %r3, %p1, -1;");
  EXPECT_EQ(ballot[9], 15u);
  auto match = perLane("and.b32 %r1, %r0, 1;"
                       "match.any.sync.b32 %r3, %r1, -1;");
  EXPECT_EQ(match[2], 0x55555555u);
  auto redux = perLane("redux.sync.max.u32 %r3, %r0, -1;");
  EXPECT_EQ(redux[0], 31u);
  auto elected = perLane("elect.sync _|%p1, -1; selp.u32 %r3, 1, 0, %p1;");
  EXPECT_EQ(elected[0], 1u);
  EXPECT_EQ(elected[1], 0u);
}

TEST(Instructions, BlockBarriersReduce) {
  Setting setting;
  setting.block = {64, 1, 1};
  Ran ran = runBody(std::string(perThread) + R"(
  setp.lt.u32 %p1, %r0, 40;
  bar.red.popc.u32 %r1, 0, %p1;
  bar.red.and.pred %p2, 0, %p1;
  bar.red.or.pred %p3, 0, %p1;
  selp.u32 %r2, 100, 0, %p2;
  selp.u32 %r3, 1000, 0, %p3;
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  st.global.u32 [%rd3], %r1;
)",
                    setting);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[63], 1040u);
}

TEST(Instructions, Atomics) {
  Setting setting;
  setting.isOutInitialized = true;
  auto result = [&](const std::string &op) {
    Ran ran = runBody("mov.u32 %r1, 0; mov.u64 %rd5, v;" + op +
                          "bar.sync 0; ld.global.u32 %r2, [%rd5];"
                          "st.global.u32 [%rd1], %r2;",
                      setting, ".global .u32 v;");
    EXPECT_EQ(ran.findings(), "") << op;
    return ran.out.empty() ? 0 : ran.out[0];
  };
  EXPECT_EQ(result("red.global.add.u32 [%rd5], %r0;"), 496u);
  EXPECT_EQ(result("atom.global.max.s32 %r3, [%rd5], %r0;"), 31u);
  EXPECT_EQ(result("atom.global.inc.u32 %r3, [%rd5], 9;"), 2u);
  EXPECT_EQ(result("atom.global.or.b32 %r3, [%rd5], %r0;"), 31u);
  EXPECT_EQ(result("red.global.add.f32 [%rd5], 0f3F800000;"), bits(32));
  EXPECT_EQ(result("atom.global.cas.b32 %r3, [%rd5], %r0, 77;"), 77u);
}

TEST(Instructions, SpecialRegisters) {
  Setting setting;
  setting.grid = {2, 3, 1};
  setting.block = {8, 2, 2};
  setting.isOutInitialized = true;
  Ran ran = runBody(R"(
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z;
  mov.u32 %r5, %nctaid.y; mov.u32 %r6, %ntid.x; mov.u32 %r7, %laneid;
  setp.eq.u32 %p1, %r7, 27;
  setp.eq.and.u32 %p1, %r1, 1, %p1;
  setp.eq.and.u32 %p1, %r2, 2, %p1;
  @!%p1 ret;
  st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};
)",
                    setting);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 1u);
  EXPECT_EQ(ran.out[1], 1u);
  EXPECT_EQ(ran.out[2], 3u);
  EXPECT_EQ(ran.out[3], 8u);
}
