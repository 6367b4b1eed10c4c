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
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-register-tile"

namespace deplo::tile {
#define GEN_PASS_DEF_REGISTERTILEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static RankedTensorType getTileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The tile that an access moves.
static Value getMovedTile(Operation *access) {
  return isa<LoadOp, ReadOp>(access) ? Value(access->getResult(0))
                                     : access->getOperand(0);
}

//===----------------------------------------------------------------------===//
// Values that take any layout
//===----------------------------------------------------------------------===//

static bool takesAnyLayout(Operation *op) {
  return isa<arith::ConstantOp, SplatOp, InBoundsOp>(op) &&
         isTile(op->getResult(0));
}

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
// Groups of tiles with one layout
//===----------------------------------------------------------------------===//

namespace {

struct Group {
  SmallVector<Value> values;
  SmallVector<int64_t> shape;
  /// For each dimension: the elements accessed along it where neighbours are
  /// neighbours in memory.
  SmallVector<int64_t> contiguous;
  /// For each dimension: the most elements along it that every access can move;
  /// 0 without accesses.
  SmallVector<int64_t> width;
  /// For each dimension: whether results of a reduction are spread over it.
  SmallVector<bool> kept;
  /// Whether a tile of the group is the result of a reduction.
  bool isReduced = false;
  std::optional<LinearLayout> layout;

  int64_t getNumElements() const {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return count;
  }
  void limitWidth(unsigned dim, int64_t limit) {
    if (limit != 0)
      width[dim] = width[dim] == 0 ? limit : std::min(width[dim], limit);
  }
  /// The dimensions from the one that is most often contiguous in memory to the
  /// one that is least often; the last ones first where that is equal.
  SmallVector<int64_t> getOrder() const {
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return std::pair(contiguous[a], a) > std::pair(contiguous[b], b);
    });
    return order;
  }
};

/// The tile `part` is `whole` without the dimensions that are not in `dims`.
struct SliceRelation {
  unsigned part, whole;
  SmallVector<int64_t> dims;
};

class TileGroups {
public:
  explicit TileGroups(int64_t alignment) : alignment(alignment) {}

  LogicalResult build(KernelOp kernel);

  unsigned getGroup(Value tile) const { return groupOf.lookup(tile); }

  std::vector<Group> groups;
  SmallVector<SliceRelation> relations;

private:
  LogicalResult visit(Operation *op);
  void unite(Value a, Value b) {
    if (isTile(a) && isTile(b))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }
  void collect(Value value);
  void relate(Operation *op);
  void addAccess(Group &group, unsigned dim, Operation *access);

  int64_t alignment;
  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseMap<Value, unsigned> groupOf;
  llvm::DenseMap<void *, unsigned> groupOfLeader;
};

} // namespace

/// The dimensions of an operand of rank `rank` that its reduction keeps.
static SmallVector<int64_t> getKeptDims(int64_t rank, int64_t axis) {
  SmallVector<int64_t> kept = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  kept.erase(kept.begin() + axis);
  return kept;
}

