// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tma_store: results go to memory by the tensor memory accelerator.
//
//   tile.store %v, %y[%i, %j] : tensor<128x256xbf16, #fragments>, memref<...>
//
// becomes, in a kernel of eight warps,
//
//   %s = tile.alloc : !tile.buffer<2x8x16x64xbf16, #tile.shared<swizzle = 128>>
//   tile.tma_store %v, %y[%i, %j] by %s : ...
//
// Legality: the same elements are written. What a warp holds is made of boxes,
// for which there is a tensor map (see #tile.tensor_map), and the memref's
// pointer is aligned as that needs. What is beyond the bounds is left out by
// the hardware, which takes no box that begins before the tensor: corners are
// not negative. A kernel waits for what its copies read before it ends.

#include "PassSupport.h"
#include "deplo/Analysis/MatrixAccess.h"
#include "deplo/Analysis/WarpPieces.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-tma-store"

namespace deplo::tile {
#define GEN_PASS_DEF_TMASTOREPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// Why no tensor map can say where `store` goes, whatever its pieces are.
static std::string findProblem(StoreOp store, int64_t alignment) {
  constexpr int64_t pointerAlignment = 16;
  auto kernel = store->getParentOfType<KernelOp>();
  if (alignment < pointerAlignment)
    return "pointers are aligned to " + std::to_string(alignment) +
           " bytes, tensor maps take those aligned to 16";
  if (kernel.getClusterBlocks() > 1)
    return "blocks of a cluster share the result";
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(store.getMemRefType().getStridesAndOffset(strides, offset)))
    return "stores to a memref without strides";
  // A launch knows sizes and strides, which are those of its tensor maps.
  if (SymbolicSizes::get(kernel).isSymbolic(offset))
    return "where the memref starts is not known before the launch";
  if (store.getSteps() &&
      llvm::any_of(*store.getSteps(), [](int64_t step) { return step != 1; }))
    return "stores elements that are not neighbours";
  if (llvm::any_of(store.getIndices(), [](Value index) {
        return AffineIndex::get(index).getMin().value_or(-1) < 0;
      }))
    return "may start before the memref";
  return {};
}

/// Whether `stmatrix` writes the pieces of a tile with `layout`.
static bool suitsStMatrix(LayoutAttr layout, Type element) {
  return element.getIntOrFloatBitWidth() == 16 &&
         getMatrixAccess(layout.getLinearLayout(), layout.getShape().size() - 1,
                         element.getIntOrFloatBitWidth())
             .has_value();
}

FailureOr<TmaStoreOp> tile::storeByTma(StoreOp store, int64_t alignment,
                                       int64_t mostBytes, std::string &reason) {
  constexpr int64_t mostRowBytes = 128, mostRows = 16, mostSlots = 2;
  reason = findProblem(store, alignment);
  LayoutAttr layout = getLayout(store.getValue());
  if (reason.empty() && !layout)
    reason = "the tile has no layout";
  if (!reason.empty())
    return failure();
  auto kernel = store->getParentOfType<KernelOp>();
  RankedTensorType type = cast<RankedTensorType>(store.getValue().getType());
  int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  SmallVector<int64_t> most(type.getRank(), mostRows);
  if (!most.empty())
    most.back() = mostRowBytes / elementBytes;
  std::optional<WarpPieces> pieces =
      WarpPieces::get(layout.getLinearLayout(), most);
  if (!pieces) {
    reason = "warps hold no boxes of the result";
    return failure();
  }
  int64_t slots = std::min<int64_t>(pieces->pieces.size(), mostSlots);
  SmallVector<int64_t> shape = {
      slots, static_cast<int64_t>(kernel.getWarps().value_or(1))};
  llvm::append_range(shape, pieces->layout.getShape());
  int64_t rowBytes = shape.back() * elementBytes;
  bool isSwizzled = llvm::is_contained({32, 64, 128}, rowBytes);
  MLIRContext *context = store.getContext();
  auto buffer = BufferType::get(
      context, shape, type.getElementType(),
      SharedAttr::get(context, /*pad=*/0, isSwizzled ? rowBytes : 0));
  int64_t ofWarp = buffer.getSizeInBytes() / (shape[0] * shape[1]);
  if (ofWarp % bulkCopyAlignment != 0) {
    reason = "pieces of " + std::to_string(ofWarp) +
             " bytes begin where bulk copies may not, at multiples of " +
             std::to_string(bulkCopyAlignment);
    return failure();
  }
  if (buffer.getSizeInBytes() > mostBytes) {
    reason = "there is no room for pieces of " +
             std::to_string(buffer.getSizeInBytes()) + " bytes";
    return failure();
  }
  if (!getTensorMap(store.getMemRefType(),
                    getSpannedDims(store.getDims(),
                                   store.getMemRefType().getRank(),
                                   type.getRank()),
                    pieces->layout.getShape(), store.getBounds(),
                    isSwizzled ? rowBytes : 0, /*argument=*/0, reason))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBody());
  auto alloc = AllocOp::create(builder, store.getLoc(), buffer);
  builder.setInsertionPoint(store);
  auto byTma = TmaStoreOp::create(builder, store.getLoc(), store.getValue(),
                                  store.getMemref(), store.getIndices(), alloc,
                                  store.getDimsAttr(), store.getBoundsAttr());
  store.erase();
  return byTma;
}

