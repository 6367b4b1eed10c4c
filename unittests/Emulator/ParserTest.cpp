// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Harness.h"

#include "deplo/Emulator/Ptx.h"

using namespace deplo::emulator;

static std::string errorOf(const std::string &text) {
  return Program::load(text).message();
}

static const std::string header =
    ".version 8.0\n.target sm_90a\n.address_size 64\n";

TEST(Parser, NamesLineColumnAndWhatWasExpected) {
  EXPECT_EQ(errorOf(""),
            "1:1: expected '.version' at the start of the file, found the end "
            "of the file");
  EXPECT_EQ(errorOf(".version 5.0\n.target sm_50\n"),
            "1:10: PTX version must be from 6.0 to 9.0");
  EXPECT_EQ(errorOf(header + ".entry k() {\n  add.u32 %r1 %r2;\n}"),
            "5:15: expected ',' or ';' after an operand, found '%r2'");
  EXPECT_EQ(errorOf(header + ".visible foo"),
            "4:10: expected '.entry', '.func' or a variable, found 'foo'");
  EXPECT_EQ(errorOf(header + ".entry k() {\nL: ret;\nL: ret;\n}"),
            "6:1: label 'L' is already there");
  EXPECT_EQ(errorOf(header + ".global .align 3 .b8 x[4];"),
            "4:16: an alignment must be a power of two up to 4096");
}

TEST(Parser, RejectsWhatHasNoMeaning) {
  EXPECT_EQ(errorOf(kernelAround("frobnicate.u32 %r1, %r2;")),
            "16:1: there is no instruction 'frobnicate' in the emulator in "
            "'frobnicate.u32 %r1, %r2'");
  std::string error = errorOf(kernelAround("mul.lo.f32 %f1, %f2, %f3;"));
  EXPECT_NE(error.find("16:1: expected '.u16', '.u32'"), std::string::npos)
      << error;
  EXPECT_NE(error.find("after 'mul.lo', found '.f32'"), std::string::npos)
      << error;
  EXPECT_EQ(errorOf(kernelAround("add.u32 %rd1, %r2, %r3;")),
            "16:9: '%rd1' has 64 bits, expected 32 for '.u32'");
  EXPECT_EQ(errorOf(kernelAround("add.u32 %r1, %r2, %r99;")),
            "16:19: '%r99' is not known here");
  EXPECT_EQ(errorOf(kernelAround("bra nowhere;")),
            "16:5: there is no label 'nowhere'");
  EXPECT_EQ(errorOf(kernelAround("add.u32 %r1, %r2;")),
            "16:1: too few operands for 'add'");
  EXPECT_EQ(errorOf(kernelAround("add.u32 %r1, %r2, %r3, %r4;")),
            "16:24: too many operands for 'add'");
}

TEST(Parser, ReadsDeclarationsAndDirectives) {
  auto module = parsePtx(R"(// a comment
.version 7.8
.target sm_80, debug
.address_size 64
.file 1 "x.cu"
.visible .const .align 8 .f64 table[2] = {1.5, 0d4000000000000000};
.global .u32 words[] = {1, 0x2, 3U};
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) helper(.param .b32 a);
.visible .entry k(
  .param .u64 .ptr .global .align 16 p,
  .param .align 64 .b8 map[128]
)
.maxntid 128, 1, 1
.minnctapersm 2
{
  .reg .b32 %r<3>;
  { .reg .pred q; }
  .loc 1 2 3
  ret;
}
.section .debug_str { .b8 1, 2 }
)");
  ASSERT_TRUE(module.ok()) << module.message();
  EXPECT_EQ(module->version, 78u);
  EXPECT_EQ(module->target, "sm_80");
  ASSERT_EQ(module->variables.size(), 3u);
  EXPECT_EQ(module->variables[0].bytes, 16u);
  EXPECT_EQ(module->variables[1].bytes, 12u);
  EXPECT_TRUE(module->variables[2].isUnsized);
  ASSERT_EQ(module->functions.size(), 2u);
  EXPECT_FALSE(module->functions[0].hasBody);
  const Function &kernel = module->functions[1];
  EXPECT_EQ(kernel.parameters[1].bytes, 128u);
  EXPECT_EQ(kernel.maxThreads->at(0), 128u);
  EXPECT_EQ(*kernel.minBlocksPerMultiprocessor, 2u);
}

TEST(Parser, NamesInInnerBlocksHideOuterOnes) {
  Ran ran = runBody(std::string(perThread) + R"(
  mov.u32 %r1, 1;
  { .reg .b32 %r1; mov.u32 %r1, 2; bra L; L: st.global.u32 [%rd3], %r1; }
  { .reg .b32 t; bra L; mov.u32 t, 5; L: add.u32 %r1, %r1, 10; }
  ld.global.u32 %r2, [%rd3];
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%rd3], %r2;
)");
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[0], 13u);
}
