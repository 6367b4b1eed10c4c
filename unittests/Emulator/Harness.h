// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the body of a kernel that has two pointers, `in` (%rd0) and `out`
// (%rd1), and its thread's index in %r0.

#ifndef DEPLO_UNITTESTS_EMULATOR_HARNESS_H
#define DEPLO_UNITTESTS_EMULATOR_HARNESS_H

#include "deplo/Emulator/Emulator.h"
#include "deplo/Emulator/TensorMap.h"

#include "gtest/gtest.h"

#include <cstring>

namespace deplo::emulator {

inline std::string kernelAround(const std::string &body,
                                const std::string &declarations = "",
                                const std::string &directives = "") {
  return R"(.version 8.6
.target sm_90a
.address_size 64
)" + declarations +
         R"(
.visible .entry k(.param .u64 in, .param .u64 out) )" +
         directives + R"(
{
  .reg .pred %p<16>;
  .reg .b16 %h<32>;
  .reg .b32 %r<64>;
  .reg .f32 %f<64>;
  .reg .b64 %rd<32>;
  .reg .f64 %d<16>;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
)" + body +
         R"(
  ret;
}
)";
}

struct Setting {
  Extent grid = {1, 1, 1}, block = {32, 1, 1}, cluster = {0, 0, 0};
  uint32_t shared = 0;
  std::vector<uint32_t> in = std::vector<uint32_t>(64, 0);
  size_t outWords = 64;
  bool isOutInitialized = false;
  uint64_t budget = 1 << 22;
};

struct Ran {
  std::string error;
  Outcome outcome;
  std::vector<uint32_t> out;

  /// Findings, one a line.
  std::string findings() const {
    std::string text = error;
    for (const Diagnostic &diagnostic : outcome.diagnostics)
      text += diagnostic.text() + "\n";
    return text;
  }
  bool has(Fault fault) const {
    for (const Diagnostic &diagnostic : outcome.diagnostics)
      if (diagnostic.fault == fault)
        return true;
    return false;
  }
};

/// `more`: the parameters after the two pointers.
inline Ran runText(const std::string &text, Setting setting = {},
                   const std::vector<uint8_t> &more = {}) {
  Ran result;
  result.out.assign(setting.outWords, 0xdeadbeef);
  runtime::Result<std::shared_ptr<Program>> program = Program::load(text);
  if (!program.ok()) {
    result.error = program.message();
    return result;
  }
  Launch launch;
  launch.kernel = "k";
  launch.grid = setting.grid;
  launch.block = setting.block;
  launch.cluster = setting.cluster;
  launch.dynamicSharedBytes = setting.shared;
  launch.instructionBudget = setting.budget;
  launch.workers = 1;
  void *pointers[] = {setting.in.data(), result.out.data()};
  launch.parameters.resize(sizeof(pointers));
  std::memcpy(launch.parameters.data(), pointers, sizeof(pointers));
  if (!more.empty()) // Tensor maps are aligned to 64 bytes.
    launch.parameters.resize(64);
  launch.parameters.insert(launch.parameters.end(), more.begin(), more.end());
  launch.regions = {{"in", pointers[0], setting.in.size() * 4, false, true},
                    {"out", pointers[1], result.out.size() * 4, true,
                     setting.isOutInitialized}};
  result.outcome = (*program)->run(launch);
  return result;
}

inline Ran runBody(const std::string &body, Setting setting = {},
                   const std::string &declarations = "",
                   const std::string &directives = "") {
  return runText(kernelAround(body, declarations, directives),
                 std::move(setting));
}

/// With a third parameter `map`, which is `map` of the memory behind `in`.
inline Ran runWithMap(const std::string &body, Setting setting,
                      const std::string &declarations, TensorMap map) {
  map.address = reinterpret_cast<uint64_t>(setting.in.data());
  std::vector<uint8_t> bytes(tensorMapBytes);
  uint8_t encoded[tensorMapBytes];
  runtime::Status status = encodeTensorMap(map, encoded);
  EXPECT_TRUE(status.ok()) << status.message();
  std::memcpy(bytes.data(), encoded, tensorMapBytes);
  std::string text = kernelAround(body, declarations);
  const std::string last = ".param .u64 out)";
  text.replace(text.find(last), last.size(),
               ".param .u64 out, .param .align 64 .b8 map[128])");
  return runText(text, std::move(setting), bytes);
}

/// The addresses of in[thread] and out[thread] into %rd2 and %rd3.
inline const char *const perThread = R"(
  mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd2, %rd0, %rd4;
  add.s64 %rd3, %rd1, %rd4;
)";

} // namespace deplo::emulator

#endif // DEPLO_UNITTESTS_EMULATOR_HARNESS_H
