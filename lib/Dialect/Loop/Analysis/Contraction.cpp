// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/Analysis/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace deplo::loop {

/// The parallel loops around `inner`, outermost first, if they hold nothing
/// else that repeats.
static std::optional<SmallVector<ForOp>> getAxes(Operation *inner) {
  SmallVector<ForOp> axes;
  for (Operation *op = inner; !isa<KernelOp>(op->getParentOp());) {
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

/// The only reduction of `kernel`, or the inner one of two of which it is all
/// that repeats in the outer, `fold`.
static ReduceOp findSums(KernelOp kernel, ReduceOp &fold) {
  SmallVector<ReduceOp> reductions;
  kernel.walk([&](ReduceOp reduce) { reductions.push_back(reduce); });
  if (reductions.empty() || reductions.size() > 2)
    return {};
  ReduceOp sums = reductions.front();
  if (reductions.size() == 1)
    return sums;
  fold = dyn_cast<ReduceOp>(sums->getParentOp());
  bool isOnly = fold && fold.getExtent() > 1 &&
                llvm::none_of(*fold.getBody(), [&](Operation &op) {
                  return &op != sums && op.getNumRegions() != 0;
                });
  return isOnly ? sums : ReduceOp();
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

/// Whether the loop of `variable` moves any load of `operand`.
static bool isMovedBy(const Contraction::Operand &operand, Value variable) {
  return llvm::any_of(operand.loads,
                      [&](LoadOp load) { return isMovedBy(load, variable); });
}

/// Whether `value` is a number that is computed from loops' variables alone.
static bool isOfVariables(Value value) {
  if (isa<BlockArgument>(value))
    return value.getType().isIndex();
  Operation *op = value.getDefiningOp();
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), isOfVariables);
}

/// Whether a block can compute where `load` reads, of each element of a tile.
static bool isComputable(LoadOp load) {
  return llvm::all_of(load.getIndices(), llvm::IsaPred<BlockArgument>) &&
         (!load.getCondition() || (isOfVariables(load.getCondition()) &&
                                   isa_and_nonnull<arith::ConstantOp>(
                                       load.getOtherwise().getDefiningOp())));
}

/// Collects what `value` is computed from; fails if that is not element by
/// element from loads along boxes, or at places that are computed.
static bool findLoads(Value value, Contraction::Operand &operand,
                      llvm::SmallDenseSet<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::ConstantOp, SizeOp>(op) || !seen.insert(op).second)
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    operand.loads.push_back(load);
    if (!load.getCondition() && isBox(load))
      return true;
    operand.isGathered = true;
    return isComputable(load);
  }
  operand.map.push_back(op);
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumRegions() == 0 &&
         isPure(op) && llvm::all_of(op->getOperands(), [&](Value source) {
           return findLoads(source, operand, seen);
         });
}

/// The load that moves wherever any does, if there is one.
static LoadOp findWidest(ArrayRef<LoadOp> loads) {
  auto getMoving = [](LoadOp load) {
    SetVector<Value> indices;
    for (auto [position, index] : llvm::enumerate(load.getIndices()))
      if (load.getMap().isFunctionOfDim(position))
        indices.insert(index);
    return indices;
  };
  LoadOp widest;
  SetVector<Value> all;
  for (LoadOp load : loads) {
    SetVector<Value> moving = getMoving(load);
    all.insert_range(moving);
    if (!widest || moving.size() > getMoving(widest).size())
      widest = load;
  }
  return widest && getMoving(widest).size() == all.size() ? widest : LoadOp();
}

static std::optional<Contraction::Operand> getOperand(Value value) {
  Contraction::Operand operand;
  operand.value = value;
  llvm::SmallDenseSet<Operation *> seen;
  if (!findLoads(value, operand, seen))
    return std::nullopt;
  operand.load = findWidest(operand.loads);
  return operand.load ? std::optional(operand) : std::nullopt;
}

/// The operands of the product that `value` is, if the loop of `summed` moves
/// both. Both are staged as they are before they are widened, if that makes
/// them the same type.
static std::optional<Contraction::Product> getProduct(Value value,
                                                      Value summed) {
  Operation *product = value.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      !(value.getType().isF32() || value.getType().isInteger(32)))
    return std::nullopt;
  Value factors[] = {product->getOperand(0), product->getOperand(1)};
  Value narrow[] = {factors[0], factors[1]};
  for (Value &factor : narrow)
    if (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp>(factor.getDefiningOp()))
      factor = factor.getDefiningOp()->getOperand(0);
  bool isWidened = narrow[0].getType() == narrow[1].getType();
  auto lhs = getOperand(isWidened ? narrow[0] : factors[0]);
  auto rhs = getOperand(isWidened ? narrow[1] : factors[1]);
  if (!lhs || !rhs || (lhs->isGathered && rhs->isGathered) ||
      !isMovedBy(lhs->load, summed) || !isMovedBy(rhs->load, summed))
    return std::nullopt;
  return Contraction::Product{*lhs, *rhs};
}

