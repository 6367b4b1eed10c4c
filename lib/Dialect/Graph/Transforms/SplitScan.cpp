// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few long rows become many parts that blocks scan side by side.
//
//   y = scan(x)                     x of n elements, seen as p parts of m
// ->
//   total[a]  = x[a, 0] * ... * x[a, m - 1]
//   before[a] = scan(total)[a - 1]  the identity for the first part
//   y[a, b]   = before[a] * scan(x[a])[b]
//
// Legal because a monoid is associative, and combines a value with its identity
// to that value: where no number of parts divides n, the last one is padded.
// The order is fixed, so that two runs give the same bits.

#include "PrimitiveBuilder.h"
#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/Graph/Transforms/Decompose.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-split-scan"

using namespace mlir;

namespace deplo::graph {

#define GEN_PASS_DEF_SPLITSCANPASS
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

/// `count` parts of `length` elements each, the last one maybe less.
struct Parts {
  int64_t count, length;
};

/// The parts of one scan.
class ScanSplitter {
public:
  ScanSplitter(RewriterBase &rewriter, ScanOp scan, Parts parts)
      : builder(rewriter, scan.getLoc()), rewriter(rewriter), scan(scan),
        parts(parts), axis(scan.getAxis()) {}

  Value build();

private:
  bool divides() {
    return parts.count * parts.length == scan.getType().getDimSize(axis);
  }
  Value buildScan(Value x, int64_t along) {
    return rewriter.createOrFold<ScanOp>(scan.getLoc(), x.getType(),
                                         scan.getKind(), x, along);
  }
  Value divide(Value x);
  Value buildBefore(Value totals);
  Value join(Value y);

  PrimitiveBuilder builder;
  RewriterBase &rewriter;
  ScanOp scan;
  Parts parts;
  int64_t axis;
};

} // namespace

/// `x` with its axis as two: parts, and elements of one.
Value ScanSplitter::divide(Value x) {
  SmallVector<int64_t> shape(getTensorType(x).getShape());
  shape[axis] = parts.count;
  shape.insert(shape.begin() + axis + 1, parts.length);
  if (divides())
    return builder.reshape(x, shape);
  SmallVector<AffineExpr> coordinates;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (dim != axis + 1)
      coordinates.push_back(rewriter.getAffineDimExpr(dim));
  coordinates[axis] =
      coordinates[axis] * parts.length + rewriter.getAffineDimExpr(axis + 1);
  AffineExpr rest = scan.getType().getDimSize(axis) - 1 - coordinates[axis];
  return builder.gather(
      x, shape,
      AffineMap::get(shape.size(), 0, coordinates, rewriter.getContext()),
      AffineMap::get(shape.size(), 0, rest),
      getIdentity(scan.getKind(), getTensorType(x).getElementType()));
}

/// For each element what all parts before its own fold to.
Value ScanSplitter::buildBefore(Value totals) {
  SmallVector<int64_t> shape(getTensorType(totals).getShape());
  SmallVector<AffineExpr> coordinates;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    coordinates.push_back(rewriter.getAffineDimExpr(dim));
  coordinates[axis] = coordinates[axis] - 1;
  Value before = builder.gather(
      buildScan(totals, axis), shape,
      AffineMap::get(shape.size(), 0, coordinates, rewriter.getContext()),
      AffineMap::get(shape.size(), 0, coordinates[axis]),
      getIdentity(scan.getKind(), getTensorType(totals).getElementType()));
  SmallVector<AffineExpr> kept;
  for (unsigned dim = 0; dim <= shape.size(); ++dim)
    if (dim != axis + 1)
      kept.push_back(rewriter.getAffineDimExpr(dim));
  shape.insert(shape.begin() + axis + 1, parts.length);
  return builder.indexMap(
      before, shape,
      AffineMap::get(shape.size(), 0, kept, rewriter.getContext()));
}

/// The two axes as one again, without padding.
Value ScanSplitter::join(Value y) {
  ArrayRef<int64_t> shape = scan.getType().getShape();
  if (divides())
    return builder.reshape(y, shape);
  SmallVector<AffineExpr> coordinates;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    AffineExpr expr = rewriter.getAffineDimExpr(dim);
    if (dim != axis) {
      coordinates.push_back(expr);
      continue;
    }
    coordinates.push_back(expr.floorDiv(parts.length));
    coordinates.push_back(expr % parts.length);
  }
  return builder.indexMap(
      y, shape,
      AffineMap::get(shape.size(), 0, coordinates, rewriter.getContext()));
}

