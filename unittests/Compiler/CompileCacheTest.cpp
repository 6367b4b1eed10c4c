// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/CompileCache.h"

#include "TemporaryFolder.h"

#include "deplo/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

using namespace deplo;

namespace {

constexpr const char *program = R"mlir(
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> tensor<8xf32> {
    %0 = graph.exp %x : tensor<8xf32> loc("a.py":1:1)
    return %0 : tensor<8xf32>
  })mlir";

std::string key(std::string ir, const CompileOptions &options = {}) {
  static mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  EXPECT_TRUE(module);
  return getCacheKey(*module, options);
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

CompileResult sample() {
  CompileResult result;
  result.ir = "a\nb";
  result.package = std::string("\0package\n", 9);
  KernelReport &kernel = result.kernels.emplace_back();
  kernel.name = "k";
  kernel.bytesRead = int64_t(1) << 53;
  kernel.intensity = 0.1;
  kernel.scheduleReason = "\"quoted\"";
  kernel.registers = 32;
  kernel.occupancy = 1.0 / 3;
  return result;
}

TEST(CacheKey, DependsOnTheProgramAndTheOptionsOnly) {
  std::string base = key(program);
  EXPECT_EQ(base, key(program));
  EXPECT_EQ(base, key(replaced(program, "a.py\":1:1", "b.py\":7:9")));
  EXPECT_NE(base, key(replaced(program, "graph.exp", "graph.log")));
  // Kernels are called after operators.
  std::string relu =
      key(replaced(program, "\"a.py\":1:1", "fused<\"relu\">[\"a.py\":1:1]"));
  EXPECT_NE(base, relu);
  EXPECT_EQ(relu, key(replaced(program, "\"a.py\":1:1",
                               "fused<\"relu\">[\"b.py\":7:9]")));
  EXPECT_NE(base, key(replaced(program, "\"x\"", "\"y\"")));
}

TEST(CacheKey, DependsOnEachOption) {
  std::vector<CompileOptions> variants(8);
  variants[1].target = "sm_80";
  variants[2].device = "host";
  variants[3].level = Level::Ptx;
  variants[4].schedule = "warps=4";
  variants[5].alignment = 4;
  variants[6].ptxas = false;
  variants[7].name = "other";
  std::set<std::string> keys;
  for (const CompileOptions &options : variants)
    keys.insert(key(program, options));
  EXPECT_EQ(keys.size(), variants.size());
}

TEST(CacheKey, WhatDependsOnMoreIsNotCached) {
  CompileOptions options;
  EXPECT_TRUE(isCacheable(options));
  options.trace = true;
  EXPECT_FALSE(isCacheable(options));
  options.trace = false;
  options.passes = "builtin.module(canonicalize)";
  EXPECT_FALSE(isCacheable(options));
}

TEST(Serialization, KeepsEveryField) {
  std::string bytes = serialize(sample());
  std::optional<CompileResult> read = deserialize(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ir, sample().ir);
  EXPECT_EQ(read->package, sample().package);
  EXPECT_EQ(read->kernels[0].bytesRead, sample().kernels[0].bytesRead);
  EXPECT_EQ(read->kernels[0].occupancy, sample().kernels[0].occupancy);
  EXPECT_EQ(read->kernels[0].blocks, std::nullopt);
  EXPECT_EQ(serialize(*read), bytes);
}

TEST(Serialization, RefusesOtherBytes) {
  for (const char *text :
       {"", "{}", "{}\n", "[]\n", "{\"kernels\":[1],\"ir\":0}\n",
        "{\"kernels\":[],\"ir\":9}\nshort", "{\"kernels\":[],\"ir\":-1}\n"})
    EXPECT_FALSE(deserialize(text)) << text;
}

struct CompileCacheTest : ::testing::Test {
  TemporaryFolder folder;
  DiskCache disk{folder.path("cache"), llvm::CachePruningPolicy()};
  std::atomic<int> compilations{0};

  llvm::Expected<CompileResult> compile() {
    ++compilations;
    return sample();
  }
  std::string get(CompileCache &cache, llvm::StringRef key) {
    return cantFail(cache.get(key, [&] { return compile(); })).package;
  }
};

TEST_F(CompileCacheTest, CompilesOnceInAProcess) {
  CompileCache cache(std::nullopt);
  EXPECT_EQ(get(cache, "a"), sample().package);
  EXPECT_EQ(get(cache, "a"), sample().package);
  EXPECT_EQ(compilations, 1);
  get(cache, "b");
  EXPECT_EQ(compilations, 2);
}

TEST_F(CompileCacheTest, CompilesOnceOnADisk) {
  CompileCache first(disk), second(disk);
  EXPECT_EQ(get(first, "a"), sample().package);
  EXPECT_EQ(get(second, "a"), sample().package);
  EXPECT_EQ(compilations, 1);
}

TEST_F(CompileCacheTest, ThreadsThatAskAtOnceShareACompilation) {
  CompileCache cache(disk);
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      EXPECT_EQ(get(cache, i % 2 ? "odd" : "even"), sample().package);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compilations, 2);
}

TEST_F(CompileCacheTest, KeepsAsMuchInMemoryAsItMay) {
  size_t bytes = sample().ir.size() + sample().package.size();
  CompileCache cache(std::nullopt, 2 * bytes);
  for (const char *key : {"a", "b", "b", "a", "c", "c", "b"})
    get(cache, key);
  EXPECT_EQ(compilations, 3);
  get(cache, "a");
  EXPECT_EQ(compilations, 4);
}

TEST_F(CompileCacheTest, FailuresAreNotKept) {
  CompileCache cache(disk);
  auto failed = cache.get("a", []() -> llvm::Expected<CompileResult> {
    return llvm::createStringError("no");
  });
  EXPECT_EQ(llvm::toString(failed.takeError()), "no");
  EXPECT_EQ(get(cache, "a"), sample().package);
}

TEST_F(CompileCacheTest, ADamagedEntryIsCompiledAndReplaced) {
  ASSERT_FALSE(disk.store("a", "no result"));
  CompileCache first(disk), second(disk);
  EXPECT_EQ(get(first, "a"), sample().package);
  EXPECT_EQ(compilations, 1);
  EXPECT_EQ(get(second, "a"), sample().package);
  EXPECT_EQ(compilations, 1);
}

TEST_F(CompileCacheTest, AFolderThatCannotBeWrittenIsAWarning) {
  CompileCache cache(DiskCache("/proc/none", llvm::CachePruningPolicy()));
  auto result = cantFail(cache.get("a", [&] { return compile(); }));
  EXPECT_EQ(result.package, sample().package);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("DEPLO_CACHE_DIR"), std::string::npos);
  result = cantFail(cache.get("a", [&] { return compile(); }));
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_EQ(compilations, 1);
}

} // namespace
