// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides the axes of a kernel among blocks.
//
//   axes(%i = 33 tile) {
//     %a = tile.load %x[%i, %c0] : tensor<33x3584xf32>
//     %s = tile.reduce [add] %a axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
// -> (block = [2], warps = 8)
//   axes(%i = 33 step 2 grid) warps(8) {
//     %a = tile.load %x[%i, %c0] bounds [33, 3584] : tensor<2x4096xf32>
//     %m = tile.in_bounds [%c0, %c0] bounds [2, 3584] : tensor<2x4096xi1>
//     %b = arith.select %m, %a, %zero
//     %s = tile.reduce [add] %b axis 1 : tensor<2x4096xf32> -> tensor<2xf32>
//
// Legality. Axes are parallel by construction and iterations share nothing, so
// any division is right. Sizes become powers of two (of contractions, tiles
// that are no powers of two become several that are: SplitTiles.cpp); what is
// beyond the extent is not read (zero), not written, and the identity of the
// monoid where it would enter a reduction. Limits of the target on threads and
// blocks are checked.

#include "ClusterSupport.h"

#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "deplo/Target/TargetDescription.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-blockify-launch"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_BLOCKIFYLAUNCHPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

static constexpr int64_t lanes = 32;

/// The dimension of a product that is no axis: columns, of which each block has
/// all because it folds the rows.
static std::optional<unsigned> findFolded(KernelOp kernel,
                                          const TileDims &dims) {
  std::optional<unsigned> folded;
  kernel.walk([&](DotOp dot) {
    for (unsigned number : dims.getClasses(dot.getResult()))
      if (!dims.getAxis(number))
        folded = number;
  });
  return folded;
}

static LogicalResult checkLimits(KernelOp kernel, ArrayRef<int64_t> block,
                                 bool folds, int64_t warps, TargetAttr target) {
  if (block.size() != kernel.getAxes().size() + folds)
    return kernel.emitOpError()
           << "has " << kernel.getAxes().size() << " axes, and block has "
           << block.size() << " sizes; give one size for each axis"
           << (folds ? " and one for the columns that it folds" : "");
  // Of contractions splitTiles makes tiles that are powers of two.
  bool hasDot = kernel.walk([](DotOp) { return WalkResult::interrupt(); })
                    .wasInterrupted();
  for (int64_t size : block)
    if (size < 1 || (!llvm::isPowerOf2_64(size) && !hasDot))
      return kernel.emitOpError()
             << "block size must be a power of two, got " << size;
  if (warps < 1 || !llvm::isPowerOf2_64(warps))
    return kernel.emitOpError()
           << "warps must be a power of two, got " << warps;
  if (warps * lanes > target.getThreadsPerBlock())
    return kernel.emitOpError()
           << "wants " << warps * lanes << " threads in a block, and "
           << target.getChip() << " runs at most "
           << target.getThreadsPerBlock() << "; use fewer warps";
  int64_t blocks = 1;
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
  for (auto [i, size] :
       llvm::enumerate(block.take_front(kernel.getAxes().size()))) {
    int64_t extent = sizes.getMax(kernel.getAxis(i).getExtent());
    int64_t along = llvm::divideCeil(extent, size);
    if (kernel.getAxis(i).getKind() == AxisKind::Grid &&
        size != kernel.getAxis(i).getStep())
      return kernel.emitOpError() << "axis " << i << " is in blocks of "
                                  << kernel.getAxis(i).getStep()
                                  << " already, and block wants " << size;
    if (along > maxBlocksPerLaunch / blocks)
      return kernel.emitOpError()
             << "wants more than " << maxBlocksPerLaunch
             << " blocks, the most of a launch; use a larger block";
    blocks *= along;
  }
  return success();
}

/// Bounds an access along each dimension whose tiles may go beyond the extent.
template <typename OpT>
static void boundAccess(OpT access, ArrayRef<unsigned> numbers,
                        const TileDims &dims) {
  BoxAccess box = *BoxAccess::get(access);
  SmallVector<int64_t> bounds;
  bool isNeeded = false;
  for (auto [tileDim, size] : llvm::enumerate(box.shape)) {
    int64_t extent = dims.getExtent(numbers[tileDim]);
    int64_t step = box.steps[tileDim];
    Value corner = box.indices[box.dims[tileDim]];
    AffineIndex index = AffineIndex::get(corner);
    // Along a chunk of a loop, bounds are what they were.
    bool isOfLoop = index.base && !dims.getAxis(numbers[tileDim]);
    if (isOfLoop) {
      bounds.push_back(box.bounds.empty()
                           ? box.getMemRefType().getDimSize(box.dims[tileDim])
                           : box.bounds[tileDim]);
    } else {
      bounds.push_back(index.offset + (extent - 1) * step + 1);
      // Some are there if elements of the extent are outside of the memref.
      if (!box.bounds.empty())
        bounds.back() = std::min(bounds.back(), box.bounds[tileDim]);
    }
    isNeeded |= !isWithinBound(corner, step, size, bounds.back());
  }
  if (isNeeded)
    access.setBounds(bounds);
}

