// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64 arithmetic. This header is compiled twice: as vector code for
// rounding to nearest, and with strict semantics, under the processor's own
// rounding modes, for the others. It is all in an anonymous namespace, so that
// the two never mix.

#include "Float.h"
#include "Lanes.h"

#include <cfenv>

namespace {

using namespace deplo::emulator;

/// Inst::a of these instructions.
enum FloatFlags : uint32_t { flushes = 1, saturates = 2 };

/// Of operations whose f64 forms hand on a NaN.
struct Arithmetic {
  static constexpr bool handsOnNan = true;
};
/// Of others, which say themselves what they make of one.
struct Special {
  static constexpr bool handsOnNan = false;
};

struct FAdd : Arithmetic {
  template <typename T> static T run(T a, T b) { return a + b; }
};
struct FSub : Arithmetic {
  template <typename T> static T run(T a, T b) { return a - b; }
};
struct FMul : Arithmetic {
  template <typename T> static T run(T a, T b) { return a * b; }
};
struct FDiv : Arithmetic {
  template <typename T> static T run(T a, T b) { return a / b; }
};
struct Fma : Arithmetic {
  static float run(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
  }
  static double run(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
};
struct FSqrt : Arithmetic {
  static float run(float a) { return __builtin_sqrtf(a); }
  static double run(double a) { return __builtin_sqrt(a); }
};
struct FRcp : Arithmetic {
  template <typename T> static T run(T a) { return T(1) / a; }
};

inline float finishLane(float value, uint32_t flags) {
  if (flags & flushes)
    value = flush(value);
  if (flags & saturates)
    value = value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
  return value != value ? asFloat(canonicalNan) : value;
}

inline double finishLane(double value, uint32_t) { return value; }

/// `Op` on lanes that are prepared.
template <typename Op, typename T, typename... Operands>
inline T runLane(uint32_t flags, T a, Operands... rest) {
  T value = finishLane(Op::run(a, rest...), flags);
  if constexpr (Op::handsOnNan)
    return handOnNan(value, a, rest...);
  return value;
}

inline float prepare(float value, bool flushing) {
  return flushing ? flush(value) : value;
}
inline double prepare(double value, bool) { return value; }

template <typename Op, unsigned arity, typename T, bool flushing>
inline void floatLanes(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t flags = inst.a;
  const T *a = warp.row<T>(inst.source(0));
  T *d = warp.row<T>(inst.result(0));
  if constexpr (arity == 1) {
    writeLanes(d, mask, [=](unsigned l) {
      return runLane<Op>(flags, prepare(a[l], flushing));
    });
  } else if constexpr (arity == 2) {
    const T *b = warp.row<T>(inst.source(1));
    writeLanes(d, mask, [=](unsigned l) {
      return runLane<Op>(flags, prepare(a[l], flushing),
                         prepare(b[l], flushing));
    });
  } else {
    const T *b = warp.row<T>(inst.source(1)), *c = warp.row<T>(inst.source(2));
    writeLanes(d, mask, [=](unsigned l) {
      return runLane<Op>(flags, prepare(a[l], flushing),
                         prepare(b[l], flushing), prepare(c[l], flushing));
    });
  }
}

/// Under the processor's rounding mode Inst::b, where `isDirected`.
template <typename Op, unsigned arity, typename T, bool isDirected>
void floatHandler(Warp &warp, const Inst &inst, uint32_t mask) {
  if (isDirected)
    std::fesetround(int(inst.b));
  if (inst.a & flushes)
    floatLanes<Op, arity, T, true>(warp, inst, mask);
  else
    floatLanes<Op, arity, T, false>(warp, inst, mask);
  if (isDirected)
    std::fesetround(FE_TONEAREST);
}

template <typename T, bool isDirected>
Handler floatHandlerOf(std::string_view opcode) {
  if (opcode == "add")
    return floatHandler<FAdd, 2, T, isDirected>;
  if (opcode == "sub")
    return floatHandler<FSub, 2, T, isDirected>;
  if (opcode == "mul")
    return floatHandler<FMul, 2, T, isDirected>;
  if (opcode == "div")
    return floatHandler<FDiv, 2, T, isDirected>;
  if (opcode == "fma" || opcode == "mad")
    return floatHandler<Fma, 3, T, isDirected>;
  if (opcode == "sqrt")
    return floatHandler<FSqrt, 1, T, isDirected>;
  return floatHandler<FRcp, 1, T, isDirected>;
}

} // namespace
