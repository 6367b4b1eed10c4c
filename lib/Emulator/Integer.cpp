// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic.

#include "Lanes.h"

#include <algorithm>
#include <limits>

using namespace deplo::emulator;

namespace {

struct Add {
  template <typename T> static T run(T a, T b) { return T(wide(a) + wide(b)); }
};
struct Sub {
  template <typename T> static T run(T a, T b) { return T(wide(a) - wide(b)); }
};
struct AddSat {
  static int32_t run(int32_t a, int32_t b) {
    int64_t sum = int64_t(a) + b;
    return int32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  static int32_t run(int32_t a, int32_t b) {
    int64_t difference = int64_t(a) - b;
    return int32_t(std::clamp<int64_t>(difference, INT32_MIN, INT32_MAX));
  }
};
struct MulLo {
  template <typename T> static T run(T a, T b) { return T(wide(a) * wide(b)); }
};
template <typename T> struct Doubled;
template <> struct Doubled<uint16_t> {
  using type = uint32_t;
};
template <> struct Doubled<int16_t> {
  using type = int32_t;
};
template <> struct Doubled<uint32_t> {
  using type = uint64_t;
};
template <> struct Doubled<int32_t> {
  using type = int64_t;
};
template <> struct Doubled<uint64_t> {
  using type = unsigned __int128;
};
template <> struct Doubled<int64_t> {
  using type = __int128;
};
template <typename T> using DoubledT = typename Doubled<T>::type;

struct MulHi {
  template <typename T> static T run(T a, T b) {
    return T((DoubledT<T>(a) * DoubledT<T>(b)) >> (8 * sizeof(T)));
  }
};
struct MadLo {
  template <typename T> static T run(T a, T b, T c) {
    return T(wide(MulLo::run(a, b)) + wide(c));
  }
};
struct MadHi {
  template <typename T> static T run(T a, T b, T c) {
    return T(wide(MulHi::run(a, b)) + wide(c));
  }
};
struct MadHiSat {
  static int32_t run(int32_t a, int32_t b, int32_t c) {
    return AddSat::run(MulHi::run(a, b), c);
  }
};
struct MulWide {
  template <typename T> static DoubledT<T> run(T a, T b) {
    return DoubledT<T>(a) * DoubledT<T>(b);
  }
};
struct MadWide {
  template <typename T> static DoubledT<T> run(T a, T b, DoubledT<T> c) {
    return DoubledT<T>(wide(MulWide::run(a, b)) + wide(c));
  }
};

int32_t low24(int32_t x) { return int32_t(uint32_t(x) << 8) >> 8; }
uint32_t low24(uint32_t x) { return x & 0xffffff; }

struct Mul24Lo {
  template <typename T> static T run(T a, T b) {
    return T(DoubledT<T>(low24(a)) * low24(b));
  }
};
struct Mul24Hi {
  template <typename T> static T run(T a, T b) {
    return T((DoubledT<T>(low24(a)) * low24(b)) >> 16);
  }
};
struct Mad24Lo {
  template <typename T> static T run(T a, T b, T c) {
    return T(wide(Mul24Lo::run(a, b)) + wide(c));
  }
};
struct Mad24Hi {
  template <typename T> static T run(T a, T b, T c) {
    return T(wide(Mul24Hi::run(a, b)) + wide(c));
  }
};

struct Mad24HiSat {
  static int32_t run(int32_t a, int32_t b, int32_t c) {
    return AddSat::run(Mad24Hi::run(a, b, int32_t(0)), c);
  }
};

// By zero both give all ones, as the GPU's routine does.
struct Div {
  template <typename T> static T run(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return T(0 - wide(a));
    return T(a / b);
  }
};
struct Rem {
  template <typename T> static T run(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return T(a % b);
  }
};
struct Min {
  template <typename T> static T run(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <typename T> static T run(T a, T b) { return a > b ? a : b; }
};
struct Abs {
  template <typename T> static T run(T a) { return a < 0 ? T(0 - wide(a)) : a; }
};
struct Neg {
  template <typename T> static T run(T a) { return T(0 - wide(a)); }
};
struct Sad {
  template <typename T> static T run(T a, T b, T c) {
    return T(wide(c) + (a < b ? wide(b) - wide(a) : wide(a) - wide(b)));
  }
};

/// Two halves of 16 bits.
template <typename Op, typename T> struct Pair {
  static uint32_t run(uint32_t a, uint32_t b) {
    auto low = uint16_t(Op::run(T(uint16_t(a)), T(uint16_t(b))));
    auto high = uint16_t(Op::run(T(uint16_t(a >> 16)), T(uint16_t(b >> 16))));
    return uint32_t(low) | uint32_t(high) << 16;
  }
};

template <typename Op> Handler selectPair(Form &form, Inst &) {
  return form.type() == Type::S16x2
             ? sameTypes<Pair<Op, int16_t>, 2, uint32_t>()
             : sameTypes<Pair<Op, uint16_t>, 2, uint32_t>();
}

struct ReluOf {
  template <typename T> static T run(T a) { return a < 0 ? T(0) : a; }
};
template <typename Op> struct Relu {
  template <typename T> static T run(T a, T b) {
    return ReluOf::run(Op::run(a, b));
  }
};

template <typename Op> Handler selectSigned32(Form &, Inst &) {
  return sameTypes<Op, 2, int32_t>();
}

template <typename Op> Handler select24(Form &form, Inst &) {
  return isSigned(form.type()) ? sameTypes<Op, 2, int32_t>()
                               : sameTypes<Op, 2, uint32_t>();
}
template <typename Op> Handler selectMad24(Form &form, Inst &) {
  return isSigned(form.type()) ? sameTypes<Op, 3, int32_t>()
                               : sameTypes<Op, 3, uint32_t>();
}

Handler selectMulWide(Form &form, Inst &) {
  switch (form.type()) {
  case Type::U16:
    return binary<MulWide, uint32_t, uint16_t, uint16_t>;
  case Type::S16:
    return binary<MulWide, int32_t, int16_t, int16_t>;
  case Type::U32:
    return binary<MulWide, uint64_t, uint32_t, uint32_t>;
  default:
    return binary<MulWide, int64_t, int32_t, int32_t>;
  }
}

Handler selectMadWide(Form &form, Inst &) {
  switch (form.type()) {
  case Type::U16:
    return ternary<MadWide, uint32_t, uint16_t, uint16_t, uint32_t>;
  case Type::S16:
    return ternary<MadWide, int32_t, int16_t, int16_t, int32_t>;
  case Type::U32:
    return ternary<MadWide, uint64_t, uint32_t, uint32_t, uint64_t>;
  default:
    return ternary<MadWide, int64_t, int32_t, int32_t, int64_t>;
  }
}

//===----------------------------------------------------------------------===//
// Carry: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is a predicate
// that the decoder gives as the last source and result.
//===----------------------------------------------------------------------===//

/// a: 0 add, 1 subtract, 2 mad.lo, 3 mad.hi; b: bit 0 reads the carry, bit 1
/// writes it.
template <typename T>
void withCarry(Warp &warp, const Inst &inst, uint32_t mask) {
  using D = DoubledT<std::make_unsigned_t<T>>;
  using U = std::make_unsigned_t<T>;
  const T *a = warp.row<T>(inst.source(0)), *b = warp.row<T>(inst.source(1));
  uint32_t carry = inst.b & 1 ? warp.predicates[0] : 0, carryOut = 0;
  T result[lanesPerWarp];
  for (unsigned l = 0; l < lanesPerWarp; ++l) {
    D x = U(a[l]), y = U(b[l]), in = (carry >> l) & 1, sum;
    if (inst.a >= 2) {
      x = inst.a == 2 ? D(U(MulLo::run(a[l], b[l])))
                      : D(U(MulHi::run(a[l], b[l])));
      y = U(warp.row<T>(inst.source(2))[l]);
    }
    sum = inst.a == 1 ? x - y - in : x + y + in;
    result[l] = T(sum);
    carryOut |= uint32_t((sum >> (8 * sizeof(T))) != 0) << l;
  }
  writeResult(warp, inst.result(0), mask, result);
  if (inst.b & 2)
    warp.predicates[0] = (warp.predicates[0] & ~mask) | (carryOut & mask);
}

Handler selectCarry(Form &form, Inst &inst) {
  std::string_view opcode = form.ast.opcode;
  bool reads = opcode.back() == 'c';
  inst.a = opcode.substr(0, 3) == "sub" ? 1 : 0;
  if (opcode.substr(0, 3) == "mad")
    inst.a = form.has("hi") ? 3 : 2;
  inst.b = (reads ? 1 : 0) | (form.has("cc") ? 2 : 0);
  switch (form.type()) {
  case Type::U32:
    return withCarry<uint32_t>;
  case Type::S32:
    return withCarry<int32_t>;
  case Type::U64:
    return withCarry<uint64_t>;
  default:
    return withCarry<int64_t>;
  }
}

//===----------------------------------------------------------------------===//
// Dot products: dp4a, dp2a
//===----------------------------------------------------------------------===//

int64_t piece(uint32_t word, unsigned index, unsigned bits, bool isSigned) {
  uint32_t value = (word >> (index * bits)) & ((1u << bits) - 1);
  return isSigned ? int64_t(int32_t(value << (32 - bits)) >> (32 - bits))
                  : int64_t(value);
}

void dotProduct4(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1)),
                 *c = warp.row<uint32_t>(inst.source(2));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    int64_t sum = c[l];
    for (unsigned i = 0; i < 4; ++i)
      sum += piece(a[l], i, 8, inst.a) * piece(b[l], i, 8, inst.b);
    return uint32_t(sum);
  });
}

