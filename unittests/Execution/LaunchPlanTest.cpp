// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Execution/LaunchPlan.h"
#include "ModuleText.h"

#include "gtest/gtest.h"

#include <random>

using namespace deplo;
using deplo::runtime::LaunchArgument;
using deplo::testing::ModuleText;

namespace {

constexpr const char *copyKernel = R"(
  loop.kernel @copy(%x: memref<32xf32>, %y: memref<32xf32>) {
    loop.for %i = 0 to 32 {
      %a = loop.load %x[%i] : memref<32xf32>
      loop.store %a, %y[%i] : memref<32xf32>
    }
  }
)";

LaunchPlan extract(const std::string &text, int64_t alignment = 16) {
  ModuleText module(text);
  EXPECT_TRUE(module.get()) << module.getErrors();
  if (!module.get())
    return {};
  llvm::FailureOr<LaunchPlan> plan = extractLaunchPlan(module.get(), alignment);
  EXPECT_TRUE(succeeded(plan)) << module.getErrors();
  return succeeded(plan) ? *plan : LaunchPlan();
}

std::string extractError(const std::string &text) {
  ModuleText module(text);
  EXPECT_TRUE(module.get()) << module.getErrors();
  if (!module.get())
    return "";
  EXPECT_TRUE(failed(extractLaunchPlan(module.get())));
  return module.getErrors();
}

const LaunchArgument input0 = {LaunchArgument::Kind::Input, 0};
const LaunchArgument output0 = {LaunchArgument::Kind::Output, 0};
LaunchArgument temp(uint32_t index) {
  return {LaunchArgument::Kind::Temp, index};
}

TEST(LaunchPlan, DescribesInputsAndOutputs) {
  LaunchPlan plan = extract(R"(
    func.func @main(%x: memref<2x3xbf16, strided<[8, 2]>> {graph.name = "x"},
                    %n: memref<i64>,
                    %y: memref<5x1x4xi1> {loop.result}) {
      return
    })");
  ASSERT_EQ(plan.inputs.size(), 2u);
  EXPECT_EQ(plan.inputs[0].name, "x");
  EXPECT_EQ(plan.inputs[0].dtype, "bf16");
  EXPECT_EQ(plan.inputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(plan.inputs[0].strides, (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(plan.inputs[0].alignment, 16);
  EXPECT_EQ(plan.inputs[1].dtype, "i64");
  EXPECT_TRUE(plan.inputs[1].shape.empty());
  ASSERT_EQ(plan.outputs.size(), 1u);
  EXPECT_EQ(plan.outputs[0].dtype, "bool");
  EXPECT_EQ(plan.outputs[0].strides, (std::vector<int64_t>{4, 4, 1}));
  EXPECT_EQ(plan.arenaBytes, 0u);
  EXPECT_TRUE(plan.launches.empty());
}

/// What prepared launches write comes last and shares no memory.
TEST(LaunchPlan, PreparedLaunchesHaveMemoryOfTheirOwn) {
  LaunchPlan plan = extract(std::string(copyKernel) + R"(
    func.func @main(%w: memref<32xf32> {loop.weight}, %x: memref<32xf32>,
                    %y: memref<32xf32> {loop.result}) {
      %a = memref.alloc() : memref<32xf32>
      %b = memref.alloc() : memref<32xf32>
      %c = memref.alloc() : memref<32xf32>
      loop.launch @copy(%w, %a) {loop.prepared} : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%a, %b) {loop.prepared} : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%x, %c) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%c, %y) : memref<32xf32>, memref<32xf32>
      return
    })");
  EXPECT_EQ(plan.arenaBytes, 768u);
  EXPECT_EQ(plan.preparedBytes, 512u);
  ASSERT_EQ(plan.temps.size(), 3u);
  EXPECT_EQ(plan.temps[0].offset, 256u);
  EXPECT_EQ(plan.temps[1].offset, 512u);
  EXPECT_EQ(plan.temps[2].offset, 0u);
  ASSERT_EQ(plan.launches.size(), 4u);
  EXPECT_TRUE(plan.launches[1].isPrepared);
  EXPECT_FALSE(plan.launches[2].isPrepared);
}

