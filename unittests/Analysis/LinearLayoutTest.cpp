// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LayoutTesting.h"

#include "llvm/ADT/Sequence.h"

using namespace deplo;
using namespace deplo::testing;
using llvm::ArrayRef;
using llvm::seq;
using llvm::seq_inclusive;

namespace {

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

TEST(LinearLayoutCreate, RejectsBadInput) {
  auto create = [](LayoutBases bases, ArrayRef<int64_t> shape) {
    return errorOf(LinearLayout::create(bases, shape));
  };
  EXPECT_EQ(create({}, {24}), "tile dimension 0 has size 24, expected a power "
                              "of two up to 2^30");
  EXPECT_EQ(create({}, {4, 0}), "tile dimension 1 has size 0, expected a power "
                                "of two up to 2^30");
  EXPECT_EQ(create({}, {-8}), "tile dimension 0 has size -8, expected a power "
                              "of two up to 2^30");
  EXPECT_EQ(create({}, {int64_t(1) << 30, int64_t(1) << 30, 8}),
            "the tile has 2^63 elements, expected at most 2^62");
  EXPECT_EQ(create({{{{0, 1}, {2}}, {}, {}, {}}}, {4, 4}),
            "basis 1 of register has 1 coordinates, expected 2");
  EXPECT_EQ(create({{{}, {{0, 4}}, {}, {}}}, {4, 4}),
            "basis 0 of lane has coordinate 4 along dimension 1, expected 0 to "
            "3");
  EXPECT_EQ(create({{{}, {}, {{-1, 0}}, {}}}, {4, 4}),
            "basis 0 of warp has coordinate -1 along dimension 0, expected 0 "
            "to 3");
  LayoutBases sixLanes;
  sixLanes[1].assign(6, {0});
  EXPECT_EQ(create(sixLanes, {64}),
            "the layout has 6 bases for lane, expected at most 5");
}

TEST(LinearLayoutBlocked, RejectsBadInput) {
  auto blocked = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> values,
                    ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps,
                    ArrayRef<int64_t> order) {
    return errorOf(LinearLayout::blocked(shape, values, lanes, warps, order));
  };
  EXPECT_EQ(
      blocked({100}, {4}, {32}, {1}, {0}),
      "tile dimension 0 has size 100, expected a power of two up to 2^30");
  EXPECT_EQ(blocked({128}, {3}, {32}, {1}, {0}),
            "values per thread has entry 3, expected a power of two");
  EXPECT_EQ(blocked({128}, {4}, {0}, {1}, {0}),
            "lanes per dimension has entry 0, expected a power of two");
  EXPECT_EQ(blocked({128}, {4}, {32}, {1, 1}, {0}),
            "warps per dimension has 2 entries, expected one for each of the 1 "
            "tile dimensions");
  EXPECT_EQ(blocked({4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}),
            "the order of the tile dimensions is not a permutation of 0 to 1");
  EXPECT_EQ(blocked({128}, {1}, {64}, {1}, {0}),
            "the layout has 6 bases for lane, expected at most 5");
}

TEST(LinearLayoutBlocked, NestsFromTheInsideOut) {
  // 4 contiguous values, 8 lanes across and 4 down, 2 warps down, 2 times 2.
  LinearLayout layout =
      valueOf(LinearLayout::blocked({16, 64}, {1, 4}, {4, 8}, {2, 1}, {1, 0}));
  EXPECT_EQ(toString(layout),
            "reg = [[0, 1], [0, 2], [0, 32], [8, 0]], lane = [[0, 4], [0, 8], "
            "[0, 16], [1, 0], [2, 0]], warp = [[4, 0]], block = [] : 16x64");
  EXPECT_EQ(layout.apply(0, 9, 1), Coordinates({5, 4}));
  EXPECT_EQ(layout.apply(13, 0, 0), Coordinates({8, 33}));
  EXPECT_TRUE(layout.isBijective());
  EXPECT_EQ(layout.getNumRegisters(), 16);
  EXPECT_EQ(layout.getNumThreads(), 64);
}

