// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/FragmentLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace deplo;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

static Error checkElementBits(unsigned elementBits) {
  if (elementBits == 8 || elementBits == 16 || elementBits == 32)
    return Error::success();
  return createStringError("tensor-core operands of " + Twine(elementBits) +
                           "-bit elements are not supported, expected 8, 16 "
                           "or 32 bits");
}

/// A 16x8 accumulator: c0 and c1 are neighbours in a row, c2 and c3 are 8 rows
/// below; four lanes hold a row.
static Expected<LinearLayout> accumulatorFragment() {
  LayoutBases bases;
  bases[0] = {{0, 1}, {8, 0}};
  bases[1] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  return LinearLayout::create(bases, {16, 8});
}

/// Operands hold the elements of one 32-bit register along K, and four lanes
/// side by side. That covers 16 bytes of K; the next register of B, or the
/// third of A, has the other 16. A has rows 8 to 15 in its second register.
static Expected<LinearLayout> operandFragment(MmaOperand operand,
                                              unsigned elementBits) {
  if (Error error = checkElementBits(elementBits))
    return std::move(error);
  int32_t k = getMmaK(elementBits);
  bool isA = operand == MmaOperand::A;
  auto alongK = [&](int32_t distance) {
    return isA ? Coordinates{0, distance} : Coordinates{distance, 0};
  };
  auto across = [&](int32_t distance) {
    return isA ? Coordinates{distance, 0} : Coordinates{0, distance};
  };
  LayoutBases bases;
  for (int32_t distance = 1; distance < k / 8; distance *= 2)
    bases[0].push_back(alongK(distance));
  if (isA)
    bases[0].push_back(across(8));
  bases[0].push_back(alongK(k / 2));
  bases[1] = {alongK(k / 8), alongK(k / 4), across(1), across(2), across(4)};
  return isA ? LinearLayout::create(bases, {16, k})
             : LinearLayout::create(bases, {k, 8});
}

Expected<LinearLayout> deplo::mmaFragment(MmaOperand operand,
                                          unsigned elementBits) {
  if (operand == MmaOperand::Accumulator)
    return accumulatorFragment();
  return operandFragment(operand, elementBits);
}

Expected<LinearLayout> deplo::wgmmaFragmentA(unsigned elementBits) {
  if (Error error = checkElementBits(elementBits))
    return std::move(error);
  return wgmmaTileA(elementBits, {64, getMmaK(elementBits)}, 1);
}

Expected<LinearLayout> deplo::wgmmaAccumulator(int64_t n) {
  if (n < 8 || n > 256 || !llvm::isPowerOf2_64(n))
    return createStringError("a wgmma accumulator of N = " + Twine(n) +
                             " has no layout, expected 8, 16, 32, 64, 128 or "
                             "256");
  return wgmmaAccumulatorTile({64, n}, 1);
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// Warps `warpsPerDim`, first dimension first, each with one part of the tile
/// over which it repeats `fragment`.
static Expected<LinearLayout> repeatFragment(const LinearLayout &fragment,
                                             ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> warpsPerDim) {
  if (shape.size() != fragment.getRank())
    return createStringError("a tensor-core tile has rank 2, got rank " +
                             Twine(shape.size()));
  if (Expected<LinearLayout> whole = LinearLayout::create({}, shape); !whole)
    return whole; // The tile is no power of two.
  SmallVector<int64_t, 2> part;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t least = fragment.getDimSize(dim) * warpsPerDim[dim];
    if (shape[dim] < least)
      return createStringError("tile dimension " + Twine(dim) + " has size " +
                               Twine(shape[dim]) + ", expected at least " +
                               Twine(least) + " (" + Twine(warpsPerDim[dim]) +
                               " tensor-core fragments of " +
                               Twine(fragment.getDimSize(dim)) + ")");
    part.push_back(shape[dim] / warpsPerDim[dim]);
  }
  Expected<LinearLayout> warpTile = fragment.resized(part);
  if (!warpTile)
    return warpTile;
  Expected<LinearLayout> warps =
      LinearLayout::blocked(warpsPerDim, {1, 1}, {1, 1}, warpsPerDim, {0, 1});
  if (!warps)
    return warps;
  return warpTile->product(*warps);
}

static Error checkCount(llvm::StringRef what, int64_t count) {
  if (count > 0 && count <= 32 && llvm::isPowerOf2_64(count))
    return Error::success();
  return createStringError(what + " is " + Twine(count) +
                           ", expected a power of two from 1 to 32");
}

Expected<LinearLayout> deplo::mmaTile(MmaOperand operand, unsigned elementBits,
                                      ArrayRef<int64_t> shape, int64_t warpsM,
                                      int64_t warpsN) {
  if (Error error = checkCount("the number of warps along M", warpsM))
    return std::move(error);
  if (Error error = checkCount("the number of warps along N", warpsN))
    return std::move(error);
  Expected<LinearLayout> fragment = mmaFragment(operand, elementBits);
  if (!fragment)
    return fragment;
  switch (operand) {
  case MmaOperand::Accumulator:
    return repeatFragment(*fragment, shape, {warpsM, warpsN});
  case MmaOperand::A: {
    Expected<LinearLayout> tile = repeatFragment(*fragment, shape, {warpsM, 1});
    return tile ? tile->replicated(InputDim::Warp, warpsM * warpsN)
                : std::move(tile);
  }
  case MmaOperand::B: {
    // The warp's M bits are the low ones, and replicate.
    Expected<LinearLayout> replicas =
        fragment->replicated(InputDim::Warp, warpsM);
    if (!replicas)
      return replicas;
    return repeatFragment(*replicas, shape, {1, warpsN});
  }
  }
  llvm_unreachable("unknown operand");
}

/// Warp i of a warpgroup has rows 16 * i to 16 * i + 15 of each 64.
static Expected<LinearLayout> wgmmaTile(Expected<LinearLayout> warpFragment,
                                        ArrayRef<int64_t> shape,
                                        int64_t warpgroupsM,
                                        int64_t warpgroupsN) {
  if (!warpFragment)
    return warpFragment;
  for (int64_t warpgroups : {warpgroupsM, warpgroupsN})
    if (Error error = checkCount("the number of warpgroups", warpgroups))
      return std::move(error);
  Expected<LinearLayout> fragment =
      repeatFragment(*warpFragment, {64, warpFragment->getDimSize(1)}, {4, 1});
  if (!fragment)
    return fragment;
  return repeatFragment(*fragment, shape, {warpgroupsM, warpgroupsN});
}

Expected<LinearLayout> deplo::wgmmaAccumulatorTile(ArrayRef<int64_t> shape,
                                                   int64_t warpgroupsM,
                                                   int64_t warpgroupsN) {
  return wgmmaTile(accumulatorFragment(), shape, warpgroupsM, warpgroupsN);
}

Expected<LinearLayout> deplo::wgmmaTileA(unsigned elementBits,
                                         ArrayRef<int64_t> shape,
                                         int64_t warpgroups) {
  return wgmmaTile(operandFragment(MmaOperand::A, elementBits), shape,
                   warpgroups, /*warpgroupsN=*/1);
}
