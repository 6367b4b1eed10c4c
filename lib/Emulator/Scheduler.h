// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_EMULATOR_SCHEDULER_H
#define DEPLO_LIB_EMULATOR_SCHEDULER_H

#include "State.h"

namespace deplo::emulator {

/// Runs all blocks of `grid` on up to `workerCount` host threads, this one
/// among them; `workers` get the counters.
void runGrid(Grid &grid, unsigned workerCount, std::vector<Worker> &workers);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_SCHEDULER_H
