// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// select_schedule: chooses the tunables of each kernel and writes them on it.
//
//   loop.kernel @k(...) {
// ->
//   loop.kernel @k(...) attributes {schedule = #tile.schedule<block = [1],
//   warps = 8, vector = 4>} {
//
// It asks what is pinned by name first, then the analytic model
// (ScheduleModel, or ContractionModel or MmaModel for a kernel that is a
// contraction).
//
// Legality: a schedule changes no values. What hardware can't run is refused
// here or by the step that takes it up.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/Analysis/KernelCost.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

#define DEBUG_TYPE "deplo-select-schedule"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

namespace {

/// Reads the facts of a kernel that the model asks for.
class FactFinder {
public:
  FactFinder(loop::KernelOp kernel, int64_t alignment)
      : kernel(kernel), alignment(alignment) {}

  ScheduleFacts run();

private:
  void findInnerDims(Block &block, SmallVectorImpl<Operation *> &around);
  template <typename AccessOp> void addAccess(AccessOp access, bool isStore);
  llvm::SmallBitVector findDims(Value index);
  void mergeWindows();
  void countLiveTiles();
  int64_t countLiveValues();
  int64_t countReductions(Block &block);
  int64_t countJoinedPasses();
  DenseSet<Operation *> findIndexing();
  void countInstructions();

  loop::KernelOp kernel;
  int64_t alignment;
  ScheduleFacts facts;
  /// The dimension of each induction variable of more than one iteration.
  DenseMap<Value, unsigned> dimOf;
  /// What findDims has found.
  DenseMap<Value, llvm::SmallBitVector> dimsBehind;
  /// Inner loops by dimension.
  SmallVector<SmallVector<Operation *>> innerLoops;
  /// Accesses by what they touch, and the innermost loops that they are in.
  struct Key {
    Value memref;
    SmallVector<int64_t> numbers;
    SetVector<Operation *> loops;
  };
  SmallVector<Key> keys;
  DenseMap<Value, int64_t> reductionsBefore;
};

} // namespace

/// Instructions and registers of a function of the math dialect or a division,
/// as a rule.
static constexpr int64_t functionCost = 8;
static constexpr int64_t functionTemporaries = 6;
/// Of a long computation, of which ptxas mixes the independent parts.
static constexpr int64_t instructionsPerLiveValue = 8;

static int64_t getCost(Operation *op);

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
    dimOf[variable] = facts.axes.size() + dim;
    around.push_back(&op);
    findInnerDims(op.getRegion(0).front(), around);
    around.pop_back();
  }
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

/// Tiles that one inner loop reads and a later one reads again stay alive in
/// between; those read once stream through. Without inner loops nothing is in
/// the way of loading everything first.
void FactFinder::countLiveTiles() {
  int64_t kept = 0, loads = 0;
  for (auto [key, access] : llvm::zip_equal(keys, facts.accesses)) {
    if (access.isStore)
      continue;
    ++loads;
    if (key.loops.size() > 1)
      ++kept;
  }
  // The pieces of a concatenation come in one tile, each where it is read.
  kernel.walk([&](loop::LoadOp load) {
    if (load.getOtherwise() &&
        load.getOtherwise().getDefiningOp<loop::LoadOp>())
      --loads;
  });
  // Longer computations hold intermediate results.
  if (facts.inner.empty())
    kept = loads + (facts.instructions > 8 ? 1 : 0);
  facts.liveTiles = std::max<int64_t>(kept, 1);
  facts.peakTiles =
      facts.inner.empty()
          ? std::max({facts.liveTiles, countLiveValues(),
                      facts.instructions / instructionsPerLiveValue})
          : 1;
}

/// The most values that are alive at once between two operations of a kernel
/// without inner loops, and what the function that is computed there needs.
int64_t FactFinder::countLiveValues() {
  int64_t most = 0;
  kernel.walk([&](Block *block) {
    DenseSet<Value> live;
    for (Operation &op : llvm::reverse(*block)) {
      if (op.getNumRegions() != 0)
        return;
      for (Value result : op.getResults())
        live.erase(result);
      for (Value operand : op.getOperands())
        if (operand.getDefiningOp() && operand.getParentBlock() == block &&
            !matchPattern(operand, m_Constant()) &&
            operand.getType().isIntOrFloat() && !operand.getType().isInteger(1))
          live.insert(operand);
      int64_t ofFunction =
          getCost(&op) == functionCost ? functionTemporaries : 0;
      most = std::max(most, int64_t(live.size()) + ofFunction);
    }
  });
  return most;
}

