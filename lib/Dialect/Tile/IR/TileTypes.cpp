// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_TYPEDEF_CLASSES
#include "deplo/Dialect/Tile/IR/TileTypes.cpp.inc"

using namespace mlir;

namespace deplo::tile {

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "deplo/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

Type BufferType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  SharedAttr layout;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(loc, parser.getContext(), shape,
                                       elementType, layout);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", " << getLayout() << ">";
}

LogicalResult
BufferType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<int64_t> shape, Type elementType,
                   SharedAttr layout) {
  for (int64_t size : shape) // C1
    if (size < 1)
      return emitError() << "buffer size " << size << " is not positive";
  if (!elementType.isIntOrFloat() ||
      elementType.getIntOrFloatBitWidth() % 8 != 0) // C2
    return emitError()
           << "buffer elements are integers or floats of whole bytes, got "
           << elementType;
  int64_t rowBytes =
      shape.empty() ? 0
                    : shape.back() * elementType.getIntOrFloatBitWidth() / 8;
  if (layout.getSwizzle() != 0 &&
      (rowBytes < layout.getSwizzle() || !llvm::isPowerOf2_64(rowBytes))) // C3
    return emitError() << "buffer has rows of " << rowBytes
                       << " bytes, expected a power of two of at least the "
                          "swizzle of "
                       << layout.getSwizzle();
  return success();
}

LogicalResult
MBarriersType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t count) {
  if (count < 1) // C1
    return emitError() << "expected at least one barrier, got " << count;
  return success();
}

SharedBuffer BufferType::getModel() const {
  SharedBuffer model;
  model.shape.assign(getShape().begin(), getShape().end());
  model.elementBytes = getElementType().getIntOrFloatBitWidth() / 8;
  model.pad = getLayout().getPad();
  int64_t rowBytes =
      getShape().empty() ? 0 : getShape().back() * model.elementBytes;
  if (getLayout().getSplit())
    rowBytes = model.splitBytes = getLayout().getSwizzle();
  model.swizzle = Swizzle::ofRows(getLayout().getSwizzle(), rowBytes);
  return model;
}

int64_t BufferType::getSizeInBytes() const {
  int64_t elementBytes = getElementType().getIntOrFloatBitWidth() / 8;
  if (getShape().empty())
    return elementBytes;
  int64_t rows = 1;
  for (int64_t size : getShape().drop_back())
    rows *= size;
  return rows * (getShape().back() + getLayout().getPad()) * elementBytes;
}

} // namespace deplo::tile
