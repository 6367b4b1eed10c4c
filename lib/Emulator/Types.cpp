// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Emulator/Ptx.h"

using namespace deplo::emulator;

namespace {

enum class Sort : uint8_t { Bits, Unsigned, Signed, Float };

struct TypeInfo {
  Type type;
  std::string_view name;
  uint32_t bytes;
  Sort sort;
};

constexpr TypeInfo types[] = {{Type::None, "none", 0, Sort::Bits},
                              {Type::Pred, "pred", 0, Sort::Bits},
                              {Type::B8, "b8", 1, Sort::Bits},
                              {Type::B16, "b16", 2, Sort::Bits},
                              {Type::B32, "b32", 4, Sort::Bits},
                              {Type::B64, "b64", 8, Sort::Bits},
                              {Type::B128, "b128", 16, Sort::Bits},
                              {Type::U8, "u8", 1, Sort::Unsigned},
                              {Type::U16, "u16", 2, Sort::Unsigned},
                              {Type::U32, "u32", 4, Sort::Unsigned},
                              {Type::U64, "u64", 8, Sort::Unsigned},
                              {Type::S8, "s8", 1, Sort::Signed},
                              {Type::S16, "s16", 2, Sort::Signed},
                              {Type::S32, "s32", 4, Sort::Signed},
                              {Type::S64, "s64", 8, Sort::Signed},
                              {Type::U16x2, "u16x2", 4, Sort::Unsigned},
                              {Type::S16x2, "s16x2", 4, Sort::Signed},
                              {Type::F16, "f16", 2, Sort::Float},
                              {Type::F16x2, "f16x2", 4, Sort::Float},
                              {Type::BF16, "bf16", 2, Sort::Float},
                              {Type::BF16x2, "bf16x2", 4, Sort::Float},
                              {Type::TF32, "tf32", 4, Sort::Float},
                              {Type::F32, "f32", 4, Sort::Float},
                              {Type::F32x2, "f32x2", 8, Sort::Float},
                              {Type::F64, "f64", 8, Sort::Float},
                              {Type::E4M3, "e4m3", 1, Sort::Float},
                              {Type::E5M2, "e5m2", 1, Sort::Float},
                              {Type::E4M3x2, "e4m3x2", 2, Sort::Float},
                              {Type::E5M2x2, "e5m2x2", 2, Sort::Float}};

} // namespace

std::optional<Type> deplo::emulator::parseType(std::string_view name) {
  for (const TypeInfo &info : types)
    if (info.name == name && info.type != Type::None)
      return info.type;
  return std::nullopt;
}

std::string_view deplo::emulator::typeName(Type type) {
  return types[size_t(type)].name;
}

uint32_t deplo::emulator::typeSize(Type type) {
  return types[size_t(type)].bytes;
}

bool deplo::emulator::isFloat(Type type) {
  return types[size_t(type)].sort == Sort::Float;
}

bool deplo::emulator::isSigned(Type type) {
  return types[size_t(type)].sort == Sort::Signed;
}

std::string_view deplo::emulator::spaceName(Space space) {
  static constexpr std::string_view names[] = {
      "generic", "reg", "param", "const", "global", "local", "shared"};
  return names[size_t(space)];
}
