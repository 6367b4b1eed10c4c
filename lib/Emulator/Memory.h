// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From addresses to the host's memory, with every check on the way.

#ifndef DEPLO_LIB_EMULATOR_MEMORY_H
#define DEPLO_LIB_EMULATOR_MEMORY_H

#include "Races.h"
#include "State.h"

namespace deplo::emulator {

/// What is done to memory, and by whom.
struct Access {
  bool isWrite = false;
  /// Volatile, relaxed and stronger: such accesses don't race with each other.
  bool isStrong = false;
  /// Reads what nothing wrote without a fault.
  bool mayBeUndefined = false;
  /// What a plain store writes, where that is known: several threads may write
  /// the same value without an order.
  const uint8_t *value = nullptr;
  Actor actor;
};

/// The host's memory of `bytes` at `address`, or null after a fault. Marks
/// what is written, and tells the race detector.
uint8_t *accessMemory(Warp &warp, const Inst &inst, unsigned lane, Space space,
                      uint64_t address, uint32_t bytes, const Access &access,
                      uint32_t alignment);

/// A generic address's space and its address there.
std::pair<Space, uint64_t> resolveGeneric(uint64_t address);

/// The block of the cluster that a shared address is of; null if none.
Block *sharedBlock(Warp &warp, uint64_t address);

/// Whether a thread's local bytes were written, and says that they were not.
bool isLocalWritten(Warp &warp, unsigned lane, uint64_t address,
                    uint32_t bytes);
void forgetLocal(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes);

/// The address operand of `lane`.
inline uint64_t addressOf(Warp &warp, const Ref &ref, unsigned lane) {
  uint64_t base = ref.bytes == 4 ? warp.row<uint32_t>(ref)[lane]
                                 : warp.row<uint64_t>(ref)[lane];
  return base + uint64_t(ref.displacement);
}

/// Counts the cost of a warp's access; addresses are in `space`.
void countAccess(Warp &warp, const Inst &inst, Space space, uint32_t mask,
                 const uint64_t *addresses, uint32_t bytes);

/// Counts what the banks of shared memory do for it alone.
void countWavefronts(Warp &warp, const Inst &inst, uint32_t mask,
                     const uint64_t *addresses, uint32_t bytes);

/// The shared-memory wavefronts of 32 addresses of `bytes` each.
uint32_t sharedWavefronts(uint32_t mask, const uint64_t *addresses,
                          uint32_t bytes);

InstCounters &countersOf(Warp &warp, const Inst &inst);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_MEMORY_H
