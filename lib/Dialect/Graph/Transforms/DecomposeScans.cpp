// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans as folds of short windows. The axis is seen as blocks of w elements:
//
//   total[b] = x[b w] * ... * x[b w + w - 1]
//   sofar    = scan(total)                         the same, n / w elements
//   y[i]     = sofar[i / w - 1] * (x[i - i mod w] * ... * x[i])
//
// Each element is read w times; a scan of n elements has log_w n levels, and
// all but the first move little memory. It is legal because a monoid is
// associative; the order is fixed, so that two runs give the same bits.

#include "DecomposePatterns.h"

using namespace mlir;

namespace deplo::graph {

namespace {

/// Elements of a block, and reads of each element, most of them from the cache.
/// Blocks of 16 save a level of totals, and lose: their windows take longer
/// than the memory does.
constexpr int64_t blockSize = 8;

/// One scan, of which totals are scanned in turn.
class ScanBuilder {
public:
  ScanBuilder(PrimitiveBuilder &builder, Monoid kind, unsigned axis)
      : builder(builder), kind(kind), axis(axis) {}

  /// In f32 if `x` is narrower.
  Value build(Value x);

private:
  Value reduceWindows(Value windows);
  Value buildTotals(Value x);
  Value foldWithinBlocks(Value x);
  Value readTotalBefore(Value totals, ArrayRef<int64_t> shape);
  /// The identity map of `rank` coordinates, but for `coordinate` of the axis.
  AffineMap getMap(unsigned rank, AffineExpr coordinate, unsigned sourceRank);

  PrimitiveBuilder &builder;
  Monoid kind;
  unsigned axis;
};

} // namespace

AffineMap ScanBuilder::getMap(unsigned rank, AffineExpr coordinate,
                              unsigned sourceRank) {
  MLIRContext *context = coordinate.getContext();
  SmallVector<AffineExpr> coordinates;
  for (unsigned i = 0; i < sourceRank; ++i)
    coordinates.push_back(i == axis ? coordinate
                                    : getAffineDimExpr(i, context));
  return AffineMap::get(rank, 0, coordinates, context);
}

/// Folds the last axis.
Value ScanBuilder::reduceWindows(Value windows) {
  int64_t last = getTensorType(windows).getRank() - 1;
  if (isNarrow(getTensorType(windows).getElementType()))
    windows = builder.widen(windows);
  return builder.reduce(kind, windows, last);
}

/// What each whole block folds to.
Value ScanBuilder::buildTotals(Value x) {
  SmallVector<int64_t> shape(getTensorType(x).getShape());
  unsigned rank = shape.size();
  shape[axis] /= blockSize;
  shape.push_back(blockSize);
  AffineExpr block = getAffineDimExpr(axis, x.getContext());
  AffineExpr within = getAffineDimExpr(rank, x.getContext());
  return reduceWindows(builder.indexMap(
      x, shape, getMap(rank + 1, block * blockSize + within, rank)));
}

/// Folds each element with those before it in its block.
Value ScanBuilder::foldWithinBlocks(Value x) {
  SmallVector<int64_t> shape(getTensorType(x).getShape());
  unsigned rank = shape.size();
  int64_t window = std::min(shape[axis], blockSize);
  shape.push_back(window);
  AffineExpr position = getAffineDimExpr(axis, x.getContext());
  AffineExpr within = getAffineDimExpr(rank, x.getContext());
  AffineExpr inBlock = position % window;
  AffineMap map = getMap(rank + 1, position - inBlock + within, rank);
  AffineMap guard = AffineMap::get(rank + 1, 0, inBlock - within);
  TypedAttr identity = getIdentity(kind, getTensorType(x).getElementType());
  return reduceWindows(builder.gather(x, shape, map, guard, identity));
}

/// What all blocks before that of each element fold to.
Value ScanBuilder::readTotalBefore(Value totals, ArrayRef<int64_t> shape) {
  unsigned rank = shape.size();
  AffineExpr position = getAffineDimExpr(axis, totals.getContext());
  AffineMap map = getMap(rank, position.floorDiv(blockSize) - 1, rank);
  AffineMap guard = AffineMap::get(rank, 0, position - blockSize);
  TypedAttr identity =
      getIdentity(kind, getTensorType(totals).getElementType());
  return builder.gather(totals, shape, map, guard, identity);
}

Value ScanBuilder::build(Value x) {
  Value folded = foldWithinBlocks(x);
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  if (shape[axis] <= blockSize)
    return folded;
  Value before = readTotalBefore(build(buildTotals(x)), shape);
  return builder.combine(kind, before, folded);
}

Value decomposeScan(PrimitiveBuilder &builder, Operation *op) {
  auto scan = dyn_cast<ScanOp>(op);
  if (!scan)
    return {};
  Value result = ScanBuilder(builder, scan.getKind(), scan.getAxis())
                     .build(scan.getInput());
  Type type = scan.getType().getElementType();
  return isNarrow(type) ? builder.convert(result, type) : result;
}

} // namespace deplo::graph
