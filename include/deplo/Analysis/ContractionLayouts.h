// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of the tiles of a contraction that threads compute as outer products
// in registers.
//
// Dimensions of an operand are named by `dims`: entry t is the dimension of the
// accumulator that the operand's dimension t is, or the accumulator's rank for
// the dimension that is summed over.

#ifndef DEPLO_ANALYSIS_CONTRACTIONLAYOUTS_H
#define DEPLO_ANALYSIS_CONTRACTIONLAYOUTS_H

#include "deplo/Analysis/LinearLayout.h"

namespace deplo {

/// A block's part of a contraction and how it is shared out.
struct RegisterTiling {
  /// Of the accumulator; dimensions other than rows and columns are batches.
  llvm::ArrayRef<int64_t> shape;
  unsigned rowDim, columnDim;
  /// Elements of one thread.
  int64_t rows, columns;
  int64_t warps;
};

/// The layout of an accumulator in which each thread owns `rows` x `columns`
/// neighbours. The lanes of a warp form a rectangle, longer along the columns;
/// so do the warps along the rows.
llvm::Expected<LinearLayout> getAccumulatorLayout(const RegisterTiling &tiling);

/// The layout of an operand, `contracted` elements of the summed dimension at a
/// time: a thread holds what its elements of the accumulator take, neighbours
/// along the operand's last dimension in successive registers.
llvm::Expected<LinearLayout> getOperandLayout(const LinearLayout &accumulator,
                                              llvm::ArrayRef<int64_t> dims,
                                              int64_t contracted);

/// Whether each thread holds the elements of an operand that its elements of
/// the accumulator take.
bool holdsOperand(const LinearLayout &operand, const LinearLayout &accumulator,
                  llvm::ArrayRef<int64_t> dims);

/// A permutation of the bits of a coordinate that leaves a thread strips of
/// neighbours instead of all of them in a row: bit i moves to `bits[i]`.
struct StripPermutation {
  llvm::SmallVector<unsigned> bits;
};

/// Threads hold the elements of `layout` along `dim` in strips of `strip`,
/// those of one strip in all lanes before the next strip.
StripPermutation getStrips(const LinearLayout &layout, unsigned dim,
                           int64_t strip);

/// `layout` with the coordinates along `dim` permuted.
LinearLayout permute(const LinearLayout &layout, unsigned dim,
                     const StripPermutation &permutation);

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

/// A block's part of a contraction by mma.sync. Dimensions other than rows and
/// columns have size one.
struct MmaTiling {
  /// Of the accumulator, and the warps along each dimension of it.
  llvm::ArrayRef<int64_t> shape, warps;
  /// The dimensions that only one operand has. The first of them in the
  /// accumulator is the instruction's M: neighbours along the other one share a
  /// register.
  unsigned rowDim, columnDim;
  /// Of the operands.
  unsigned elementBits;
};

/// The layout of the accumulator.
llvm::Expected<LinearLayout> getMmaAccumulator(const MmaTiling &tiling);

/// The dimensions of the accumulator that are M and N of wgmma: M is the one
/// with whole warpgroups, the first of two that have.
std::pair<unsigned, unsigned> getWgmmaDims(llvm::ArrayRef<int64_t> warps,
                                           unsigned rowDim, unsigned columnDim);

/// The layout of the accumulator by wgmma, of which four warps along M are a
/// warpgroup.
llvm::Expected<LinearLayout> getWgmmaAccumulator(const MmaTiling &tiling);

/// The layout of one of `parts` equal parts along `dim` of a tile whose parts
/// are in other registers of the same threads.
llvm::Expected<LinearLayout> getScatteredLayout(const LinearLayout &layout,
                                                unsigned dim, int64_t parts);

/// The layout of an operand with `contracted` elements of the summed dimension.
llvm::Expected<LinearLayout> getMmaOperand(const MmaTiling &tiling,
                                           llvm::ArrayRef<int64_t> dims,
                                           int64_t contracted);

} // namespace deplo

#endif // DEPLO_ANALYSIS_CONTRACTIONLAYOUTS_H
