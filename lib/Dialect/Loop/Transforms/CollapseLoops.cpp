// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges loops over adjacent, contiguous dimensions.
//
//   loop.for %i = 0 to 4 {                  loop.for %i = 0 to 32 {
//     loop.for %j = 0 to 8 {                  %a = loop.load %x[%i]
//       %a = loop.load %x[%i, %j]             loop.store %a, %y[%i]
//       loop.store %a, %y[%i, %j]           }
//     }
//   }
//
// Legality. Iteration (i, j) of the pair is iteration i * 8 + j of the merged
// loop, and element (i, j) of a memref whose row stride is 8 times its column
// stride is element i * 8 + j of the merged dimension. So an access [.., i, j,
// ..] stays the same access. Parallel iterations have no order, and the order
// of a reduction is unspecified, so visiting them in one loop is a valid
// execution. A pair of memref dimensions merges only if every access to that
// memref in the kernel indexes it by such a pair of loops, or by constants: the
// pairs of loops and of dimensions that depend on each other are found first,
// and merged all or not at all.

#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/Loop/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace deplo::loop {
#define GEN_PASS_DEF_COLLAPSELOOPSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

#define DEBUG_TYPE "deplo-collapse-loops"

using namespace mlir;
using namespace deplo::loop;

namespace {

/// Which dimensions of the memref that the kernel was given make up each
/// dimension of the one that it has now.
using Groups = SmallVector<ReassociationIndices>;

/// `inner` is all that is in `outer`.
struct LoopPair {
  Operation *outer, *inner;
  bool operator==(const LoopPair &other) const {
    return outer == other.outer && inner == other.inner;
  }
};

/// Dimensions `dim` and `dim + 1` of a kernel argument.
struct DimPair {
  BlockArgument memref;
  unsigned dim;
  bool operator==(const DimPair &other) const {
    return memref == other.memref && dim == other.dim;
  }
};

/// A load or store.
class Access {
public:
  explicit Access(Operation *op) : op(op) {}

  AffineMap getMap() const {
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getMap();
    return cast<StoreOp>(op).getMap();
  }

  OperandRange getIndices() const {
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getIndices();
    return cast<StoreOp>(op).getIndices();
  }

  BlockArgument getMemref() const {
    if (auto load = dyn_cast<LoadOp>(op))
      return cast<BlockArgument>(load.getMemref());
    return cast<BlockArgument>(cast<StoreOp>(op).getMemref());
  }

  AffineExpr getCoordinate(unsigned dim) const {
    return getMap().getResult(dim);
  }

  /// Sets the map and drops the indices that it does not use.
  void setMap(AffineMap map) const {
    SmallVector<Value> used;
    for (auto [position, index] : llvm::enumerate(getIndices()))
      if (map.isFunctionOfDim(position))
        used.push_back(index);
    map = compressUnusedDims(map);
    if (auto load = dyn_cast<LoadOp>(op)) {
      load.setMap(map);
      load.getIndicesMutable().assign(used);
    } else {
      auto store = cast<StoreOp>(op);
      store.setMap(map);
      store.getIndicesMutable().assign(used);
    }
  }

  bool dependsOn(AffineExpr expr, Value variable) const {
    for (auto [position, index] : llvm::enumerate(getIndices()))
      if (index == variable && expr.isFunctionOfDim(position))
        return true;
    return false;
  }

  /// `expr` with 0 for `variable`.
  AffineExpr without(AffineExpr expr, Value variable) const {
    AffineExpr zero = getAffineConstantExpr(0, op->getContext());
    for (auto [position, index] : llvm::enumerate(getIndices()))
      if (index == variable)
        expr = expr.replace(getAffineDimExpr(position, op->getContext()), zero);
    return expr;
  }

  /// `variable` as an expression, if it is an index.
  AffineExpr getExpr(Value variable) const {
    for (auto [position, index] : llvm::enumerate(getIndices()))
      if (index == variable)
        return getAffineDimExpr(position, op->getContext());
    return {};
  }

private:
  Operation *op;
};

} // namespace

