// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the lanes that a branch divides meet again: the immediate
// post-dominator of its block. Paths that only end (an early return, a trap)
// don't count, since no lane comes back from them.

#ifndef DEPLO_LIB_EMULATOR_CONTROLFLOW_H
#define DEPLO_LIB_EMULATOR_CONTROLFLOW_H

#include "Program.h"

namespace deplo::emulator {

/// Sets isLeader and reconverge of the code in [begin, end), one function.
/// `successors(pc)` gives where the branch at `pc` may go, besides on.
void analyzeControlFlow(
    Kernel &kernel, uint32_t begin, uint32_t end,
    const std::map<uint32_t, std::vector<uint32_t>> &branchTargets);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_CONTROLFLOW_H