/// The longest chain of reductions that wait for one another.
int64_t FactFinder::countReductions(Block &block) {
  int64_t longest = 0;
  for (Operation &op : block) {
    int64_t before = 0;
    for (Value operand : op.getOperands())
      before = std::max(before, reductionsBefore[operand]);
    for (Region &region : op.getRegions())
      before = std::max(before, countReductions(region.front()));
    if (auto reduce = dyn_cast<loop::ReduceOp>(op)) {
      // A reduction in a reduction is part of it.
      if (!isa<loop::ReduceOp>(op.getParentOp()))
        ++before;
    }
    for (Value result : op.getResults())
      reductionsBefore[result] = before;
    longest = std::max(longest, before);
  }
  return longest;
}

/// Whether two values are the same computation on the same elements, where
/// variable `b` of a loop stands for variable `a` of another. `known` are pairs
/// that were looked at: alike, or the whole is not.
static bool areAlike(Value x, Value y, Value a, Value b,
                     DenseSet<std::pair<Value, Value>> &known) {
  if (x == y || (x == a && y == b) || !known.insert({x, y}).second)
    return true;
  Operation *first = x.getDefiningOp(), *second = y.getDefiningOp();
  if (!first || !second || first->getName() != second->getName() ||
      first->getNumRegions() != 0 ||
      first->getAttrDictionary() != second->getAttrDictionary() ||
      first->getNumOperands() != second->getNumOperands())
    return false;
  return llvm::all_of(
      llvm::zip(first->getOperands(), second->getOperands()), [&](auto pair) {
        return areAlike(std::get<0>(pair), std::get<1>(pair), a, b, known);
      });
}

/// Sums of exp(x - m), where m is the maximum of x (OnlineSum).
int64_t FactFinder::countJoinedPasses() {
  int64_t count = 0;
  kernel.walk([&](loop::ReduceOp sum) {
    if (sum.getMonoids() != ArrayRef{Monoid::Add})
      return;
    auto exp = sum.getYield().getValues()[0].getDefiningOp<math::ExpOp>();
    auto difference =
        exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    auto maximum = difference
                       ? difference.getRhs().getDefiningOp<loop::ReduceOp>()
                       : loop::ReduceOp();
    DenseSet<std::pair<Value, Value>> known;
    if (maximum && maximum.getMonoids() == ArrayRef{Monoid::Max} &&
        maximum.getExtent() == sum.getExtent() &&
        maximum->getBlock() == sum->getBlock() &&
        areAlike(difference.getLhs(), maximum.getYield().getValues()[0],
                 sum.getInductionVar(), maximum.getInductionVar(), known))
      ++count;
  });
  return count;
}

/// Instructions of the usual expansion of an operation.
static int64_t getCost(Operation *op) {
  if (auto running = dyn_cast<loop::RunningOp>(op)) {
    // Each element is folded in its thread and with what is before that.
    constexpr int64_t folds = 2, ofExponents = 20;
    return running.getKind() == Monoid::LogAddExp ? folds * ofExponents : folds;
  }
  if (isa<math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::FmaOp, math::AbsFOp>(op))
    return 1;
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  if (isa<arith::DivFOp, math::ExpOp>(op) &&
      math.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
    return 3; // an approximation
  if (isa<math::MathDialect>(op->getDialect()))
    return functionCost;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::RemFOp, arith::RemSIOp>(op))
    return functionCost;
  return 1;
}

/// What computes nothing but where a load reads, and whether: neighbours that
/// move at once share it.
DenseSet<Operation *> FactFinder::findIndexing() {
  DenseSet<Operation *> indexing;
  auto isIndexing = [&](OpOperand &use) {
    if (auto load = dyn_cast<loop::LoadOp>(use.getOwner()))
      return load.getOtherwise() != use.get();
    return indexing.contains(use.getOwner());
  };
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op->getNumResults() == 1 && op->getNumRegions() == 0 &&
        !isa<loop::LoadOp>(op) && !op->use_empty() &&
        llvm::all_of(op->getUses(), isIndexing))
      indexing.insert(op);
  });
  return indexing;
}

