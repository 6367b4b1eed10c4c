// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas in the tests are those of the PTX ISA, in its notation: element
// i of the fragment of lane %laneid, with groupID = %laneid >> 2 and
// threadID_in_group = %laneid % 4.

#include "deplo/Analysis/FragmentLayouts.h"

#include "deplo/Analysis/LayoutConversion.h"

#include "LayoutTesting.h"

#include "llvm/ADT/Sequence.h"

using namespace deplo;
using namespace deplo::testing;
using llvm::seq;

namespace {

/// Compares all registers of all lanes of a warp with `formula(group, thread,
/// i)`.
void expectFragment(
    const LinearLayout &layout, llvm::ArrayRef<int64_t> shape,
    int32_t numRegisters,
    llvm::function_ref<Coordinates(int32_t, int32_t, int32_t)> formula) {
  EXPECT_EQ(llvm::ArrayRef<int64_t>(layout.getShape()), shape);
  EXPECT_EQ(layout.getNumRegisters(), numRegisters);
  EXPECT_EQ(layout.getSize(InputDim::Lane), 32);
  EXPECT_EQ(layout.getSize(InputDim::Warp), 1);
  EXPECT_TRUE(layout.isBijective());
  for (int32_t lane : seq(32))
    for (int32_t i : seq(numRegisters))
      EXPECT_EQ(layout.apply(i, lane), formula(lane >> 2, lane % 4, i))
          << "lane " << lane << ", element " << i;
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

TEST(MmaFragment, M16N8K16A) {
  expectFragment(valueOf(mmaFragment(MmaOperand::A, 16)), {16, 16}, 8,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row = (0 <= i && i < 2) || (4 <= i && i < 6)
                                     ? group
                                     : group + 8;
                   int32_t col =
                       i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
                   return Coordinates{row, col};
                 });
}

TEST(MmaFragment, M16N8K16B) {
  expectFragment(valueOf(mmaFragment(MmaOperand::B, 16)), {16, 8}, 4,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row =
                       i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
                   return Coordinates{row, group};
                 });
}

TEST(MmaFragment, Accumulator) {
  for (unsigned bits : {8, 16, 32})
    expectFragment(valueOf(mmaFragment(MmaOperand::Accumulator, bits)), {16, 8},
                   4, [](int32_t group, int32_t thread, int32_t i) {
                     int32_t row = i < 2 ? group : group + 8;
                     return Coordinates{row, thread * 2 + (i & 1)};
                   });
}

TEST(MmaFragment, M16N8K8A) {
  expectFragment(valueOf(mmaFragment(MmaOperand::A, 32)), {16, 8}, 4,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row = i == 0 || i == 2 ? group : group + 8;
                   int32_t col = i == 0 || i == 1 ? thread : thread + 4;
                   return Coordinates{row, col};
                 });
}

TEST(MmaFragment, M16N8K8B) {
  expectFragment(valueOf(mmaFragment(MmaOperand::B, 32)), {8, 8}, 2,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row = i == 0 ? thread : thread + 4;
                   return Coordinates{row, group};
                 });
}

TEST(MmaFragment, M16N8K32A) {
  expectFragment(valueOf(mmaFragment(MmaOperand::A, 8)), {16, 32}, 16,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row = (0 <= i && i < 4) || (8 <= i && i < 12)
                                     ? group
                                     : group + 8;
                   int32_t col =
                       i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
                   return Coordinates{row, col};
                 });
}

TEST(MmaFragment, M16N8K32B) {
  expectFragment(valueOf(mmaFragment(MmaOperand::B, 8)), {32, 8}, 8,
                 [](int32_t group, int32_t thread, int32_t i) {
                   int32_t row =
                       i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
                   return Coordinates{row, group};
                 });
}

