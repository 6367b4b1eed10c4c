// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/Analysis/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;

namespace deplo::loop {

/// The load that `value` is, or is an extension of.
static LoadOp getLoad(Value value) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  auto load = value.getDefiningOp<LoadOp>();
  return load && !load.getCondition() ? load : LoadOp();
}

/// The parallel loops around `reduce`, outermost first, if they hold nothing
/// else that repeats.
static std::optional<SmallVector<ForOp>> getAxes(ReduceOp reduce) {
  SmallVector<ForOp> axes;
  for (Operation *op = reduce; !isa<KernelOp>(op->getParentOp());) {
    for (Operation &other : *op->getBlock())
      if (&other != op && other.getNumRegions() != 0)
        return std::nullopt;
    auto parent = dyn_cast<ForOp>(op->getParentOp());
    if (!parent)
      return std::nullopt;
    axes.insert(axes.begin(), parent);
    op = parent;
  }
  return axes;
}

/// Whether each coordinate of `load` depends on one loop at most, and no two on
/// the same.
static bool isBox(LoadOp load) {
  llvm::SmallDenseSet<Value> seen;
  for (AffineExpr coordinate : load.getMap().getResults()) {
    if (!coordinate.isPureAffine())
      return false;
    unsigned loops = 0;
    for (auto [position, index] : llvm::enumerate(load.getIndices())) {
      if (!coordinate.isFunctionOfDim(position))
        continue;
      ++loops;
      if (!seen.insert(index).second)
        return false;
    }
    if (loops > 1)
      return false;
  }
  return true;
}

/// Whether the loop of `variable` moves `load`.
static bool isMovedBy(LoadOp load, Value variable) {
  for (auto [position, index] : llvm::enumerate(load.getIndices()))
    if (index == variable && load.getMap().isFunctionOfDim(position))
      return true;
  return false;
}

/// The operands of the product that `value` is, if the loop of `summed` moves
/// both.
static std::optional<Contraction::Product> getProduct(Value value,
                                                      Value summed) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32())
    return std::nullopt;
  Contraction::Product found{getLoad(product.getLhs()),
                             getLoad(product.getRhs())};
  for (LoadOp load : {found.lhs, found.rhs})
    if (!load || !isBox(load) || !isMovedBy(load, summed))
      return std::nullopt;
  if (found.lhs.getType() != found.rhs.getType())
    return std::nullopt;
  return found;
}

/// Finds the longest of the loops that only one operand has, the innermost of
/// equals, for each, and makes `lhs` the operand with the outer of the two.
static bool findAxes(MutableArrayRef<ForOp> axes,
                     Contraction::Product &product) {
  std::optional<unsigned> ofLhs, ofRhs;
  auto keepLonger = [&](std::optional<unsigned> &found, unsigned position) {
    if (!found || axes[position].getExtent() >= axes[*found].getExtent())
      found = position;
  };
  for (auto [position, axis] : llvm::enumerate(axes)) {
    bool movesLhs = isMovedBy(product.lhs, axis.getInductionVar());
    bool movesRhs = isMovedBy(product.rhs, axis.getInductionVar());
    // A loop that moves neither, or one without iterations, is no axis of it.
    if ((!movesLhs && !movesRhs && axis.getExtent() != 1) ||
        axis.getExtent() == 0)
      return false;
    if (axis.getExtent() == 1)
      continue;
    if (movesLhs && !movesRhs)
      keepLonger(ofLhs, position);
    if (movesRhs && !movesLhs)
      keepLonger(ofRhs, position);
  }
  if (!ofLhs || !ofRhs)
    return false;
  if (*ofLhs > *ofRhs) {
    std::swap(product.lhs, product.rhs);
    std::swap(ofLhs, ofRhs);
  }
  product.rowAxis = *ofLhs;
  product.columnAxis = *ofRhs;
  return true;
}

std::optional<Contraction> findContraction(KernelOp kernel) {
  Contraction found;
  bool isOnly = true;
  kernel.walk([&](ReduceOp reduce) {
    isOnly &= !found.reduce;
    found.reduce = reduce;
  });
  if (!found.reduce || !isOnly || found.reduce.getExtent() < 2)
    return std::nullopt;
  std::optional<SmallVector<ForOp>> axes = getAxes(found.reduce);
  if (!axes)
    return std::nullopt;
  found.axes = *axes;
  for (auto [monoid, value] : llvm::zip_equal(
           found.reduce.getMonoids(), found.reduce.getYield().getValues())) {
    std::optional<Contraction::Product> product =
        getProduct(value, found.reduce.getInductionVar());
    if (monoid != Monoid::Add || !product || !findAxes(found.axes, *product))
      return std::nullopt;
    Contraction::Product first =
        found.products.empty() ? *product : found.products.front();
    if (product->rowAxis != first.rowAxis ||
        product->columnAxis != first.columnAxis ||
        product->lhs.getType() != first.lhs.getType())
      return std::nullopt;
    found.products.push_back(*product);
  }
  found.lhs = found.products.front().lhs;
  found.rhs = found.products.front().rhs;
  found.rowAxis = found.products.front().rowAxis;
  found.columnAxis = found.products.front().columnAxis;
  return found;
}

int64_t Contraction::countOperands(bool ofRows) {
  llvm::SmallDenseSet<Value> memrefs;
  for (Product &product : products)
    memrefs.insert((ofRows ? product.lhs : product.rhs).getMemref());
  return memrefs.size();
}

int64_t Contraction::getBatches() {
  int64_t batches = 1;
  for (auto [position, axis] : llvm::enumerate(axes))
    if (position != rowAxis && position != columnAxis)
      batches *= axis.getExtent();
  return batches;
}

int64_t Contraction::getElementBytes() {
  return lhs.getMemRefType().getElementTypeBitWidth() / 8;
}

bool isContiguous(LoadOp load, Value variable) {
  auto [strides, offset] = load.getMemRefType().getStridesAndOffset();
  for (auto [coordinate, stride] :
       llvm::zip_equal(load.getMap().getResults(), strides))
    for (auto [position, index] : llvm::enumerate(load.getIndices()))
      if (index == variable && coordinate.isFunctionOfDim(position))
        return stride == 1;
  return false;
}

std::string Contraction::getTransposition() {
  std::string letters;
  letters += isContiguous(lhs, reduce.getInductionVar()) ? 'N' : 'T';
  letters += isContiguous(rhs, axes[columnAxis].getInductionVar()) ? 'N' : 'T';
  return letters;
}

} // namespace deplo::loop
