// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and folders of the named tier. A fold never changes a value: no
// rounding, NaN, infinity or sign of zero comes out differently, so that
// x + 0 (which turns -0.0 into 0.0) and a narrowing cast stay.

#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Graph/IR/Shape.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace deplo::graph;

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getInput().getDefiningOp<NegOp>())
    return inner.getInput();
  return {};
}

/// C2 of the binary operators, beyond what their trait checks: a result that
/// neither operand gives a size may not have one.
template <typename BinaryOp> static LogicalResult verifyBinary(BinaryOp op) {
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  SmallVector<int64_t> shape;
  bool isFixed = lhs.hasStaticShape() && rhs.hasStaticShape();
  if (!isFixed || !OpTrait::util::getBroadcastedShape(lhs.getShape(),
                                                      rhs.getShape(), shape))
    return success();
  return verifyShape(op, op.getType(), shape);
}

LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }
LogicalResult PowOp::verify() { return verifyBinary(*this); }
LogicalResult MaximumOp::verify() { return verifyBinary(*this); }
LogicalResult MinimumOp::verify() { return verifyBinary(*this); }

/// Whether every value of `from` is a value of `to`.
static bool isExactIn(FloatType from, FloatType to) {
  const llvm::fltSemantics &a = from.getFloatSemantics();
  const llvm::fltSemantics &b = to.getFloatSemantics();
  return llvm::APFloat::semanticsPrecision(a) <=
             llvm::APFloat::semanticsPrecision(b) &&
         llvm::APFloat::semanticsMaxExponent(a) <=
             llvm::APFloat::semanticsMaxExponent(b) &&
         llvm::APFloat::semanticsMinExponent(a) >=
             llvm::APFloat::semanticsMinExponent(b);
}

static FloatType getFloatElement(Value value) {
  return cast<FloatType>(getElementTypeOrSelf(value));
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // Through a wider type and back; the other way round the value was rounded.
  auto inner = getInput().getDefiningOp<CastOp>();
  if (inner && inner.getInput().getType() == getType() &&
      isExactIn(getFloatElement(inner.getInput()), getFloatElement(getInput())))
    return inner.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// Reductions and normalisations
//===----------------------------------------------------------------------===//

/// C1 and C2 of the reductions.
static LogicalResult verifyReduction(Operation *op, Value input, Value result,
                                     ArrayRef<int64_t> axes, bool keepdims) {
  auto inputType = cast<RankedTensorType>(input.getType());
  if (failed(verifyAxes(op, axes, inputType.getRank()))) // C1
    return failure();
  SmallVector<int64_t> shape =
      getReducedShape(inputType.getShape(), axes, keepdims);
  return verifyShape(op, cast<RankedTensorType>(result.getType()),
                     shape); // C2
}

/// C3 of amax and amin: nothing has no largest element.
static LogicalResult verifyNotEmpty(Operation *op, Value input,
                                    ArrayRef<int64_t> axes) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
  for (int64_t axis : axes)
    if (shape[axis] == 0)
      return op->emitOpError()
             << "axis " << axis << " is empty, it has no extreme element";
  return success();
}

LogicalResult SumOp::verify() {
  return verifyReduction(*this, getInput(), getResult(), getAxes(),
                         getKeepdims());
}

LogicalResult MeanOp::verify() {
  return verifyReduction(*this, getInput(), getResult(), getAxes(),
                         getKeepdims());
}

LogicalResult ProdOp::verify() {
  return verifyReduction(*this, getInput(), getResult(), getAxes(),
                         getKeepdims());
}

LogicalResult AmaxOp::verify() {
  if (failed(verifyReduction(*this, getInput(), getResult(), getAxes(),
                             getKeepdims())))
    return failure();
  return verifyNotEmpty(*this, getInput(), getAxes()); // C3
}

LogicalResult AminOp::verify() {
  if (failed(verifyReduction(*this, getInput(), getResult(), getAxes(),
                             getKeepdims())))
    return failure();
  return verifyNotEmpty(*this, getInput(), getAxes()); // C3
}

LogicalResult VarOp::verify() {
  if (failed(verifyReduction(*this, getInput(), getResult(), getAxes(),
                             getKeepdims())))
    return failure();
  double correction = getCorrection().convertToDouble();
  if (!(correction >= 0)) // C3
    return emitOpError() << "correction must not be negative, got "
                         << correction;
  return success();
}

/// C1 and C2 of the normalisations.
template <typename NormOp> static LogicalResult verifyNorm(NormOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t rank = op.getRank();
  if (rank < 1 || rank > type.getRank()) // C1
    return op.emitOpError()
           << "rank is " << rank << ", expected 1 to " << type.getRank();
  ArrayRef<int64_t> trailing = type.getShape().take_back(rank);
  for (auto [name, value] :
       {std::pair("weight", op.getWeight()), std::pair("bias", op.getBias())}) {
    if (!value)
      continue;
    auto valueType = cast<RankedTensorType>(value.getType());
    if (valueType.getShape() != trailing) // C2
      return op.emitOpError()
             << name << " is " << valueType << ", expected the shape of the "
             << "operand's last " << rank << " axes";
  }
  return success();
}

