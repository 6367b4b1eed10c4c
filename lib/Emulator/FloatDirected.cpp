// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64 arithmetic that rounds toward zero, down or up. Compiled with
// strict floating-point semantics.

#include "FloatDirected.h"
#include "FloatArithmetic.h"

Handler deplo::emulator::directedFloatHandler(std::string_view opcode,
                                              Type type) {
  return type == Type::F64 ? floatHandlerOf<double, true>(opcode)
                           : floatHandlerOf<float, true>(opcode);
}
