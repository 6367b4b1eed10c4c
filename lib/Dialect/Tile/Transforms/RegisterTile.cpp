// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_tile: says which thread holds which element of every tile.
//
//   %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32>
//   %b = arith.mulf %a, %a : tensor<1x2048xf32>
//   %s = tile.reduce [add] %b axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
//
// becomes
//
//   #layout  = #tile.layout<[1, 2048], register = [[0, 1], [0, 2], [0, 1024]],
//   lane = ..., warp = ...> #layout1 = #tile.layout<[1], register = [], lane =
//   [[0], ...], warp = [[0], ...]> %a = tile.load %x[%i, %c0] :
//   memref<32x2048xf32> -> tensor<1x2048xf32, #layout> %b = arith.mulf %a, %a :
//   tensor<1x2048xf32, #layout> %s = tile.reduce [add] %b axis 1 :
//   tensor<1x2048xf32, #layout> -> tensor<1xf32, #layout1>
//
// Tiles that elementwise operations and loops tie together form a group and get
// one layout. A group that reductions and broadcasts tie to a larger one gets a
// slice of its layout; the others are anchors. An anchor follows memory: a
// thread holds as many neighbours as one access can move, then lanes go along
// the contiguous dimension, then warps along dimensions that are not reduced,
// so that a reduction crosses warps only if there are too few rows.
//
// Legality: layouts don't change values. Every tile's sizes are powers of two.
// Where a group is a slice of two layouts that differ, tile.convert_layout
// brings it from one to the other. Constants take any layout: they are copied
// for each use first.

#include "PassSupport.h"
#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"
#include "deplo/Dialect/Tile/Analysis/TileGroups.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-register-tile"

namespace deplo::tile {
#define GEN_PASS_DEF_REGISTERTILEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Values that take any layout
//===----------------------------------------------------------------------===//

using Copies = llvm::MapVector<Operation *, SmallVector<Operation *>>;

/// Leaves each value that takes any layout with one use, and copies of it for
/// the others.
static Copies copyForEachUse(KernelOp kernel) {
  Copies copies;
  kernel.walk([&](Operation *op) {
    if (takesAnyLayout(op) && !op->use_empty())
      copies[op];
  });
  for (auto &[op, clones] : copies) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op->getUses()))) {
      Operation *clone = builder.clone(*op);
      use.set(clone->getResult(0));
      clones.push_back(clone);
    }
  }
  return copies;
}

/// Merges the copies that ended up with the same layout.
static void mergeCopies(Copies &copies) {
  for (auto &[op, clones] : copies) {
    llvm::SmallDenseMap<Type, Operation *> first = {
        {op->getResult(0).getType(), op}};
    for (Operation *clone : clones) {
      auto [it, isNew] =
          first.try_emplace(clone->getResult(0).getType(), clone);
      if (isNew)
        continue;
      clone->replaceAllUsesWith(it->second);
      clone->erase();
    }
  }
}

//===----------------------------------------------------------------------===//
// Layouts of groups
//===----------------------------------------------------------------------===//

namespace {

/// Hands out the elements of a tile, the lowest coordinates first.
class Distribution {
public:
  explicit Distribution(ArrayRef<int64_t> shape)
      : shape(shape), next(shape.size(), 1) {}

  /// Gives the next `count` elements along the dimensions, in `order`, to
  /// `input`. Lanes and warps for which none are left replicate.
  void give(InputDim input, int64_t count, ArrayRef<int64_t> order) {
    std::vector<Coordinates> &moves = bases[unsigned(input)];
    for (int64_t dim : order)
      for (; count > 1 && next[dim] < shape[dim]; next[dim] *= 2, count /= 2)
        moves.emplace_back(shape.size(), 0)[dim] = next[dim];
    for (; input != InputDim::Register && count > 1; count /= 2)
      moves.emplace_back(shape.size(), 0);
  }

  LinearLayout getLayout() const {
    return llvm::cantFail(LinearLayout::create(bases, shape));
  }

private:
  ArrayRef<int64_t> shape;
  /// The coordinate along each dimension that is handed out next.
  SmallVector<int64_t> next;
  LayoutBases bases;
};

} // namespace

