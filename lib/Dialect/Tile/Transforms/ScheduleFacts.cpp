// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dimensions and accesses of a kernel, as the schedule model sees them.

#include "ScheduleFacts.h"

#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

static std::pair<Value, int64_t> getLoop(Operation *op) {
  std::optional<int64_t> extent = loop::getLoopExtent(op);
  if (!extent)
    return {Value(), 0};
  return {op->getRegion(0).getArgument(0), *extent};
}

/// Loops of one extent, none of which is in another, sweep the same data as a
/// rule and are one dimension.
void FactFinder::findInnerDims(Block &block,
                               SmallVectorImpl<Operation *> &around) {
  for (Operation &op : block) {
    auto [variable, extent] = getLoop(&op);
    if (!variable)
      continue;
    if (dimOf.count(variable) || extent <= 1) { // an axis, or no loop at all
      findInnerDims(op.getRegion(0).front(), around);
      continue;
    }
    unsigned dim = 0;
    while (dim < innerLoops.size() && (facts.inner[dim].extent != extent ||
                                       llvm::any_of(
                                           innerLoops[dim],
                                           [&](Operation *loop) {
                                             return llvm::is_contained(around,
                                                                       loop);
                                           })))
      ++dim;
    if (dim == innerLoops.size()) {
      innerLoops.emplace_back();
      facts.inner.push_back({extent, false});
    }
    innerLoops[dim].push_back(&op);
    facts.inner[dim].isReduced |= isa<loop::ReduceOp>(op);
    if (auto reduce = dyn_cast<loop::ReduceOp>(op); reduce && reduce.getPart())
      divided[facts.axes.size() + dim] = reduce;
    dimOf[variable] = facts.axes.size() + dim;
    around.push_back(&op);
    findInnerDims(op.getRegion(0).front(), around);
    around.pop_back();
  }
}

/// The most iterations of one part. Parts start where accesses may.
int64_t FactFinder::getPartLength(loop::ReduceOp reduce) const {
  return llvm::alignTo(
      llvm::divideCeil(sizes.getMax(reduce.getExtent()), *reduce.getParts()),
      alignment);
}

/// The element number, counted from the start of the memref, for operand values
/// of the access.
static int64_t getElement(AffineMap map, ArrayRef<int64_t> operands,
                          ArrayRef<int64_t> strides) {
  int64_t element = 0;
  for (auto [coordinate, stride] :
       llvm::zip_equal(map.compose(operands), strides))
    element += coordinate * stride;
  return element;
}

/// The dimensions that an index computed from loaded values varies over.
llvm::SmallBitVector FactFinder::findDims(Value index) {
  if (auto known = dimsBehind.find(index); known != dimsBehind.end())
    return known->second;
  llvm::SmallBitVector dims(facts.axes.size() + facts.inner.size());
  if (auto dim = dimOf.find(index); dim != dimOf.end())
    dims.set(dim->second);
  else if (Operation *op = index.getDefiningOp(); op && !op->getNumRegions())
    for (Value operand : op->getOperands())
      if (!isa<MemRefType>(operand.getType()))
        dims |= findDims(operand);
  dimsBehind[index] = dims;
  return dims;
}

template <typename AccessOp>
void FactFinder::addAccess(AccessOp access, bool isStore) {
  MemRefType type = access.getMemRefType();
  SmallVector<int64_t> memrefStrides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(memrefStrides, offset)))
    return;
  if (ShapedType::isDynamic(offset))
    offset = 1; // nothing is known
  for (int64_t &stride : memrefStrides)
    if (ShapedType::isDynamic(stride))
      stride = 1;

  ScheduleAccess fact;
  fact.isStore = isStore;
  fact.elements = type.getNumElements();
  fact.elementBytes =
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  fact.strides.assign(facts.axes.size() + facts.inner.size(), 0);

  SmallVector<int64_t> origin;
  for (Value index : access.getIndices()) {
    IntegerAttr constant;
    origin.push_back(
        matchPattern(index, m_Constant(&constant)) ? constant.getInt() : 0);
  }
  int64_t start = getElement(access.getMap(), origin, memrefStrides);
  for (auto [position, index] : llvm::enumerate(access.getIndices())) {
    SmallVector<int64_t> next(origin);
    next[position] = 1;
    int64_t stride = getElement(access.getMap(), next, memrefStrides) - start;
    if (auto dim = dimOf.find(index); dim != dimOf.end()) {
      fact.strides[dim->second] += stride;
      if (loop::ReduceOp reduce = divided.lookup(dim->second))
        fact.strides[dimOf.lookup(reduce.getPart())] +=
            stride * getPartLength(reduce);
      continue;
    }
    // Loaded indices lead anywhere: neighbours are a step of the index apart.
    llvm::SmallBitVector dims = findDims(index);
    for (unsigned dim : dims.set_bits())
      if (fact.strides[dim] == 0)
        fact.strides[dim] = std::max<int64_t>(stride, 2);
  }

  int64_t bits = std::max<int64_t>(alignment / fact.elementBytes, 1);
  bits |= start + offset;
  for (int64_t stride : fact.strides)
    if (stride != 1)
      bits |= stride;
  fact.alignment = bits & -bits;

  Key key{access.getMemref(), llvm::to_vector(fact.strides), {}};
  key.numbers.push_back(start);
  auto *known = llvm::find_if(keys, [&](const Key &other) {
    return other.memref == key.memref && other.numbers == key.numbers;
  });
  if (known == keys.end()) {
    keys.push_back(key);
    known = &keys.back();
    facts.accesses.push_back(fact);
  }
  known->loops.insert(access->getParentOp());
}

