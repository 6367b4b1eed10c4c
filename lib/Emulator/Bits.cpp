// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logic, shifts and bit fields.

#include "Lanes.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

struct And {
  template <typename T> static T run(T a, T b) { return T(a & b); }
};
struct Or {
  template <typename T> static T run(T a, T b) { return T(a | b); }
};
struct Xor {
  template <typename T> static T run(T a, T b) { return T(a ^ b); }
};
struct Not {
  template <typename T> static T run(T a) { return T(~a); }
};
struct LogicalNot {
  template <typename T> static T run(T a) { return a == 0 ? 1 : 0; }
};

template <typename Op>
void predicateLogic(Warp &warp, const Inst &inst, uint32_t mask) {
  writePredicate(
      warp, inst.result(0), mask,
      Op::run(warp.predicate(inst.source(0)), warp.predicate(inst.source(1))));
}

void predicateNot(Warp &warp, const Inst &inst, uint32_t mask) {
  writePredicate(warp, inst.result(0), mask, ~warp.predicate(inst.source(0)));
}

/// Bit fields are written into words that nothing wrote: what is masked out
/// need not have a value. The rest is believed.
Handler selectMasking(Form &form, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return selectInteger<And, 2>(form, inst);
}

template <typename Op> Handler selectPredicate(Form &, Inst &) {
  return predicateLogic<Op>;
}

// A shift by the width or more gives zero, or the sign.
struct Shl {
  template <typename T> static T run(T a, uint32_t n) {
    return n >= 8 * sizeof(T) ? T(0) : T(wide(a) << n);
  }
};
struct Shr {
  template <typename T> static T run(T a, uint32_t n) {
    constexpr uint32_t last = 8 * sizeof(T) - 1;
    if (std::is_signed_v<T>)
      return T(a >> std::min(n, last));
    return n > last ? T(0) : T(a >> n);
  }
};

template <typename Op> Handler selectShift(Form &form, Inst &inst) {
  if (typeSize(form.type()) == 4)
    inst.undefined =
        std::is_same_v<Op, Shl> ? Undefined::ShiftUp : Undefined::ShiftDown;
  switch (form.type()) {
  case Type::S16:
    return binary<Op, int16_t, int16_t, uint32_t>;
  case Type::S32:
    return binary<Op, int32_t, int32_t, uint32_t>;
  case Type::S64:
    return binary<Op, int64_t, int64_t, uint32_t>;
  default:
    break;
  }
  switch (typeSize(form.type())) {
  case 2:
    return binary<Op, uint16_t, uint16_t, uint32_t>;
  case 4:
    return binary<Op, uint32_t, uint32_t, uint32_t>;
  default:
    return binary<Op, uint64_t, uint64_t, uint32_t>;
  }
}

template <bool isWrapped> struct FunnelLeft {
  static uint32_t run(uint32_t low, uint32_t high, uint32_t n) {
    n = isWrapped ? n & 31 : std::min(n, 32u);
    return uint32_t(((uint64_t(high) << 32 | low) << n) >> 32);
  }
};
template <bool isWrapped> struct FunnelRight {
  static uint32_t run(uint32_t low, uint32_t high, uint32_t n) {
    n = isWrapped ? n & 31 : std::min(n, 32u);
    return uint32_t((uint64_t(high) << 32 | low) >> n);
  }
};

Handler selectFunnel(Form &form, Inst &) {
  bool isWrapped = form.has("wrap");
  if (form.has("l"))
    return isWrapped ? sameTypes<FunnelLeft<true>, 3, uint32_t>()
                     : sameTypes<FunnelLeft<false>, 3, uint32_t>();
  return isWrapped ? sameTypes<FunnelRight<true>, 3, uint32_t>()
                   : sameTypes<FunnelRight<false>, 3, uint32_t>();
}

