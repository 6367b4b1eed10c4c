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
// another share a loop.
//
// Legality. The cloned operations are pure or load what no one stores to (C2 of
// loop.kernel), and work on each element of the dimension by itself, so a chunk
// of the result needs just that chunk of the operands. The monoid is
// associative and commutative by declaration, so a reduction may first combine
// equal positions of the chunks, in the order of the loop: that order is fixed.

#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
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
        builder(block, block->begin()) {}

  /// Returns the number of loads in loops, by memref.
  llvm::MapVector<Value, int64_t> run();

private:
  std::optional<unsigned> getDim(Value tile) const;
  bool isEnd(Operation *op) const;
  /// Ends by how many other ends come before them on the longest way.
  llvm::MapVector<int64_t, SmallVector<Operation *>> getLevels();
  void buildLoop(ArrayRef<Operation *> ends);
  SmallVector<Operation *> getSlice(ArrayRef<Operation *> ends);
  Operation *cloneIntoLoop(Operation *op, Value start, IRMapping &mapping);
  template <typename OpT>
  void shift(OpT access, Value tile, OpT original, Value start);
  RankedTensorType getChunkType(Value tile) const;

  const TileDims &dims;
  unsigned number;
  int64_t chunk;
  Block *block;
  OpBuilder builder;
  llvm::MapVector<Value, int64_t> loads;
};

} // namespace

/// The dimension of the tile that is divided, if it has it.
std::optional<unsigned> Chunker::getDim(Value tile) const {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  for (unsigned dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
    if (dims.getClass(tile, dim) == number)
      return dim;
  return std::nullopt;
}

static bool isEndOf(Operation *op, const TileDims &dims, unsigned number) {
  if (auto store = dyn_cast<StoreOp>(op))
    return llvm::is_contained(dims.getClasses(store.getValue()), number);
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce &&
         dims.getClass(reduce.getInputs().front(), reduce.getAxis()) == number;
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

RankedTensorType Chunker::getChunkType(Value tile) const {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(tile.getType()).getShape());
  shape[*getDim(tile)] = chunk;
  return withShape(tile.getType(), shape);
}

/// What leads to the ends and has the divided dimension, in order.
SmallVector<Operation *> Chunker::getSlice(ArrayRef<Operation *> ends) {
  DenseSet<Operation *> slice(ends.begin(), ends.end());
  SmallVector<Operation *> worklist(ends);
  while (!worklist.empty()) {
    for (Value operand : worklist.pop_back_val()->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && getDim(operand) && slice.insert(def).second)
        worklist.push_back(def);
    }
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : *block)
    if (slice.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

/// Starts the access at the chunk.
template <typename OpT>
void Chunker::shift(OpT access, Value tile, OpT original, Value start) {
  unsigned dim = *getDim(tile);
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t memrefDim = getSpannedDims(original.getDims(),
                                     original.getMemRefType().getRank(),
                                     type.getRank())[dim];
  int64_t step = original.getSteps() ? (*original.getSteps())[dim] : 1;
  AffineIndex index = AffineIndex::get(original.getIndices()[memrefDim]);
  index.scale = step;
  access.getIndicesMutable()[memrefDim].set(
      index.rebuild(builder, original.getLoc(), start));
}

Operation *Chunker::cloneIntoLoop(Operation *op, Value start,
                                  IRMapping &mapping) {
  Operation *clone = op->clone(mapping);
  TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) {
        shift(cast<LoadOp>(clone), load.getResult(), load, start);
        ++loads[load.getMemref()];
      })
      .Case([&](StoreOp store) {
        shift(cast<StoreOp>(clone), store.getValue(), store, start);
      })
      .Case([&](InBoundsOp mask) {
        unsigned dim = *getDim(mask.getResult());
        cast<InBoundsOp>(clone).getCornerMutable()[dim].set(start);
      });
  builder.insert(clone);
  for (auto [before, after] :
       llvm::zip_equal(op->getResults(), clone->getResults()))
    setTileShape(after, getChunkType(before).getShape());
  return clone;
}

