// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// persist_blocks: each block computes several tiles, and copies of the next one
// start while the last one is stored.
//
//   tile.producer registers [40, 232] {
//     scf.for %k = 0 to 4096 step 64 {
//       tile.mbarrier_wait %empty[%k / 64 mod 4] phase %k / 64 / 4 - 1
//       tile.tma_copy %x[%i, %k] to slot (%k / 64 mod 4) on %full[...]
//   scf.for %k = 0 to 4096 step 64 {
//     tile.mbarrier_wait %full[%k / 64 mod 4] phase %k / 64 / 4
//     ...
//   tile.store %e, %y[%i, %j]
//
// becomes, where %r is %n * 4096 + %k,
//
//   tile.producer registers [40, 232] {
//     tile.each_tile blocks 132 (%i, %j) number %n {
//       scf.for %k = 0 to 4096 step 64 {
//         tile.mbarrier_wait %empty[%r / 64 mod 4] phase %r / 64 / 4 - 1
//         tile.tma_copy %x[%i, %k] to slot (%r / 64 mod 4) on %full[...]
//   tile.each_tile blocks 132 (%i, %j) number %n {
//     scf.for %k = 0 to 4096 step 64 {
//       tile.mbarrier_wait %full[%r / 64 mod 4] phase %r / 64 / 4
//       ...
//     tile.store %e, %y[%i, %j]
//
// A launch whose extents make fewer tiles than that takes a block for each.
//
// Legality: tiles are independent of one another. The chunks of all of a
// block's tiles are numbered one after the other, and what slots and phases are
// of a chunk's number they are of the variable of the loop, from which alone
// they are computed. Each slot is released once for each time that it is
// filled. Warps share nothing else that a tile could find in use by the one
// before it.

#include "CarriedValues.h"
#include "PassSupport.h"
#include "deplo/Analysis/Occupancy.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "deplo-persist-blocks"

namespace deplo::tile {
#define GEN_PASS_DEF_PERSISTBLOCKSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// The parts of a kernel with a producer.
struct Parts {
  ProducerOp producer;
  /// What is before it and depends on the block's coordinates, in order.
  llvm::SetVector<Operation *> ofTile;
  /// Iterations of all loops that wait, times their step.
  int64_t span = 0;

  static std::optional<Parts> get(KernelOp kernel, std::string &reason);
};

} // namespace

static bool waits(scf::ForOp loop) {
  return !loop.getBody()->getOps<MBarrierWaitOp>().empty();
}

/// The operands of `op` that say which barrier, phase or slot it is about.
static SmallVector<OpOperand *> getPlaces(Operation *op) {
  if (auto wait = dyn_cast<MBarrierWaitOp>(op))
    return {&wait.getIndexMutable(), &wait.getPhaseMutable()};
  if (auto arrive = dyn_cast<MBarrierArriveOp>(op))
    return {&arrive.getIndexMutable()};
  if (auto slot = dyn_cast<SlotOp>(op))
    return {&slot.getSlotMutable()};
  if (auto copy = dyn_cast<TmaCopyOp>(op))
    return {&copy.getIndexMutable()};
  return {};
}

/// Whether `value` is computed from the variable of `loop` and from what is the
/// same in all iterations and tiles.
static bool isOfVariable(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isOfVariable(operand, loop);
         });
}

