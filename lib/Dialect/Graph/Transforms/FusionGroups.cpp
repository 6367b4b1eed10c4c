// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FusionGroups.h"

#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/WgmmaPiecesModel.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace deplo::graph {

/// Elements of a map that one piece of work takes.
static constexpr int64_t elementsPerPiece = 256;

static int64_t getBytes(Type elementType, int64_t elements) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8 * elements;
}

/// Costs are of the largest sizes that a call may give: what is on chip must
/// hold those.
static int64_t getBytes(Value value, const SymbolicSizes &sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  return getBytes(type.getElementType(), sizes.getMax(type.getNumElements()));
}

/// Bytes that `reader` takes from memory: elements that it reads twice come
/// from a cache.
static int64_t getBytesRead(const Primitive &reader, const Read &read,
                            const SymbolicSizes &sizes) {
  int64_t elements = 1;
  for (auto [dim, extent] : llvm::enumerate(reader.shape))
    if (read.map.isFunctionOfDim(dim) || read.map.getNumSymbols() != 0)
      elements *= extent;
  auto type = cast<RankedTensorType>(read.source.getType());
  return getBytes(
      type.getElementType(),
      std::min(sizes.getMax(elements), sizes.getMax(type.getNumElements())));
}

/// Operations for one element of `op`; those of tensor cores as a part of one.
static double getOperationsPerElement(Operation *op,
                                      const MachineModel &machine) {
  if (auto contract = dyn_cast<ContractOp>(op)) {
    Type type = getElementTypeOrSelf(contract.getLhs().getType());
    bool isHalf = type.isF16() || type.isBF16();
    return isHalf && machine.matrixOperationsPerSecond > 0
               ? machine.operationsPerSecond / machine.matrixOperationsPerSecond
               : 1;
  }
  // Within a thread, and with what is before that.
  constexpr double foldsOfScan = 2;
  if (auto scan = dyn_cast<ScanOp>(op))
    return foldsOfScan *
           (scan.getKind() == Monoid::LogAddExp
                ? getOperationCost("math.exp") + getOperationCost("math.log1p")
                : 1);
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return 1;
  double operations = 0;
  for (Operation &scalar : map.getBody()->without_terminator())
    operations += getOperationCost(scalar.getName().getStringRef());
  return operations;
}

MachineModel getMachineModel(tile::TargetAttr target,
                             tile::Precision precision) {
  constexpr int64_t registerBytes = 4;
  double products = precision == tile::Precision::F32Fast
                        ? productsOfScaledPieces
                        : productsOfPieces;
  double ofPieces = isOfPieces(precision)
                        ? target.getWgmmaFlopsPerSecond() / 2.0 / products
                        : 0;
  // Peak rates count a fused multiply-add as two.
  return {static_cast<double>(target.getDramBytesPerSecond()),
          target.getF32FlopsPerSecond() / 2.0,
          target.getLaunchNanoseconds() * 1e-9,
          target.getMultiprocessors(),
          target.getSharedPerBlock() +
              target.getRegistersPerMultiprocessor() * registerBytes / 2,
          target.getRegistersPerThread(),
          memoryLatencyNanoseconds * 1e-9,
          bandwidthBurst,
          target.getMmaFlopsPerSecond() / 2.0,
          target.hasWgmma(),
          ofPieces};
}

//===----------------------------------------------------------------------===//
// Groups of one
//===----------------------------------------------------------------------===//

FusionGroups::FusionGroups(func::FuncOp function, const MachineModel &machine,
                           FusionPolicy policy, Kernels kernels,
                           FusionPolicy windows)
    : function(function), machine(machine), policy(policy), windows(windows),
      sizes(SymbolicSizes::get(function)) {
  for (Operation &op : function.getBody().front()) {
    if (op.hasTrait<IsComputation>())
      addPrimitive(&op, primitives.size());
    else if (auto fused = dyn_cast<FusedOp>(op))
      kernels == Kernels::Fixed ? addFused(fused) : addKernel(fused);
  }
  if (kernels == Kernels::Fixed) {
    countUses();
  } else {
    // Every result of a kernel is needed elsewhere.
    uses.resize(primitives.size());
    openUses.assign(primitives.size(), 1);
  }
}

