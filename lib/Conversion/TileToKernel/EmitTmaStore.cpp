// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.tma_store: each warp by itself writes piece after piece to shared
// memory, and one of its lanes starts the copies.

#include "KernelEmitter.h"

#include "deplo/Analysis/MatrixAccess.h"
#include "deplo/Analysis/WarpPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

/// What the layout's warp bits move by, along each dimension.
static SmallVector<Value> getWarpStart(ImplicitLocOpBuilder &builder,
                                       const LinearLayout &layout, Value warp) {
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  SmallVector<Value> start(layout.getRank(), number(0));
  for (unsigned bit = 0; bit < layout.getNumBits(InputDim::Warp); ++bit) {
    Value isSet = arith::AndIOp::create(
        builder, arith::ShRUIOp::create(builder, warp, number(bit)), number(1));
    for (auto [dim, distance] :
         llvm::enumerate(layout.getBasis(InputDim::Warp, bit)))
      if (distance != 0)
        start[dim] = builder.createOrFold<arith::AddIOp>(
            start[dim],
            builder.createOrFold<arith::MulIOp>(isSet, number(distance)));
  }
  return start;
}

/// The same pointer, as ptxas can't know: it would keep what all of shared
/// memory is addressed by in one register of each lane, and compute descriptors
/// of wgmma lane by lane, too (twice as long loops).
static Value ofLanes(ImplicitLocOpBuilder &builder, Value pointer) {
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  Value address = NVVM::ShflOp::create(
      builder, i32, number(-1), LLVM::PtrToIntOp::create(builder, i32, pointer),
      number(0), number(31), NVVM::ShflKind::idx, UnitAttr());
  return LLVM::IntToPtrOp::create(builder, pointer.getType(), address);
}

void KernelEmitter::emitTmaStore(tile::TmaStoreOp op) {
  constexpr int64_t wholeWarp = -1;
  LinearLayout layout = tile::getLayout(op.getValue()).getLinearLayout();
  tile::BufferType buffer = op.getBuffer().getType();
  int64_t rank = layout.getRank(), slots = op.getSlots();
  WarpPieces pieces = *WarpPieces::get(layout, op.getPieceShape());
  auto ofPiece = tile::LayoutAttr::get(op.getContext(), pieces.layout);
  int64_t elementBytes = getBytes(buffer.getElementType());
  std::optional<MatrixAccess> matrices =
      getMatrixAccess(pieces.layout, rank - 1, 8 * elementBytes);
  // Of neighbours in a thread, if no matrices are written.
  int64_t width = 1;
  constexpr int64_t widestAccess = 16;
  for (unsigned bit = 0;
       bit < pieces.layout.getNumBits(InputDim::Register) &&
       2 * width * elementBytes <= widestAccess &&
       pieces.layout.getBasis(InputDim::Register, bit)[rank - 1] == width;
       ++bit)
    width *= 2;

  Type i32 = builder.getI32Type();
  auto toIndex = [&](Value value) {
    return indexType.getWidth() > 32
               ? arith::ExtUIOp::create(builder, indexType, value).getResult()
               : value;
  };
  Value memory = ofLanes(builder, lookup(op.getBuffer()));
  Value ofWarp = toIndex(warp);
  SmallVector<Value> warpStart = getWarpStart(builder, layout, warp);
  SmallVector<int64_t> dims =
      tile::getSpannedDims(op.getDims(), op.getMemRefType().getRank(), rank);
  Value map = getMap(getTensorMap(kernel, op));
  Value isFirst = getIsZero(lane, 31);
  Value all = arith::ConstantIntOp::create(builder, i32, wholeWarp);
  SmallVector<Value> elements = unpack(lookup(op.getValue()));

  for (auto [number, piece] : llvm::enumerate(pieces.pieces)) {
    Value slot = getIndex(number % slots);
    auto getPlace = [&](ValueRange coordinates) {
      SmallVector<Value> all = {slot, ofWarp};
      llvm::append_range(all, coordinates);
      return getSharedPointer(memory, buffer, all);
    };
    // What was copied from the slot before has been read.
    NVVM::CpAsyncBulkWaitGroupOp::create(builder, slots - 1,
                                         builder.getUnitAttr());
    NVVM::SyncWarpOp::create(builder, all);
    SmallVector<Value> ofThread;
    for (int32_t reg : piece.registers)
      ofThread.push_back(elements[reg]);
    if (matrices) {
      emitMatrixWrite(*matrices, ofThread, getPlace);
    } else {
      for (int64_t reg = 0; reg < int64_t(ofThread.size()); reg += width)
        LLVM::StoreOp::create(
            builder, pack(ArrayRef(ofThread).slice(reg, width)),
            getPlace(getCoordinates(ofPiece, reg)), width * elementBytes);
    }
    NVVM::FenceProxyOp::create(
        builder, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(builder.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    NVVM::SyncWarpOp::create(builder, all);

    // Predicated, so that the warp stays together.
    SmallVector<Value> indices = lookup(op.getIndices());
    for (int64_t dim = 0; dim < rank; ++dim)
      indices[dims[dim]] =
          add(indices[dims[dim]],
              add(toIndex(warpStart[dim]), getIndex(piece.start[dim])));
    SmallVector<Value> first(rank, getIndex(0));
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        builder, map, getPlace(first), getMapCorner(indices, dims),
        /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
        /*predicate=*/isFirst);
    NVVM::CpAsyncBulkCommitGroupOp::create(builder);
  }
}

} // namespace deplo