struct Popc {
  template <typename T> static uint32_t run(T a) {
    return uint32_t(__builtin_popcountll(a));
  }
};
struct Clz {
  template <typename T> static uint32_t run(T a) {
    if (a == 0)
      return 8 * sizeof(T);
    return uint32_t(__builtin_clzll(uint64_t(a))) - (64 - 8 * sizeof(T));
  }
};
struct Brev {
  template <typename T> static T run(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      result = T(result << 1 | ((a >> i) & 1));
    return result;
  }
};
/// The position of the highest bit that is not the sign; -1 if there is none.
template <bool isShift> struct Bfind {
  template <typename T> static uint32_t run(T a) {
    using U = std::make_unsigned_t<T>;
    U bits = std::is_signed_v<T> && a < 0 ? U(~a) : U(a);
    if (bits == 0)
      return ~0u;
    uint32_t leading = Clz::run(bits);
    return isShift ? leading : uint32_t(8 * sizeof(T) - 1) - leading;
  }
};

template <typename Op> Handler selectCount(Form &form, Inst &) {
  return typeSize(form.type()) == 4 ? unary<Op, uint32_t, uint32_t>
                                    : unary<Op, uint32_t, uint64_t>;
}
Handler selectBrev(Form &form, Inst &) {
  return typeSize(form.type()) == 4 ? unary<Brev, uint32_t, uint32_t>
                                    : unary<Brev, uint64_t, uint64_t>;
}
template <typename Op> Handler bfindOf(Type type) {
  switch (type) {
  case Type::U32:
    return unary<Op, uint32_t, uint32_t>;
  case Type::S32:
    return unary<Op, uint32_t, int32_t>;
  case Type::U64:
    return unary<Op, uint32_t, uint64_t>;
  default:
    return unary<Op, uint32_t, int64_t>;
  }
}
Handler selectBfind(Form &form, Inst &) {
  return form.has("shiftamt") ? bfindOf<Bfind<true>>(form.type())
                              : bfindOf<Bfind<false>>(form.type());
}

/// The position of the `offset`-th set bit from `base`; -1 if there is none.
struct Fns {
  static uint32_t run(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31)
      return ~0u;
    int step = offset < 0 ? -1 : 1;
    int64_t left = offset == 0 ? 1 : std::abs(int64_t(offset));
    if (offset == 0)
      return (mask >> base) & 1 ? base : ~0u;
    for (int i = int(base); i >= 0 && i < 32; i += step)
      if ((mask >> i) & 1 && --left == 0)
        return uint32_t(i);
    return ~0u;
  }
};

struct Bfe {
  template <typename T> static T run(T a, uint32_t position, uint32_t length) {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t last = 8 * sizeof(T) - 1;
    position &= 255;
    length &= 255;
    uint32_t signPosition = std::min(position + length - 1, last);
    bool sign =
        std::is_signed_v<T> && length != 0 && ((U(a) >> signPosition) & 1);
    U field = position > last ? U(0) : U(U(a) >> position);
    if (length == 0)
      return 0;
    uint32_t present = position > last ? 0 : last - position + 1;
    present = std::min(present, length);
    if (present > last)
      return T(field);
    U keep = U((U(1) << present) - 1);
    return T((field & keep) | (sign ? U(~keep) : U(0)));
  }
};
struct Bfi {
  template <typename T>
  static T run(T a, T b, uint32_t position, uint32_t length) {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (position >= bits || length == 0)
      return b;
    length = std::min(length, bits - position);
    T keep = length == bits ? T(~T(0)) : T((T(1) << length) - 1);
    return T((b & ~T(keep << position)) | T((a & keep) << position));
  }
};
struct Bmsk {
  template <bool isClamped>
  static uint32_t make(uint32_t position, uint32_t width) {
    if (isClamped) {
      position = std::min(position, 32u);
      width = std::min(width, 32u);
    } else {
      position &= 31;
      width &= 31;
    }
    uint64_t ones = (uint64_t(1) << width) - 1;
    return uint32_t(ones << position);
  }
};
struct BmskClamp {
  static uint32_t run(uint32_t a, uint32_t b) { return Bmsk::make<true>(a, b); }
};
struct BmskWrap {
  static uint32_t run(uint32_t a, uint32_t b) {
    return Bmsk::make<false>(a, b);
  }
};

