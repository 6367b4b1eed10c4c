// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Target/Occupancy.h"

#include "llvm/Support/MathExtras.h"

namespace deplo {

int64_t getBlocksPerMultiprocessor(tile::TargetAttr target, int64_t threads,
                                   int64_t registers, int64_t sharedBytes) {
  // Registers are allocated to warps in units of 256; a block's shared memory
  // includes 1 KiB for the system since sm_80.
  constexpr int64_t threadsPerWarp = 32, registerUnit = 256,
                    reservedShared = 1024;
  int64_t warps = llvm::divideCeil(threads, threadsPerWarp);
  int64_t registersPerWarp = llvm::alignTo(
      std::max<int64_t>(registers, 1) * threadsPerWarp, registerUnit);
  int64_t blocks = std::min(target.getBlocksPerMultiprocessor(),
                            target.getWarpsPerMultiprocessor() / warps);
  blocks = std::min(blocks, target.getRegistersPerMultiprocessor() /
                                (registersPerWarp * warps));
  return std::min(blocks, target.getSharedPerMultiprocessor() /
                              (sharedBytes + reservedShared));
}

} // namespace deplo
