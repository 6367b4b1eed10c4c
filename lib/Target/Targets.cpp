// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources:
// - Limits of a multiprocessor, block and thread: CUDA C++ Programming Guide,
//   "Technical Specifications per Compute Capability". Shared memory of a block
//   is that of the multiprocessor less 1 KiB, which the system keeps.
// - Multiprocessors, L2, memory bandwidth and FP32 rate (a multiply-add is two
//   operations): NVIDIA A100 80GB SXM, H200 SXM and HGX B200 (an eighth of it)
//   data sheets; GA102, Ada and RTX Blackwell architecture white papers; L2 of
//   the B200: Blackwell Tuning Guide.
// - Clusters: CUDA C++ Programming Guide, "Thread Block Clusters" (8 blocks are
//   portable) and Hopper and Blackwell Tuning Guides (16 by attribute on sm_90
//   and sm_100). A cluster runs on one graphics processing cluster, of which
//   the white papers show as many multiprocessors each as are written here.
// - mma.sync of f16 with sums in f32: the same documents' dense rates. On sm_90
//   mma.sync reaches 0.62 of that of wgmma ("Benchmarking and Dissecting the
//   Nvidia Hopper GPU Architecture via Microbenchmarking"); assumed for sm_100
//   as well, whose full rate is that of tcgen05.
// - Launch: measured on an H200 as the cost of one dependent kernel in a CUDA
//   graph, and assumed for the others.

#include "deplo/Target/TargetDescription.h"

namespace deplo {

static constexpr int64_t KiB = 1024;
static constexpr int64_t MiB = 1024 * KiB;
static constexpr int64_t giga = 1000 * 1000 * 1000;
static constexpr int64_t registers = 64 * KiB;

const std::vector<TargetDescription> &getTargets() {
  // clang-format off
  static const std::vector<TargetDescription> targets = {
      // chip, product, multiprocessors, warps, blocks, registers, of a thread, threads of a block,
      // shared memory, of a block, L2, memory bytes/s, FP32 operations/s, launch,
      // blocks of a cluster, multiprocessors of a group, mma.sync operations/s,
      // wgmma operations/s
      {"sm_80", "A100 80GB SXM", 108, 64, 32, registers, 255, 1024,
       164 * KiB, 163 * KiB, 40 * MiB, 2039 * giga, 19500 * giga, 760, 1, 1, 312000 * giga},
      {"sm_86", "GeForce RTX 3090", 82, 48, 16, registers, 255, 1024,
       100 * KiB, 99 * KiB, 6 * MiB, 936 * giga, 35600 * giga, 760, 1, 1, 71000 * giga},
      {"sm_89", "GeForce RTX 4090", 128, 48, 24, registers, 255, 1024,
       100 * KiB, 99 * KiB, 72 * MiB, 1008 * giga, 82600 * giga, 760, 1, 1, 165200 * giga},
      {"sm_90a", "H200 SXM", 132, 64, 32, registers, 255, 1024,
       228 * KiB, 227 * KiB, 50 * MiB, 4800 * giga, 67000 * giga, 760, 16, 16, 613000 * giga, 989000 * giga},
      {"sm_100a", "B200", 148, 64, 32, registers, 255, 1024,
       228 * KiB, 227 * KiB, 126 * MiB, 8000 * giga, 75000 * giga, 760, 16, 18, 1395000 * giga},
      {"sm_120a", "GeForce RTX 5090", 170, 48, 24, registers, 255, 1024,
       100 * KiB, 99 * KiB, 96 * MiB, 1792 * giga, 104800 * giga, 760, 8, 16, 209500 * giga},
  };
  // clang-format on
  return targets;
}

const TargetDescription *findTarget(const std::string &chip) {
  for (const TargetDescription &target : getTargets())
    if (target.chip == chip)
      return &target;
  return nullptr;
}

std::string listTargets() {
  std::string names;
  for (const TargetDescription &target : getTargets())
    names += (names.empty() ? "" : ", ") + target.chip;
  return names;
}

} // namespace deplo