LogicalResult TileGroups::visit(Operation *op) {
  SmallVector<Value> tiles;
  llvm::copy_if(op->getOperands(), std::back_inserter(tiles), isTile);
  llvm::copy_if(op->getResults(), std::back_inserter(tiles), isTile);
  if (tiles.empty() ||
      isa<LoadOp, StoreOp, ReadOp, WriteOp, BroadcastOp, ConvertLayoutOp>(op) ||
      takesAnyLayout(op))
    return success();
  if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value tile : tiles)
      unite(tiles.front(), tile);
    return success();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    for (auto [input, result] :
         llvm::zip(reduce.getInputs(), reduce.getResults())) {
      unite(reduce.getInputs().front(), input);
      unite(reduce.getResults().front(), result);
    }
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                   loop.getYieldedValues(), loop.getResults())) {
      unite(init, argument);
      unite(init, yielded);
      unite(init, result);
    }
    return success();
  }
  if (auto loop = dyn_cast<loop::ReduceOp>(op)) {
    for (auto [yielded, result] : llvm::zip(
             loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
      unite(yielded, result);
    return success();
  }
  if (isa<scf::YieldOp, loop::YieldOp>(op) &&
      isa<scf::ForOp, loop::ReduceOp>(op->getParentOp()))
    return success();
  return op->emitOpError("has tiles that register_tile can't give layouts; run "
                         "the tile passes in order");
}

void TileGroups::collect(Value value) {
  if (!isTile(value))
    return;
  void *leader = classes.getOrInsertLeaderValue(value.getAsOpaquePointer());
  auto [it, isNew] = groupOfLeader.try_emplace(leader, groups.size());
  if (isNew) {
    Group &group = groups.emplace_back();
    group.shape = llvm::to_vector(getTileType(value).getShape());
    group.contiguous.assign(group.shape.size(), 0);
    group.width.assign(group.shape.size(), 0);
    group.kept.assign(group.shape.size(), false);
  }
  Group &group = groups[it->second];
  group.values.push_back(value);
  groupOf[value] = it->second;
}

void TileGroups::addAccess(Group &group, unsigned dim, Operation *access) {
  group.contiguous[dim] += group.getNumElements();
  group.limitWidth(dim, getAccessWidth(access, alignment));
}

void TileGroups::relate(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](ReduceOp reduce) {
        Value input = reduce.getInputs().front();
        int64_t axis = reduce.getAxis();
        groups[getGroup(reduce.getResults().front())].isReduced = true;
        relations.push_back({getGroup(reduce.getResults().front()),
                             getGroup(input),
                             getKeptDims(getTileType(input).getRank(), axis)});
      })
      .Case([&](BroadcastOp broadcast) {
        relations.push_back({getGroup(broadcast.getInput()),
                             getGroup(broadcast.getResult()),
                             llvm::to_vector(broadcast.getDims())});
      })
      .Case<LoadOp, StoreOp>([&](auto access) {
        BoxAccess box = *BoxAccess::get(access);
        Group &group = groups[getGroup(getMovedTile(op))];
        if (std::optional<unsigned> dim = box.getUnitStrideDim())
          addAccess(group, *dim, access);
      })
      .Case<ReadOp, WriteOp>([&](auto access) {
        Group &group = groups[getGroup(getMovedTile(op))];
        if (!group.shape.empty())
          addAccess(group, group.shape.size() - 1, access);
      });
}

