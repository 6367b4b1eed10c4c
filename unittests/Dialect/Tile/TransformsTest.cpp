// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling passes on tiles keep values, bit for bit.

#include "TileTesting.h"

using namespace deplo;
using namespace deplo::testing;
using namespace mlir;

namespace {

struct Kernel {
  const char *name;
  const char *text;
};

constexpr Kernel kernels[] = {
    {"OddRows", R"mlir(
      tile.kernel @odd_rows(%x: memref<9x1003xbf16>, %w: memref<1003xbf16>, %y: memref<9x1003xbf16>) axes(%i = 9 step 1 grid) warps(2) {
        %c0 = arith.constant 0 : index
        %c256 = arith.constant 256 : index
        %c1024 = arith.constant 1024 : index
        %low = arith.constant dense<-3.0e+38> : tensor<1x256xbf16>
        %p = scf.for %k = %c0 to %c1024 step %c256 iter_args(%t = %low) -> (tensor<1x256xbf16>) {
          %a = tile.load %x[%i, %k] bounds [9, 1003] : memref<9x1003xbf16> -> tensor<1x256xbf16>
          %in = tile.in_bounds [%c0, %k] bounds [1, 1003] : tensor<1x256xi1>
          %b = arith.select %in, %a, %low : tensor<1x256xi1>, tensor<1x256xbf16>
          %n = arith.maximumf %t, %b : tensor<1x256xbf16>
          scf.yield %n : tensor<1x256xbf16>
        }
        %m = tile.reduce [max] %p axis 1 : tensor<1x256xbf16> -> tensor<1xbf16>
        scf.for %k = %c0 to %c1024 step %c256 {
          %a = tile.load %x[%i, %k] bounds [9, 1003] : memref<9x1003xbf16> -> tensor<1x256xbf16>
          %mb = tile.broadcast %m dims [0] : tensor<1xbf16> -> tensor<1x256xbf16>
          %d = arith.subf %a, %mb : tensor<1x256xbf16>
          %g = tile.load %w[%k] bounds [1003] : memref<1003xbf16> -> tensor<256xbf16>
          %gb = tile.broadcast %g dims [1] : tensor<256xbf16> -> tensor<1x256xbf16>
          %o = arith.mulf %d, %gb : tensor<1x256xbf16>
          tile.store %o, %y[%i, %k] bounds [9, 1003] : tensor<1x256xbf16>, memref<9x1003xbf16>
        }
      })mlir"},
    {"RMSNorm", R"mlir(
      tile.kernel @rms_norm(%x: memref<3x2048xf32>, %w: memref<2048xf32>, %y: memref<3x2048xf32>) axes(%i = 3 step 1 grid) warps(8) {
        %c0 = arith.constant 0 : index
        %inv = arith.constant dense<4.8828125e-04> : tensor<1xf32>
        %a = tile.load %x[%i, %c0] : memref<3x2048xf32> -> tensor<1x2048xf32>
        %sq = arith.mulf %a, %a : tensor<1x2048xf32>
        %ss = tile.reduce [add] %sq axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
        %m = arith.mulf %ss, %inv : tensor<1xf32>
        %r = math.rsqrt %m : tensor<1xf32>
        %g = tile.load %w[%c0] : memref<2048xf32> -> tensor<2048xf32>
        %rb = tile.broadcast %r dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
        %gb = tile.broadcast %g dims [1] : tensor<2048xf32> -> tensor<1x2048xf32>
        %s = arith.mulf %a, %rb : tensor<1x2048xf32>
        %o = arith.mulf %s, %gb : tensor<1x2048xf32>
        tile.store %o, %y[%i, %c0] : tensor<1x2048xf32>, memref<3x2048xf32>
      })mlir"},
    {"SoftmaxInChunks", R"mlir(
      tile.kernel @softmax(%x: memref<3x700xf32>, %y: memref<3x700xf32>) axes(%i = 3 step 2 grid) warps(2) {
        %c0 = arith.constant 0 : index
        %c256 = arith.constant 256 : index
        %c768 = arith.constant 768 : index
        %low = arith.constant dense<0xFF800000> : tensor<2x256xf32>
        %zero = arith.constant dense<0.0> : tensor<2x256xf32>
        %p = scf.for %k = %c0 to %c768 step %c256 iter_args(%acc = %low) -> (tensor<2x256xf32>) {
          %a = tile.load %x[%i, %k] bounds [3, 700] : memref<3x700xf32> -> tensor<2x256xf32>
          %in = tile.in_bounds [%i, %k] bounds [3, 700] : tensor<2x256xi1>
          %v = arith.select %in, %a, %low : tensor<2x256xi1>, tensor<2x256xf32>
          %n = arith.maximumf %acc, %v : tensor<2x256xf32>
          scf.yield %n : tensor<2x256xf32>
        }
        %m = tile.reduce [max] %p axis 1 : tensor<2x256xf32> -> tensor<2xf32>
        %mb = tile.broadcast %m dims [0] : tensor<2xf32> -> tensor<2x256xf32>
        %q = scf.for %k = %c0 to %c768 step %c256 iter_args(%acc = %zero) -> (tensor<2x256xf32>) {
          %a = tile.load %x[%i, %k] bounds [3, 700] : memref<3x700xf32> -> tensor<2x256xf32>
          %d = arith.subf %a, %mb : tensor<2x256xf32>
          %e = math.exp %d : tensor<2x256xf32>
          %in = tile.in_bounds [%i, %k] bounds [3, 700] : tensor<2x256xi1>
          %v = arith.select %in, %e, %zero : tensor<2x256xi1>, tensor<2x256xf32>
          %n = arith.addf %acc, %v : tensor<2x256xf32>
          scf.yield %n : tensor<2x256xf32>
        }
        %s = tile.reduce [add] %q axis 1 : tensor<2x256xf32> -> tensor<2xf32>
        %sb = tile.broadcast %s dims [0] : tensor<2xf32> -> tensor<2x256xf32>
        scf.for %k = %c0 to %c768 step %c256 {
          %a = tile.load %x[%i, %k] bounds [3, 700] : memref<3x700xf32> -> tensor<2x256xf32>
          %d = arith.subf %a, %mb : tensor<2x256xf32>
          %e = math.exp %d : tensor<2x256xf32>
          %o = arith.divf %e, %sb : tensor<2x256xf32>
          tile.store %o, %y[%i, %k] bounds [3, 700] : tensor<2x256xf32>, memref<3x700xf32>
        }
      })mlir"},
    {"PointwiseOfOddSize", R"mlir(
      tile.kernel @pointwise(%x: memref<1003xf32>, %z: memref<1003xf16>, %y: memref<1003xbf16>) axes(%i = 1003 step 256 grid) warps(2) {
        %one = arith.constant dense<1.0> : tensor<256xf32>
        %a = tile.load %x[%i] bounds [1003] : memref<1003xf32> -> tensor<256xf32>
        %c = tile.load %z[%i] bounds [1003] : memref<1003xf16> -> tensor<256xf16>
        %d = arith.extf %c : tensor<256xf16> to tensor<256xf32>
        %b = arith.addf %a, %one : tensor<256xf32>
        %e = arith.mulf %b, %d : tensor<256xf32>
        %t = math.tanh %e : tensor<256xf32>
        %o = arith.truncf %t : tensor<256xf32> to tensor<256xbf16>
        tile.store %o, %y[%i] bounds [1003] : tensor<256xbf16>, memref<1003xbf16>
      })mlir"},
    {"ColumnSum", R"mlir(
      tile.kernel @column_sum(%x: memref<13x300xbf16>, %y: memref<300xf32>) axes(%j = 300 step 128 grid) warps(4) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<128x16xf32>
        %a = tile.load %x[%c0, %j] dims [1, 0] bounds [300, 13] : memref<13x300xbf16> -> tensor<128x16xbf16>
        %f = arith.extf %a : tensor<128x16xbf16> to tensor<128x16xf32>
        %in = tile.in_bounds [%j, %c0] bounds [300, 13] : tensor<128x16xi1>
        %v = arith.select %in, %f, %zero : tensor<128x16xi1>, tensor<128x16xf32>
        %s = tile.reduce [add] %v axis 1 : tensor<128x16xf32> -> tensor<128xf32>
        tile.store %s, %y[%j] bounds [300] : tensor<128xf32>, memref<300xf32>
      })mlir"},
    {"TransposeWithSteps", R"mlir(
      tile.kernel @transpose(%x: memref<64x128xf32>, %z: memref<32x128xi32>, %y: memref<32x64xf32>) axes(%i = 32 step 32 grid, %j = 64 step 32 grid) warps(4) {
        %c1 = arith.constant 1 : index
        %i2 = arith.addi %i, %c1 : index
        %a = tile.load %x[%j, %i2] dims [1, 0] : memref<64x128xf32> -> tensor<32x32xf32>
        %c = tile.load %z[%i, %j] steps [1, 2] : memref<32x128xi32> -> tensor<32x32xi32>
        %f = arith.sitofp %c : tensor<32x32xi32> to tensor<32x32xf32>
        %b = arith.mulf %a, %f : tensor<32x32xf32>
        tile.store %b, %y[%i, %j] : tensor<32x32xf32>, memref<32x64xf32>
      })mlir"},
    {"OuterSumOfOneVector", R"mlir(
      tile.kernel @outer(%x: memref<64xf32>, %y: memref<64x64xf32>, %s: memref<64xf32>) axes(%i = 1 step 1 grid) warps(2) {
        %c0 = arith.constant 0 : index
        %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
        %r = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x64xf32>
        %c = tile.broadcast %a dims [1] : tensor<64xf32> -> tensor<64x64xf32>
        %t = arith.addf %r, %c : tensor<64x64xf32>
        tile.store %t, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
        %u, %v = tile.reduce [add, max] %t, %r axis 0 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64xf32>, tensor<64xf32>
        %w = arith.addf %u, %v : tensor<64xf32>
        tile.store %w, %s[%c0] : tensor<64xf32>, memref<64xf32>
      })mlir"},
};

