// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread of a block touches which elements of an array, and whether two
// accesses bring threads together. Like layouts, accesses are linear over
// GF(2).

#ifndef DEPLO_ANALYSIS_THREADACCESS_H
#define DEPLO_ANALYSIS_THREADACCESS_H

#include "deplo/Analysis/LinearLayout.h"

#include <optional>

namespace deplo {

/// An access by all threads of a block: bits of a thread's number and bits that
/// count what one thread touches move the element's number. Numbers of elements
/// are row-major, with each size rounded up to a power of two.
class ThreadAccess {
public:
  /// Threads access what `layout` gives them of a tile. The tile's corner in an
  /// array of `shape` is unknown, but for a divisor of each coordinate (0 for a
  /// corner at 0). Nothing if the corner is not a multiple of the tile, or if
  /// `threads` is no power of two.
  static std::optional<ThreadAccess> ofTile(const LinearLayout &layout,
                                            llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<int64_t> divisors,
                                            int64_t threads);

  /// Threads take the array's vectors of `width` elements in turn. Nothing if
  /// that is not linear: sizes and `threads` must be powers of two, but for the
  /// first size that is not one.
  static std::optional<ThreadAccess> inTurn(llvm::ArrayRef<int64_t> shape,
                                            int64_t width, int64_t threads);

  /// Whether each element that both access is accessed by one thread only.
  bool isBySameThread(const ThreadAccess &other) const;

private:
  using Columns = std::vector<uint64_t>;

  unsigned elementBits = 0;
  /// What each bit of a thread's number moves. Threads beyond don't take part.
  Columns threadBits;
  Columns ownBits;
};

} // namespace deplo

#endif // DEPLO_ANALYSIS_THREADACCESS_H
