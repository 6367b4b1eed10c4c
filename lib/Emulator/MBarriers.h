// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory barriers: objects of eight bytes in shared memory that count arrivals
// and bytes.

#ifndef DEPLO_LIB_EMULATOR_MBARRIERS_H
#define DEPLO_LIB_EMULATOR_MBARRIERS_H

#include "State.h"

namespace deplo::emulator {

/// A barrier, or null after a fault, and the block that it is of.
struct MBarrierRef {
  MBarrier *barrier = nullptr;
  Block *block = nullptr;
};

/// The barrier at an address; a fault if there is none.
MBarrierRef findMBarrier(Warp &warp, const Inst &inst, unsigned lane,
                         Space space, uint64_t address, bool isOfCopy = false);
/// The barrier at the instruction's first source.
MBarrierRef findMBarrier(Warp &warp, const Inst &inst, unsigned lane);

/// `count` arrivals; `releases` what the thread did before.
void arriveAt(Warp &warp, const Inst &inst, unsigned lane, MBarrierRef barrier,
              uint32_t count, bool releases);

/// So many bytes of this phase have arrived.
void completeBytes(Warp &warp, const Inst &inst, unsigned lane,
                   MBarrierRef barrier, int64_t bytes);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_MBARRIERS_H