void dotProduct2(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1)),
                 *c = warp.row<uint32_t>(inst.source(2));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    int64_t sum = c[l];
    for (unsigned i = 0; i < 2; ++i)
      sum += piece(a[l], i, 16, inst.a) * piece(b[l], i + inst.c, 8, inst.b);
    return uint32_t(sum);
  });
}

Handler selectDotProduct(Form &form, Inst &inst) {
  inst.a = isSigned(form.type(0));
  inst.b = isSigned(form.type(1));
  inst.c = form.has("hi") ? 2 : 0;
  return form.ast.opcode == "dp4a" ? dotProduct4 : dotProduct2;
}

const Definition table[] = {
    {"add", DEPLO_PTX_INT, "=T T T", selectInteger<Add, 2>},
    {"add", "sat s32", "=T T T", selectSigned32<AddSat>},
    {"add", "u16x2|s16x2", "=T T T", selectPair<Add>},
    {"sub", DEPLO_PTX_INT, "=T T T", selectInteger<Sub, 2>},
    {"sub", "sat s32", "=T T T", selectSigned32<SubSat>},
    {"add", "cc u32|s32|u64|s64", "=T T T", selectCarry},
    {"addc", "cc? u32|s32|u64|s64", "=T T T", selectCarry},
    {"sub", "cc u32|s32|u64|s64", "=T T T", selectCarry},
    {"subc", "cc? u32|s32|u64|s64", "=T T T", selectCarry},
    {"mad", "lo|hi cc u32|s32|u64|s64", "=T T T T", selectCarry},
    {"madc", "lo|hi cc? u32|s32|u64|s64", "=T T T T", selectCarry},
    {"mul", "lo " DEPLO_PTX_INT, "=T T T", selectInteger<MulLo, 2>},
    {"mul", "hi " DEPLO_PTX_INT, "=T T T", selectInteger<MulHi, 2>},
    {"mul", "wide u16|u32|s16|s32", "=W T T", selectMulWide},
    {"mad", "lo " DEPLO_PTX_INT, "=T T T T", selectInteger<MadLo, 3>},
    {"mad", "hi " DEPLO_PTX_INT, "=T T T T", selectInteger<MadHi, 3>},
    {"mad", "hi sat s32", "=T T T T",
     [](Form &, Inst &) { return sameTypes<MadHiSat, 3, int32_t>(); }},
    {"mad", "wide u16|u32|s16|s32", "=W T T W", selectMadWide},
    {"mul24", "lo u32|s32", "=T T T", select24<Mul24Lo>},
    {"mul24", "hi u32|s32", "=T T T", select24<Mul24Hi>},
    {"mad24", "lo u32|s32", "=T T T T", selectMad24<Mad24Lo>},
    {"mad24", "hi u32|s32", "=T T T T", selectMad24<Mad24Hi>},
    {"mad24", "hi sat s32", "=T T T T",
     [](Form &, Inst &) { return sameTypes<Mad24HiSat, 3, int32_t>(); }},
    {"div", DEPLO_PTX_INT, "=T T T", selectInteger<Div, 2>},
    {"rem", DEPLO_PTX_INT, "=T T T", selectInteger<Rem, 2>},
    {"min", DEPLO_PTX_INT, "=T T T", selectInteger<Min, 2>},
    {"max", DEPLO_PTX_INT, "=T T T", selectInteger<Max, 2>},
    {"min", "u16x2|s16x2", "=T T T", selectPair<Min>},
    {"max", "u16x2|s16x2", "=T T T", selectPair<Max>},
    {"min", "relu s32", "=T T T", selectSigned32<Relu<Min>>},
    {"max", "relu s32", "=T T T", selectSigned32<Relu<Max>>},
    {"min", "relu s16x2", "=T T T", selectPair<Relu<Min>>},
    {"max", "relu s16x2", "=T T T", selectPair<Relu<Max>>},
    {"abs", "s16|s32|s64", "=T T", selectInteger<Abs, 1>},
    {"neg", "s16|s32|s64", "=T T", selectInteger<Neg, 1>},
    {"sad", DEPLO_PTX_INT, "=T T T T", selectInteger<Sad, 3>},
    {"dp4a", "u32|s32 u32|s32", "=b32 b32 b32 b32", selectDotProduct},
    {"dp2a", "lo|hi u32|s32 u32|s32", "=b32 b32 b32 b32", selectDotProduct},
};

} // namespace

DefinitionList deplo::emulator::integerDefinitions() { return listOf(table); }
