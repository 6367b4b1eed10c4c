// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reduction.h"
#include "Float.h"

using namespace deplo::emulator;

Reduce deplo::emulator::reductionOf(const Form &form) {
  return Reduce(
      form.which({"add", "min", "max", "inc", "dec", "and", "or", "xor"}) + 1);
}

uint64_t deplo::emulator::reduceWord(Reduce op, Type type, uint64_t old,
                                     uint64_t value) {
  auto floating = [&](double x, double y) {
    if (op == Reduce::Add)
      return addToOdd(x, y);
    return op == Reduce::Min ? lesserOf(x, y) : greaterOf(x, y);
  };
  switch (type) {
  case Type::F16:
    return encode(f16Format,
                  floating(decode(f16Format, uint32_t(old)),
                           decode(f16Format, uint32_t(value))),
                  Rounding::NearestEven);
  case Type::BF16:
    return encode(bf16Format,
                  floating(decode(bf16Format, uint32_t(old)),
                           decode(bf16Format, uint32_t(value))),
                  Rounding::NearestEven);
  case Type::F32:
    return encode(f32Format,
                  floating(asFloat(uint32_t(old)), asFloat(uint32_t(value))),
                  Rounding::NearestEven);
  case Type::F64:
    return asBits(addInMemory(asDouble(old), asDouble(value)));
  default:
    break;
  }
  bool isLess = isSigned(type)
                    ? (typeSize(type) == 4 ? int32_t(value) < int32_t(old)
                                           : int64_t(value) < int64_t(old))
                    : value < old;
  switch (op) {
  case Reduce::Add:
    return old + value;
  case Reduce::Min:
    return isLess ? value : old;
  case Reduce::Max:
    return isLess ? old : value;
  case Reduce::Inc:
    return old >= value ? 0 : old + 1;
  case Reduce::Dec:
    return old == 0 || old > value ? value : old - 1;
  case Reduce::And:
    return old & value;
  case Reduce::Or:
    return old | value;
  default:
    return old ^ value;
  }
}
