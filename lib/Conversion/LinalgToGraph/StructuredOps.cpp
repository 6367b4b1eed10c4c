// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linalg.generic and the operations that are one with a name. Operands are read
// through their indexing maps at every point of the loops, a graph.map computes
// what the region does with them, and reduction loops are a graph.reduce of
// what the region combines the accumulator with. Sums of products of two
// operands whose elements are used over and over are a graph.contract.

#include "Converters.h"
#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Monoid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo {

namespace {

class StructuredOp {
public:
  StructuredOp(OpBuilder &builder, linalg::LinalgOp op)
      : builder(builder), op(op), loc(op.getLoc()),
        extents(op.getStaticLoopRanges()) {
    op.getReductionDims(reductions);
  }

  FailureOr<Values> convert();

private:
  struct Reduction {
    Monoid kind;
    Value term;
  };

  FailureOr<Value> convertInit(OpOperand &init);
  FailureOr<Reduction> findReduction(OpOperand &init);
  FailureOr<Value> reduce(const Reduction &reduction, OpOperand &init);
  OpOperand *findElement(Value scalar);
  bool isReused(OpOperand &operand);
  bool isSummedOver(OpOperand &lhs, OpOperand &rhs);
  Value contract(OpOperand &lhs, OpOperand &rhs, OpOperand &init);
  Value getYielded(OpOperand &init);
  FailureOr<Value> computeEverywhere(Value scalar);
  LogicalResult findSlice(Value scalar, llvm::SetVector<Operation *> &slice,
                          llvm::SetVector<OpOperand *> &operands);
  Value readEverywhere(OpOperand &operand);
  FailureOr<Value> write(Value value, OpOperand &init);
  Value combineWithInit(Monoid kind, Value init, Value value);
  Value indexMap(Value value, ArrayRef<int64_t> shape, AffineMap map);
  bool dependsOnInit(Value scalar);

  OpBuilder &builder;
  linalg::LinalgOp op;
  Location loc;
  SmallVector<int64_t> extents;
  SmallVector<unsigned> reductions;
};

} // namespace