/// Instructions for each element of the inner loops (or, without them, of the
/// axes). What several loops compute from the same loads counts once.
void FactFinder::countInstructions() {
  DenseSet<Operation *> indexing = findIndexing();
  int64_t count = 0;
  std::map<std::vector<const void *>, Value> known;
  DenseMap<Value, Value> same; // the first value that equals a value
  kernel.walk([&](Operation *op) {
    bool isInner = facts.inner.empty() ||
                   llvm::any_of(innerLoops, [&](ArrayRef<Operation *> loops) {
                     return llvm::is_contained(loops, op->getParentOp());
                   });
    if (!isInner || op->getNumRegions() != 0 || isa<arith::ConstantOp>(op))
      return;
    if (op->getNumResults() != 1) {
      count += 1; // a store or the combination of a yielded value
      return;
    }
    std::vector<const void *> key = {op->getName().getAsOpaquePointer()};
    if (auto load = dyn_cast<loop::LoadOp>(op)) {
      key.push_back(load.getMemref().getAsOpaquePointer());
      key.push_back(load.getMap().getAsOpaquePointer());
      for (Value index : load.getIndices()) {
        auto dim = dimOf.find(index);
        key.push_back(dim == dimOf.end() ? nullptr
                                         : reinterpret_cast<const void *>(
                                               uintptr_t(dim->second) + 1));
      }
    } else {
      key.push_back(op->getAttrDictionary().getAsOpaquePointer());
      for (Value operand : op->getOperands())
        key.push_back(same.lookup_or(operand, operand).getAsOpaquePointer());
    }
    auto [entry, isNew] = known.insert({key, op->getResult(0)});
    same[op->getResult(0)] = entry->second;
    if (isNew)
      (indexing.contains(op) ? facts.indexInstructions : count) += getCost(op);
  });
  facts.instructions = std::max<int64_t>(count, 1);
}

ScheduleFacts FactFinder::run() {
  // What is on chip must hold the largest of the sizes that a launch may give,
  // and a launch the blocks.
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
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
  countInstructions();
  kernel.walk([&](loop::RunningOp) { ++facts.scans; });
  countLiveTiles();
  facts.mayShareRows = facts.scans == 0 && facts.inner.size() == 1 &&
                       facts.inner.front().isReduced &&
                       !sizes.isSymbolic(facts.inner.front().extent);
  return facts;
}

