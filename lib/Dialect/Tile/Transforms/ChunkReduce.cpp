// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts inner dimensions that are too long for registers into loops over chunks.
//
//   %a = tile.load %x[%i, %c0] : tensor<1x65536xf32>
//   %s = tile.reduce [add] %a axis 1 : tensor<1x65536xf32> -> tensor<1xf32>
// -> (chunk = 4096)
//   %p = scf.for %k = %c0 to %c65536 step %c4096 iter_args(%t = %zero) {
//     %a = tile.load %x[%i, %k] : tensor<1x4096xf32>
//     %b = arith.addf %t, %a : tensor<1x4096xf32>
//     scf.yield %b
//   }
//   %s = tile.reduce [add] %p axis 1 : tensor<1x4096xf32> -> tensor<1xf32>
//
// Where a dimension ends (a reduction over it, or a store that spans it) the
// operations that lead there are cloned into the loop; what several ends need
// is computed again for each, except that ends which don't depend on one
// another share a loop. A maximum m of x and the sum of exp(x - m), which does
// depend on it, share one as well: the sum is kept relative to the maximum so
// far (OnlineSum.cpp).
//
// Of a part of a reduction, a block has chunks of its own:
//
//   %s = tile.reduce [add] %a axis 0 part %p of 132
// ->
//   %first = arith.muli %p, %c4096
//   %t = scf.for %k = %first to %n step %c540672 ...
//   %s = tile.reduce [add] %t axis 0
//
// A scan along the dimension goes on where it ended in the chunk before: the
// loop carries what all elements so far fold to.
//
// Legality. The cloned operations are pure or load what no one stores to (C2 of
// loop.kernel), and work on each element of the dimension by itself, so a chunk
// of the result needs just that chunk of the operands, and of a scan the fold
// of the chunks before. The monoid is
// associative and commutative by declaration, so a reduction may first combine
// equal positions of the chunks, in the order of the loop: that order is fixed.

#include "OnlineSum.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-chunk-reduce"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_CHUNKREDUCEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

//===----------------------------------------------------------------------===//
// One dimension in one block
//===----------------------------------------------------------------------===//

namespace {

/// Divides the dimension `number` in the operations of `block`.
class Chunker {
public:
  Chunker(const TileDims &dims, unsigned number, int64_t chunk, Block *block)
      : dims(dims), number(number), chunk(chunk), block(block),
        builder(block, block->begin()),
        isSymbolic(SymbolicSizes::get(block->getParentOp())
                       .isSymbolic(dims.getExtent(number))) {}

  /// Returns the number of loads in loops, by memref.
  llvm::MapVector<Value, int64_t> run();

private:
  /// The dimension of a tile that is divided, if it has it.
  std::optional<unsigned> getDim(ArrayRef<unsigned> numbers) const;
  std::optional<unsigned> getDim(Value tile) const {
    return getDim(dims.getClasses(tile));
  }
  std::optional<unsigned> getDim(OpOperand &operand) const {
    return getDim(dims.getClasses(operand));
  }
  bool isEnd(Operation *op) const;
  /// Ends by how many other ends come before them on the longest way.
  llvm::MapVector<int64_t, SmallVector<Operation *>> getLevels();
  void buildLoop(ArrayRef<Operation *> ends);
  void buildOnlineLoop(OnlineSum online);
  scf::ForOp createLoop(Location loc, ValueRange inits);
  Value getIdentityTile(Monoid kind, Value input, int64_t axis);
  SmallVector<Operation *> getSlice(ArrayRef<Operation *> ends);
  void cloneIntoLoop(Operation *op, Value start, IRMapping &mapping);
  Value getChunkOf(OpOperand &operand, IRMapping &mapping);
  template <typename OpT> void shift(OpT clone, unsigned dim, Value start);
  SmallVector<int64_t> getChunkShape(Value tile, unsigned dim) const;
  bool isAlong(ScanOp scan) const {
    return getDim(scan->getOpOperand(0)) == scan.getAxis();
  }
  Value buildIdentity(Location loc, Monoid kind, RankedTensorType type);

  const TileDims &dims;
  unsigned number;
  int64_t chunk;
  Block *block;
  OpBuilder builder;
  bool isSymbolic;
  llvm::MapVector<Value, int64_t> loads;
};

} // namespace

std::optional<unsigned> Chunker::getDim(ArrayRef<unsigned> numbers) const {
  const auto *it = llvm::find(numbers, number);
  if (it == numbers.end())
    return std::nullopt;
  return it - numbers.begin();
}

