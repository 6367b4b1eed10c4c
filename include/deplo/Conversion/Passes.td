// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_CONVERSION_PASSES_TD
#define DEPLO_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // DEPLO_CONVERSION_PASSES_TD
