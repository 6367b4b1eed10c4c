// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setp, set, selp, slct.

#include "Float.h"
#include "Lanes.h"

using namespace deplo::emulator;

namespace {

/// The order of two numbers as a bit, so that a comparison is a set of bits.
enum Order : uint32_t { less = 1, equal = 2, greater = 4, unordered = 8 };

uint32_t acceptedOrders(std::string_view name) {
  static const std::pair<std::string_view, uint32_t> table[] = {
      {"eq", equal},
      {"ne", less | greater},
      {"lt", less},
      {"le", less | equal},
      {"gt", greater},
      {"ge", greater | equal},
      {"lo", less},
      {"ls", less | equal},
      {"hi", greater},
      {"hs", greater | equal},
      {"equ", equal | unordered},
      {"neu", less | greater | unordered},
      {"ltu", less | unordered},
      {"leu", less | equal | unordered},
      {"gtu", greater | unordered},
      {"geu", greater | equal | unordered},
      {"num", less | equal | greater},
      {"nan", unordered}};
  for (auto [key, value] : table)
    if (key == name)
      return value;
  return 0;
}

template <typename T>
uint32_t compareRows(const T *a, const T *b, uint32_t accepted) {
  uint32_t result = 0;
  auto gather = [&](auto &&test) {
    uint8_t bits[lanesPerWarp];
    for (unsigned l = 0; l < lanesPerWarp; ++l)
      bits[l] = test(a[l], b[l]);
    for (unsigned l = 0; l < lanesPerWarp; ++l)
      result |= uint32_t(bits[l]) << l;
  };
  switch (accepted) {
  case equal:
    gather([](T x, T y) { return x == y; });
    break;
  case less | greater:
    gather([](T x, T y) { return x < y || x > y; });
    break;
  case less:
    gather([](T x, T y) { return x < y; });
    break;
  case less | equal:
    gather([](T x, T y) { return x <= y; });
    break;
  case greater:
    gather([](T x, T y) { return x > y; });
    break;
  case greater | equal:
    gather([](T x, T y) { return x >= y; });
    break;
  default:
    gather([=](T x, T y) {
      uint32_t order = x < y    ? less
                       : x == y ? equal
                       : x > y  ? greater
                                : unordered;
      return (order & accepted) != 0;
    });
  }
  return result;
}

template <typename T, typename Load>
uint32_t compareLoaded(Warp &warp, const Inst &inst, Load &&load) {
  float a[lanesPerWarp], b[lanesPerWarp];
  for (unsigned l = 0; l < lanesPerWarp; ++l) {
    a[l] = load(warp.row<T>(inst.source(0))[l]);
    b[l] = load(warp.row<T>(inst.source(1))[l]);
  }
  return compareRows(a, b, inst.a);
}

template <typename T> uint32_t compareAs(Warp &warp, const Inst &inst) {
  return compareRows(warp.row<T>(inst.source(0)), warp.row<T>(inst.source(1)),
                     inst.a);
}

float flushedHalf(uint16_t x) {
  return halfToFloat(x & 0x7c00 ? x : x & 0x8000);
}

/// Flags in Inst::b: bit 0 flushes subnormals; bits 1 and 2 give how the third
/// operand is combined.
uint32_t compare(Warp &warp, const Inst &inst) {
  bool flushes = inst.b & 1;
  switch (inst.type) {
  case Type::B16:
  case Type::U16:
    return compareAs<uint16_t>(warp, inst);
  case Type::S16:
    return compareAs<int16_t>(warp, inst);
  case Type::B32:
  case Type::U32:
    return compareAs<uint32_t>(warp, inst);
  case Type::S32:
    return compareAs<int32_t>(warp, inst);
  case Type::B64:
  case Type::U64:
    return compareAs<uint64_t>(warp, inst);
  case Type::S64:
    return compareAs<int64_t>(warp, inst);
  case Type::F64:
    return compareAs<double>(warp, inst);
  case Type::F16:
    return compareLoaded<uint16_t>(warp, inst,
                                   flushes ? flushedHalf : halfToFloat);
  case Type::BF16:
    return compareLoaded<uint16_t>(warp, inst, bfloatToFloat);
  default:
    if (flushes)
      return compareLoaded<float>(warp, inst, flush);
    return compareAs<float>(warp, inst);
  }
}

uint32_t combine(uint32_t value, uint32_t other, uint32_t how) {
  switch (how) {
  case 1:
    return value & other;
  case 2:
    return value | other;
  case 3:
    return value ^ other;
  default:
    return value;
  }
}

void setp(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t value = compare(warp, inst), inverse = ~value;
  uint32_t how = inst.b >> 1;
  if (how != 0) {
    uint32_t other = warp.predicate(inst.source(2));
    value = combine(value, other, how);
    inverse = combine(inverse, other, how);
  }
  writePredicate(warp, inst.result(0), mask, value);
  if (inst.results > 1)
    writePredicate(warp, inst.result(1), mask, inverse);
}

/// The halves of packed registers: each has a predicate of its own.
void setpPacked(Warp &warp, const Inst &inst, uint32_t mask) {
  bool isBfloat = inst.type == Type::BF16x2;
  for (unsigned half = 0; half < 2; ++half) {
    auto load = [&](uint32_t word) {
      auto bits = uint16_t(word >> (16 * half));
      if (isBfloat)
        return bfloatToFloat(bits);
      return inst.b & 1 ? flushedHalf(bits) : halfToFloat(bits);
    };
    uint32_t value = compareLoaded<uint32_t>(warp, inst, load);
    if (inst.b >> 1)
      value = combine(value, warp.predicate(inst.source(2)), inst.b >> 1);
    if (half < inst.results)
      writePredicate(warp, inst.result(half), mask, value);
  }
}

void prepareCompare(Form &form, Inst &inst, Type type) {
  inst.type = type;
  inst.a = acceptedOrders(form.modifiers[0]);
  if (inst.a == (less | greater) && !isFloat(type))
    inst.a = less | greater;
  inst.b = (form.has("ftz") ? 1u : 0u) |
           uint32_t(form.which({"and", "or", "xor"}) + 1) << 1;
}

Handler selectSetp(Form &form, Inst &inst) {
  Type type = form.type();
  prepareCompare(form, inst, type);
  return type == Type::F16x2 || type == Type::BF16x2 ? setpPacked : setp;
}

/// All ones, or 1.0 where the result is a float.
void set(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t value = compare(warp, inst);
  if (inst.b >> 1)
    value = combine(value, warp.predicate(inst.source(2)), inst.b >> 1);
  const Ref &result = inst.result(0);
  forLanes(mask, [&](unsigned l) {
    writeLane(warp, result, l, (value >> l) & 1 ? inst.wide : 0);
  });
}

void setPacked(Warp &warp, const Inst &inst, uint32_t mask) {
  bool isBfloat = inst.type == Type::BF16x2;
  uint32_t halves[2];
  for (unsigned half = 0; half < 2; ++half) {
    halves[half] = compareLoaded<uint32_t>(warp, inst, [&](uint32_t word) {
      auto bits = uint16_t(word >> (16 * half));
      if (isBfloat)
        return bfloatToFloat(bits);
      return inst.b & 1 ? flushedHalf(bits) : halfToFloat(bits);
    });
    if (inst.b >> 1)
      halves[half] =
          combine(halves[half], warp.predicate(inst.source(2)), inst.b >> 1);
  }
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    uint32_t low = (halves[0] >> l) & 1 ? uint32_t(inst.wide) : 0;
    uint32_t high = (halves[1] >> l) & 1 ? uint32_t(inst.wide) : 0;
    return low | high << 16;
  });
}

