// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_CONVERSION_PASSES_H
#define DEPLO_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace deplo {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "deplo/Conversion/Passes.h.inc"

} // namespace deplo

#endif // DEPLO_CONVERSION_PASSES_H