static Value getInductionVar(Operation *loop) {
  return loop->getRegion(0).getArgument(0);
}

static int64_t getExtent(Operation *loop) { return *getLoopExtent(loop); }

/// The pair that `outer` forms with the only loop in it.
static std::optional<LoopPair> getPair(Operation *outer) {
  if (auto loop = dyn_cast_or_null<ForOp>(outer)) {
    Block *body = loop.getBody();
    if (llvm::hasSingleElement(*body) && isa<ForOp>(body->front()))
      return LoopPair{outer, &body->front()};
    return std::nullopt;
  }
  auto reduce = dyn_cast_or_null<ReduceOp>(outer);
  if (!reduce || reduce.getBody()->getOperations().size() != 2)
    return std::nullopt;
  auto inner = dyn_cast<ReduceOp>(reduce.getBody()->front());
  if (!inner || inner.getKinds() != reduce.getKinds() ||
      !llvm::equal(reduce.getYield().getValues(), inner.getResults()))
    return std::nullopt;
  return LoopPair{outer, inner};
}

namespace {

/// Loops and memref dimensions that have to merge together.
class MergeSet {
public:
  /// The smallest set with `seed` in it, or none if it can't merge.
  static std::optional<MergeSet> find(LoopPair seed) {
    MergeSet set;
    if (failed(set.add(seed)))
      return std::nullopt;
    return set;
  }

  void merge(llvm::DenseMap<Value, Groups> &groups) const;
  size_t getNumPairs() const { return pairs.size(); }

private:
  LogicalResult add(LoopPair pair);
  LogicalResult add(DimPair pair);
  LogicalResult addCoordinates(Access access, LoopPair pair);
  void mergeCoordinates(Access access, unsigned dim, int64_t innerSize) const;

  SmallVector<LoopPair> pairs;
  SmallVector<DimPair> dims;
};

} // namespace

/// All that uses the variables of `pair` must use them as adjacent coordinates.
LogicalResult MergeSet::add(LoopPair pair) {
  if (llvm::is_contained(pairs, pair))
    return success();
  for (LoopPair other : pairs)
    if (other.outer == pair.inner || other.inner == pair.outer)
      return failure();
  pairs.push_back(pair);
  for (Operation *loop : {pair.outer, pair.inner})
    for (OpOperand &use : getInductionVar(loop).getUses()) {
      Operation *user = use.getOwner();
      auto store = dyn_cast<StoreOp>(user);
      if (!isa<LoadOp, StoreOp>(user) ||
          (store && store.getValue() == use.get()) ||
          failed(addCoordinates(Access(user), pair)))
        return failure();
    }
  return success();
}

LogicalResult MergeSet::addCoordinates(Access access, LoopPair pair) {
  Value outer = getInductionVar(pair.outer),
        inner = getInductionVar(pair.inner);
  std::optional<unsigned> dim;
  for (auto [position, expr] : llvm::enumerate(access.getMap().getResults()))
    if (access.dependsOn(expr, outer)) {
      if (dim)
        return failure();
      dim = position;
    }
  if (!dim || *dim + 1 >= access.getMap().getNumResults())
    return failure();
  // The outer coordinate is the variable, perhaps shifted by something else.
  AffineExpr coordinate = access.getCoordinate(*dim);
  AffineExpr shift = access.without(coordinate, outer);
  if (simplifyAffineExpr(coordinate - shift, access.getMap().getNumDims(), 0) !=
          access.getExpr(outer) ||
      access.dependsOn(shift, inner))
    return failure();
  // The inner one is the variable alone, and nothing else depends on it.
  for (auto [position, expr] : llvm::enumerate(access.getMap().getResults()))
    if (position == *dim + 1 ? expr != access.getExpr(inner)
                             : access.dependsOn(expr, inner))
      return failure();
  auto type = cast<MemRefType>(access.getMemref().getType());
  if (type.getDimSize(*dim + 1) != getExtent(pair.inner))
    return failure();
  return add(DimPair{access.getMemref(), *dim});
}