constexpr StringLiteral target =
    "module attributes {tile.target = #tile.target<chip = \"sm_90a\", "
    "multiprocessors = 132, "
    "warps_per_multiprocessor = 64, blocks_per_multiprocessor = 32, "
    "registers_per_multiprocessor = 65536, "
    "registers_per_thread = 255, threads_per_block = 1024, "
    "shared_per_multiprocessor = 233472, "
    "shared_per_block = 232448, l2_bytes = 52428800, dram_bytes_per_second = "
    "4800000000000, "
    "f32_flops_per_second = 66900000000000, launch_nanoseconds = 2000>} {";

class KeepsValues : public ::testing::TestWithParam<Kernel> {};

/// Runs the passes one after the other and compares after each.
void expectKept(const char *text, ArrayRef<StringRef> passes) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse((target + text + "}").str());
  ASSERT_TRUE(module);
  std::vector<HostArray> before =
      interpretOnRandom(session, getKernel(*module), 7);
  for (StringRef pass : passes) {
    ASSERT_TRUE(succeeded(runPipeline(*module, pass)))
        << pass.str() << ": " << session.errors;
    SCOPED_TRACE(pass.str());
    expectSame(before, interpretOnRandom(session, getKernel(*module), 7));
  }
  auto kernel = cast<tile::KernelOp>(getKernel(*module));
  EXPECT_TRUE(succeeded(tile::verifyScheduled(kernel))) << session.errors;
  expectVectors(kernel);
}