Handler selectSet(Form &form, Inst &inst) {
  Type to = form.type(0), from = form.type(1);
  prepareCompare(form, inst, from);
  bool isPacked = from == Type::F16x2 || from == Type::BF16x2;
  switch (to) {
  case Type::F32:
    inst.wide = asBits(1.0f);
    break;
  case Type::F16:
  case Type::F16x2:
    inst.wide = 0x3c00;
    break;
  case Type::BF16:
  case Type::BF16x2:
    inst.wide = 0x3f80;
    break;
  default:
    inst.wide = isPacked ? 0xffff : typeSize(to) == 2 ? 0xffff : 0xffffffff;
  }
  return isPacked ? setPacked : set;
}

template <typename T> void selp(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *a = warp.row<T>(inst.source(0)), *b = warp.row<T>(inst.source(1));
  uint32_t choice = warp.predicate(inst.source(2));
  writeLanes(warp.row<T>(inst.result(0)), mask,
             [=](unsigned l) { return (choice >> l) & 1 ? a[l] : b[l]; });
}

Handler selectSelp(Form &form, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  switch (typeSize(form.type())) {
  case 2:
    return selp<uint16_t>;
  case 4:
    return selp<uint32_t>;
  default:
    return selp<uint64_t>;
  }
}

template <typename T> void slct(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *a = warp.row<T>(inst.source(0)), *b = warp.row<T>(inst.source(1));
  const Ref &last = inst.source(2);
  writeLanes(warp.row<T>(inst.result(0)), mask, [&](unsigned l) {
    bool takesA;
    if (inst.a) {
      float c = warp.row<float>(last)[l];
      takesA = (inst.b ? flush(c) : c) >= 0;
    } else {
      takesA = warp.row<int32_t>(last)[l] >= 0;
    }
    return takesA ? a[l] : b[l];
  });
}

Handler selectSlct(Form &form, Inst &inst) {
  inst.a = form.type(1) == Type::F32;
  inst.b = form.has("ftz");
  switch (typeSize(form.type())) {
  case 2:
    return slct<uint16_t>;
  case 4:
    return slct<uint32_t>;
  default:
    return slct<uint64_t>;
  }
}

#define COMPARISON                                                             \
  "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"
#define OPERAND "b16|b32|b64|" DEPLO_PTX_INT "|f16|f16x2|bf16|bf16x2|f32|f64"

const Definition table[] = {
    {"setp", COMPARISON " ftz? " OPERAND, "=p|p T T", selectSetp},
    {"setp", COMPARISON " and|or|xor ftz? " OPERAND, "=p|p T T p", selectSetp},
    {"set",
     COMPARISON " ftz? u16|s16|u32|s32|f32|f16|bf16|f16x2|bf16x2 " OPERAND,
     "=T U U", selectSet},
    {"set",
     COMPARISON
     " and|or|xor ftz? u16|s16|u32|s32|f32|f16|bf16|f16x2|bf16x2 " OPERAND,
     "=T U U p", selectSet},
    {"selp", DEPLO_PTX_ANY, "=T T T p", selectSelp},
    {"slct", "ftz? " DEPLO_PTX_ANY " s32|f32", "=T T T U", selectSlct},
};

} // namespace

DefinitionList deplo::emulator::compareDefinitions() { return listOf(table); }