/// Adds a primitive to a group, the one that begins with it or an earlier one.
void FusionGroups::addPrimitive(Operation *op, unsigned groupIndex) {
  unsigned index = primitives.size();
  Primitive primitive = space.getPrimitive(op, groupIndex);
  if (groups.size() == index)
    groups.emplace_back(); // stays empty if the primitive joins another group
  Group &group = groups[groupIndex];
  if (group.members.empty())
    group.first = index;
  group.members.push_back(index);
  group.last = index;
  unsigned depth = 0;
  bool isAfterScan = primitive.isScan();
  for (Read &read : primitive.reads) {
    read.source = resolve(read.source);
    auto it = producers.find(read.source);
    isAfterScan |= it != producers.end() && followsScan[it->second];
    // Kernels that are there already run one after the other: only reductions
    // of the same one wait for each other.
    if (it != producers.end() &&
        (group.kernels.empty() || findGroup(it->second) == groupIndex))
      depth = std::max(depth, depths[it->second]);
  }
  if (isa<ContractOp>(op)) {
    ++group.contractions;
    group.productTiles = countProductTiles(primitive);
  }
  if (primitive.isFold()) {
    if (!group.kept)
      group.kept = primitive.getKeptAxes();
    // A scan runs in the sweep that stores its results.
    if (primitive.isReduction())
      ++depth;
    group.firstDepth =
        std::min(group.firstDepth, depth + (primitive.isScan() ? 1 : 0));
    group.lastDepth = std::max(group.lastDepth, depth);
    group.hasScan |= primitive.isScan();
    group.reducesScan |= primitive.isReduction() && isAfterScan;
  }
  depths.push_back(depth);
  followsScan.push_back(isAfterScan);
  group.operations += getOperationsPerElement(op, machine) *
                      getEvaluations(primitive, primitive.axes);
  for (const Read &read : primitive.reads) {
    // Splits its axes as far as the read needs.
    if (!read.isGathered)
      space.getCoordinates(
          primitive, read.map,
          cast<RankedTensorType>(read.source.getType()).getShape(),
          getMemoryStrides(read.source));
    auto it = producers.find(read.source);
    if (read.source.getDefiningOp<ConstantOp>() ||
        (it != producers.end() && findGroup(it->second) == groupIndex))
      continue;
    int64_t &bytes = group.inputs[read.source];
    bytes = std::max(bytes, getBytesRead(primitive, read, sizes));
  }
  producers[op->getResult(0)] = index;
  primitives.push_back(std::move(primitive));
  groupLinks.push_back(groupIndex);
}

/// What a value in a kernel is in the function, or in the kernel that computes
/// it.
Value FusionGroups::resolve(Value value) const {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto fused = dyn_cast<FusedOp>(argument.getOwner()->getParentOp());
      if (!fused)
        return value;
      value = fused.getInputs()[argument.getArgNumber()];
      continue;
    }
    auto fused = value.getDefiningOp<FusedOp>();
    if (!fused || producers.count(value)) // not opened
      return value;
    value =
        fused.getYield().getValues()[cast<OpResult>(value).getResultNumber()];
  }
}

/// Whether the primitives of `fused` can be looked at one by one.
static bool canOpen(FusedOp fused) {
  // What folds rows of a product folds nothing else.
  if (!fused.getBody()->getOps<ContractOp>().empty() &&
      !fused.getBody()->getOps<ReduceOp>().empty())
    return false;
  for (Operation &op : fused.getBody()->without_terminator()) {
    if (!op.hasTrait<IsPrimitive>())
      return false;
    if (op.hasTrait<IsComputation>() &&
        !llvm::all_of(op.getOperands(), traceRead))
      return false;
  }
  return llvm::all_of(fused.getYield().getValues(), isComputed);
}

