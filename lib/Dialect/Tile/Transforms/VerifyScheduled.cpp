// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Transforms/Transforms.h"

using namespace mlir;

namespace deplo::tile {

static LogicalResult verifyTile(Operation *op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || getLayout(type))
    return success();
  return op->emitOpError()
         << "has the tile " << type
         << " without a layout; run deplo-register-tile first";
}

/// wgmma knows no other swizzles than those of rows or of their pieces.
static LogicalResult verifyOperands(AsyncDotOp dot) {
  for (BufferType type : {dot.getLhs().getType(), dot.getRhs().getType()}) {
    int64_t rowBytes = type.getShape().back() *
                       type.getElementType().getIntOrFloatBitWidth() / 8;
    constexpr int64_t longest = 128;
    SharedAttr layout = type.getLayout();
    if (layout.getSwizzle() != std::min(rowBytes, longest) ||
        layout.getSplit() != (rowBytes > longest))
      return dot.emitOpError()
             << "reads " << type << ", expected a swizzle of its rows of "
             << rowBytes << " bytes; run deplo-split-inner-for-swizzle first";
  }
  return success();
}

static LogicalResult verifyOp(Operation *op) {
  if (auto dot = dyn_cast<AsyncDotOp>(op); dot && failed(verifyOperands(dot)))
    return failure();
  for (Value result : op->getResults())
    if (failed(verifyTile(op, result)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        if (failed(verifyTile(op, argument)))
          return failure();
  return success();
}

LogicalResult verifyScheduled(KernelOp kernel) {
  if (!kernel.getWarps())
    return kernel.emitOpError(
        "has no number of warps; run deplo-blockify-launch first");
  WalkResult result = kernel.getBody()->walk([](Operation *op) {
    return failed(verifyOp(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace deplo::tile
