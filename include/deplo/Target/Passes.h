// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_TARGET_PASSES_H
#define DEPLO_TARGET_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace deplo {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "deplo/Target/Passes.h.inc"

} // namespace deplo

#endif // DEPLO_TARGET_PASSES_H
