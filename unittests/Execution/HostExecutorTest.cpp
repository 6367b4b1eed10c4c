// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles loop modules for the host, runs them and checks values against
// double.

#include "ModuleText.h"
#include "deplo/Execution/HostCompiler.h"
#include "deplo/Execution/HostDevice.h"
#include "deplo/Runtime/Executable.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace deplo;
using namespace deplo::runtime;
using deplo::testing::ModuleText;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
/// Half the distance from 1 to the next f32.
constexpr double unit = 0x1p-24;

std::string compile(const std::string &text) {
  ModuleText module(text);
  EXPECT_TRUE(module.get()) << module.getErrors();
  if (!module.get())
    return "";
  llvm::FailureOr<std::string> package = compileHostPackage(module.get());
  EXPECT_TRUE(succeeded(package)) << module.getErrors();
  return succeeded(package) ? *package : "";
}

std::string compileError(const std::string &text) {
  ModuleText module(text);
  EXPECT_TRUE(module.get()) << module.getErrors();
  if (!module.get())
    return "";
  EXPECT_TRUE(failed(compileHostPackage(module.get())));
  return module.getErrors();
}

Device &getHost() {
  registerHostDevice();
  return **openDevice("host");
}

/// Compiles, loads and runs once on `buffers`: inputs, then outputs.
void run(const std::string &text, std::vector<void *> buffers) {
  auto executable = Executable::load(compile(text), getHost());
  ASSERT_TRUE(executable.ok()) << executable.message();
  Status status = (*executable)->run(buffers.data(), buffers.size());
  ASSERT_TRUE(status.ok()) << status.message();
}

std::vector<float> getRandom(size_t count, float low, float high,
                             unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(engine);
  return values;
}

/// A module with one kernel @k, launched on all arguments.
std::string module(const std::string &arguments, const std::string &types,
                   const std::string &names, const std::string &body) {
  return "func.func @main(" + arguments + ") { loop.launch @k(" + names +
         ") : " + types + " return } loop.kernel @k(" + arguments + ") {" +
         body + "}";
}

/// Reduces `x` of `count` elements to one with `kind`.
std::string reduction(size_t count, const std::string &kind,
                      const std::string &type = "f32") {
  std::string x = "memref<" + std::to_string(count) + "x" + type + ">";
  std::string y = "memref<" + type + ">";
  return module(
      "%x: " + x + ", %y: " + y, x + ", " + y, "%x, %y",
      "%s = loop.reduce " + kind + " %k = 0 to " + std::to_string(count) +
          " : " + type + " { %a = loop.load %x[%k] : " + x +
          " loop.yield %a : " + type + " } loop.store %s, %y[] : " + y);
}