TEST(MmaFragment, RejectsOtherWidths) {
  for (unsigned bits : {0u, 4u, 64u})
    for (llvm::Expected<LinearLayout> (*make)(unsigned) :
         {+[](unsigned bits) { return mmaFragment(MmaOperand::A, bits); },
          +[](unsigned bits) { return wgmmaFragmentA(bits); }})
      EXPECT_EQ(errorOf(make(bits)),
                "tensor-core operands of " + std::to_string(bits) +
                    "-bit elements are not supported, expected 8, 16 or 32 "
                    "bits");
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

TEST(WgmmaFragment, Accumulator) {
  for (int64_t n : {8, 16, 32, 64, 128, 256}) {
    LinearLayout layout = valueOf(wgmmaAccumulator(n));
    EXPECT_EQ(layout.getShape(), (llvm::SmallVector<int64_t>{64, n}));
    EXPECT_EQ(layout.getNumRegisters(), n / 2);
    EXPECT_TRUE(layout.isBijective());
    for (int32_t warp : seq(4))
      for (int32_t lane : seq(32))
        for (int32_t i : seq(layout.getNumRegisters())) {
          // The figure: rows of a warp in groups of eight, columns in blocks of
          // eight with four elements each.
          int32_t row = warp * 16 + lane / 4 + (i % 4 >= 2 ? 8 : 0);
          int32_t col = i / 4 * 8 + lane % 4 * 2 + i % 2;
          EXPECT_EQ(layout.apply(i, lane, warp), Coordinates({row, col}));
        }
  }
}

TEST(WgmmaFragment, Bases) {
  EXPECT_EQ(toString(valueOf(wgmmaAccumulator(32))),
            "reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], "
            "[1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = [] : "
            "64x32");
  EXPECT_EQ(valueOf(wgmmaTileA(16, {64, 32}, 1)),
            valueOf(wgmmaAccumulator(32)));
}

TEST(WgmmaFragment, OperandA) {
  for (unsigned bits : {8, 16, 32}) {
    LinearLayout warp = valueOf(mmaFragment(MmaOperand::A, bits));
    LinearLayout warpgroup = valueOf(wgmmaFragmentA(bits));
    EXPECT_EQ(warpgroup.getShape(),
              (llvm::SmallVector<int64_t>{64, getMmaK(bits)}));
    EXPECT_TRUE(warpgroup.isBijective());
    forEachIndex(warpgroup, [&](HardwareIndex index) {
      Coordinates expected = warp.apply(index.reg, index.lane);
      expected[0] += 16 * index.warp;
      EXPECT_EQ(warpgroup.apply(index), expected);
    });
  }
}

TEST(WgmmaFragment, RejectsOtherN) {
  for (int64_t n : {-8, 0, 4, 24, 96, 512})
    EXPECT_EQ(errorOf(wgmmaAccumulator(n)),
              "a wgmma accumulator of N = " + std::to_string(n) +
                  " has no layout, expected 8, 16, 32, 64, 128 or 256");
}

/// The step between the two contractions of attention: the accumulator, rounded
/// to 16 bits, is the next operand A as it lies in the registers.
TEST(WgmmaFragment, AccumulatorIsTheNextOperandA) {
  LinearLayout accumulator = valueOf(wgmmaAccumulator(128));
  LinearLayout operand = valueOf(wgmmaTileA(16, {64, 128}, 1));
  EXPECT_EQ(valueOf(classifyConversion(accumulator, operand)).getKind(),
            ConversionKind::Nothing);
  // Operands of 8 bits have four elements of a row in a register, where the
  // accumulator has two.
  LinearLayout narrow = valueOf(wgmmaTileA(8, {64, 128}, 1));
  EXPECT_EQ(valueOf(classifyConversion(accumulator, narrow)).getKind(),
            ConversionKind::WarpShuffle);
}

/// A row of an accumulator lies in a quad of lanes.
TEST(WgmmaFragment, RowStatistics) {
  LinearLayout accumulator = valueOf(wgmmaAccumulator(64));
  ReductionBits bits = accumulator.reductionBits(1);
  EXPECT_TRUE(bits.isComplete);
  EXPECT_EQ(bits.registerMasks, (llvm::SmallVector<int32_t>{1, 4, 8, 16}));
  EXPECT_EQ(bits.laneMasks, (llvm::SmallVector<int32_t>{1, 2}));
  EXPECT_TRUE(bits.warpMasks.empty());
  EXPECT_EQ(toString(accumulator.dropDim(1)),
            "reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], "
            "[32]], block = [] : 64");
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Each warp's part of the tile is made of whole fragments.
TEST(MmaTile, RepeatsTheFragment) {
  const int32_t warpsM = 2, warpsN = 4, m = 64, n = 128, k = 32;
  LinearLayout a = valueOf(mmaTile(MmaOperand::A, 16, {m, k}, warpsM, warpsN));
  LinearLayout b = valueOf(mmaTile(MmaOperand::B, 16, {k, n}, warpsM, warpsN));
  LinearLayout c =
      valueOf(mmaTile(MmaOperand::Accumulator, 16, {m, n}, warpsM, warpsN));
  auto check = [&](MmaOperand operand, const LinearLayout &tile,
                   Coordinates part,
                   llvm::function_ref<Coordinates(int32_t)> corner) {
    LinearLayout fragment = valueOf(mmaFragment(operand, 16));
    EXPECT_EQ(tile.getSize(InputDim::Warp), warpsM * warpsN);
    EXPECT_TRUE(tile.isSurjective());
    EXPECT_EQ(tile.removeDuplicateRegisters(), tile);
    forEachIndex(tile, [&](HardwareIndex index) {
      Coordinates inFragment =
          fragment.apply(index.reg % fragment.getNumRegisters(), index.lane);
      Coordinates actual = tile.apply(index);
      Coordinates first = corner(index.warp);
      for (unsigned dim : seq(2u)) {
        EXPECT_EQ(actual[dim] % fragment.getDimSize(dim), inFragment[dim]);
        EXPECT_GE(actual[dim], first[dim]);
        EXPECT_LT(actual[dim], first[dim] + part[dim]);
      }
    });
  };
  check(MmaOperand::A, a, {m / warpsM, k}, [&](int32_t warp) {
    return Coordinates{warp % warpsM * (m / warpsM), 0};
  });
  check(MmaOperand::B, b, {k, n / warpsN}, [&](int32_t warp) {
    return Coordinates{0, warp / warpsM * (n / warpsN)};
  });
  check(MmaOperand::Accumulator, c, {m / warpsM, n / warpsN},
        [&](int32_t warp) {
          return Coordinates{warp % warpsM * (m / warpsM),
                             warp / warpsM * (n / warpsN)};
        });
  EXPECT_EQ(a.getNumRegisters(), 16 * 32 * 2 / 32);
  EXPECT_EQ(b.getNumRegisters(), 32 * 32 / 32);
  EXPECT_EQ(c.getNumRegisters(), 32 * 32 / 32);
}

/// A warp that computes rows r and columns c has rows r of A and columns c of
/// B: its operands are what its accumulators need.
TEST(MmaTile, OperandsMeetTheAccumulator) {
  for (unsigned bits : {8, 16, 32})
    for (int64_t warpsM : {1, 2, 4})
      for (int64_t warpsN : {1, 2}) {
        auto partOf = [&](MmaOperand operand, llvm::ArrayRef<int64_t> shape,
                          unsigned dim) {
          LinearLayout tile =
              valueOf(mmaTile(operand, bits, shape, warpsM, warpsN));
          std::map<int32_t, std::set<int32_t>> part;
          forEachIndex(tile, [&](HardwareIndex index) {
            part[index.warp].insert(tile.apply(index)[dim]);
          });
          return part;
        };
        EXPECT_EQ(partOf(MmaOperand::A, {64, 64}, 0),
                  partOf(MmaOperand::Accumulator, {64, 32}, 0));
        EXPECT_EQ(partOf(MmaOperand::B, {64, 32}, 1),
                  partOf(MmaOperand::Accumulator, {64, 32}, 1));
      }
}

TEST(WgmmaTile, WarpgroupsDivideM) {
  LinearLayout one = valueOf(wgmmaAccumulator(32));
  LinearLayout two = valueOf(wgmmaAccumulatorTile({128, 32}, 2));
  EXPECT_EQ(two.getSize(InputDim::Warp), 8);
  forEachIndex(two, [&](HardwareIndex index) {
    Coordinates expected = one.apply(index.reg, index.lane, index.warp % 4);
    expected[0] += 64 * (index.warp / 4);
    EXPECT_EQ(two.apply(index), expected);
  });
  // One warpgroup does both halves in turn.
  LinearLayout twice = valueOf(wgmmaAccumulatorTile({128, 32}, 1));
  forEachIndex(twice, [&](HardwareIndex index) {
    Coordinates expected = one.apply(index.reg % 16, index.lane, index.warp);
    expected[0] += 64 * (index.reg / 16);
    EXPECT_EQ(twice.apply(index), expected);
  });
}

TEST(MmaTile, RejectsTilesThatDoNotFit) {
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::Accumulator, 16, {32, 64}, 4, 1)),
            "tile dimension 0 has size 32, expected at least 64 (4 "
            "tensor-core fragments of 16)");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::A, 16, {64, 8}, 1, 1)),
            "tile dimension 1 has size 8, expected at least 16 (1 "
            "tensor-core fragments of 16)");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::A, 16, {96, 16}, 2, 1)),
            "tile dimension 0 has size 96, expected a power of two up to 2^30");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::A, 16, {64}, 1, 1)),
            "a tensor-core tile has rank 2, got rank 1");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::A, 16, {64, 16}, 3, 1)),
            "the number of warps along M is 3, expected a power of two from 1 "
            "to 32");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::B, 16, {64, 16}, 1, 0)),
            "the number of warps along N is 0, expected a power of two from 1 "
            "to 32");
  EXPECT_EQ(errorOf(mmaTile(MmaOperand::Accumulator, 16, {1024, 1024}, 32, 2)),
            "the layout has 6 bases for warp, expected at most 5");
  EXPECT_EQ(errorOf(wgmmaAccumulatorTile({64, 32}, 2)),
            "tile dimension 0 has size 64, expected at least 128 (2 "
            "tensor-core fragments of 64)");
}

} // namespace
