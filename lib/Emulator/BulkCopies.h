// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bulk copies of runs of bytes and of boxes of tensors share.

#ifndef DEPLO_LIB_EMULATOR_BULKCOPIES_H
#define DEPLO_LIB_EMULATOR_BULKCOPIES_H

#include "Definition.h"
#include "MBarriers.h"
#include "Memory.h"
#include "Reduction.h"

namespace deplo::emulator {

/// Which way a copy goes, and what its end is told to. Inst::a.
enum class Route : uint32_t {
  /// To shared memory, with a memory barrier.
  Load,
  /// From shared memory to that of a block of the cluster, with a barrier.
  Exchange,
  /// From shared to global memory, in bulk groups.
  Store,
  /// Nothing but a hint.
  Prefetch
};

/// Bytes that are moved at once.
constexpr uint32_t bulkUnit = 16;

/// Who reads or writes in a bulk group of a thread, and up to a phase of a
/// memory barrier.
Actor groupActor(const Warp &warp, unsigned lane, Agent agent);
Actor barrierActor(MBarrierRef ref);

/// One end of a copy.
struct End {
  Space space;
  Actor actor;
  /// Of the elements, for reductions.
  Type type = Type::None;
};

/// Moves up to 16 bytes; false after a fault. Inst::b: the reduction.
bool moveBytes(Warp &warp, const Inst &inst, unsigned lane, const End &from,
               uint64_t source, const End &to, uint64_t target, uint32_t bytes);

/// Counts one request of `bytes` in whole sectors.
void countCopy(Warp &warp, const Inst &inst, uint64_t bytes);

/// The same byte in another block of the cluster.
uint64_t inBlock(uint64_t address, uint32_t rank);

/// The blocks that a load goes to. Inst::c: it is multicast.
uint32_t targetsOf(Warp &warp, const Inst &inst, unsigned lane,
                   uint64_t address, unsigned maskSource);

/// What all copies take from their form: Inst::a to c.
void decodeCopy(Form &form, Inst &inst, Route route);

/// Hints do nothing.
Handler selectPrefetch(Form &form, Inst &inst);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_BULKCOPIES_H
