// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps that several kernels read are computed in each of them.
//
//   %e = graph.map (%a = %x, %b = %m) { arith.subf, math.exp }
//   %s = graph.reduce add %e          one kernel
//   %y = graph.map (%a = %e, ...)     another one
//
// becomes
//
//   %e = graph.map (%a = %x, %b = %m) { arith.subf, math.exp }
//   %s = graph.reduce add %e
//   %f = graph.map (%a = %x, %b = %m) { arith.subf, math.exp }
//   %y = graph.map (%a = %f, ...)
//
// so that each copy joins the kernel that reads it and none is stored.
//
// Legality. A map has no effects. What decides is the cost model: kernels that
// read what the maps read take no longer than those that read their results and
// one that stores these.

#include "FusionGroups.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace deplo::graph {

double FusionGroups::getSeconds() const {
  double seconds = 0;
  for (const Group &group : groups)
    if (!group.members.empty())
      seconds += estimateSeconds(getCost(group), machine);
  return seconds;
}

/// The kernel of `reader` if it computes what it reads of `source`.
FusionGroups::Group FusionGroups::getRecomputing(const Group &reader,
                                                 const Group &source) const {
  Group merged = reader;
  for (unsigned output : source.outputs)
    merged.inputs.erase(primitives[output].op->getResult(0));
  for (const auto &[value, bytes] : source.inputs) {
    int64_t &total = merged.inputs[value];
    total = std::max(total, bytes);
  }
  merged.operations += source.operations;
  return merged;
}

/// The groups that read what `index` computes, at least two; none if it is not
/// made of maps, if something else needs its results, or if a reader would
/// compute them much more often.
SmallVector<unsigned> FusionGroups::getReaders(unsigned index) const {
  constexpr double maxRepetition = 2;
  const Group &group = groups[index];
  if (group.members.empty() || group.isFixed)
    return {};
  for (unsigned member : group.members)
    if (!isa<MapOp>(primitives[member].op))
      return {};
  llvm::SetVector<unsigned> readers;
  for (unsigned output : group.outputs) {
    unsigned served = 0;
    for (Use use : uses[output]) {
      unsigned reader = findGroup(use.reader);
      if (reader == index)
        continue;
      const Primitive &primitive = primitives[use.reader];
      double again =
          getEvaluations(primitive, primitive.axes) /
          getEvaluations(primitives[output], primitives[output].axes);
      if (groups[reader].isFixed || groups[reader].contractions != 0 ||
          primitive.reads[use.read].isGathered || again > maxRepetition)
        return {};
      ++served;
      readers.insert(reader);
    }
    if (served != openUses[output])
      return {};
  }
  if (readers.size() < 2)
    return {};
  SmallVector<unsigned> ordered = readers.takeVector();
  llvm::sort(ordered);
  return ordered;
}

SmallVector<FusionGroups::Recomputed> FusionGroups::findRecomputed() const {
  SmallVector<Recomputed> found;
  llvm::DenseSet<unsigned> involved;
  for (unsigned index = 0; index < groups.size(); ++index) {
    SmallVector<unsigned> readers = getReaders(index);
    auto isInvolved = [&](unsigned group) { return involved.contains(group); };
    if (readers.empty() || isInvolved(index) ||
        llvm::any_of(readers, isInvolved))
      continue;
    double stored = estimateSeconds(getCost(groups[index]), machine),
           recomputed = 0;
    for (unsigned reader : readers) {
      stored += estimateSeconds(getCost(groups[reader]), machine);
      recomputed += estimateSeconds(
          getCost(getRecomputing(groups[reader], groups[index])), machine);
    }
    if (recomputed >= stored)
      continue;
    involved.insert(index);
    involved.insert(readers.begin(), readers.end());
    Recomputed &entry = found.emplace_back();
    SmallVector<unsigned> members = groups[index].members;
    llvm::sort(members);
    for (unsigned member : members)
      entry.maps.push_back(primitives[member].op);
    for (unsigned reader : readers) {
      SmallVector<unsigned> ops = groups[reader].members;
      llvm::sort(ops);
      entry.readers.emplace_back();
      for (unsigned op : ops)
        entry.readers.back().push_back(primitives[op].op);
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// `value` where it is computed from copies, the views that lead to it copied
/// before `reader`; itself if it isn't.
static Value getCopied(RewriterBase &rewriter, Value value, Operation *reader,
                       const IRMapping &copies,
                       SmallVectorImpl<Operation *> &created) {
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  auto view = value.getDefiningOp<IndexMapOp>();
  if (!view)
    return value;
  Value source = getCopied(rewriter, view.getInput(), reader, copies, created);
  if (source == view.getInput())
    return value;
  rewriter.setInsertionPoint(reader);
  auto copy = cast<IndexMapOp>(rewriter.clone(*view));
  copy.getInputMutable().assign(source);
  created.push_back(copy);
  return copy.getResult();
}

void Recomputation::apply(RewriterBase &rewriter,
                          ArrayRef<FusionGroups::Recomputed> recomputed) {
  for (const FusionGroups::Recomputed &entry : recomputed)
    // The first reader keeps the original.
    for (ArrayRef<Operation *> reader : llvm::drop_begin(entry.readers)) {
      IRMapping copies;
      rewriter.setInsertionPointAfter(entry.maps.back());
      for (Operation *map : entry.maps) {
        for (Value operand : map->getOperands())
          copyViews(rewriter, operand, copies);
        created.push_back(rewriter.clone(*map, copies));
      }
      for (Operation *op : reader)
        for (OpOperand &operand : op->getOpOperands()) {
          Value value = getCopied(rewriter, operand.get(), op, copies, created);
          if (value == operand.get())
            continue;
          changed.push_back({&operand, operand.get()});
          operand.set(value);
        }
    }
}

/// Copies the views between two maps that are copied.
void Recomputation::copyViews(RewriterBase &rewriter, Value value,
                              IRMapping &copies) {
  auto view = value.getDefiningOp<IndexMapOp>();
  if (!view || copies.contains(value))
    return;
  copyViews(rewriter, view.getInput(), copies);
  if (copies.contains(view.getInput()))
    created.push_back(rewriter.clone(*view, copies));
}

void Recomputation::undo(RewriterBase &rewriter) {
  for (auto [operand, value] : llvm::reverse(changed))
    operand->set(value);
  for (Operation *op : llvm::reverse(created))
    rewriter.eraseOp(op);
}

} // namespace deplo::graph
