// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CopyGroups.h"

#include "deplo/Analysis/ContractionLayouts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace deplo {

/// The operations that pass a token on, up to the one that awaits it; empty if
/// that is not seen.
static SmallVector<Operation *> getWay(Value token) {
  // A token goes through a loop once for each stage, and on to the next loop.
  constexpr size_t longest = 64;
  SmallVector<Operation *> way;
  while (way.size() < longest && token.hasOneUse()) {
    OpOperand &use = *token.use_begin();
    way.push_back(use.getOwner());
    if (isa<tile::AwaitOp>(use.getOwner()))
      return way;
    if (auto loop = dyn_cast<scf::ForOp>(use.getOwner())) {
      token = loop.getTiedLoopRegionIterArg(&use);
      continue;
    }
    auto loop = isa<scf::YieldOp>(use.getOwner())
                    ? dyn_cast<scf::ForOp>(use.getOwner()->getParentOp())
                    : scf::ForOp();
    if (!loop)
      break;
    token = loop.getRegionIterArg(use.getOperandNumber());
  }
  return {};
}

/// What `token` is before the loop that carries it; null if none does.
static Value getInit(Value token) {
  scf::ForOp loop;
  if (auto argument = dyn_cast<BlockArgument>(token)) {
    loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop ? loop.getTiedLoopInit(argument)->get() : Value();
  }
  loop = token.getDefiningOp<scf::ForOp>();
  return loop ? loop.getTiedLoopInit(cast<OpResult>(token))->get() : Value();
}

bool CopyGroups::isJoined(Value token, Value following) const {
  while (true) {
    Value init = getInit(token), followingInit = getInit(following);
    if (!init || !followingInit) {
      Operation *copy = token.getDefiningOp();
      return !init && !followingInit && copy &&
             next.lookup(copy) == following.getDefiningOp();
    }
    token = init;
    following = followingInit;
  }
}

SmallVector<tile::AsyncDotOp> CopyGroups::getDots(tile::AsyncDotOp last) const {
  SmallVector<tile::AsyncDotOp> dots = {last};
  for (Operation *op = last->getPrevNode(); op; op = op->getPrevNode())
    if (next.lookup(op) == dots.back())
      dots.push_back(cast<tile::AsyncDotOp>(op));
  std::reverse(dots.begin(), dots.end());
  return dots;
}

SmallVector<tile::AllocOp> CopyGroups::getRings(tile::AllocOp ring) const {
  for (auto [before, after] : following)
    if (after == ring)
      return getRings(cast<tile::AllocOp>(before));
  SmallVector<tile::AllocOp> rings = {ring};
  while (Operation *after = following.lookup(rings.back()))
    rings.push_back(cast<tile::AllocOp>(after));
  return rings;
}

/// The ring whose slot has the columns of `dot`, a row of which is summed over;
/// null if it has others, or if warpgroups share them out.
static tile::AllocOp getRingOfColumns(tile::AsyncDotOp dot) {
  constexpr int64_t period = 8; // rows of a swizzle
  auto slot = dot.getRhs().getDefiningOp<tile::SlotOp>();
  if (!slot || dot.isOfPieces())
    return {};
  tile::BufferType type = slot.getResult().getType();
  ArrayRef<int64_t> warps = dot.getAtom().getWarps(), dims = dot.getRhsDims();
  auto [row, column] = dot.getRowAndColumn();
  bool isAlong = type.getRank() == 2 && dims.front() == int64_t(column) &&
                 type.getShape().front() % period == 0;
  return isAlong && warps[column] == 1 &&
                 getWgmmaDims(warps, row, column).first == row
             ? slot.getRing().getDefiningOp<tile::AllocOp>()
             : tile::AllocOp();
}

void CopyGroups::join(tile::AsyncDotOp dot, tile::AsyncDotOp after) {
  constexpr int64_t mostColumns = 256;
  tile::AllocOp own = getRingOfColumns(dot), its = getRingOfColumns(after);
  if (!own || !its || own == its || dot.getLhs() != after.getLhs() ||
      dot.getLhsDims() != after.getLhsDims() ||
      dot.getRhsDims() != after.getRhsDims() ||
      dot.getAtom() != after.getAtom())
    return;
  if (dot.getRhs().getDefiningOp<tile::SlotOp>().getSlot() !=
      after.getRhs().getDefiningOp<tile::SlotOp>().getSlot())
    return;
  SmallVector<Operation *> way = getWay(dot.getToken());
  if (way.empty() || way != getWay(after.getToken()))
    return;
  if (following.lookup(own) != its) {
    // Both are of one length, and none has neighbours there yet.
    tile::BufferType type = own.getType(), other = its.getType();
    if (following.contains(own) || getRings(its).front() != its ||
        type.getShape().front() != other.getShape().front() ||
        type.getShape().back() != other.getShape().back() ||
        type.getLayout() != other.getLayout())
      return;
    int64_t columns = 0;
    for (tile::AllocOp head : {own, its})
      for (tile::AllocOp ring : getRings(head))
        columns += ring.getType().getShape()[1];
    if (columns > mostColumns)
      return;
    following[own] = its;
  }
  next[dot] = after;
}

/// Whether what `loop` hands on from one iteration to the next are the groups
/// that it was entered with.
static bool carriesWholeGroups(const CopyGroups &groups, scf::ForOp loop) {
  SmallVector<Value> entered, handedOn;
  for (auto [init, yielded] :
       llvm::zip_equal(loop.getInitArgs(), loop.getYieldedValues()))
    if (isa<tile::TokenType>(init.getType())) {
      entered.push_back(init);
      handedOn.push_back(yielded);
    }
  for (size_t i = 1; i < entered.size(); ++i)
    if (groups.isJoined(entered[i - 1], entered[i]) !=
        groups.isJoined(handedOn[i - 1], handedOn[i]))
      return false;
  return true;
}

CopyGroups::CopyGroups(tile::KernelOp kernel) {
  kernel->walk([&](Block *block) {
    tile::AsyncCopyOp last;
    tile::AsyncDotOp lastDot;
    for (Operation &op : *block) {
      if (isa<tile::AwaitOp>(op) || op.getNumRegions() != 0)
        last = {};
      // Between contractions nothing happens.
      if (!isa<tile::AsyncDotOp>(op) && !isPure(&op))
        lastDot = {};
      if (auto dot = dyn_cast<tile::AsyncDotOp>(op)) {
        if (lastDot)
          join(lastDot, dot);
        lastDot = dot;
      }
      auto copy = dyn_cast<tile::AsyncCopyOp>(op);
      if (!copy)
        continue;
      SmallVector<Operation *> way = getWay(copy.getToken());
      if (last && !way.empty() && way == getWay(last.getToken()))
        next[last] = copy;
      last = copy;
    }
  });
  WalkResult whole = kernel->walk([&](scf::ForOp loop) {
    return carriesWholeGroups(*this, loop) ? WalkResult::advance()
                                           : WalkResult::interrupt();
  });
  // Then each copy is a group.
  if (whole.wasInterrupted())
    next.clear();
}

} // namespace deplo
