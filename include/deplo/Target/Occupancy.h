// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many blocks of a kernel a multiprocessor holds at once (CUDA C++
// Programming Guide, "Hardware Multithreading").

#ifndef DEPLO_TARGET_OCCUPANCY_H
#define DEPLO_TARGET_OCCUPANCY_H

#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo {

/// Blocks of `threads` threads with `registers` each and `sharedBytes` of
/// shared memory that fit one multiprocessor.
int64_t getBlocksPerMultiprocessor(tile::TargetAttr target, int64_t threads,
                                   int64_t registers, int64_t sharedBytes);

} // namespace deplo

#endif // DEPLO_TARGET_OCCUPANCY_H