TEST(LinearLayoutBlocked, SurplusThreadsReplicate) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({32}, {4}, {32}, {4}, {0}));
  EXPECT_EQ(toString(layout),
            "reg = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [[0], "
            "[0]], block = [] : 32");
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_FALSE(layout.isInjective());
  EXPECT_EQ(layout.getReplicaMask(), (HardwareIndex{0, 24, 3, 0}));
}

TEST(LinearLayoutBlocked, SurplusValuesAreDropped) {
  LinearLayout layout = valueOf(LinearLayout::blocked({2}, {8}, {2}, {1}, {0}));
  EXPECT_EQ(toString(layout),
            "reg = [[1]], lane = [[0]], warp = [], block = [] : 2");
}

/// The definition of a blocked layout with arithmetic in place of bits, for
/// sizes that fit.
TEST(LinearLayoutBlocked, MatchesArithmetic) {
  const int64_t shape[] = {16, 64};
  for (int64_t v0 : {1, 2})
    for (int64_t v1 : {1, 4})
      for (int64_t l0 : {1, 2, 4})
        for (int64_t w0 : {1, 2})
          for (bool rowMajor : {false, true}) {
            int64_t l1 = 8 / l0, w1 = 2 / w0;
            int64_t values[] = {v0, v1}, lanes[] = {l0, l1}, warps[] = {w0, w1};
            int64_t order[] = {rowMajor ? 1 : 0, rowMajor ? 0 : 1};
            LinearLayout layout = valueOf(
                LinearLayout::blocked(shape, values, lanes, warps, order));
            forEachIndex(layout, [&](HardwareIndex index) {
              int64_t expected[2];
              int64_t reg = index.reg, lane = index.lane, warp = index.warp;
              int64_t stride[2] = {1, 1};
              auto take = [&](int64_t &number, int64_t dim, int64_t size) {
                expected[dim] += number % size * stride[dim];
                stride[dim] *= size;
                number /= size;
              };
              expected[0] = expected[1] = 0;
              for (int64_t dim : order)
                take(reg, dim, values[dim]);
              for (int64_t dim : order)
                take(lane, dim, lanes[dim]);
              for (int64_t dim : order)
                take(warp, dim, warps[dim]);
              for (int64_t dim : order)
                take(reg, dim, shape[dim] / stride[dim]);
              EXPECT_EQ(
                  layout.apply(index),
                  Coordinates({int32_t(expected[0]), int32_t(expected[1])}));
            });
          }
}

TEST(LinearLayoutBases, RoundTrip) {
  forEachSmallLayout([](const LinearLayout &layout) {
    LinearLayout again =
        valueOf(LinearLayout::create(layout.getBases(), layout.getShape()));
    EXPECT_EQ(again, layout);
    EXPECT_EQ(hash_value(again), hash_value(layout));
  });
}

TEST(LinearLayoutApply, IsTheSumOfTheBasesOfTheSetBits) {
  forEachSmallLayout([](const LinearLayout &layout) {
    forEachIndex(layout, [&](HardwareIndex index) {
      Coordinates expected(layout.getRank(), 0);
      const int32_t numbers[] = {index.reg, index.lane, index.warp,
                                 index.block};
      for (InputDim dim : inputDims)
        for (unsigned bit : seq(layout.getNumBits(dim)))
          if (numbers[unsigned(dim)] >> bit & 1)
            for (unsigned i : seq(layout.getRank()))
              expected[i] ^= layout.getBasis(dim, bit)[i];
      EXPECT_EQ(layout.apply(index), expected);
      EXPECT_EQ(layout.unpack(layout.pack(index)), index);
    });
  });
}

//===----------------------------------------------------------------------===//
// Inverse and composition
//===----------------------------------------------------------------------===//

