// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "InterpreterTesting.h"

#include <cmath>

using namespace deplo;
using namespace deplo::testing;
using namespace mlir;

namespace {

float asFloat(double value) { return static_cast<float>(value); }

TEST(Interpreter, LoopKernelComputesRMSNorm) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(R"mlir(
    loop.kernel @rms_norm(%x: memref<3x7xf32>, %w: memref<7xf32>, %y: memref<3x7xf32>) {
      %inv = arith.constant 0.142857149 : f32
      %eps = arith.constant 1.0e-06 : f32
      loop.for %i = 0 to 3 {
        %ss = loop.reduce [add] %k = 0 to 7 : f32 {
          %a = loop.load %x[%i, %k] : memref<3x7xf32>
          %b = arith.mulf %a, %a : f32
          loop.yield %b : f32
        }
        %m = arith.mulf %ss, %inv : f32
        %e = arith.addf %m, %eps : f32
        %r = math.rsqrt %e : f32
        loop.for %j = 0 to 7 {
          %a = loop.load %x[%i, %j] : memref<3x7xf32>
          %g = loop.load %w[%j] : memref<7xf32>
          %s = arith.mulf %a, %r : f32
          %o = arith.mulf %s, %g : f32
          loop.store %o, %y[%i, %j] : memref<3x7xf32>
        }
      }
    })mlir");
  ASSERT_TRUE(module);
  std::vector<HostArray> arrays =
      interpretOnRandom(session, getKernel(*module), 1);
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int k = 0; k < 7; ++k)
      sum += arrays[0].getReal(i * 7 + k) * arrays[0].getReal(i * 7 + k);
    double r = 1 / std::sqrt(sum / 7 + 1e-6);
    for (int j = 0; j < 7; ++j)
      EXPECT_NEAR(arrays[2].getReal(i * 7 + j),
                  arrays[0].getReal(i * 7 + j) * r * arrays[1].getReal(j),
                  1e-6);
  }
}

TEST(Interpreter, EachOperationRounds) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(R"mlir(
    loop.kernel @k(%x: memref<1xf32>, %h: memref<1xf16>, %b: memref<1xbf16>, %i: memref<1xi8>) {
      %third = arith.constant 0.333333343 : f32
      %three = arith.constant 3.0 : f32
      %product = arith.mulf %third, %three : f32
      loop.store %product, %x[0] : memref<1xf32>
      %half = arith.truncf %third : f32 to f16
      loop.store %half, %h[0] : memref<1xf16>
      %brain = arith.truncf %third : f32 to bf16
      loop.store %brain, %b[0] : memref<1xbf16>
      %big = arith.constant 100 : i8
      %sum = arith.addi %big, %big : i8
      loop.store %sum, %i[0] : memref<1xi8>
    })mlir");
  ASSERT_TRUE(module);
  std::vector<HostArray> arrays =
      interpretOnRandom(session, getKernel(*module), 1);
  EXPECT_EQ(arrays[0].getReal(0), asFloat(0.333333343f * 3.0f));
  EXPECT_EQ(arrays[1].getReal(0), 0.333251953125);
  EXPECT_EQ(arrays[2].getReal(0), 0.333984375);
  EXPECT_EQ(arrays[3].elements[0].integer, -56);
}

TEST(Interpreter, TileKernelMasksAndFolds) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(R"mlir(
    tile.kernel @max(%x: memref<3x5xf32>, %y: memref<3xf32>) axes(%i = 3 step 2 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %low = arith.constant dense<0xFF800000> : tensor<2x8xf32>
      %a = tile.load %x[%i, %c0] bounds [3, 5] : memref<3x5xf32> -> tensor<2x8xf32>
      %in = tile.in_bounds [%i, %c0] bounds [3, 5] : tensor<2x8xi1>
      %v = arith.select %in, %a, %low : tensor<2x8xi1>, tensor<2x8xf32>
      %m = tile.reduce [max] %v axis 1 : tensor<2x8xf32> -> tensor<2xf32>
      tile.store %m, %y[%i] bounds [3] : tensor<2xf32>, memref<3xf32>
    })mlir");
  ASSERT_TRUE(module);
  std::vector<HostArray> arrays =
      interpretOnRandom(session, getKernel(*module), 2);
  for (int i = 0; i < 3; ++i) {
    double most = -INFINITY;
    for (int k = 0; k < 5; ++k)
      most = std::max(most, arrays[0].getReal(i * 5 + k));
    EXPECT_EQ(arrays[1].getReal(i), most);
  }
}

TEST(Interpreter, StridedMemrefsAndSteps) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(R"mlir(
    tile.kernel @k(%x: memref<4x4xf32, strided<[1, 4]>>, %z: memref<16xf32>, %y: memref<4xf32>) axes(%i = 4 step 4 grid) warps(1) {
      %c1 = arith.constant 1 : index
      %a = tile.load %x[%c1, %i] : memref<4x4xf32, strided<[1, 4]>> -> tensor<4xf32>
      %b = tile.load %z[%c1] steps [4] : memref<16xf32> -> tensor<4xf32>
      %s = arith.subf %a, %b : tensor<4xf32>
      tile.store %s, %y[%i] : tensor<4xf32>, memref<4xf32>
    })mlir");
  ASSERT_TRUE(module);
  std::vector<HostArray> arrays =
      interpretOnRandom(session, getKernel(*module), 3);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(arrays[2].getReal(i), asFloat(arrays[0].getReal(1 + 4 * i) -
                                            arrays[1].getReal(1 + 4 * i)));
}