/// Bytes of shared memory that a block may take more than now; if others are to
/// be `kept`, so that a multiprocessor has room for as many.
static int64_t getBytesLeft(KernelOp kernel, TargetAttr target, bool kept) {
  // Of barriers and alignment; what the hardware takes for each block.
  constexpr int64_t barrierBytes = 2048, reservedBytes = 1024;
  int64_t taken = getSharedBytes(kernel) + barrierBytes;
  if (!kept)
    return target.getSharedPerBlock() - taken;
  int64_t blocks = std::max<int64_t>(
      target.getSharedPerMultiprocessor() / (taken + reservedBytes), 1);
  return std::min(target.getSharedPerMultiprocessor() / blocks - reservedBytes,
                  target.getSharedPerBlock()) -
         taken;
}

namespace {

struct TmaStorePass : tile::impl::TmaStorePassBase<TmaStorePass> {
  using TmaStorePassBase::TmaStorePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode,
                  [](ScheduleAttr schedule) { return schedule.getTmaStore(); });
    if (failed(choice) || failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("TmaStore")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    auto miss = [&](const std::string &reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    if (*choice == Choice::Never)
      return miss("the schedule says never");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    if (!target.hasTensorMaps())
      return miss(target.getChip().str() +
                  " has no tensor maps, sm_90 and later do");
    bool isByWgmma =
        kernel->walk([](AsyncDotOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (*choice == Choice::Auto && !isByWgmma)
      return miss("no result of wgmma is stored");
    // Blocks may stay for several tiles (persist_blocks) where there are more
    // than multiprocessors.
    if (*choice == Choice::Auto &&
        getMostBlocks(kernel) <= target.getMultiprocessors())
      return miss("each block has one tile, which its threads store as soon");
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) {
      if (store->getParentOp() == kernel &&
          isa<RankedTensorType>(store.getValue().getType()))
        stores.push_back(store);
    });
    bool isAny = false;
    for (StoreOp store : stores) {
      Location loc = store.getLoc();
      std::string name = getMemrefName(store.getMemref());
      LayoutAttr layout = getLayout(store.getValue());
      std::string reason;
      if (*choice == Choice::Auto && layout &&
          !suitsStMatrix(layout, getElementTypeOrSelf(store.getValue())))
        reason = "stmatrix writes no such elements to shared memory";
      FailureOr<TmaStoreOp> byTma = failure();
      if (reason.empty())
        byTma = storeByTma(
            store, alignment,
            getBytesLeft(kernel, target, /*kept=*/*choice == Choice::Auto),
            reason);
      if (failed(byTma)) {
        remark::missed(loc, options) << remark::add("{0}: {1}", name, reason);
        continue;
      }
      isAny = true;
      std::string shape;
      for (int64_t size : byTma->getPieceShape())
        shape += (shape.empty() ? "" : "x") + std::to_string(size);
      remark::passed(loc, options) << remark::add(
          "{0} is stored by a tensor map, in pieces of {1}", name, shape);
    }
    if (!isAny)
      markAllAnalysesPreserved();
  }
};

} // namespace
