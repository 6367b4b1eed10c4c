// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64: arithmetic, minimum and maximum, approximations.

#include "FloatArithmetic.h"
#include "FloatDirected.h"

namespace {

uint32_t flagsOf(const Form &form) {
  return (form.has("ftz") ? uint32_t(flushes) : 0) |
         (form.has("sat") ? uint32_t(saturates) : 0);
}

Handler selectArithmetic(Form &form, Inst &inst) {
  inst.a = flagsOf(form);
  static constexpr int modes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int mode = form.which({"rz", "rm", "rp"});
  if (mode >= 0) {
    inst.b = uint32_t(modes[mode]);
    return directedFloatHandler(form.ast.opcode, form.type());
  }
  return form.type() == Type::F64
             ? floatHandlerOf<double, false>(form.ast.opcode)
             : floatHandlerOf<float, false>(form.ast.opcode);
}

template <typename Op, unsigned arity>
Handler selectF32(Form &form, Inst &inst) {
  inst.a = flagsOf(form);
  return floatHandler<Op, arity, float, false>;
}

// Two f32 in a 64-bit register.
template <typename Op, unsigned arity>
void packedPair(Warp &warp, const Inst &inst, uint32_t mask) {
  writeLanes(warp.row<uint64_t>(inst.result(0)), mask, [&](unsigned l) {
    uint64_t result = 0;
    for (unsigned half = 0; half < 2; ++half) {
      float x[3] = {};
      for (unsigned i = 0; i < arity; ++i) {
        uint64_t bits = warp.row<uint64_t>(inst.source(i))[l];
        x[i] =
            prepare(asFloat(uint32_t(bits >> (32 * half))), inst.a & flushes);
      }
      float value;
      if constexpr (arity == 2)
        value = Op::run(x[0], x[1]);
      else
        value = Op::run(x[0], x[1], x[2]);
      result |= uint64_t(asBits(finishLane(value, inst.a))) << (32 * half);
    }
    return result;
  });
}

template <typename Op, unsigned arity>
Handler selectPacked(Form &form, Inst &inst) {
  inst.a = flagsOf(form);
  return packedPair<Op, arity>;
}

//===----------------------------------------------------------------------===//
// Sign, minimum, maximum
//===----------------------------------------------------------------------===//

// They are additions to the GPU: a NaN of f64 keeps its sign.
struct FAbs : Arithmetic {
  static float run(float a) { return std::abs(a); }
  static double run(double a) { return std::abs(a); }
};
struct FNeg : Arithmetic {
  template <typename T> static T run(T a) { return -a; }
};

template <typename Op> Handler selectSign(Form &form, Inst &inst) {
  inst.a = flagsOf(form);
  return form.type() == Type::F64 ? floatHandler<Op, 1, double, false>
                                  : floatHandler<Op, 1, float, false>;
}

/// The smaller, with -0 below +0. NaN gives the other one, or NaN if
/// `keepsNan`.
template <bool isMax, bool keepsNan, bool isAbsolute> struct MinMax : Special {
  template <typename T> static T run(T a, T b) {
    if (keepsNan && (a != a || b != b))
      return std::numeric_limits<T>::quiet_NaN();
    T x = isAbsolute ? std::abs(a) : a, y = isAbsolute ? std::abs(b) : b;
    T result = isMax ? greaterOf(x, y) : lesserOf(x, y);
    bool isNegative = isAbsolute && (std::signbit(a) != std::signbit(b));
    return isNegative ? -result : result;
  }
};

template <bool isMax> Handler selectMinMax(Form &form, Inst &inst) {
  inst.a = flagsOf(form);
  bool keepsNan = form.has("NaN");
  if (form.type() == Type::F64)
    return floatHandler<MinMax<isMax, false, false>, 2, double, false>;
  if (form.has("xorsign"))
    return keepsNan ? floatHandler<MinMax<isMax, true, true>, 2, float, false>
                    : floatHandler<MinMax<isMax, false, true>, 2, float, false>;
  return keepsNan ? floatHandler<MinMax<isMax, true, false>, 2, float, false>
                  : floatHandler<MinMax<isMax, false, false>, 2, float, false>;
}

struct CopySign {
  // The first operand gives the sign.
  static uint32_t run(uint32_t a, uint32_t b) {
    return (a & 0x80000000) | (b & 0x7fffffff);
  }
  static uint64_t run(uint64_t a, uint64_t b) {
    constexpr uint64_t sign = uint64_t(1) << 63;
    return (a & sign) | (b & ~sign);
  }
};

/// a: bit n for class n: finite, infinite, number, notanumber, normal,
/// subnormal.
template <typename T>
void testClass(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *a = warp.row<T>(inst.source(0));
  uint32_t result = 0;
  for (unsigned l = 0; l < lanesPerWarp; ++l) {
    bool value = false;
    switch (inst.a) {
    case 0:
      value = std::isfinite(a[l]);
      break;
    case 1:
      value = std::isinf(a[l]);
      break;
    case 2:
      value = !std::isnan(a[l]);
      break;
    case 3:
      value = std::isnan(a[l]);
      break;
    case 4:
      value = std::isnormal(a[l]) || a[l] == 0;
      break;
    default:
      value = std::fpclassify(a[l]) == FP_SUBNORMAL;
    }
    result |= uint32_t(value) << l;
  }
  writePredicate(warp, inst.result(0), mask, result);
}

Handler selectTest(Form &form, Inst &inst) {
  inst.a = uint32_t(form.which(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}));
  return form.type() == Type::F64 ? testClass<double> : testClass<float>;
}

