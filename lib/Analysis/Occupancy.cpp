// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/Occupancy.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace deplo {

int64_t countResidentBlocks(const TargetDescription &target, int64_t warps,
                            int64_t registersPerThread, int64_t sharedBytes) {
  constexpr int64_t lanes = 32, registerUnit = 8;
  // Shared memory of a block that its program doesn't see.
  constexpr int64_t reservedSharedBytes = 1024;
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

} // namespace deplo
