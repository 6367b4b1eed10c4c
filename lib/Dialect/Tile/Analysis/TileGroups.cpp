// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/TileGroups.h"

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/GatherAccess.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo::tile {

bool takesAnyLayout(Operation *op) {
  return isa<arith::ConstantOp, SplatOp, InBoundsOp, IotaOp>(op) &&
         isTile(op->getResult(0));
}

Value getMovedTile(Operation *access) {
  return isa<LoadOp, ReadOp>(access) ? Value(access->getResult(0))
                                     : access->getOperand(0);
}

int64_t TileGroup::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

void TileGroup::limitWidth(unsigned dim, int64_t limit) {
  if (limit != 0)
    width[dim] = width[dim] == 0 ? limit : std::min(width[dim], limit);
}

SmallVector<int64_t> TileGroup::getOrder() const {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(contiguous[a], a) > std::pair(contiguous[b], b);
  });
  return order;
}

SmallVector<int64_t> getKeptDims(int64_t rank, int64_t axis) {
  SmallVector<int64_t> kept = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  kept.erase(kept.begin() + axis);
  return kept;
}

LogicalResult TileGroups::visit(Operation *op) {
  SmallVector<Value> tiles;
  llvm::copy_if(op->getOperands(), std::back_inserter(tiles), isTile);
  llvm::copy_if(op->getResults(), std::back_inserter(tiles), isTile);
  if (tiles.empty() ||
      isa<LoadOp, StoreOp, ReadOp, WriteOp, BroadcastOp, ConvertLayoutOp,
          ClusterReduceScatterOp>(op) ||
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
  if (auto dot = dyn_cast<DotOp>(op)) {
    unite(dot.getAccumulator(), dot.getResult());
    return success();
  }
  if (auto dot = dyn_cast<AsyncDotOp>(op)) {
    for (Value tile : tiles)
      unite(tile, dot.getResult());
    return success();
  }
  if (auto scan = dyn_cast<ScanOp>(op)) {
    unite(scan.getInput(), scan.getResult());
    if (scan.getCarry())
      unite(scan.getCarry(), scan.getTotal());
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
    TileGroup &group = groups.emplace_back();
    group.shape = llvm::to_vector(getTileType(value).getShape());
    group.contiguous.assign(group.shape.size(), 0);
    group.width.assign(group.shape.size(), 0);
    group.kept.assign(group.shape.size(), false);
  }
  TileGroup &group = groups[it->second];
  group.values.push_back(value);
  groupOf[value] = it->second;
}

void TileGroups::addAccess(TileGroup &group, unsigned dim, Operation *access) {
  group.contiguous[dim] += group.getNumElements();
  // A tile is shifted for the accesses that are aligned then; the others (to
  // what all rows share, say) stay as narrow as they were.
  int64_t width = getAccessWidth(access, alignment);
  std::optional<BoxAccess> box = BoxAccess::get(access);
  if (width > 1 || !box || !box->getMisalignment(dim))
    group.limitWidth(dim, width);
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
      .Case([&](ScanOp scan) {
        groups[getGroup(scan.getTotal())].isReduced = true;
        groups[getGroup(scan.getInput())].scanned = scan.getAxis();
        relations.push_back(
            {getGroup(scan.getTotal()), getGroup(scan.getInput()),
             getKeptDims(scan.getInput().getType().getRank(), scan.getAxis())});
      })
      .Case([&](BroadcastOp broadcast) {
        relations.push_back({getGroup(broadcast.getInput()),
                             getGroup(broadcast.getResult()),
                             llvm::to_vector(broadcast.getDims())});
      })
      .Case<LoadOp, StoreOp>([&](auto access) {
        BoxAccess box = *BoxAccess::get(access);
        TileGroup &group = groups[getGroup(getMovedTile(op))];
        if (std::optional<unsigned> dim = box.getUnitStrideDim())
          addAccess(group, *dim, access);
      })
      .Case([&](GatherOp gather) {
        TileGroup &group = groups[getGroup(gather.getResult())];
        if (std::optional<unsigned> dim = getUnitStrideDim(gather))
          addAccess(group, *dim, gather);
      })
      .Case<ReadOp, WriteOp>([&](auto access) {
        TileGroup &group = groups[getGroup(getMovedTile(op))];
        if (!group.shape.empty())
          addAccess(group, group.shape.size() - 1, access);
      });
}

void TileGroups::unite(Value a, Value b) {
  if (isTile(a) && isTile(b))
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
}

SmallVector<unsigned> TileGroups::getLargestFirst() const {
  SmallVector<unsigned> largestFirst =
      llvm::to_vector(llvm::seq<unsigned>(0, groups.size()));
  llvm::sort(largestFirst, [&](unsigned a, unsigned b) {
    auto getKey = [&](unsigned id) {
      const TileGroup &group = groups[id];
      return std::tuple(-int64_t(group.shape.size()), -group.getNumElements(),
                        id);
    };
    return getKey(a) < getKey(b);
  });
  return largestFirst;
}

/// Accesses to parts tell how the whole should lie.
void TileGroups::addPartsToWholes() {
  SmallVector<unsigned> largestFirst = getLargestFirst();
  for (unsigned id : llvm::reverse(largestFirst)) {
    const TileGroup &part = groups[id];
    for (const SliceRelation &relation : relations) {
      if (relation.part != id || relation.whole == id)
        continue;
      TileGroup &whole = groups[relation.whole];
      for (auto [i, dim] : llvm::enumerate(relation.dims)) {
        whole.contiguous[dim] += part.contiguous[i];
        whole.limitWidth(dim, part.width[i]);
        whole.kept[dim] = whole.kept[dim] || part.isReduced;
      }
    }
  }
}

std::optional<TileGroups> TileGroups::get(KernelOp kernel, int64_t alignment) {
  TileGroups tiles(alignment);
  WalkResult supported = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(tiles.visit(op)) ? WalkResult::interrupt()
                                   : WalkResult::advance();
  });
  if (supported.wasInterrupted())
    return std::nullopt;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(),
                   [&](Value value) { tiles.collect(value); });
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(),
                       [&](Value value) { tiles.collect(value); });
  });
  kernel.walk([&](Operation *op) { tiles.relate(op); });
  tiles.addPartsToWholes();
  return tiles;
}

} // namespace deplo::tile
