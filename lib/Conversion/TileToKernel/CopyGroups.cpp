// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CopyGroups.h"

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
    for (Operation &op : *block) {
      if (isa<tile::AwaitOp>(op) || op.getNumRegions() != 0)
        last = {};
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
