// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "deplo/Analysis/ContractionLayouts.h"

using namespace mlir;

namespace deplo::tile {

LogicalResult ClusterReduceScatterOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel || !kernel.getClusterAxis()) // C1
    return emitOpError(
        "is not directly in a tile.kernel that has a cluster axis");
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  int64_t dim = getDim(), blocks = kernel.getClusterBlocks();
  if (dim < 0 || dim >= input.getRank()) // C2
    return emitOpError() << "has the dim " << dim << ", its operand has "
                         << input.getRank() << " dimensions";
  SmallVector<int64_t> shape(input.getShape());
  bool isWhole = shape[dim] % blocks == 0;
  shape[dim] /= blocks;
  if (!input.getElementType().isF32() || !result.getElementType().isF32() ||
      !isWhole || result.getShape() != ArrayRef<int64_t>(shape)) // C2
    return emitOpError() << "gives " << result << " of " << input
                         << ", expected f32 and one of " << blocks
                         << " equal parts along dimension " << dim;
  LayoutAttr ofInput = getLayout(getInput()), ofResult = getLayout(getResult());
  if (!ofInput || !ofResult)
    return success();
  llvm::Expected<LinearLayout> wanted =
      getScatteredLayout(ofInput.getLinearLayout(), dim, blocks);
  if (!wanted) // C3
    return emitOpError() << "can't be divided among blocks: "
                         << llvm::toString(wanted.takeError());
  if (ofResult.getLinearLayout() != *wanted) // C3
    return emitOpError("has another layout than what its operand's leaves");
  return success();
}

} // namespace deplo::tile

#define GET_OP_CLASSES
#include "deplo/Dialect/Tile/IR/TileClusterOps.cpp.inc"