std::optional<Parts> Parts::get(KernelOp kernel, std::string &reason) {
  auto refuse = [&](StringRef why) {
    reason = why.str();
    return std::nullopt;
  };
  Parts parts;
  if (kernel.getClusterAxis())
    return refuse("a cluster shares each tile");
  for (Operation &op : *kernel.getBody()) {
    if ((parts.producer = dyn_cast<ProducerOp>(op)))
      break;
    bool isOfTile = llvm::any_of(op.getOperands(), [&](Value operand) {
      return llvm::is_contained(kernel.getAxisValues(), operand) ||
             parts.ofTile.contains(operand.getDefiningOp());
    });
    if (isOfTile)
      parts.ofTile.insert(&op);
  }
  if (!parts.producer)
    return refuse("no warps of their own start copies");
  std::string found;
  kernel.walk([&](Operation *op) {
    if (isa<BarrierOp, ReadOp, WriteOp, CopyOp, AsyncCopyOp, ReduceOp, ScanOp,
            ClusterReduceOp, ClusterReduceScatterOp, RecomputeOp>(op))
      found = "warps exchange more than the slots of a ring";
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !waits(loop))
      return;
    std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound()),
                           step = getConstantIntValue(loop.getStep());
    if (getConstantIntValue(loop.getLowerBound()) != 0 || !upper || !step ||
        *upper < 1 || *step < 1) {
      found = "the chunks of a tile are not counted before the launch";
      return;
    }
    int64_t span = llvm::alignTo(*upper, *step);
    if (parts.span != 0 && parts.span != span)
      found = "loops have other chunks than the producer's";
    parts.span = span;
    for (Operation &inner : *loop.getBody())
      for (OpOperand *place : getPlaces(&inner))
        if (!isOfVariable(place->get(), loop))
          found = "slots don't follow from the loop's variable alone";
  });
  if (!found.empty())
    return refuse(found);
  if (parts.span == 0)
    return refuse("no loop waits for slots of a ring");
  return parts;
}

/// Slots and phases of `loop` are those of its variable and `shift`.
static void shiftPlaces(scf::ForOp loop, Value shift) {
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(),
              arith::AddIOp::create(builder, loop.getLoc(),
                                    loop.getInductionVar(), shift)
                  .getResult());
  SmallVector<Operation *> users;
  for (Operation &op : *loop.getBody())
    users.push_back(&op);
  for (Operation *op : users)
    for (OpOperand *place : getPlaces(op))
      place->set(cloneFromBody(builder, place->get(), loop, mapping));
  for (Operation *op : llvm::reverse(users))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// Moves `ops` into a region that runs for each tile, at `builder`.