/// Applies `body`, from %a to %b, to every element.
std::string pointwise(size_t count, const std::string &body,
                      const std::string &from = "f32",
                      const std::string &to = "f32") {
  std::string x = "memref<" + std::to_string(count) + "x" + from + ">";
  std::string y = "memref<" + std::to_string(count) + "x" + to + ">";
  return module("%x: " + x + ", %y: " + y, x + ", " + y, "%x, %y",
                "loop.for %i = 0 to " + std::to_string(count) +
                    " { %a = loop.load %x[%i] : " + x + " " + body +
                    " loop.store %b, %y[%i] : " + y + "}");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

TEST(HostExecutor, RmsNorm) {
  for (int64_t columns : {5, 31, 2048, 2053}) {
    const int64_t rows = 7;
    std::string n = std::to_string(columns);
    std::string text = R"(
      func.func @main(%x: memref<7xNxf32>, %w: memref<Nxf32>, %y: memref<7xNxf32> {loop.result}) {
        loop.launch @rms_norm(%x, %w, %y) : memref<7xNxf32>, memref<Nxf32>, memref<7xNxf32>
        return
      }
      loop.kernel @rms_norm(%x: memref<7xNxf32>, %w: memref<Nxf32>, %y: memref<7xNxf32>) {
        %c = arith.constant N.0 : f32
        %eps = arith.constant 1.0e-6 : f32
        loop.for %i = 0 to 7 {
          %ss = loop.reduce add %k = 0 to N : f32 {
            %a = loop.load %x[%i, %k] : memref<7xNxf32>
            %b = arith.mulf %a, %a : f32
            loop.yield %b : f32
          }
          %m = arith.divf %ss, %c : f32
          %e = arith.addf %m, %eps : f32
          %r = math.rsqrt %e : f32
          loop.for %j = 0 to N {
            %a = loop.load %x[%i, %j] : memref<7xNxf32>
            %g = loop.load %w[%j] : memref<Nxf32>
            %s = arith.mulf %a, %r : f32
            %o = arith.mulf %s, %g : f32
            loop.store %o, %y[%i, %j] : memref<7xNxf32>
          }
        }
      })";
    for (size_t at = 0; (at = text.find('N', at)) != std::string::npos;)
      text.replace(at, 1, n);
    std::vector<float> x = getRandom(rows * columns, -3, 3),
                       w = getRandom(columns, 0.5, 2, 2);
    std::vector<float> y(rows * columns, nan);
    run(text, {x.data(), w.data(), y.data()});
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < columns; ++k)
        sum += double(x[i * columns + k]) * x[i * columns + k];
      double r = 1 / std::sqrt(sum / columns + 1e-6);
      for (int64_t j = 0; j < columns; ++j) {
        double expected = x[i * columns + j] * r * w[j];
        ASSERT_NEAR(y[i * columns + j], expected,
                    20 * unit * std::abs(expected));
      }
    }
  }
}

