// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/MatrixAccess.h"

#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Analysis/SharedMemory.h"

#include "gtest/gtest.h"

using namespace deplo;

namespace {

LinearLayout fragment(MmaOperand operand, unsigned elementBits,
                      llvm::ArrayRef<int64_t> shape) {
  return llvm::cantFail(mmaTile(operand, elementBits, shape, 1, 1));
}

/// What ldmatrix does, by the PTX ISA: lane 8 * m + r gives the address of row
/// r of matrix m, and a lane gets two neighbours of row lane / 4, or of column
/// lane / 4 if transposed.
void expectBrings(const LinearLayout &layout, unsigned contiguousDim,
                  unsigned elementBits, bool isTransposed) {
  std::optional<MatrixAccess> access =
      getMatrixAccess(layout, contiguousDim, elementBits);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->isTransposed, isTransposed);
  for (int32_t i = 0; i < access->getNumInstructions(); ++i)
    for (unsigned m = 0; m < access->matrices; ++m)
      for (int32_t lane = 0; lane < 32; ++lane)
        for (int32_t e = 0; e < access->elementsPerWord; ++e) {
          int32_t reg =
              (i * access->matrices + m) * access->elementsPerWord + e;
          int32_t along = lane % 4 * access->elementsPerWord + e;
          int32_t row = isTransposed ? along : lane / 4;
          int32_t column = isTransposed ? lane / 4 : along;
          Coordinates expected =
              access->rows.apply(i * access->rowElements, 8 * m + row);
          expected[contiguousDim] += column;
          EXPECT_EQ(layout.apply(reg, lane), expected)
              << "instruction " << i << ", matrix " << m << ", lane " << lane;
        }
}

TEST(MatrixAccess, FragmentsAlongTheSummedDimension) {
  expectBrings(fragment(MmaOperand::A, 16, {64, 16}), 1, 16, false);
  expectBrings(fragment(MmaOperand::B, 16, {16, 64}), 0, 16, false);
  expectBrings(fragment(MmaOperand::A, 32, {32, 8}), 1, 32, false);
  expectBrings(fragment(MmaOperand::B, 32, {8, 32}), 0, 32, false);
  expectBrings(fragment(MmaOperand::A, 8, {16, 32}), 1, 8, false);
}

TEST(MatrixAccess, FragmentsAcrossItAreTransposed) {
  expectBrings(fragment(MmaOperand::A, 16, {64, 16}), 0, 16, true);
  expectBrings(fragment(MmaOperand::B, 16, {16, 64}), 1, 16, true);
}

/// Only halves are transposed.
TEST(MatrixAccess, WordsAndBytesAreNotTransposed) {
  EXPECT_FALSE(getMatrixAccess(fragment(MmaOperand::A, 32, {16, 8}), 0, 32));
  EXPECT_FALSE(getMatrixAccess(fragment(MmaOperand::B, 8, {32, 8}), 1, 8));
}

TEST(MatrixAccess, FewMatricesInOneInstruction) {
  EXPECT_EQ(
      getMatrixAccess(fragment(MmaOperand::A, 16, {16, 16}), 1, 16)->matrices,
      4u);
  EXPECT_EQ(
      getMatrixAccess(fragment(MmaOperand::B, 16, {16, 8}), 0, 16)->matrices,
      2u);
}

TEST(MatrixAccess, RowsOfThreadsAreNoMatrices) {
  LinearLayout rows = llvm::cantFail(
      LinearLayout::blocked({8, 128}, {1, 4}, {1, 32}, {8, 1}, {1, 0}));
  EXPECT_FALSE(getMatrixAccess(rows, 1, 16));
}

/// Rows of 64, 128 and 256 bytes: a swizzle puts the eight rows of a matrix in
/// different banks.
TEST(MatrixAccess, SwizzledRowsAreConflictFree) {
  for (int64_t k : {32, 64, 128}) {
    LinearLayout layout = fragment(MmaOperand::A, 16, {64, k});
    std::optional<MatrixAccess> access = getMatrixAccess(layout, 1, 16);
    ASSERT_TRUE(access);
    SharedBuffer buffer;
    buffer.shape = {64, k};
    buffer.elementBytes = 2;
    SharedAccess rows{access->rows, access->rowElements};
    EXPECT_FALSE(
        llvm::cantFail(getBankConflicts(rows, buffer)).isConflictFree());
    buffer.swizzle =
        Swizzle::ofRows(std::min<int64_t>(2 * k, 128), /*rowBytes=*/2 * k);
    EXPECT_TRUE(
        llvm::cantFail(getBankConflicts(rows, buffer)).isConflictFree());
  }
}

} // namespace