//===----------------------------------------------------------------------===//
// Approximations: evaluated in double, so within the documented error
//===----------------------------------------------------------------------===//

struct ExpTwo : Special {
  static float run(float a) { return float(std::exp2(double(a))); }
};
struct LogTwo : Special {
  static float run(float a) { return float(std::log2(double(a))); }
};
struct RsqrtOf : Special {
  static float run(float a) { return float(1.0 / std::sqrt(double(a))); }
  static double run(double a) { return 1.0 / std::sqrt(a); }
};
struct SinOf : Special {
  static float run(float a) { return float(std::sin(double(a))); }
};
struct CosOf : Special {
  static float run(float a) { return float(std::cos(double(a))); }
};
struct TanhOf : Special {
  static float run(float a) { return float(std::tanh(double(a))); }
};
/// a times the reciprocal of b, which is zero for b from 2^126.
struct ApproximateDiv : Special {
  static float run(float a, float b) {
    if (std::abs(b) > 0x1p126f &&
        std::abs(b) <= std::numeric_limits<float>::max())
      return a * std::copysign(0.0f, b);
    return a / b;
  }
};

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper 32 bits only, of the
/// operand too.
template <typename Op> struct UpperHalf : Special {
  static constexpr uint64_t upperBits = 0xffffffff00000000;
  static double run(double a) {
    a = asDouble(asBits(a) & upperBits);
    if (std::fpclassify(a) == FP_SUBNORMAL)
      a = std::copysign(0.0, a);
    double value = Op::run(a);
    if (std::fpclassify(value) == FP_SUBNORMAL)
      value = std::copysign(0.0, value);
    if (value != value)
      return asDouble(0x7fffffff00000000);
    return asDouble(asBits(value) & upperBits);
  }
};

template <typename Op> Handler selectUpperHalf(Form &, Inst &) {
  return floatHandler<UpperHalf<Op>, 1, double, false>;
}

Handler selectRsqrtF64(Form &, Inst &) {
  return floatHandler<RsqrtOf, 1, double, false>;
}