static bool isEndOf(Operation *op, const TileDims &dims, unsigned number) {
  if (auto store = dyn_cast<StoreOp>(op))
    return llvm::is_contained(dims.getClasses(store.getValueMutable()), number);
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce &&
         dims.getClasses(op->getOpOperand(0))[reduce.getAxis()] == number;
}

bool Chunker::isEnd(Operation *op) const { return isEndOf(op, dims, number); }

llvm::MapVector<int64_t, SmallVector<Operation *>> Chunker::getLevels() {
  llvm::MapVector<int64_t, SmallVector<Operation *>> levels;
  DenseMap<Operation *, int64_t> levelOf;
  for (Operation &op : *block) {
    int64_t level = 0;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && def->getBlock() == block)
          level = std::max(level, levelOf[def]);
      }
    });
    if (isEnd(&op))
      levels[level++].push_back(&op);
    levelOf[&op] = level;
  }
  return levels;
}

SmallVector<int64_t> Chunker::getChunkShape(Value tile, unsigned dim) const {
  SmallVector<int64_t> shape(cast<RankedTensorType>(tile.getType()).getShape());
  shape[dim] = chunk;
  return shape;
}

/// What leads to the ends and has the divided dimension, in order.
SmallVector<Operation *> Chunker::getSlice(ArrayRef<Operation *> ends) {
  DenseSet<Operation *> slice(ends.begin(), ends.end());
  SmallVector<Operation *> worklist(ends);
  while (!worklist.empty()) {
    for (OpOperand &operand : worklist.pop_back_val()->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (def && getDim(operand) && !isConstantTile(operand.get()) &&
          slice.insert(def).second)
        worklist.push_back(def);
    }
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : *block)
    if (slice.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

/// Starts the clone of an access at the chunk.
template <typename OpT>
void Chunker::shift(OpT clone, unsigned dim, Value start) {
  BoxAccess box = *BoxAccess::get(clone);
  AffineIndex index = AffineIndex::get(box.indices[box.dims[dim]]);
  index.scale = box.steps[dim];
  clone.getIndicesMutable()[box.dims[dim]].set(
      index.rebuild(builder, clone.getLoc(), start));
}

/// The operand's chunk.
Value Chunker::getChunkOf(OpOperand &operand, IRMapping &mapping) {
  std::optional<unsigned> dim = getDim(operand);
  if (!dim || !isConstantTile(operand.get()))
    return mapping.lookupOrDefault(operand.get());
  return reshapeConstantTile(builder, operand.get(),
                             getChunkShape(operand.get(), *dim));
}

void Chunker::cloneIntoLoop(Operation *op, Value start, IRMapping &mapping) {
  Operation *clone = op->clone(mapping);
  for (auto [before, after] :
       llvm::zip_equal(op->getOpOperands(), clone->getOpOperands()))
    after.set(getChunkOf(before, mapping));
  if (auto load = dyn_cast<LoadOp>(clone)) {
    shift(load, *getDim(op->getResult(0)), start);
    ++loads[load.getMemref()];
  } else if (auto store = dyn_cast<StoreOp>(clone)) {
    shift(store, *getDim(cast<StoreOp>(op).getValueMutable()), start);
  } else if (auto mask = dyn_cast<InBoundsOp>(clone)) {
    mask.getCornerMutable()[*getDim(op->getResult(0))].set(start);
  } else if (auto iota = dyn_cast<IotaOp>(clone)) {
    iota.getStartMutable().set(start);
  }
  builder.insert(clone);
  for (auto [before, after] :
       llvm::zip_equal(op->getResults(), clone->getResults()))
    after.setType(
        withShape(before.getType(), getChunkShape(before, *getDim(before))));
}

Value Chunker::buildIdentity(Location loc, Monoid kind, RankedTensorType type) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, getIdentity(kind, type.getElementType())));
}

/// What a running tile of `input` starts as.
Value Chunker::getIdentityTile(Monoid kind, Value input, int64_t axis) {
  return buildIdentity(input.getLoc(), kind,
                       withShape(input.getType(), getChunkShape(input, axis)));
}

/// As many chunks as the extent needs, which may be known when the program
/// runs; of n parts, each nth of them.
scf::ForOp Chunker::createLoop(Location loc, ValueRange inits) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  int64_t extent = dims.getExtent(number);
  Value last = isSymbolic ? loop::SizeOp::create(builder, loc,
                                                 builder.getIndexType(), extent)
                          : constant(llvm::alignTo(extent, chunk));
  auto [part, parts] = dims.getPart(number);
  Value first = constant(0);
  if (part)
    first = arith::MulIOp::create(builder, loc, part, constant(chunk));
  return scf::ForOp::create(builder, loc, first, last, constant(chunk * parts),
                            inits);
}

