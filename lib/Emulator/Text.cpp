// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Text.h"

#include <cstdio>

using namespace deplo::emulator;

std::string deplo::emulator::hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
  return text;
}

std::string deplo::emulator::triple(const Extent &extent) {
  return "(" + std::to_string(extent[0]) + ", " + std::to_string(extent[1]) +
         ", " + std::to_string(extent[2]) + ")";
}

std::string deplo::emulator::shortened(std::string_view text) {
  constexpr size_t most = 160, end = 60;
  if (text.size() <= most)
    return std::string(text);
  return std::string(text.substr(0, most - end)) + " ... " +
         std::string(text.substr(text.size() - end));
}

Extent deplo::emulator::threadIndex(const Extent &block, uint32_t thread) {
  return {thread % block[0], thread / block[0] % block[1],
          thread / block[0] / block[1]};
}

std::string_view deplo::emulator::faultName(Fault fault) {
  static constexpr std::string_view names[] = {"invalid launch",
                                               "unsupported instruction",
                                               "out-of-bounds access",
                                               "misaligned access",
                                               "write to read-only memory",
                                               "read of uninitialized memory",
                                               "use of an undefined register",
                                               "data race",
                                               "barrier divergence",
                                               "deadlock",
                                               "asynchronous copy",
                                               "matrix operation",
                                               "resource limit",
                                               "instruction budget",
                                               "trap"};
  return names[size_t(fault)];
}

std::string Diagnostic::text() const {
  std::string result;
  if (line)
    result = std::to_string(line) + ":" + std::to_string(column) + ": ";
  result += std::string(faultName(fault)) + ": ";
  if (hasThread)
    result += "block " + triple(block) + ", thread " + triple(thread);
  if (hasAddress)
    result += (hasThread ? ", address " : "address ") + hex(address);
  if (hasThread || hasAddress)
    result += ": ";
  result += message;
  if (!instruction.empty())
    result += ", in '" + instruction + "'";
  return result;
}
