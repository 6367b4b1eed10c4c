// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers of a block and of a cluster.

#ifndef DEPLO_LIB_EMULATOR_BARRIERS_H
#define DEPLO_LIB_EMULATOR_BARRIERS_H

#include "State.h"

namespace deplo::emulator {

/// Opens the barriers that need not wait for lanes that have ended.
void updateBarriers(Warp &warp);

/// Lets the lanes that wait at an aligned barrier arrive if they are all there
/// are.
void arriveAligned(Warp &warp);

/// If the warp can't go on because its lanes wait at different barriers, says
/// so and returns true.
bool reportBarrierDivergence(Warp &warp);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_BARRIERS_H
