// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/CopyModel.h"

#include "deplo/Analysis/MemoryFacts.h"

namespace deplo {

/// A launch, and the part of the bandwidth on the data sheet that is reached.
static constexpr double launchNanoseconds = 1500, reachedBandwidth = 0.85;
/// What is written stays in L2 if it takes so much of it.
static constexpr double partOfL2 = 0.6;

double estimateTransfer(double bytes, const TargetDescription &target) {
  double bandwidth = target.dramBytesPerSecond / 1e9 * reachedBandwidth *
                     (bytes < partOfL2 * target.l2Bytes ? l2Bandwidth : 1);
  return bytes / bandwidth;
}

double estimateCopies(double bytes, int64_t kernels,
                      const TargetDescription &target) {
  return estimateTransfer(bytes, target) + launchNanoseconds * kernels;
}

} // namespace deplo
