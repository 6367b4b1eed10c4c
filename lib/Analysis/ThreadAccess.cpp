// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ThreadAccess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace deplo {

/// The position of each dimension's lowest bit in an element's number, and
/// behind them the number of all bits.
static SmallVector<unsigned> getShifts(ArrayRef<int64_t> shape) {
  SmallVector<unsigned> shifts(shape.size() + 1);
  unsigned shift = 0;
  for (size_t dim = shape.size(); dim-- > 0;) {
    shifts[dim] = shift;
    shift += Log2_64_Ceil(shape[dim]);
  }
  shifts.back() = shift;
  return shifts;
}

std::optional<ThreadAccess> ThreadAccess::ofTile(const LinearLayout &layout,
                                                 ArrayRef<int64_t> shape,
                                                 ArrayRef<int64_t> divisors,
                                                 int64_t threads) {
  constexpr unsigned laneBits = 5;
  if (!isPowerOf2_64(threads) || layout.getNumBits(InputDim::Block) != 0)
    return std::nullopt;
  SmallVector<unsigned> shifts = getShifts(shape);
  ThreadAccess access;
  access.elementBits = shifts.back();
  auto addColumns = [&](InputDim input, Columns &columns) {
    for (unsigned bit = 0, e = layout.getNumBits(input); bit < e; ++bit) {
      uint64_t column = 0;
      for (auto [dim, move] : enumerate(layout.getBasis(input, bit)))
        column |= uint64_t(move) << shifts[dim];
      columns.push_back(column);
    }
  };
  // Threads that the layout doesn't tell apart touch the same elements.
  addColumns(InputDim::Lane, access.threadBits);
  access.threadBits.resize(laneBits);
  addColumns(InputDim::Warp, access.threadBits);
  access.threadBits.resize(
      std::max<size_t>(access.threadBits.size(), Log2_64(threads)));
  addColumns(InputDim::Register, access.ownBits);
  for (auto [dim, divisor] : enumerate(divisors)) {
    if (divisor == 0)
      continue;
    if (divisor % layout.getDimSize(dim) != 0)
      return std::nullopt;
    // Whatever multiple of the tile it is, and so whichever higher bits.
    for (unsigned bit = Log2_64(layout.getDimSize(dim)),
                  e = Log2_64_Ceil(shape[dim]);
         bit < e; ++bit)
      access.ownBits.push_back(uint64_t(1) << (shifts[dim] + bit));
  }
  return access;
}

std::optional<ThreadAccess>
ThreadAccess::inTurn(ArrayRef<int64_t> shape, int64_t width, int64_t threads) {
  ArrayRef<int64_t> inner =
      shape.drop_while([](int64_t size) { return size == 1; });
  if (!isPowerOf2_64(threads) || !isPowerOf2_64(width) ||
      !all_of(inner.drop_front(inner.empty() ? 0 : 1), isPowerOf2_64))
    return std::nullopt;
  ThreadAccess access;
  access.elementBits = getShifts(shape).back();
  // An element's number is its vector's and its place there; the vector's
  // number is the turn and the thread.
  unsigned firstThreadBit = Log2_64(width);
  unsigned firstTurnBit = firstThreadBit + Log2_64(threads);
  for (unsigned bit = 0; bit < access.elementBits; ++bit)
    (bit >= firstThreadBit && bit < firstTurnBit ? access.threadBits
                                                 : access.ownBits)
        .push_back(uint64_t(1) << bit);
  return access;
}

bool ThreadAccess::isBySameThread(const ThreadAccess &other) const {
  constexpr size_t mostColumns = 64;
  Columns columns(threadBits);
  append_range(columns, other.threadBits);
  append_range(columns, ownBits);
  append_range(columns, other.ownBits);
  if (elementBits != other.elementBits || columns.size() > mostColumns)
    return false;
  // The accesses meet where they move an element's number alike: the sum is
  // zero. There, the threads must be the same.
  uint64_t mine = maskTrailingOnes<uint64_t>(threadBits.size());
  uint64_t others = maskTrailingOnes<uint64_t>(other.threadBits.size());
  return all_of(BitMatrix(elementBits, columns).kernel().getValues(),
                [&](uint64_t meeting) {
                  return (meeting & mine) ==
                         ((meeting >> threadBits.size()) & others);
                });
}

} // namespace deplo
