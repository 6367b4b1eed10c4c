// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16, one or two in a register. Each operation is exact in double,
// or rounded to odd, and then rounded once.

#include "Float.h"
#include "Lanes.h"

using namespace deplo::emulator;

namespace {

/// Inst::a of these instructions.
enum HalfFlags : uint32_t {
  flushes = 1,
  saturates = 2,
  keepsNan = 4,
  isAbsolute = 8,
  isRelu = 16
};

struct F16 {
  static constexpr Format format = f16Format;
  static float load(uint16_t bits) { return halfToFloat(bits); }
};
struct BF16 {
  static constexpr Format format = bf16Format;
  static float load(uint16_t bits) { return bfloatToFloat(bits); }
};

template <typename H> bool isSubnormal(uint16_t bits) {
  return (bits & H::format.infinity()) == 0;
}

template <typename H> bool isNan(uint16_t bits) {
  return (bits & (H::format.sign() - 1)) > H::format.infinity();
}

template <typename H> uint16_t flushHalf(uint16_t bits, uint32_t flags) {
  return (flags & flushes) && isSubnormal<H>(bits)
             ? uint16_t(bits & H::format.sign())
             : bits;
}

template <typename H> uint16_t finishHalf(double value, uint32_t flags) {
  if (flags & isRelu)
    value = value > 0 || value != value ? value : 0.0;
  if (flags & saturates)
    value = value > 0 ? (value < 1 ? value : 1.0) : 0.0;
  return flushHalf<H>(uint16_t(encode(H::format, value, Rounding::NearestEven)),
                      flags);
}

template <typename H> struct HAdd {
  static uint16_t run(uint16_t a, uint16_t b, uint32_t flags) {
    return finishHalf<H>(addToOdd(H::load(a), H::load(b)), flags);
  }
};
template <typename H> struct HSub {
  static uint16_t run(uint16_t a, uint16_t b, uint32_t flags) {
    return finishHalf<H>(addToOdd(H::load(a), -double(H::load(b))), flags);
  }
};
template <typename H> struct HMul {
  static uint16_t run(uint16_t a, uint16_t b, uint32_t flags) {
    return finishHalf<H>(double(H::load(a)) * H::load(b), flags);
  }
};
template <typename H> struct HFma {
  static uint16_t run(uint16_t a, uint16_t b, uint16_t c, uint32_t flags) {
    return finishHalf<H>(fmaToOdd(H::load(a), H::load(b), H::load(c)), flags);
  }
};
template <typename H, bool isMax> struct HMinMax {
  static uint16_t run(uint16_t a, uint16_t b, uint32_t flags) {
    float x = H::load(a), y = H::load(b);
    if ((x != x && y != y) || ((flags & keepsNan) && (x != x || y != y)))
      return uint16_t(H::format.nan());
    uint16_t sign = uint16_t(H::format.sign()), signs = (a ^ b) & sign;
    if (flags & isAbsolute) {
      a = uint16_t(a & ~sign);
      b = uint16_t(b & ~sign);
      x = std::abs(x);
      y = std::abs(y);
    }
    float chosen = isMax ? greaterOf(x, y) : lesserOf(x, y);
    uint16_t result = asBits(chosen) == asBits(x) ? a : b;
    return flags & isAbsolute ? uint16_t(result | signs) : result;
  }
};
template <typename H> struct HNeg {
  static uint16_t run(uint16_t a, uint32_t) {
    return isNan<H>(a) ? uint16_t(H::format.nan())
                       : uint16_t(a ^ H::format.sign());
  }
};
template <typename H> struct HAbs {
  static uint16_t run(uint16_t a, uint32_t) {
    return isNan<H>(a) ? uint16_t(H::format.nan())
                       : uint16_t(a & ~H::format.sign());
  }
};
template <typename H> struct HExpTwo {
  static uint16_t run(uint16_t a, uint32_t flags) {
    return finishHalf<H>(std::exp2(double(H::load(a))), flags);
  }
};
template <typename H> struct HTanh {
  static uint16_t run(uint16_t a, uint32_t flags) {
    return finishHalf<H>(std::tanh(double(H::load(a))), flags);
  }
};

template <typename H, typename Op, unsigned arity>
uint16_t applyHalf(const uint16_t *x, uint32_t flags) {
  uint16_t y[3] = {};
  for (unsigned i = 0; i < arity; ++i)
    y[i] = flushHalf<H>(x[i], flags);
  if constexpr (arity == 1)
    return Op::run(y[0], flags);
  else if constexpr (arity == 2)
    return Op::run(y[0], y[1], flags);
  else
    return Op::run(y[0], y[1], y[2], flags);
}

template <typename H, typename Op, unsigned arity>
void single(Warp &warp, const Inst &inst, uint32_t mask) {
  writeLanes(warp.row<uint16_t>(inst.result(0)), mask, [&](unsigned l) {
    uint16_t x[3] = {};
    for (unsigned i = 0; i < arity; ++i)
      x[i] = warp.row<uint16_t>(inst.source(i))[l];
    return applyHalf<H, Op, arity>(x, inst.a);
  });
}

template <typename H, typename Op, unsigned arity>
void packed(Warp &warp, const Inst &inst, uint32_t mask) {
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    uint32_t result = 0;
    for (unsigned half = 0; half < 2; ++half) {
      uint16_t x[3] = {};
      for (unsigned i = 0; i < arity; ++i)
        x[i] = uint16_t(warp.row<uint32_t>(inst.source(i))[l] >> (16 * half));
      result |= uint32_t(applyHalf<H, Op, arity>(x, inst.a)) << (16 * half);
    }
    return result;
  });
}

