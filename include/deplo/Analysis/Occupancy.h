// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many blocks a multiprocessor holds at once.

#ifndef DEPLO_ANALYSIS_OCCUPANCY_H
#define DEPLO_ANALYSIS_OCCUPANCY_H

#include "deplo/Target/TargetDescription.h"

namespace deplo {

/// Each issues instructions of its own warps to its own pipes (CUDA C++
/// Programming Guide, "Compute Capabilities": four since 5.0).
constexpr int64_t schedulersPerMultiprocessor = 4;

/// Blocks of `warps` warps with `registersPerThread` and `sharedBytes`, as many
/// as registers, warps, blocks and shared memory of a multiprocessor allow; 0
/// if not even one.
int64_t countResidentBlocks(const TargetDescription &target, int64_t warps,
                            int64_t registersPerThread, int64_t sharedBytes);

} // namespace deplo

#endif // DEPLO_ANALYSIS_OCCUPANCY_H
