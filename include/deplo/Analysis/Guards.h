// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards: maps that hold where none of their values is negative.
//
//   (d0) -> (d0 - 2, 5 - d0)        holds for 2 <= d0 <= 5
//   (d0) -> ()                      holds everywhere

#ifndef DEPLO_ANALYSIS_GUARDS_H
#define DEPLO_ANALYSIS_GUARDS_H

#include "mlir/IR/AffineMap.h"

#include <optional>

namespace deplo {

/// `guard` without the values that are never negative where dimension `i` runs
/// from 0 to `extents[i] - 1`; none if it holds nowhere.
std::optional<mlir::AffineMap> simplifyGuard(mlir::AffineMap guard,
                                             llvm::ArrayRef<int64_t> extents);

/// A guard that holds where both do. They have the same dimensions and symbols.
mlir::AffineMap intersectGuards(mlir::AffineMap a, mlir::AffineMap b);

/// Whether 0 <= `coordinate` < `size` wherever `guard` holds. Parts of the
/// guard that depend on symbols don't count; the coordinate must not.
bool isWithinWhere(mlir::AffineExpr coordinate, int64_t size,
                   mlir::AffineMap guard, llvm::ArrayRef<int64_t> extents);

} // namespace deplo

#endif // DEPLO_ANALYSIS_GUARDS_H
