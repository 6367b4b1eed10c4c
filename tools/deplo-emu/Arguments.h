// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel arguments from the command line: `f32[64x32]=random`, `u32=7`.

#ifndef DEPLO_TOOLS_DEPLO_EMU_ARGUMENTS_H
#define DEPLO_TOOLS_DEPLO_EMU_ARGUMENTS_H

#include "deplo/Emulator/Emulator.h"

namespace deplo::emulator {

struct Argument {
  std::string dtype;
  bool isBuffer = false;
  uint64_t elements = 1;
  bool isInitialized = true;
  /// The value of a number, the contents of a buffer.
  std::vector<uint8_t> bytes;

  uint64_t elementBytes() const;
  /// Element `index` as text.
  std::string element(uint64_t index) const;
};

/// Parses one argument; `number` seeds its random values.
runtime::Result<Argument> parseArgument(std::string_view text, unsigned number);

} // namespace deplo::emulator

#endif // DEPLO_TOOLS_DEPLO_EMU_ARGUMENTS_H
