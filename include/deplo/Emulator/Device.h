// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's device "emu": runs packages made for "cuda" by interpreting
// their PTX, and fails where a kernel does anything wrong.

#ifndef DEPLO_EMULATOR_DEVICE_H
#define DEPLO_EMULATOR_DEVICE_H

#include "deplo/Emulator/Emulator.h"

namespace deplo {

/// Makes "emu" known to the runtime. Calls after the first do nothing.
void registerEmulatedDevice();

namespace emulator {

/// The GPU of an architecture as "sm_90a"; the nearest older one that is known
/// if there is none.
Machine machineFor(std::string_view target);

} // namespace emulator
} // namespace deplo

#endif // DEPLO_EMULATOR_DEVICE_H