TEST(LaunchPlan, PreparedLaunchesUseNoTemporariesOfCalls) {
  std::string error = extractError(std::string(copyKernel) + R"(
    func.func @main(%x: memref<32xf32>, %y: memref<32xf32> {loop.result}) {
      %a = memref.alloc() : memref<32xf32>
      %b = memref.alloc() : memref<32xf32>
      loop.launch @copy(%x, %a) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%a, %b) {loop.prepared} : memref<32xf32>, memref<32xf32>
      return
    })");
  EXPECT_NE(
      error.find("is prepared, but passes a temporary of a launch that is "
                 "not"),
      std::string::npos)
      << error;
}

TEST(LaunchPlan, AsksForTheAlignmentOfElementsAtLeast) {
  LaunchPlan plan = extract(
      "func.func @main(%x: memref<2xf64>, %y: memref<2xf16>) { return }", 1);
  EXPECT_EQ(plan.inputs[0].alignment, 8);
  EXPECT_EQ(plan.inputs[1].alignment, 2);
}

// Three temporaries in a chain: the first and third never live together.
TEST(LaunchPlan, ReusesMemoryOfTemporariesWhoseLifeIsOver) {
  LaunchPlan plan = extract(std::string(copyKernel) + R"(
    func.func @main(%x: memref<32xf32>, %y: memref<32xf32> {loop.result}) {
      %a = memref.alloc() : memref<32xf32>
      %b = memref.alloc() : memref<32xf32>
      %c = memref.alloc() : memref<32xf32>
      loop.launch @copy(%x, %a) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%a, %b) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%b, %c) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%c, %y) : memref<32xf32>, memref<32xf32>
      return
    })");
  ASSERT_EQ(plan.launches.size(), 4u);
  EXPECT_EQ(plan.launches[0].args,
            (std::vector<LaunchArgument>{input0, temp(0)}));
  EXPECT_EQ(plan.launches[1].args,
            (std::vector<LaunchArgument>{temp(0), temp(1)}));
  EXPECT_EQ(plan.launches[3].args,
            (std::vector<LaunchArgument>{temp(2), output0}));
  ASSERT_EQ(plan.temps.size(), 3u);
  EXPECT_EQ(plan.temps[0].bytes, 128u);
  EXPECT_EQ(plan.temps[0].offset, plan.temps[2].offset);
  EXPECT_NE(plan.temps[0].offset, plan.temps[1].offset);
  EXPECT_EQ(plan.arenaBytes, 512u);
  EXPECT_EQ(plan.getKernels(), (std::vector<std::string>{"copy"}));
}

// A view is its source, and keeps it alive.
TEST(LaunchPlan, FollowsViews) {
  LaunchPlan plan = extract(std::string(copyKernel) + R"(
    func.func @main(%x: memref<4x8xf32>, %y: memref<32xf32> {loop.result}) {
      %t = memref.alloc() : memref<4x8xf32>
      %u = memref.alloc() : memref<32xf32>
      %vx = memref.collapse_shape %x [[0, 1]] : memref<4x8xf32> into memref<32xf32>
      %vt = memref.collapse_shape %t [[0, 1]] : memref<4x8xf32> into memref<32xf32>
      loop.launch @copy(%vx, %vt) : memref<32xf32>, memref<32xf32>
      loop.launch @copy(%vx, %u) : memref<32xf32>, memref<32xf32>
      %again = memref.expand_shape %vt [[0, 1]] output_shape [2, 16] : memref<32xf32> into memref<2x16xf32>
      %flat = memref.collapse_shape %again [[0, 1]] : memref<2x16xf32> into memref<32xf32>
      loop.launch @copy(%flat, %y) : memref<32xf32>, memref<32xf32>
      return
    })");
  ASSERT_EQ(plan.launches.size(), 3u);
  EXPECT_EQ(plan.launches[0].args,
            (std::vector<LaunchArgument>{input0, temp(0)}));
  EXPECT_EQ(plan.launches[2].args,
            (std::vector<LaunchArgument>{temp(0), output0}));
  // %t lives while %u is written.
  EXPECT_NE(plan.temps[0].offset, plan.temps[1].offset);
}

TEST(LaunchPlan, UnusedTemporariesTakeNoMemory) {
  LaunchPlan plan = extract(R"(
    func.func @main(%x: memref<32xf32>) {
      %a = memref.alloc() : memref<1024xf32>
      memref.dealloc %a : memref<1024xf32>
      return
    })");
  EXPECT_TRUE(plan.temps.empty());
  EXPECT_EQ(plan.arenaBytes, 0u);
}

