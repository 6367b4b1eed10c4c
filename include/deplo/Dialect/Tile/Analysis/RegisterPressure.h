// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many registers of a thread tiles need.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_REGISTERPRESSURE_H
#define DEPLO_DIALECT_TILE_ANALYSIS_REGISTERPRESSURE_H

#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Target/TargetDescription.h"

#include <optional>

namespace deplo::tile {

/// Addresses, loop counters and temporaries of one thread, beside its tiles.
constexpr int64_t otherRegisters = 24;

/// 32-bit registers of a thread that tiles with layouts occupy at once where
/// threads wait for each other: nothing can be delayed past such a point.
int64_t estimateRegisters(KernelOp kernel);

/// The same of a loop: what it carries, and what the iterations that are
/// unrolled load at once; the most that any loop needs.
int64_t estimateLoopRegisters(KernelOp kernel);

/// 32-bit registers of a thread that `tile` occupies. Constants, masks and
/// repetitions need not be kept.
int64_t getRegisters(mlir::Value tile);

/// Blocks of a contraction that a multiprocessor has room for, which have
/// `sharedBytes` of shared memory: as many as registers, warps and shared
/// memory allow, since ptxas finds an order of multiply-adds with few values
/// ahead if it is asked to. Nothing for other kernels.
std::optional<int64_t> countContractionBlocks(KernelOp kernel,
                                              int64_t sharedBytes,
                                              const TargetDescription &target);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_REGISTERPRESSURE_H