template <typename T> void bfi(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *a = warp.row<T>(inst.source(0)), *b = warp.row<T>(inst.source(1));
  const uint32_t *c = warp.row<uint32_t>(inst.source(2)),
                 *d = warp.row<uint32_t>(inst.source(3));
  writeLanes(warp.row<T>(inst.result(0)), mask,
             [=](unsigned l) { return Bfi::run(a[l], b[l], c[l], d[l]); });
}

Handler selectBfe(Form &form, Inst &) {
  switch (form.type()) {
  case Type::U32:
    return ternary<Bfe, uint32_t, uint32_t, uint32_t, uint32_t>;
  case Type::S32:
    return ternary<Bfe, int32_t, int32_t, uint32_t, uint32_t>;
  case Type::U64:
    return ternary<Bfe, uint64_t, uint64_t, uint32_t, uint32_t>;
  default:
    return ternary<Bfe, int64_t, int64_t, uint32_t, uint32_t>;
  }
}

Handler selectBfi(Form &form, Inst &inst) {
  inst.undefined = Undefined::Ignore; // As for and.
  return typeSize(form.type()) == 4 ? bfi<uint32_t> : bfi<uint64_t>;
}

struct Szext {
  static uint32_t run(uint32_t a, uint32_t n) {
    return n == 0 ? 0 : n >= 32 ? a : a & ((1u << n) - 1);
  }
  static int32_t run(int32_t a, uint32_t n) {
    if (n == 0)
      return 0;
    return n >= 32 ? a : int32_t(uint32_t(a) << (32 - n)) >> (32 - n);
  }
};
template <bool isClamped> struct SzextOf {
  template <typename T> static T run(T a, uint32_t n) {
    return Szext::run(a, isClamped ? std::min(n, 32u) : n & 31);
  }
};
Handler selectSzext(Form &form, Inst &) {
  bool isClamped = form.has("clamp");
  if (isSigned(form.type()))
    return isClamped ? binary<SzextOf<true>, int32_t, int32_t, uint32_t>
                     : binary<SzextOf<false>, int32_t, int32_t, uint32_t>;
  return isClamped ? binary<SzextOf<true>, uint32_t, uint32_t, uint32_t>
                   : binary<SzextOf<false>, uint32_t, uint32_t, uint32_t>;
}

//===----------------------------------------------------------------------===//
// lop3 and prmt
//===----------------------------------------------------------------------===//

/// a: the truth table.
void lop3(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1)),
                 *c = warp.row<uint32_t>(inst.source(2));
  uint32_t terms[8];
  for (unsigned i = 0; i < 8; ++i)
    terms[i] = (inst.a >> i) & 1 ? ~0u : 0u;
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    uint32_t x = a[l], y = b[l], z = c[l];
    return (terms[0] & ~x & ~y & ~z) | (terms[1] & ~x & ~y & z) |
           (terms[2] & ~x & y & ~z) | (terms[3] & ~x & y & z) |
           (terms[4] & x & ~y & ~z) | (terms[5] & x & ~y & z) |
           (terms[6] & x & y & ~z) | (terms[7] & x & y & z);
  });
}

/// Whether any bit is set, and or or another predicate: b says which.
void lop3Predicate(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t other = warp.predicate(inst.source(3));
  lop3(warp, inst, mask);
  const auto *result = warp.row<uint32_t>(inst.result(0));
  uint32_t any = 0;
  forLanes(mask,
           [&](unsigned lane) { any |= uint32_t(result[lane] != 0) << lane; });
  writePredicate(warp, inst.result(1), mask,
                 inst.b ? any & other : any | other);
}

Handler selectLop3(Form &form, Inst &inst) {
  const bool isPredicate = form.has("or") || form.has("and");
  const Operand &last = form.ast.operands[4];
  std::optional<int64_t> value = form.decoder.constant(last);
  if (!value || *value < 0 || *value > 255)
    form.decoder.fail(last.location,
                      "the truth table of lop3 must be from 0 to 255");
  inst.a = uint32_t(value.value_or(0));
  inst.b = form.has("and");
  return isPredicate ? lop3Predicate : lop3;
}