TEST(LinearLayoutInvert, FindsTheLowestHolder) {
  forEachSmallLayout([](const LinearLayout &layout) {
    std::map<uint64_t, uint64_t> lowest;
    forEachIndex(layout, [&](HardwareIndex index) {
      lowest.try_emplace(layout.packCoordinates(layout.apply(index)),
                         layout.pack(index));
    });
    bool surjective = int64_t(lowest.size()) == layout.getNumElements();
    bool injective = lowest.size() == uint64_t(1) << layout.getNumInputBits();
    EXPECT_EQ(layout.isSurjective(), surjective);
    EXPECT_EQ(layout.isInjective(), injective);
    EXPECT_EQ(layout.isBijective(), surjective && injective);
    uint64_t replicas = layout.pack(layout.getReplicaMask());
    forEachIndex(layout, [&](HardwareIndex index) {
      uint64_t packed = layout.pack(index);
      bool isLowest =
          lowest[layout.packCoordinates(layout.apply(index))] == packed;
      EXPECT_EQ((packed & replicas) == 0, isLowest);
    });

    llvm::Expected<InverseLayout> inverse = layout.invert();
    if (!surjective) {
      EXPECT_NE(errorOf(std::move(inverse)).find("no thread holds"),
                std::string::npos);
      return;
    }
    ASSERT_TRUE(bool(inverse));
    for (auto [element, holder] : lowest) {
      Coordinates coordinates = layout.unpackCoordinates(element);
      HardwareIndex index = inverse->apply(coordinates);
      EXPECT_EQ(layout.pack(index), holder);
      EXPECT_EQ(layout.apply(index), coordinates);
    }
  });
}

TEST(LinearLayoutInvert, NamesAnElementThatIsMissing) {
  LinearLayout layout =
      valueOf(LinearLayout::create({{{{0, 1}}, {{1, 0}}, {}, {}}}, {4, 2}));
  EXPECT_EQ(errorOf(layout.invert()),
            "no thread holds the tile's element [2, 0]");
}

TEST(LinearLayoutCompose, IsFunctionCompositionAndAssociative) {
  // All maps of two bits, on layouts of four elements.
  std::vector<BitMatrix> maps;
  for (uint64_t a : seq(4))
    for (uint64_t b : seq(4))
      maps.push_back(BitMatrix(2, {a, b}));
  forEachSmallLayout([&](const LinearLayout &layout) {
    if (layout.getNumOutputBits() != 2)
      return;
    for (const BitMatrix &f : maps) {
      LinearLayout once = valueOf(layout.compose(f, layout.getShape()));
      forEachIndex(layout, [&](HardwareIndex index) {
        EXPECT_EQ(once.packCoordinates(once.apply(index)),
                  f.apply(layout.packCoordinates(layout.apply(index))));
      });
      for (const BitMatrix &g : maps)
        EXPECT_EQ(valueOf(once.compose(g, layout.getShape())),
                  valueOf(layout.compose(g * f, layout.getShape())));
    }
  });
}

TEST(LinearLayoutCompose, RejectsMapsThatDoNotFit) {
  LinearLayout layout = valueOf(LinearLayout::identity(InputDim::Lane, {8}));
  EXPECT_EQ(errorOf(layout.compose(BitMatrix::identity(2), {4})),
            "the map takes 2 bits, expected the tile's 3");
  EXPECT_EQ(errorOf(layout.compose(BitMatrix::identity(3), {4})),
            "the map gives 3 bits, but the tile's shape has 2");
}

//===----------------------------------------------------------------------===//
// Algebra
//===----------------------------------------------------------------------===//

TEST(LinearLayoutProduct, TilesTheInnerLayout) {
  LinearLayout inner =
      valueOf(LinearLayout::create({{{{0, 1}}, {{1, 0}}, {}, {}}}, {2, 2}));
  LinearLayout outer = valueOf(
      LinearLayout::create({{{{1, 0}}, {{0, 1}}, {{0, 2}}, {}}}, {2, 4}));
  LinearLayout product = valueOf(inner.product(outer));
  EXPECT_EQ(product.getShape(), (llvm::SmallVector<int64_t>{4, 8}));
  forEachIndex(product, [&](HardwareIndex index) {
    HardwareIndex low{index.reg & 1, index.lane & 1, 0, 0};
    HardwareIndex high{index.reg >> 1, index.lane >> 1, index.warp, 0};
    Coordinates expected = inner.apply(low);
    for (unsigned dim : seq(2u))
      expected[dim] += inner.getDimSize(dim) * outer.apply(high)[dim];
    EXPECT_EQ(product.apply(index), expected);
  });
}