template <typename Op> Handler selectBits(Form &form, Inst &) {
  return form.type() == Type::F64 ? binary<Op, uint64_t, uint64_t, uint64_t>
                                  : binary<Op, uint32_t, uint32_t, uint32_t>;
}

#define R DEPLO_PTX_ROUND
const Definition table[] = {
    {"add", R "? ftz? sat? f32", "=T T T", selectArithmetic},
    {"add", R "? f64", "=T T T", selectArithmetic},
    {"add", R "? ftz? f32x2", "=T T T", selectPacked<FAdd, 2>},
    {"sub", R "? ftz? sat? f32", "=T T T", selectArithmetic},
    {"sub", R "? f64", "=T T T", selectArithmetic},
    {"sub", R "? ftz? f32x2", "=T T T", selectPacked<FSub, 2>},
    {"mul", R "? ftz? sat? f32", "=T T T", selectArithmetic},
    {"mul", R "? f64", "=T T T", selectArithmetic},
    {"mul", R "? ftz? f32x2", "=T T T", selectPacked<FMul, 2>},
    {"fma", R " ftz? sat? f32", "=T T T T", selectArithmetic},
    {"fma", R " f64", "=T T T T", selectArithmetic},
    {"fma", R " ftz? f32x2", "=T T T T", selectPacked<Fma, 3>},
    {"mad", R " ftz? sat? f32", "=T T T T", selectArithmetic},
    {"mad", R " f64", "=T T T T", selectArithmetic},
    {"div", R " ftz? f32", "=T T T", selectArithmetic},
    {"div", R " f64", "=T T T", selectArithmetic},
    {"div", "approx ftz? f32", "=T T T", selectF32<ApproximateDiv, 2>},
    {"div", "full ftz? f32", "=T T T", selectF32<FDiv, 2>},
    {"rcp", R " ftz? f32", "=T T", selectArithmetic},
    {"rcp", R " f64", "=T T", selectArithmetic},
    {"rcp", "approx ftz? f32", "=T T", selectF32<FRcp, 1>},
    {"rcp", "approx ftz f64", "=T T", selectUpperHalf<FRcp>},
    {"sqrt", R " ftz? f32", "=T T", selectArithmetic},
    {"sqrt", R " f64", "=T T", selectArithmetic},
    {"sqrt", "approx ftz? f32", "=T T", selectF32<FSqrt, 1>},
    {"rsqrt", "approx ftz? f32", "=T T", selectF32<RsqrtOf, 1>},
    {"rsqrt", "approx ftz f64", "=T T", selectUpperHalf<RsqrtOf>},
    {"rsqrt", "approx f64", "=T T", selectRsqrtF64},
    {"ex2", "approx ftz? f32", "=T T", selectF32<ExpTwo, 1>},
    {"lg2", "approx ftz? f32", "=T T", selectF32<LogTwo, 1>},
    {"sin", "approx ftz? f32", "=T T", selectF32<SinOf, 1>},
    {"cos", "approx ftz? f32", "=T T", selectF32<CosOf, 1>},
    {"tanh", "approx f32", "=T T", selectF32<TanhOf, 1>},
    {"abs", "ftz? f32", "=T T", selectSign<FAbs>},
    {"abs", "f64", "=T T", selectSign<FAbs>},
    {"neg", "ftz? f32", "=T T", selectSign<FNeg>},
    {"neg", "f64", "=T T", selectSign<FNeg>},
    {"min", "ftz? NaN? xorsign? abs? f32", "=T T T", selectMinMax<false>},
    {"min", "f64", "=T T T", selectMinMax<false>},
    {"max", "ftz? NaN? xorsign? abs? f32", "=T T T", selectMinMax<true>},
    {"max", "f64", "=T T T", selectMinMax<true>},
    {"copysign", "f32|f64", "=T T T", selectBits<CopySign>},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64",
     "=p T", selectTest},
};
#undef R

} // namespace

DefinitionList deplo::emulator::floatDefinitions() { return listOf(table); }
