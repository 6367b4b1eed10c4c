// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which axes of the values of a kernel run over the same loop.
//
// Each value has its own axes at first. Where one is computed from another,
// their axes are unified. A reshape makes one axis correspond to several: then
// it is split, and its parts take part on their own. What is left are leaves,
// one loop each. Steps can be taken back, so that a caller can try.

#ifndef DEPLO_ANALYSIS_AXISCLASSES_H
#define DEPLO_ANALYSIS_AXISCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace deplo {

class AxisClasses {
public:
  using Axis = unsigned;
  /// The kernel that an axis belongs to.
  using Owner = unsigned;

  Axis add(int64_t extent, Owner owner);

  /// The leaves of `axes`, outermost first. Axes of size 1 have none.
  llvm::SmallVector<Axis> getLeaves(llvm::ArrayRef<Axis> axes) const;

  int64_t getExtent(Axis axis) const { return nodes[axis].extent; }

  /// The leaves of the digit (axis / stride) mod extent, after splitting what
  /// straddles its ends; none if sizes do not divide.
  std::optional<llvm::SmallVector<Axis>>
  getDigit(llvm::ArrayRef<Axis> axes, int64_t stride, int64_t extent);

  /// Makes two lists of axes, outermost first, run over the same leaves. Fails
  /// if their sizes do not nest; the caller then rolls back.
  bool unify(llvm::ArrayRef<Axis> lhs, llvm::ArrayRef<Axis> rhs);

  /// A point to come back to.
  size_t getCheckpoint() const { return journal.size(); }
  void rollBack(size_t checkpoint);
  /// Keeps what was done since `checkpoint`; leaves that were unified there now
  /// belong to `owner`.
  void commit(size_t checkpoint, Owner owner);
  /// Whether an axis was split since `checkpoint`.
  bool hasSplitSince(size_t checkpoint) const;
  /// Whether two loops of one owner may have become one since `checkpoint`. A
  /// value that had both now reads its diagonal: the caller looks for one.
  bool hasJoinedLoopsSince(size_t checkpoint) const;

  /// Owners that have become one.
  void mergeOwners(Owner from, Owner into);
  Owner findOwner(Owner owner) const;

private:
  struct Node {
    int64_t extent;
    Owner owner;
    /// The node that stands for this one; itself for a representative.
    Axis parent;
    unsigned classSize;
    /// Outer and inner part of a split representative.
    std::optional<std::pair<Axis, Axis>> parts;
  };
  struct Change {
    enum Kind { Added, Split, Unified } kind;
    Axis node;
    Owner previousOwner; // of the other node, for Unified
    Axis into;
    bool joinsLoops; // for Unified
  };

  /// Owner of a leaf that both sides of a unification share until committed.
  static constexpr Owner shared = ~0u;

  Axis find(Axis axis) const;
  void split(Axis leaf, int64_t innerExtent);
  void unifyLeaves(Axis lhs, Axis rhs);

  std::vector<Node> nodes;
  std::vector<Change> journal;
  mutable std::vector<Owner> owners; // parent links of owners
};

} // namespace deplo

#endif // DEPLO_ANALYSIS_AXISCLASSES_H
