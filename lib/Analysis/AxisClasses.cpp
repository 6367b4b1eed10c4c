// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/AxisClasses.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace deplo {

AxisClasses::Axis AxisClasses::add(int64_t extent, Owner owner) {
  Axis axis = nodes.size();
  nodes.push_back({extent, owner, axis, 1, std::nullopt});
  journal.push_back({Change::Added, axis, owner, axis, false});
  return axis;
}

AxisClasses::Axis AxisClasses::find(Axis axis) const {
  while (nodes[axis].parent != axis)
    axis = nodes[axis].parent;
  return axis;
}

SmallVector<AxisClasses::Axis>
AxisClasses::getLeaves(ArrayRef<Axis> axes) const {
  SmallVector<Axis> leaves, pending(llvm::reverse(axes));
  while (!pending.empty()) {
    Axis axis = find(pending.pop_back_val());
    if (nodes[axis].parts) {
      pending.push_back(nodes[axis].parts->second);
      pending.push_back(nodes[axis].parts->first);
    } else if (nodes[axis].extent != 1) {
      leaves.push_back(axis);
    }
  }
  return leaves;
}

void AxisClasses::split(Axis leaf, int64_t innerExtent) {
  Owner owner = nodes[leaf].owner;
  auto addPart = [&](int64_t extent) {
    Axis part = nodes.size();
    nodes.push_back({extent, owner, part, 1, std::nullopt});
    journal.push_back({Change::Added, part, owner, part, false});
    return part;
  };
  Axis outer = addPart(nodes[leaf].extent / innerExtent);
  Axis inner = addPart(innerExtent);
  nodes[leaf].parts = {outer, inner};
  journal.push_back({Change::Split, leaf, owner, leaf, false});
}

std::optional<SmallVector<AxisClasses::Axis>>
AxisClasses::getDigit(ArrayRef<Axis> axes, int64_t stride, int64_t extent) {
  SmallVector<Axis> digit; // innermost first
  SmallVector<Axis> leaves = getLeaves(axes);
  int64_t position = 1; // product of the extents of the leaves passed
  int64_t end = stride * extent;
  while (position < end) {
    if (leaves.empty())
      return std::nullopt;
    Axis leaf = leaves.pop_back_val();
    int64_t limit = position < stride ? stride : end;
    int64_t room = limit / position;
    if (limit % position != 0)
      return std::nullopt;
    int64_t size = nodes[leaf].extent;
    if (size > room) {
      if (size % room != 0)
        return std::nullopt;
      split(leaf, room);
      leaves.push_back(nodes[leaf].parts->first);
      leaf = nodes[leaf].parts->second;
      size = room;
    }
    if (position >= stride)
      digit.push_back(leaf);
    position *= size;
  }
  if (position != end)
    return std::nullopt;
  return SmallVector<Axis>(llvm::reverse(digit));
}

void AxisClasses::unifyLeaves(Axis lhs, Axis rhs) {
  if (lhs == rhs)
    return;
  Owner lhsOwner = findOwner(nodes[lhs].owner);
  Owner rhsOwner = findOwner(nodes[rhs].owner);
  bool joinsLoops =
      lhsOwner == rhsOwner || lhsOwner == shared || rhsOwner == shared;
  // The smaller class goes into the larger, which keeps the paths short.
  if (nodes[lhs].classSize > nodes[rhs].classSize)
    std::swap(lhs, rhs);
  nodes[rhs].classSize += nodes[lhs].classSize;
  journal.push_back({Change::Unified, lhs, nodes[rhs].owner, rhs, joinsLoops});
  nodes[lhs].parent = rhs;
  nodes[rhs].owner = shared;
}

bool AxisClasses::unify(ArrayRef<Axis> lhs, ArrayRef<Axis> rhs) {
  SmallVector<Axis> a = getLeaves(lhs), b = getLeaves(rhs);
  // A leaf that is in both lists may be split, or become another, on the way.
  auto pop = [&](SmallVector<Axis> &list) {
    SmallVector<Axis> leaves = getLeaves(list.pop_back_val());
    list.append(leaves);
    return list.pop_back_val();
  };
  while (!a.empty() && !b.empty()) {
    Axis x = pop(a), y = pop(b);
    int64_t xSize = nodes[x].extent, ySize = nodes[y].extent;
    if (xSize < ySize) {
      std::swap(a, b);
      std::swap(x, y);
      std::swap(xSize, ySize);
    }
    if (xSize != ySize) {
      if (ySize == 0 || xSize % ySize != 0)
        return false;
      split(x, ySize);
      a.push_back(nodes[x].parts->first);
      x = nodes[x].parts->second;
    }
    unifyLeaves(x, y);
  }
  return a.empty() && b.empty();
}

void AxisClasses::rollBack(size_t checkpoint) {
  while (journal.size() > checkpoint) {
    Change change = journal.back();
    journal.pop_back();
    switch (change.kind) {
    case Change::Added:
      nodes.pop_back();
      break;
    case Change::Split:
      nodes[change.node].parts.reset();
      break;
    case Change::Unified:
      nodes[change.node].parent = change.node;
      nodes[change.into].classSize -= nodes[change.node].classSize;
      nodes[change.into].owner = change.previousOwner;
      break;
    }
  }
}

void AxisClasses::commit(size_t checkpoint, Owner owner) {
  for (size_t i = checkpoint; i < journal.size(); ++i)
    for (Axis axis : {journal[i].node, journal[i].into})
      if (nodes[axis].owner == shared)
        nodes[axis].owner = owner;
}

bool AxisClasses::hasSplitSince(size_t checkpoint) const {
  return llvm::any_of(
      ArrayRef(journal).drop_front(checkpoint),
      [](const Change &change) { return change.kind == Change::Split; });
}

bool AxisClasses::hasJoinedLoopsSince(size_t checkpoint) const {
  return llvm::any_of(ArrayRef(journal).drop_front(checkpoint),
                      [](const Change &change) { return change.joinsLoops; });
}

void AxisClasses::mergeOwners(Owner from, Owner into) {
  while (owners.size() <= std::max(from, into))
    owners.push_back(owners.size());
  owners[findOwner(from)] = findOwner(into);
}

AxisClasses::Owner AxisClasses::findOwner(Owner owner) const {
  // One that was never merged stands for itself, like `shared`.
  while (owner < owners.size() && owners[owner] != owner) {
    owners[owner] = owners[owners[owner]];
    owner = owners[owner];
  }
  return owner;
}

} // namespace deplo
