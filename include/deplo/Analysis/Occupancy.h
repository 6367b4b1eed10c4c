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

/// Registers of a thread that computes by wgmma, beside its tiles.
constexpr int64_t registersBesideSums = 40;

/// Registers of a thread of the warpgroup that copies for a block, and of each
/// of the warps that compute.
struct RoleRegisters {
  int64_t ofProducer, ofOthers;
};

/// Those of `blocks` on each multiprocessor, of `warps` warps and a warpgroup
/// that copies: all that the hardware grants them.
RoleRegisters shareRegisters(const TargetDescription &target, int64_t warps,
                             int64_t blocks);

/// Blocks of `warps` warps, which need `registersPerThread`, and a warpgroup
/// that copies; 0 if not even one.
int64_t countResidentRoles(const TargetDescription &target, int64_t warps,
                           int64_t registersPerThread, int64_t sharedBytes);

} // namespace deplo

#endif // DEPLO_ANALYSIS_OCCUPANCY_H
