// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that do not read from each other become one.

#include "FusionGroups.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace deplo::graph {

/// How many kernels one kernel is compared with: those that share most come
/// first, and a program of many kernels takes time linear in their number.
static constexpr size_t maxSiblings = 32;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Bytes that two groups both read from memory.
int64_t FusionGroups::getSharedBytes(const Group &first,
                                     const Group &second) const {
  int64_t shared = 0;
  for (const auto &[value, bytes] : first.inputs) {
    const auto *other = second.inputs.find(value);
    if (other != second.inputs.end())
      shared += std::min(bytes, other->second);
  }
  return shared;
}

/// Whether the launch takes longer than the work.
bool FusionGroups::isLaunchBound(const Group &group) const {
  return estimateSeconds(getCost(group), machine) <
         2 * machine.getLeastSeconds();
}

/// Groups that read what `index` reads, those that share most first, then small
/// ones of the same shape.
SmallVector<unsigned> FusionGroups::findSiblings(unsigned index) {
  const Group &group = groups[index];
  llvm::SetVector<unsigned> found;
  auto add = [&](ArrayRef<unsigned> others) {
    for (unsigned other : llvm::reverse(others)) {
      if (found.size() == maxSiblings)
        return;
      if (unsigned leader = findGroup(other); leader != index)
        found.insert(leader);
    }
  };
  for (const auto &[value, bytes] : group.inputs)
    add(readers[value]);
  // The latest of those that share as much.
  SmallVector<std::pair<int64_t, unsigned>> siblings;
  for (unsigned sibling : found)
    siblings.push_back({getSharedBytes(groups[sibling], group), sibling});
  llvm::sort(siblings, std::greater<>());
  found.clear();
  for (auto [bytes, sibling] : siblings)
    found.insert(sibling);
  if (isLaunchBound(group))
    add(smallGroups[primitives[group.last].shape]);
  return found.takeVector();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Makes the primitives of two groups share loops, as the conversion to loops
/// will.
bool FusionGroups::joinLoops(const Group &first, const Group &second) {
  SmallVector<unsigned> members(first.members), outputs(first.outputs);
  llvm::append_range(members, second.members);
  llvm::append_range(outputs, second.outputs);
  llvm::sort(members);
  llvm::sort(outputs);
  llvm::SmallDenseMap<unsigned, unsigned> positions;
  SmallVector<const Primitive *> items;
  for (auto [position, member] : llvm::enumerate(members)) {
    positions[member] = position;
    items.push_back(&primitives[member]);
  }
  SmallVector<unsigned> results;
  for (unsigned output : outputs)
    results.push_back(positions[output]);
  llvm::IntEqClasses parts(members.size());
  for (const Group *group : {&first, &second})
    for (unsigned member : group->members)
      parts.join(positions[member], positions[group->members.front()]);
  space.joinParts(items, results, parts);
  return llvm::all_of(llvm::seq<unsigned>(0, members.size()), [&](unsigned i) {
    return parts.findLeader(i) == parts.findLeader(0);
  });
}

std::optional<std::string> FusionGroups::mergeSiblings(unsigned first,
                                                       unsigned second) {
  if (policy == FusionPolicy::Never)
    return "the policy is never to fuse";
  if (groups[first].isFixed || groups[second].isFixed)
    return "the loops of one of them are not known";
  if (dependsOn(first, second, /*isIndirect=*/false) ||
      dependsOn(second, first, /*isIndirect=*/false))
    return "one of them needs what the other computes";

  size_t checkpoint = space.classes.getCheckpoint();
  auto refuse = [&](std::string reason) {
    space.classes.rollBack(checkpoint);
    return reason;
  };
  if (!joinLoops(groups[first], groups[second]))
    return refuse("they have no loops in common");
  if (auto reason = checkLoops(first, second, checkpoint))
    return refuse(*reason);
  if (auto reason = checkContractions(groups[first], groups[second]))
    return refuse(*reason);
  Group merged = getMerged(first, second, /*recomputation=*/1);
  if (auto reason = checkBoundary(merged))
    return refuse(*reason);

  KernelCost fused = getCost(merged), a = getCost(groups[first]),
             b = getCost(groups[second]);
  int64_t shared = getSharedBytes(groups[first], groups[second]);
  std::string numbers = compare(fused, a, b);
  if (policy == FusionPolicy::Auto) {
    if (fused.sweeps > 1 && fused.getBytesPerPiece() > machine.onChipBytes &&
        std::max(a.getBytesPerPiece(), b.getBytesPerPiece()) <=
            machine.onChipBytes)
      return refuse("a row of both, " +
                    std::to_string(fused.getBytesPerPiece()) +
                    " bytes, doesn't stay on chip");
    if (!pays(fused, a, b, machine))
      return refuse("it doesn't pay: " + numbers);
    if (shared == 0 &&
        !(isLaunchBound(groups[first]) && isLaunchBound(groups[second])))
      return refuse("they share no bytes and the launch is not what they cost");
  }

  merged.kernels = groups[first].kernels;
  llvm::append_range(merged.kernels, groups[second].kernels);
  decisions.push_back(
      {groups[first].last, groups[second].last, true,
       (shared != 0 ? "they share " + std::to_string(shared) + " bytes, "
                    : "most of the time is the launch, ") +
           numbers});
  commit(first, second, std::move(merged), checkpoint);
  return std::nullopt;
}

void FusionGroups::fuseSiblings() {
  for (unsigned index : getGroupsInOrder()) {
    llvm::DenseMap<unsigned, std::string> refusals;
    // A merged group may share more with those refused before.
    bool hasChanged = true;
    while (hasChanged) {
      hasChanged = false;
      for (unsigned sibling : findSiblings(index)) {
        if (findGroup(sibling) == index)
          continue;
        if (auto reason = mergeSiblings(sibling, index))
          refusals[sibling] = *reason;
        else
          hasChanged = true;
      }
    }
    const Group &group = groups[index];
    for (unsigned sibling : findSiblings(index))
      if (getSharedBytes(groups[sibling], group) != 0)
        decisions.push_back(
            {groups[sibling].last, group.last, false, refusals[sibling]});
    for (const auto &[value, bytes] : group.inputs)
      readers[value].push_back(index);
    if (!group.isFixed && isLaunchBound(group))
      smallGroups[primitives[group.last].shape].push_back(index);
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// One graph.fused that computes what `kernels`, in program order, compute.
static FusedOp createMerged(RewriterBase &rewriter, ArrayRef<FusedOp> kernels,
                            StringRef name, Location loc) {
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  for (FusedOp kernel : kernels) {
    inputs.insert_range(kernel.getInputs());
    llvm::append_range(outputs, kernel.getOutputs());
  }
  rewriter.setInsertionPoint(kernels.back());
  auto merged =
      FusedOp::create(rewriter, loc, name, ValueRange(outputs).getTypes(),
                      inputs.getArrayRef());
  rewriter.setInsertionPointToStart(merged.getBody());
  llvm::SmallDenseMap<Value, Value> arguments;
  for (auto [input, argument] :
       llvm::zip_equal(inputs, merged.getBody()->getArguments()))
    arguments[input] = argument;
  SmallVector<Value> yielded;
  for (FusedOp kernel : kernels) {
    IRMapping mapping;
    for (auto [input, argument] :
         llvm::zip_equal(kernel.getInputs(), kernel.getBody()->getArguments()))
      mapping.map(argument, arguments[input]);
    for (Operation &op : kernel.getBody()->without_terminator())
      rewriter.clone(op, mapping);
    for (Value value : kernel.getYield().getValues())
      yielded.push_back(mapping.lookup(value));
  }
  YieldOp::create(rewriter, loc, yielded);
  rewriter.replaceAllUsesWith(outputs, merged.getOutputs());
  for (FusedOp kernel : kernels)
    rewriter.eraseOp(kernel);
  return merged;
}

void FusionGroups::mergeKernels(RewriterBase &rewriter) {
  if (kernelNames.empty())
    nameKernels();
  Block &body = function.getBody().front();
  DominanceInfo dominance(function);
  bool hasChanged = false;
  for (unsigned index : getGroupsInOrder()) {
    Group &group = groups[index];
    if (group.kernels.size() < 2)
      continue;
    llvm::sort(group.kernels,
               [](FusedOp a, FusedOp b) { return a->isBeforeInBlock(b); });
    Location loc = getDominant(group)->getLoc();
    FusedOp merged =
        createMerged(rewriter, group.kernels, kernelNames[index], loc);
    eliminateCommonSubExpressions(rewriter, dominance, merged);
    hasChanged = true;
  }
  // What a kernel reads now may be computed behind it.
  if (hasChanged)
    sortTopologically(&body);
}

} // namespace deplo::graph
