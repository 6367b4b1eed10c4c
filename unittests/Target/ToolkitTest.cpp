// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the programs of the CUDA toolkit are looked for.

#include "deplo/Target/NVPTX.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace deplo;

namespace {

class ToolkitTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("toolkit", folder));
  }
  void TearDown() override {
    llvm::sys::fs::remove_directories(folder);
    for (const char *variable : {"CUDA_HOME", "DEPLO_CUDA_TOOLKITS"})
      unsetenv(variable);
  }

  /// Makes the file at `path` below the folder.
  std::string create(llvm::StringRef path) {
    llvm::SmallString<128> full(folder);
    llvm::sys::path::append(full, path);
    EXPECT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(full)));
    std::error_code error;
    llvm::raw_fd_ostream stream(full, error);
    EXPECT_FALSE(error);
    return full.str().str();
  }
  void name(const char *variable, llvm::Twine value) {
    setenv(variable, value.str().c_str(), /*overwrite=*/1);
  }

  llvm::SmallString<128> folder;
};

TEST_F(ToolkitTest, EveryRootOfTheListIsAsked) {
  std::string tool = create("second/bin/deplo-test-tool");
  EXPECT_EQ(findInToolkit("bin/deplo-test-tool"), std::nullopt);
  name("DEPLO_CUDA_TOOLKITS", folder + "/first:" + folder + "/second");
  EXPECT_EQ(findInToolkit("bin/deplo-test-tool"), tool);
  EXPECT_EQ(findTool("deplo-test-tool"), tool);
}

TEST_F(ToolkitTest, TheUsersOwnComesFirst) {
  std::string own = create("own/bin/deplo-test-tool");
  create("listed/bin/deplo-test-tool");
  name("CUDA_HOME", folder + "/own");
  name("DEPLO_CUDA_TOOLKITS", folder + "/listed");
  EXPECT_EQ(findInToolkit("bin/deplo-test-tool"), own);
}

} // namespace
