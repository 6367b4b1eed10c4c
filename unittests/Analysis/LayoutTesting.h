// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of layouts share.

#ifndef DEPLO_UNITTESTS_ANALYSIS_LAYOUTTESTING_H
#define DEPLO_UNITTESTS_ANALYSIS_LAYOUTTESTING_H

#include "deplo/Analysis/LinearLayout.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <map>
#include <set>
#include <string>

namespace deplo {

inline void PrintTo(const HardwareIndex &index, std::ostream *os) {
  *os << "{" << index.reg << ", " << index.lane << ", " << index.warp << ", "
      << index.block << "}";
}

inline void PrintTo(const LinearLayout &layout, std::ostream *os) {
  std::string text;
  llvm::raw_string_ostream(text) << layout;
  *os << text;
}

namespace testing {

template <typename T> T valueOf(llvm::Expected<T> expected) {
  return llvm::cantFail(std::move(expected));
}

/// The message of a failure, or a text that no test expects.
template <typename T> std::string errorOf(llvm::Expected<T> expected) {
  return expected ? "(no error)" : llvm::toString(expected.takeError());
}

inline std::string toString(const LinearLayout &layout) {
  std::string text;
  llvm::raw_string_ostream(text) << layout;
  return text;
}

/// Calls `body` with every hardware index, in ascending order.
inline void forEachIndex(const LinearLayout &layout,
                         llvm::function_ref<void(HardwareIndex)> body) {
  for (uint64_t i = 0; i < uint64_t(1) << layout.getNumInputBits(); ++i)
    body(layout.unpack(i));
}

/// Calls `body` with all layouts of one shape that have the given numbers of
/// bits: each basis takes every value.
inline void forEachLayout(llvm::ArrayRef<int64_t> shape,
                          std::array<unsigned, 4> inputBits,
                          llvm::function_ref<void(const LinearLayout &)> body) {
  LayoutBases bases;
  for (InputDim dim : inputDims)
    bases[unsigned(dim)].resize(inputBits[unsigned(dim)],
                                Coordinates(shape.size(), 0));
  LinearLayout zero = valueOf(LinearLayout::create(bases, shape));
  uint64_t numLayouts = 1;
  for (unsigned i = 0; i < zero.getNumInputBits(); ++i)
    numLayouts *= zero.getNumElements();
  for (uint64_t number = 0; number < numLayouts; ++number) {
    uint64_t rest = number;
    for (std::vector<Coordinates> &inputBases : bases)
      for (Coordinates &basis : inputBases) {
        basis = zero.unpackCoordinates(rest % zero.getNumElements());
        rest /= zero.getNumElements();
      }
    body(valueOf(LinearLayout::create(bases, shape)));
  }
}

/// Calls `body` with all layouts of some thousands that are small but have
/// every feature: replication, gaps, mixed bases, several inputs.
inline void
forEachSmallLayout(llvm::function_ref<void(const LinearLayout &)> body) {
  forEachLayout({4}, {2, 1, 1, 0}, body);
  forEachLayout({2, 2}, {2, 2, 0, 0}, body);
  forEachLayout({2, 2}, {1, 1, 1, 1}, body);
  forEachLayout({4, 2}, {2, 1, 0, 0}, body);
  forEachLayout({2, 4}, {1, 1, 1, 0}, body);
  forEachLayout({8}, {3, 1, 0, 0}, body);
}

} // namespace testing
} // namespace deplo

#endif // DEPLO_UNITTESTS_ANALYSIS_LAYOUTTESTING_H
