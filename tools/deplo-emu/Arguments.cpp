// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Arguments.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

namespace {

enum class Sort { Unsigned, Signed, Float };

struct ElementType {
  const char *name;
  unsigned bytes;
  Sort sort;
};

constexpr ElementType elementTypes[] = {
    {"u8", 1, Sort::Unsigned},  {"i8", 1, Sort::Signed},
    {"u16", 2, Sort::Unsigned}, {"i16", 2, Sort::Signed},
    {"u32", 4, Sort::Unsigned}, {"i32", 4, Sort::Signed},
    {"u64", 8, Sort::Unsigned}, {"i64", 8, Sort::Signed},
    {"f16", 2, Sort::Float},    {"bf16", 2, Sort::Float},
    {"f32", 4, Sort::Float},    {"f64", 8, Sort::Float}};

const ElementType *findType(std::string_view name) {
  for (const ElementType &type : elementTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

uint16_t toHalf(float value) {
#pragma clang diagnostic push
  _Float16 half = static_cast<_Float16>(value);
#pragma clang diagnostic pop
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

float fromHalf(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof(bits));
  return float(half);
}

/// `value` as an element's bits.
uint64_t encodeElement(const ElementType &type, double value) {
  uint64_t bits = 0;
  if (type.sort != Sort::Float) {
    int64_t integer = int64_t(value);
    std::memcpy(&bits, &integer, type.bytes);
    return bits;
  }
  if (type.bytes == 8) {
    std::memcpy(&bits, &value, 8);
    return bits;
  }
  auto single = float(value);
  uint32_t word;
  std::memcpy(&word, &single, 4);
  if (type.bytes == 4)
    return word;
  if (std::string_view(type.name) == "f16")
    return toHalf(single);
  return (word + 0x7fff + ((word >> 16) & 1)) >> 16;
}

void fill(Argument &argument, const ElementType &type, const std::string &what,
          unsigned number) {
  std::mt19937 generator(number);
  std::uniform_real_distribution<double> uniform(-1, 1);
  argument.bytes.resize(argument.elements * type.bytes);
  for (uint64_t i = 0; i < argument.elements; ++i) {
    double value = what == "iota" ? double(i) : std::atof(what.c_str());
    if (what == "random")
      value = uniform(generator) * (type.sort == Sort::Float ? 1 : 100);
    uint64_t bits = encodeElement(type, value);
    std::memcpy(argument.bytes.data() + i * type.bytes, &bits, type.bytes);
  }
}

} // namespace

uint64_t Argument::elementBytes() const { return findType(dtype)->bytes; }

std::string Argument::element(uint64_t index) const {
  const ElementType &type = *findType(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * type.bytes, type.bytes);
  if (type.sort == Sort::Unsigned)
    return std::to_string(bits);
  if (type.sort == Sort::Signed) {
    unsigned shift = 64 - 8 * type.bytes;
    return std::to_string(int64_t(bits << shift) >> shift);
  }
  double value;
  if (type.bytes == 8) {
    std::memcpy(&value, &bits, 8);
  } else {
    uint32_t word = uint32_t(bits);
    if (dtype == "bf16")
      word <<= 16;
    float single;
    std::memcpy(&single, &word, 4);
    value = dtype == "f16" ? fromHalf(uint16_t(bits)) : single;
  }
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

Result<Argument> deplo::emulator::parseArgument(std::string_view text,
                                                unsigned number) {
  auto wrong = [&](const std::string &why) {
    return Status::failure("argument '" + std::string(text) + "': " + why);
  };
  size_t equals = text.find('=');
  std::string_view shape = text.substr(0, equals);
  std::string value = equals == std::string_view::npos
                          ? "zero"
                          : std::string(text.substr(equals + 1));
  Argument argument;
  size_t bracket = shape.find('[');
  argument.dtype = std::string(shape.substr(0, bracket));
  const ElementType *type = findType(argument.dtype);
  if (!type)
    return wrong("expected a type as 'f32', 'bf16' or 'i64'");
  if (bracket != std::string_view::npos) {
    argument.isBuffer = true;
    std::string extents(shape.substr(bracket + 1));
    const char *at = extents.c_str();
    for (;;) {
      char *end = nullptr;
      uint64_t extent = std::strtoull(at, &end, 10);
      constexpr uint64_t most = uint64_t(1) << 32;
      if (end == at || extent > most || argument.elements * extent > most)
        return wrong("expected extents as '[64x32]'");
      argument.elements *= extent;
      at = end;
      if (*at == ']')
        break;
      if (*at++ != 'x')
        return wrong("expected extents as '[64x32]'");
    }
  }
  if (value == "none") {
    argument.isInitialized = false;
    value = "zero";
  }
  if (!value.empty() && value[0] == '@') {
    std::ifstream file(value.substr(1), std::ios::binary);
    if (!file)
      return wrong("can't read the file");
    argument.bytes.assign(std::istreambuf_iterator<char>(file), {});
    uint64_t wanted = argument.elements * type->bytes;
    if (argument.bytes.size() != wanted)
      return wrong("the file has " + std::to_string(argument.bytes.size()) +
                   " bytes, expected " + std::to_string(wanted));
    return argument;
  }
  fill(argument, *type, value, number);
  return argument;
}
