// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a read can't be made by loops, a copy of what it reads can.

#include "FusionGroups.h"
#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/Graph/Transforms/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace deplo::graph {

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

SmallVector<int64_t> getMemoryStrides(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    if (auto function =
            dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto strides = function.getArgAttrOfType<DenseI64ArrayAttr>(
              argument.getArgNumber(), "graph.strides"))
        return llvm::to_vector(strides.asArrayRef());
  return getRowMajorStrides(getShape(tensor));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A primitive that computes `value` itself.
static MapOp createCopy(RewriterBase &rewriter, Location loc, Value value) {
  return MapOp::create(
      rewriter, getSourceLoc(loc, "copy"),
      cast<RankedTensorType>(value.getType()), value,
      [](OpBuilder &, Location, ValueRange x) { return x[0]; });
}

/// The first operand that `op` can't read in loops of boxes; none if all can.
static OpOperand *findUnreadable(Operation *op) {
  IterationSpace space;
  auto gather = dyn_cast<GatherOp>(op);
  auto operands =
      op->getOpOperands().drop_front(gather ? gather.getSources().size() : 0);
  for (OpOperand &operand : operands)
    if (!traceRead(operand.get()))
      return &operand;
  // A gather reads anything but a view that its indices lead into.
  if (gather)
    for (OpOperand &source : gather.getSourcesMutable())
      if (!gather.getIndices().empty() &&
          source.get().getDefiningOp<IndexMapOp>())
        return &source;
  Primitive primitive = space.getPrimitive(op, /*owner=*/0);
  // Splits for one read may divide the loops of another: look at all of them
  // before asking for boxes.
  SmallVector<Coordinates> coordinates;
  for (int round = 0; round < 2; ++round) {
    coordinates.clear();
    for (auto [read, operand] :
         llvm::zip_equal(primitive.reads, op->getOpOperands())) {
      if (read.isGathered) {
        coordinates.emplace_back();
        continue;
      }
      auto found =
          space.getCoordinates(primitive, read.map, getShape(read.source),
                               getMemoryStrides(read.source));
      if (!found)
        return &operand;
      coordinates.push_back(*found);
    }
  }
  // A contraction goes by chunks of one loop for each axis that it sums over.
  if (isa<ContractOp>(op))
    for (auto axis :
         ArrayRef(primitive.axes).drop_front(primitive.getResultAxes().size()))
      if (space.classes.getLeaves(axis).size() != 1)
        for (OpOperand &operand : op->getOpOperands())
          if (operand.get().getDefiningOp<IndexMapOp>())
            return &operand;
  // A scan goes along one loop.
  if (primitive.isScan() &&
      space.classes.getLeaves(primitive.getScanAxis()).size() != 1)
    return &op->getOpOperand(0);
  for (auto [read, operand, found] :
       llvm::zip_equal(primitive.reads, op->getOpOperands(), coordinates))
    if (!read.isGathered &&
        !isBoxInLeaves(getShape(read.source), getMemoryStrides(read.source),
                       found, space.classes))
      return &operand;
  return nullptr;
}

/// The first of the views that lead to `value` whose map does not compose with
/// those after it; null if all do.
static Value findBreak(Value value) {
  AffineMap map = AffineMap::getMultiDimIdentityMap(getShape(value).size(),
                                                    value.getContext());
  Value source = value;
  while (auto view = source.getDefiningOp<IndexMapOp>()) {
    map = composeReads(map, getShape(value), view.getMap(), getShape(source),
                       getShape(view.getInput()));
    if (!map)
      return source;
    source = view.getInput();
  }
  return {};
}

static bool isCopy(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  return map && map.getInputs().size() == 1 &&
         map.getYielded() == map.getBody()->getArgument(0);
}

static Value getRoot(Value value) {
  while (auto view = value.getDefiningOp<IndexMapOp>())
    value = view.getInput();
  return value;
}

static bool isRowMajor(Value value) {
  return getMemoryStrides(value) == getRowMajorStrides(getShape(value));
}

namespace {

class Preparation {
public:
  Preparation(RewriterBase &rewriter, func::FuncOp function)
      : rewriter(rewriter), function(function) {}

  LogicalResult run();

private:
  LogicalResult checkOperations();
  LogicalResult checkFoldedSize(Operation &op);
  void duplicateConversions();
  LogicalResult makeReadable(Operation *op);
  Value chooseCopied(Operation *op, Value operand);
  void gatherOperand(OpOperand &operand);
  void copyResults();

  MapOp getCopy(Value value);

  RewriterBase &rewriter;
  func::FuncOp function;
  llvm::DenseMap<Value, MapOp> copies;
  SmallVector<Operation *> pending;
};

} // namespace

/// Of a contraction, whose chunks are counted: a number that is fixed when
/// compiling.
LogicalResult Preparation::checkFoldedSize(Operation &op) {
  auto contract = dyn_cast<ContractOp>(op);
  if (!contract)
    return success();
  SymbolicSizes sizes = SymbolicSizes::get(&op);
  SmallVector<int64_t> shape(contract.getIterationShape());
  for (size_t axis = contract.getType().getRank(); axis < shape.size(); ++axis)
    if (sizes.isSymbolic(shape[axis]))
      return op.emitOpError()
             << "sums over axis " << axis << " of size "
             << sizes.describe(shape[axis])
             << ", which is known when the program runs; compile for a fixed "
                "size of that axis";
  return success();
}

LogicalResult Preparation::checkOperations() {
  if (failed(verifyOneBlock(function, "deplo-fuse-vertical")))
    return failure();
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (op.hasTrait<IsPrimitive>() || isa<FusedOp>(op)) {
      if (failed(verifyFixedSizes(&op, "deplo-fuse-vertical")))
        return failure();
      if (failed(checkFoldedSize(op)))
        return failure();
      for (ValueRange values :
           {ValueRange(op.getOperands()), ValueRange(op.getResults())})
        for (Type type : values.getTypes())
          if (cast<RankedTensorType>(type).getNumElements() == 0)
            return op.emitOpError() << "computes with " << type
                                    << ", a kernel needs at least one element";
      continue;
    }
    if (isa<GraphDialect>(op.getDialect()))
      return op.emitOpError(
          "is not a primitive, run deplo-decompose before deplo-fuse-vertical");
    return op.emitOpError("can't be part of a kernel, deplo-fuse-vertical "
                          "takes primitives of the graph dialect");
  }
  return success();
}