/// Both reductions in one loop.
void Chunker::buildOnlineLoop(OnlineSum online) {
  ReduceOp maximum = online.maximum, sum = online.sum;
  builder.setInsertionPoint(maximum);
  Value x = maximum.getInputs().front();
  Value inits[] = {
      getIdentityTile(Monoid::Max, x, maximum.getAxis()),
      getIdentityTile(Monoid::Add, sum.getInputs().front(), sum.getAxis())};
  auto loop = createLoop(sum->getLoc(), inits);
  Operation *afterLoop = loop->getNextNode();
  builder.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  Operation *end = maximum;
  for (Operation *op : getSlice(end))
    if (op != end)
      cloneIntoLoop(op, loop.getInductionVar(), mapping);
  OnlineSum::State next = online.accumulate(
      builder, {loop.getRegionIterArg(0), loop.getRegionIterArg(1)},
      getChunkOf(end->getOpOperand(0), mapping));
  scf::YieldOp::create(builder, sum->getLoc(),
                       ValueRange{next.maximum, next.sum});

  builder.setInsertionPoint(afterLoop);
  OnlineSum::State total =
      online.finish(builder, {loop.getResult(0), loop.getResult(1)});
  maximum.getResults().front().replaceAllUsesWith(total.maximum);
  sum.getResults().front().replaceAllUsesWith(total.sum);
  sum.erase();
  maximum.erase();
}

void Chunker::buildLoop(ArrayRef<Operation *> ends) {
  Location loc = ends.front()->getLoc();
  builder.setInsertionPoint(ends.front());
  // The running tiles and the carries start as identities.
  SmallVector<Operation *> slice = getSlice(ends);
  SmallVector<Value> inits;
  for (Operation *op : slice) {
    auto reduce = dyn_cast<ReduceOp>(op);
    auto scan = dyn_cast<ScanOp>(op);
    if (reduce && isEnd(op))
      for (auto [kind, input] :
           llvm::zip_equal(reduce.getMonoids(), reduce.getInputs()))
        inits.push_back(getIdentityTile(kind, input, reduce.getAxis()));
    else if (scan && isAlong(scan))
      inits.push_back(
          buildIdentity(loc, scan.getKind(), scan.getTotal().getType()));
  }

  auto loop = createLoop(loc, inits);
  Operation *afterLoop = loop->getNextNode();
  builder.setInsertionPointToStart(loop.getBody());
  Value start = loop.getInductionVar();
  if (Value slice = dims.getSliceStart(number))
    start = arith::AddIOp::create(builder, loc, slice, start);
  IRMapping mapping;
  SmallVector<Value> yielded;
  for (Operation *op : slice) {
    auto reduce = dyn_cast<ReduceOp>(op);
    auto scan = dyn_cast<ScanOp>(op);
    if (scan && isAlong(scan)) {
      auto part =
          ScanOp::create(builder, scan.getLoc(), scan.getKind(),
                         getChunkOf(scan->getOpOperand(0), mapping),
                         loop.getRegionIterArg(yielded.size()), scan.getAxis());
      mapping.map(scan.getResult(), part.getResult());
      yielded.push_back(part.getTotal());
      continue;
    }
    if (!reduce || !isEnd(op)) {
      cloneIntoLoop(op, start, mapping);
      continue;
    }
    for (auto [kind, input] :
         llvm::zip_equal(reduce.getMonoids(), reduce.getInputsMutable())) {
      Value running = loop.getRegionIterArg(yielded.size());
      yielded.push_back(combine(builder, reduce.getLoc(), kind, running,
                                getChunkOf(input, mapping)));
    }
  }
  if (!yielded.empty())
    scf::YieldOp::create(builder, loc, yielded);

  builder.setInsertionPoint(afterLoop);
  ValueRange totals = loop.getResults();
  for (Operation *op : slice) {
    auto scan = dyn_cast<ScanOp>(op);
    if (scan && isAlong(scan))
      totals = totals.drop_front(1);
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && isEnd(op)) {
      unsigned count = reduce.getInputs().size();
      auto total =
          ReduceOp::create(builder, reduce.getLoc(), reduce.getMonoids(),
                           totals.take_front(count), reduce.getAxis());
      totals = totals.drop_front(count);
      reduce.replaceAllUsesWith(total.getResults());
    }
  }
}

