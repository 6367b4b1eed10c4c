// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_EMULATOR_INDIRECTCALLS_H
#define DEPLO_LIB_EMULATOR_INDIRECTCALLS_H

#include "deplo/Emulator/Ptx.h"

#include <deque>

namespace deplo::emulator {

/// What the address of a function is to a kernel; 0 if there is none.
uint64_t functionAddress(const Module &module, std::string_view name);

/// Replaces calls through registers by calls of functions. `names` owns what is
/// named in them; the module needs it from now on.
void expandIndirectCalls(Module &module, std::deque<std::string> &names);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_INDIRECTCALLS_H
