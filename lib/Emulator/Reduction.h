// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What asynchronous operations do to words of memory.

#ifndef DEPLO_LIB_EMULATOR_REDUCTION_H
#define DEPLO_LIB_EMULATOR_REDUCTION_H

#include "Definition.h"

namespace deplo::emulator {

enum class Reduce : uint32_t { None, Add, Min, Max, Inc, Dec, And, Or, Xor };

/// The one that a modifier names.
Reduce reductionOf(const Form &form);
uint64_t reduceWord(Reduce op, Type type, uint64_t old, uint64_t value);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_REDUCTION_H