/// Puts the identities of `kinds` where the folded dimension of `inputs`,
/// operands of `op`, is padding.
static void maskFold(Operation *op, ArrayRef<Monoid> kinds,
                     MutableOperandRange inputs, int64_t axis,
                     const TileDims &dims) {
  auto type = cast<RankedTensorType>(inputs[0].get().getType());
  int64_t extent = dims.getExtent(dims.getClasses(inputs[0])[axis]);
  if (extent == type.getDimSize(axis))
    return;

  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> corner(type.getRank(), zero);
  SmallVector<int64_t> bounds(type.getShape());
  bounds[axis] = extent;
  Value mask = InBoundsOp::create(builder, loc, type.clone(builder.getI1Type()),
                                  corner, bounds);
  for (auto [kind, input] : llvm::zip_equal(kinds, inputs)) {
    auto inputType = cast<RankedTensorType>(input.get().getType());
    Value identity = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(inputType,
                               getIdentity(kind, inputType.getElementType())));
    input.set(
        arith::SelectOp::create(builder, loc, mask, input.get(), identity));
  }
}

/// Padding of a gather must not be read: its offsets may lead anywhere.
static void maskGather(GatherOp gather, const TileDims &dims) {
  RankedTensorType type = gather.getType();
  OpBuilder builder(gather);
  Location loc = gather.getLoc();
  KernelOp kernel = gather->getParentOfType<KernelOp>();
  SmallVector<Value> corner;
  SmallVector<int64_t> bounds;
  bool isNeeded = false;
  for (auto [size, number] :
       llvm::zip_equal(type.getShape(), dims.getClasses(gather.getResult()))) {
    std::optional<unsigned> axis = dims.getAxis(number);
    corner.push_back(axis ? Value(kernel.getAxisValues()[*axis])
                          : arith::ConstantIndexOp::create(builder, loc, 0));
    bounds.push_back(dims.getExtent(number));
    isNeeded |= !isWithinBound(corner.back(), /*step=*/1, size, bounds.back());
  }
  if (!isNeeded)
    return;
  Value mask = InBoundsOp::create(builder, loc, type.clone(builder.getI1Type()),
                                  corner, bounds);
  if (gather.getMask())
    mask = arith::AndIOp::create(builder, loc, gather.getMask(), mask);
  gather.getMaskMutable().assign(mask);
}

LogicalResult blockifyLaunch(KernelOp kernel, ArrayRef<int64_t> block,
                             int64_t warps, TargetAttr target) {
  TileDims dims(kernel);
  std::optional<unsigned> folded = findFolded(kernel, dims);
  if (failed(checkLimits(kernel, block, folded.has_value(), warps, target)))
    return failure();
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
  for (unsigned number = 0; number < dims.getNumClasses(); ++number) {
    if (std::optional<unsigned> axis = dims.getAxis(number))
      dims.resize(number, block[*axis]);
    else
      dims.resize(number,
                  std::max<int64_t>(
                      llvm::PowerOf2Ceil(sizes.getMax(dims.getSize(number))),
                      number == folded ? block.back() : 1));
  }
  for (auto [i, size] :
       llvm::enumerate(block.take_front(kernel.getAxes().size())))
    kernel.setAxis(i, AxisAttr::get(kernel.getContext(),
                                    kernel.getAxis(i).getExtent(), size,
                                    AxisKind::Grid));
  kernel.setWarps(warps);
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      boundAccess(load, dims.getClasses(load.getResult()), dims);
    else if (auto store = dyn_cast<StoreOp>(op))
      boundAccess(store, dims.getClasses(store.getValueMutable()), dims);
    else if (auto gather = dyn_cast<GatherOp>(op))
      maskGather(gather, dims);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      maskFold(reduce, reduce.getMonoids(), reduce.getInputsMutable(),
               reduce.getAxis(), dims);
    else if (auto scan = dyn_cast<ScanOp>(op))
      maskFold(scan, scan.getKind(), scan.getInputMutable(), scan.getAxis(),
               dims);
  });
  for (auto [axis, size] :
       llvm::enumerate(block.take_front(kernel.getAxes().size()))) {
    std::string reason;
    if (!llvm::isPowerOf2_64(size) && failed(splitTiles(kernel, axis, reason)))
      return kernel.emitOpError() << "can't split tiles of " << size << ": "
                                  << reason << "; use a power of two";
  }
  // The constants that were separated, and the masks.
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return success();
}

namespace {

struct BlockifyLaunchPass : impl::BlockifyLaunchPassBase<BlockifyLaunchPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("BlockifyLaunch")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (kernel.getWarps()) {
      remark::missed(kernel.getLoc(), options)
          << remark::add("the axes are divided among blocks already");
      return;
    }
    ScheduleAttr schedule = kernel.getScheduleAttr();
    if (!schedule && (block.empty() || warps == 0)) {
      kernel.emitOpError("has no schedule; run deplo-select-schedule first, or "
                         "give the options block and warps");
      return signalPassFailure();
    }
    SmallVector<int64_t> sizes(block.begin(), block.end());
    if (sizes.empty())
      sizes.assign(schedule.getBlock().begin(), schedule.getBlock().end());
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target ||
        failed(blockifyLaunch(kernel, sizes,
                              warps ? warps : schedule.getWarps(), target)))
      return signalPassFailure();

    int64_t blocks = 1;
    for (unsigned i = 0, n = kernel.getAxes().size(); i < n; ++i)
      blocks *= kernel.getAxis(i).getBlocks();
    remark::passed(kernel.getLoc(), options) << remark::add(
        "{0} blocks of {1} threads on {2} multiprocessors", blocks,
        *kernel.getWarps() * lanes, target.getMultiprocessors());
  }
};

} // namespace

} // namespace deplo::tile
