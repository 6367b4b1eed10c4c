// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace deplo::graph {

using Axis = AxisClasses::Axis;

static SmallVector<int64_t> getStrides(Value buffer) {
  auto [strides, offset] =
      cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return strides;
}

static ArrayRef<int64_t> getShape(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

static InFlightDiagnostic emitError(FusedOp fused, const Primitive &primitive) {
  Operation *op = primitive.op ? primitive.op : fused.getOperation();
  return op->emitOpError() << "can't be lowered by deplo-graph-to-loop: ";
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

/// A conversion to a wider type is an item for all its readers, or one for
/// each.
LogicalResult KernelLoops::addItems(FusedOp fused, bool sharesConversions) {
  llvm::DenseMap<Value, unsigned> computed;
  auto add = [&](Primitive primitive) -> LogicalResult {
    Item item;
    for (const Read &read : primitive.reads) {
      auto source = computed.find(read.source);
      bool isComputed = source != computed.end();
      item.sources.push_back(isComputed ? std::optional(source->second)
                                        : std::nullopt);
      item.accesses.emplace_back();
      auto constant = read.source.getDefiningOp<ConstantOp>();
      if (constant && !isa<SplatElementsAttr>(constant.getValue()))
        return emitError(fused, primitive)
               << "a constant of different elements can't be part of a kernel, "
                  "pass it as an argument";
    }
    item.primitive = std::move(primitive);
    items.push_back(std::move(item));
    return success();
  };
  auto isRepeated = [&](Value source) {
    return !sharesConversions && isWidening(source.getDefiningOp());
  };
  auto addOperation = [&](auto &self, Operation *op) -> LogicalResult {
    auto gather = dyn_cast<GatherOp>(op);
    unsigned gathered = gather ? gather.getSources().size() : 0;
    // Of reads: the items of conversions that are theirs alone.
    SmallVector<std::pair<unsigned, unsigned>> own;
    for (auto [k, operand] :
         llvm::enumerate(op->getOperands().drop_front(gathered))) {
      std::optional<Read> read = traceRead(operand);
      if (!read)
        return op->emitOpError("can't be lowered by deplo-graph-to-loop: its "
                               "operand is reshaped in a way that is no view");
      if (!isRepeated(read->source))
        continue;
      if (failed(self(self, read->source.getDefiningOp())))
        return failure();
      own.emplace_back(gathered + k, items.size() - 1);
    }
    if (failed(add(space.getPrimitive(op, items.size()))))
      return failure();
    for (auto [read, source] : own)
      items.back().sources[read] = source;
    return success();
  };
  for (Operation &op : fused.getBody()->without_terminator()) {
    if (!op.hasTrait<IsComputation>() || isRepeated(op.getResult(0)))
      continue;
    if (failed(addOperation(addOperation, &op)))
      return failure();
    computed[op.getResult(0)] = items.size() - 1;
  }
  for (Value yielded : fused.getYield().getValues()) {
    if (!computed.count(yielded)) {
      // A view or an argument: one more primitive copies it.
      std::optional<Read> read = traceRead(yielded);
      if (!read)
        return fused.emitOpError("can't be lowered by deplo-graph-to-loop: a "
                                 "result is reshaped in a way that is no view");
      if (isRepeated(read->source)) {
        Operation *conversion = read->source.getDefiningOp();
        if (failed(addOperation(addOperation, conversion)))
          return failure();
        computed[read->source] = items.size() - 1;
      }
    }
    if (!computed.count(yielded)) {
      std::optional<Read> read = traceRead(yielded);
      auto shape = cast<RankedTensorType>(yielded.getType()).getShape();
      if (failed(add(space.getCopy(*read, shape, items.size()))))
        return failure();
      computed[yielded] = items.size() - 1;
    }
    outputs.push_back({computed[yielded], 0, {}});
  }
  return success();
}

LogicalResult KernelLoops::shareLoops(FusedOp fused) {
  for (Item &item : items)
    for (auto [read, source] :
         llvm::zip_equal(item.primitive.reads, item.sources))
      if (source && (read.isGathered || !space.unify(item.primitive, read.map,
                                                     items[*source].primitive)))
        return emitError(fused, item.primitive)
               << "it reads what the kernel computes in another order, or a "
                  "part of it; run deplo-fuse-vertical";
  return success();
}

/// Siblings, and what simplification left in parts that have only arguments in
/// common, such as two maps of what was a map and now is an argument.
void KernelLoops::joinParts() {
  SmallVector<const Primitive *> primitives;
  SmallVector<unsigned> results;
  llvm::IntEqClasses parts(items.size());
  for (auto [index, item] : llvm::enumerate(items)) {
    primitives.push_back(&item.primitive);
    for (std::optional<unsigned> source : item.sources)
      if (source)
        parts.join(index, *source);
  }
  for (const Output &output : outputs)
    results.push_back(output.item);
  space.joinParts(primitives, results, parts);
}

/// A scan goes along one loop, and no reduction is over what one computes.
LogicalResult KernelLoops::checkScans(FusedOp fused, const Item &item) {
  if (item.primitive.isScan()) {
    if (space.classes.getLeaves(item.primitive.getScanAxis()).size() != 1)
      return emitError(fused, item.primitive)
             << "a reshape divides the axis of the scan; run "
                "deplo-fuse-vertical";
    return success();
  }
  SmallVector<const Item *> pending = {&item};
  llvm::SmallDenseSet<unsigned> visited;
  while (!pending.empty())
    for (std::optional<unsigned> source : pending.pop_back_val()->sources) {
      if (!source || !visited.insert(*source).second)
        continue;
      if (items[*source].primitive.isScan())
        return emitError(fused, item.primitive)
               << "it reduces what a scan of the same kernel computes; run "
                  "deplo-fuse-vertical";
      pending.push_back(&items[*source]);
    }
  return success();
}

/// The parallel loops: those that reductions and scans keep, or all loops of
/// the result.
LogicalResult KernelLoops::findParallel(FusedOp fused) {
  const Primitive &result = items[outputs.back().item].primitive;
  SmallVector<Axis> axes = space.classes.getLeaves(result.getResultAxes());
  auto getSorted = [&](ArrayRef<Axis> list) {
    SmallVector<Axis> leaves = space.classes.getLeaves(list);
    llvm::sort(leaves);
    return leaves;
  };
  std::optional<SmallVector<Axis>> kept, keptByProducts;
  for (Item &item : items) {
    if (!space.hasDistinctLoops(item.primitive))
      return emitError(fused, item.primitive)
             << "it is read along a diagonal; run deplo-fuse-vertical";
    if (!item.primitive.isFold())
      continue;
    if (failed(checkScans(fused, item)))
      return failure();
    SmallVector<Axis> own = getSorted(item.primitive.getKeptAxes());
    std::optional<SmallVector<Axis>> &others =
        isa<ContractOp>(item.primitive.op) ? keptByProducts : kept;
    if (others && *others != own)
      return emitError(fused, item.primitive)
             << "reductions and scans of one kernel must keep the same axes; "
                "run deplo-fuse-vertical";
    others = own;
  }
  // Rows of a product may be folded where it is computed.
  if (kept && keptByProducts && *kept != *keptByProducts &&
      !(keptByProducts->size() == kept->size() + 1 &&
        llvm::includes(*keptByProducts, *kept)))
    return fused.emitOpError("can't be lowered by deplo-graph-to-loop: its "
                             "reductions keep other axes than the rows of its "
                             "products; run deplo-fuse-vertical");
  if (!kept)
    kept = keptByProducts;
  SmallVector<Axis> parallelAxes = kept ? *kept : getSorted(axes);
  for (Output &output : outputs) {
    const Primitive &primitive = items[output.item].primitive;
    SmallVector<Axis> own = getSorted(primitive.getResultAxes());
    if (kept ? !llvm::includes(own, parallelAxes) : own != parallelAxes)
      return emitError(fused, primitive)
             << "its elements would be stored more than once; run "
                "deplo-fuse-vertical";
  }
  // In the order of the result, so that it is stored in order.
  for (Axis axis : axes)
    if (llvm::is_contained(parallelAxes, axis))
      parallelLeaves.push_back(getNumber(axis));
  return success();
}

/// A buffer as it is.
static BufferView getWholeView(Value buffer) {
  BufferView view;
  view.shape.assign(getShape(buffer).begin(), getShape(buffer).end());
  return view;
}

LogicalResult KernelLoops::findAccesses(FusedOp fused, ValueRange inputBuffers,
                                        ValueRange outputBuffers) {
  // Reads may split loops of each other: the second round finds them split.
  for (int round = 0; round < 2; ++round) {
    accesses.clear();
    for (Item &item : items)
      for (auto [number, read] : llvm::enumerate(item.primitive.reads)) {
        auto argument = dyn_cast<BlockArgument>(read.source);
        if (!argument)
          continue;
        Value buffer = inputBuffers[argument.getArgNumber()];
        if (read.isGathered) {
          item.accesses[number] = accesses.size();
          accesses.push_back({buffer, {}, getWholeView(buffer), false, true});
          continue;
        }
        auto coordinates = space.getCoordinates(
            item.primitive, read.map, getShape(buffer), getStrides(buffer));
        if (!coordinates)
          return emitError(fused, item.primitive)
                 << "operand " << number
                 << " is not read along loops over a "
                    "box; run deplo-fuse-vertical";
        item.accesses[number] = accesses.size();
        bool isBool = getElementTypeOrSelf(argument).isInteger(1);
        accesses.push_back({buffer, *coordinates, {}, isBool, false});
      }
  }
  for (auto [output, buffer] : llvm::zip_equal(outputs, outputBuffers)) {
    output.access = accesses.size();
    accesses.push_back(
        {buffer,
         {space.getResultCoordinates(items[output.item].primitive)},
         {},
         false,
         false});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

unsigned KernelLoops::getNumber(Axis leaf) {
  auto [position, isNew] = numbers.try_emplace(leaf, leafExtents.size());
  if (isNew)
    leafExtents.push_back(space.classes.getExtent(leaf));
  return position->second;
}

SmallVector<unsigned> KernelLoops::getNumbers(ArrayRef<Axis> axes) {
  SmallVector<unsigned> list;
  for (Axis leaf : space.classes.getLeaves(axes))
    list.push_back(getNumber(leaf));
  return list;
}

/// The axes whose coordinates `primitive` uses as numbers.
static llvm::SmallBitVector getNumberedAxes(const Primitive &primitive) {
  llvm::SmallBitVector axes(primitive.axes.size());
  if (auto map = dyn_cast_or_null<MapOp>(primitive.op))
    for (IndexOp index : map.getBody()->getOps<IndexOp>())
      axes.set(index.getAxis());
  auto gather = dyn_cast_or_null<GatherOp>(primitive.op);
  if (!gather)
    return axes;
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    for (unsigned k = 0; k < gather.getSources().size(); ++k)
      if (primitive.reads[k].map.isFunctionOfDim(axis) ||
          gather.getGuard(k).isFunctionOfDim(axis))
        axes.set(axis);
  return axes;
}

void KernelLoops::findCoordinates() {
  for (Item &item : items) {
    llvm::SmallBitVector axes = getNumberedAxes(item.primitive);
    if (axes.none())
      continue;
    item.leafCoordinates.resize(item.primitive.axes.size());
    auto all = space.getResultCoordinates(item.primitive);
    for (unsigned axis : axes.set_bits()) {
      LinearCoordinate coordinate = all[axis];
      for (auto &term : coordinate.terms)
        term.first = getNumber(term.first);
      item.leafCoordinates[axis] = coordinate;
    }
  }
}

/// `coordinate`, in leaves, in loops; none if a loop does not count through its
/// leaves as the coordinate does.
static std::optional<LinearCoordinate>
getInLoops(const LinearCoordinate &coordinate, const LoopNest &nest) {
  LinearCoordinate result;
  result.constant = coordinate.constant;
  for (auto [loop, leaves] : llvm::enumerate(nest.loops)) {
    int64_t factor = coordinate.getFactor(leaves.back());
    int64_t expected = factor;
    for (unsigned leaf : llvm::reverse(leaves)) {
      if (coordinate.getFactor(leaf) != expected)
        return std::nullopt;
      expected *= nest.extents[leaf];
    }
    if (factor != 0)
      result.add(loop, factor);
  }
  return result;
}

/// Marks what contractions multiply, and what that is computed of.
void KernelLoops::findOperands() {
  for (Item &item : llvm::reverse(items))
    if (item.isOfOperand || isa_and_nonnull<ContractOp>(item.primitive.op))
      for (std::optional<unsigned> source : item.sources)
        if (source)
          items[*source].isOfOperand = true;
}

/// A gathered operand of a contraction is read at quotients and remainders of
/// the loops' variables, so that what it is multiplied with is in one loop for
/// its rows, and one for what is summed over.
bool KernelLoops::updateCoordinates(ArrayRef<SmallVector<unsigned>> loops) {
  std::vector<std::pair<SmallVector<LinearCoordinate>, bool>> updated;
  for (const Item &item : items) {
    auto &[ofItem, isDivided] = updated.emplace_back();
    for (const LinearCoordinate &coordinate : item.leafCoordinates) {
      auto inLoops = getInLoops(coordinate, LoopNest{leafExtents, loops});
      isDivided = !inLoops;
      if (isDivided)
        break;
      ofItem.push_back(*inLoops);
    }
    if (!isDivided)
      continue;
    if (!item.isOfOperand || !isa_and_nonnull<GatherOp>(item.primitive.op))
      return false;
    ofItem = item.leafCoordinates;
  }
  for (auto [item, ofItem] : llvm::zip_equal(items, updated))
    std::tie(item.coordinates, item.isDivided) = std::move(ofItem);
  return true;
}

/// How many of `leaves` move the access.
unsigned KernelLoops::countUsedLeaves(const BufferAccess &access,
                                      ArrayRef<unsigned> leaves) const {
  return llvm::count_if(leaves, [&](unsigned leaf) {
    return llvm::any_of(access.coordinates.values,
                        [&](const LinearCoordinate &coordinate) {
                          return coordinate.getFactor(leaf) != 0;
                        });
  });
}

bool KernelLoops::updateViews(ArrayRef<SmallVector<unsigned>> loops,
                              bool divides) {
  SmallVector<SmallVector<unsigned>> leaves;
  for (unsigned leaf = 0; leaf < leafExtents.size(); ++leaf)
    leaves.push_back({leaf});
  size_t numReads = accesses.size() - outputs.size();
  std::vector<std::pair<BufferView, bool>> views;
  for (auto [number, access] : llvm::enumerate(accesses)) {
    if (access.isGathered) {
      views.emplace_back(access.view, false);
      continue;
    }
    auto getView = [&, &access = access](ArrayRef<SmallVector<unsigned>> nest) {
      return getBoxView(getShape(access.buffer), getStrides(access.buffer),
                        access.coordinates, LoopNest{leafExtents, nest});
    };
    auto view = getView(loops);
    bool isPart = divides && !view && number < numReads &&
                  llvm::any_of(
                      loops,
                      [&, &at = access](ArrayRef<unsigned> parts) {
                        unsigned used = countUsedLeaves(at, parts);
                        return used != 0 && used != parts.size();
                      });
    if (isPart)
      view = getView(leaves);
    if (!view)
      return false;
    views.emplace_back(std::move(*view), isPart);
  }
  if (!updateCoordinates(loops))
    return false;
  for (auto [access, view] : llvm::zip_equal(accesses, views))
    std::tie(access.view, access.isDivided) = std::move(view);
  return true;
}

LoopPart KernelLoops::getPart(unsigned leaf) const {
  for (auto [loop, parts] : llvm::enumerate(nest)) {
    const unsigned *at = llvm::find(parts, leaf);
    if (at == parts.end())
      continue;
    LoopPart part{static_cast<unsigned>(loop), 1, leafExtents[leaf],
                  at == parts.begin()};
    for (unsigned inner : llvm::make_range(std::next(at), parts.end()))
      part.divisor *= leafExtents[inner];
    return part;
  }
  llvm_unreachable("every leaf is a part of a loop");
}

/// Replaces leaves by the loops that they are part of.
static KernelLoops::Loops getLoops(ArrayRef<unsigned> leaves,
                                   ArrayRef<SmallVector<unsigned>> nest) {
  KernelLoops::Loops loops;
  for (unsigned leaf : leaves)
    for (auto [loop, parts] : llvm::enumerate(nest))
      if (llvm::is_contained(parts, leaf) && !llvm::is_contained(loops, loop))
        loops.push_back(loop);
  return loops;
}

void KernelLoops::assignLoops() {
  extents.clear();
  for (ArrayRef<unsigned> parts : nest) {
    int64_t extent = 1;
    for (unsigned leaf : parts)
      extent *= leafExtents[leaf];
    extents.push_back(extent);
  }
  parallel = getLoops(parallelLeaves, nest);
  for (Item &item : items) {
    item.loops = getLoops(getNumbers(item.primitive.axes), nest);
    Loops kept = getLoops(getNumbers(item.primitive.getResultAxes()), nest);
    item.scanned.clear();
    if (item.primitive.isScan())
      item.scanned = getLoops(getNumbers({item.primitive.getScanAxis()}), nest);
    item.reduced.clear();
    for (unsigned loop : item.loops)
      if (!llvm::is_contained(kept, loop))
        item.reduced.push_back(loop);
    item.isPerIteration = llvm::all_of(kept, [&](unsigned loop) {
      return llvm::is_contained(parallel, loop);
    });
  }
  for (Output &output : outputs) {
    const Primitive &primitive = items[output.item].primitive;
    output.swept.clear();
    for (unsigned loop : getLoops(getNumbers(primitive.getResultAxes()), nest))
      if (!llvm::is_contained(parallel, loop))
        output.swept.push_back(loop);
  }
}

/// Whether `inner` follows `outer` wherever one of them runs, and does there
/// what `outer` does. If `divides`, a map may run in one of them: it is
/// computed more often then.
bool KernelLoops::canMerge(unsigned outer, unsigned inner, bool divides) const {
  auto isPair = [&](ArrayRef<unsigned> loops) {
    const auto *at = llvm::find(loops, outer);
    bool hasInner = llvm::is_contained(loops, inner);
    if (at == loops.end())
      return !hasInner;
    return std::next(at) != loops.end() && *std::next(at) == inner;
  };
  return isPair(parallel) && llvm::all_of(items, [&](const Item &item) {
           bool mayRunInOne = divides && !item.primitive.isFold();
           return (mayRunInOne || isPair(item.loops)) && isPair(item.reduced) &&
                  isPair(item.scanned);
         });
}

bool KernelLoops::tryMerge(unsigned outer, unsigned inner, bool divides) {
  auto merged = nest;
  llvm::append_range(merged[outer], merged[inner]);
  merged.erase(merged.begin() + inner);
  if (!updateViews(merged, divides))
    return false;
  nest = std::move(merged);
  assignLoops();
  return true;
}

/// Merges pairs of loops that `suits` until none is left that can be.
void KernelLoops::mergeAll(bool divides,
                           llvm::function_ref<bool(unsigned, unsigned)> suits) {
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (unsigned outer = 0; outer < nest.size() && !hasChanged; ++outer)
      for (unsigned inner = 0; inner < nest.size() && !hasChanged; ++inner)
        hasChanged = outer != inner && canMerge(outer, inner, divides) &&
                     suits(outer, inner) && tryMerge(outer, inner, divides);
  }
}

/// One loop in place of two wherever buffers allow: fewer, longer loops.
void KernelLoops::mergeLoops() {
  mergeAll(/*divides=*/false, [](unsigned, unsigned) { return true; });
}

/// Whether both loops are inside of the parallel ones, and some access goes
/// through all of both.
bool KernelLoops::sharesRow(unsigned outer, unsigned inner,
                            const SymbolicSizes &sizes) const {
  SmallVector<unsigned> leaves(nest[outer]);
  llvm::append_range(leaves, nest[inner]);
  return !llvm::is_contained(parallel, outer) &&
         !llvm::is_contained(parallel, inner) &&
         llvm::none_of(leaves,
                       [&](unsigned leaf) {
                         return sizes.isSymbolic(leafExtents[leaf]);
                       }) &&
         llvm::any_of(accesses, [&](const BufferAccess &access) {
           return !access.isGathered &&
                  countUsedLeaves(access, leaves) == leaves.size();
         });
}

/// A row is one loop, also where something is read along a part of it, as the
/// weights of a group of channels are: x[k], w[k floordiv 4096].
///
/// Legality: the merged variable counts through the iterations of both loops,
/// in order, and quotients and remainders give their variables back. A
/// contraction is left alone: its factors are boxes.
void KernelLoops::divideLoops(const SymbolicSizes &sizes) {
  if (llvm::any_of(items, [](const Item &item) {
        return isa_and_nonnull<ContractOp>(item.primitive.op);
      }))
    return;
  mergeAll(/*divides=*/true, [&](unsigned outer, unsigned inner) {
    return sharesRow(outer, inner, sizes);
  });
}

FailureOr<KernelLoops> KernelLoops::get(FusedOp fused, ValueRange inputBuffers,
                                        ValueRange outputBuffers) {
  KernelLoops kernel;
  if (failed(kernel.addItems(fused, /*sharesConversions=*/true)) ||
      failed(kernel.shareLoops(fused)))
    return failure();
  kernel.joinParts();
  // A conversion that is read along several loops is computed in each.
  if (llvm::any_of(kernel.items, [&](const Item &item) {
        return !kernel.space.hasDistinctLoops(item.primitive);
      })) {
    kernel = KernelLoops();
    if (failed(kernel.addItems(fused, /*sharesConversions=*/false)) ||
        failed(kernel.shareLoops(fused)))
      return failure();
    kernel.joinParts();
  }
  if (failed(kernel.findAccesses(fused, inputBuffers, outputBuffers)) ||
      failed(kernel.findParallel(fused)))
    return failure();
  for (Item &item : kernel.items)
    kernel.getNumbers(item.primitive.axes);
  for (BufferAccess &access : kernel.accesses)
    for (LinearCoordinate &coordinate : access.coordinates.values)
      for (auto &term : coordinate.terms)
        term.first = kernel.getNumber(term.first);
  kernel.findCoordinates();
  kernel.findOperands();
  for (unsigned leaf = 0; leaf < kernel.leafExtents.size(); ++leaf)
    kernel.nest.push_back({leaf});
  if (!kernel.updateViews(kernel.nest))
    return fused.emitOpError("can't be lowered by deplo-graph-to-loop: a "
                             "buffer is not read along loops over a box; run "
                             "deplo-fuse-vertical");
  kernel.assignLoops();
  kernel.mergeLoops();
  kernel.divideLoops(SymbolicSizes::get(fused));
  return kernel;
}

} // namespace deplo::graph
