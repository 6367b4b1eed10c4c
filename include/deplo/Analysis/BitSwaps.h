// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of layouts that exchange bits of the register number with bits of
// the lane number: each is one butterfly shuffle of half of the registers.

#ifndef DEPLO_ANALYSIS_BITSWAPS_H
#define DEPLO_ANALYSIS_BITSWAPS_H

#include "deplo/Analysis/LinearLayout.h"

#include <optional>

namespace deplo {

struct BitSwaps {
  /// Bits of registers and lanes that trade places, one after the other.
  struct Swap {
    unsigned registerBit, laneBit;
  };
  llvm::SmallVector<Swap> swaps;
  /// After the swaps: the register that each register of the result is.
  llvm::SmallVector<int32_t> registers;
};

/// The swaps that bring a tile from one layout to another; none if swaps don't.
std::optional<BitSwaps> getBitSwaps(const LinearLayout &from,
                                    const LinearLayout &to);

/// `layout` with lanes that hold neighbours of what a thread holds along `dim`
/// giving these to it, for others that it holds, until it has `width` in a row
/// or no more can be done.
LinearLayout getWidened(const LinearLayout &layout, unsigned dim,
                        int32_t width);

} // namespace deplo

#endif // DEPLO_ANALYSIS_BITSWAPS_H
