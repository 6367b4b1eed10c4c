// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small pieces of diagnostics.

#ifndef DEPLO_LIB_EMULATOR_TEXT_H
#define DEPLO_LIB_EMULATOR_TEXT_H

#include "deplo/Emulator/Emulator.h"

namespace deplo::emulator {

/// "0x1f".
std::string hex(uint64_t value);
/// "(1, 0, 0)".
std::string triple(const Extent &extent);
/// Without its middle where it is long.
std::string shortened(std::string_view text);
/// The thread's index in its block.
Extent threadIndex(const Extent &block, uint32_t thread);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_TEXT_H