TEST(HostExecutor, Softmax) {
  std::vector<float> x = getRandom(3 * 1000, -20, 20), y(3 * 1000, nan);
  run(R"(
    func.func @main(%x: memref<3x1000xf32>, %y: memref<3x1000xf32> {loop.result}) {
      loop.launch @softmax(%x, %y) : memref<3x1000xf32>, memref<3x1000xf32>
      return
    }
    loop.kernel @softmax(%x: memref<3x1000xf32>, %y: memref<3x1000xf32>) {
      loop.for %i = 0 to 3 {
        %m = loop.reduce max %k = 0 to 1000 : f32 {
          %a = loop.load %x[%i, %k] : memref<3x1000xf32>
          loop.yield %a : f32
        }
        %s = loop.reduce add %k = 0 to 1000 : f32 {
          %a = loop.load %x[%i, %k] : memref<3x1000xf32>
          %d = arith.subf %a, %m : f32
          %e = math.exp %d : f32
          loop.yield %e : f32
        }
        loop.for %j = 0 to 1000 {
          %a = loop.load %x[%i, %j] : memref<3x1000xf32>
          %d = arith.subf %a, %m : f32
          %e = math.exp %d : f32
          %o = arith.divf %e, %s : f32
          loop.store %o, %y[%i, %j] : memref<3x1000xf32>
        }
      }
    })",
      {x.data(), y.data()});
  for (int64_t i = 0; i < 3; ++i) {
    double max = -inf, sum = 0;
    for (int64_t k = 0; k < 1000; ++k)
      max = std::max<double>(max, x[i * 1000 + k]);
    for (int64_t k = 0; k < 1000; ++k)
      sum += std::exp(x[i * 1000 + k] - max);
    for (int64_t j = 0; j < 1000; ++j) {
      double expected = std::exp(x[i * 1000 + j] - max) / sum;
      // The difference is rounded before it is an exponent: |d| <= 40.
      ASSERT_NEAR(y[i * 1000 + j], expected, 60 * unit * expected);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

TEST(HostExecutor, SumOfOnesIsExact) {
  size_t count = size_t(1) << 24;
  std::vector<float> x(count, 1.0f);
  float sum = nan;
  run(reduction(count, "add"), {x.data(), &sum});
  EXPECT_EQ(sum, float(count));
}

// The bound is that of docs/rationale/reductions.md.
TEST(HostExecutor, SumsAreAccurate) {
  for (size_t count :
       {1, 15, 16, 17, 31, 32, 33, 255, 4096, 5000, 1 << 20, 1 << 24}) {
    std::vector<float> x = getRandom(count, -1, 1);
    float sum = nan;
    run(reduction(count, "add"), {x.data(), &sum});
    double expected = 0, magnitude = 0;
    for (float value : x) {
      expected += value;
      magnitude += std::abs(value);
    }
    double levels = std::max(1.0, std::ceil(std::log2(count) / 4));
    EXPECT_NEAR(sum, expected, (16 * levels + 4 + 16) * unit * magnitude)
        << count;
    // Rounding errors are random: in practice it is much better than that.
    EXPECT_NEAR(sum, expected,
                8 * unit * std::max(magnitude / std::sqrt(count), 1.0) *
                    levels * 4)
        << count;
  }
}

TEST(HostExecutor, TwoRunsGiveTheSameBits) {
  size_t count = 100003;
  std::vector<float> x = getRandom(count, -1, 1);
  auto executable =
      Executable::load(compile(reduction(count, "add")), getHost());
  ASSERT_TRUE(executable.ok());
  float sums[2];
  for (float &sum : sums) {
    void *buffers[] = {x.data(), &sum};
    ASSERT_TRUE((*executable)->run(buffers, 2).ok());
  }
  EXPECT_EQ(std::memcmp(&sums[0], &sums[1], 4), 0);
}

// 37 columns: two vectors of 16 and 5 single ones. Each adds its 301 rows.
TEST(HostExecutor, ColumnSums) {
  std::vector<float> x = getRandom(301 * 37, -1, 1), y(37, nan);
  run(module("%x: memref<301x37xf32>, %y: memref<37xf32>",
             "memref<301x37xf32>, memref<37xf32>", "%x, %y", R"(
      loop.for %i = 0 to 37 {
        %s = loop.reduce add %k = 0 to 301 : f32 {
          %a = loop.load %x[%k, %i] : memref<301x37xf32>
          loop.yield %a : f32
        }
        loop.store %s, %y[%i] : memref<37xf32>
      })"),
      {x.data(), y.data()});
  for (int i = 0; i < 37; ++i) {
    double expected = 0, magnitude = 0;
    for (int k = 0; k < 301; ++k) {
      expected += x[k * 37 + i];
      magnitude += std::abs(x[k * 37 + i]);
    }
    EXPECT_NEAR(y[i], expected, 48 * unit * magnitude);
  }
}

TEST(HostExecutor, ProductsAndSeveralResults) {
  std::vector<float> x = getRandom(100, 0.9, 1.1), y(3, nan);
  run(module("%x: memref<100xf32>, %y: memref<3xf32>",
             "memref<100xf32>, memref<3xf32>", "%x, %y", R"(
      %r:3 = loop.reduce [mul, min, add] %k = 0 to 100 : f32, f32, f32 {
        %a = loop.load %x[%k] : memref<100xf32>
        %b = arith.mulf %a, %a : f32
        loop.yield %a, %a, %b : f32, f32, f32
      }
      loop.store %r#0, %y[0] : memref<3xf32>
      loop.store %r#1, %y[1] : memref<3xf32>
      loop.store %r#2, %y[2] : memref<3xf32>)"),
      {x.data(), y.data()});
  double product = 1, squares = 0;
  float least = inf;
  for (float value : x) {
    product *= value;
    squares += double(value) * value;
    least = std::min(least, value);
  }
  EXPECT_NEAR(y[0], product, 100 * unit * product);
  EXPECT_EQ(y[1], least);
  EXPECT_NEAR(y[2], squares, 40 * unit * squares);
}

TEST(HostExecutor, ReductionsOfIntegers) {
  std::vector<int64_t> x(1000);
  for (int64_t i = 0; i < 1000; ++i)
    x[i] = i * i * 1000003 - 500;
  for (const char *kind : {"add", "max", "min"}) {
    int64_t result = 0, expected = x[0];
    run(reduction(1000, kind, "i64"), {x.data(), &result});
    for (int64_t i = 1; i < 1000; ++i)
      expected = kind[1] == 'd'   ? expected + x[i]
                 : kind[1] == 'a' ? std::max(expected, x[i])
                                  : std::min(expected, x[i]);
    EXPECT_EQ(result, expected) << kind;
  }
}

//===----------------------------------------------------------------------===//
// NaN, infinities, nothing
//===----------------------------------------------------------------------===//

TEST(HostExecutor, MaximaAndMinimaPropagateNaN) {
  for (const char *kind : {"max", "min"})
    for (size_t count : {1, 7, 35, 1000})
      for (size_t at : {size_t(0), count / 2, count - 1}) {
        std::vector<float> x = getRandom(count, -1, 1);
        x[at] = nan;
        float result = 0;
        run(reduction(count, kind), {x.data(), &result});
        EXPECT_TRUE(std::isnan(result))
            << kind << " of " << count << " at " << at;
      }
}

TEST(HostExecutor, MaximaAndMinimaOfInfinities) {
  std::vector<float> x(100, -inf);
  float result = nan;
  run(reduction(100, "max"), {x.data(), &result});
  EXPECT_EQ(result, -inf);
  x[99] = 3;
  run(reduction(100, "max"), {x.data(), &result});
  EXPECT_EQ(result, 3);
  x[50] = inf;
  run(reduction(100, "max"), {x.data(), &result});
  EXPECT_EQ(result, inf);
  run(reduction(100, "min"), {x.data(), &result});
  EXPECT_EQ(result, -inf);
}

TEST(HostExecutor, ReductionsOverNothing) {
  float x = 7, result = nan;
  run(reduction(0, "add"), {&x, &result});
  EXPECT_EQ(result, 0);
  run(reduction(0, "mul"), {&x, &result});
  EXPECT_EQ(result, 1);
  run(reduction(0, "max"), {&x, &result});
  EXPECT_EQ(result, -inf);
  run(reduction(0, "min"), {&x, &result});
  EXPECT_EQ(result, inf);
}

TEST(HostExecutor, SumsWithNaNAndInfinity) {
  std::vector<float> x(200, 1.0f);
  float sum = 0;
  x[3] = inf;
  run(reduction(200, "add"), {x.data(), &sum});
  EXPECT_EQ(sum, inf);
  x[199] = -inf;
  run(reduction(200, "add"), {x.data(), &sum});
  EXPECT_TRUE(std::isnan(sum));
}

//===----------------------------------------------------------------------===//
// Element types and functions
//===----------------------------------------------------------------------===//

/// Checks `function` of math against the C library's in double.
void checkFunction(const std::string &name, double (*expected)(double),
                   float low, float high) {
  const size_t count = 1003;
  std::vector<float> x = getRandom(count, low, high), y(count, nan);
  run(pointwise(count, "%b = math." + name + " %a : f32"),
      {x.data(), y.data()});
  for (size_t i = 0; i < count; ++i) {
    double value = expected(x[i]);
    ASSERT_NEAR(y[i], value, 4 * unit * std::abs(value))
        << name << " of " << x[i];
  }
}

TEST(HostExecutor, Functions) {
  checkFunction("exp", std::exp, -80, 80);
  checkFunction("exp2", std::exp2, -100, 100);
  checkFunction("log", std::log, 0.001f, 1000);
  checkFunction("log1p", std::log1p, -0.001f, 0.001f);
  checkFunction("expm1", std::expm1, -0.001f, 0.001f);
  checkFunction("sin", std::sin, -100, 100);
  checkFunction("cos", std::cos, -100, 100);
  checkFunction("tanh", std::tanh, -5, 5);
  checkFunction("erf", std::erf, -3, 3);
  checkFunction("sqrt", std::sqrt, 0, 1e6f);
  checkFunction(
      "rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6f, 1e6f);
  checkFunction("floor", std::floor, -100, 100);
  checkFunction(
      "roundeven", [](double x) { return std::nearbyint(x); }, -100, 100);
  checkFunction("absf", std::fabs, -100, 100);
}

float fromBFloat16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Rounds to nearest even; for values that are no NaN.
uint16_t toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

TEST(HostExecutor, BFloat16) {
  std::vector<uint16_t> x(1003), y(1003);
  std::vector<float> values = getRandom(1003, -10, 10);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = toBFloat16(values[i]);
  run(pointwise(1003,
                "%f = arith.extf %a : bf16 to f32 %e = math.exp %f : f32 "
                "%b = arith.truncf %e : f32 to bf16",
                "bf16", "bf16"),
      {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], toBFloat16(std::exp(fromBFloat16(x[i]))));
  // Arithmetic and functions on bf16 itself round each time.
  run(pointwise(1003, "%e = math.exp %a : bf16 %b = arith.addf %e, %a : bf16",
                "bf16", "bf16"),
      {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    float e = fromBFloat16(toBFloat16(std::exp(fromBFloat16(x[i]))));
    ASSERT_EQ(y[i], toBFloat16(e + fromBFloat16(x[i])));
  }
}

TEST(HostExecutor, Float16) {
  std::vector<_Float16> x(1003), y(1003);
  std::vector<float> values = getRandom(1003, -5, 5);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = _Float16(values[i]);
  run(pointwise(1003,
                "%f = arith.extf %a : f16 to f32 %e = math.exp %f : f32 "
                "%b = arith.truncf %e : f32 to f16",
                "f16", "f16"),
      {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(float(y[i]), float(_Float16(std::exp(float(x[i])))));
  run(pointwise(1003, "%e = math.tanh %a : f16 %b = arith.mulf %e, %a : f16",
                "f16", "f16"),
      {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    _Float16 tanh = _Float16(std::tanh(float(x[i])));
    ASSERT_EQ(float(y[i]), float(_Float16(float(tanh) * float(x[i]))));
  }
}

// Half-precision terms, summed in f32.
TEST(HostExecutor, SumOfBFloat16) {
  std::vector<uint16_t> x(5000);
  std::vector<float> values = getRandom(5000, -1, 1);
  double expected = 0, magnitude = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = toBFloat16(values[i]);
    expected += fromBFloat16(x[i]);
    magnitude += std::abs(fromBFloat16(x[i]));
  }
  float sum = nan;
  run(module("%x: memref<5000xbf16>, %y: memref<f32>",
             "memref<5000xbf16>, memref<f32>", "%x, %y", R"(
      %s = loop.reduce add %k = 0 to 5000 : f32 {
        %a = loop.load %x[%k] : memref<5000xbf16>
        %b = arith.extf %a : bf16 to f32
        loop.yield %b : f32
      }
      loop.store %s, %y[] : memref<f32>)"),
      {x.data(), &sum});
  EXPECT_NEAR(sum, expected, 70 * unit * magnitude);
}

TEST(HostExecutor, BooleansAreBytes) {
  std::vector<float> x = getRandom(100, -1, 1);
  std::vector<uint8_t> y(100, 7);
  run(pointwise(
          100,
          "%z = arith.constant 0.0 : f32 %c = arith.cmpf ogt, %a, %z : f32 "
          "%b = arith.extui %c : i1 to i8",
          "f32", "i8"),
      {x.data(), y.data()});
  for (size_t i = 0; i < 100; ++i)
    ASSERT_EQ(y[i], x[i] > 0);
  std::vector<float> back(100, nan);
  run(pointwise(100,
                "%c = arith.trunci %a : i8 to i1 "
                "%b = arith.uitofp %c : i1 to f32",
                "i8"),
      {y.data(), back.data()});
  for (size_t i = 0; i < 100; ++i)
    ASSERT_EQ(back[i], x[i] > 0 ? 1.0f : 0.0f);
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

// Elements of a column-major input, loop variables as values, and reductions
// whose terms depend on their position.
TEST(HostExecutor, StridesAndPositions) {
  std::vector<float> x = getRandom(6 * 50, -1, 1), y(6 * 50, nan);
  run(R"(
    func.func @main(%x: memref<6x50xf32, strided<[1, 6]>>, %y: memref<6x50xf32> {loop.result}) {
      loop.launch @k(%x, %y) : memref<6x50xf32, strided<[1, 6]>>, memref<6x50xf32>
      return
    }
    loop.kernel @k(%x: memref<6x50xf32, strided<[1, 6]>>, %y: memref<6x50xf32>) {
      loop.for %i = 0 to 6 {
        loop.for %j = 0 to 50 {
          %a = loop.load %x[%i, %j] : memref<6x50xf32, strided<[1, 6]>>
          %n = arith.index_cast %j : index to i32
          %f = arith.sitofp %n : i32 to f32
          %b = arith.addf %a, %f : f32
          loop.store %b, %y[%i, %j] : memref<6x50xf32>
        }
      }
    })",
      {x.data(), y.data()});
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 50; ++j)
      ASSERT_EQ(y[i * 50 + j], x[j * 6 + i] + float(j));

  float weighted = nan;
  run(module("%x: memref<300xf32>, %y: memref<f32>",
             "memref<300xf32>, memref<f32>", "%x, %y", R"(
      %s = loop.reduce add %k = 0 to 300 : f32 {
        %a = loop.load %x[%k] : memref<300xf32>
        %n = arith.index_cast %k : index to i32
        %f = arith.sitofp %n : i32 to f32
        %b = arith.mulf %a, %f : f32
        loop.yield %b : f32
      }
      loop.store %s, %y[] : memref<f32>)"),
      {x.data(), &weighted});
  double expected = 0;
  for (int k = 0; k < 300; ++k)
    expected += double(x[k]) * k;
  EXPECT_NEAR(weighted, expected, 50 * unit * 300 * 150);
}

// Divided coordinates under lanes, and loads under a condition.
TEST(HostExecutor, DivisionsAndConditions) {
  std::vector<float> x = getRandom(64, -1, 1), y(40, nan);
  run(module("%x: memref<64xf32>, %y: memref<40xf32>",
             "memref<64xf32>, memref<40xf32>", "%x, %y", R"(
      loop.for %i = 0 to 40 {
        %s = loop.reduce add %k = 0 to 3 : f32 {
          %a = loop.load %x[%i + %k] : memref<64xf32>
          loop.yield %a : f32
        }
        %h = loop.load %x[%i floordiv 2 + %i mod 3] : memref<64xf32>
        %v = arith.addf %s, %h : f32
        loop.store %v, %y[%i] : memref<40xf32>
      })"),
      {x.data(), y.data()});
  for (int i = 0; i < 40; ++i)
    ASSERT_NEAR(y[i], double(x[i]) + x[i + 1] + x[i + 2] + x[i / 2 + i % 3],
                8 * unit * 4);

  std::fill(y.begin(), y.end(), nan);
  run(module("%x: memref<64xf32>, %y: memref<40xf32>",
             "memref<64xf32>, memref<40xf32>", "%x, %y", R"(
      loop.for %i = 0 to 40 {
        %ten = arith.constant 10 : index
        %zero = arith.constant 0.0 : f32
        %inside = arith.cmpi uge, %i, %ten : index
        %v = scf.if %inside -> f32 {
          %a = loop.load %x[%i - 10] : memref<64xf32>
          scf.yield %a : f32
        } else {
          scf.yield %zero : f32
        }
        loop.store %v, %y[%i] : memref<40xf32>
      })"),
      {x.data(), y.data()});
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(y[i], i < 10 ? 0.0f : x[i - 10]);
}

TEST(HostExecutor, RankZeroAndEmptyLoops) {
  float x = 3, y = nan;
  run(module("%x: memref<f32>, %y: memref<f32>", "memref<f32>, memref<f32>",
             "%x, %y",
             "%a = loop.load %x[] : memref<f32> %b = arith.negf %a : f32 "
             "loop.store %b, %y[] : memref<f32>"),
      {&x, &y});
  EXPECT_EQ(y, -3);
  y = 5;
  run(module("%x: memref<0xf32>, %y: memref<0xf32>",
             "memref<0xf32>, memref<0xf32>", "%x, %y",
             "loop.for %i = 0 to 0 { %a = loop.load %x[%i] : memref<0xf32> "
             "loop.store %a, %y[%i] : memref<0xf32> }"),
      {nullptr, nullptr});
  EXPECT_EQ(y, 5);
}

//===----------------------------------------------------------------------===//
// Plans and packages
//===----------------------------------------------------------------------===//

TEST(HostExecutor, SeveralLaunchesAndTemporaries) {
  std::vector<float> x = getRandom(4 * 8, -1, 1), y(32, nan);
  run(R"(
    loop.kernel @double(%x: memref<32xf32>, %y: memref<32xf32>) {
      loop.for %i = 0 to 32 {
        %a = loop.load %x[%i] : memref<32xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<32xf32>
      }
    }
    loop.kernel @reverse(%x: memref<32xf32>, %y: memref<32xf32>) {
      loop.for %i = 0 to 32 {
        %a = loop.load %x[31 - %i] : memref<32xf32>
        loop.store %a, %y[%i] : memref<32xf32>
      }
    }
    func.func @main(%x: memref<4x8xf32>, %y: memref<32xf32> {loop.result}) {
      %flat = memref.collapse_shape %x [[0, 1]] : memref<4x8xf32> into memref<32xf32>
      %s = memref.alloc() : memref<32xf32>
      %t = memref.alloc() : memref<32xf32>
      %u = memref.alloc() : memref<32xf32>
      loop.launch @double(%flat, %s) : memref<32xf32>, memref<32xf32>
      loop.launch @reverse(%s, %t) : memref<32xf32>, memref<32xf32>
      loop.launch @double(%t, %u) : memref<32xf32>, memref<32xf32>
      loop.launch @double(%u, %y) : memref<32xf32>, memref<32xf32>
      return
    })",
      {x.data(), y.data()});
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(y[i], 8 * x[31 - i]);
}

// A kernel may be called as a function of the C library.
TEST(HostExecutor, KernelsDoNotHideTheCLibrary) {
  float x = 1, y = nan;
  run(R"(
    func.func @main(%x: memref<f32>, %y: memref<f32>) {
      loop.launch @expf(%x, %y) : memref<f32>, memref<f32>
      return
    }
    loop.kernel @expf(%x: memref<f32>, %y: memref<f32>) {
      %a = loop.load %x[] : memref<f32>
      %b = math.exp %a : f32
      loop.store %b, %y[] : memref<f32>
    })",
      {&x, &y});
  EXPECT_NEAR(y, std::exp(1.0), 1e-6);
}

TEST(HostExecutor, PackagesSayWhatTheyAreFor) {
  std::string bytes = compile(reduction(8, "add"));
  Result<Package> package = readPackage(bytes);
  ASSERT_TRUE(package.ok()) << package.message();
  EXPECT_EQ(package->manifest.device, "host");
  EXPECT_EQ(package->manifest.target, getHost().info().target);
  ASSERT_EQ(package->manifest.kernels.size(), 1u);
  EXPECT_EQ(package->manifest.kernels[0].name, "k");
  EXPECT_EQ(package->manifest.inputs[0].alignment, 4);
}

TEST(HostExecutor, RefusesPackagesItCannotRun) {
  std::string bytes = compile(reduction(8, "add"));
  Result<Package> package = readPackage(bytes);
  ASSERT_TRUE(package.ok());

  Package other = *package;
  other.manifest.target = "z80";
  auto executable = Executable::load(*writePackage(other), getHost());
  ASSERT_FALSE(executable.ok());
  EXPECT_NE(executable.message().find("compiled for the processor 'z80'"),
            std::string::npos);

  Package broken = *package;
  broken.blobs[0] = "not an object";
  executable = Executable::load(*writePackage(broken), getHost());
  ASSERT_FALSE(executable.ok());
  EXPECT_NE(
      executable.message().find("can't load the package on device 'host'"),
      std::string::npos);

  Package missing = *package;
  missing.manifest.kernels[0].name = "other";
  executable = Executable::load(*writePackage(missing), getHost());
  ASSERT_FALSE(executable.ok());
  EXPECT_NE(executable.message().find("deplo_other"), std::string::npos);
}

TEST(HostExecutor, RefusesWhatTheHostCannotCompute) {
  EXPECT_NE(
      compileError(
          module("%x: memref<8xf8E4M3FN>", "memref<8xf8E4M3FN>", "%x", ""))
          .find("argument 0 has elements of type 'f8E4M3FN', expected f16"),
      std::string::npos);
}

} // namespace