ScheduleFacts getScheduleFacts(loop::KernelOp kernel, int64_t alignment) {
  return FactFinder(kernel, alignment).run();
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

namespace {
struct Pins {
  SchedulePins numbers;
  /// Rows and columns of a contraction in a thread; empty if not pinned.
  SmallVector<int64_t> thread;
  std::optional<int64_t> stages, splitK;
  std::optional<AtomKind> atom;
  /// Rows and columns of a contraction in a warp; empty if not pinned.
  SmallVector<int64_t> warpTile;
  Choice stageInputs = Choice::Auto, transposeSmem = Choice::Auto,
         asyncCopy = Choice::Auto, swizzleSmem = Choice::Auto,
         padSmem = Choice::Auto, programmaticLaunch = Choice::Auto,
         tmaCopy = Choice::Auto, warpSpecialize = Choice::Auto;
};
} // namespace

static constexpr llvm::StringLiteral knobs =
    "block, warps, vector, cluster, chunk, unroll, thread, stages, split_k, "
    "atom, warp_tile, stage_inputs, transpose_smem, async_copy, swizzle_smem, "
    "pad_smem, programmatic_launch, tma_copy, warp_specialize";

static FailureOr<int64_t> parsePower(StringRef text, bool allowsZero) {
  int64_t number;
  if (text.getAsInteger(10, number) || number < 0 ||
      (number == 0 ? !allowsZero : !llvm::isPowerOf2_64(number)))
    return failure();
  return number;
}

static LogicalResult parsePin(StringRef text, Pins &pins, ModuleOp module) {
  StringRef name = text.split('=').first.trim();
  StringRef value = text.split('=').second.trim();
  auto bad = [&](StringRef expected) {
    return module.emitError() << "schedule: " << name << " is '" << value
                              << "', expected " << expected;
  };
  if (name == "block" || name == "thread" || name == "warp_tile") {
    SmallVector<StringRef> texts;
    value.split(texts, 'x');
    std::vector<int64_t> sizes;
    for (StringRef size : texts)
      if (auto number = parsePower(size, /*allowsZero=*/false);
          succeeded(number))
        sizes.push_back(*number);
    if (name == "block" && sizes.size() != texts.size())
      return bad("powers of two such as 1x64, one for each parallel axis");
    if (name != "block" && (sizes.size() != 2 || texts.size() != 2))
      return bad("two powers of two such as 8x4, rows and columns");
    if (name == "block")
      pins.numbers.block = sizes;
    else
      (name == "thread" ? pins.thread : pins.warpTile)
          .assign(sizes.begin(), sizes.end());
    return success();
  }
  auto setNumber = [&](std::optional<int64_t> &field, bool allowsZero) {
    FailureOr<int64_t> number = parsePower(value, allowsZero);
    if (failed(number))
      return LogicalResult(
          bad(allowsZero ? "0 or a power of two" : "a power of two"));
    field = *number;
    return success();
  };
  auto setChoice = [&](Choice &field) {
    std::optional<Choice> choice = symbolizeChoice(value);
    if (!choice)
      return LogicalResult(bad("auto, always or never"));
    field = *choice;
    return success();
  };
  if (name == "warps")
    return setNumber(pins.numbers.warps, /*allowsZero=*/false);
  if (name == "vector")
    return setNumber(pins.numbers.vector, /*allowsZero=*/false);
  if (name == "cluster") {
    int64_t blocks = 1;
    if (value == "auto")
      return success();
    if (value != "never" && (value.getAsInteger(10, blocks) || blocks < 1))
      return bad("auto, never or the most blocks that share a row");
    pins.numbers.cluster = blocks;
    return success();
  }
  if (name == "chunk")
    return setNumber(pins.numbers.chunk, /*allowsZero=*/true);
  if (name == "unroll")
    return setNumber(pins.numbers.unroll, /*allowsZero=*/false);
  if (name == "stages" || name == "split_k") {
    int64_t number;
    if (value.getAsInteger(10, number) || number < 1)
      return bad("a positive number");
    (name == "stages" ? pins.stages : pins.splitK) = number;
    return success();
  }
  if (name == "atom") {
    pins.atom = symbolizeAtomKind(value);
    return pins.atom ? success() : LogicalResult(bad("fma, mma_sync or wgmma"));
  }
  if (name == "stage_inputs") {
    if (failed(setChoice(pins.stageInputs)))
      return failure();
    if (pins.stageInputs == Choice::Never)
      pins.numbers.stages = false;
    return success();
  }
  if (name == "transpose_smem")
    return setChoice(pins.transposeSmem);
  if (name == "async_copy")
    return setChoice(pins.asyncCopy);
  if (name == "swizzle_smem")
    return setChoice(pins.swizzleSmem);
  if (name == "pad_smem")
    return setChoice(pins.padSmem);
  if (name == "programmatic_launch")
    return setChoice(pins.programmaticLaunch);
  if (name == "tma_copy")
    return setChoice(pins.tmaCopy);
  if (name == "warp_specialize")
    return setChoice(pins.warpSpecialize);
  return module.emitError() << "schedule: there is no knob '" << name
                            << "', expected one of " << knobs;
}

static FailureOr<Pins> parsePins(StringRef text, ModuleOp module) {
  Pins pins;
  SmallVector<StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (failed(parsePin(part, pins, module)))
      return failure();
  return pins;
}

FailureOr<int64_t> parsePinnedParts(StringRef text, ModuleOp module) {
  FailureOr<Pins> pins = parsePins(text, module);
  if (failed(pins))
    return failure();
  return pins->splitK.value_or(0);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct SelectSchedulePass : impl::SelectSchedulePassBase<SelectSchedulePass> {
  using Base::Base;

  void runOnOperation() override;
  LogicalResult select(loop::KernelOp kernel, const Pins &pins,
                       const TargetDescription &target);
  LogicalResult select(loop::Contraction contraction, const Pins &pins,
                       const TargetDescription &target);
  LogicalResult selectMma(loop::Contraction contraction, const Pins &pins,
                          const TargetDescription &target);
  template <typename Choice>
  void report(loop::Contraction contraction, const Choice &choice);

  Precision mode = Precision::IEEE;
};

} // namespace

LogicalResult SelectSchedulePass::select(loop::KernelOp kernel,
                                         const Pins &pins,
                                         const TargetDescription &target) {
  if (auto contraction = loop::findContraction(kernel))
    return select(*contraction, pins, target);
  ScheduleFacts facts = getScheduleFacts(kernel, alignment);
  std::string error;
  std::optional<ScheduleChoice> choice =
      chooseSchedule(facts, target, pins.numbers, error);
  if (!choice)
    return kernel.emitOpError("has no schedule: ") << error;
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), choice->block, choice->warps, choice->vector,
      choice->cluster, choice->chunk, choice->unroll, /*thread=*/{},
      /*stages=*/1, AtomKind::FMA, /*warpTile=*/{}, Precision::IEEE,
      pins.stageInputs, pins.transposeSmem, pins.asyncCopy, pins.swizzleSmem,
      pins.padSmem, pins.programmaticLaunch, pins.tmaCopy,
      pins.warpSpecialize));
  remark::analysis(kernel.getLoc(), remark::RemarkOpts::name("SelectSchedule")
                                        .category(DEBUG_TYPE)
                                        .function(kernel.getSymName()))
      << remark::add("{0}", choice->reason)
      << remark::metric("BytesRead", choice->bytesRead)
      << remark::metric("BytesWritten", choice->bytesWritten)
      << remark::metric("Blocks", choice->blocks)
      << remark::metric("BlocksPerMultiprocessor",
                        choice->blocksPerMultiprocessor)
      << remark::metric("Waves", llvm::formatv("{0:F2}", choice->waves).str())
      << remark::metric("Registers", choice->registersPerThread)
      << remark::metric("Nanoseconds", int64_t(choice->nanoseconds));
  return success();
}