TEST(LinearLayoutProduct, AlongChosenDimensions) {
  LinearLayout inner =
      valueOf(LinearLayout::identity(InputDim::Register, {2, 2}));
  LinearLayout warps = valueOf(LinearLayout::identity(InputDim::Warp, {4}));
  EXPECT_EQ(toString(valueOf(inner.product(warps, {0u}))),
            "reg = [[0, 1], [1, 0]], lane = [], warp = [[2, 0], [4, 0]], block "
            "= [] : 8x2");
  EXPECT_EQ(errorOf(inner.product(warps)),
            "cannot put a layout of rank 1 along the dimensions of one of rank "
            "2");
  EXPECT_EQ(errorOf(inner.product(warps, {2u})),
            "cannot put a layout of rank 1 along the dimensions of one of rank "
            "2");
  // Two dimensions of the outer layout on the same target nest.
  EXPECT_EQ(toString(valueOf(warps.product(inner, {0u, 0u}))),
            "reg = [[8], [4]], lane = [], warp = [[1], [2]], block = [] : 16");
  LinearLayout many =
      valueOf(LinearLayout::identity(InputDim::Block, {int64_t(1) << 30}));
  EXPECT_EQ(errorOf(many.product(many)),
            "tile dimension 0 has size 1152921504606846976, expected a power "
            "of two up to 2^30");
}

TEST(LinearLayoutProduct, IsAssociative) {
  std::vector<LinearLayout> some;
  forEachSmallLayout([&, number = 0](const LinearLayout &layout) mutable {
    if (number++ % 97 == 0 && layout.getNumBits(InputDim::Lane) == 1)
      some.push_back(layout);
  });
  ASSERT_GT(some.size(), 8u);
  for (const LinearLayout &a : some)
    for (const LinearLayout &b : some)
      for (const LinearLayout &c : some)
        if (a.getRank() == b.getRank() && b.getRank() == c.getRank())
          EXPECT_EQ(valueOf(valueOf(a.product(b)).product(c)),
                    valueOf(a.product(valueOf(b.product(c)))));
}

TEST(LinearLayoutDropDim, ForgetsOneCoordinate) {
  forEachSmallLayout([](const LinearLayout &layout) {
    for (unsigned dim : seq(layout.getRank())) {
      LinearLayout slices = layout.dropDim(dim, /*mergeRegisters=*/false);
      forEachIndex(layout, [&](HardwareIndex index) {
        Coordinates expected = layout.apply(index);
        expected.erase(expected.begin() + dim);
        EXPECT_EQ(slices.apply(index), expected);
      });
      EXPECT_EQ(layout.dropDim(dim), slices.removeDuplicateRegisters());
    }
  });
}

TEST(LinearLayoutRemoveDuplicateRegisters, KeepsWhatEachThreadHolds) {
  forEachSmallLayout([](const LinearLayout &layout) {
    LinearLayout reduced = layout.removeDuplicateRegisters();
    std::map<std::vector<int32_t>, std::set<uint64_t>> before, after;
    auto collect = [](const LinearLayout &of, auto &elements) {
      forEachIndex(of, [&](HardwareIndex index) {
        elements[{index.lane, index.warp, index.block}].insert(
            of.packCoordinates(of.apply(index)));
      });
    };
    collect(layout, before);
    collect(reduced, after);
    EXPECT_EQ(before, after);
    for (const auto &[thread, elements] : after)
      EXPECT_EQ(int32_t(elements.size()), reduced.getNumRegisters());
  });
}

TEST(LinearLayoutInsertDim, IsUndoneByDropDim) {
  forEachSmallLayout([](const LinearLayout &layout) {
    for (unsigned dim : seq(layout.getRank() + 1)) {
      LinearLayout wide = layout.insertDim(dim);
      EXPECT_EQ(wide.getDimSize(dim), 1);
      EXPECT_EQ(wide.dropDim(dim, /*mergeRegisters=*/false), layout);
    }
  });
}

