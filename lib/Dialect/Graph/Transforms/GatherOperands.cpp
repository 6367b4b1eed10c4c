// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gather of what a map computes gathers what the map reads, and one of what
// another gathers reads the sources of that one (ComposeGathers.cpp).
//
//   %n = graph.map (%a = %x) { arith.negf, graph.yield }
//   %c = graph.gather %n by #m where #g, %z by #m2 where #g2
//
// becomes
//
//   %p = graph.gather %true by #m where #g          is it a part of %n?
//   %x1 = graph.gather %x by #m where #g
//   %z1 = graph.gather %z by #m2 where #g2
//   %c = graph.map (%q = %p, %a = %x1, %b = %z1) { arith.negf, arith.select }
//
// Legality. A map computes each element from the elements of its operands at
// the same coordinates, by a function without effects, so gathering before or
// after it is the same. It must not use coordinates as numbers, which are
// others after the gather. Where %p is false the function's value is not used.

#include "ComposeGathers.h"
#include "FusionGroups.h"

#include "deplo/Analysis/FusionCost.h"
#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-gather-operands"

using namespace mlir;

namespace deplo::graph {

#define GEN_PASS_DEF_GATHEROPERANDSPASS
#include "deplo/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

/// Sources of a gather with their maps and guards.
struct Pieces {
  SmallVector<Value> sources;
  SmallVector<AffineMap> maps, guards;

  void add(GatherOp gather, unsigned k, Value source) {
    sources.push_back(source);
    maps.push_back(gather.getMap(k));
    guards.push_back(gather.getGuard(k));
  }
  Value build(RewriterBase &rewriter, GatherOp gather, TypedAttr fill) const {
    RankedTensorType type = RankedTensorType::get(
        gather.getType().getShape(), getElementTypeOrSelf(sources.front()));
    return rewriter.createOrFold<GatherOp>(gather.getLoc(), type, sources,
                                           gather.getIndices(), maps, guards,
                                           fill);
  }
};

} // namespace

static bool isPart(Value source, MapOp map) {
  return source == map.getResult();
}

/// Whether a source of `gather` that holds is always one of `map`, so that the
/// result is always the function of what is gathered.
static bool isAlwaysPart(GatherOp gather, MapOp map) {
  if (!gather.getIndices().empty())
    return false;
  for (unsigned k = 0; k < gather.getSources().size(); ++k) {
    if (!isPart(gather.getSources()[k], map))
      return false;
    if (gather.getGuard(k).getNumResults() == 0)
      return true;
  }
  return false;
}

/// True where the first source that holds is a part of `map`.
static Value buildIsPart(RewriterBase &rewriter, GatherOp gather, MapOp map) {
  Pieces pieces;
  for (unsigned k = 0; k < gather.getSources().size(); ++k) {
    Value source = gather.getSources()[k];
    auto type = RankedTensorType::get(
        cast<RankedTensorType>(source.getType()).getShape(),
        rewriter.getI1Type());
    pieces.add(
        gather, k,
        ConstantOp::create(rewriter, gather.getLoc(),
                           DenseElementsAttr::get(type, isPart(source, map))));
  }
  return pieces.build(rewriter, gather, rewriter.getBoolAttr(false));
}

/// What is gathered where it is no part of `map`: null if that is nowhere.
static Value buildOthers(RewriterBase &rewriter, GatherOp gather, MapOp map) {
  Pieces pieces;
  for (unsigned k = 0; k < gather.getSources().size(); ++k)
    if (!isPart(gather.getSources()[k], map))
      pieces.add(gather, k, gather.getSources()[k]);
  if (!pieces.sources.empty())
    return pieces.build(rewriter, gather, gather.getFillOrZero());
  return ConstantOp::create(
      rewriter, gather.getLoc(),
      DenseElementsAttr::get(gather.getType(),
                             Attribute(gather.getFillOrZero())));
}

