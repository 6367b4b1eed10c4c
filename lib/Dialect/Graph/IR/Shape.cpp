// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Graph/IR/Shape.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::graph {

std::string describeSize(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

LogicalResult verifyAxes(Operation *op, ArrayRef<int64_t> axes, int64_t rank) {
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      return op->emitOpError()
             << "axis " << axis << " is not one of the operand's " << rank;
    if (axis <= previous)
      return op->emitOpError()
             << "axes must increase, got " << axis << " after " << previous;
    previous = axis;
  }
  return success();
}

LogicalResult verifyShape(Operation *op, RankedTensorType type,
                          ArrayRef<int64_t> shape) {
  if (type.getShape() == shape)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << "result is " << type
                                                    << ", expected the shape [";
  llvm::interleave(
      shape, [&](int64_t size) { diagnostic << describeSize(size); },
      [&] { diagnostic << ", "; });
  return diagnostic << "]";
}

static bool isCountable(RankedTensorType type) {
  constexpr int64_t maxElementBytes = 8;
  int64_t bytes = maxElementBytes;
  for (int64_t size : type.getShape())
    if (size != 0 && llvm::MulOverflow(bytes, size, bytes))
      return false;
  return true;
}

LogicalResult verifyFixedSizes(Operation *op, StringRef pass) {
  auto verify = [&](Type type) -> LogicalResult {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.hasStaticShape())
      return op->emitOpError() << "has the symbolic size of " << type << ", "
                               << pass << " needs fixed sizes";
    if (!isCountable(tensor))
      return op->emitOpError()
             << "has " << type << ", more bytes than 64 bits count";
    return success();
  };
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (failed(verify(type)))
        return failure();
  return success();
}

LogicalResult verifyOneBlock(FunctionOpInterface function, StringRef pass) {
  if (function.getFunctionBody().hasOneBlock())
    return success();
  return function.emitOpError()
         << "has control flow, " << pass << " needs a single block";
}

SmallVector<int64_t> getReducedShape(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<int64_t> reduced;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      reduced.push_back(size);
    else if (keepdims)
      reduced.push_back(1);
  }
  return reduced;
}

} // namespace deplo::graph