TEST(LinearLayoutBroadcastDim, GivesEachThreadAllCopies) {
  LinearLayout row =
      valueOf(LinearLayout::blocked({8}, {2}, {4}, {1}, {0})).insertDim(0);
  LinearLayout tile = valueOf(row.broadcastDim(0, 4));
  EXPECT_EQ(toString(tile), "reg = [[0, 1], [1, 0], [2, 0]], lane = [[0, 2], "
                            "[0, 4]], warp = [], block = [] : 4x8");
  EXPECT_EQ(tile.dropDim(0), row.dropDim(0));
  EXPECT_EQ(errorOf(row.broadcastDim(1, 16)),
            "tile dimension 1 has size 8, only a dimension of size 1 can be "
            "broadcast");
  EXPECT_EQ(errorOf(row.broadcastDim(0, 3)),
            "tile dimension 0 has size 3, expected a power of two up to 2^30");
}

TEST(LinearLayoutTranspose, PermutesCoordinates) {
  LinearLayout layout = valueOf(LinearLayout::blocked(
      {4, 8, 2}, {1, 2, 1}, {2, 2, 2}, {2, 1, 1}, {1, 2, 0}));
  LinearLayout transposed = layout.transpose({1, 2, 0});
  EXPECT_EQ(transposed.getShape(), (llvm::SmallVector<int64_t>{8, 2, 4}));
  forEachIndex(layout, [&](HardwareIndex index) {
    Coordinates from = layout.apply(index);
    EXPECT_EQ(transposed.apply(index),
              Coordinates({from[1], from[2], from[0]}));
  });
  EXPECT_EQ(transposed.transpose({2, 0, 1}), layout);
}

TEST(LinearLayoutReshape, KeepsTheRowMajorElement) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({8, 16}, {2, 2}, {4, 8}, {1, 1}, {1, 0}));
  LinearLayout flat = valueOf(layout.reshape({128}));
  forEachIndex(layout, [&](HardwareIndex index) {
    Coordinates at = layout.apply(index);
    EXPECT_EQ(flat.apply(index), Coordinates({at[0] * 16 + at[1]}));
  });
  EXPECT_EQ(valueOf(flat.reshape({8, 16})), layout);
  EXPECT_EQ(errorOf(layout.reshape({64})),
            "the map gives 7 bits, but the tile's shape has 6");
}

TEST(LinearLayoutResized, ShrinksToReplicasAndGrowsByRegisters) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({8, 16}, {1, 4}, {4, 4}, {2, 1}, {1, 0}));
  EXPECT_EQ(toString(valueOf(layout.resized({4, 8}))),
            "reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 0], [1, 0], [2, 0]], "
            "warp = [[0, 0]], block = [] : 4x8");
  EXPECT_EQ(toString(valueOf(layout.resized({4, 2}))),
            "reg = [[0, 1]], lane = [[0, 0], [0, 0], [1, 0], [2, 0]], warp = "
            "[[0, 0]], block = [] : 4x2");
  EXPECT_EQ(toString(valueOf(layout.resized({16, 32}))),
            "reg = [[0, 1], [0, 2], [0, 16], [8, 0]], lane = [[0, 4], [0, 8], "
            "[1, 0], [2, 0]], warp = [[4, 0]], block = [] : 16x32");
  EXPECT_EQ(
      valueOf(layout.resized({16, 32}, {0, 1})).getBasis(InputDim::Register, 2),
      Coordinates({8, 0}));
  EXPECT_EQ(valueOf(layout.resized({8, 16})), layout);
  EXPECT_EQ(errorOf(layout.resized({8})), "the new shape has rank 1, expected "
                                          "2");
  EXPECT_EQ(errorOf(layout.resized({8, 12})),
            "tile dimension 1 has size 12, expected a power of two up to 2^30");
  EXPECT_EQ(errorOf(layout.resized({8, 16}, {0})),
            "the order of the tile dimensions is not a permutation of 0 to 1");
  EXPECT_EQ(errorOf(layout.resized({8, int64_t(1) << 30})),
            "the layout has 28 bases for register, expected at most 20");
}

