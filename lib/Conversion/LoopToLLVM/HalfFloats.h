// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_CONVERSION_LOOPTOLLVM_HALFFLOATS_H
#define DEPLO_LIB_CONVERSION_LOOPTOLLVM_HALFFLOATS_H

#include "mlir/IR/Operation.h"

namespace deplo::host {

/// Leaves nothing of bf16 in `root` but loads, stores and bit patterns, and no
/// function of f16: all that is computed in f32 and rounded each time.
void lowerHalfFloats(mlir::Operation *root);

} // namespace deplo::host

#endif // DEPLO_LIB_CONVERSION_LOOPTOLLVM_HALFFLOATS_H