static void eraseDeadOperations(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

llvm::MapVector<Value, int64_t> Chunker::run() {
  SmallVector<ReduceOp> reductions;
  for (ReduceOp reduce : block->getOps<ReduceOp>())
    if (isEnd(reduce))
      reductions.push_back(reduce);
  // A maximum that the sum of one pair has been found with is gone for others.
  for (ReduceOp reduce : reductions)
    if (std::optional<OnlineSum> online = OnlineSum::get(reduce))
      buildOnlineLoop(*online);
  eraseDeadOperations(*block);
  auto levels = getLevels();
  for (auto &[level, ends] : levels)
    buildLoop(ends);
  for (auto &[level, ends] : levels)
    for (Operation *end : ends)
      end->erase();
  // A loop stands where the first of its ends was, perhaps before operands of
  // the others.
  sortTopologically(block);
  eraseDeadOperations(*block);
  return loads;
}

//===----------------------------------------------------------------------===//
// All dimensions
//===----------------------------------------------------------------------===//

/// Whether no element of the mask is out of bounds.
static bool isAllTrue(InBoundsOp mask) {
  ArrayRef<int64_t> shape = mask.getResult().getType().getShape();
  for (auto [corner, size, bound] :
       llvm::zip_equal(mask.getCorner(), shape, mask.getBounds()))
    if (!isWithinBound(corner, /*step=*/1, size, bound))
      return false;
  return true;
}

void simplifyMasks(KernelOp kernel) {
  // A walk must not erase the operation that it goes to next.
  SmallVector<InBoundsOp> masks;
  kernel.walk([&](InBoundsOp mask) {
    if (isAllTrue(mask))
      masks.push_back(mask);
  });
  for (InBoundsOp mask : masks)
    for (Operation *user : llvm::make_early_inc_range(mask->getUsers())) {
      auto select = dyn_cast<arith::SelectOp>(user);
      if (!select || select.getCondition() != mask.getResult())
        continue;
      select.replaceAllUsesWith(select.getTrueValue());
      select.erase();
    }
  kernel.walk([](Operation *op) {
    std::optional<BoxAccess> box = BoxAccess::get(op);
    if (!box || box->bounds.empty())
      return;
    for (auto [size, dim, step, bound] :
         llvm::zip_equal(box->shape, box->dims, box->steps, box->bounds))
      if (!isWithinBound(box->indices[dim], step, size, bound))
        return;
    op->removeAttr("bounds");
  });
}

namespace {
/// What is to be divided, and how small it should get.
using Sizes = llvm::MapVector<unsigned, int64_t>;
} // namespace

/// Makes the inner dimensions `numbers` of one tile smaller until `chunk`
/// elements of them are left; those that are contiguous in memory give way
/// last.
static void limitTile(SmallVector<unsigned> numbers, const TileDims &dims,
                      int64_t chunk, Sizes &sizes) {
  llvm::erase_if(numbers, [&](unsigned number) {
    return dims.getAxis(number).has_value();
  });
  llvm::stable_sort(numbers, [&](unsigned a, unsigned b) {
    return dims.getContiguousAccesses(a) < dims.getContiguousAccesses(b);
  });
  int64_t product = 1;
  for (unsigned number : numbers)
    product *= dims.getSize(number);
  for (unsigned number : numbers) {
    int64_t size = dims.getSize(number);
    int64_t fitting =
        std::max<int64_t>(size / std::max<int64_t>(product / chunk, 1), 1);
    product = product / size * fitting;
    if (fitting < size) {
      auto [known, isNew] = sizes.insert({number, fitting});
      known->second = std::min(known->second, fitting);
    }
  }
}

/// The next dimension to divide. A reduction whose operand was reduced before
/// comes first, so that its loop is the outer one and what it carries is small.
static std::optional<unsigned> findNext(ArrayRef<Operation *> operations,
                                        const TileDims &dims,
                                        const Sizes &sizes) {
  for (Operation *op : llvm::reverse(operations))
    for (auto [number, size] : sizes)
      if (isa<ReduceOp>(op) && isEndOf(op, dims, number))
        return number;
  for (Operation *op : llvm::reverse(operations))
    if (auto store = dyn_cast<StoreOp>(op))
      for (unsigned number : dims.getClasses(store.getValueMutable()))
        if (sizes.count(number))
          return number;
  return std::nullopt;
}

/// Divides one dimension, if there is one to divide.
static std::optional<ChunkedDim> chunkNext(KernelOp kernel, int64_t chunk) {
  TileDims dims(kernel);
  Sizes sizes;
  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) {
    operations.push_back(op);
    for (Value result : op->getResults())
      if (!isConstantTile(result))
        limitTile(dims.getClasses(result), dims, chunk, sizes);
  });
  // What a loop carries whole can't be divided inside of it.
  for (Operation *op : operations)
    if (op->getNumRegions() != 0)
      for (Value result : op->getResults())
        for (unsigned number : dims.getClasses(result))
          sizes.erase(number);
  std::optional<unsigned> number = findNext(operations, dims, sizes);
  if (!number)
    return std::nullopt;

  SetVector<Block *> blocks;
  for (Operation *op : operations)
    if (isEndOf(op, dims, *number))
      blocks.insert(op->getBlock());
  int64_t extent = dims.getExtent(*number), size = sizes[*number];
  llvm::MapVector<Value, int64_t> loads;
  for (Block *block : blocks)
    for (auto [memref, count] : Chunker(dims, *number, size, block).run())
      loads[memref] += count;
  int64_t reads = 1;
  for (auto [memref, count] : loads)
    reads = std::max(reads, count);
  return ChunkedDim{extent, size, int64_t(llvm::divideCeil(extent, size)),
                    reads};
}