TEST(LinearLayoutResized, StaysSurjective) {
  forEachSmallLayout([](const LinearLayout &layout) {
    if (!layout.isSurjective())
      return;
    for (int64_t size : {1, 2, 4, 8}) {
      llvm::SmallVector<int64_t, 4> shape = layout.getShape();
      shape.back() = size;
      LinearLayout resized = valueOf(layout.resized(shape));
      EXPECT_TRUE(resized.isSurjective());
      EXPECT_EQ(resized.getNumThreads(), layout.getNumThreads());
    }
  });
}

TEST(LinearLayoutReplicated, AddsThreadsThatHoldTheSame) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({32}, {4}, {8}, {1}, {0}));
  EXPECT_EQ(toString(valueOf(layout.replicated(InputDim::Warp, 4))),
            "reg = [[1], [2]], lane = [[4], [8], [16]], warp = [[0], [0]], "
            "block = [] : 32");
  EXPECT_EQ(errorOf(layout.replicated(InputDim::Lane, 4)),
            "cannot replicate over 4 lanes, expected a power of two that is at "
            "least 8");
  EXPECT_EQ(errorOf(layout.replicated(InputDim::Warp, 64)),
            "the layout has 6 bases for warp, expected at most 5");
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The definition, over all hardware indices.
int32_t bruteForceContiguity(const LinearLayout &layout, unsigned dim) {
  for (int32_t width = layout.getNumRegisters(); width > 1; width /= 2) {
    bool holds = true;
    forEachIndex(layout, [&](HardwareIndex index) {
      HardwareIndex first = index;
      first.reg = index.reg / width * width;
      Coordinates expected = layout.apply(first);
      holds &= expected[dim] % width == 0;
      expected[dim] += index.reg - first.reg;
      holds &= layout.apply(index) == expected;
    });
    if (holds)
      return width;
  }
  return 1;
}

TEST(LinearLayoutContiguity, MatchesBruteForce) {
  forEachSmallLayout([](const LinearLayout &layout) {
    for (unsigned dim : seq(layout.getRank())) {
      EXPECT_EQ(layout.contiguity(dim), bruteForceContiguity(layout, dim))
          << toString(layout);
      // Over all orders of the registers.
      int32_t best = 0;
      LayoutBases bases = layout.getBases();
      llvm::sort(bases[0]);
      do
        best = std::max(
            best,
            bruteForceContiguity(
                valueOf(LinearLayout::create(bases, layout.getShape())), dim));
      while (std::next_permutation(bases[0].begin(), bases[0].end()));
      EXPECT_EQ(layout.withContiguousRegisters(dim).contiguity(dim), best)
          << toString(layout);
    }
  });
}

TEST(LinearLayoutVectorWidth, TakesTheTightestLimit) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({4, 64}, {1, 16}, {4, 4}, {1, 1}, {1, 0}));
  EXPECT_EQ(layout.vectorWidth(1, 8, 128, 0), 16);
  EXPECT_EQ(layout.vectorWidth(1, 16, 128, 0), 8);
  EXPECT_EQ(layout.vectorWidth(1, 32, 128, 0), 4);
  EXPECT_EQ(layout.vectorWidth(1, 64, 128, 0), 2);
  EXPECT_EQ(layout.vectorWidth(1, 128, 64, 0), 1);
  EXPECT_EQ(layout.vectorWidth(1, 8, 128, 12), 4);
  EXPECT_EQ(layout.vectorWidth(1, 8, 128, 7), 1);
  EXPECT_EQ(layout.vectorWidth(0, 32, 128, 0), 1);
}

TEST(LinearLayoutVectorWidth, MatchesBruteForce) {
  for (int64_t contiguous : {1, 2, 8, 32}) {
    LinearLayout layout =
        valueOf(LinearLayout::blocked({512}, {contiguous}, {4}, {1}, {0}));
    for (unsigned elementBits : {8, 16, 32, 64})
      for (unsigned maxBits : {32, 64, 128})
        for (int64_t alignment : seq_inclusive<int64_t>(0, 33)) {
          int64_t expected = 1;
          for (int64_t width = 2; width <= contiguous; width *= 2)
            if (width * elementBits <= maxBits && alignment % width == 0)
              expected = width;
          EXPECT_EQ(layout.vectorWidth(0, elementBits, maxBits, alignment),
                    expected);
        }
  }
}