/// A group of the primitives of a kernel.
void FusionGroups::addKernel(FusedOp fused) {
  if (!canOpen(fused))
    return addFused(fused);
  unsigned index = primitives.size();
  size_t checkpoint = space.classes.getCheckpoint();
  groups.emplace_back().kernels = {fused};
  bool sharesLoops = true;
  for (Operation &op : fused.getBody()->without_terminator()) {
    if (!op.hasTrait<IsComputation>())
      continue;
    addPrimitive(&op, index);
    const Primitive &reader = primitives.back();
    for (const Read &read : reader.reads)
      if (auto it = producers.find(read.source);
          it != producers.end() && findGroup(it->second) == index)
        sharesLoops &= !read.isGathered &&
                       space.unify(reader, read.map, primitives[it->second]);
  }
  space.classes.commit(checkpoint, index);
  Group &group = groups[index];
  group.isFixed = !sharesLoops;
  for (Value value : fused.getYield().getValues())
    group.outputs.push_back(producers.lookup(value));
}

void FusionGroups::addFused(FusedOp op) {
  unsigned index = primitives.size();
  Primitive primitive;
  primitive.op = op;
  Group group;
  group.members = {index};
  group.first = group.last = index;
  group.isFixed = true;
  for (Value input : op.getInputs())
    group.inputs[resolve(input)] = getBytes(input, sizes);
  for (Value output : op.getOutputs())
    producers[output] = index;
  primitives.push_back(std::move(primitive));
  groups.push_back(std::move(group));
  groupLinks.push_back(index);
  depths.push_back(0);
  followsScan.push_back(false);
}