/// The loads on the longest way to where another load reads.
int64_t FactFinder::countIndirections() {
  int64_t most = 0;
  llvm::DenseMap<Value, int64_t> loadsBefore;
  kernel.walk([&](Operation *op) {
    int64_t longest = 0;
    for (Value operand : op->getOperands())
      longest = std::max(longest, loadsBefore.lookup(operand));
    if (auto load = dyn_cast<loop::LoadOp>(op)) {
      int64_t behind = 0;
      for (Value index : load.getIndices())
        behind = std::max(behind, loadsBefore.lookup(index));
      most = std::max(most, behind);
      longest = std::max(longest, behind + 1);
    }
    for (Value result : op->getResults())
      loadsBefore[result] = longest;
  });
  return most;
}

/// Loads that reach more elements than the memref has, as those of overlapping
/// windows do, count as often as it takes to read it once.
void FactFinder::mergeWindows() {
  SmallVector<Key> keptKeys;
  std::vector<ScheduleAccess> kept;
  for (auto [number, key] : llvm::enumerate(keys)) {
    const ScheduleAccess &access = facts.accesses[number];
    int64_t reached = 1, before = 0;
    for (auto [stride, extent] :
         llvm::zip(access.strides, facts.axes)) // the axes come first
      reached *= stride == 0 ? 1 : std::max<int64_t>(extent, 1);
    for (const auto &[other, otherAccess] : llvm::zip_equal(keptKeys, kept))
      before +=
          other.memref == key.memref && otherAccess.strides == access.strides;
    int64_t size = cast<MemRefType>(key.memref.getType()).getNumElements();
    bool isBeyond = facts.inner.empty() && !access.isStore && before > 0 &&
                    before * reached >= size;
    if (isBeyond)
      continue;
    keptKeys.push_back(key);
    kept.push_back(access);
  }
  keys = std::move(keptKeys);
  facts.accesses = std::move(kept);
}

ScheduleFacts FactFinder::run() {
  // What is on chip must hold the largest of the sizes that a launch may give,
  // and a launch the blocks.
  for (loop::ForOp loop : getAxisLoops(kernel)) {
    if (loop.getExtent() != 1)
      dimOf[loop.getInductionVar()] = facts.axes.size();
    facts.axes.push_back(sizes.getMax(loop.getExtent()));
  }
  if (llvm::is_contained(facts.axes, 0) || facts.axes.empty()) {
    dimOf.clear();
    facts.axes.assign(1, facts.axes.empty() ? 1 : 0);
  }
  SmallVector<Operation *> around;
  findInnerDims(*kernel.getBody(), around);
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<loop::LoadOp>(op))
      addAccess(load, /*isStore=*/false);
    else if (auto store = dyn_cast<loop::StoreOp>(op))
      addAccess(store, /*isStore=*/true);
  });
  facts.symbolicSizes = sizes.getSizes().size();
  for (ScheduleInnerDim &dim : facts.inner) {
    facts.hasSymbolicRows |= sizes.isSymbolic(dim.extent);
    dim.extent = sizes.getMax(dim.extent);
  }
  for (auto [dim, reduce] : divided) {
    facts.partAxis = dimOf.lookup(reduce.getPart());
    facts.inner[dim - facts.axes.size()].extent = getPartLength(reduce);
  }
  mergeWindows();
  facts.dependentReductions = countReductions(*kernel.getBody());
  bool hasSweep = llvm::any_of(innerLoops, [](ArrayRef<Operation *> loops) {
    return llvm::any_of(loops, llvm::IsaPred<loop::ForOp, loop::ScanOp>);
  });
  facts.passes =
      std::max<int64_t>(facts.dependentReductions + (hasSweep ? 1 : 0), 1);
  kernel.walk([&](loop::ReduceOp reduce) {
    facts.reducedValues =
        std::max<int64_t>(facts.reducedValues, reduce.getNumResults());
  });
  facts.joinedPasses = countJoinedPasses();
  facts.indirections = countIndirections();
  countInstructions();
  countScans();
  countLiveTiles();
  facts.mayShareRows = facts.scans == 0 && facts.inner.size() == 1 &&
                       facts.inner.front().isReduced &&
                       !facts.hasSymbolicRows && !facts.partAxis;
  return facts;
}

ScheduleFacts getScheduleFacts(loop::KernelOp kernel, int64_t alignment,
                               const SymbolicSizes &sizes) {
  return FactFinder(kernel, alignment, sizes).run();
}
} // namespace deplo::tile
