// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_EMULATOR_FLOATDIRECTED_H
#define DEPLO_LIB_EMULATOR_FLOATDIRECTED_H

#include "Program.h"

namespace deplo::emulator {

/// For add, sub, mul, div, fma, sqrt and rcp of f32 and f64; the instruction
/// names the processor's rounding mode.
Handler directedFloatHandler(std::string_view opcode, Type type);

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_FLOATDIRECTED_H
