// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drives the C test of the runtime's C interface, the program of
// docs/runtime.md, and checks what libDeploRuntime.so needs and exports.

#include "../Runtime/TestPackages.h"
#include "emulator_test.h"
#include "runtime_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

using namespace deplo::runtime;
using namespace deplo::runtime::testing;

namespace {

struct Output {
  std::string text;
  int exitCode;
};

Output runCommand(const std::string &command) {
  Output output;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  char part[4096];
  while (size_t count = fread(part, 1, sizeof(part), pipe))
    output.text.append(part, count);
  int status = pclose(pipe);
  output.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

TEST(RuntimeCApiTest, WorksFromC) {
  // A library that is loaded is found by its name: "cuda" opens this one.
  ASSERT_NE(dlopen(DEPLO_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL), nullptr);
  std::string package = packed(makeChain("cuda", {"increment", "twice"}));
  EXPECT_EQ(runRuntimeTest(package.data(), package.size()), 0);
}

class ExampleTest : public ::testing::Test {
protected:
  void SetUp() override {
    path = ::testing::TempDir() + "deplo-example-" +
           std::to_string(::getpid()) + ".deplo";
    std::string bytes = packed(makeChain("cuda", {"increment", "twice"}));
    FILE *file = fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    fclose(file);
  }
  void TearDown() override { remove(path.c_str()); }

  Output runExample(const std::string &arguments,
                    const std::string &environment = "") {
    std::string fake = DEPLO_FAKE_CUDA;
    return runCommand(environment + " LD_LIBRARY_PATH='" +
                      fake.substr(0, fake.rfind('/')) +
                      "' '" DEPLO_RUNTIME_EXAMPLE "' " + arguments);
  }

  std::string path;
};

TEST_F(ExampleTest, RunsAPackage) {
  Output output = runExample("'" + path + "'");
  EXPECT_EQ(output.exitCode, 0) << output.text;
  for (const char *part :
       {"Fake GPU", "input x: f32, 256 bytes\n", "output y: f32, 256 bytes\n",
        " us per run\n", "y[0] = 2\n"})
    EXPECT_NE(output.text.find(part), std::string::npos) << output.text;
}

TEST_F(ExampleTest, SaysWhatIsWrong) {
  Output output = runExample("'" + path + "' tpu");
  EXPECT_EQ(output.exitCode, 1);
  EXPECT_EQ(output.text.find("device: there is no device 'tpu'"), 0u)
      << output.text;
  output = runExample("'" + path + "'", "FAKE_CUDA_NO_DEVICE=1");
  EXPECT_EQ(output.exitCode, 1);
  EXPECT_EQ(output.text.find("device: no NVIDIA GPU can be used"), 0u)
      << output.text;
  output = runExample("'" DEPLO_RUNTIME_EXAMPLE "'");
  EXPECT_EQ(output.exitCode, 1);
  EXPECT_NE(output.text.find("not a deplo package"), std::string::npos)
      << output.text;
}

TEST(RuntimeLibraryTest, NeedsTheSystemOnly) {
  Output output = runCommand("readelf -d -W '" DEPLO_RUNTIME_LIBRARY "'");
  ASSERT_EQ(output.exitCode, 0) << output.text;
  const char *allowed[] = {"libc.so.6",     "libm.so.6",      "libdl.so.2",
                           "libgcc_s.so.1", "libstdc++.so.6", "libpthread.so.0",
                           "ld-linux"};
  std::istringstream lines(output.text);
  std::string line;
  int needed = 0;
  while (std::getline(lines, line)) {
    if (line.find("(NEEDED)") == std::string::npos)
      continue;
    ++needed;
    EXPECT_TRUE(std::any_of(
        std::begin(allowed), std::end(allowed),
        [&](const char *name) { return line.find(name) != std::string::npos; }))
        << line;
  }
  EXPECT_GT(needed, 0);
}

/// The functions that headers of the C interface declare.
static std::set<std::string>
getDeclared(std::initializer_list<const char *> headers) {
  std::set<std::string> names;
  for (const char *header : headers) {
    Output output =
        runCommand(std::string("grep -ohE '\\bdeplo[A-Z][A-Za-z]*\\(' '") +
                   DEPLO_C_HEADERS "/" + header + "'");
    std::istringstream lines(output.text);
    for (std::string line; std::getline(lines, line);)
      names.insert(line.substr(0, line.find('(')));
  }
  return names;
}

TEST(RuntimeLibraryTest, ExportsTheCInterfaceOnly) {
  Output output =
      runCommand("nm -D --defined-only '" DEPLO_RUNTIME_LIBRARY "'");
  ASSERT_EQ(output.exitCode, 0) << output.text;
  std::set<std::string> exported;
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);)
    exported.insert(line.substr(line.rfind(' ') + 1));
  EXPECT_EQ(exported, getDeclared({"Runtime.h", "Emulator.h"}));
}

} // namespace

TEST(EmulatorCApiTest, WorksFromC) { EXPECT_EQ(runEmulatorTest(), 0); }