/// The dimensions must lie one after the other in memory, and every access must
/// index them by loops that merge or by constants.
LogicalResult MergeSet::add(DimPair pair) {
  if (llvm::is_contained(dims, pair))
    return success();
  for (DimPair other : dims)
    if (other.memref == pair.memref &&
        (other.dim == pair.dim + 1 || other.dim + 1 == pair.dim))
      return failure();
  dims.push_back(pair);
  auto type = cast<MemRefType>(pair.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[pair.dim]) ||
      strides[pair.dim] !=
          type.getDimSize(pair.dim + 1) * strides[pair.dim + 1])
    return failure();
  for (Operation *user : pair.memref.getUsers()) {
    Access access(user);
    AffineExpr outer = access.getCoordinate(pair.dim);
    AffineExpr inner = access.getCoordinate(pair.dim + 1);
    if (isa<AffineConstantExpr>(outer) && isa<AffineConstantExpr>(inner))
      continue;
    auto variable = dyn_cast<AffineDimExpr>(inner);
    if (!variable)
      return failure();
    auto argument =
        dyn_cast<BlockArgument>(access.getIndices()[variable.getPosition()]);
    if (!argument)
      return failure();
    Operation *loop = argument.getOwner()->getParentOp();
    std::optional<LoopPair> loops = getPair(loop->getParentOp());
    if (!loops || loops->inner != loop ||
        !access.dependsOn(outer, getInductionVar(loops->outer)) ||
        failed(add(*loops)))
      return failure();
  }
  return success();
}

/// (outer + shift) * size + inner is merged + shift * size: the inner variable
/// becomes the merged one and the outer one goes.
void MergeSet::mergeCoordinates(Access access, unsigned dim,
                                int64_t innerSize) const {
  AffineMap map = access.getMap();
  AffineExpr outer = map.getResult(dim);
  for (LoopPair pair : pairs)
    outer = access.without(outer, getInductionVar(pair.outer));
  SmallVector<AffineExpr> exprs(map.getResults());
  exprs[dim] = simplifyAffineExpr(outer * innerSize + map.getResult(dim + 1),
                                  map.getNumDims(), 0);
  exprs.erase(exprs.begin() + dim + 1);
  access.setMap(AffineMap::get(map.getNumDims(), 0, exprs, map.getContext()));
}

void MergeSet::merge(llvm::DenseMap<Value, Groups> &groups) const {
  for (DimPair pair : dims) {
    auto type = cast<MemRefType>(pair.memref.getType());
    for (Operation *user : pair.memref.getUsers())
      mergeCoordinates(Access(user), pair.dim, type.getDimSize(pair.dim + 1));
    Groups pairGroups;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (dim == pair.dim + 1)
        pairGroups.back().push_back(dim);
      else
        pairGroups.push_back({dim});
    }
    pair.memref.setType(
        memref::CollapseShapeOp::computeCollapsedType(type, pairGroups));
    Groups &all = groups[pair.memref];
    all[pair.dim].append(all[pair.dim + 1]);
    all.erase(all.begin() + pair.dim + 1);
  }
  for (LoopPair pair : pairs) {
    int64_t extent = getExtent(pair.outer) * getExtent(pair.inner);
    pair.inner->moveBefore(pair.outer);
    if (auto loop = dyn_cast<ForOp>(pair.inner))
      loop.setExtent(extent);
    else
      cast<ReduceOp>(pair.inner).setExtent(extent);
    pair.outer->replaceAllUsesWith(pair.inner->getResults());
    pair.outer->erase();
  }
}

