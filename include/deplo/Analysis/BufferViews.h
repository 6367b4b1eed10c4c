// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of loops to a buffer as boxes: every coordinate is a constant plus a
// multiple of one loop variable, and no variable is in two coordinates. Where
// the buffer's own shape does not allow that, another shape of the same memory
// may.

#ifndef DEPLO_ANALYSIS_BUFFERVIEWS_H
#define DEPLO_ANALYSIS_BUFFERVIEWS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace deplo {

/// constant + sum of factor * variable.
struct LinearCoordinate {
  int64_t constant = 0;
  /// Variables by number, each once, and their factors, none 0.
  llvm::SmallVector<std::pair<unsigned, int64_t>> terms;

  void add(unsigned variable, int64_t factor);
  /// The factor of `variable`, 0 if it is not there.
  int64_t getFactor(unsigned variable) const;
  bool operator==(const LinearCoordinate &other) const {
    return constant == other.constant && terms == other.terms;
  }
};

/// A coordinate of a box: constant + factor * loop, or a constant.
struct BoxCoordinate {
  int64_t constant = 0;
  int64_t factor = 0;
  unsigned loop = 0;
};

/// Loops, each over one or more variables: the outermost varies slowest.
struct LoopNest {
  llvm::ArrayRef<int64_t> extents; // of the variables
  llvm::ArrayRef<llvm::SmallVector<unsigned>> loops;
};

/// The shape in which an access is a box: dimensions of the buffer are merged
/// in runs, then the merged dimensions are divided.
struct BufferView {
  using Runs = llvm::SmallVector<llvm::SmallVector<int64_t, 2>>;
  /// Dimensions of the buffer that make up each merged dimension.
  Runs merged;
  llvm::SmallVector<int64_t> mergedShape;
  /// Dimensions of the view that each merged dimension is divided into.
  Runs divided;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<BoxCoordinate> coordinates;

  bool merges() const { return hasRun(merged); }
  bool divides() const { return hasRun(divided); }

private:
  static bool hasRun(const Runs &runs);
};

/// The view in which the access at `coordinates`, in the variables of `nest`,
/// to a buffer of `shape` and `strides` is a box; none if there is none.
std::optional<BufferView>
getBoxView(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
           llvm::ArrayRef<LinearCoordinate> coordinates, const LoopNest &nest);

} // namespace deplo

#endif // DEPLO_ANALYSIS_BUFFERVIEWS_H