LogicalResult RmsNormOp::verify() {
  if (getBias()) // C3
    return emitOpError("has no bias, add it with graph.add");
  return verifyNorm(*this);
}

LogicalResult LayerNormOp::verify() { return verifyNorm(*this); }

/// C1 of operators along one axis.
template <typename OpTy> static LogicalResult verifyAxis(OpTy op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= type.getRank()) // C1
    return op.emitOpError() << "axis is " << axis << ", the operand has "
                            << type.getRank() << " axes";
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this); }

LogicalResult LogSoftmaxOp::verify() { return verifyAxis(*this); }

LogicalResult ScanOp::verify() {
  if (failed(verifyAxis(*this))) // C1
    return failure();
  return verifyMonoid(*this, getKind(), getType()); // C2
}

/// Of one element each, a scan is its operand.
OpFoldResult ScanOp::fold(FoldAdaptor) {
  return getType().getDimSize(getAxis()) == 1 ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A view of equal elements is a smaller or larger tensor of them.
static OpFoldResult foldSplat(Attribute input, Value result) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(input);
  auto type = cast<RankedTensorType>(result.getType());
  if (!splat || !type.hasStaticShape())
    return {};
  return DenseElementsAttr::get(type, splat.getSplatValue<Attribute>());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements()) // C1
    return emitOpError() << "the operand has " << from.getNumElements()
                         << " elements, the result " << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  // Only a static shape says that sizes are the same.
  bool isSame = getInput().getType() == getType() && getType().hasStaticShape();
  if (isSame)
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getResult());
}

LogicalResult PermuteOp::verify() {
  RankedTensorType from = getInput().getType();
  ArrayRef<int64_t> permutation = getPermutation();
  if (static_cast<int64_t>(permutation.size()) != from.getRank() ||
      !isPermutationVector(permutation)) // C1
    return emitOpError() << "[" << permutation << "] is not a permutation of "
                         << "the operand's " << from.getRank() << " axes";
  return verifyShape(*this, getType(),
                     applyPermutation(from.getShape(), permutation)); // C2
}

OpFoldResult PermuteOp::fold(FoldAdaptor adaptor) {
  if (isIdentityPermutation(getPermutation()))
    return getInput();
  if (auto inner = getInput().getDefiningOp<PermuteOp>()) {
    setPermutation(applyPermutation(inner.getPermutation(), getPermutation()));
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getResult());
}

LogicalResult ExpandOp::verify() {
  ArrayRef<int64_t> from = getInput().getType().getShape();
  ArrayRef<int64_t> to = getType().getShape();
  if (from.size() > to.size()) // C1
    return emitOpError() << "the operand has " << from.size()
                         << " axes, more than the result's " << to.size();
  for (auto [axis, size, target] :
       llvm::enumerate(from, to.take_back(from.size())))
    if (size != 1 && size != target) // C1
      return emitOpError() << "operand axis " << axis << " has size "
                           << describeSize(size) << ", expected 1 or "
                           << describeSize(target);
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ExpandOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getResult());
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  size_t rank = from.getRank();
  if (getOffsets().size() != rank || getStrides().size() != rank) // C1
    return emitOpError() << "has " << getOffsets().size() << " offsets and "
                         << getStrides().size() << " strides for " << rank
                         << " axes";
  if (to.getRank() != from.getRank()) // C2
    return emitOpError() << "the result has " << to.getRank()
                         << " axes, expected the operand's " << rank;
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t offset = getOffsets()[axis], stride = getStrides()[axis];
    if (stride <= 0) // C1
      return emitOpError() << "the stride of axis " << axis
                           << " must be positive, got " << stride;
    int64_t size = from.getDimSize(axis), count = to.getDimSize(axis);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count))
      continue;
    int64_t last;
    bool overflows = count > 0 && (llvm::MulOverflow(count - 1, stride, last) ||
                                   llvm::AddOverflow(last, offset, last));
    if (offset < 0 || offset > size ||
        (count > 0 && (overflows || last >= size))) // C2
      return emitOpError() << "axis " << axis << " reads " << count
                           << " elements from " << offset << " by " << stride
                           << ", the operand has " << size;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 getType().hasStaticShape() &&
                 llvm::all_of(getOffsets(), [](int64_t o) { return o == 0; }) &&
                 llvm::all_of(getStrides(), [](int64_t s) { return s == 1; });
  if (isWhole)
    return getInput();
  if (auto inner = getInput().getDefiningOp<SliceOp>()) {
    SmallVector<int64_t> offsets, strides;
    for (auto [offset, stride, innerOffset, innerStride] :
         llvm::zip(getOffsets(), getStrides(), inner.getOffsets(),
                   inner.getStrides())) {
      offsets.push_back(innerOffset + offset * innerStride);
      strides.push_back(stride * innerStride);
    }
    setOffsets(offsets);
    setStrides(strides);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getResult());
}
