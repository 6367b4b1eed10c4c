// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the interpreter needs to know of asynchronous work.

#ifndef DEPLO_LIB_EMULATOR_WGMMA_H
#define DEPLO_LIB_EMULATOR_WGMMA_H

#include "State.h"

namespace deplo::emulator {

/// False after a fault: the instruction uses a register that a wgmma in flight
/// reads or writes.
bool checkWgmmaRegisters(Warp &warp, const Inst &inst, uint32_t mask);

/// Lanes end: their asynchronous work has to be done.
void checkEnd(Warp &warp, uint32_t lanes);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_WGMMA_H
