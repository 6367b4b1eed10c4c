// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frames of functions that may be entered again before they return. A call of
// one by another becomes
//
//   temporaries = arguments
//   enter frame           // Saves the caller's registers.
//   parameters = temporaries
//   call
//   temporaries = results
//   leave frame           // Restores them.
//   results = temporaries

#ifndef DEPLO_LIB_EMULATOR_STACK_H
#define DEPLO_LIB_EMULATOR_STACK_H

#include "State.h"

namespace deplo::emulator {

/// Rows of the registers and addresses of a stacked function, one after the
/// other, with which lanes of them are defined.
struct SavedRegisters {
  std::vector<uint8_t> rows;
  std::vector<uint32_t> predicates, defined;
};

/// Which frame an offset into local memory is relative to.
enum class FrameBase : uint8_t { None, Top, BelowTop };

/// Copies Inst::c bytes of local memory from Inst::a to Inst::b; Inst::wide
/// has the bases of both.
Handler copyParameterHandler();
uint64_t packBases(FrameBase from, FrameBase to);

/// A call of Inst::a by Inst::b - 1, which are in Kernel::stacked; Inst::b is 0
/// of a caller that is not.
Handler enterFrameHandler();
Handler leaveFrameHandler();

/// The variables around `address`, and what their places are relative to.
std::pair<const std::vector<Placement> *, uint64_t>
localPlaces(const Warp &warp, uint64_t address);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_STACK_H
