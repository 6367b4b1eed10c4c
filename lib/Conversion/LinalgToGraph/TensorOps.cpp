// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of tensors, constants, and arithmetic on whole tensors.

#include "Converters.h"
#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo {

TypedAttr getConstant(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return {};
  return dyn_cast<TypedAttr>(attribute);
}

LogicalResult verifyScalarOp(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
      llvm::all_of(op->getOperandTypes(), isScalar) &&
      llvm::all_of(op->getResultTypes(), isScalar) && op->getNumResults() == 1)
    return success();
  return op->emitOpError("is not arith or math on scalars with one result, "
                         "which is all that the region of graph.map holds");
}

static RankedTensorType getResultType(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

/// The same everywhere.
static FailureOr<Values> convertSplat(OpBuilder &builder, Operation *op,
                                      Value scalar) {
  TypedAttr value = getConstant(scalar);
  if (!value)
    return op->emitOpError("fills with a scalar that is not a constant, pass "
                           "it as a tensor of rank 0");
  auto splat = DenseElementsAttr::get(getResultType(op), Attribute(value));
  return Values{graph::ConstantOp::create(builder, op->getLoc(), splat)};
}

/// The elements of `input` under the shape of the result of `op`.
static Values reshape(OpBuilder &builder, Operation *op, Value input) {
  return {builder.createOrFold<graph::ReshapeOp>(op->getLoc(),
                                                 getResultType(op), input)};
}

static FailureOr<Values> convertSlice(OpBuilder &builder,
                                      tensor::ExtractSliceOp op) {
  // As types are static, so are sizes; offsets and strides may not be.
  if (ShapedType::isDynamicShape(op.getStaticOffsets()) ||
      ShapedType::isDynamicShape(op.getStaticStrides()))
    return op.emitOpError("has offsets or strides that are not constants");
  auto type =
      RankedTensorType::get(op.getStaticSizes(), op.getType().getElementType());
  Value slice = builder.createOrFold<graph::SliceOp>(
      op.getLoc(), type, op.getSource(), op.getStaticOffsets(),
      op.getStaticStrides());
  if (type == op.getType())
    return Values{slice};
  return reshape(builder, op, slice);
}

namespace {

/// `source` as a box of a larger tensor, from `offsets` on.
struct Box {
  Value source;
  SmallVector<int64_t> offsets;
};

} // namespace

/// A tensor of the type of `op`'s result that holds the elements of the first
/// box that each coordinate is in, and `fill` where it is in none.
static Values assemble(OpBuilder &builder, Operation *op, ArrayRef<Box> boxes,
                       TypedAttr fill) {
  RankedTensorType type = getResultType(op);
  int64_t rank = type.getRank();
  Values sources;
  SmallVector<AffineMap> maps, guards;
  for (const Box &box : boxes) {
    SmallVector<AffineExpr> coordinates, notNegative;
    auto shape = cast<RankedTensorType>(box.source.getType()).getShape();
    for (auto [axis, offset, size] : llvm::enumerate(box.offsets, shape)) {
      AffineExpr dim = builder.getAffineDimExpr(axis);
      coordinates.push_back(dim - offset);
      if (offset > 0)
        notNegative.push_back(dim - offset);
      if (offset + size < type.getDimSize(axis))
        notNegative.push_back(-dim + (offset + size - 1));
    }
    sources.push_back(box.source);
    maps.push_back(AffineMap::get(rank, 0, coordinates, builder.getContext()));
    guards.push_back(
        AffineMap::get(rank, 0, notNegative, builder.getContext()));
  }
  return {builder.createOrFold<graph::GatherOp>(
      op->getLoc(), type, sources, ValueRange(), maps, guards, fill)};
}

static FailureOr<Values> convertPad(OpBuilder &builder, tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  TypedAttr fill = padding ? getConstant(padding) : TypedAttr();
  if (!fill)
    return op.emitOpError("pads with something other than a constant");
  if (ShapedType::isDynamicShape(op.getStaticLow()))
    return op.emitOpError("has a padding whose size is not a constant");
  return assemble(builder, op,
                  {{op.getSource(), llvm::to_vector(op.getStaticLow())}}, fill);
}

static FailureOr<Values> convertConcat(OpBuilder &builder,
                                       tensor::ConcatOp op) {
  SmallVector<Box> boxes;
  SmallVector<int64_t> offsets(op.getResultType().getRank(), 0);
  for (Value input : op.getInputs()) {
    boxes.push_back({input, offsets});
    offsets[op.getDim()] +=
        cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
  }
  return assemble(builder, op, boxes, {});
}

static FailureOr<Values> convertInsert(OpBuilder &builder,
                                       tensor::InsertSliceOp op) {
  if (ShapedType::isDynamicShape(op.getStaticOffsets()))
    return op.emitOpError("has offsets that are not constants");
  if (!op.hasUnitStride())
    return op.emitOpError("has strides other than 1");
  auto type = RankedTensorType::get(op.getStaticSizes(),
                                    op.getSourceType().getElementType());
  Value source = op.getSource();
  if (type != source.getType()) // axes of size 1 are left out
    source = builder.createOrFold<graph::ReshapeOp>(op.getLoc(), type, source);
  SmallVector<int64_t> zeros(op.getDestType().getRank(), 0);
  return assemble(
      builder, op,
      {{source, llvm::to_vector(op.getStaticOffsets())}, {op.getDest(), zeros}},
      {});
}

/// An operation of arith or math on tensors: the same on each element.
static FailureOr<Values> convertElementwise(OpBuilder &builder, Operation *op) {
  Values tensors;
  SmallVector<TypedAttr> constants; // of the operands that are scalars
  for (Value operand : op->getOperands()) {
    constants.push_back({});
    if (isa<RankedTensorType>(operand.getType()))
      tensors.push_back(operand);
    else if (!(constants.back() = getConstant(operand)))
      return op->emitOpError()
             << "operand " << constants.size() - 1
             << " is a scalar that is not a constant, pass it as a tensor";
  }
  auto body = [&](OpBuilder &inner, Location loc, ValueRange elements) {
    OperationState state(loc, op->getName());
    for (TypedAttr constant : constants) {
      if (constant)
        state.operands.push_back(
            arith::ConstantOp::create(inner, loc, constant));
      else
        state.operands.push_back(elements.front()),
            elements = elements.drop_front();
    }
    state.addTypes(getResultType(op).getElementType());
    state.addAttributes(op->getAttrs());
    return inner.create(state)->getResult(0);
  };
  return Values{graph::MapOp::create(builder, op->getLoc(), getResultType(op),
                                     tensors, body)};
}

FailureOr<Values> convertTensorOp(OpBuilder &builder, Operation *op) {
  using Result = FailureOr<Values>;
  Location loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp constant) -> Result {
        auto value = dyn_cast<ElementsAttr>(constant.getValue());
        if (!value)
          return constant.emitOpError("has no elements");
        return Values{graph::ConstantOp::create(builder, loc, value)};
      })
      .Case([&](tensor::EmptyOp empty) -> Result {
        // Nobody may depend on what it holds.
        Type element = empty.getType().getElementType();
        auto zero = DenseElementsAttr::get(empty.getType(),
                                           builder.getZeroAttr(element));
        return Values{graph::ConstantOp::create(builder, loc, zero)};
      })
      .Case([&](tensor::SplatOp splat) -> Result {
        if (!splat.getDynamicSizes().empty())
          return splat.emitOpError("has sizes that are not constants");
        return convertSplat(builder, splat, splat.getInput());
      })
      .Case([&](tensor::CastOp cast) -> Result {
        return Values{cast.getSource()}; // fixed sizes: to the same type
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [&](auto view) -> Result {
            return reshape(builder, view, view.getSrc());
          })
      .Case([&](tensor::ExtractSliceOp slice) {
        return convertSlice(builder, slice);
      })
      .Case([&](tensor::PadOp pad) { return convertPad(builder, pad); })
      .Case([&](tensor::ConcatOp concat) {
        return convertConcat(builder, concat);
      })
      .Case([&](tensor::InsertSliceOp insert) {
        return convertInsert(builder, insert);
      })
      .Case([&](linalg::SoftmaxOp softmax) -> Result {
        return Values{graph::SoftmaxOp::create(builder, loc, getResultType(op),
                                               softmax.getInput(),
                                               softmax.getDimension())};
      })
      .Default([&](Operation *) -> Result {
        if (OpTrait::hasElementwiseMappableTraits(op) &&
            op->getNumResults() == 1)
          return convertElementwise(builder, op);
        return op->emitOpError("has no counterpart in the graph dialect; leave "
                               "it to a function that deplo isn't given");
      });
}

} // namespace deplo
