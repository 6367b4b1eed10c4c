// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/Compiler.h"
#include "deplo/Runtime/Package.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

constexpr const char *module = R"(
  func.func @main(%x: memref<64xf32>, %y: memref<64xf32> {loop.result}) {
    loop.launch @double(%x, %y) : memref<64xf32>, memref<64xf32>
    return
  }
  loop.kernel @double(%x: memref<64xf32>, %y: memref<64xf32>) {
    loop.for %i = 0 to 64 {
      %a = loop.load %x[%i] : memref<64xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %y[%i] : memref<64xf32>
    }
  }
)";

CompileResult compileFor(Level level, llvm::StringRef ir) {
  CompileOptions options;
  options.device = "host";
  options.level = level;
  llvm::Expected<CompileResult> result = compile(ir, options);
  if (result)
    return std::move(*result);
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

// What one level prints, the next takes.
TEST(HostLevels, EachFollowsFromTheOneBefore) {
  std::string kernel = compileFor(Level::Kernel, module).ir;
  EXPECT_NE(kernel.find("llvm.func @double(%arg0: !llvm.ptr)"),
            std::string::npos)
      << kernel;
  std::string llvm = compileFor(Level::LLVM, kernel).ir;
  EXPECT_NE(llvm.find("define void @deplo_double(ptr"), std::string::npos)
      << llvm;
  // LLVM vectorised it.
  EXPECT_NE(llvm.find(" x float>"), std::string::npos) << llvm;
  std::string package = compileFor(Level::Package, kernel).package;
  EXPECT_TRUE(runtime::readPackage(package).ok());
  EXPECT_EQ(package, compileFor(Level::Package, module).package);
}

TEST(HostLevels, ThereIsNoTile) {
  CompileOptions options;
  options.device = "host";
  options.level = Level::Tile;
  llvm::Expected<CompileResult> result = compile(module, options);
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError())
                .find("device host goes from level loop to kernel"),
            std::string::npos);
}

} // namespace