TEST(Interpreter, PlanLaunchesKernelsOnTemporariesAndViews) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(R"mlir(
    func.func @main(%x: memref<2x3xf32>, %y: memref<6xf32> {loop.result}) {
      %flat = memref.collapse_shape %x [[0, 1]] : memref<2x3xf32> into memref<6xf32>
      %t = memref.alloc() : memref<6xf32>
      loop.launch @double(%flat, %t) : memref<6xf32>, memref<6xf32>
      loop.launch @double(%t, %y) : memref<6xf32>, memref<6xf32>
      return
    }
    loop.kernel @double(%x: memref<6xf32>, %y: memref<6xf32>) {
      loop.for %i = 0 to 6 {
        %a = loop.load %x[%i] : memref<6xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<6xf32>
      }
    })mlir");
  ASSERT_TRUE(module);
  auto plan = module->lookupSymbol<func::FuncOp>("main");
  HostArray x(cast<MemRefType>(plan.getArgumentTypes()[0])),
      y(cast<MemRefType>(plan.getArgumentTypes()[1]));
  for (int i = 0; i < 6; ++i)
    x.setReal(i, i + 0.5);
  HostArray *arrays[] = {&x, &y};
  ASSERT_TRUE(succeeded(interpretPlan(plan, arrays))) << session.errors;
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(y.getReal(i), 4 * (i + 0.5));
}

//===----------------------------------------------------------------------===//
// What is wrong is an error
//===----------------------------------------------------------------------===//

std::string getError(StringRef text) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  if (!module)
    return "parse error";
  Operation *kernel = getKernel(*module);
  std::vector<HostArray> arrays = makeArguments(kernel, 1);
  SmallVector<HostArray *> pointers;
  for (HostArray &array : arrays)
    pointers.push_back(&array);
  EXPECT_TRUE(failed(interpretKernel(kernel, pointers)));
  return session.errors;
}

std::string inKernel(StringRef body) {
  return ("tile.kernel @k(%x: memref<4xf32>, %y: memref<4xf32>) axes(%i = 4 "
          "step 4 grid) warps(1) {\n"
          "%c0 = arith.constant 0 : index\n"
          "%c1 = arith.constant 1 : index\n"
          "%b = tile.alloc : !tile.buffer<4xf32, #tile.shared<>>\n" +
          body + "}")
      .str();
}

constexpr StringLiteral copy = "tile.copy %x[%i] to %b : memref<4xf32>, "
                               "!tile.buffer<4xf32, #tile.shared<>>\n";
constexpr StringLiteral readAll =
    "%a = tile.read %b[%c0] : !tile.buffer<4xf32, #tile.shared<>> -> "
    "tensor<4xf32>\n";

TEST(Interpreter, FindsMissingBarriers) {
  EXPECT_EQ(getError(inKernel(readAll)),
            "reads an element of a buffer that was not written\n");
  EXPECT_EQ(getError(inKernel((copy + readAll).str())),
            "reads an element that another thread may have written; a barrier "
            "is missing\n");
  EXPECT_EQ(
      getError(inKernel((copy + "tile.barrier\n" + readAll + copy).str())),
      "writes a buffer that threads may still read; a barrier is missing\n");
}

TEST(Interpreter, FindsCopiesThatAreNotAwaited) {
  std::string async = "%t = tile.async_copy %x[%i] to %b : memref<4xf32>, "
                      "!tile.buffer<4xf32, #tile.shared<>>\n";
  EXPECT_EQ(getError(inKernel(async + "tile.barrier\n" + readAll.str() +
                              "tile.await %t\n")),
            "reads an element that an asynchronous copy brings before it is "
            "awaited\n");
  EXPECT_EQ(getError(inKernel(async + "tile.await %t\n" + readAll.str())),
            "reads an element that another thread may have written; a barrier "
            "is missing\n");
}

TEST(Interpreter, FindsAccessesOutside) {
  EXPECT_EQ(getError(inKernel(
                "%a = tile.load %x[%c1] : memref<4xf32> -> tensor<4xf32>\n")),
            "accesses coordinate 4 of dimension 0 of 'memref<4xf32>'\n");
  EXPECT_EQ(
      getError(inKernel(
          (copy + "tile.barrier\n%a = tile.read %b[%c1] : !tile.buffer<4xf32, "
                  "#tile.shared<>> -> tensor<4xf32>\n")
              .str())),
      "accesses coordinate 4 of dimension 0 of '!tile.buffer<4xf32, "
      "#tile.shared<>>'\n");
}

TEST(Interpreter, FindsUnknownOperations) {
  EXPECT_EQ(getError(inKernel(
                "%z = arith.constant 1 : i32\n%a = math.ctpop %z : i32\n")),
            "'math.ctpop' op is unknown to the interpreter\n");
}

} // namespace