/// The layout of a tile whose dimensions `order` lists from the fastest to the
/// slowest in memory.
static LinearLayout chooseLayout(const TileGroup &group,
                                 ArrayRef<int64_t> order, int64_t vector,
                                 int64_t warps) {
  if (order.empty())
    return LinearLayout();
  // Warps share rows out before they share one row.
  SmallVector<int64_t> warpOrder;
  for (bool kept : {true, false})
    llvm::copy_if(order, std::back_inserter(warpOrder),
                  [&](int64_t dim) { return group.kept[dim] == kept; });

  constexpr int64_t lanesPerWarp = 32;
  Distribution distribution(group.shape);
  int64_t width =
      std::max<int64_t>(std::min(vector, group.width[order.front()]), 1);
  distribution.give(InputDim::Register, width, order.front());
  // Across memory, a thread scans as long a run as there are registers for:
  // that many elements fewer are exchanged.
  if (group.scanned && *group.scanned != order.front())
    distribution.give(InputDim::Register,
                      group.getNumElements() / (width * lanesPerWarp * warps),
                      *group.scanned);
  distribution.give(InputDim::Lane, lanesPerWarp, order);
  distribution.give(InputDim::Warp, warps, warpOrder);
  distribution.give(InputDim::Register, group.getNumElements(), order);
  return distribution.getLayout();
}

/// Whether `group` is gathered for a contraction: written to shared memory.
static bool isGatheredOperand(const TileGroup &group) {
  return llvm::any_of(group.values,
                      [](Value value) {
                        return isa_and_nonnull<GatherOp>(value.getDefiningOp());
                      }) &&
         llvm::any_of(group.values, [](Value value) {
           return llvm::any_of(value.getUsers(), llvm::IsaPred<WriteOp>);
         });
}

/// The layout of an operand that is gathered. Where a thread reads takes
/// quotients of its number along the sum, which are the same for all of a row,
/// and so it has as much of a row as there is, in pairs that are written at
/// once.
static LinearLayout chooseGatheredLayout(const TileGroup &group,
                                         ArrayRef<int64_t> order,
                                         int64_t warps) {
  constexpr int64_t lanesPerWarp = 32, pair = 2;
  int64_t ofThread =
      std::max<int64_t>(group.getNumElements() / (lanesPerWarp * warps), 1);
  Distribution distribution(group.shape);
  distribution.give(InputDim::Register, std::min(pair, ofThread),
                    order.front());
  distribution.give(InputDim::Lane, lanesPerWarp, order);
  distribution.give(InputDim::Register, std::max<int64_t>(ofThread / pair, 1),
                    order.front());
  distribution.give(InputDim::Warp, warps, order);
  distribution.give(InputDim::Register, group.getNumElements(), order);
  return distribution.getLayout();
}

/// `whole` without the dimensions that are not in `dims`, as tile.reduce and
/// tile.broadcast want it.
static LinearLayout getSlice(LinearLayout whole, ArrayRef<int64_t> dims) {
  for (int64_t dim = int64_t(whole.getRank()) - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim))
      whole = whole.dropDim(dim).removeDuplicateRegisters();
  return whole;
}

