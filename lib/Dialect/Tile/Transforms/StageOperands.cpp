// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stage_inputs, of a contraction: the chunks of its operands go through shared
// memory, because every thread along a row takes the same elements.
//
//   scf.for %k = ... {
//     %a = tile.load %x[%i, %k] : memref<512x512xf32> -> tensor<64x16xf32>
//     %d = tile.dot %a dims [0, 2], ...
//
// becomes
//
//   %buffer = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
//   scf.for %k = ... {
//     tile.copy %x[%i, %k] to %buffer
//     tile.barrier
//     %a = tile.read %buffer[%c0, %c0] -> tensor<64x16xf32>
//     %d = tile.dot %a dims [0, 2], ...
//     tile.barrier
//
// An operand that is computed is computed once for each chunk, from what was
// copied, and goes through a buffer of its own:
//
//     %a = tile.load %x[%i, %k] : memref<512x512xf32> -> tensor<64x16xf32>
//     %f = math.exp %a : tensor<64x16xf32>
//     %d = tile.dot %f dims [0, 2], ...
//
// becomes
//
//     tile.copy %x[%i, %k] to %buffer
//     tile.barrier
//     %a = tile.read %buffer[%c0, %c0] -> tensor<64x16xf32>
//     %f = math.exp %a : tensor<64x16xf32>
//     tile.write %f to %computed[%c0, %c0]
//     tile.barrier
//     %b = tile.read %computed[%c0, %c0] -> tensor<64x16xf32>
//     %d = tile.dot %b dims [0, 2], ...
//     tile.barrier
//
// What is gathered, such as windows, is not copied: a block computes where it
// reads, and writes what it reads to the second buffer.
//
// A sum of one chunk has no loop, and no barrier behind its product.
//
// Legality: the memref is not stored to. A barrier comes before any thread
// reads what others copied or computed, and the last before any thread copies
// over what others still read.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// Collects what `value` is computed from in `block`: loads, and in `map` all
/// other operations on tiles.
static bool findLoads(Value value, Block *block, llvm::SetVector<LoadOp> &loads,
                      llvm::SetVector<Operation *> &map) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block)
    return !isa<BlockArgument>(value) ||
           cast<BlockArgument>(value).getOwner() != block ||
           value.getType().isIndex();
  if (value.getType().isIndex())
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    loads.insert(load);
    return true;
  }
  if ((!isPure(op) && !isa<GatherOp>(op)) || op->getNumRegions() != 0 ||
      isa<DotOp>(op))
    return false;
  if (map.insert(op))
    for (Value operand : op->getOperands())
      if (!findLoads(operand, block, loads, map))
        return false;
  return true;
}

SmallVector<StagedOperands> tile::findOperands(KernelOp kernel) {
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp store) { stored.insert(store.getMemref()); });
  struct OfBlock {
    llvm::SetVector<LoadOp> loads;
    llvm::SetVector<Value> computed;
    llvm::SetVector<Operation *> map;
  };
  llvm::MapVector<Block *, OfBlock> found;
  kernel.walk([&](DotOp dot) {
    Block *block = dot->getBlock();
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      OfBlock ofOperand;
      if (!findLoads(operand, block, ofOperand.loads, ofOperand.map))
        continue;
      bool isRead = !ofOperand.loads.empty();
      bool isStored = llvm::any_of(ofOperand.loads, [&](LoadOp load) {
        return stored.contains(load.getMemref());
      });
      for (Operation *op : ofOperand.map)
        if (auto gather = dyn_cast<GatherOp>(op)) {
          isRead = true;
          isStored |= stored.contains(gather.getMemref());
        }
      if (!isRead || isStored)
        continue;
      OfBlock &ofBlock = found[block];
      ofBlock.loads.insert_range(ofOperand.loads);
      ofBlock.map.insert_range(ofOperand.map);
      if (!ofOperand.map.empty())
        ofBlock.computed.insert(operand);
    }
  });
  SmallVector<StagedOperands> operands;
  for (auto &entry : found) {
    OfBlock &ofBlock = entry.second;
    // What else reads the loads would have to move behind the barrier as well.
    auto isKnown = [&](Operation *user) {
      return isa<DotOp>(user) || ofBlock.map.contains(user);
    };
    ofBlock.loads.remove_if(
        [&](LoadOp load) { return !llvm::all_of(load->getUsers(), isKnown); });
    bool isComplete = llvm::all_of(ofBlock.map, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), isKnown);
    });
    if (!ofBlock.loads.empty() && isComplete)
      operands.push_back({entry.first, ofBlock.loads.takeVector(),
                          ofBlock.computed.takeVector(),
                          ofBlock.map.takeVector()});
  }
  return operands;
}