void Preparation::duplicateConversions() {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!isWidening(&op))
      continue;
    SmallVector<OpOperand *> uses(
        llvm::make_pointer_range(op.getResult(0).getUses()));
    // In program order: the first reader keeps the original.
    llvm::sort(uses, [](OpOperand *x, OpOperand *y) {
      if (x->getOwner() == y->getOwner())
        return x->getOperandNumber() < y->getOperandNumber();
      return x->getOwner()->isBeforeInBlock(y->getOwner());
    });
    for (OpOperand *use : llvm::drop_begin(uses)) {
      rewriter.setInsertionPoint(use->getOwner());
      Operation *duplicate = rewriter.clone(op);
      duplicate->setLoc(use->getOwner()->getLoc());
      use->set(duplicate->getResult(0));
    }
  }
}

MapOp Preparation::getCopy(Value value) {
  MapOp &copy = copies[value];
  if (!copy) {
    rewriter.setInsertionPointAfterValue(value);
    copy = createCopy(rewriter, value.getLoc(), value);
    pending.push_back(copy);
  }
  return copy;
}

/// What a copy of makes `operand` of `op` readable, one of the views that lead
/// to it or their root; null if nothing does.
Value Preparation::chooseCopied(Operation *op, Value operand) {
  if (Value view = findBreak(operand))
    return view == operand ? Value() : view;
  if (!isCopy(op) && operand.getDefiningOp<IndexMapOp>())
    return operand; // loops of its own
  Value root = getRoot(operand);
  return root != operand && !isRowMajor(root) ? root : Value();
}

/// The map that `operand` is read through by its operation, if that has one: a
/// contraction.
static AffineMap getOwnMap(OpOperand &operand) {
  auto contract = dyn_cast<ContractOp>(operand.getOwner());
  if (!contract)
    return {};
  return operand.getOperandNumber() == 0 ? contract.getLhsMap()
                                         : contract.getRhsMap();
}