TEST_P(KeepsValues, InRegisters) {
  expectKept(GetParam().text, {"tile.kernel(deplo-stage-inputs{mode=never})",
                               "tile.kernel(deplo-register-tile)",
                               "tile.kernel(deplo-mark-unroll{unroll=4})",
                               "tile.kernel(deplo-vectorize-access)"});
}

TEST_P(KeepsValues, Staged) {
  expectKept(GetParam().text, {"tile.kernel(deplo-stage-inputs{mode=always})",
                               "tile.kernel(deplo-register-tile)",
                               "tile.kernel(deplo-async-copy)",
                               "tile.kernel(deplo-pad-smem{mode=always})",
                               "tile.kernel(deplo-mark-unroll{unroll=4})",
                               "tile.kernel(deplo-vectorize-access)"});
}

TEST_P(KeepsValues, Aligned) {
  expectKept(GetParam().text, {"tile.kernel(deplo-align-rows{vector=8})",
                               "tile.kernel(deplo-register-tile)",
                               "tile.kernel(deplo-vectorize-access)"});
}

TEST_P(KeepsValues, StagedAndAligned) {
  expectKept(GetParam().text, {"tile.kernel(deplo-stage-inputs{mode=always})",
                               "tile.kernel(deplo-align-rows{vector=8})",
                               "tile.kernel(deplo-register-tile)",
                               "tile.kernel(deplo-async-copy)",
                               "tile.kernel(deplo-vectorize-access)"});
}

TEST_P(KeepsValues, StagedWithoutAsynchronousCopies) {
  expectKept(GetParam().text,
             {"tile.kernel(deplo-stage-inputs{mode=always})",
              "tile.kernel(deplo-register-tile{vector=1})",
              "tile.kernel(deplo-pad-smem{mode=always})",
              "tile.kernel(deplo-vectorize-access{alignment=4})"});
}

INSTANTIATE_TEST_SUITE_P(Kernels, KeepsValues, ::testing::ValuesIn(kernels),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// verifyScheduled
//===----------------------------------------------------------------------===//

std::string getVerifierError(StringRef text) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  if (!module)
    return "parse error";
  EXPECT_TRUE(
      failed(tile::verifyScheduled(cast<tile::KernelOp>(getKernel(*module)))));
  return session.errors;
}

TEST(VerifyScheduled, NamesThePassThatShouldHaveRun) {
  EXPECT_EQ(getVerifierError(R"mlir(
      tile.kernel @k(%x: memref<4xf32>) axes(%i = 4 tile) {
        %a = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32>
      })mlir"),
            "'tile.kernel' op has no number of warps; run "
            "deplo-blockify-launch first\n");
  EXPECT_EQ(getVerifierError(R"mlir(
      tile.kernel @k(%x: memref<4xf32>) axes(%i = 4 tile) warps(1) {
        %a = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32>
      })mlir"),
            "'tile.load' op has the tile 'tensor<4xf32>' without a layout; run "
            "deplo-register-tile first\n");
}

} // namespace