template <typename Choice>
void SelectSchedulePass::report(loop::Contraction contraction,
                                const Choice &choice) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  loop::KernelCost cost = loop::computeCost(kernel);
  remark::analysis(kernel.getLoc(), remark::RemarkOpts::name("SelectSchedule")
                                        .category(DEBUG_TYPE)
                                        .function(kernel.getSymName()))
      << remark::add("a contraction ({0}, {1}x{2}x{3}): {4}",
                     contraction.getTransposition(), contraction.getRows(),
                     contraction.getColumns(), contraction.getDepth(),
                     choice.reason)
      << remark::metric("BytesRead", cost.bytesRead)
      << remark::metric("BytesWritten", cost.bytesWritten)
      << remark::metric("Blocks", choice.blocks)
      << remark::metric("BlocksPerMultiprocessor",
                        choice.blocksPerMultiprocessor)
      << remark::metric("Waves", llvm::formatv("{0:F2}", choice.waves).str())
      << remark::metric("Registers", choice.registersPerThread)
      << remark::metric("Nanoseconds", int64_t(choice.nanoseconds));
}

LogicalResult SelectSchedulePass::selectMma(loop::Contraction contraction,
                                            const Pins &pins,
                                            const TargetDescription &target) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  MmaPins numbers;
  if (pins.numbers.block) {
    numbers.blockRows = (*pins.numbers.block)[contraction.rowAxis];
    numbers.blockColumns = (*pins.numbers.block)[contraction.columnAxis];
  }
  if (!pins.warpTile.empty()) {
    numbers.warpRows = pins.warpTile[0];
    numbers.warpColumns = pins.warpTile[1];
  }
  numbers.warps = pins.numbers.warps.value_or(0);
  numbers.chunk = pins.numbers.chunk.value_or(0);
  numbers.stages = pins.stages.value_or(0);
  std::string error;
  auto chosen = chooseTensorCores(contraction, mode, target, alignment, numbers,
                                  pins.atom, error);
  if (!chosen)
    return kernel.emitOpError("has no schedule: ") << error;
  auto [atom, choice] = *chosen;
  SmallVector<int64_t> block(contraction.axes.size(), 1);
  block[contraction.rowAxis] = choice.blockRows;
  block[contraction.columnAxis] = choice.blockColumns;
  // The widest access: what a thread holds of a fragment is narrower.
  int64_t vector =
      pins.numbers.vector.value_or(16 / contraction.getElementBytes());
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), block, choice.warps, vector, /*cluster=*/1, choice.chunk,
      pins.numbers.unroll.value_or(4), /*thread=*/{}, choice.stages, atom,
      {choice.warpRows, choice.warpColumns}, mode, pins.stageInputs,
      pins.transposeSmem, pins.asyncCopy, pins.swizzleSmem, pins.padSmem,
      pins.programmaticLaunch, pins.tmaCopy, pins.warpSpecialize));
  report(contraction, choice);
  return success();
}