static void runForEachTile(OpBuilder &builder, KernelOp kernel,
                           const Parts &parts, int64_t blocks,
                           ArrayRef<Operation *> ops) {
  Location loc = kernel.getLoc();
  auto tiles =
      EachTileOp::create(builder, loc, blocks, kernel.getAxes().size());
  builder.setInsertionPointToStart(tiles.getBody());
  IRMapping mapping;
  for (auto [ofBlock, ofTile] :
       llvm::zip_equal(kernel.getAxisValues(), tiles.getAxisValues()))
    mapping.map(ofBlock, ofTile);
  Value shift = arith::MulIOp::create(
      builder, loc, tiles.getNumber(),
      arith::ConstantIndexOp::create(builder, loc, parts.span));
  for (Operation *op : parts.ofTile)
    builder.clone(*op, mapping);
  for (Operation *op : ops) {
    op->moveBefore(tiles.getBody(), tiles.getBody()->end());
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  }
  SmallVector<scf::ForOp> loops;
  tiles.walk([&](scf::ForOp loop) {
    if (waits(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    shiftPlaces(loop, shift);
}

/// Those of a block behind `first`.
static SmallVector<Operation *> getOps(Block::iterator first, Block &block) {
  return llvm::map_to_vector(llvm::make_range(first, block.end()),
                             [](Operation &op) { return &op; });
}

LogicalResult tile::persistBlocks(KernelOp kernel, int64_t blocks,
                                  std::string &reason) {
  std::optional<Parts> parts = Parts::get(kernel, reason);
  if (!parts)
    return failure();
  Block &copying = parts->producer.getRegion().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&copying);
  runForEachTile(builder, kernel, *parts, blocks,
                 getOps(copying.begin(), copying));
  // Buffers are there for all tiles.
  for (auto alloc :
       llvm::make_early_inc_range(kernel.getBody()->getOps<AllocOp>()))
    if (parts->producer->isBeforeInBlock(alloc))
      alloc->moveBefore(parts->producer);
  builder.setInsertionPointAfter(parts->producer);
  runForEachTile(
      builder, kernel, *parts, blocks,
      getOps(std::next(parts->producer->getIterator()), *kernel.getBody()));
  for (Operation *op : llvm::reverse(parts->ofTile))
    op->erase();
  return success();
}

/// Why blocks that stay take longer than others; empty if they don't.
static std::string findCost(KernelOp kernel) {
  std::string cost;
  kernel.walk([&](Operation *op) {
    // ptxas computes where threads store before the tiles, and spills.
    if (isa<StoreOp>(op) && isa<RankedTensorType>(op->getOperand(0).getType()))
      cost = "threads store the result";
    // Measured: 8192x8192x8192 by two pieces of f16, in three slots, takes 16 %
    // longer in blocks that stay.
    if (auto slot = dyn_cast<SlotOp>(op))
      if (!llvm::isPowerOf2_64(slot.getRing().getType().getShape().front()))
        cost = "rings have no power of two of slots";
  });
  return cost;
}

/// Blocks of `kernel` that the device has room for at once.
static int64_t countBlocksAtOnce(KernelOp kernel, TargetAttr target) {
  constexpr int64_t barrierBytes = 2048, reservedBytes = 1024, lanes = 32;
  int64_t bytes = getSharedBytes(kernel) + barrierBytes + reservedBytes;
  int64_t room = target.getSharedPerMultiprocessor() / bytes;
  for (auto producer : kernel.getBody()->getOps<ProducerOp>()) {
    int64_t warps = *kernel.getWarps();
    ArrayRef<int64_t> registers = producer.getRegisters();
    int64_t ofBlock =
        (registers[0] * producer.warps + registers[1] * warps) * lanes;
    room = std::min(
        {room, target.getRegistersPerMultiprocessor() / ofBlock,
         target.getWarpsPerMultiprocessor() / (warps + producer.warps)});
  }
  return std::max<int64_t>(room, 1) * target.getMultiprocessors();
}

namespace {

struct PersistBlocksPass
    : tile::impl::PersistBlocksPassBase<PersistBlocksPass> {
  using PersistBlocksPassBase::PersistBlocksPassBase;

  void runOnOperation() override {
    // Of tiles and of their chunks, which indices number: the lowering takes
    // those of 64 bits where there are many.
    constexpr int64_t numberLimit = int64_t(1) << 62;
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getPersistBlocks();
        });
    if (failed(choice))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("PersistBlocks")
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
    std::string reason;
    std::optional<Parts> parts = Parts::get(kernel, reason);
    if (!parts)
      return miss(reason);
    if (*choice == Choice::Auto)
      if (reason = findCost(kernel); !reason.empty())
        return miss(reason);
    int64_t tiles = getMostBlocks(kernel);
    int64_t atOnce =
        blocks > 0 ? int64_t(blocks) : countBlocksAtOnce(kernel, target);
    if (tiles <= atOnce && (*choice == Choice::Auto || tiles < atOnce))
      return miss("the device has room for all of " + std::to_string(tiles) +
                  " blocks at once");
    int64_t perBlock = llvm::divideCeil(tiles, atOnce);
    if (tiles >= numberLimit || perBlock >= numberLimit / parts->span)
      return miss("a block would count too many chunks");
    SymbolicSizes sizes = SymbolicSizes::get(kernel);
    bool isSymbolic = llvm::any_of(kernel.getAxes(), [&](Attribute axis) {
      return sizes.isSymbolic(cast<AxisAttr>(axis).getExtent());
    });
    if (failed(persistBlocks(kernel, atOnce, reason)))
      return miss(reason);
    remark::passed(kernel.getLoc(), options)
        << remark::add("{0} blocks run {1}{2} tiles, up to {3} each", atOnce,
                       isSymbolic ? "at most " : "", tiles, perBlock);
  }
};

} // namespace
