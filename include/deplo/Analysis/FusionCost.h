// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel costs before it is scheduled: enough to tell whether two of
// them are better off as one.

#ifndef DEPLO_ANALYSIS_FUSIONCOST_H
#define DEPLO_ANALYSIS_FUSIONCOST_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace deplo {

/// The machine, in seconds.
struct MachineModel {
  double bytesPerSecond;
  double operationsPerSecond;
  double launchSeconds;
  int64_t multiprocessors;
  /// Registers and shared memory that one row may fill.
  int64_t onChipBytes;
  /// 32-bit registers that a thread may have.
  int64_t registersPerThread;
  /// From the first load to its value.
  double latencySeconds = 0;
  /// How many times its share of the bandwidth a multiprocessor may draw if the
  /// others are idle.
  double bandwidthBurst = 1;
  /// Multiply-adds of f16 and bf16 by tensor cores, 0 if there are none.
  double matrixOperationsPerSecond = 0;
  /// Whether wgmma multiplies f16 and bf16 that tensor maps copy.
  bool hasWgmma = false;
  /// Multiply-adds of f32 in pieces by wgmma, 0 if there are none.
  double pieceOperationsPerSecond = 0;

  /// What a kernel takes that does next to nothing.
  double getLeastSeconds() const { return launchSeconds + latencySeconds; }
};

/// One kernel.
struct KernelCost {
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  double operations = 0;
  /// Pieces of work that different multiprocessors can take: rows of a
  /// reduction, blocks of elements of a map.
  int64_t pieces = 1;
  /// How often the loops go over the data: once if a piece stays on chip.
  int64_t sweeps = 1;
  /// Whether long rows may be divided among blocks.
  bool isDivisible = true;

  /// Bytes that one piece of work reads.
  int64_t getBytesPerPiece() const;
};

/// The operations that an element takes whose place is gathered for each tile
/// of a product, as those of windows are: quotients, remainders and bounds.
inline constexpr double operationsOfPlace = 18;

/// The operations that computing one element of an operation such as `math.exp`
/// takes, on machines that multiply and add in one.
double getOperationCost(llvm::StringRef operation);

/// Launch, and whichever is longer of memory traffic and arithmetic on the
/// multiprocessors that have work.
double estimateSeconds(const KernelCost &kernel, const MachineModel &machine);

/// Whether one kernel is no slower than two.
bool pays(const KernelCost &fused, const KernelCost &producer,
          const KernelCost &consumer, const MachineModel &machine);

} // namespace deplo

#endif // DEPLO_ANALYSIS_FUSIONCOST_H
