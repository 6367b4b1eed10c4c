// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about the indices of box accesses.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_BOUNDS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_BOUNDS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace deplo::tile {

/// The index `scale * base + offset`; a constant has no base.
struct AffineIndex {
  mlir::Value base;
  int64_t scale = 0;
  int64_t offset = 0;

  /// Looks through additions and multiplications by constants.
  static AffineIndex get(mlir::Value index);

  /// The index with another value, or without any (null), as the base.
  mlir::Value rebuild(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value newBase) const;

  /// The largest value, if the base is an axis of a kernel, the variable of a
  /// loop with constant bounds, or a sum of such.
  std::optional<int64_t> getMax() const;
  /// The smallest, likewise.
  std::optional<int64_t> getMin() const;

  bool operator==(const AffineIndex &other) const {
    return base == other.base && scale == other.scale && offset == other.offset;
  }
};

/// Whether `size` elements from `corner` on, `step` apart, all lie below
/// `bound`, whatever the sizes that are known when the program runs, and none
/// is negative.
bool isWithinBound(mlir::Value corner, int64_t step, int64_t size,
                   int64_t bound);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_BOUNDS_H