LogicalResult TileGroups::build(KernelOp kernel) {
  WalkResult supported = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(visit(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (supported.wasInterrupted())
    return failure();
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), [&](Value value) { collect(value); });
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(),
                       [&](Value value) { collect(value); });
  });
  kernel.walk([&](Operation *op) { relate(op); });
  return success();
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
static LinearLayout chooseLayout(const Group &group, ArrayRef<int64_t> order,
                                 int64_t vector, int64_t warps) {
  if (order.empty())
    return LinearLayout();
  // Warps share rows out before they share one row.
  SmallVector<int64_t> warpOrder;
  for (bool kept : {true, false})
    llvm::copy_if(order, std::back_inserter(warpOrder),
                  [&](int64_t dim) { return group.kept[dim] == kept; });

  constexpr int64_t lanesPerWarp = 32;
  Distribution distribution(group.shape);
  distribution.give(InputDim::Register,
                    std::min(vector, group.width[order.front()]),
                    order.front());
  distribution.give(InputDim::Lane, lanesPerWarp, order);
  distribution.give(InputDim::Warp, warps, warpOrder);
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

/// Accesses to parts tell how the whole should lie.
static void addPartsToWholes(TileGroups &tiles,
                             ArrayRef<unsigned> largestFirst) {
  for (unsigned id : llvm::reverse(largestFirst)) {
    const Group &part = tiles.groups[id];
    for (const SliceRelation &relation : tiles.relations) {
      if (relation.part != id || relation.whole == id)
        continue;
      Group &whole = tiles.groups[relation.whole];
      for (auto [i, dim] : llvm::enumerate(relation.dims)) {
        whole.contiguous[dim] += part.contiguous[i];
        whole.limitWidth(dim, part.width[i]);
        whole.kept[dim] = whole.kept[dim] || part.isReduced;
      }
    }
  }
}

/// Chooses the layout of each group and returns the anchors.
static SmallVector<unsigned> chooseLayouts(TileGroups &tiles, int64_t vector,
                                           int64_t warps) {
  SmallVector<unsigned> largestFirst =
      llvm::to_vector(llvm::seq<unsigned>(0, tiles.groups.size()));
  llvm::sort(largestFirst, [&](unsigned a, unsigned b) {
    auto getKey = [&](unsigned id) {
      const Group &group = tiles.groups[id];
      return std::tuple(-int64_t(group.shape.size()), -group.getNumElements(),
                        id);
    };
    return getKey(a) < getKey(b);
  });
  addPartsToWholes(tiles, largestFirst);

  SmallVector<unsigned> anchors;
  for (unsigned id : largestFirst) {
    Group &group = tiles.groups[id];
    for (unsigned whole : largestFirst)
      for (const SliceRelation &relation : tiles.relations)
        if (!group.layout && relation.part == id && relation.whole == whole &&
            tiles.groups[whole].layout)
          group.layout = getSlice(*tiles.groups[whole].layout, relation.dims);
    if (group.layout)
      continue;
    group.layout = chooseLayout(group, group.getOrder(), vector, warps);
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

/// Converts where a reduction or broadcast wants another slice than the tile
/// has.
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
  }
  return conversions;
}

/// Converts around an access to global memory whose neighbours are held by
/// lanes far apart, so that it is coalesced. The conversion goes through shared
/// memory.
static int64_t convertTransposed(Operation *op, const Group &group,
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
                                             int64_t alignment) {
  if (!kernel.getWarps())
    return kernel.emitOpError(
        "has no number of warps; run deplo-blockify-launch first");
  int64_t warps = *kernel.getWarps();
  if (failed(checkSizes(kernel)))
    return failure();

  Copies copies = copyForEachUse(kernel);
  TileGroups tiles(alignment);
  if (failed(tiles.build(kernel)))
    return failure();
  LayoutSummary summary;
  for (unsigned anchor : chooseLayouts(tiles, vector, warps))
    summary.anchors.push_back(
        LayoutAttr::get(kernel.getContext(), *tiles.groups[anchor].layout));

  for (Group &group : tiles.groups)
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
// Registers
//===----------------------------------------------------------------------===//

/// Whether threads wait for each other at `op`.
static bool isMeetingPoint(Operation *op) {
  return isa<ReduceOp, ConvertLayoutOp, BarrierOp, AwaitOp>(op);
}

/// 32-bit registers of a thread that `tile` occupies. Constants, masks and
/// repetitions need not be kept.
static int64_t getRegisters(Value tile) {
  LayoutAttr layout = getLayout(tile);
  unsigned bits = getTileType(tile).getElementTypeBitWidth();
  if (!layout || bits == 1 || tile.getDefiningOp<arith::ConstantOp>())
    return 0;
  if (auto broadcast = tile.getDefiningOp<BroadcastOp>())
    return getRegisters(broadcast.getInput());
  if (tile.getDefiningOp<SplatOp>())
    return 1;
  constexpr int64_t registerBits = 32;
  return llvm::divideCeil(
      layout.getLinearLayout().getNumRegisters() * int64_t(bits), registerBits);
}

/// Whether `value` is defined before `point` and used after it.
static bool isLiveAcross(Value value, Operation *point) {
  Block *block = value.getParentBlock();
  Operation *here = block->findAncestorOpInBlock(*point);
  if (!here ||
      (value.getDefiningOp() && !value.getDefiningOp()->isBeforeInBlock(here)))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *there = block->findAncestorOpInBlock(*user);
    // Inside a loop around the point, the next iteration uses it again.
    return there == here ? user != here : here->isBeforeInBlock(there);
  });
}

int64_t tile::estimateRegisters(KernelOp kernel) {
  SmallVector<Value> values;
  SmallVector<Operation *> points;
  kernel.walk([&](Operation *op) {
    llvm::copy_if(op->getResults(), std::back_inserter(values), isTile);
    for (Region &region : op->getRegions())
      if (!region.empty())
        llvm::copy_if(region.getArguments(), std::back_inserter(values),
                      isTile);
    if (isMeetingPoint(op))
      points.push_back(op);
  });
  int64_t most = 0;
  for (Operation *point : points) {
    int64_t registers = 0;
    for (Value result : point->getResults())
      if (isTile(result))
        registers += getRegisters(result);
    for (Value value : values)
      if (isLiveAcross(value, point))
        registers += getRegisters(value);
    most = std::max(most, registers);
  }
  return most;
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
    constexpr int64_t defaultVector = 4;
    int64_t most = vector != 0            ? int64_t(vector)
                   : kernel.getSchedule() ? kernel.getSchedule()->getVector()
                                          : defaultVector;
    if (most < 1 || !llvm::isPowerOf2_64(most)) {
      kernel.emitOpError() << "can't have vector=" << most
                           << ", expected a power of two";
      return signalPassFailure();
    }
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    FailureOr<LayoutSummary> summary = assignLayouts(kernel, most, alignment);
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
