// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel with a contraction may have besides: maps of its result,
// conversions of its operands, and contractions that share one of its operands.

#include "FusionGroups.h"

using namespace mlir;

namespace deplo::graph {

/// Operands of a contraction may be converted on the way; what computes more is
/// a kernel of its own, since every tile of the result would compute it again.
std::optional<std::string>
FusionGroups::checkOperands(const Group &from, const Group &into) const {
  if (into.contractions == 0 ||
      llvm::all_of(from.members, [&](unsigned source) {
        return isWidening(primitives[source].op);
      }))
    return std::nullopt;
  SmallVector<unsigned> pending =
      llvm::filter_to_vector(into.members, [&](unsigned member) {
        return isa_and_nonnull<ContractOp>(primitives[member].op);
      });
  while (!pending.empty())
    for (const Read &read : primitives[pending.pop_back_val()].reads) {
      auto it = producers.find(read.source);
      if (it == producers.end())
        continue;
      if (llvm::is_contained(from.members, it->second))
        return describe(it->second) +
               " would be computed again for every tile of the result";
      if (llvm::is_contained(into.members, it->second))
        pending.push_back(it->second);
    }
  return std::nullopt;
}

/// Whether two contractions in the same loops read one tensor alike, and the
/// others of their operands along the same loops: each chunk of the shared one
/// then serves both.
bool FusionGroups::shareOperand(const Primitive &first,
                                const Primitive &second) const {
  auto getFolded = [&](const Primitive &primitive) {
    return ArrayRef(primitive.shape)
        .drop_front(primitive.getResultAxes().size());
  };
  if (getFolded(first) != getFolded(second))
    return false;
  auto getLoops = [&](const Primitive &primitive, const Read &read) {
    SmallVector<Axis> axes;
    for (auto [dim, axis] : llvm::enumerate(primitive.getResultAxes()))
      if (read.map.isFunctionOfDim(dim))
        axes.push_back(axis);
    SmallVector<Axis> leaves = space.classes.getLeaves(axes);
    llvm::sort(leaves);
    return leaves;
  };
  for (unsigned swapped : {0, 1}) {
    bool isShared = false, isAlike = true;
    for (unsigned operand : {0, 1}) {
      const Read &a = first.reads[operand],
                 &b = second.reads[operand ^ swapped];
      isShared |= a.source == b.source;
      isAlike &= getLoops(first, a) == getLoops(second, b);
    }
    if (isShared && isAlike)
      return true;
  }
  return false;
}

/// Both groups are in the same loops.
std::optional<std::string>
FusionGroups::checkContractions(const Group &first, const Group &second) const {
  if (first.contractions + second.contractions == 0 || !first.kept ||
      !second.kept)
    return std::nullopt;
  if (first.contractions == 0 || second.contractions == 0)
    return "a kernel with a contraction folds nothing else";
  for (unsigned a : first.members)
    for (unsigned b : second.members)
      if (isa_and_nonnull<ContractOp>(primitives[a].op) &&
          isa_and_nonnull<ContractOp>(primitives[b].op) &&
          !shareOperand(primitives[a], primitives[b]))
        return describe(a) + " and " + describe(b) +
               " share no operand in the same loops";
  return std::nullopt;
}

} // namespace deplo::graph
