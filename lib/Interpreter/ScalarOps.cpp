// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace deplo {

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// IEEE 754-2019 maximum and minimum: NaN wins, and -0 is less than +0.
static double getMaximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  if (a == 0 && b == 0)
    return std::signbit(a) ? b : a;
  return std::max(a, b);
}
static double getMinimum(double a, double b) { return -getMaximum(-a, -b); }

using Real1 = double (*)(double);
using Real2 = double (*)(double, double);

static Real1 getReal1(Operation *op) {
  return TypeSwitch<Operation *, Real1>(op)
      .Case([](arith::NegFOp) { return [](double x) { return -x; }; })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](auto) { return [](double x) { return x; }; })
#define DEPLO_FUNCTION_1(OP, NAME, REFERENCE)                                  \
  .Case([](OP) { return [](double x) -> double { return REFERENCE(x); }; })
#define DEPLO_FUNCTION_2(OP, NAME, REFERENCE)
#define DEPLO_FUNCTION_3(OP, NAME, REFERENCE)
#include "deplo/Support/Functions.def"
      .Default(Real1(nullptr));
}

static Real2 getReal2(Operation *op) {
  return TypeSwitch<Operation *, Real2>(op)
      .Case([](arith::AddFOp) {
        return [](double x, double y) { return x + y; };
      })
      .Case([](arith::SubFOp) {
        return [](double x, double y) { return x - y; };
      })
      .Case([](arith::MulFOp) {
        return [](double x, double y) { return x * y; };
      })
      .Case([](arith::DivFOp) {
        return [](double x, double y) { return x / y; };
      })
      .Case([](arith::MaximumFOp) { return getMaximum; })
      .Case([](arith::MinimumFOp) { return getMinimum; })
      .Case([](arith::MaxNumFOp) {
        return [](double x, double y) { return std::fmax(x, y); };
      })
      .Case([](arith::MinNumFOp) {
        return [](double x, double y) { return std::fmin(x, y); };
      })
#define DEPLO_FUNCTION_1(OP, NAME, REFERENCE)
#define DEPLO_FUNCTION_2(OP, NAME, REFERENCE)                                  \
  .Case([](OP) {                                                               \
    return [](double x, double y) -> double { return REFERENCE(x, y); };       \
  })
#define DEPLO_FUNCTION_3(OP, NAME, REFERENCE)
#include "deplo/Support/Functions.def"
      .Default(Real2(nullptr));
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  // The predicate's bits: equal, greater, less, unordered.
  unsigned relation = std::isnan(a) || std::isnan(b) ? 8
                      : a < b                        ? 4
                      : a > b                        ? 2
                                                     : 1;
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  case arith::CmpFPredicate::OEQ:
    return relation & 1;
  case arith::CmpFPredicate::OGT:
    return relation & 2;
  case arith::CmpFPredicate::OGE:
    return relation & 3;
  case arith::CmpFPredicate::OLT:
    return relation & 4;
  case arith::CmpFPredicate::OLE:
    return relation & 5;
  case arith::CmpFPredicate::ONE:
    return relation & 6;
  case arith::CmpFPredicate::ORD:
    return relation & 7;
  case arith::CmpFPredicate::UEQ:
    return relation & 9;
  case arith::CmpFPredicate::UGT:
    return relation & 10;
  case arith::CmpFPredicate::UGE:
    return relation & 11;
  case arith::CmpFPredicate::ULT:
    return relation & 12;
  case arith::CmpFPredicate::ULE:
    return relation & 13;
  case arith::CmpFPredicate::UNE:
    return relation & 14;
  case arith::CmpFPredicate::UNO:
    return relation & 8;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

using Integer2 = int64_t (*)(int64_t, int64_t);
using Unsigned2 = uint64_t (*)(uint64_t, uint64_t);

static Integer2 getInteger2(Operation *op) {
  // Division by zero has no result; any will do.
  return TypeSwitch<Operation *, Integer2>(op)
      .Case([](arith::AddIOp) {
        return [](int64_t x, int64_t y) {
          return int64_t(uint64_t(x) + uint64_t(y));
        };
      })
      .Case([](arith::SubIOp) {
        return [](int64_t x, int64_t y) {
          return int64_t(uint64_t(x) - uint64_t(y));
        };
      })
      .Case([](arith::MulIOp) {
        return [](int64_t x, int64_t y) {
          return int64_t(uint64_t(x) * uint64_t(y));
        };
      })
      .Case([](arith::DivSIOp) {
        return [](int64_t x, int64_t y) {
          return y == 0 ? 0 : y == -1 ? -x : x / y;
        };
      })
      .Case([](arith::RemSIOp) {
        return
            [](int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; };
      })
      .Case([](arith::FloorDivSIOp) {
        return [](int64_t x, int64_t y) {
          return y == 0 ? 0 : llvm::divideFloorSigned(x, y);
        };
      })
      .Case([](arith::CeilDivSIOp) {
        return [](int64_t x, int64_t y) {
          return y == 0 ? 0 : llvm::divideCeilSigned(x, y);
        };
      })
      .Case([](arith::AndIOp) {
        return [](int64_t x, int64_t y) { return x & y; };
      })
      .Case([](arith::OrIOp) {
        return [](int64_t x, int64_t y) { return x | y; };
      })
      .Case([](arith::XOrIOp) {
        return [](int64_t x, int64_t y) { return x ^ y; };
      })
      .Case([](arith::ShLIOp) {
        return [](int64_t x, int64_t y) {
          return uint64_t(y) > 63 ? 0 : int64_t(uint64_t(x) << y);
        };
      })
      .Case([](arith::ShRSIOp) {
        return
            [](int64_t x, int64_t y) { return x >> std::min<uint64_t>(y, 63); };
      })
      .Case([](arith::MaxSIOp) {
        return [](int64_t x, int64_t y) { return std::max(x, y); };
      })
      .Case([](arith::MinSIOp) {
        return [](int64_t x, int64_t y) { return std::min(x, y); };
      })
      .Default(Integer2(nullptr));
}

static Unsigned2 getUnsigned2(Operation *op) {
  return TypeSwitch<Operation *, Unsigned2>(op)
      .Case([](arith::DivUIOp) {
        return [](uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; };
      })
      .Case([](arith::RemUIOp) {
        return [](uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; };
      })
      .Case([](arith::ShRUIOp) {
        return [](uint64_t x, uint64_t y) { return y > 63 ? 0 : x >> y; };
      })
      .Case([](arith::MaxUIOp) {
        return [](uint64_t x, uint64_t y) { return std::max(x, y); };
      })
      .Case([](arith::MinUIOp) {
        return [](uint64_t x, uint64_t y) { return std::min(x, y); };
      })
      .Default(Unsigned2(nullptr));
}

static unsigned getWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// The low `width` bits, not sign-extended.
static uint64_t getUnsigned(Number number, unsigned width) {
  return uint64_t(number.integer) & llvm::maskTrailingOnes<uint64_t>(width);
}

/// An i1 is signed in signed comparisons and conversions.
static int64_t getSigned(Number number, unsigned width) {
  return llvm::SignExtend64(number.integer, width);
}

static Number makeReal(double value) { return {value}; }
static Number makeInteger(int64_t value) {
  Number number;
  number.integer = value;
  return number;
}

static bool compare(arith::CmpIPredicate predicate, Number a, Number b,
                    unsigned width) {
  int64_t x = getSigned(a, width), y = getSigned(b, width);
  uint64_t ux = getUnsigned(a, width), uy = getUnsigned(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ux == uy;
  case arith::CmpIPredicate::ne:
    return ux != uy;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Conversions between kinds of numbers, and operations with odd operands.
static ScalarFunction getOther(Operation *op) {
  unsigned width =
      op->getNumOperands() == 0 ? 0 : getWidth(op->getOperand(0).getType());
  return TypeSwitch<Operation *, ScalarFunction>(op)
      .Case([](arith::CmpFOp compareOp) -> ScalarFunction {
        return [predicate = compareOp.getPredicate()](const Number *x) {
          return makeInteger(compare(predicate, x[0].real, x[1].real));
        };
      })
      .Case([=](arith::CmpIOp compareOp) -> ScalarFunction {
        return [=, predicate = compareOp.getPredicate()](const Number *x) {
          return makeInteger(compare(predicate, x[0], x[1], width));
        };
      })
      .Case([](arith::SelectOp) -> ScalarFunction {
        return [](const Number *x) { return x[0].integer ? x[1] : x[2]; };
      })
#define DEPLO_FUNCTION_1(OP, NAME, REFERENCE)
#define DEPLO_FUNCTION_2(OP, NAME, REFERENCE)
#define DEPLO_FUNCTION_3(OP, NAME, REFERENCE)                                  \
  .Case([](OP) -> ScalarFunction {                                             \
    return [](const Number *x) {                                               \
      return makeReal(REFERENCE(x[0].real, x[1].real, x[2].real));             \
    };                                                                         \
  })
#include "deplo/Support/Functions.def"
      .Case([](math::AbsIOp) -> ScalarFunction {
        return
            [](const Number *x) { return makeInteger(std::abs(x[0].integer)); };
      })
      .Case<arith::SIToFPOp>([=](auto) -> ScalarFunction {
        return
            [=](const Number *x) { return makeReal(getSigned(x[0], width)); };
      })
      .Case<arith::UIToFPOp>([=](auto) -> ScalarFunction {
        return
            [=](const Number *x) { return makeReal(getUnsigned(x[0], width)); };
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([](auto) -> ScalarFunction {
        // Out of range has no result; any will do.
        return [](const Number *x) {
          return makeInteger(std::fabs(x[0].real) < 9.2e18 ? int64_t(x[0].real)
                                                           : 0);
        };
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([=](auto) -> ScalarFunction {
        return [=](const Number *x) {
          return makeInteger(getUnsigned(x[0], width));
        };
      })
      .Case<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(
          [=](auto) -> ScalarFunction {
            return [=](const Number *x) {
              return makeInteger(getSigned(x[0], width));
            };
          })
      .Default(ScalarFunction());
}

ScalarFunction getScalarFunction(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  if (Real1 function = getReal1(op))
    return [=](const Number *x) {
      return roundTo(makeReal(function(x[0].real)), type);
    };
  if (Real2 function = getReal2(op))
    return [=](const Number *x) {
      return roundTo(makeReal(function(x[0].real, x[1].real)), type);
    };
  if (Integer2 function = getInteger2(op))
    return [=](const Number *x) {
      return roundTo(makeInteger(function(x[0].integer, x[1].integer)), type);
    };
  if (Unsigned2 function = getUnsigned2(op)) {
    unsigned width = getWidth(type);
    return [=](const Number *x) {
      return roundTo(makeInteger(function(getUnsigned(x[0], width),
                                          getUnsigned(x[1], width))),
                     type);
    };
  }
  if (ScalarFunction function = getOther(op))
    return [=](const Number *x) { return roundTo(function(x), type); };
  return {};
}

ScalarFunction getScalarFunction(Monoid kind, Type type) {
  auto getFunction = [&](Real2 real, Integer2 integer) -> ScalarFunction {
    if (isa<FloatType>(type))
      return [=](const Number *x) {
        return roundTo(makeReal(real(x[0].real, x[1].real)), type);
      };
    return [=](const Number *x) {
      return roundTo(makeInteger(integer(x[0].integer, x[1].integer)), type);
    };
  };
  switch (kind) {
  case Monoid::Add:
    return getFunction([](double x, double y) { return x + y; },
                       [](int64_t x, int64_t y) {
                         return int64_t(uint64_t(x) + uint64_t(y));
                       });
  case Monoid::Mul:
    return getFunction([](double x, double y) { return x * y; },
                       [](int64_t x, int64_t y) {
                         return int64_t(uint64_t(x) * uint64_t(y));
                       });
  case Monoid::Max:
    return getFunction(getMaximum,
                       [](int64_t x, int64_t y) { return std::max(x, y); });
  case Monoid::Min:
    return getFunction(getMinimum,
                       [](int64_t x, int64_t y) { return std::min(x, y); });
  case Monoid::LogAddExp:
    return getFunction(
        [](double x, double y) {
          double difference = x == y ? 0 : -std::fabs(x - y);
          return getMaximum(x, y) + std::log1p(std::exp(difference));
        },
        [](int64_t, int64_t) { return int64_t(0); });
  }
  llvm_unreachable("unknown monoid");
}

Number getNumber(Attribute attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute)) {
    llvm::APFloat value = real.getValue();
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return makeReal(value.convertToDouble());
  }
  auto integer = cast<IntegerAttr>(attribute);
  return roundTo(makeInteger(integer.getValue().getSExtValue()),
                 integer.getType());
}

} // namespace deplo