/// The monoid that `op` combines two values with.
static std::optional<Monoid> getMonoid(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Monoid>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Monoid::Add; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Monoid::Mul; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>([](auto) { return Monoid::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>([](auto) { return Monoid::Min; })
      .Default([](Operation *) { return std::nullopt; });
}

FailureOr<Values> StructuredOp::convert() {
  if (!op.hasPureTensorSemantics())
    return op->emitOpError("is on memrefs, expected tensors");
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
    if (TypedAttr value = getConstant(fill.value());
        value && value.getType() == getElementTypeOrSelf(fill.result()))
      return Values{graph::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(cast<ShapedType>(fill.result().getType()),
                                 Attribute(value)))};
  Values results;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    FailureOr<Value> result = convertInit(init);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

FailureOr<Value> StructuredOp::convertInit(OpOperand &init) {
  if (reductions.empty()) {
    FailureOr<Value> value = computeEverywhere(getYielded(init));
    return failed(value) ? value : write(*value, init);
  }
  FailureOr<Reduction> reduction = findReduction(init);
  if (failed(reduction))
    return failure();
  FailureOr<Value> reduced = reduce(*reduction, init);
  if (failed(reduced))
    return failure();
  FailureOr<Value> value = write(*reduced, init);
  if (failed(value))
    return failure();
  return combineWithInit(reduction->kind, init.get(), *value);
}

/// The reduction's value, with an axis for each parallel loop.
FailureOr<Value> StructuredOp::reduce(const Reduction &reduction,
                                      OpOperand &init) {
  Operation *product = reduction.term.getDefiningOp();
  if (reduction.kind == Monoid::Add && product &&
      isa<arith::MulFOp, arith::MulIOp>(product)) {
    OpOperand *lhs = findElement(product->getOperand(0));
    OpOperand *rhs = findElement(product->getOperand(1));
    // A graph.map of all products would be far larger than the operands.
    if (lhs && rhs && isReused(*lhs) && isReused(*rhs) &&
        isSummedOver(*lhs, *rhs)) {
      if (!isa<FloatType>(getElementTypeOrSelf(lhs->get())) ||
          getElementTypeOrSelf(lhs->get()) != getElementTypeOrSelf(rhs->get()))
        return op->emitOpError()
               << "is a contraction of " << lhs->get().getType() << " and "
               << rhs->get().getType()
               << ", expected floats of one type; leave it to a function that "
                  "deplo isn't given";
      return contract(*lhs, *rhs, init);
    }
  }
  FailureOr<Value> terms = computeEverywhere(reduction.term);
  if (failed(terms))
    return failure();
  SmallVector<int64_t> axes(reductions.begin(), reductions.end());
  return builder.createOrFold<graph::ReduceOp>(loc, reduction.kind, *terms,
                                               axes);
}

/// The operand that `scalar` is an element of, exactly, if there is one.
OpOperand *StructuredOp::findElement(Value scalar) {
  if (Operation *extension = scalar.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(extension))
    scalar = extension->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (!argument || argument.getOwner() != op.getBlock())
    return nullptr;
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  return isa<RankedTensorType>(operand.get().getType()) ? &operand : nullptr;
}

/// Whether each element is read at several points of the parallel loops.
bool StructuredOp::isReused(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (extent != 1 && !llvm::is_contained(reductions, loop) &&
        !map.isFunctionOfDim(loop))
      return true;
  return false;
}

/// Whether each reduction loop goes along an axis of one of them by itself.
bool StructuredOp::isSummedOver(OpOperand &lhs, OpOperand &rhs) {
  return llvm::all_of(reductions, [&](unsigned loop) {
    AffineExpr coordinate = builder.getAffineDimExpr(loop);
    return op.getMatchingIndexingMap(&lhs).getResultPosition(coordinate) ||
           op.getMatchingIndexingMap(&rhs).getResultPosition(coordinate);
  });
}

/// Sums of products of both, in the accumulator's type: graph.contract rounds
/// once what linalg rounds at each step.
Value StructuredOp::contract(OpOperand &lhs, OpOperand &rhs, OpOperand &init) {
  // The coordinates of the result come first, and then those summed over.
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> coordinates(extents.size());
  auto place = [&](unsigned loop) {
    coordinates[loop] = builder.getAffineDimExpr(shape.size());
    shape.push_back(extents[loop]);
  };
  for (unsigned loop = 0; loop != extents.size(); ++loop)
    if (!llvm::is_contained(reductions, loop))
      place(loop);
  const size_t rank = shape.size();
  llvm::for_each(reductions, place);
  auto getMap = [&](OpOperand &operand) {
    return AffineMapAttr::get(
        op.getMatchingIndexingMap(&operand).replaceDimsAndSymbols(
            coordinates, {}, extents.size(), 0));
  };
  shape.truncate(rank);
  return graph::ContractOp::create(
      builder, loc,
      RankedTensorType::get(shape, getElementTypeOrSelf(init.get())), lhs.get(),
      getMap(lhs), rhs.get(), getMap(rhs));
}

Value StructuredOp::getYielded(OpOperand &init) {
  return op.getMatchingYieldValue(&init)->get();
}

bool StructuredOp::dependsOnInit(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (argument && argument.getOwner() == op.getBlock())
    return argument.getArgNumber() >= unsigned(op.getNumDpsInputs());
  Operation *definition = scalar.getDefiningOp();
  return definition && definition->getBlock() == op.getBlock() &&
         llvm::any_of(definition->getOperands(),
                      [&](Value operand) { return dependsOnInit(operand); });
}

FailureOr<StructuredOp::Reduction>
StructuredOp::findReduction(OpOperand &init) {
  BlockArgument accumulator = op.getMatchingBlockArgument(&init);
  Operation *combiner = getYielded(init).getDefiningOp();
  std::optional<Monoid> kind;
  if (combiner && combiner->getBlock() == op.getBlock())
    kind = getMonoid(combiner);
  for (unsigned i : {0, 1}) {
    if (!kind || combiner->getOperand(i) != accumulator)
      continue;
    Value term = combiner->getOperand(1 - i);
    if (!dependsOnInit(term))
      return Reduction{*kind, term};
  }
  return op->emitOpError()
         << "result " << init.getOperandNumber() - op.getNumDpsInputs()
         << " is not reduced by one addf, mulf, maximumf, minimumf, addi, "
            "muli, maxsi or minsi of the accumulator and a term";
}

/// What of the region `scalar` needs, and which tensors' elements.
LogicalResult StructuredOp::findSlice(Value scalar,
                                      llvm::SetVector<Operation *> &slice,
                                      llvm::SetVector<OpOperand *> &operands) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    if (!isa<RankedTensorType>(operand.get().getType())) {
      if (!getConstant(operand.get()))
        return op->emitOpError()
               << "operand " << operand.getOperandNumber()
               << " is a scalar that is not a constant, pass it as a tensor";
      return success();
    }
    operands.insert(&operand);
    return success();
  }
  Operation *definition = scalar.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock()) {
    if (getConstant(scalar))
      return success();
    return op->emitOpError("region uses a value from outside that is not a "
                           "constant, pass it as an operand");
  }
  if (slice.contains(definition))
    return success();
  if (!isa<linalg::IndexOp>(definition) && failed(verifyScalarOp(definition)))
    return failure();
  for (Value operand : definition->getOperands())
    if (failed(findSlice(operand, slice, operands)))
      return failure();
  slice.insert(definition); // after what it needs
  return success();
}

/// Numbers of type index are i64 in graph.
static Type getScalarType(Type type) {
  return type.isIndex() ? IntegerType::get(type.getContext(), 64) : type;
}

static Value createConstant(OpBuilder &builder, Location loc, TypedAttr value) {
  if (value.getType().isIndex())
    value = builder.getI64IntegerAttr(cast<IntegerAttr>(value).getInt());
  return arith::ConstantOp::create(builder, loc, value);
}