TEST(LinearLayoutReductionBits, KnownAnswers) {
  // Rows over registers 0 to 7, all lanes and one warp bit; the other warp bit
  // and the last register bit are rows.
  LinearLayout layout =
      valueOf(LinearLayout::blocked({4, 512}, {1, 4}, {1, 32}, {2, 2}, {1, 0}));
  ReductionBits rows = layout.reductionBits(1);
  EXPECT_TRUE(rows.isComplete);
  EXPECT_EQ(rows.registerMasks, (llvm::SmallVector<int32_t>{1, 2, 4}));
  EXPECT_EQ(rows.laneMasks, (llvm::SmallVector<int32_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(rows.warpMasks, (llvm::SmallVector<int32_t>{1}));
  EXPECT_TRUE(rows.blockMasks.empty());
  ReductionBits columns = layout.reductionBits(0);
  EXPECT_TRUE(columns.isComplete);
  EXPECT_EQ(columns.registerMasks, (llvm::SmallVector<int32_t>{8}));
  EXPECT_TRUE(columns.laneMasks.empty());
  EXPECT_EQ(columns.warpMasks, (llvm::SmallVector<int32_t>{2}));
}

TEST(LinearLayoutReductionBits, ReplicasAreNotCountedTwice) {
  LinearLayout layout =
      valueOf(LinearLayout::blocked({16}, {4}, {32}, {4}, {0}));
  ReductionBits bits = layout.reductionBits(0);
  EXPECT_TRUE(bits.isComplete);
  EXPECT_EQ(bits.registerMasks, (llvm::SmallVector<int32_t>{1, 2}));
  EXPECT_EQ(bits.laneMasks, (llvm::SmallVector<int32_t>{1, 2}));
  EXPECT_TRUE(bits.warpMasks.empty());
}

/// Runs the reduction: each index combines with its partner over each mask, on
/// multisets of elements, and must end with each element of its slice once.
TEST(LinearLayoutReductionBits, MatchesBruteForce) {
  int numComplete = 0, numIncomplete = 0;
  forEachSmallLayout([&](const LinearLayout &layout) {
    for (unsigned dim : seq(layout.getRank())) {
      ReductionBits bits = layout.reductionBits(dim);
      if (!bits.isComplete) {
        ++numIncomplete;
        continue;
      }
      ++numComplete;
      std::map<uint64_t, std::multiset<uint64_t>> values;
      forEachIndex(layout, [&](HardwareIndex index) {
        values[layout.pack(index)] = {
            layout.packCoordinates(layout.apply(index))};
      });
      for (InputDim input : inputDims)
        for (int32_t mask : bits[input]) {
          auto before = values;
          uint64_t flip = uint64_t(mask) << layout.getInputShift(input);
          for (auto &[index, value] : values)
            value.insert(before[index ^ flip].begin(),
                         before[index ^ flip].end());
        }
      forEachIndex(layout, [&](HardwareIndex index) {
        std::multiset<uint64_t> slice;
        for (int32_t i : seq(int32_t(layout.getDimSize(dim)))) {
          Coordinates element = layout.apply(index);
          element[dim] = i;
          slice.insert(layout.packCoordinates(element));
        }
        EXPECT_EQ(values[layout.pack(index)], slice) << toString(layout);
      });
    }
  });
  EXPECT_GT(numComplete, 100);
  EXPECT_GT(numIncomplete, 100);
}

TEST(LinearLayoutReductionBits, SaysWhenBitsAreMixed) {
  // Element [1, 0] is in another thread and another register.
  LinearLayout layout =
      valueOf(LinearLayout::create({{{{1, 1}}, {{0, 1}}, {}, {}}}, {2, 2}));
  EXPECT_TRUE(layout.isBijective());
  EXPECT_FALSE(layout.reductionBits(0).isComplete);
  EXPECT_TRUE(layout.reductionBits(1).isComplete);
}

TEST(LinearLayoutScanBits, BlockedRows) {
  // Along a row: 4 neighbours in a thread, 32 lanes, 2 warps, then again.
  LinearLayout layout =
      valueOf(LinearLayout::blocked({4, 512}, {1, 4}, {1, 32}, {2, 2}, {1, 0}));
  ScanBits rows = layout.scanBits(1);
  EXPECT_TRUE(rows.isComplete);
  EXPECT_EQ(rows.runMasks, (llvm::SmallVector<int32_t>{1, 2}));
  EXPECT_EQ(rows.laneMasks, (llvm::SmallVector<int32_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(rows.warpMasks, (llvm::SmallVector<int32_t>{1}));
  EXPECT_EQ(rows.registerMasks, (llvm::SmallVector<int32_t>{4}));
  // Down a column: a warp bit, then a register bit.
  ScanBits columns = layout.scanBits(0);
  EXPECT_TRUE(columns.isComplete);
  EXPECT_TRUE(columns.runMasks.empty());
  EXPECT_EQ(columns.warpMasks, (llvm::SmallVector<int32_t>{2}));
  EXPECT_EQ(columns.registerMasks, (llvm::SmallVector<int32_t>{8}));
}

TEST(LinearLayoutScanBits, OtherOrders) {
  auto isComplete = [](LayoutBases bases) {
    return valueOf(LinearLayout::create(bases, {4})).scanBits(0).isComplete;
  };
  EXPECT_TRUE(isComplete({{{{1}}, {{2}}, {}, {}}}));
  EXPECT_TRUE(isComplete({{{{2}}, {{1}}, {}, {}}})); // registers far apart
  EXPECT_TRUE(isComplete({{{}, {{1}}, {{2}}, {}}}));
  EXPECT_TRUE(isComplete({{{{1}, {2}}, {{0}}, {}, {}}}));  // replicas
  EXPECT_FALSE(isComplete({{{}, {{2}}, {{1}}, {}}}));      // warps before lanes
  EXPECT_FALSE(isComplete({{{{1}}, {{3}}, {}, {}}}));      // a swizzle
  EXPECT_FALSE(isComplete({{{{1}, {2}}, {{1}}, {}, {}}})); // held twice
  EXPECT_FALSE(isComplete({{{{1}}, {}, {}, {}}}));         // not all held
}

/// Runs the scan: over each mask in turn, what the lower half of a group folds
/// to comes before each element of the upper half.
TEST(LinearLayoutScanBits, MatchesBruteForce) {
  int numComplete = 0, numIncomplete = 0;
  forEachSmallLayout([&](const LinearLayout &layout) {
    for (unsigned dim : seq(layout.getRank())) {
      ScanBits bits = layout.scanBits(dim);
      if (!bits.isComplete) {
        ++numIncomplete;
        continue;
      }
      ++numComplete;
      std::map<uint64_t, std::multiset<uint64_t>> prefixes;
      forEachIndex(layout, [&](HardwareIndex index) {
        prefixes[layout.pack(index)] = {
            layout.packCoordinates(layout.apply(index))};
      });
      auto totals = prefixes;
      auto exchange = [&](InputDim input, llvm::ArrayRef<int32_t> masks) {
        for (int32_t mask : masks) {
          auto before = totals;
          uint64_t flip = uint64_t(mask) << layout.getInputShift(input);
          for (auto &[index, total] : totals) {
            const std::multiset<uint64_t> &other = before[index ^ flip];
            total.insert(other.begin(), other.end());
            if (index & flip)
              prefixes[index].insert(other.begin(), other.end());
          }
        }
      };
      exchange(InputDim::Register, bits.runMasks);
      exchange(InputDim::Lane, bits.laneMasks);
      exchange(InputDim::Warp, bits.warpMasks);
      exchange(InputDim::Register, bits.registerMasks);
      forEachIndex(layout, [&](HardwareIndex index) {
        std::multiset<uint64_t> expected;
        Coordinates element = layout.apply(index);
        for (int32_t last = element[dim], i = 0; i <= last; ++i) {
          element[dim] = i;
          expected.insert(layout.packCoordinates(element));
        }
        EXPECT_EQ(prefixes[layout.pack(index)], expected);
      });
    }
  });
  EXPECT_GT(numComplete, 0);
  EXPECT_GT(numIncomplete, 0);
}

} // namespace
