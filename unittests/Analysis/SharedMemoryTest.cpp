// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/SharedMemory.h"

#include "LayoutTesting.h"

#include "llvm/ADT/Sequence.h"

#include <random>

using namespace deplo;
using namespace deplo::testing;
using llvm::seq;

namespace {

LinearLayout makeBlocked(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> values,
                         llvm::ArrayRef<int64_t> lanes,
                         llvm::ArrayRef<int64_t> warps,
                         llvm::ArrayRef<int64_t> order) {
  return valueOf(LinearLayout::blocked(shape, values, lanes, warps, order));
}

SharedBuffer makeBuffer(llvm::ArrayRef<int64_t> shape, unsigned elementBytes,
                        int64_t pad = 0, Swizzle swizzle = Swizzle::none()) {
  SharedBuffer buffer;
  buffer.shape.assign(shape.begin(), shape.end());
  buffer.elementBytes = elementBytes;
  buffer.pad = pad;
  buffer.swizzle = swizzle;
  return buffer;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

TEST(SharedBuffer, StridesAndSizes) {
  SharedBuffer buffer = makeBuffer({4, 8, 16}, 2, 8);
  EXPECT_EQ(buffer.getStrides(), (llvm::SmallVector<int64_t, 4>{192, 24, 1}));
  EXPECT_EQ(buffer.getSizeInBytes(), 4 * 8 * 24 * 2);
  EXPECT_EQ(buffer.getByteOffset({3, 2, 1}), (3 * 192 + 2 * 24 + 1) * 2);
  buffer.order = {1, 2, 0};
  EXPECT_EQ(buffer.getFastestDim(), 1u);
  EXPECT_EQ(buffer.getStrides(), (llvm::SmallVector<int64_t, 4>{256, 1, 16}));
  EXPECT_EQ(buffer.getSizeInBytes(), 4 * 256 * 2);
  EXPECT_EQ(makeBuffer({100}, 4).getSizeInBytes(), 400);
  EXPECT_EQ(makeBuffer({3, 20}, 4, 0, *Swizzle::ofBytes(128)).getSizeInBytes(),
            256);
}

/// The manual's tables of the swizzling modes: row i of a mode holds its
/// 16-byte chunks in the order of chunk XOR a number that grows with the row.
// Pieces of 64 columns of bf16, each with all rows.
TEST(SharedBuffer, RowsInPieces) {
  SharedBuffer buffer;
  buffer.shape = {16, 128};
  buffer.elementBytes = 2;
  buffer.splitBytes = 128;
  EXPECT_EQ(buffer.getByteOffset({0, 63}), 126);
  EXPECT_EQ(buffer.getByteOffset({1, 0}), 128);
  EXPECT_EQ(buffer.getByteOffset({0, 64}), 16 * 128);
  EXPECT_EQ(buffer.getByteOffset({3, 65}), 16 * 128 + 3 * 128 + 2);
  EXPECT_EQ(buffer.getSizeInBytes(), 16 * 128 * 2);
  buffer.swizzle = *Swizzle::ofBytes(128);
  EXPECT_EQ(buffer.getByteOffset({3, 65}), 16 * 128 + 3 * 128 + (2 ^ 48));
}

TEST(Swizzle, MatchesTheTablesOfTheModes) {
  struct Mode {
    int64_t bytes, rowsPerStep, numSteps;
  };
  for (Mode mode : {Mode{32, 4, 2}, Mode{64, 2, 4}, Mode{128, 1, 8}}) {
    Swizzle swizzle = *Swizzle::ofBytes(mode.bytes);
    int64_t rows = mode.rowsPerStep * mode.numSteps;
    EXPECT_EQ(swizzle.getPeriod(), rows * mode.bytes);
    for (int64_t row : seq(4 * rows))
      for (int64_t chunk : seq(mode.bytes / 16))
        for (int64_t byte : {0, 5, 15}) {
          int64_t step = row / mode.rowsPerStep % mode.numSteps;
          EXPECT_EQ(swizzle.apply(row * mode.bytes + chunk * 16 + byte),
                    row * mode.bytes + (chunk ^ step) * 16 + byte);
        }
  }
  EXPECT_EQ(Swizzle::ofBytes(0), Swizzle::none());
  EXPECT_EQ(Swizzle::ofBytes(48), std::nullopt);
  EXPECT_EQ(Swizzle::none().getPeriod(), 1);
  EXPECT_EQ(Swizzle::none().apply(12345), 12345);
}

TEST(Swizzle, PermutesEachPeriod) {
  for (unsigned bits : seq(4u))
    for (unsigned base : {2u, 4u})
      for (unsigned shift : {bits, bits + 2}) {
        Swizzle swizzle{bits, base, shift};
        std::set<int64_t> seen;
        for (int64_t offset : seq(2 * swizzle.getPeriod()))
          seen.insert(swizzle.apply(offset));
        EXPECT_EQ(int64_t(seen.size()), 2 * swizzle.getPeriod());
        EXPECT_EQ(*seen.rbegin(), 2 * swizzle.getPeriod() - 1);
      }
}

//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

std::vector<int64_t> strided(int64_t stride, int64_t numLanes = 32) {
  std::vector<int64_t> offsets;
  for (int64_t lane : seq(numLanes))
    offsets.push_back(lane * stride);
  return offsets;
}

void expectCost(llvm::ArrayRef<int64_t> offsets, unsigned accessBytes,
                int64_t wavefronts, int64_t phases, int64_t degree) {
  BankConflicts conflicts = getBankConflicts(offsets, accessBytes);
  EXPECT_EQ(conflicts.wavefronts, wavefronts);
  EXPECT_EQ(conflicts.phases, phases);
  EXPECT_EQ(conflicts.degree, degree);
}

TEST(BankConflicts, KnownAnswers) {
  expectCost(strided(4), 4, 1, 1, 1);
  expectCost(strided(8), 4, 2, 1, 2);        // stride of 2 words
  expectCost(strided(4 * 32), 4, 32, 1, 32); // a column of 32 floats
  expectCost(strided(4 * 33), 4, 1, 1, 1);   // padded by one
  expectCost(strided(0), 4, 1, 1, 1);        // broadcast
  expectCost(strided(1), 1, 1, 1, 1);        // four lanes share a word
  expectCost(strided(2), 2, 1, 1, 1);
  expectCost(strided(8), 8, 2, 2, 1);   // 16 lanes fill the banks
  expectCost(strided(16), 16, 4, 4, 1); // 8 lanes fill the banks
  expectCost(strided(16), 8, 4, 2, 2);
  expectCost(strided(32), 16, 8, 4, 2);
  expectCost(strided(128), 16, 32, 4, 8);
  expectCost(strided(0), 16, 4, 4, 1);
  expectCost(strided(128, 8), 16, 8, 1, 8); // ldmatrix of one 8x8 matrix
  expectCost(strided(144, 8), 16, 1, 1, 1); // rows padded by 16 bytes
  expectCost(std::vector<int64_t>(32, -1), 4, 0, 0, 0);
  std::vector<int64_t> half = strided(256);
  std::fill(half.begin() + 4, half.end(), -1);
  expectCost(half, 4, 4, 1, 4);
}

/// Counts by serving: each wavefront takes one word out of each bank.
int64_t bruteForceWavefronts(llvm::ArrayRef<int64_t> offsets, unsigned bytes) {
  int64_t wavefronts = 0;
  unsigned lanes = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  for (unsigned first = 0; first < offsets.size(); first += lanes) {
    std::set<int64_t> pending;
    for (unsigned i = first;
         i < std::min<size_t>(first + lanes, offsets.size()); ++i)
      for (unsigned byte = 0; offsets[i] >= 0 && byte < bytes; ++byte)
        pending.insert((offsets[i] + byte) / 4);
    while (!pending.empty()) {
      ++wavefronts;
      std::set<int64_t> busy;
      for (auto it = pending.begin(); it != pending.end();)
        it = busy.insert(*it % 32).second ? pending.erase(it) : std::next(it);
    }
  }
  return wavefronts;
}

TEST(BankConflicts, MatchesBruteForce) {
  std::mt19937 random(1);
  for (unsigned bytes : {1u, 2u, 4u, 8u, 16u})
    for (int range : {16, 64, 256, 4096})
      for (int repeat = 0; repeat < 100; ++repeat) {
        std::vector<int64_t> offsets;
        for (int lane = 0; lane < 32; ++lane)
          offsets.push_back(
              random() % 8 == 0 ? -1 : int64_t(random() % range) * bytes);
        EXPECT_EQ(getBankConflicts(offsets, bytes).wavefronts,
                  bruteForceWavefronts(offsets, bytes));
      }
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

TEST(SharedAccess, ColumnOfFloats) {
  // Lane i reads row i, one column for each register.
  LinearLayout columns = makeBlocked({32, 32}, {1, 1}, {32, 1}, {1, 1}, {1, 0});
  SharedAccess access{columns, 1};
  BankConflicts plain =
      valueOf(getBankConflicts(access, makeBuffer({32, 32}, 4)));
  EXPECT_EQ(plain.degree, 32);
  EXPECT_EQ(plain.wavefronts, 32 * 32);
  EXPECT_EQ(plain.phases, 32);
  BankConflicts padded =
      valueOf(getBankConflicts(access, makeBuffer({32, 32}, 4, 1)));
  EXPECT_TRUE(padded.isConflictFree());
  EXPECT_EQ(padded.wavefronts, 32);

  Padding found =
      valueOf(findPadding(access, makeBuffer({32, 32}, 4), 32 * 33 * 4));
  EXPECT_EQ(found.elements, 1);
  EXPECT_TRUE(found.conflicts.isConflictFree());
  Padding none =
      valueOf(findPadding(access, makeBuffer({32, 32}, 4), 32 * 33 * 4 - 1));
  EXPECT_EQ(none.elements, 0);
  EXPECT_EQ(none.conflicts.degree, 32);
}

/// The rows of 8x8 matrices of 16-bit elements, as ldmatrix.x4 reads a 16x16
/// part of a tile: lane i gives the address of row i % 16, half i / 16.
std::vector<int64_t> ldmatrixRows(const SharedBuffer &buffer, int32_t row,
                                  int32_t column) {
  std::vector<int64_t> offsets;
  for (int32_t lane : seq(32))
    offsets.push_back(
        buffer.getByteOffset({row + lane % 16, column + lane / 16 * 8}));
  return offsets;
}

TEST(SharedAccess, LdmatrixOfSwizzledRows) {
  for (int64_t bytes : {32, 64, 128}) {
    int64_t columns = bytes / 2;
    SharedBuffer plain = makeBuffer({64, columns}, 2);
    SharedBuffer swizzled =
        makeBuffer({64, columns}, 2, 0, *Swizzle::ofBytes(bytes));
    for (int32_t row = 0; row < 64; row += 16)
      for (int32_t column = 0; column < columns; column += 16) {
        EXPECT_EQ(getBankConflicts(ldmatrixRows(plain, row, column), 16).degree,
                  bytes / 16);
        BankConflicts conflicts =
            getBankConflicts(ldmatrixRows(swizzled, row, column), 16);
        EXPECT_TRUE(conflicts.isConflictFree());
        EXPECT_EQ(conflicts.wavefronts, 4);
      }
  }
}

TEST(SharedAccess, SwizzleServesVectorWritesToo) {
  LinearLayout rows = makeBlocked({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  SharedBuffer swizzled = makeBuffer({64, 64}, 2, 0, *Swizzle::ofBytes(128));
  EXPECT_TRUE(valueOf(getBankConflicts(SharedAccess{rows, 8}, swizzled))
                  .isConflictFree());
}

/// Against addresses written out by hand.
TEST(SharedAccess, MatchesBruteForce) {
  for (int64_t pad : {0, 4, 8})
    for (int64_t lanes : {1, 4, 32})
      for (int32_t width : {1, 2, 4})
        for (int64_t swizzle : {0, 128}) {
          LinearLayout layout = makeBlocked(
              {64, 32}, {1, 4}, {32 / lanes, lanes}, {2, 1}, {1, 0});
          SharedBuffer buffer =
              makeBuffer({64, 32}, 4, pad, *Swizzle::ofBytes(swizzle));
          int64_t expected = 0;
          for (int32_t warp : seq(2))
            for (int32_t reg = 0; reg < layout.getNumRegisters();
                 reg += width) {
              std::vector<int64_t> offsets;
              for (int32_t lane : seq(32)) {
                Coordinates at = layout.apply(reg, lane, warp);
                int64_t offset = (at[0] * (32 + pad) + at[1]) * 4;
                if (swizzle)
                  offset ^= (offset / 128 % 8) * 16;
                offsets.push_back(offset);
              }
              expected += bruteForceWavefronts(offsets, width * 4);
            }
          EXPECT_EQ(
              valueOf(getBankConflicts(SharedAccess{layout, width}, buffer))
                  .wavefronts,
              expected);
        }
}

TEST(FindPadding, ServesAllAccessesAndKeepsVectorsAligned) {
  // Rows are written in vectors of four, columns of vectors are read.
  SharedAccess write{makeBlocked({64, 32}, {1, 4}, {4, 8}, {4, 1}, {1, 0}), 4};
  SharedAccess read{makeBlocked({64, 32}, {1, 4}, {32, 1}, {2, 2}, {1, 0}), 4};
  SharedBuffer buffer = makeBuffer({64, 32}, 4);
  EXPECT_EQ(valueOf(getBankConflicts(read, buffer)).degree, 8);
  Padding padding = valueOf(findPadding({write, read}, buffer, 1 << 16));
  EXPECT_EQ(padding.elements, 4);
  EXPECT_TRUE(padding.conflicts.isConflictFree());
}

/// No smaller padding is as good, and none at all is better.
TEST(FindPadding, IsTheSmallestOfTheBest) {
  for (int64_t columns : {16, 32, 64})
    for (int32_t width : {1, 2, 4})
      for (unsigned bytes : {2u, 4u}) {
        SharedAccess access{
            makeBlocked({64, columns}, {1, 4}, {16, 2}, {1, 1}, {1, 0}), width};
        SharedBuffer buffer = makeBuffer({64, columns}, bytes);
        Padding padding = valueOf(findPadding(access, buffer, 1 << 20));
        EXPECT_EQ(padding.elements % width, 0);
        for (int64_t pad = 0; pad < 128; pad += width) {
          buffer.pad = pad;
          int64_t wavefronts =
              valueOf(getBankConflicts(access, buffer)).wavefronts;
          EXPECT_GE(wavefronts, padding.conflicts.wavefronts);
          if (pad < padding.elements)
            EXPECT_GT(wavefronts, padding.conflicts.wavefronts);
        }
      }
}

TEST(FindPadding, RejectsBuffersOverBudget) {
  SharedAccess access{makeBlocked({32, 32}, {1, 1}, {32, 1}, {1, 1}, {1, 0}),
                      1};
  EXPECT_EQ(errorOf(findPadding(access, makeBuffer({32, 32}, 4), 4095)),
            "the shared buffer has 4096 bytes, but the budget is 4095");
}

TEST(SharedAccess, RejectsWhatIsNotOneInstruction) {
  LinearLayout layout = makeBlocked({8, 32}, {1, 4}, {4, 8}, {2, 1}, {1, 0});
  auto error = [&](int32_t width, SharedBuffer buffer) {
    return errorOf(getBankConflicts(SharedAccess{layout, width}, buffer));
  };
  EXPECT_EQ(error(1, makeBuffer({8, 16}, 4)),
            "the shape of the tile differs from that of the shared buffer");
  EXPECT_EQ(error(8, makeBuffer({8, 32}, 4)),
            "an access of 8 elements of 4 bytes is not one instruction, "
            "expected 1, 2, 4, 8 or 16 bytes");
  EXPECT_EQ(error(0, makeBuffer({8, 32}, 4)),
            "an access of 0 elements of 4 bytes is not one instruction, "
            "expected 1, 2, 4, 8 or 16 bytes");
  EXPECT_EQ(error(8, makeBuffer({8, 32}, 2)),
            "threads hold 4 consecutive elements along the fastest dimension "
            "of the shared buffer, but an access moves 8");
  EXPECT_EQ(error(4, makeBuffer({8, 32}, 4, 2)),
            "the stride of dimension 0 in the shared buffer is 34 elements, "
            "which misaligns accesses of 4");
  EXPECT_EQ(error(4, makeBuffer({8, 32}, 4, 0, Swizzle{3, 3, 3})),
            "an access of 16 bytes crosses the chunks that the swizzle moves");
  SharedBuffer transposed = makeBuffer({8, 32}, 4);
  transposed.order = {0, 1};
  EXPECT_EQ(error(2, transposed),
            "threads hold 1 consecutive elements along the fastest dimension "
            "of the shared buffer, but an access moves 2");
  EXPECT_EQ(errorOf(getBankConflicts(SharedAccess{}, SharedBuffer{})),
            "the shared buffer has no dimensions");
}

} // namespace