static BufferType getBufferType(RankedTensorType tile) {
  return BufferType::get(
      tile.getContext(), tile.getShape(), tile.getElementType(),
      SharedAttr::get(tile.getContext(), /*pad=*/0, /*swizzle=*/0));
}

static BufferType getBufferType(Value tile) {
  return getBufferType(cast<RankedTensorType>(tile.getType()));
}

int64_t StagedOperands::getBytes() const {
  int64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += getBufferType(load.getResult()).getSizeInBytes();
  for (Value tile : computed)
    bytes += getBufferType(tile).getSizeInBytes();
  return bytes;
}

void tile::stageOperands(const StagedOperands &operands) {
  auto loop = dyn_cast<scf::ForOp>(operands.block->getParentOp());
  LoadOp first = operands.loads.front();
  Location loc = first.getLoc();
  OpBuilder before(first);
  if (loop)
    before.setInsertionPoint(loop);
  else
    before.setInsertionPointToStart(operands.block);
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  auto getCorner = [&](Value tile) {
    return SmallVector<Value>(cast<RankedTensorType>(tile.getType()).getRank(),
                              zero);
  };
  // Copies first, then one barrier for all of them, then what is computed.
  Operation *last = operands.loads.front();
  for (LoadOp load : operands.loads)
    if (last->isBeforeInBlock(load))
      last = load;
  SmallVector<Operation *> map(operands.map);
  llvm::sort(map,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder inside(loc.getContext());
  inside.setInsertionPointAfter(last);
  for (Operation *op : map) {
    op->moveAfter(last);
    last = op;
  }
  if (!map.empty())
    inside.setInsertionPoint(map.front());
  SmallVector<Value> buffers;
  for (LoadOp load : operands.loads) {
    buffers.push_back(AllocOp::create(before, load.getLoc(),
                                      getBufferType(load.getResult())));
    CopyOp::create(inside, load.getLoc(), load.getMemref(), load.getIndices(),
                   buffers.back(), load.getDimsAttr(), load.getStepsAttr(),
                   load.getBoundsAttr(), /*vector=*/IntegerAttr());
  }
  BarrierOp::create(inside, loc);
  auto replace = [&](LoadOp load, Value buffer, bool inDots) {
    auto isWanted = [&](OpOperand &use) {
      return isa<DotOp>(use.getOwner()) == inDots;
    };
    if (llvm::none_of(load->getUses(), isWanted))
      return;
    auto read = ReadOp::create(inside, load.getLoc(), load.getType(), buffer,
                               getCorner(load), /*vector=*/IntegerAttr());
    load.getResult().replaceUsesWithIf(read.getResult(), isWanted);
  };
  if (!operands.computed.empty()) {
    for (auto [load, buffer] : llvm::zip_equal(operands.loads, buffers))
      replace(load, buffer, /*inDots=*/false);
    inside.setInsertionPointAfter(map.back());
    SmallVector<Value> results;
    for (Value tile : operands.computed) {
      results.push_back(
          AllocOp::create(before, tile.getLoc(), getBufferType(tile)));
      WriteOp::create(inside, tile.getLoc(), tile, results.back(),
                      getCorner(tile), /*vector=*/IntegerAttr());
    }
    BarrierOp::create(inside, loc);
    SmallVector<Value> computed(operands.computed);
    for (auto [tile, buffer] : llvm::zip_equal(computed, results)) {
      auto read = ReadOp::create(inside, tile.getLoc(), tile.getType(), buffer,
                                 getCorner(tile), /*vector=*/IntegerAttr());
      tile.replaceUsesWithIf(read.getResult(), [](OpOperand &use) {
        return isa<DotOp>(use.getOwner());
      });
    }
  }
  SmallVector<LoadOp> loads(operands.loads);
  for (auto [load, buffer] : llvm::zip_equal(loads, buffers)) {
    replace(load, buffer, /*inDots=*/true);
    load.erase();
  }
  // The next chunk comes where others still read.
  if (!loop)
    return;
  inside.setInsertionPoint(operands.block->getTerminator());
  BarrierOp::create(inside, loc);
}