/// Attaches each dimension of size 1 to a neighbour. A memref of nothing else
/// becomes one of rank 0.
static unsigned dropUnitDims(BlockArgument memref, Groups &groups) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<bool> isUnit;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    isUnit.push_back(size == 1);
    for (Operation *user : memref.getUsers())
      isUnit.back() &= Access(user).getCoordinate(dim) ==
                       getAffineConstantExpr(0, memref.getContext());
  }
  unsigned count = llvm::count(isUnit, true);
  if (count == 0)
    return 0;
  Groups dropped;
  ReassociationIndices leading;
  for (auto [dim, unit] : llvm::enumerate(isUnit)) {
    if (!unit) {
      dropped.push_back(leading);
      dropped.back().push_back(dim);
      leading.clear();
    } else if (!dropped.empty()) {
      dropped.back().push_back(dim);
    } else {
      leading.push_back(dim);
    }
  }
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, dropped))
    return 0;
  for (Operation *user : memref.getUsers()) {
    Access access(user);
    AffineMap map = access.getMap();
    SmallVector<AffineExpr> exprs;
    for (auto [dim, unit] : llvm::enumerate(isUnit))
      if (!unit)
        exprs.push_back(map.getResult(dim));
    access.setMap(AffineMap::get(map.getNumDims(), 0, exprs, map.getContext()));
  }
  memref.setType(memref::CollapseShapeOp::computeCollapsedType(type, dropped));
  groups = dropped;
  return count;
}

/// Merges one set of loops, if there is one to merge.
static unsigned mergeOnce(KernelOp kernel,
                          llvm::DenseMap<Value, Groups> &groups) {
  std::optional<MergeSet> set;
  kernel.walk([&](Operation *op) {
    if (std::optional<LoopPair> pair = getPair(op))
      set = MergeSet::find(*pair);
    return set ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!set)
    return 0;
  set->merge(groups);
  return set->getNumPairs();
}

CollapseCounts deplo::loop::collapseLoops(KernelOp kernel,
                                          ArrayRef<LaunchOp> launches) {
  CollapseCounts counts;
  llvm::DenseMap<Value, Groups> groups;
  for (BlockArgument argument : kernel.getArguments()) {
    Groups &own = groups[argument];
    for (int64_t dim = 0; dim < cast<MemRefType>(argument.getType()).getRank();
         ++dim)
      own.push_back({dim});
    counts.unitDimensions += dropUnitDims(argument, own);
  }
  while (unsigned merged = mergeOnce(kernel, groups))
    counts.loops += merged;
  for (LaunchOp launch : launches) {
    OpBuilder builder(launch);
    for (auto [argument, buffer] :
         llvm::zip_equal(kernel.getArguments(), launch.getBuffersMutable()))
      if (argument.getType() != buffer.get().getType())
        buffer.set(memref::CollapseShapeOp::create(
            builder, launch.getLoc(), buffer.get(), groups[argument]));
  }
  return counts;
}

namespace {

struct CollapseLoopsPass
    : deplo::loop::impl::CollapseLoopsPassBase<CollapseLoopsPass> {
  void runOnOperation() override {
    llvm::StringMap<SmallVector<LaunchOp>> launches;
    getOperation().walk([&](LaunchOp launch) {
      launches[launch.getKernel()].push_back(launch);
    });
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      CollapseCounts counts =
          collapseLoops(kernel, launches[kernel.getSymName()]);
      remark::RemarkOpts options = remark::RemarkOpts::name("collapse")
                                       .category(DEBUG_TYPE)
                                       .function(kernel.getSymName());
      if (counts.loops == 0 && counts.unitDimensions == 0)
        remark::missed(kernel.getLoc(), options)
            << "no two adjacent loops index adjacent, contiguous dimensions of "
               "every memref they access";
      else
        remark::passed(kernel.getLoc(), options)
            << llvm::formatv("pairs of loops merged: {0}; unit dimensions "
                             "dropped: {1}",
                             counts.loops, counts.unitDimensions)
                   .str();
    }
  }
};

} // namespace
