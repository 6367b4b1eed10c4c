// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the GPUs that are known by name. Passes see them as the module
// attribute `tile.target`, which can also be written by hand.

#ifndef DEPLO_TARGET_TARGETDESCRIPTION_H
#define DEPLO_TARGET_TARGETDESCRIPTION_H

#include <cstdint>
#include <string>
#include <vector>

namespace deplo {

/// The most blocks of a launch along x, on every GPU (CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability").
constexpr int64_t maxBlocksPerLaunch = (int64_t(1) << 31) - 1;

/// Sizes in bytes, rates in units a second.
struct TargetDescription {
  /// LLVM's name of the processor, such as sm_90a.
  std::string chip;
  /// The product whose numbers these are.
  std::string product;
  int64_t multiprocessors;
  int64_t warpsPerMultiprocessor;
  int64_t blocksPerMultiprocessor;
  int64_t registersPerMultiprocessor;
  int64_t registersPerThread;
  int64_t threadsPerBlock;
  int64_t sharedPerMultiprocessor;
  int64_t sharedPerBlock;
  int64_t l2Bytes;
  int64_t dramBytesPerSecond;
  int64_t f32FlopsPerSecond;
  /// What one more kernel costs in a chain of dependent ones.
  int64_t launchNanoseconds;
  /// The most blocks of a cluster; 1 if there are no clusters.
  int64_t blocksPerCluster = 1;
  /// The multiprocessors that the blocks of a cluster are spread over.
  int64_t multiprocessorsPerGroup = 1;
  /// mma.sync of f16 with sums in f32; 0 without tensor cores.
  int64_t mmaFlopsPerSecond = 0;
  /// wgmma of f16 with sums in f32; 0 where there is none.
  int64_t wgmmaFlopsPerSecond = 0;
};

/// All targets, oldest first.
const std::vector<TargetDescription> &getTargets();

/// The target called `chip`, or null.
const TargetDescription *findTarget(const std::string &chip);

/// "sm_80, sm_86, ...", for messages.
std::string listTargets();

} // namespace deplo

#endif // DEPLO_TARGET_TARGETDESCRIPTION_H