void FusionGroups::countUses() {
  uses.resize(primitives.size());
  openUses.resize(primitives.size());
  for (auto [index, primitive] : llvm::enumerate(primitives)) {
    for (auto [number, read] : llvm::enumerate(primitive.reads))
      if (auto it = producers.find(read.source); it != producers.end()) {
        uses[it->second].push_back(
            {static_cast<unsigned>(index), static_cast<unsigned>(number)});
        ++openUses[it->second];
      }
    if (auto fused = dyn_cast<FusedOp>(primitive.op))
      for (Value input : fused.getInputs())
        if (auto it = producers.find(input); it != producers.end())
          ++openUses[it->second];
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (Value result : terminator->getOperands())
    if (auto it = producers.find(result); it != producers.end())
      ++openUses[it->second];
  for (auto [index, group] : llvm::enumerate(groups))
    if (openUses[index] != 0)
      group.outputs.push_back(index);
}

unsigned FusionGroups::findGroup(unsigned primitive) const {
  while (groupLinks[primitive] != primitive) {
    groupLinks[primitive] = groupLinks[groupLinks[primitive]];
    primitive = groupLinks[primitive];
  }
  return primitive;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// How often `primitive` is computed in loops over `kept` and its own axes.
double FusionGroups::getEvaluations(const Primitive &primitive,
                                    ArrayRef<Axis> kept) const {
  SmallVector<Axis> leaves = space.classes.getLeaves(kept);
  llvm::append_range(leaves, space.classes.getLeaves(primitive.axes));
  llvm::sort(leaves);
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  double evaluations = 1;
  for (Axis leaf : leaves)
    evaluations *= sizes.getMax(space.classes.getExtent(leaf));
  return evaluations;
}

KernelCost FusionGroups::getCost(const Group &group) const {
  KernelCost cost;
  for (const auto &[value, bytes] : group.inputs)
    cost.bytesRead += bytes;
  for (unsigned output : group.outputs)
    cost.bytesWritten += getBytes(primitives[output].op->getResult(0), sizes);
  cost.operations = group.operations;
  if (group.foldsRows) {
    cost.pieces = group.productTiles;
    cost.isDivisible = false;
  } else if (group.kept) {
    SmallVector<Axis> parallel = space.classes.getLeaves(*group.kept);
    for (Axis leaf : parallel)
      cost.pieces *= sizes.getMax(space.classes.getExtent(leaf));
    auto isSwept = [&](unsigned output) {
      return space.classes.getLeaves(primitives[output].getResultAxes())
                 .size() > parallel.size();
    };
    cost.sweeps = group.lastDepth - group.firstDepth + 1 +
                  llvm::any_of(group.outputs, isSwept);
  } else {
    const Primitive &last = primitives[group.last];
    int64_t elements = getEvaluations(last, last.axes);
    cost.pieces = (elements + elementsPerPiece - 1) / elementsPerPiece;
  }
  return cost;
}

/// How many times more often the producer is computed in the consumer's loops.
/// With reductions on its side the loops are its own.
double FusionGroups::getRecomputation(unsigned producer,
                                      unsigned consumer) const {
  const Group &from = groups[findGroup(producer)];
  const Group &into = groups[findGroup(consumer)];
  if (from.kept)
    return 1;
  if (auto operand = findOperand(from, into))
    return countTiles(operand->second.reader, operand->second.read);
  const Primitive &primitive = primitives[producer];
  return getEvaluations(primitive, into.kept ? ArrayRef<Axis>(*into.kept)
                                             : primitives[consumer].axes) /
         getEvaluations(primitive, primitive.axes);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

bool FusionGroups::dependsOn(unsigned reader, unsigned source,
                             bool isIndirect) const {
  SmallVector<unsigned> pending = {reader};
  llvm::SmallDenseSet<unsigned> visited(pending.begin(), pending.end());
  bool isFirst = isIndirect;
  while (!pending.empty()) {
    const Group &group = groups[pending.pop_back_val()];
    for (const auto &[value, bytes] : group.inputs) {
      auto it = producers.find(value);
      if (it == producers.end())
        continue;
      unsigned read = findGroup(it->second);
      if (read == source) {
        if (!isFirst)
          return true;
        continue;
      }
      // What ends before the source begins does not read from it.
      if (groups[read].last > groups[source].first &&
          visited.insert(read).second)
        pending.push_back(read);
    }
    isFirst = false;
  }
  return false;
}

/// Makes every read between the two groups run in shared loops.
std::optional<std::string> FusionGroups::unifyReads(unsigned producer,
                                                    unsigned consumer) {
  const Group &from = groups[findGroup(producer)];
  const Group &into = groups[findGroup(consumer)];
  auto unify = [&](unsigned source, Use use) -> bool {
    const Primitive &reader = primitives[use.reader];
    const Read &read = reader.reads[use.read];
    return !read.isGathered &&
           space.unify(reader, read.map, primitives[source]);
  };
  auto fail = [&](unsigned source, unsigned reader) {
    return describe(reader) + " reads " + describe(source) +
           " in another order than it is computed, or a part of it";
  };
  if (from.members.size() <= into.members.size()) {
    for (unsigned source : from.members)
      for (Use use : uses[source])
        if (findGroup(use.reader) == findGroup(consumer) && !unify(source, use))
          return fail(source, use.reader);
    return std::nullopt;
  }
  for (unsigned reader : into.members)
    for (auto [number, read] : llvm::enumerate(primitives[reader].reads)) {
      auto it = producers.find(read.source);
      if (it != producers.end() &&
          findGroup(it->second) == findGroup(producer) &&
          !unify(it->second, {reader, static_cast<unsigned>(number)}))
        return fail(it->second, reader);
    }
  return std::nullopt;
}

/// Everything about the merged group but its members.
FusionGroups::Group FusionGroups::getMerged(unsigned producer,
                                            unsigned consumer,
                                            double recomputation) const {
  const Group &from = groups[findGroup(producer)];
  const Group &into = groups[findGroup(consumer)];
  Group merged;
  merged.first = std::min(from.first, into.first);
  merged.last = std::max(from.last, into.last);
  merged.productTiles = std::max(from.productTiles, into.productTiles);
  merged.foldsRows =
      from.foldsRows || into.foldsRows || isFoldOfRows(from, into);
  merged.kept = from.kept && !merged.foldsRows ? from.kept
                : into.kept                    ? into.kept
                                               : from.kept;
  merged.firstDepth = std::min(from.firstDepth, into.firstDepth);
  merged.lastDepth = std::max(from.lastDepth, into.lastDepth);
  merged.hasScan = from.hasScan || into.hasScan;
  merged.reducesScan = from.reducesScan || into.reducesScan;
  merged.operations = from.operations * recomputation + into.operations;
  merged.contractions = from.contractions + into.contractions;
  merged.inputs = from.inputs;
  llvm::SmallDenseMap<unsigned, unsigned> served;
  for (const auto &[value, bytes] : into.inputs) {
    auto it = producers.find(value);
    if (it != producers.end() && findGroup(it->second) == findGroup(producer)) {
      for (Use use : uses[it->second])
        served[it->second] += findGroup(use.reader) == findGroup(consumer);
      continue;
    }
    int64_t &total = merged.inputs[value];
    total = std::max(total, bytes);
  }
  for (unsigned output : from.outputs)
    if (openUses[output] > served.lookup(output))
      merged.outputs.push_back(output);
  llvm::append_range(merged.outputs, into.outputs);
  return merged;
}

/// Registers of a thread that has an address and four elements, of up to 64
/// bits, of each tensor.
static int64_t getLeastRegisters(int64_t tensors) {
  constexpr int64_t perAddress = 2, perElements = 8;
  return tensors * (perAddress + perElements);
}

/// The loops of the merged group: all parallel ones for every value that
/// leaves.
std::optional<std::string> FusionGroups::checkBoundary(const Group &merged) {
  int64_t tensors = merged.inputs.size() + merged.outputs.size();
  if (getLeastRegisters(tensors) > machine.registersPerThread)
    return "a thread has no registers for " + std::to_string(tensors) +
           " tensors";
  if (merged.hasScan && merged.reducesScan)
    return "a reduction of what a scan computes has a sweep of its own";
  auto getSorted = [&](ArrayRef<Axis> axes) {
    SmallVector<Axis> leaves = space.classes.getLeaves(axes);
    llvm::sort(leaves);
    return leaves;
  };
  if (merged.outputs.empty())
    return std::nullopt;
  SmallVector<Axis> parallel = getSorted(
      merged.kept ? *merged.kept : primitives[merged.outputs.back()].axes);
  for (unsigned output : merged.outputs) {
    SmallVector<Axis> own = getSorted(primitives[output].getResultAxes());
    // A contraction's tiles have no room for inner loops, but of columns.
    bool hasInner =
        merged.kept && (merged.contractions == 0 || merged.foldsRows);
    bool isComputedOnce =
        hasInner ? llvm::includes(own, parallel) : own == parallel;
    if (!isComputedOnce)
      return describe(output) +
             " is needed elsewhere and would be computed more than once";
    if (merged.hasScan && followsScan[output] &&
        own.size() != parallel.size() + 1)
      return describe(output) + " has loops inside of a scan";
  }
  return std::nullopt;
}

/// Whether reductions of both groups keep the same axes, and every primitive
/// still runs in loops of its own and reads boxes.
std::optional<std::string>
FusionGroups::checkLoops(unsigned from, unsigned into, size_t checkpoint) {
  AxisClasses &classes = space.classes;
  if (groups[from].kept && groups[into].kept) {
    SmallVector<Axis> a = classes.getLeaves(*groups[from].kept);
    SmallVector<Axis> b = classes.getLeaves(*groups[into].kept);
    llvm::sort(a);
    llvm::sort(b);
    if (a != b && !isFoldOfRows(groups[from], groups[into]))
      return "their reductions or scans keep different axes";
  }
  if (classes.hasJoinedLoopsSince(checkpoint) ||
      classes.hasSplitSince(checkpoint))
    for (unsigned group : {from, into})
      for (unsigned member : groups[group].members)
        if (auto reason = checkMember(primitives[member]))
          return reason;
  return std::nullopt;
}

/// Replaces `into` by `merged`, which has everything but the members.
void FusionGroups::commit(unsigned from, unsigned into, Group merged,
                          size_t checkpoint) {
  // The larger list of members stays where it is.
  merged.members = std::move(groups[into].members);
  SmallVector<unsigned> others = std::move(groups[from].members);
  if (others.size() > merged.members.size())
    std::swap(others, merged.members);
  llvm::append_range(merged.members, others);
  groups[from] = {};
  groups[into] = std::move(merged);
  groupLinks[from] = into;
  space.classes.commit(checkpoint, into);
  space.classes.mergeOwners(from, into);
}

std::optional<std::string> FusionGroups::merge(unsigned producer,
                                               unsigned consumer) {
  unsigned from = findGroup(producer), into = findGroup(consumer);
  if (policy == FusionPolicy::Never)
    return "the policy is never to fuse";
  if (groups[from].isFixed || groups[into].isFixed)
    return "one of them is a kernel already";
  if (dependsOn(into, from, /*isIndirect=*/true))
    return "another kernel runs between them";
  if (auto reason = checkOperands(groups[from], groups[into]))
    return reason;

  AxisClasses &classes = space.classes;
  size_t checkpoint = classes.getCheckpoint();
  auto refuse = [&](std::string reason) {
    classes.rollBack(checkpoint);
    return reason;
  };
  size_t summedLoops = countSummedLoops(groups[into]);
  if (auto reason = unifyReads(producer, consumer))
    return refuse(*reason);
  if (countSummedLoops(groups[into]) != summedLoops)
    return refuse(describe(consumer) + " would go over chunks of two loops");
  if (auto reason = checkLoops(from, into, checkpoint))
    return refuse(*reason);
  if (auto reason = checkContractions(groups[from], groups[into]))
    return refuse(*reason);

  Group merged =
      getMerged(producer, consumer, getRecomputation(producer, consumer));
  if (auto reason = checkBoundary(merged))
    return refuse(*reason);
  // Windows have a policy of their own.
  auto operand = findOperand(groups[from], groups[into]);
  bool isOfWindows = operand && getGathered(groups[from]);
  merged.operations += isOfWindows
                           ? getWindowOperations(operand->second)
                           : getOperandOperations(groups[from], groups[into]);
  if (merged.foldsRows && !groups[from].foldsRows && !groups[into].foldsRows)
    merged.operations += getFoldOperations(
        groups[from].contractions != 0 ? groups[from] : groups[into]);
  bool isForced = policy == FusionPolicy::Always ||
                  (isOfWindows && windows == FusionPolicy::Always);
  KernelCost fused = getCost(merged), first = getCost(groups[from]),
             second = getCost(groups[into]);
  std::string numbers = compare(fused, first, second);
  if (!isForced && !pays(fused, first, second, machine))
    return refuse("it doesn't pay: " + numbers);

  for (const auto &[value, bytes] : groups[into].inputs)
    if (auto it = producers.find(value);
        it != producers.end() && findGroup(it->second) == from)
      for (Use use : uses[it->second])
        openUses[it->second] -= findGroup(use.reader) == into;
  commit(from, into, std::move(merged), checkpoint);
  decisions.push_back({producer, consumer, true, numbers});
  return std::nullopt;
}

/// Whether a primitive still runs in loops of its own and reads boxes.
std::optional<std::string>
FusionGroups::checkMember(const Primitive &primitive) {
  if (!space.hasDistinctLoops(primitive))
    return "a kernel can't read a diagonal of what it computes";
  if (primitive.isScan() &&
      space.classes.getLeaves(primitive.getScanAxis()).size() != 1)
    return "a reshape divides the axis of a scan";
  for (const Read &read : primitive.reads) {
    if (read.isGathered)
      continue;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(read.source.getType()).getShape();
    SmallVector<int64_t> strides = getMemoryStrides(read.source);
    auto coordinates =
        space.getCoordinates(primitive, read.map, shape, strides);
    if (!coordinates ||
        !isBoxInLeaves(shape, strides, *coordinates, space.classes))
      return "a reshape between them divides loops that a read needs whole";
  }
  return std::nullopt;
}

/// Reads between groups, those first whose merging saves most bytes: the read
/// of a value, and that it is written if no other group needs it. Reads that
/// save as much stay in program order.
SmallVector<FusionGroups::Edge> FusionGroups::getEdges() const {
  SmallVector<Edge> edges;
  for (unsigned producer = 0; producer < primitives.size(); ++producer) {
    llvm::SmallDenseMap<unsigned, unsigned> readers; // uses by groups
    for (Use use : uses[producer])
      if (unsigned group = findGroup(use.reader); group != findGroup(producer))
        ++readers[group];
    if (readers.empty())
      continue;
    int64_t bytes = getBytes(primitives[producer].op->getResult(0), sizes);
    for (Use use : uses[producer]) {
      auto group = readers.find(findGroup(use.reader));
      if (group != readers.end())
        edges.push_back(
            {producer, use,
             group->second == openUses[producer] ? 2 * bytes : bytes});
    }
  }
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    return std::tuple(-a.bytes, a.use.reader, a.use.read) <
           std::tuple(-b.bytes, b.use.reader, b.use.read);
  });
  return edges;
}

/// Merges what would have to run between the two with the group of `producer`,
/// in program order and as far as it can be.
void FusionGroups::mergeBetween(unsigned producer, unsigned consumer) {
  for (unsigned reader = producer + 1; reader < consumer; ++reader) {
    unsigned from = findGroup(producer), into = findGroup(consumer);
    if (!dependsOn(into, from, /*isIndirect=*/true))
      return;
    unsigned between = findGroup(reader);
    if (between == from || between == into ||
        !dependsOn(into, between, /*isIndirect=*/false))
      continue;
    for (const Read &read : primitives[reader].reads) {
      auto it = producers.find(read.source);
      if (it != producers.end() &&
          findGroup(it->second) == findGroup(producer) &&
          findGroup(reader) != findGroup(producer))
        (void)merge(it->second, reader);
    }
  }
}

void FusionGroups::fuseEdges(
    llvm::DenseMap<std::pair<unsigned, unsigned>, std::string> &refusals) {
  bool hasChanged = true;
  // Merges may remove what stood in the way of earlier ones, seldom twice.
  for (int round = 0; round < 3 && hasChanged; ++round) {
    hasChanged = false;
    for (const Edge &edge : getEdges()) {
      unsigned consumer = edge.use.reader;
      if (findGroup(edge.producer) == findGroup(consumer))
        continue;
      mergeBetween(edge.producer, consumer);
      if (auto reason = merge(edge.producer, consumer))
        refusals[{edge.producer, consumer}] = *reason;
      else
        hasChanged = true;
    }
  }
}

void FusionGroups::fuse() {
  llvm::DenseMap<std::pair<unsigned, unsigned>, std::string> refusals;
  fuseEdges(refusals);
  // Maps that joined no kernel that computes what they read.
  mergesOperands = true;
  fuseEdges(refusals);
  for (unsigned consumer = 0; consumer < primitives.size(); ++consumer)
    for (const Read &read : primitives[consumer].reads) {
      auto it = producers.find(read.source);
      if (it != producers.end() && findGroup(it->second) != findGroup(consumer))
        decisions.push_back({it->second, consumer, false,
                             refusals.lookup({it->second, consumer})});
    }
}

} // namespace deplo::graph