TEST(LaunchPlan, WritesTheManifest) {
  LaunchPlan plan = extract(std::string(copyKernel) + R"(
    func.func @main(%x: memref<32xf32>, %y: memref<32xf32> {loop.result}) {
      loop.launch @copy(%x, %y) : memref<32xf32>, memref<32xf32>
      return
    })");
  runtime::Manifest manifest;
  plan.write(manifest, {"other", "copy"});
  ASSERT_EQ(manifest.launches.size(), 1u);
  EXPECT_EQ(manifest.launches[0].kernel, 1u);
  EXPECT_EQ(manifest.launches[0].args,
            (std::vector<LaunchArgument>{input0, output0}));
  EXPECT_EQ(manifest.inputs.size(), 1u);
}

TEST(LaunchPlan, RejectsWhatItCannotExpress) {
  EXPECT_NE(extractError("func.func @f() { return } func.func @g() { return }")
                .find("has 2 functions, expected one called @main"),
            std::string::npos);
  EXPECT_NE(
      extractError("func.func @main(%n: index) { return }")
          .find("argument 0 of type 'index' is not a memref of static shape"),
      std::string::npos);
  EXPECT_NE(extractError("func.func @main(%x: memref<?xf32>) { return }")
                .find("is not a memref of static shape"),
            std::string::npos);
  EXPECT_NE(extractError("func.func @main(%x: memref<4xi7>) { return }")
                .find("has elements that packages have no name for"),
            std::string::npos);
  EXPECT_NE(
      extractError("func.func @main(%x: memref<4xf32, strided<[1], offset: "
                   "2>>) { return }")
          .find(
              "is not laid out by static, non-negative strides from offset 0"),
      std::string::npos);
  EXPECT_NE(
      extractError("func.func @main(%y: memref<f32> {loop.result}, %x: "
                   "memref<f32>) { return }")
          .find("argument 1 is an input behind a result; results come last"),
      std::string::npos);
  EXPECT_NE(extractError("func.func @main() -> i32 { %c = arith.constant 0 : "
                         "i32 return %c : i32 }")
                .find("is no launch plan"),
            std::string::npos);
  EXPECT_NE(extractError(R"(
    func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
      memref.copy %x, %y : memref<4xf32> to memref<4xf32>
      return
    })")
                .find("'memref.copy' op has no place in a launch plan"),
            std::string::npos);
  EXPECT_NE(
      extractError(R"(
    loop.kernel @k(%x: memref<4xf32, strided<[1], offset: 4>>) {
    }
    func.func @main(%x: memref<8xf32>) {
      %v = memref.subview %x[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
      loop.launch @k(%v) : memref<4xf32, strided<[1], offset: 4>>
      return
    })")
          .find("which does not start where its buffer starts; copy it first"),
      std::string::npos);
}

TEST(PlanArena, NothingThatLivesTogetherOverlaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    size_t count = random() % 20, sum = 0;
    for (size_t i = 0; i < count; ++i) {
      size_t first = random() % 30;
      lifetimes.push_back({first, first + random() % 10, random() % 5000});
      sum += llvm::alignTo(lifetimes.back().bytes, 256);
    }
    std::vector<uint64_t> offsets;
    uint64_t total = planArena(lifetimes, 256, offsets);
    ASSERT_EQ(offsets.size(), count);
    EXPECT_LE(total, sum);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(offsets[i] % 256, 0u);
      EXPECT_LE(offsets[i] + lifetimes[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        bool together = lifetimes[i].first <= lifetimes[j].last &&
                        lifetimes[j].first <= lifetimes[i].last;
        bool overlap = offsets[i] < offsets[j] + lifetimes[j].bytes &&
                       offsets[j] < offsets[i] + lifetimes[i].bytes;
        bool empty = lifetimes[i].bytes == 0 || lifetimes[j].bytes == 0;
        EXPECT_FALSE(together && overlap && !empty);
      }
    }
  }
}

// No more is needed than what lives at one time: two big ones and a small one.
TEST(PlanArena, FindsThePeakOfAChain) {
  std::vector<uint64_t> offsets;
  EXPECT_EQ(
      planArena(
          {{0, 1, 1024}, {1, 2, 256}, {1, 3, 1024}, {3, 4, 256}, {4, 5, 1024}},
          256, offsets),
      2304u);
}

} // namespace
