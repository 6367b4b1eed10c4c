// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/LayoutConversion.h"

#include "LayoutTesting.h"

#include "llvm/ADT/Sequence.h"

#include <optional>

using namespace deplo;
using namespace deplo::testing;
using llvm::seq;

namespace {

LinearLayout makeLayout(llvm::ArrayRef<int64_t> shape, LayoutBases bases) {
  return valueOf(LinearLayout::create(bases, shape));
}

LinearLayout makeBlocked(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> values,
                         llvm::ArrayRef<int64_t> lanes,
                         llvm::ArrayRef<int64_t> warps,
                         llvm::ArrayRef<int64_t> order) {
  return valueOf(LinearLayout::blocked(shape, values, lanes, warps, order));
}

/// The classification from its definition, without linear algebra: nothing if
/// no block holds what it needs.
std::optional<ConversionKind> bruteForceKind(const LinearLayout &from,
                                             const LinearLayout &to) {
  using Place = std::vector<int32_t>;
  std::map<Place, std::set<Coordinates>> inWarp, inBlock;
  forEachIndex(from, [&](HardwareIndex index) {
    Coordinates element = from.apply(index);
    inWarp[{index.warp, index.block}].insert(element);
    inBlock[{index.block}].insert(element);
  });
  bool isWarp = true, isBlock = true;
  forEachIndex(to, [&](HardwareIndex index) {
    Coordinates element = to.apply(index);
    isWarp &= inWarp[{index.warp, index.block}].count(element) != 0;
    isBlock &= inBlock[{index.block}].count(element) != 0;
  });

  // Whether register `source` of all threads serves as register `reg`.
  auto serves = [&](int32_t source, int32_t reg) {
    bool same = true;
    forEachIndex(to, [&](HardwareIndex index) {
      if (index.reg != reg)
        return;
      HardwareIndex other = index;
      other.reg = source;
      same &= from.apply(other) == to.apply(index);
    });
    return same;
  };
  bool isPermutation = true;
  bool isNothing = from.getNumRegisters() == to.getNumRegisters();
  for (int32_t reg : seq(to.getNumRegisters())) {
    isPermutation &=
        llvm::any_of(seq(from.getNumRegisters()),
                     [&](int32_t source) { return serves(source, reg); });
    isNothing = isNothing && serves(reg, reg);
  }
  if (isNothing)
    return ConversionKind::Nothing;
  if (isPermutation)
    return ConversionKind::RegisterPermutation;
  if (isWarp)
    return ConversionKind::WarpShuffle;
  if (isBlock)
    return ConversionKind::SharedMemory;
  return std::nullopt;
}

/// Runs a conversion the way that generated code does, on elements.
void checkPlan(const LayoutConversion &conversion, const LinearLayout &from,
               const LinearLayout &to) {
  std::map<int32_t, std::set<int32_t>> sourceRegisters;
  forEachIndex(to, [&](HardwareIndex index) {
    HardwareIndex source = conversion.getSource(index);
    EXPECT_EQ(from.apply(source), to.apply(index));
    EXPECT_EQ(source.block, index.block);

    HardwareIndex sum = conversion.getSource({index.reg});
    auto add = [&](InputDim dim, int32_t number) {
      for (unsigned bit : seq(to.getNumBits(dim)))
        if (number >> bit & 1) {
          HardwareIndex part = conversion.getContribution(dim, bit);
          sum.reg ^= part.reg;
          sum.lane ^= part.lane;
          sum.warp ^= part.warp;
          sum.block ^= part.block;
        }
    };
    add(InputDim::Lane, index.lane);
    add(InputDim::Warp, index.warp);
    add(InputDim::Block, index.block);
    EXPECT_EQ(sum, source);

    if (conversion.getKind() == ConversionKind::SharedMemory)
      return;
    EXPECT_EQ(source.warp, index.warp);
    sourceRegisters[index.reg].insert(source.reg);
    if (std::optional<int32_t> mask = conversion.getLaneXor(index.reg))
      EXPECT_EQ(source.lane, index.lane ^ *mask);
    if (conversion.getKind() == ConversionKind::WarpShuffle)
      return;
    EXPECT_EQ(source.lane, index.lane);
    EXPECT_EQ(conversion.getNumShuffles(), 0);
    EXPECT_EQ(conversion.getRegisterMap()[index.reg], source.reg);
    if (conversion.getKind() == ConversionKind::Nothing)
      EXPECT_EQ(source.reg, index.reg);
  });
  for (const auto &[reg, sources] : sourceRegisters)
    EXPECT_EQ(conversion.getSourceRegisters(reg),
              llvm::SmallVector<int32_t>(sources.begin(), sources.end()));
}

int numOfKind[5];

void checkPair(const LinearLayout &from, const LinearLayout &to) {
  std::optional<ConversionKind> expected = bruteForceKind(from, to);
  llvm::Expected<LayoutConversion> conversion = classifyConversion(from, to);
  ++numOfKind[expected ? int(*expected) : 4];
  if (!expected) {
    EXPECT_EQ(errorOf(std::move(conversion)),
              "the conversion needs elements that the source layout does not "
              "hold in the same block");
    return;
  }
  ASSERT_TRUE(bool(conversion)) << toString(from) << " to " << toString(to);
  EXPECT_EQ(conversion->getKind(), *expected)
      << toString(from) << " to " << toString(to);
  checkPlan(*conversion, from, to);
}

void forAllPairs(llvm::ArrayRef<int64_t> shape,
                 std::array<unsigned, 4> fromBits,
                 std::array<unsigned, 4> toBits) {
  forEachLayout(shape, fromBits, [&](const LinearLayout &from) {
    forEachLayout(shape, toBits,
                  [&](const LinearLayout &to) { checkPair(from, to); });
  });
}

TEST(LayoutConversion, MatchesBruteForce) {
  std::fill(std::begin(numOfKind), std::end(numOfKind), 0);
  forAllPairs({4}, {1, 1, 1, 0}, {1, 1, 1, 0});
  forAllPairs({2, 2}, {2, 1, 0, 0}, {1, 1, 0, 0});
  forAllPairs({2}, {1, 1, 1, 1}, {2, 1, 1, 1});
  forAllPairs({4}, {1, 2, 0, 0}, {1, 2, 0, 0});
  // Each kind, and failure, occurs often.
  for (int count : numOfKind)
    EXPECT_GT(count, 20);
}

TEST(LayoutConversion, MatchesBruteForceOnBijections) {
  std::vector<LinearLayout> bijections;
  forEachLayout({2, 4}, {1, 1, 1, 0}, [&](const LinearLayout &layout) {
    if (layout.isBijective())
      bijections.push_back(layout);
  });
  EXPECT_EQ(bijections.size(), 168u); // the order of GL(3, 2)
  for (const LinearLayout &from : bijections)
    for (const LinearLayout &to : bijections)
      checkPair(from, to);
}

TEST(LayoutConversion, Nothing) {
  LinearLayout layout = makeBlocked({64, 64}, {1, 4}, {4, 8}, {2, 2}, {1, 0});
  EXPECT_EQ(valueOf(classifyConversion(layout, layout)).getKind(),
            ConversionKind::Nothing);
}

TEST(LayoutConversion, RegisterPermutation) {
  // Rows of four by columns of two, or the other way round.
  LinearLayout from =
      makeLayout({4, 64}, {{{{0, 1}, {1, 0}, {2, 0}},
                            {{0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}},
                            {},
                            {}}});
  LinearLayout to =
      makeLayout({4, 64}, {{{{1, 0}, {2, 0}, {0, 1}},
                            {{0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}},
                            {},
                            {}}});
  LayoutConversion conversion = valueOf(classifyConversion(from, to));
  EXPECT_EQ(conversion.getKind(), ConversionKind::RegisterPermutation);
  EXPECT_EQ(conversion.getRegisterMap(),
            (llvm::SmallVector<int32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(LayoutConversion, DroppingDuplicatesIsFree) {
  LinearLayout from = makeLayout({4}, {{{{0}, {1}}, {{2}}, {}, {}}});
  LayoutConversion conversion =
      valueOf(classifyConversion(from, from.removeDuplicateRegisters()));
  EXPECT_EQ(conversion.getKind(), ConversionKind::RegisterPermutation);
  EXPECT_EQ(conversion.getRegisterMap(), (llvm::SmallVector<int32_t>{0, 2}));
}

TEST(LayoutConversion, ReversingLanesIsAButterfly) {
  // Lane bit 0 also moves the row: register r of the other lane.
  LinearLayout from = makeLayout({2, 2}, {{{{1, 0}}, {{0, 1}}, {}, {}}});
  LinearLayout to = makeLayout({2, 2}, {{{{1, 1}}, {{0, 1}}, {}, {}}});
  LayoutConversion conversion = valueOf(classifyConversion(from, to));
  EXPECT_EQ(conversion.getKind(), ConversionKind::WarpShuffle);
  EXPECT_EQ(conversion.getLaneXor(0), 0);
  EXPECT_EQ(conversion.getLaneXor(1), 1);
  EXPECT_EQ(conversion.getNumShuffles(), 1);
}

TEST(LayoutConversion, SelectionNeedsNoShuffle) {
  // Each thread holds both elements, and odd lanes want them in reverse.
  LinearLayout from = makeLayout({2}, {{{{1}}, {{0}}, {}, {}}});
  LinearLayout to = makeLayout({2}, {{{{1}}, {{1}}, {}, {}}});
  LayoutConversion conversion = valueOf(classifyConversion(from, to));
  EXPECT_EQ(conversion.getKind(), ConversionKind::WarpShuffle);
  EXPECT_EQ(conversion.getNumShuffles(), 0);
  EXPECT_EQ(conversion.getSourceRegisters(0),
            (llvm::SmallVector<int32_t>{0, 1}));
}

TEST(LayoutConversion, SelectionIsPreferredToShuffles) {
  // The other lane has the element too, but so has another register.
  LinearLayout from = makeLayout({2}, {{{{1}}, {{0}, {1}}, {}, {}}});
  LinearLayout to = makeLayout({2}, {{{{1}}, {{1}, {1}}, {}, {}}});
  LayoutConversion conversion = valueOf(classifyConversion(from, to));
  EXPECT_EQ(conversion.getKind(), ConversionKind::WarpShuffle);
  EXPECT_EQ(conversion.getNumShuffles(), 0);
}

TEST(LayoutConversion, TransposeInAWarpReadsBothRegisters) {
  LinearLayout from = makeLayout({2, 2}, {{{{0, 1}}, {{1, 0}}, {}, {}}});
  LinearLayout to = from.transpose({1, 0});
  LayoutConversion conversion = valueOf(classifyConversion(from, to));
  EXPECT_EQ(conversion.getKind(), ConversionKind::WarpShuffle);
  EXPECT_EQ(conversion.getSourceRegisters(1),
            (llvm::SmallVector<int32_t>{0, 1}));
  EXPECT_EQ(conversion.getLaneXor(0), std::nullopt);
  EXPECT_EQ(conversion.getNumShuffles(), 4);
}

TEST(LayoutConversion, ReplicasSaveTheTripThroughSharedMemory) {
  // Both warps hold all four elements, so no warp needs the other.
  LinearLayout from = makeLayout({4}, {{{{1}}, {{2}}, {{0}}, {}}});
  LinearLayout to = makeLayout({4}, {{{}, {{1}}, {{2}}, {}}});
  EXPECT_EQ(valueOf(classifyConversion(from, to)).getKind(),
            ConversionKind::WarpShuffle);
  EXPECT_EQ(valueOf(classifyConversion(to, from)).getKind(),
            ConversionKind::SharedMemory);
}

TEST(LayoutConversion, TransposeOfATileGoesThroughSharedMemory) {
  LinearLayout rows = makeBlocked({64, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  LinearLayout columns = makeBlocked({64, 64}, {4, 1}, {16, 2}, {1, 4}, {0, 1});
  EXPECT_EQ(valueOf(classifyConversion(rows, columns)).getKind(),
            ConversionKind::SharedMemory);
}

TEST(LayoutConversion, RejectsLayoutsThatDoNotFit) {
  LinearLayout a = makeBlocked({64, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  LinearLayout b = makeBlocked({64, 32}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  LinearLayout c = makeBlocked({64, 64}, {1, 4}, {2, 16}, {8, 1}, {1, 0});
  EXPECT_EQ(errorOf(classifyConversion(a, b)),
            "cannot convert a layout of a 64x64 tile to a layout of a 64x32 "
            "tile");
  EXPECT_EQ(errorOf(classifyConversion(a, c)),
            "cannot convert a layout over 4 warps to one over 8");
}

} // namespace