Value ScanSplitter::build() {
  Type type = scan.getType().getElementType();
  // Each kernel reads the narrow elements and widens them itself.
  Value x = divide(scan.getInput());
  if (isNarrow(type))
    x = builder.widen(x);
  Value before = buildBefore(builder.reduce(scan.getKind(), x, axis + 1));
  Value y = builder.combine(scan.getKind(), before, buildScan(x, axis + 1));
  y = join(y);
  return isNarrow(type) ? builder.convert(y, type) : y;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// About `wanted` parts of `size` elements: a number that divides it if there
/// is one, with parts of whole vectors if possible.
static Parts chooseParts(int64_t size, int64_t wanted) {
  constexpr int64_t vector = 16;
  for (int64_t unit : {vector, int64_t(1)})
    for (int64_t count = wanted; count > wanted / 2; --count)
      if (size % (count * unit) == 0)
        return {count, size / count};
  int64_t length = llvm::alignTo(llvm::divideCeil(size, wanted), vector);
  return {int64_t(llvm::divideCeil(size, length)), length};
}

namespace {

struct SplitScanPass : impl::SplitScanPassBase<SplitScanPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<ScanOp> scans(function.getOps<ScanOp>());
    if (scans.empty()) {
      remark::missed(function.getLoc(), getRemarkOptions())
          << "the function has no scan";
      return;
    }
    auto target = tile::TargetAttr::lookup(function);
    if (!target)
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (ScanOp scan : scans) {
      if (failed(verifyFixedSizes(scan, DEBUG_TYPE)))
        return signalPassFailure();
      std::string reason;
      std::optional<Parts> chosen = choose(scan, target, reason);
      if (!chosen) {
        remark::missed(scan.getLoc(), getRemarkOptions()) << reason;
        continue;
      }
      remark::passed(scan.getLoc(), getRemarkOptions())
          << remark::add("{0} elements in {1} parts of {2}",
                         scan.getType().getDimSize(scan.getAxis()),
                         chosen->count, chosen->length);
      rewriter.setInsertionPoint(scan);
      rewriter.replaceOp(scan, ScanSplitter(rewriter, scan, *chosen).build());
    }
  }

private:
  static remark::RemarkOpts getRemarkOptions() {
    return remark::RemarkOpts::name("SplitScan").category(DEBUG_TYPE);
  }
  std::optional<Parts> choose(ScanOp scan, tile::TargetAttr target,
                              std::string &reason);
};

} // namespace

std::optional<Parts> SplitScanPass::choose(ScanOp scan, tile::TargetAttr target,
                                           std::string &reason) {
  ArrayRef<int64_t> shape = scan.getType().getShape();
  int64_t axis = scan.getAxis(), size = shape[axis];
  SymbolicSizes sizes = SymbolicSizes::get(scan);
  for (int64_t other : shape)
    if (sizes.isSymbolic(other)) {
      reason = "a size is known when the program runs";
      return std::nullopt;
    }
  if (parts == 1) {
    reason = "the option says one part";
    return std::nullopt;
  }
  int64_t rows = 1, columns = 1;
  for (int64_t extent : shape.take_front(axis))
    rows *= extent;
  for (int64_t extent : shape.drop_front(axis + 1))
    columns *= extent;
  // A block scans one row, or neighbouring columns, a thread each.
  constexpr int64_t threads = 256;
  int64_t along = std::min(columns, threads);
  int64_t blocks = rows * llvm::divideCeil(columns, threads);
  int64_t most = size / std::max<int64_t>(leastPart / along, 1);
  // Several blocks of a multiprocessor wait for memory in turn.
  constexpr int64_t blocksAtOnce = 8;
  int64_t filling =
      llvm::divideCeil(blocksAtOnce * target.getMultiprocessors(), blocks);
  int64_t wanted = parts != 0 ? int64_t(parts) : std::min(filling, most);
  if (parts == 0 && blocks >= target.getMultiprocessors()) {
    reason = std::to_string(blocks) + " blocks keep " +
             std::to_string(target.getMultiprocessors()) +
             " multiprocessors busy";
    return std::nullopt;
  }
  // Two more kernels have to pay.
  constexpr int64_t leastParts = 4;
  if (size < 2 || wanted < (parts != 0 ? 2 : leastParts)) {
    reason = "rows of " + std::to_string(size) + " elements are short";
    return std::nullopt;
  }
  Parts chosen = chooseParts(size, std::min(wanted, size));
  if (chosen.count < 2) {
    reason = "rows of " + std::to_string(size) + " elements are short";
    return std::nullopt;
  }
  return chosen;
}

} // namespace deplo::graph