/// Chooses the layouts of a contraction's tiles, `thread` rows and columns in
/// each thread; appends the groups of accumulators to `anchors`.
static LogicalResult chooseDotLayouts(KernelOp kernel, TileGroups &tiles,
                                      ArrayRef<int64_t> thread, int64_t warps,
                                      SmallVectorImpl<unsigned> &anchors) {
  WalkResult result = kernel.walk([&](DotOp dot) {
    auto fail = [&](llvm::Error error) {
      dot.emitOpError() << "can't be shared out among threads: "
                        << llvm::toString(std::move(error));
      return WalkResult::interrupt();
    };
    unsigned id = tiles.getGroup(dot.getResult());
    std::optional<LinearLayout> &layout = tiles.groups[id].layout;
    if (dot.getAtomAttr()) {
      llvm::Expected<DotLayouts> wanted = getAtomLayouts(dot);
      if (!wanted)
        return fail(wanted.takeError());
      if (!layout)
        anchors.push_back(id);
      layout = wanted->accumulator;
      tiles.groups[tiles.getGroup(dot.getLhs())].layout = wanted->lhs;
      tiles.groups[tiles.getGroup(dot.getRhs())].layout = wanted->rhs;
      return WalkResult::advance();
    }
    if (!layout) {
      auto [row, column] = dot.getRowAndColumn();
      auto chosen = getAccumulatorLayout(
          {dot.getType().getShape(), row, column, thread[0], thread[1], warps});
      if (!chosen)
        return fail(chosen.takeError());
      layout = *chosen;
      anchors.push_back(id);
    }
    for (auto [operand, dims] : {std::pair(dot.getLhs(), dot.getLhsDims()),
                                 std::pair(dot.getRhs(), dot.getRhsDims())}) {
      auto chosen = getOperandLayout(*layout, dims, dot.getContractedSize());
      if (!chosen)
        return fail(chosen.takeError());
      tiles.groups[tiles.getGroup(operand)].layout = *chosen;
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  result = kernel.walk([&](AsyncDotOp dot) {
    unsigned id = tiles.getGroup(dot.getResult());
    llvm::Expected<LinearLayout> wanted = getAtomLayout(dot);
    if (!wanted) {
      dot.emitOpError() << "can't be shared out among threads: "
                        << llvm::toString(wanted.takeError());
      return WalkResult::interrupt();
    }
    if (!tiles.groups[id].layout)
      anchors.push_back(id);
    tiles.groups[id].layout = *wanted;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // What is added in a cluster is a part of that.
  for (auto scatter : kernel.getBody()->getOps<ClusterReduceScatterOp>()) {
    std::optional<LinearLayout> &whole =
        tiles.groups[tiles.getGroup(scatter.getInput())].layout;
    llvm::Expected<LinearLayout> part =
        whole ? getScatteredLayout(*whole, scatter.getDim(),
                                   kernel.getClusterBlocks())
              : llvm::createStringError("it is of no contraction");
    if (!part)
      return scatter.emitOpError() << "can't be shared out among threads: "
                                   << llvm::toString(part.takeError());
    unsigned id = tiles.getGroup(scatter.getResult());
    tiles.groups[id].layout = *part;
    anchors.push_back(id);
  }
  return success();
}

/// Chooses the layout of each group that has none and returns the anchors.
static SmallVector<unsigned> chooseLayouts(TileGroups &tiles, int64_t vector,
                                           int64_t warps) {
  SmallVector<unsigned> largestFirst = tiles.getLargestFirst();
  SmallVector<unsigned> anchors;
  for (unsigned id : largestFirst) {
    TileGroup &group = tiles.groups[id];
    for (unsigned whole : largestFirst)
      for (const SliceRelation &relation : tiles.relations)
        if (!group.layout && relation.part == id && relation.whole == whole &&
            tiles.groups[whole].layout)
          group.layout = getSlice(*tiles.groups[whole].layout, relation.dims);
    if (group.layout)
      continue;
    group.layout = isGatheredOperand(group)
                       ? chooseGatheredLayout(group, group.getOrder(), warps)
                       : chooseLayout(group, group.getOrder(), vector, warps);
    anchors.push_back(id);
  }
  return anchors;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static RankedTensorType withLayout(RankedTensorType type,
                                   const LinearLayout &layout) {
  return type.cloneWithEncoding(LayoutAttr::get(type.getContext(), layout));
}

static void setLayout(Value tile, const LinearLayout &layout) {
  RankedTensorType type = withLayout(getTileType(tile), layout);
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  tile.setType(type);
}

/// Makes `operand` of `layout`, by a conversion if it is not.
static bool convertOperand(OpOperand &operand, const LinearLayout &layout) {
  RankedTensorType type = withLayout(getTileType(operand.get()), layout);
  if (operand.get().getType() == type)
    return false;
  OpBuilder builder(operand.getOwner());
  operand.set(ConvertLayoutOp::create(builder, operand.getOwner()->getLoc(),
                                      type, operand.get()));
  return true;
}

/// Makes `result` of `layout`, and its uses see a conversion to what it was.
static bool convertResult(OpResult result, const LinearLayout &layout) {
  RankedTensorType before = getTileType(result);
  RankedTensorType type = withLayout(before, layout);
  if (before == type)
    return false;
  result.setType(type);
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfter(result.getOwner());
  auto convert =
      ConvertLayoutOp::create(builder, result.getLoc(), before, result);
  result.replaceAllUsesExcept(convert, convert);
  return true;
}

/// Converts where a reduction, scan or broadcast wants another slice than the
/// tile has.
static int64_t convertSlices(Operation *op) {
  int64_t conversions = 0;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    LinearLayout whole = getLayout(broadcast.getResult()).getLinearLayout();
    conversions += convertOperand(broadcast.getInputMutable(),
                                  getSlice(whole, broadcast.getDims()));
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    LinearLayout whole =
        getLayout(reduce.getInputs().front()).getLinearLayout();
    LinearLayout part =
        getSlice(whole, getKeptDims(whole.getRank(), reduce.getAxis()));
    for (OpResult result : reduce->getResults())
      conversions += convertResult(result, part);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    LinearLayout whole = getLayout(scan.getInput()).getLinearLayout();
    LinearLayout part =
        getSlice(whole, getKeptDims(whole.getRank(), scan.getAxis()));
    conversions += convertResult(cast<OpResult>(scan.getTotal()), part);
    if (scan.getCarry())
      conversions += convertOperand(scan->getOpOperand(1), part);
  }
  return conversions;
}

/// Converts around an access to global memory whose neighbours are held by
/// lanes far apart, so that it is coalesced. The conversion goes through shared
/// memory.
static int64_t convertTransposed(Operation *op, const TileGroup &group,
                                 int64_t vector, int64_t warps) {
  // A warp fetches memory in sectors of this size.
  constexpr int64_t sectorBytes = 32;
  BoxAccess box = *BoxAccess::get(op);
  std::optional<unsigned> unit = box.getUnitStrideDim();
  SmallVector<int64_t> order = group.getOrder();
  if (!unit || order.front() == *unit ||
      box.shape[*unit] * box.getElementBytes() < sectorBytes)
    return 0;
  order.erase(llvm::find(order, *unit));
  order.insert(order.begin(), *unit);
  LinearLayout coalesced = chooseLayout(group, order, vector, warps);
  return isa<LoadOp>(op) ? convertResult(op->getResult(0), coalesced)
                         : convertOperand(op->getOpOperand(0), coalesced);
}

static LogicalResult checkSizes(KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    for (Value value : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        continue;
      for (int64_t size : type.getShape())
        if (size < 1 || !llvm::isPowerOf2_64(size)) {
          op->emitOpError() << "has the tile " << type
                            << ", expected sizes that are powers of two; run "
                            << "deplo-blockify-launch first";
          return WalkResult::interrupt();
        }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FailureOr<LayoutSummary> tile::assignLayouts(KernelOp kernel, int64_t vector,
                                             int64_t alignment,
                                             ArrayRef<int64_t> thread) {
  if (!kernel.getWarps())
    return kernel.emitOpError(
        "has no number of warps; run deplo-blockify-launch first");
  int64_t warps = *kernel.getWarps();
  if (failed(checkSizes(kernel)))
    return failure();

  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots)
    splitDot(dot, dot.getAtomAttr() ? dot.getAtomDepth() : vector);
  Copies copies = copyForEachUse(kernel);
  std::optional<TileGroups> found = TileGroups::get(kernel, alignment);
  if (!found)
    return failure();
  TileGroups &tiles = *found;
  LayoutSummary summary;
  SmallVector<unsigned> anchors;
  if (failed(chooseDotLayouts(kernel, tiles, thread, warps, anchors)))
    return failure();
  llvm::append_range(anchors, chooseLayouts(tiles, vector, warps));
  for (unsigned anchor : anchors)
    summary.anchors.push_back(
        LayoutAttr::get(kernel.getContext(), *tiles.groups[anchor].layout));

  for (TileGroup &group : tiles.groups)
    for (Value value : group.values)
      setLayout(value, *group.layout);
  SmallVector<std::pair<Operation *, unsigned>> accesses;
  kernel.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp>(op))
      accesses.emplace_back(op, tiles.getGroup(getMovedTile(op)));
  });
  kernel.walk([&](Operation *op) { summary.conversions += convertSlices(op); });
  TargetAttr target = findTarget(kernel);
  for (auto [op, group] : accesses) {
    BoxAccess box = *BoxAccess::get(op);
    int64_t bytes = box.getNumElements() * box.getElementBytes();
    if (!target || getSharedBytes(kernel) + bytes <= target.getSharedPerBlock())
      summary.conversions +=
          convertTransposed(op, tiles.groups[group], vector, warps);
  }
  mergeCopies(copies);
  summary.registers = estimateRegisters(kernel);
  return summary;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Fails with the remedy if tiles need more registers than a thread can have.
static LogicalResult checkBudget(KernelOp kernel, int64_t registers) {
  TargetAttr target = findTarget(kernel);
  if (!target)
    return success();
  int64_t threads = *kernel.getWarps() * 32;
  int64_t budget = std::min(target.getRegistersPerThread(),
                            target.getRegistersPerMultiprocessor() / threads);
  if (registers <= budget)
    return success();
  return kernel.emitOpError()
         << "holds tiles of " << registers << " registers in each of "
         << threads << " threads, and " << target.getChip() << " has " << budget
         << " for each; choose a smaller block or chunk, or more warps";
}

namespace {

struct RegisterTilePass : tile::impl::RegisterTilePassBase<RegisterTilePass> {
  using RegisterTilePassBase::RegisterTilePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("RegisterTile")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    bool hasTiles = false, hasLayouts = false;
    kernel.walk([&](Operation *op) {
      for (Value value : op->getResults()) {
        hasTiles |= isTile(value);
        hasLayouts |= bool(getLayout(value));
      }
    });
    if (!hasTiles || hasLayouts) {
      remark::missed(kernel.getLoc(), options)
          << (hasTiles ? "tiles have layouts already"
                       : "the kernel has no tiles");
      return markAllAnalysesPreserved();
    }
    FailureOr<int64_t> most = getWidestAccess(kernel, vector);
    if (failed(most))
      return signalPassFailure();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    SmallVector<int64_t> sizes(thread.begin(), thread.end());
    if (sizes.empty() && kernel.getSchedule())
      sizes.assign(kernel.getSchedule()->getThread().begin(),
                   kernel.getSchedule()->getThread().end());
    if (sizes.empty())
      sizes.assign(2, 1);
    if (sizes.size() != 2 || !llvm::all_of(sizes, [](int64_t size) {
          return size > 0 && llvm::isPowerOf2_64(size);
        })) {
      kernel.emitOpError("has a thread of other sizes than two powers of two, "
                         "expected rows and columns such as 8,4");
      return signalPassFailure();
    }
    FailureOr<LayoutSummary> summary =
        assignLayouts(kernel, *most, alignment, sizes);
    if (failed(summary) || failed(checkBudget(kernel, summary->registers)))
      return signalPassFailure();
    for (LayoutAttr anchor : summary->anchors) {
      std::string shape;
      llvm::raw_string_ostream os(shape);
      llvm::interleave(anchor.getShape(), os, "x");
      remark::passed(kernel.getLoc(), options)
          << remark::add("tiles of {0} elements: {1} in each thread", shape,
                         anchor.getLinearLayout().getNumRegisters());
    }
    if (summary->conversions != 0)
      remark::passed(kernel.getLoc(), options) << remark::add(
          "{0} conversions between layouts", summary->conversions);
    remark::analysis(kernel.getLoc(), options) << remark::add(
        "tiles occupy {0} registers of a thread where threads meet",
        summary->registers);
  }
};

} // namespace