/// Finds the longest of the loops that only one operand has, the innermost of
/// equals, for each, and makes `lhs` the operand with the outer of the two. A
/// fold of the result is the loop of its operand, however long others are, and
/// that of windows is the innermost that fills half of a warp: their rows.
static bool findAxes(Contraction &contraction, Contraction::Product &product) {
  std::optional<unsigned> ofLhs, ofRhs;
  unsigned fold = contraction.axes.size();
  auto keepLonger = [&](std::optional<unsigned> &found, unsigned position,
                        const Contraction::Operand &operand) {
    constexpr int64_t leastLanes = 16;
    int64_t extent = contraction.getExtent(position);
    if (!found || position == fold || extent >= contraction.getExtent(*found) ||
        (operand.isGathered && extent >= leastLanes))
      found = position;
  };
  for (unsigned position = 0; position < fold + contraction.foldsRows();
       ++position) {
    int64_t extent = contraction.getExtent(position);
    bool movesLhs = isMovedBy(product.lhs, contraction.getVariable(position));
    bool movesRhs = isMovedBy(product.rhs, contraction.getVariable(position));
    // A loop that moves neither, or one without iterations, is no axis of it.
    // A fold of the result is none of batches.
    if ((!movesLhs && !movesRhs && extent != 1) || extent == 0 ||
        (position == fold && movesLhs == movesRhs))
      return false;
    if (extent == 1)
      continue;
    if (movesLhs && !movesRhs)
      keepLonger(ofLhs, position, product.lhs);
    if (movesRhs && !movesLhs)
      keepLonger(ofRhs, position, product.rhs);
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
  found.reduce = findSums(kernel, found.fold);
  if (!found.reduce || found.reduce.getExtent() < 2 || found.reduce.getPart() ||
      (found.fold && found.fold.getPart()))
    return std::nullopt;
  std::optional<SmallVector<ForOp>> axes =
      getAxes(found.fold ? found.fold : found.reduce);
  if (!axes)
    return std::nullopt;
  found.axes = *axes;
  for (auto [monoid, value] : llvm::zip_equal(
           found.reduce.getMonoids(), found.reduce.getYield().getValues())) {
    std::optional<Contraction::Product> product =
        getProduct(value, found.reduce.getInductionVar());
    if (monoid != Monoid::Add || !product || !findAxes(found, *product))
      return std::nullopt;
    Contraction::Product first =
        found.products.empty() ? *product : found.products.front();
    if (product->rowAxis != first.rowAxis ||
        product->columnAxis != first.columnAxis ||
        product->lhs.value.getType() != first.lhs.value.getType())
      return std::nullopt;
    found.products.push_back(*product);
  }
  found.lhs = found.products.front().lhs;
  found.rhs = found.products.front().rhs;
  found.rowAxis = found.products.front().rowAxis;
  found.columnAxis = found.products.front().columnAxis;
  return found;
}

Value Contraction::getVariable(unsigned position) {
  return position < axes.size() ? axes[position].getInductionVar()
                                : fold.getInductionVar();
}

int64_t Contraction::getExtent(unsigned position) {
  return position < axes.size() ? axes[position].getExtent() : fold.getExtent();
}

SmallVector<Contraction::Operand> Contraction::getOperands(bool ofRows) {
  SmallVector<Operand> operands;
  llvm::SmallDenseSet<Value> seen;
  for (Product &product : products) {
    Operand &operand = ofRows ? product.lhs : product.rhs;
    if (seen.insert(operand.isMapped() ? operand.value
                                       : operand.load.getMemref())
            .second)
      operands.push_back(operand);
  }
  return operands;
}

int64_t Contraction::getBatches() {
  int64_t batches = 1;
  for (auto [position, axis] : llvm::enumerate(axes))
    if (position != rowAxis && position != columnAxis)
      batches *= axis.getExtent();
  return batches;
}

int64_t Contraction::getElementBytes() {
  return lhs.value.getType().getIntOrFloatBitWidth() / 8;
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
  bool isAlongSum =
      !lhs.isGathered && isContiguous(lhs.load, reduce.getInductionVar());
  bool isAlongColumns =
      rhs.isGathered || isContiguous(rhs.load, getVariable(columnAxis));
  letters += isAlongSum ? 'N' : 'T';
  letters += isAlongColumns ? 'N' : 'T';
  return letters;
}

} // namespace deplo::loop
