// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/Synchronization.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static int64_t getNumThreads(Operation *op) {
  constexpr int64_t lanes = 32;
  return op->getParentOfType<KernelOp>().getWarps().value_or(1) * lanes;
}

/// A copy as the emitter does it: threads take vectors in turn, along rows
/// where these lie so in memory.
template <typename OpT> static MemoryAccess getCopied(OpT copy) {
  MemoryAccess access{copy, getMemory(copy.getBuffer()), /*isWrite=*/true, {}};
  BufferType buffer = copy.getBuffer().getType();
  if (BoxAccess::get(copy)->getUnitStrideDim() == buffer.getRank() - 1)
    access.threads = ThreadAccess::inTurn(
        buffer.getShape(), copy.getVector().value_or(1), getNumThreads(copy));
  return access;
}

/// A tile that is read or written as its layout says.
template <typename OpT>
static MemoryAccess getBox(OpT op, Value tile, bool isWrite) {
  MemoryAccess access{op, getMemory(op.getBuffer()), isWrite, std::nullopt};
  if (LayoutAttr layout = getLayout(tile))
    access.threads = ThreadAccess::ofTile(
        layout.getLinearLayout(), op.getBuffer().getType().getShape(),
        llvm::map_to_vector(op.getIndices(), getKnownDivisor),
        getNumThreads(op));
  return access;
}

/// What `op` touches, but for what operations in its regions do.
static std::vector<MemoryAccess> getAccesses(Operation *op) {
  using Accesses = std::vector<MemoryAccess>;
  return TypeSwitch<Operation *, Accesses>(op)
      .Case([](ReadOp read) {
        MemoryAccess access = getBox(read, read.getResult(), /*isWrite=*/false);
        // Lanes of ldmatrix read for one another.
        if (getMatrixAccess(read))
          access.threads.reset();
        return Accesses{access};
      })
      .Case([](WriteOp write) {
        return Accesses{getBox(write, write.getValue(), /*isWrite=*/true)};
      })
      .Case<CopyOp, AsyncCopyOp>([](auto copy) {
        return Accesses{getCopied(copy),
                        {copy, copy.getMemref(), /*isWrite=*/false, {}}};
      })
      .Case([](AwaitOp await) {
        // Any copy may have been in flight until here.
        Accesses accesses;
        await->getParentOfType<KernelOp>().walk(
            [&](AsyncCopyOp copy) { accesses.push_back(getCopied(copy)); });
        return accesses;
      })
      .Case<LoadOp, GatherOp>([](auto load) {
        return Accesses{{load, load.getMemref(), /*isWrite=*/false, {}}};
      })
      .Case([](RecomputeOp recompute) {
        return Accesses{{recompute, recompute.getLhs(), /*isWrite=*/false, {}},
                        {recompute, recompute.getRhs(), /*isWrite=*/false, {}}};
      })
      .Case([](StoreOp store) {
        return Accesses{{store, store.getMemref(), /*isWrite=*/true, {}}};
      })
      // Reductions and the like have buffers of their own.
      .Case<AllocOp, LaunchDependentsOp, WaitDependenciesOp>(
          [](Operation *) { return Accesses(); })
      .Default([](Operation *op) {
        if (isPure(op) || op->hasTrait<OpTrait::IsTerminator>() ||
            op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
          return Accesses();
        return Accesses{{op, Value(), /*isWrite=*/true, {}}};
      });
}

/// Whether threads may see `first` and `second` in another order.
static bool isConflict(const MemoryAccess &first, const MemoryAccess &second) {
  if (first.memory && second.memory && first.memory != second.memory)
    return false;
  if (!first.isWrite && !second.isWrite)
    return false;
  // An asynchronous copy is in no order with what its thread did before.
  return !first.threads || !second.threads || isa<AsyncCopyOp>(second.op) ||
         !first.threads->isBySameThread(*second.threads);
}

//===----------------------------------------------------------------------===//
// What a barrier is between
//===----------------------------------------------------------------------===//

namespace {

/// Follows a program from a barrier to the next ones, forwards or backwards.
class Reach {
public:
  explicit Reach(bool forwards) : forwards(forwards) {}

  std::vector<MemoryAccess> run(BarrierOp barrier) {
    for (Operation *op = barrier; !isa<KernelOp>(op); op = op->getParentOp()) {
      if (visit(next(op)))
        break;
      // Around a loop; a branch is left as it was entered.
      if (!isa<KernelOp, scf::IfOp>(op->getParentOp()))
        visit(first(*op->getBlock()));
    }
    return std::move(accesses);
  }

private:
  Operation *first(Block &block) {
    return forwards ? &block.front() : &block.back();
  }
  Operation *next(Operation *op) {
    return forwards ? op->getNextNode() : op->getPrevNode();
  }

  /// From `op` to the end of its block; true if a barrier is before that. One
  /// in a loop or branch may be missed.
  bool visit(Operation *op) {
    for (; op; op = next(op)) {
      if (isa<BarrierOp>(op))
        return true;
      for (Region &region : op->getRegions())
        for (Block &block : region)
          visit(first(block));
      llvm::append_range(accesses, getAccesses(op));
    }
    return false;
  }

  bool forwards;
  std::vector<MemoryAccess> accesses;
};

} // namespace

std::optional<Conflict> findConflict(BarrierOp barrier) {
  std::vector<MemoryAccess> before = Reach(/*forwards=*/false).run(barrier),
                            after = Reach(/*forwards=*/true).run(barrier);
  for (const MemoryAccess &first : before)
    for (const MemoryAccess &second : after)
      if (isConflict(first, second))
        return Conflict{first, second};
  return std::nullopt;
}

} // namespace deplo::tile
