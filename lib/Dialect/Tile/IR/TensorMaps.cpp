// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which copies a tensor map can make, and which map.

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace deplo::tile {

std::string findTensorMapProblem(int64_t offset, int64_t elementBytes,
                                 ArrayRef<int64_t> extents,
                                 ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> box, int64_t swizzle) {
  constexpr size_t mostDims = 5;
  constexpr int64_t unit = 16, mostOfBox = 256;
  constexpr int64_t strideLimit = int64_t(1) << 40, mostExtent = int64_t(1)
                                                                 << 32;
  size_t rank = extents.size();
  if (rank < 1 || rank > mostDims || box.size() != rank ||
      strides.size() != rank - 1) // C1
    return llvm::formatv("{0} extents, {1} strides and a box of {2} sizes, "
                         "expected one to {3}, one less and as many",
                         rank, strides.size(), box.size(), mostDims);
  if (offset < 0 || offset % unit != 0) // C2
    return llvm::formatv("its start at byte {0}, expected a multiple of {1}",
                         offset, unit);
  for (int64_t stride : strides)
    if (stride <= 0 || stride % unit != 0 || stride >= strideLimit) // C2
      return llvm::formatv("a stride of {0} bytes, expected a multiple of {1} "
                           "below 2^40",
                           stride, unit);
  for (int64_t size : box)
    if (size < 1 || size > mostOfBox) // C3
      return llvm::formatv("a box of {0} elements along a dimension, expected "
                           "1 to {1}",
                           size, mostOfBox);
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle)) // C3
    return llvm::formatv("a swizzle of {0}, expected 0, 32, 64 or 128",
                         swizzle);
  int64_t row = box[0] * elementBytes;
  if (row % unit != 0 || (swizzle != 0 && row > swizzle)) // C3
    return llvm::formatv("rows of {0} bytes, expected a multiple of {1} up to "
                         "the swizzle",
                         row, unit);
  if (!llvm::is_contained({1, 2, 4, 8}, elementBytes)) // C4
    return llvm::formatv("elements of {0} bytes, expected 1, 2, 4 or 8",
                         elementBytes);
  for (int64_t extent : extents)
    if (extent < 1 || extent > mostExtent) // C4
      return llvm::formatv("an extent of {0}, expected 1 to 2^32", extent);
  return {};
}

SmallVector<int64_t> getTensorMapDims(ArrayRef<int64_t> dims,
                                      int64_t memrefRank) {
  SmallVector<int64_t> order(llvm::reverse(dims));
  for (int64_t dim = memrefRank - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim))
      order.push_back(dim);
  return order;
}

TensorMapAttr getTensorMap(MemRefType memref, ArrayRef<int64_t> dims,
                           ArrayRef<int64_t> shape,
                           std::optional<ArrayRef<int64_t>> bounds,
                           int64_t swizzle, int64_t argument,
                           std::string &reason) {
  auto refuse = [&](const llvm::Twine &why) {
    reason = why.str();
    return TensorMapAttr();
  };
  constexpr int64_t unit = 16;
  SmallVector<int64_t> memrefStrides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(memrefStrides, offset)) ||
      ShapedType::isDynamic(offset) || !memref.hasStaticShape() ||
      llvm::any_of(memrefStrides, ShapedType::isDynamic))
    return refuse("copies a memref whose strides are not known");
  int64_t bytes = llvm::divideCeil(memref.getElementTypeBitWidth(), 8);
  SmallVector<int64_t> order = getTensorMapDims(dims, memref.getRank());
  SmallVector<int64_t> extents, strides, box;
  for (auto [i, dim] : llvm::enumerate(order)) {
    bool isTileDim = i < dims.size();
    unsigned tileDim = dims.size() - 1 - i;
    box.push_back(isTileDim ? shape[tileDim] : 1);
    extents.push_back(isTileDim && bounds ? (*bounds)[tileDim]
                                          : memref.getDimSize(dim));
    int64_t stride = memrefStrides[dim] * bytes;
    bool isOne = memref.getDimSize(dim) == 1;
    if (i != 0) {
      strides.push_back(isOne ? unit : stride);
      continue;
    }
    if (stride != bytes)
      return refuse("copies elements that are " + llvm::Twine(stride) +
                    " bytes apart along the buffer's last dimension, a tensor "
                    "map's are neighbours");
  }
  std::string problem = findTensorMapProblem(offset * bytes, bytes, extents,
                                             strides, box, swizzle);
  if (!problem.empty())
    return refuse("would have a tensor map with " + problem);
  MLIRContext *context = memref.getContext();
  auto array = [&](ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(context, values);
  };
  return TensorMapAttr::get(context, argument, offset * bytes, bytes,
                            array(extents), array(strides), array(box),
                            swizzle);
}

TensorMapAttr getTensorMap(TmaCopyOp copy, int64_t argument,
                           std::string &reason) {
  BufferType buffer = copy.getBuffer().getType();
  SmallVector<int64_t> box(buffer.getShape());
  if (buffer.getLayout().getSplit()) // one piece of all rows
    box.back() = buffer.getLayout().getSwizzle() * 8 /
                 buffer.getElementType().getIntOrFloatBitWidth();
  if (buffer.getLayout().getPad() != 0) {
    reason = "copies to a buffer with a pad";
    return {};
  }
  return getTensorMap(
      copy.getMemRefType(),
      getSpannedDims(copy.getDims(), copy.getMemRefType().getRank(),
                     buffer.getRank()),
      box, copy.getBounds(), buffer.getLayout().getSwizzle(), argument, reason);
}

TensorMapAttr getTensorMap(TmaStoreOp store, int64_t argument,
                           std::string &reason) {
  SharedAttr layout = store.getBuffer().getType().getLayout();
  if (layout.getPad() != 0 || layout.getSplit()) {
    reason = "copies from a buffer with a pad or with split rows";
    return {};
  }
  return getTensorMap(store.getMemRefType(),
                      getSpannedDims(store.getDims(),
                                     store.getMemRefType().getRank(),
                                     store.getPieceShape().size()),
                      store.getPieceShape(), store.getBounds(),
                      layout.getSwizzle(), argument, reason);
}

} // namespace deplo::tile