void Chunker::buildLoop(ArrayRef<Operation *> ends) {
  Location loc = ends.front()->getLoc();
  builder.setInsertionPoint(ends.front());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  // The running tiles start as identities.
  SmallVector<Value> inits;
  for (Operation *end : ends)
    if (auto reduce = dyn_cast<ReduceOp>(end))
      for (auto [kind, input] :
           llvm::zip_equal(reduce.getMonoids(), reduce.getInputs())) {
        RankedTensorType type = getChunkType(input);
        inits.push_back(arith::ConstantOp::create(
            builder, loc,
            DenseElementsAttr::get(
                type, getIdentity(kind, type.getElementType()))));
      }

  int64_t last = llvm::alignTo(dims.getExtent(number), chunk);
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(last),
                                 constant(chunk), inits);
  Operation *afterLoop = loop->getNextNode();
  builder.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  SmallVector<Value> yielded;
  for (Operation *op : getSlice(ends)) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || !isEnd(op)) {
      cloneIntoLoop(op, loop.getInductionVar(), mapping);
      continue;
    }
    for (auto [kind, input] :
         llvm::zip_equal(reduce.getMonoids(), reduce.getInputs())) {
      Value running = loop.getRegionIterArg(yielded.size());
      yielded.push_back(combine(builder, reduce.getLoc(), kind, running,
                                mapping.lookup(input)));
    }
  }
  if (!yielded.empty())
    scf::YieldOp::create(builder, loc, yielded);

  builder.setInsertionPoint(afterLoop);
  ValueRange totals = loop.getResults();
  for (Operation *end : ends) {
    if (auto reduce = dyn_cast<ReduceOp>(end)) {
      unsigned count = reduce.getInputs().size();
      auto total = ReduceOp::create(builder, reduce.getLoc(),
                                    reduce.getMonoids(),
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

void simplifyMasks(KernelOp kernel) {
  kernel.walk([](InBoundsOp mask) {
    ArrayRef<int64_t> shape = mask.getResult().getType().getShape();
    for (auto [corner, size, bound] :
         llvm::zip_equal(mask.getCorner(), shape, mask.getBounds()))
      if (!isWithinBound(corner, /*step=*/1, size, bound))
        return;
    for (Operation *user : llvm::make_early_inc_range(mask->getUsers())) {
      auto select = dyn_cast<arith::SelectOp>(user);
      if (!select || select.getCondition() != mask.getResult())
        continue;
      select.replaceAllUsesWith(select.getTrueValue());
      select.erase();
    }
  });
  auto dropBounds = [](auto access, Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    SmallVector<int64_t> dims = getSpannedDims(
        access.getDims(), access.getMemRefType().getRank(), type.getRank());
    if (!access.getBounds())
      return;
    for (auto [dim, memrefDim] : llvm::enumerate(dims)) {
      int64_t step = access.getSteps() ? (*access.getSteps())[dim] : 1;
      if (!isWithinBound(access.getIndices()[memrefDim], step,
                         type.getDimSize(dim), (*access.getBounds())[dim]))
        return;
    }
    access.removeBoundsAttr();
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      dropBounds(load, load.getResult());
    else if (auto store = dyn_cast<StoreOp>(op))
      dropBounds(store, store.getValue());
  });
}

namespace {
struct Division {
  unsigned number;
  int64_t chunk;
  SmallVector<Block *> blocks;
};
} // namespace

/// How many elements of each inner dimension of a tile may stay, so that their
/// product is at most `chunk`: outer dimensions give way first.
static SmallVector<int64_t> fitSizes(ArrayRef<int64_t> sizes, int64_t chunk) {
  SmallVector<int64_t> result(sizes);
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  for (int64_t &size : result) {
    int64_t excess = std::max<int64_t>(product / chunk, 1);
    int64_t fitting = std::max<int64_t>(size / excess, 1);
    product = product / size * fitting;
    size = fitting;
  }
  return result;
}

/// The next dimension to divide. A reduction whose operand is reduced before
/// comes first, so that its loop is the outer one and what it carries is small.
static std::optional<Division> findDivision(KernelOp kernel,
                                            const TileDims &dims,
                                            int64_t chunk) {
  DenseMap<unsigned, int64_t> wanted;
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      SmallVector<unsigned> inner;
      SmallVector<int64_t> sizes;
      for (unsigned number : dims.getClasses(result)) {
        if (dims.getAxis(number))
          continue;
        inner.push_back(number);
        sizes.push_back(dims.getSize(number));
      }
      for (auto [number, size, fitting] :
           llvm::zip_equal(inner, sizes, fitSizes(sizes, chunk)))
        if (fitting < size)
          wanted[number] = wanted.count(number)
                               ? std::min(wanted[number], fitting)
                               : fitting;
    }
  });
  if (wanted.empty())
    return std::nullopt;

  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) { operations.push_back(op); });
  std::optional<unsigned> next;
  for (Operation *op : llvm::reverse(operations))
    for (auto [number, size] : wanted)
      if (!next && isa<ReduceOp>(op) && isEndOf(op, dims, number))
        next = number;
  for (Operation *op : llvm::reverse(operations)) {
    auto store = dyn_cast<StoreOp>(op);
    if (!store)
      continue;
    for (unsigned number : dims.getClasses(store.getValue()))
      if (!next && wanted.count(number))
        next = number;
  }
  if (!next)
    return std::nullopt;
  Division division{*next, wanted[*next], {}};
  for (Operation *op : operations)
    if (isEndOf(op, dims, *next) &&
        !llvm::is_contained(division.blocks, op->getBlock()))
      division.blocks.push_back(op->getBlock());
  return division;
}

SmallVector<ChunkedDim> chunkReduce(KernelOp kernel, int64_t chunk) {
  SmallVector<ChunkedDim> divided;
  while (true) {
    TileDims dims(kernel);
    std::optional<Division> division = findDivision(kernel, dims, chunk);
    if (!division)
      break;
    int64_t extent = dims.getExtent(division->number);
    llvm::MapVector<Value, int64_t> loads;
    for (Block *block : division->blocks)
      for (auto [memref, count] :
           Chunker(dims, division->number, division->chunk, block).run())
        loads[memref] += count;
    int64_t reads = 1;
    for (auto [memref, count] : loads)
      reads = std::max(reads, count);
    divided.push_back({extent, division->chunk,
                       int64_t(llvm::divideCeil(extent, division->chunk)),
                       reads});
  }
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
    int64_t size = chunk >= 0 ? chunk : schedule ? schedule.getChunk() : 0;
    if (size != 0 && !llvm::isPowerOf2_64(size)) {
      kernel.emitOpError() << "chunk must be 0 or a power of two, got " << size;
      return signalPassFailure();
    }
    auto options = remark::RemarkOpts::name("ChunkReduce")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<ChunkedDim> divided;
    if (size != 0)
      divided = chunkReduce(kernel, size);
    for (const ChunkedDim &dim : divided)
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} elements in {1} chunks of {2}; each is read {3} "
                         "time(s)",
                         dim.extent, dim.chunks, dim.chunk, dim.reads);
    if (divided.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", explainMissed(kernel));
  }

};

} // namespace

} // namespace deplo::tile
