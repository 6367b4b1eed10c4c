// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel must at least do, whatever its schedule.

#ifndef DEPLO_DIALECT_LOOP_ANALYSIS_KERNELCOST_H
#define DEPLO_DIALECT_LOOP_ANALYSIS_KERNELCOST_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "llvm/ADT/SmallVector.h"

namespace deplo::loop {

struct KernelCost {
  /// Each element that is loaded, once, and each that is stored.
  int64_t bytesRead = 0, bytesWritten = 0;
  /// Floating-point operations of arith and math; conversions and constants
  /// count nothing, a math function counts one.
  int64_t flops = 0;
  /// What these are sums of: with sizes that are known when the program runs,
  /// each is a multiple of a product of them.
  llvm::SmallVector<int64_t> readTerms, writtenTerms, flopTerms;

  /// Operations a byte.
  double getIntensity() const {
    int64_t bytes = bytesRead + bytesWritten;
    return bytes == 0 ? 0 : static_cast<double>(flops) / bytes;
  }
};

KernelCost computeCost(KernelOp kernel);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_ANALYSIS_KERNELCOST_H