template <template <typename> class Op, unsigned arity>
Handler selectHalf(Form &form, Inst &inst) {
  inst.a = (form.has("ftz") ? uint32_t(flushes) : 0) |
           (form.has("sat") ? uint32_t(saturates) : 0) |
           (form.has("relu") ? uint32_t(isRelu) : 0) |
           (form.has("NaN") ? uint32_t(keepsNan) : 0) |
           (form.has("xorsign") ? uint32_t(isAbsolute) : 0);
  if (typeSize(form.type()) == 4)
    inst.undefined = Undefined::PropagateHalves;
  switch (form.type()) {
  case Type::F16:
    return single<F16, Op<F16>, arity>;
  case Type::F16x2:
    return packed<F16, Op<F16>, arity>;
  case Type::BF16:
    return single<BF16, Op<BF16>, arity>;
  default:
    return packed<BF16, Op<BF16>, arity>;
  }
}

template <typename H> using HMin = HMinMax<H, false>;
template <typename H> using HMax = HMinMax<H, true>;

#define HALF "f16|f16x2|bf16|bf16x2"

const Definition table[] = {
    {"add", "rn? ftz? sat? " HALF, "=T T T", selectHalf<HAdd, 2>},
    {"sub", "rn? ftz? sat? " HALF, "=T T T", selectHalf<HSub, 2>},
    {"mul", "rn? ftz? sat? " HALF, "=T T T", selectHalf<HMul, 2>},
    {"fma", "rn ftz? sat? relu? " HALF, "=T T T T", selectHalf<HFma, 3>},
    {"neg", "ftz? " HALF, "=T T", selectHalf<HNeg, 1>},
    {"abs", "ftz? " HALF, "=T T", selectHalf<HAbs, 1>},
    {"min", "ftz? NaN? xorsign? abs? " HALF, "=T T T", selectHalf<HMin, 2>},
    {"max", "ftz? NaN? xorsign? abs? " HALF, "=T T T", selectHalf<HMax, 2>},
    {"ex2", "approx ftz? " HALF, "=T T", selectHalf<HExpTwo, 1>},
    {"tanh", "approx " HALF, "=T T", selectHalf<HTanh, 1>},
};

} // namespace

DefinitionList deplo::emulator::halfDefinitions() { return listOf(table); }
