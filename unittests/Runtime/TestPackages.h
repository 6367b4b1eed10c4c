// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packages for the runtime's tests: chains of kernels on vectors of floats.

#ifndef DEPLO_UNITTESTS_RUNTIME_TESTPACKAGES_H
#define DEPLO_UNITTESTS_RUNTIME_TESTPACKAGES_H

#include "deplo/Runtime/Package.h"

#include <gtest/gtest.h>

namespace deplo::runtime::testing {

constexpr int64_t testLength = 64;

inline TensorInfo makeVector(const char *name, int64_t length = testLength) {
  TensorInfo tensor;
  tensor.name = name;
  tensor.dtype = "f32";
  tensor.shape = {length};
  tensor.strides = {1};
  return tensor;
}

/// y = the kernels called `names`, one after the other, of x; temporaries in
/// between. All kernels come from one PTX and one cubin.
inline Package makeChain(const std::string &device,
                         const std::vector<std::string> &names) {
  using Kind = LaunchArgument::Kind;
  Package package;
  Manifest &manifest = package.manifest;
  manifest.compiler = "test";
  manifest.name = "chain";
  manifest.device = device;
  manifest.target = "sm_90a";
  manifest.inputs = {makeVector("x")};
  manifest.outputs = {makeVector("y")};
  LaunchArgument from{Kind::Input, 0};
  for (uint32_t i = 0; i < names.size(); ++i) {
    KernelInfo kernel;
    kernel.name = names[i];
    kernel.grid = {2, 1, 1};
    kernel.block = {testLength / 2, 1, 1};
    kernel.ptx = 0;
    kernel.cubin = 1;
    if (device != "cuda")
      kernel.object = 0;
    manifest.kernels.push_back(kernel);
    LaunchArgument to{Kind::Output, 0};
    if (i + 1 < names.size()) {
      to = {Kind::Temp, i};
      manifest.temps.push_back({manifest.arenaBytes, testLength * 4});
      manifest.arenaBytes += testLength * 4;
    }
    manifest.launches.push_back({i, {from, to}});
    from = to;
  }
  package.blobs = {".version 8.0\nkernel increment\nkernel twice\n"
                   "kernel hungry\nkernel add\n",
                   "cubin\nkernel increment\nkernel twice\nkernel hungry\n"
                   "kernel add\n"};
  return package;
}

inline std::string packed(const Package &package) {
  Result<std::string> bytes = writePackage(package);
  EXPECT_TRUE(bytes.ok()) << bytes.message();
  return bytes.ok() ? *bytes : std::string();
}

/// One sentence that says `part`.
inline void expectSentence(const std::string &message,
                           const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  ASSERT_FALSE(message.empty());
  EXPECT_NE(message.back(), '.') << message;
}

} // namespace deplo::runtime::testing

#endif // DEPLO_UNITTESTS_RUNTIME_TESTPACKAGES_H
