// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/Guards.h"

#include "deplo/Analysis/AffineRanges.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"

using namespace mlir;

namespace deplo {

std::optional<AffineMap> simplifyGuard(AffineMap guard,
                                       ArrayRef<int64_t> extents) {
  SmallVector<AffineExpr> kept;
  for (AffineExpr value : simplifyInRange(guard, extents).getResults()) {
    value =
        simplifyAffineExpr(value, guard.getNumDims(), guard.getNumSymbols());
    std::optional<ValueRange64> range = getRange(value, extents);
    if (range && range->max < 0)
      return std::nullopt;
    if ((!range || range->min < 0) && !llvm::is_contained(kept, value))
      kept.push_back(value);
  }
  return AffineMap::get(guard.getNumDims(), guard.getNumSymbols(), kept,
                        guard.getContext());
}

AffineMap intersectGuards(AffineMap a, AffineMap b) {
  SmallVector<AffineExpr> values(a.getResults());
  for (AffineExpr value : b.getResults())
    if (!llvm::is_contained(values, value))
      values.push_back(value);
  return AffineMap::get(a.getNumDims(), a.getNumSymbols(), values,
                        a.getContext());
}

static bool dependsOnSymbols(AffineExpr expr) {
  bool found = false;
  expr.walk([&](AffineExpr part) { found |= isa<AffineSymbolExpr>(part); });
  return found;
}

/// Whether no point of the box of `extents` has no negative value in `values`.
static bool isEmptyInBox(ArrayRef<AffineExpr> values, ArrayRef<int64_t> extents,
                         MLIRContext *context) {
  AffineMap map = AffineMap::get(extents.size(), 0, values, context);
  std::vector<SmallVector<int64_t, 8>> rows;
  FlatLinearConstraints points;
  if (failed(getFlattenedAffineExprs(map, &rows, &points)))
    return false;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    points.addBound(presburger::BoundType::LB, dim, 0);
    points.addBound(presburger::BoundType::UB, dim, extent - 1);
  }
  for (ArrayRef<int64_t> row : rows)
    points.addInequality(row);
  return points.isIntegerEmpty();
}

bool isWithinWhere(AffineExpr coordinate, int64_t size, AffineMap guard,
                   ArrayRef<int64_t> extents) {
  std::optional<ValueRange64> range = getRange(coordinate, extents);
  if (range && range->min >= 0 && range->max < size)
    return true;
  SmallVector<AffineExpr> values;
  for (AffineExpr value : guard.getResults())
    if (!dependsOnSymbols(value))
      values.push_back(value);
  MLIRContext *context = guard.getContext();
  values.push_back(-coordinate - 1);
  if (!isEmptyInBox(values, extents, context))
    return false;
  values.back() = coordinate - size;
  return isEmptyInBox(values, extents, context);
}

} // namespace deplo