/// `input`, a view that repeats elements along the axes that indices choose
/// from, at what is gathered: indices don't matter to it. Null if it is none.
/// Where an index is out of range the value is not used.
static Value readWithoutIndices(RewriterBase &rewriter, GatherOp gather,
                                Value input) {
  auto view = input.getDefiningOp<IndexMapOp>();
  if (!view || gather.getSources().size() != 1 ||
      gather.getGuard(0).getNumResults() != 0)
    return {};
  AffineMap map = view.getMap().compose(gather.getMap(0));
  for (unsigned s = 0; s < map.getNumSymbols(); ++s)
    if (map.isFunctionOfSymbol(s))
      return {};
  map = AffineMap::get(map.getNumDims(), 0, map.getResults(),
                       rewriter.getContext());
  auto type = RankedTensorType::get(gather.getType().getShape(),
                                    getElementTypeOrSelf(input));
  return rewriter.createOrFold<IndexMapOp>(gather.getLoc(), type,
                                           view.getInput(), map);
}

static void gatherOperands(RewriterBase &rewriter, GatherOp gather, MapOp map) {
  rewriter.setInsertionPoint(gather);
  SmallVector<Value> operands;
  for (Value input : map.getInputs()) {
    if (Value value = readWithoutIndices(rewriter, gather, input)) {
      operands.push_back(value);
      continue;
    }
    Pieces pieces;
    for (unsigned k = 0; k < gather.getSources().size(); ++k)
      if (isPart(gather.getSources()[k], map))
        pieces.add(gather, k, input);
    operands.push_back(pieces.build(rewriter, gather, {}));
  }
  bool isAlways = isAlwaysPart(gather, map);
  if (!isAlways) {
    operands.push_back(buildIsPart(rewriter, gather, map));
    operands.push_back(buildOthers(rewriter, gather, map));
  }
  auto body = [&](OpBuilder &builder, Location loc, ValueRange elements) {
    IRMapping mapping;
    for (auto [argument, element] :
         llvm::zip(map.getBody()->getArguments(), elements))
      mapping.map(argument, element);
    for (Operation &op : map.getBody()->without_terminator())
      builder.clone(op, mapping);
    Value value = mapping.lookupOrDefault(map.getYielded());
    if (isAlways)
      return value;
    return arith::SelectOp::create(builder, loc, elements[elements.size() - 2],
                                   value, elements.back())
        .getResult();
  };
  auto result =
      MapOp::create(rewriter, map.getLoc(), gather.getType(), operands, body);
  rewriter.replaceOp(gather, result);
  if (map->use_empty())
    rewriter.eraseOp(map);
}

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

static Value skipViews(Value value) {
  while (auto view = value.getDefiningOp<IndexMapOp>())
    value = view.getInput();
  return value;
}

/// Whether `op` can be computed on what `gather`, which reads it, gathers.
static bool canMove(GatherOp gather, Operation *op) {
  if (auto inner = dyn_cast<GatherOp>(op))
    return canCompose(gather, inner);
  auto map = dyn_cast<MapOp>(op);
  return map && !map.getInputs().empty() &&
         map.getBody()->getOps<IndexOp>().empty() &&
         gather.getType().hasStaticShape() && map.getType().hasStaticShape();
}

/// Operations for one element of a map or gather.
static double getOperations(Operation *op) {
  double operations = 0;
  if (auto map = dyn_cast<MapOp>(op))
    for (Operation &scalar : map.getBody()->without_terminator())
      operations += getOperationCost(scalar.getName().getStringRef());
  if (auto gather = dyn_cast<GatherOp>(op))
    for (unsigned k = 0; k < gather.getSources().size(); ++k)
      operations += 1 + gather.getGuard(k).getNumResults();
  return operations;
}

namespace {
/// Chooses what is computed on what a gather reads.
class Choice {
public:
  Choice(func::FuncOp function, const MachineModel &machine)
      : machine(machine), sizes(SymbolicSizes::get(function)) {}