LogicalResult SelectSchedulePass::select(loop::Contraction contraction,
                                         const Pins &pins,
                                         const TargetDescription &target) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  ContractionPins numbers;
  const SchedulePins &given = pins.numbers;
  if (given.block && given.block->size() != contraction.axes.size())
    return kernel.emitOpError()
           << "has no schedule: block has " << given.block->size()
           << " sizes, the kernel has " << contraction.axes.size() << " axes";
  bool isMma = suitsMma(contraction, mode, target);
  if (pins.atom.value_or(AtomKind::FMA) != AtomKind::FMA && !isMma)
    return kernel.emitOpError("has no schedule: ")
           << "tensor cores of " << target.chip
           << " multiply no such elements; drop the atom, or choose "
              "precision=tf32 for f32";
  if (pins.atom == AtomKind::Wgmma && !suitsWgmma(contraction, target))
    return kernel.emitOpError("has no schedule: ")
           << target.chip << " multiplies no such operands by wgmma, which "
           << "takes rows of f16 or bf16 that are summed over, or are the "
              "result's, on sm_90a; drop atom=wgmma";
  // A thread's tile is of multiply-adds.
  bool isFma = pins.atom ? pins.atom == AtomKind::FMA : !pins.thread.empty();
  if (!isFma && isMma)
    return selectMma(contraction, pins, target);
  ContractionFacts facts = getContractionFacts(contraction, mode);
  if (given.block) {
    numbers.blockRows = (*given.block)[contraction.rowAxis];
    numbers.blockColumns = (*given.block)[contraction.columnAxis];
  }
  if (!pins.thread.empty()) {
    numbers.threadRows = pins.thread[0];
    numbers.threadColumns = pins.thread[1];
  }
  numbers.warps = given.warps.value_or(0);
  numbers.chunk = given.chunk.value_or(0);
  numbers.unroll = given.unroll.value_or(0);
  numbers.vector = given.vector.value_or(0);
  numbers.stages = pins.stages.value_or(0);
  std::string error;
  std::optional<ContractionChoice> choice =
      chooseContraction(facts, target, numbers, error);
  if (!choice)
    return kernel.emitOpError("has no schedule: ") << error;

  SmallVector<int64_t> block(contraction.axes.size(), 1);
  block[contraction.rowAxis] = choice->blockRows;
  block[contraction.columnAxis] = choice->blockColumns;
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), block, choice->warps, choice->vector, /*cluster=*/1,
      choice->chunk, choice->unroll,
      {choice->threadRows, choice->threadColumns}, choice->stages,
      AtomKind::FMA, /*warpTile=*/{}, mode, pins.stageInputs,
      pins.transposeSmem, pins.asyncCopy, pins.swizzleSmem, pins.padSmem,
      pins.programmaticLaunch, pins.tmaCopy, pins.warpSpecialize));
  report(contraction, *choice);
  return success();
}

void SelectSchedulePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<loop::KernelOp> kernels(module.getOps<loop::KernelOp>());
  if (kernels.empty()) {
    remark::missed(
        module.getLoc(),
        remark::RemarkOpts::name("SelectSchedule").category(DEBUG_TYPE))
        << remark::add("the module has no loop.kernel");
    return;
  }
  FailureOr<Precision> given = parsePrecision(precision, module);
  if (failed(given))
    return signalPassFailure();
  mode = *given;
  FailureOr<Pins> pins = parsePins(pin, module);
  TargetAttr target = succeeded(pins) ? TargetAttr::lookup(module) : nullptr;
  if (!target)
    return signalPassFailure();
  for (loop::KernelOp kernel : kernels)
    if (failed(select(kernel, *pins, describe(target))))
      return signalPassFailure();
}

} // namespace deplo::tile