SmallVector<ChunkedDim> chunkReduce(KernelOp kernel, int64_t chunk) {
  SmallVector<ChunkedDim> divided;
  while (std::optional<ChunkedDim> dim = chunkNext(kernel, chunk))
    divided.push_back(*dim);
  simplifyMasks(kernel);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return divided;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static std::string explainMissed(KernelOp kernel) {
  TileDims dims(kernel);
  int64_t longest = 0, elements = 0;
  kernel.walk([&](LoadOp load) {
    int64_t row = 1;
    for (unsigned number : dims.getClasses(load.getResult()))
      if (!dims.getAxis(number))
        row *= dims.getExtent(number);
    if (row > longest) {
      longest = row;
      elements = load.getType().getNumElements();
    }
  });
  if (longest <= 1)
    return "no dimension is inside of the axes";
  int64_t threads = kernel.getWarps().value_or(1) * 32;
  int64_t perThread = llvm::divideCeil(elements, threads);
  return llvm::formatv("a row of {0} fits in registers: {1} a thread", longest,
                       perThread);
}

namespace {

struct ChunkReducePass : impl::ChunkReducePassBase<ChunkReducePass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    ScheduleAttr schedule = kernel.getScheduleAttr();
    // The chunk of a contraction is one of its sums; rows that it folds are in
    // registers.
    if (schedule && chunk < 0 &&
        (!schedule.getThread().empty() || !schedule.getWarpTile().empty())) {
      remark::missed(kernel.getLoc(), remark::RemarkOpts::name("ChunkReduce")
                                          .category(DEBUG_TYPE)
                                          .function(kernel.getSymName()))
          << "the schedule is one of a contraction";
      return markAllAnalysesPreserved();
    }
    int64_t size = chunk >= 0 ? chunk : schedule ? schedule.getChunk() : 0;
    if (size != 0 && !llvm::isPowerOf2_64(size)) {
      kernel.emitOpError() << "chunk must be 0 or a power of two, got " << size;
      return signalPassFailure();
    }
    auto options = remark::RemarkOpts::name("ChunkReduce")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<ChunkedDim> divided;
    // A contraction's chunks are what it sums over.
    bool isOfCluster =
        !kernel.getBody()->getOps<ClusterReduceScatterOp>().empty();
    if (size != 0 && !isOfCluster)
      divided = chunkReduce(kernel, size);
    // A part is chunks of its own.
    WalkResult whole = kernel.walk([&](ReduceOp reduce) {
      if (!reduce.getPart())
        return WalkResult::advance();
      reduce.emitOpError() << "folds one of " << *reduce.getParts()
                           << " parts, which are chunks, and chunk is " << size
                           << "; use a smaller chunk";
      return WalkResult::interrupt();
    });
    if (whole.wasInterrupted())
      return signalPassFailure();
    for (const ChunkedDim &dim : divided)
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} elements in {1} chunks of {2}; each is read {3}",
                         dim.extent, dim.chunks, dim.chunk,
                         dim.reads == 1 ? std::string("once")
                                        : std::to_string(dim.reads) + " times");
    if (divided.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", explainMissed(kernel));
  }
};

} // namespace

} // namespace deplo::tile
