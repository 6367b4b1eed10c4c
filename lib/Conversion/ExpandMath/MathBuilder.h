// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on numbers or vectors of them that reads like formulas, and the
// functions that are built of it.

#ifndef DEPLO_LIB_CONVERSION_EXPANDMATH_MATHBUILDER_H
#define DEPLO_LIB_CONVERSION_EXPANDMATH_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace deplo {

using mlir::Value;

/// Builds with f32 unless said otherwise. Operands are all numbers, or all
/// vectors of one shape.
class MathBuilder {
public:
  MathBuilder(mlir::Operation *op, bool isGpu)
      : builder(op->getLoc(), op), isGpu(isGpu) {}

  // Types of the shape of `like`.
  mlir::Type getType(Value like, mlir::Type element);
  mlir::Type f32(Value like) { return getType(like, builder.getF32Type()); }
  mlir::Type f64(Value like) { return getType(like, builder.getF64Type()); }
  mlir::Type i32(Value like) { return getType(like, builder.getI32Type()); }
  mlir::Type i64(Value like) { return getType(like, builder.getI64Type()); }

  /// A constant of the type of `like`.
  Value constant(Value like, double value);
  Value integer(Value like, int64_t value);

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value neg(Value x);
  Value abs(Value x);
  Value sqrt(Value x);
  Value ceil(Value x) { return neg(floor(neg(x))); }
  Value floor(Value x);
  Value trunc(Value x);
  Value roundEven(Value x);
  Value copySign(Value magnitude, Value sign);
  Value add(Value x, double y) { return add(x, constant(x, y)); }
  Value sub(Value x, double y) { return sub(x, constant(x, y)); }
  Value sub(double x, Value y) { return sub(constant(y, x), y); }
  Value mul(Value x, double y) { return mul(x, constant(x, y)); }
  Value div(double x, Value y) { return div(constant(y, x), y); }
  Value fma(Value x, double y, Value z) { return fma(x, constant(x, y), z); }
  Value fma(Value x, Value y, double z) { return fma(x, y, constant(x, z)); }
  /// Between the bounds; NaN stays.
  Value clamp(Value x, double low, double high);
  /// Coefficients from the constant term up.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y);
  Value isLess(Value x, double y);
  Value isGreater(Value x, double y);
  Value isEqual(Value x, double y);
  Value isNaN(Value x);
  Value isNegative(Value x); // by the sign bit, of f32
  Value select(Value condition, Value x, Value y);
  Value select(Value condition, double x, Value y) {
    return select(condition, constant(y, x), y);
  }
  Value both(Value x, Value y);
  Value either(Value x, Value y);

  // Integers.
  Value addI(Value x, Value y);
  Value subI(Value x, Value y);
  Value mulI(Value x, Value y);
  Value andI(Value x, Value y);
  Value orI(Value x, Value y);
  Value shl(Value x, Value y);
  Value shrU(Value x, Value y);
  Value shrS(Value x, Value y);
  Value compareI(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value addI(Value x, int64_t y) { return addI(x, integer(x, y)); }
  Value andI(Value x, int64_t y) { return andI(x, integer(x, y)); }
  Value shl(Value x, int64_t y) { return shl(x, integer(x, y)); }
  Value shrU(Value x, int64_t y) { return shrU(x, integer(x, y)); }
  Value shrS(Value x, int64_t y) { return shrS(x, integer(x, y)); }
  Value isNotZero(Value x);
  Value negate(Value condition);

  Value toInteger(Value x); // f32 to i32, of an integer
  Value toFloat(Value x);   // i32 to f32
  Value bits(Value x);      // f32 to i32
  Value fromBits(Value x);  // i32 to f32
  Value widen(Value x);     // f32 to f64
  Value narrow(Value x);    // f64 to f32
  Value toF32(Value x);     // f16 or bf16 to f32
  Value round(Value x, mlir::Type type);
  Value extend(Value x);   // i32 to i64, unsigned
  Value truncate(Value x); // i64 to i32

  /// `slow` in place of `fast` if `condition` holds for any element.
  Value unless(Value condition, Value fast, llvm::function_ref<Value()> slow);

  // Exponentials.cpp
  Value exp(Value x);
  Value exp2(Value x);
  Value expM1(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value erfc(Value x);
  Value rsqrt(Value x);
  // Logarithms.cpp
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x);
  Value log1P(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value pow(Value x, Value y);
  Value remainder(Value x, Value y);
  // Trigonometry.cpp
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);

private:
  /// x * 2^exponent (i32 from -252 to 252), rounded once.
  Value scale(Value x, Value exponent);
  /// e^x * 2^shift for x in the range of f32 results.
  Value expScaled(Value x, int64_t shift);
  /// The intrinsic of each element.
  Value callEach(llvm::StringRef intrinsic, Value x);
  /// 2^x by the hardware.
  Value exp2Approximate(Value x);
  /// ln(1 + x) for x between -1/3 and 1/3.
  Value log1PCore(Value x);
  /// x = 2^exponent * (1 + fraction) for positive x: fraction between -1/3 and
  /// 1/3, exponent as f32.
  struct Decomposed {
    Value fraction, exponent;
  };
  Decomposed decompose(Value x);
  /// The logarithm of `x` from that of positive finite numbers.
  Value withLogLimits(Value x, Value result);
  /// asin x for x between 0 and 1/2; atan x between 0 and 1.
  Value asinCore(Value x);
  Value atanCore(Value x);
  /// x less a multiple of pi / 2, and the multiple modulo 4 (i32).
  struct Reduced {
    Value rest, quadrant;
  };
  Reduced reduceAngle(Value x);
  Reduced reduceLargeAngle(Value x);
  Value sinInQuadrant(Value x, int64_t shift);
  Value sinCore(Value x);
  Value cosCore(Value x);

  mlir::ImplicitLocOpBuilder builder;
  bool isGpu;
};

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_EXPANDMATH_MATHBUILDER_H
