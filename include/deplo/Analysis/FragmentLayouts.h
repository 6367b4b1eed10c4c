// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register fragments of tensor-core instructions as layouts.
//
// Register i of a layout is element i of the fragment in the manual's order
// (a0, a1, ...), so elements that share a 32-bit register are neighbours. The
// formulas are those of the PTX ISA, sections "Matrix Fragments for
// mma.m16n8k16 with floating point type", "... for mma.m16n8k8" (.tf32), "...
// for mma.m16n8k32" (8-bit types) and "Register Fragments" of wgmma.mma_async.

#ifndef DEPLO_ANALYSIS_FRAGMENTLAYOUTS_H
#define DEPLO_ANALYSIS_FRAGMENTLAYOUTS_H

#include "deplo/Analysis/LinearLayout.h"

namespace deplo {

enum class MmaOperand { A, B, Accumulator };

//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

/// The K of mma.sync m16n8kK and wgmma m64nNkK: 32 bytes of elements.
inline constexpr int64_t getMmaK(unsigned elementBits) {
  return 256 / elementBits;
}

/// A fragment of mma.sync, over the 32 lanes of a warp: A is 16xK, B is Kx8,
/// and the accumulator (C and D) is 16x8. `elementBits` is the width of the
/// elements of A and B: 32 for m16n8k8 .tf32, 16 for m16n8k16 .f16 and .bf16,
/// 8 for m16n8k32 .s8, .u8, .e4m3 and .e5m2.
llvm::Expected<LinearLayout> mmaFragment(MmaOperand operand,
                                         unsigned elementBits);

/// The 64xK operand A of wgmma.mma_async in registers, over the 4 warps of a
/// warpgroup.
llvm::Expected<LinearLayout> wgmmaFragmentA(unsigned elementBits);

/// The 64xN accumulator D of wgmma.mma_async, over the 4 warps of a warpgroup.
/// N must be 8, 16, 32, 64, 128 or 256. The instruction's other multiples of 8
/// are no linear layouts, but since each block of 8 columns has its own 4
/// registers in a row, they are several layouts side by side: N = 96 is N = 64
/// in registers 0 to 31, then N = 32 in registers 32 to 47.
llvm::Expected<LinearLayout> wgmmaAccumulator(int64_t n);

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// The layout of a whole operand tile (MxK, KxN or MxN) for mma.sync over
/// `warpsM` x `warpsN` warps, M first. Each warp owns one part of the M and N
/// dimensions and repeats the instruction over it, along the last dimension
/// first. Warps that need the same part of A or B hold replicas of it.
llvm::Expected<LinearLayout> mmaTile(MmaOperand operand, unsigned elementBits,
                                     llvm::ArrayRef<int64_t> shape,
                                     int64_t warpsM, int64_t warpsN);

/// The layout of an MxN accumulator tile for wgmma, over `warpgroupsM` x
/// `warpgroupsN` warpgroups, M first. Each one repeats the instruction over its
/// rows; the N of the instruction may be any that divides its columns.
llvm::Expected<LinearLayout> wgmmaAccumulatorTile(llvm::ArrayRef<int64_t> shape,
                                                  int64_t warpgroupsM,
                                                  int64_t warpgroupsN = 1);

/// The layout of an MxK tile of operand A in registers, like
/// `wgmmaAccumulatorTile`.
llvm::Expected<LinearLayout> wgmmaTileA(unsigned elementBits,
                                        llvm::ArrayRef<int64_t> shape,
                                        int64_t warpgroups);

} // namespace deplo

#endif // DEPLO_ANALYSIS_FRAGMENTLAYOUTS_H