/// `value` as an integer of `type`.
static Value resize(OpBuilder &builder, Location loc, Value value, Type type,
                    bool isSigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  if (from > to)
    return arith::TruncIOp::create(builder, loc, type, value);
  if (from == to)
    return value;
  if (isSigned)
    return arith::ExtSIOp::create(builder, loc, type, value);
  return arith::ExtUIOp::create(builder, loc, type, value);
}

/// What `part` of a region of linalg is in the region of a graph.map.
static Value translate(OpBuilder &builder, Operation *part,
                       IRMapping &mapping) {
  Location loc = part->getLoc();
  Type type = getScalarType(part->getResult(0).getType());
  if (auto index = dyn_cast<linalg::IndexOp>(part))
    return graph::IndexOp::create(builder, loc, type, index.getDim());
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(part))
    return resize(builder, loc, mapping.lookup(part->getOperand(0)), type,
                  isa<arith::IndexCastOp>(part));
  if (TypedAttr constant = getConstant(part->getResult(0)))
    return createConstant(builder, loc, constant);
  Operation *copy = builder.clone(*part, mapping);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

/// The region's `scalar` at every point of the loops.
FailureOr<Value> StructuredOp::computeEverywhere(Value scalar) {
  llvm::SetVector<Operation *> slice;
  llvm::SetVector<OpOperand *> operands;
  if (failed(findSlice(scalar, slice, operands)))
    return failure();
  if (slice.empty() && operands.size() == 1)
    return readEverywhere(*operands.front());

  Values inputs;
  for (OpOperand *operand : operands)
    inputs.push_back(readEverywhere(*operand));
  auto body = [&](OpBuilder &inner, Location, ValueRange elements) {
    IRMapping mapping;
    for (auto [operand, element] : llvm::zip(operands, elements))
      mapping.map(op.getMatchingBlockArgument(operand), element);
    // Constants: operands that are scalars, and values from outside.
    auto use = [&](Value value) {
      if (mapping.contains(value))
        return;
      Value source = value;
      if (auto argument = dyn_cast<BlockArgument>(value))
        source = op->getOperand(argument.getArgNumber());
      mapping.map(value, createConstant(inner, loc, getConstant(source)));
    };
    for (Operation *part : slice) {
      llvm::for_each(part->getOperands(), use);
      mapping.map(part->getResult(0), translate(inner, part, mapping));
    }
    use(scalar);
    return mapping.lookup(scalar);
  };
  auto type = RankedTensorType::get(extents, scalar.getType());
  return Value(graph::MapOp::create(builder, loc, type, inputs, body));
}

Value StructuredOp::indexMap(Value value, ArrayRef<int64_t> shape,
                             AffineMap map) {
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  return builder.createOrFold<graph::IndexMapOp>(
      loc, type, value, AffineMapAttr::get(simplifyInRange(map, shape)));
}

Value StructuredOp::readEverywhere(OpOperand &operand) {
  return indexMap(operand.get(), extents, op.getMatchingIndexingMap(&operand));
}

/// `value`, which has an axis for each parallel loop, where the loops write it.
FailureOr<Value> StructuredOp::write(Value value, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  auto type = cast<RankedTensorType>(init.get().getType());
  // Where each parallel loop goes, or 0 if it has one iteration.
  SmallVector<AffineExpr> coordinates;
  unsigned used = 0;
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    if (llvm::is_contained(reductions, loop))
      continue;
    std::optional<unsigned> position =
        map.getResultPosition(builder.getAffineDimExpr(loop));
    used += position.has_value();
    if (!position && extent != 1)
      return op->emitOpError() << "writes through " << AffineMapAttr::get(map)
                               << ", in which loop " << loop << " is missing";
    coordinates.push_back(position ? builder.getAffineDimExpr(*position)
                                   : builder.getAffineConstantExpr(0));
  }
  auto isZero = [](AffineExpr expr) { return expr == 0; };
  if (used + llvm::count_if(map.getResults(), isZero) != map.getNumResults())
    return op->emitOpError() << "writes through " << AffineMapAttr::get(map)
                             << ", expected each parallel loop once";
  return indexMap(
      value, type.getShape(),
      AffineMap::get(type.getRank(), 0, coordinates, builder.getContext()));
}

/// `value` and what is in `init` before.
Value StructuredOp::combineWithInit(Monoid kind, Value init, Value value) {
  auto type = cast<RankedTensorType>(init.getType());
  SplatElementsAttr splat;
  if (matchPattern(init, m_Constant(&splat)) &&
      splat.getSplatValue<Attribute>() ==
          Attribute(getIdentity(kind, type.getElementType())))
    return value;
  return graph::MapOp::create(
      builder, loc, type, {init, value},
      [&](OpBuilder &inner, Location, ValueRange elements) {
        return combine(inner, loc, kind, elements[0], elements[1]);
      });
}

FailureOr<Values> convertStructuredOp(OpBuilder &builder, linalg::LinalgOp op) {
  return StructuredOp(builder, op).convert();
}

} // namespace deplo
