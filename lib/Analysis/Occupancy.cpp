// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/Occupancy.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace deplo {

/// Registers are given out by so many, and a program can use so many of them.
static constexpr int64_t registerUnit = 8, mostRegisters = 240;
static constexpr int64_t lanes = 32, producerWarps = 4;
/// Shared memory of a block that its program doesn't see.
static constexpr int64_t reservedSharedBytes = 1024;

int64_t countResidentBlocks(const TargetDescription &target, int64_t warps,
                            int64_t registersPerThread, int64_t sharedBytes) {
  // A warp's registers are of one of four parts of a multiprocessor.
  constexpr int64_t parts = 4;
  int64_t ofWarp = llvm::alignTo(registersPerThread, registerUnit) * lanes;
  int64_t warpsByRegisters =
      parts * (target.registersPerMultiprocessor / parts / ofWarp);
  return std::min(
      {target.blocksPerMultiprocessor,
       std::min(target.warpsPerMultiprocessor, warpsByRegisters) / warps,
       target.sharedPerMultiprocessor / (sharedBytes + reservedSharedBytes)});
}

/// What each thread has before roles share registers out.
static int64_t getRegistersAtStart(const TargetDescription &target,
                                   int64_t warps, int64_t blocks) {
  int64_t threads = (warps + producerWarps) * lanes;
  return llvm::alignDown(
      std::min(target.registersPerThread,
               target.registersPerMultiprocessor / (blocks * threads)),
      registerUnit);
}

RoleRegisters shareRegisters(const TargetDescription &target, int64_t warps,
                             int64_t blocks) {
  int64_t all =
      getRegistersAtStart(target, warps, blocks) * (warps + producerWarps);
  // Several blocks have few to spare.
  int64_t ofProducer = blocks == 1 ? 40 : 24;
  int64_t left = (all - ofProducer * producerWarps) / warps;
  return {ofProducer, std::min<int64_t>(llvm::alignDown(left, registerUnit),
                                        mostRegisters)};
}

int64_t countResidentRoles(const TargetDescription &target, int64_t warps,
                           int64_t registersPerThread, int64_t sharedBytes) {
  int64_t room = std::min(
      {target.blocksPerMultiprocessor,
       target.warpsPerMultiprocessor / (warps + producerWarps),
       target.sharedPerMultiprocessor / (sharedBytes + reservedSharedBytes)});
  // An instruction's sums have to fit what threads start with (ptxas, C7602).
  while (room > 1 &&
         getRegistersAtStart(target, warps, room) < registersPerThread)
    --room;
  return shareRegisters(target, warps, std::max<int64_t>(room, 1)).ofOthers <
                 registersPerThread
             ? 0
             : room;
}

} // namespace deplo