/// The selector of the four bytes in `mode` for control `n`.
uint32_t permuteControl(unsigned mode, uint32_t n) {
  n &= 3;
  switch (mode) {
  case 0: // f4e
    return 0x3210 + n * 0x1111;
  case 1: { // b4e
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i)
      result |= ((n + 8 - i) & 7) << (4 * i);
    return result;
  }
  case 2: // rc8
    return n * 0x1111;
  case 3: { // ecl
    static constexpr uint32_t table[] = {0x3210, 0x3211, 0x3222, 0x3333};
    return table[n];
  }
  case 4: { // ecr
    static constexpr uint32_t table[] = {0x0000, 0x1110, 0x2210, 0x3210};
    return table[n];
  }
  default: // rc16
    return n & 1 ? 0x3232 : 0x1010;
  }
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t control, bool mayReplicate) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t nibble = (control >> (4 * i)) & 15;
    uint32_t value = uint32_t(bytes >> (8 * (nibble & 7))) & 255;
    if (mayReplicate && (nibble & 8))
      value = value & 128 ? 255 : 0;
    result |= value << (8 * i);
  }
  return result;
}

/// a: 0 for the plain form, else 1 + the mode.
void prmt(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1)),
                 *c = warp.row<uint32_t>(inst.source(2));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    uint32_t control = inst.a ? permuteControl(inst.a - 1, c[l]) : c[l];
    return permute(a[l], b[l], control, inst.a == 0);
  });
}

Handler selectPrmt(Form &form, Inst &inst) {
  inst.a =
      uint32_t(form.which({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1);
  return prmt;
}

#define BITS "b16|b32|b64"

const Definition table[] = {
    {"and", BITS, "=T T T", selectMasking},
    {"or", BITS, "=T T T", selectInteger<Or, 2>},
    {"xor", BITS, "=T T T", selectInteger<Xor, 2>},
    {"not", BITS, "=T T", selectInteger<Not, 1>},
    {"cnot", BITS, "=T T", selectInteger<LogicalNot, 1>},
    {"and", "pred", "=p p p", selectPredicate<And>},
    {"or", "pred", "=p p p", selectPredicate<Or>},
    {"xor", "pred", "=p p p", selectPredicate<Xor>},
    {"not", "pred", "=p p",
     [](Form &, Inst &) -> Handler { return predicateNot; }},
    {"shl", BITS, "=T T u32", selectShift<Shl>},
    {"shr", BITS "|" DEPLO_PTX_INT, "=T T u32", selectShift<Shr>},
    {"shf", "l|r clamp|wrap b32", "=T T T u32", selectFunnel},
    {"popc", "b32|b64", "=u32 T", selectCount<Popc>},
    {"clz", "b32|b64", "=u32 T", selectCount<Clz>},
    {"brev", "b32|b64", "=T T", selectBrev},
    {"bfind", "shiftamt? u32|u64|s32|s64", "=u32 T", selectBfind},
    {"fns", "b32", "=b32 b32 b32 s32",
     [](Form &, Inst &) -> Handler {
       return ternary<Fns, uint32_t, uint32_t, uint32_t, int32_t>;
     }},
    {"bfe", "u32|u64|s32|s64", "=T T u32 u32", selectBfe},
    {"bfi", "b32|b64", "=T T T u32 u32", selectBfi},
    {"bmsk", "clamp b32", "=T T T",
     [](Form &, Inst &) { return sameTypes<BmskClamp, 2, uint32_t>(); }},
    {"bmsk", "wrap b32", "=T T T",
     [](Form &, Inst &) { return sameTypes<BmskWrap, 2, uint32_t>(); }},
    {"szext", "clamp|wrap u32|s32", "=T T u32", selectSzext},
    {"lop3", "b32", "=T T T T @", selectLop3},
    {"lop3", "or|and b32", "=T|p T T T @ p", selectLop3},
    {"prmt", "b32 f4e|b4e|rc8|ecl|ecr|rc16?", "=T T T T", selectPrmt},
};

} // namespace

DefinitionList deplo::emulator::bitDefinitions() { return listOf(table); }
