// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_H
#define DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace deplo::loop {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_TRANSFORMS_PASSES_H
