// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/Transforms/Transforms.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace deplo::loop;

namespace {

/// A load with its induction variables named by what does not change when
/// loops fuse: how deep in the fused loop theirs is, and its extent.
struct LoadKey {
  Value memref;
  AffineMap map;
  SmallVector<std::pair<const void *, int64_t>> indices;
  Value condition;

  bool operator==(const LoadKey &other) const {
    return memref == other.memref && map == other.map &&
           indices == other.indices && condition == other.condition;
  }
};

} // namespace

static int64_t getExtent(Operation *loop) {
  return getLoopExtent(loop).value_or(1);
}

static LoadKey getKey(LoadOp load, Operation *root) {
  LoadKey key{load.getMemref(), load.getMap(), {}, load.getCondition()};
  for (Value index : load.getIndices()) {
    auto variable = dyn_cast<BlockArgument>(index);
    Operation *loop = variable ? variable.getOwner()->getParentOp() : nullptr;
    if (!loop || !root->isAncestor(loop)) {
      key.indices.push_back({index.getAsOpaquePointer(), -1});
      continue;
    }
    int64_t depth = 0;
    for (Operation *op = loop; op != root; op = op->getParentOp())
      ++depth;
    // The extents of the loops that may fuse are for their fusion to compare.
    int64_t extent = loop == root ? 0 : getExtent(loop);
    key.indices.push_back({reinterpret_cast<const void *>(extent), depth});
  }
  return key;
}

/// How many times the kernel runs `op`.
static int64_t getTripCount(Operation *op) {
  int64_t count = 1;
  for (Operation *parent = op->getParentOp(); !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    count *= getExtent(parent);
  return count;
}

int64_t deplo::loop::getSharedLoadBytes(Operation *first, Operation *second) {
  SmallVector<LoadKey> keys;
  first->walk([&](LoadOp load) { keys.push_back(getKey(load, first)); });
  int64_t bytes = 0;
  second->walk([&](LoadOp load) {
    if (!llvm::is_contained(keys, getKey(load, second)))
      return;
    Type element = load.getType();
    int64_t bits =
        element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
    bytes += llvm::divideCeil(bits, 8) * getTripCount(load);
  });
  return bytes;
}

/// What `later` needs that stands between `earlier` and it, `earlier` included,
/// in any order.
static llvm::SetVector<Operation *> getNeededBetween(Operation *later,
                                                     Operation *earlier) {
  Block *block = later->getBlock();
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> worklist = {later};
  while (!worklist.empty())
    worklist.pop_back_val()->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        definition =
            definition ? block->findAncestorOpInBlock(*definition) : nullptr;
        if (!definition || definition == later ||
            definition->isBeforeInBlock(earlier))
          continue;
        if (needed.insert(definition))
          worklist.push_back(definition);
      }
    });
  return needed;
}

bool deplo::loop::canMoveUp(Operation *later, Operation *earlier) {
  return llvm::all_of(getNeededBetween(later, earlier), [&](Operation *op) {
    return op != earlier && isMemoryEffectFree(op);
  });
}

void deplo::loop::moveUp(Operation *later, Operation *earlier,
                         RewriterBase &rewriter) {
  SmallVector<Operation *> needed =
      getNeededBetween(later, earlier).takeVector();
  llvm::sort(needed,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : needed)
    rewriter.moveOpBefore(op, earlier);
  rewriter.moveOpAfter(later, earlier);
}