/// Makes a gather of the view that `operand` is: it reads at any coordinates. A
/// contraction then reads an element for each point of those of its coordinates
/// that the operand varies over: windows are taken apart.
void Preparation::gatherOperand(OpOperand &operand) {
  auto view = operand.get().getDefiningOp<IndexMapOp>();
  rewriter.setInsertionPoint(operand.getOwner());
  SmallVector<int64_t> shape(getShape(operand.get()));
  AffineMap map = rewriter.getMultiDimIdentityMap(shape.size());
  if (AffineMap own = getOwnMap(operand)) {
    auto contract = cast<ContractOp>(operand.getOwner());
    SmallVector<int64_t> extents = contract.getIterationShape();
    SmallVector<AffineExpr> used, coordinates(extents.size());
    shape.clear();
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      coordinates[dim] = rewriter.getAffineDimExpr(used.size());
      if (!own.isFunctionOfDim(dim))
        continue;
      used.push_back(rewriter.getAffineDimExpr(dim));
      shape.push_back(extent);
    }
    map = own.replaceDimsAndSymbols(coordinates, {}, used.size(), 0);
    auto projection = AffineMapAttr::get(
        AffineMap::get(extents.size(), 0, used, rewriter.getContext()));
    if (operand.getOperandNumber() == 0)
      contract.setLhsMapAttr(projection);
    else
      contract.setRhsMapAttr(projection);
  }
  auto gather = GatherOp::create(
      rewriter, getSourceLoc(operand.get().getLoc(), "copy"),
      RankedTensorType::get(shape, getElementTypeOrSelf(operand.get())),
      view ? view.getInput() : operand.get(), ValueRange(),
      view ? view.getMap().compose(map) : map,
      AffineMap::get(map.getNumDims(), 0, rewriter.getContext()));
  pending.push_back(gather);
  operand.set(gather.getResult());
}

LogicalResult Preparation::makeReadable(Operation *op) {
  while (OpOperand *operand = findUnreadable(op)) {
    Value copied = chooseCopied(op, operand->get());
    if (!copied) {
      gatherOperand(*operand);
      continue;
    }
    // The views between the copy and the operand.
    SmallVector<IndexMapOp> views;
    for (Value value = operand->get(); value != copied;) {
      views.push_back(value.getDefiningOp<IndexMapOp>());
      value = views.back().getInput();
    }
    Value value = getCopy(copied).getResult();
    rewriter.setInsertionPoint(op);
    for (IndexMapOp view : llvm::reverse(views)) {
      auto moved = cast<IndexMapOp>(rewriter.clone(*view));
      moved.getInputMutable().assign(value);
      value = moved.getResult();
    }
    operand->set(value);
  }
  return success();
}

/// A result that is an argument, a view, a constant or another result as well
/// needs a kernel that writes it.
void Preparation::copyResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::SmallPtrSet<Value, 8> returned;
  rewriter.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    bool isOfKernel = isComputed(value) || value.getDefiningOp<FusedOp>();
    bool isEmpty =
        cast<RankedTensorType>(value.getType()).getNumElements() == 0;
    if (isEmpty || (isOfKernel && returned.insert(value).second))
      continue;
    MapOp copy = createCopy(rewriter, value.getLoc(), value);
    operand.set(copy.getResult());
  }
}

LogicalResult Preparation::run() {
  if (failed(checkOperations()))
    return failure();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  duplicateConversions();
  copyResults();
  for (Operation &op : function.getBody().front())
    if (op.hasTrait<IsComputation>())
      pending.push_back(&op);
  // A group that is there already reads buffers only.
  for (auto fused : function.getOps<FusedOp>())
    for (OpOperand &operand : fused->getOpOperands())
      if (isa_and_nonnull<IndexMapOp, ConstantOp>(
              operand.get().getDefiningOp()))
        operand.set(getCopy(operand.get()).getResult());
  while (!pending.empty())
    if (failed(makeReadable(pending.pop_back_val())))
      return failure();
  return success();
}

LogicalResult makeReadable(RewriterBase &rewriter, func::FuncOp function) {
  return Preparation(rewriter, function).run();
}

} // namespace deplo::graph
