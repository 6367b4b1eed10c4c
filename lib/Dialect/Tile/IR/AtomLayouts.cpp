// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that the atom of a tile.dot wants of its tiles.

#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

using namespace mlir;

namespace deplo::tile {

/// The last dimension of the result that `dims` has and `others` has not.
static unsigned getOwnDim(RankedTensorType result, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> others) {
  for (int64_t dim = result.getRank() - 1; dim >= 0; --dim)
    if (llvm::is_contained(dims, dim) && !llvm::is_contained(others, dim) &&
        result.getDimSize(dim) > 1)
      return dim;
  return llvm::is_contained(dims, 0) ? 0 : result.getRank() - 1;
}

std::pair<unsigned, unsigned> DotOp::getRowAndColumn() {
  return {getOwnDim(getType(), getLhsDims(), getRhsDims()),
          getOwnDim(getType(), getRhsDims(), getLhsDims())};
}

std::pair<unsigned, unsigned> AsyncDotOp::getRowAndColumn() {
  RankedTensorType type = getResult().getType();
  return {getOwnDim(type, getLhsDims(), getRhsDims()),
          getOwnDim(type, getRhsDims(), getLhsDims())};
}

int64_t DotOp::getAtomDepth() {
  // Pieces of 16 bits take the place of their f32.
  if (llvm::is_contained({Precision::F32, Precision::F32Fast}, getPrecision()))
    return getMmaK(/*elementBits=*/16);
  return getMmaK(getLhs().getType().getElementTypeBitWidth());
}

Type AsyncDotOp::getAtomElement() {
  TypedValue<BufferType> operand =
      areInMemory(getRhs(), getRhsDims()) ? getRhs() : getLhs();
  return operand.getType().getElementType();
}

int64_t AsyncDotOp::getAtomDepth() {
  return getMmaK(getAtomElement().getIntOrFloatBitWidth());
}

llvm::Expected<LinearLayout> getAtomLayout(AsyncDotOp dot) {
  auto [row, column] = dot.getRowAndColumn();
  return getWgmmaAccumulator({dot.getResult().getType().getShape(),
                              dot.getAtom().getWarps(), row, column,
                              dot.getAtomElement().getIntOrFloatBitWidth()});
}

llvm::Expected<DotLayouts> getAtomLayouts(DotOp dot) {
  auto [row, column] = dot.getRowAndColumn();
  MmaTiling tiling{dot.getType().getShape(), dot.getAtomAttr().getWarps(), row,
                   column, dot.getLhs().getType().getElementTypeBitWidth()};
  DotLayouts layouts;
  auto set = [](LinearLayout &layout,
                llvm::Expected<LinearLayout> wanted) -> llvm::Error {
    if (!wanted)
      return wanted.takeError();
    layout = *wanted;
    return llvm::Error::success();
  };
  if (llvm::Error error = set(layouts.accumulator, getMmaAccumulator(tiling)))
    return std::move(error);
  if (llvm::Error error =
          set(layouts.lhs,
              getMmaOperand(tiling, dot.getLhsDims(), dot.getContractedSize())))
    return std::move(error);
  if (llvm::Error error =
          set(layouts.rhs,
              getMmaOperand(tiling, dot.getRhsDims(), dot.getContractedSize())))
    return std::move(error);
  return layouts;
}

} // namespace deplo::tile