  /// A source of `gather` to compute later; null if there is none.
  Operation *find(GatherOp gather) const;

private:
  bool pays(GatherOp gather, Operation *source) const;
  int64_t getElements(Operation *op) const {
    return sizes.getMax(
        cast<RankedTensorType>(op->getResult(0).getType()).getNumElements());
  }

  MachineModel machine;
  SymbolicSizes sizes;
};
} // namespace

/// Whether a kernel for `source` and what leads to it, which only `gather`
/// reads, takes longer than to compute all of that again where elements are
/// gathered several times.
bool Choice::pays(GatherOp gather, Operation *source) const {
  double operations = 0;
  SetVector<Operation *> moved;
  moved.insert(source);
  for (unsigned i = 0; i < moved.size(); ++i) {
    operations += getOperations(moved[i]);
    if (isa<GatherOp>(moved[i]))
      continue; // reads memory
    for (Value input : moved[i]->getOperands()) {
      Operation *def = skipViews(input).getDefiningOp();
      if (!def || isa<ConstantOp>(def))
        continue;
      // Else a kernel is left that could have computed `source` on the way.
      if (!canMove(gather, def) || !def->hasOneUse())
        return false;
      moved.insert(def);
    }
  }
  double again = double(getElements(gather)) - double(getElements(source));
  double elementBytes = llvm::divideCeil(
      getElementTypeOrSelf(source->getResult(0)).getIntOrFloatBitWidth(), 8);
  // It would be written and read.
  double stored = machine.getLeastSeconds() + 2 * elementBytes *
                                                  getElements(source) /
                                                  machine.bytesPerSecond;
  return again * operations / machine.operationsPerSecond <= stored;
}

Operation *Choice::find(GatherOp gather) const {
  for (Value value : gather.getSources()) {
    Operation *source = value.getDefiningOp();
    if (!source || !canMove(gather, source))
      continue;
    // Not computed much more often than before, unless it pays; if others read
    // it as well, so that it is computed anyway, then for few elements.
    constexpr int64_t maxRepetition = 2, fewOf = 8;
    int64_t gathered = getElements(gather), computed = getElements(source);
    bool isAlone = llvm::all_of(
        source->getUsers(), [&](Operation *user) { return user == gather; });
    if (isAlone ? gathered <= maxRepetition * computed || pays(gather, source)
                : isa<MapOp>(source) && gathered <= computed / fewOf)
      return source;
  }
  return nullptr;
}

namespace {
struct GatherOperandsPass : impl::GatherOperandsPassBase<GatherOperandsPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    auto target = tile::TargetAttr::lookup(getOperation());
    if (!target)
      return signalPassFailure();
    Choice choice(getOperation(), getMachineModel(target));
    IRRewriter rewriter(&getContext());
    // A gather that takes the place of another may read a map as well.
    unsigned moved = 0;
    bool hasChanged = true;
    while (hasChanged) {
      hasChanged = false;
      for (GatherOp gather :
           llvm::make_early_inc_range(getOperation().getOps<GatherOp>()))
        if (Operation *source = choice.find(gather)) {
          if (auto inner = dyn_cast<GatherOp>(source))
            composeGathers(rewriter, gather, inner);
          else
            gatherOperands(rewriter, gather, cast<MapOp>(source));
          ++moved;
          hasChanged = true;
          break;
        }
    }
    auto options = remark::RemarkOpts::name("GatherOperands")
                       .category(DEBUG_TYPE)
                       .function(getOperation().getName());
    if (moved == 0)
      remark::missed(getOperation().getLoc(), options)
          << "no gather reads what only it needs of a map or gather";
    else
      remark::passed(getOperation().getLoc(), options) << remark::add(
          "{0} maps or gathers are computed on what is gathered", moved);
  }
};
} // namespace

} // namespace deplo::graph
