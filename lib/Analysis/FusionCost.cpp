// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/FusionCost.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

namespace deplo {

int64_t KernelCost::getBytesPerPiece() const {
  return bytesRead / std::max<int64_t>(pieces, 1);
}

// Instructions of an accurate f32 implementation; the order of magnitude is
// what matters.
double getOperationCost(llvm::StringRef operation) {
  return llvm::StringSwitch<double>(operation)
      .Case("arith.constant", 0)
      .Case("arith.divf", 9)
      .Cases({"math.sqrt", "math.rsqrt"}, 8)
      .Cases({"math.exp", "math.exp2", "math.log", "math.log2"}, 12)
      .Cases({"math.log10", "math.log1p", "math.expm1", "math.atan"}, 20)
      .Cases({"math.tanh", "math.erf", "math.cosh", "math.acosh"}, 25)
      .Cases({"math.asin", "math.acos", "math.sinh", "math.tan"}, 30)
      .Cases({"math.sin", "math.cos", "math.erfc", "math.atan2"}, 30)
      .Cases({"math.asinh", "math.atanh", "arith.remf"}, 40)
      .Case("math.powf", 60)
      .Default(1);
}

double estimateSeconds(const KernelCost &kernel, const MachineModel &machine) {
  auto estimate = [&](int64_t pieces, bool staysOnChip, int64_t launches) {
    int64_t busy = std::clamp<int64_t>(pieces, 1, machine.multiprocessors);
    double share = static_cast<double>(busy) / machine.multiprocessors;
    double bytes = static_cast<double>(kernel.bytesRead) *
                       (staysOnChip ? 1 : kernel.sweeps) +
                   kernel.bytesWritten;
    double drawn = std::min(1.0, machine.bandwidthBurst * share);
    double traffic = bytes / (machine.bytesPerSecond * drawn);
    double arithmetic =
        kernel.operations / (machine.operationsPerSecond * share);
    return launches * machine.getLeastSeconds() + std::max(traffic, arithmetic);
  };
  double whole = estimate(kernel.pieces,
                          kernel.getBytesPerPiece() <= machine.onChipBytes, 1);
  if (!kernel.isDivisible)
    return whole;
  // Long rows may be divided: then each sweep is two kernels, for the parts and
  // for the totals, and reads everything again.
  double divided = estimate(machine.multiprocessors, /*staysOnChip=*/false,
                            2 * kernel.sweeps);
  return std::min(whole, divided);
}

bool pays(const KernelCost &fused, const KernelCost &producer,
          const KernelCost &consumer, const MachineModel &machine) {
  return estimateSeconds(fused, machine) <=
         estimateSeconds(producer, machine) +
             estimateSeconds(consumer, machine);
}

} // namespace deplo
