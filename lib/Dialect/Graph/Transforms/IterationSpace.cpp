// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Graph/Transforms/IterationSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "deplo/Analysis/AffineRanges.h"

using namespace mlir;

namespace deplo::graph {

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::optional<Read> traceRead(Value value) {
  ArrayRef<int64_t> shape = getShape(value);
  Read read{value, AffineMap::getMultiDimIdentityMap(shape.size(),
                                                     value.getContext())};
  while (auto view = read.source.getDefiningOp<IndexMapOp>()) {
    read.map = composeReads(read.map, shape, view.getMap(), getShape(view),
                            getShape(view.getInput()));
    if (!read.map)
      return std::nullopt;
    read.source = view.getInput();
  }
  read.map = simplifyInRange(read.map, shape);
  return read;
}

/// Source `k` of `gather`, through the views that lead to it: their maps
/// compose whatever they are. Views that check other ranges than the gather
/// stay.
static Read traceGathered(GatherOp gather, unsigned k) {
  Read read{gather.getSources()[k], gather.getMap(k), /*isGathered=*/true};
  ArrayRef<int64_t> shape = getShape(gather.getResult());
  while (auto view = read.source.getDefiningOp<IndexMapOp>()) {
    if (read.map.getNumSymbols() != 0)
      break;
    read.map = simplifyInRange(view.getMap().compose(read.map), shape);
    read.source = view.getInput();
  }
  return read;
}

SmallVector<Primitive::Axis> Primitive::getResultAxes() const {
  // Those summed over come last.
  if (auto contract = dyn_cast_or_null<ContractOp>(op))
    return llvm::to_vector(
        ArrayRef(axes).take_front(contract.getType().getRank()));
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  if (!reduce)
    return axes;
  SmallVector<Axis> kept;
  for (auto [index, axis] : llvm::enumerate(axes))
    if (!llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(index)))
      kept.push_back(axis);
  return kept;
}

SmallVector<Primitive::Axis> Primitive::getKeptAxes() const {
  SmallVector<Axis> kept = getResultAxes();
  if (isScan())
    kept.erase(kept.begin() + cast<ScanOp>(op).getAxis());
  return kept;
}

Primitive IterationSpace::getPrimitive(Operation *op,
                                       AxisClasses::Owner owner) {
  Primitive primitive;
  primitive.op = op;
  auto contract = dyn_cast<ContractOp>(op);
  if (contract)
    primitive.shape = contract.getIterationShape();
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    primitive.shape = llvm::to_vector(getShape(reduce.getInput()));
  else
    primitive.shape = llvm::to_vector(getShape(op->getResult(0)));
  for (int64_t extent : primitive.shape)
    primitive.axes.push_back(classes.add(extent, owner));
  auto gather = dyn_cast<GatherOp>(op);
  unsigned gathered = gather ? gather.getSources().size() : 0;
  for (unsigned k = 0; k < gathered; ++k)
    primitive.reads.push_back(traceGathered(gather, k));
  for (Value operand : op->getOperands().drop_front(gathered))
    primitive.reads.push_back(*traceRead(operand));
  if (contract)
    for (auto [number, read] : llvm::enumerate(primitive.reads)) {
      AffineMap map = number == 0 ? contract.getLhsMap() : contract.getRhsMap();
      read.map = simplifyInRange(read.map.compose(map), primitive.shape);
    }
  return primitive;
}

Primitive IterationSpace::getCopy(Read read, ArrayRef<int64_t> shape,
                                  AxisClasses::Owner owner) {
  Primitive primitive;
  primitive.shape = llvm::to_vector(shape);
  for (int64_t extent : shape)
    primitive.axes.push_back(classes.add(extent, owner));
  primitive.reads.push_back(read);
  return primitive;
}

//===----------------------------------------------------------------------===//
// Coordinates in leaves
//===----------------------------------------------------------------------===//

namespace {
/// (dimension / stride) mod extent.
struct Digit {
  unsigned dim;
  int64_t stride;
  int64_t extent;
};
} // namespace

static std::optional<Digit> getDigit(AffineExpr expr, ArrayRef<int64_t> shape) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Digit{dim.getPosition(), 1, shape[dim.getPosition()]};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto constant =
      binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : nullptr;
  if (!constant || constant.getValue() <= 0)
    return std::nullopt;
  std::optional<Digit> digit = getDigit(binary.getLHS(), shape);
  int64_t divisor = constant.getValue();
  if (!digit || digit->extent % divisor != 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return Digit{digit->dim, digit->stride * divisor, digit->extent / divisor};
  if (expr.getKind() == AffineExprKind::Mod)
    return Digit{digit->dim, digit->stride, divisor};
  return std::nullopt;
}

std::optional<LinearCoordinate>
IterationSpace::getCoordinate(const Primitive &reader, AffineExpr expr) {
  LinearCoordinate coordinate;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    coordinate.constant = constant.getValue();
    return coordinate;
  }
  if (std::optional<Digit> digit = getDigit(expr, reader.shape)) {
    auto leaves =
        classes.getDigit(reader.axes[digit->dim], digit->stride, digit->extent);
    if (!leaves)
      return std::nullopt;
    int64_t factor = 1;
    for (Axis leaf : llvm::reverse(*leaves)) {
      coordinate.add(leaf, factor);
      factor *= classes.getExtent(leaf);
    }
    return coordinate;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LinearCoordinate> lhs = getCoordinate(reader, binary.getLHS());
  std::optional<LinearCoordinate> rhs = getCoordinate(reader, binary.getRHS());
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    lhs->constant += rhs->constant;
    for (auto [leaf, factor] : rhs->terms)
      lhs->add(leaf, factor);
    return lhs;
  }
  if (expr.getKind() != AffineExprKind::Mul || !rhs->terms.empty())
    return std::nullopt;
  coordinate.constant = lhs->constant * rhs->constant;
  for (auto [leaf, factor] : lhs->terms)
    coordinate.add(leaf, factor * rhs->constant);
  return coordinate;
}

static bool isContiguous(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> rowMajor = getRowMajorStrides(shape);
  return llvm::all_of(llvm::zip_equal(shape, strides, rowMajor), [](auto dim) {
    auto [size, stride, expected] = dim;
    return size == 1 || stride == expected;
  });
}

std::optional<Coordinates>
IterationSpace::getCoordinates(const Primitive &reader, AffineMap map,
                               ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> strides) {
  Coordinates coordinates;
  SmallVector<AffineExpr> exprs(map.getResults());
  if (!llvm::all_of(exprs, dividesDimsOnly)) {
    // A reshape: linear as a whole.
    std::optional<LinearForm> position = getFlatForm(map, shape, reader.shape);
    if (!position || !isContiguous(shape, strides))
      return std::nullopt;
    exprs = {getExpr(*position, map.getContext())};
    coordinates.isFlat = true;
  }
  // A later coordinate may split a leaf of an earlier one: the second round
  // finds everything split.
  for (int round = 0; round < 2; ++round) {
    coordinates.values.clear();
    for (AffineExpr expr : exprs) {
      std::optional<LinearCoordinate> coordinate = getCoordinate(reader, expr);
      if (!coordinate)
        return std::nullopt;
      coordinates.values.push_back(*coordinate);
    }
  }
  return coordinates;
}

SmallVector<LinearCoordinate>
IterationSpace::getResultCoordinates(const Primitive &primitive) {
  SmallVector<LinearCoordinate> coordinates;
  for (Axis axis : primitive.getResultAxes()) {
    LinearCoordinate &coordinate = coordinates.emplace_back();
    int64_t factor = 1;
    SmallVector<Axis> leaves = classes.getLeaves(axis);
    for (Axis leaf : llvm::reverse(leaves)) {
      coordinate.add(leaf, factor);
      factor *= classes.getExtent(leaf);
    }
  }
  return coordinates;
}

//===----------------------------------------------------------------------===//
// Shared loops
//===----------------------------------------------------------------------===//

/// The leaves that `coordinate` counts through, outermost first; none if it
/// does not reach each of `extent` elements exactly once.
static std::optional<SmallVector<AxisClasses::Axis>>
getCounter(LinearCoordinate coordinate, int64_t extent,
           const AxisClasses &classes) {
  if (coordinate.constant != 0)
    return std::nullopt;
  llvm::sort(coordinate.terms,
             [](auto a, auto b) { return a.second > b.second; });
  SmallVector<AxisClasses::Axis> leaves;
  int64_t expected = 1;
  for (auto [leaf, factor] : llvm::reverse(coordinate.terms)) {
    if (factor != expected)
      return std::nullopt;
    expected *= classes.getExtent(leaf);
    leaves.push_back(leaf);
  }
  if (expected != extent)
    return std::nullopt;
  std::reverse(leaves.begin(), leaves.end());
  return leaves;
}

bool IterationSpace::unify(const Primitive &reader, AffineMap map,
                           const Primitive &source) {
  SmallVector<Axis> sourceAxes = source.getResultAxes();
  SmallVector<int64_t> shape, extents;
  for (Axis axis : sourceAxes)
    extents.push_back(classes.getExtent(axis));
  std::optional<Coordinates> coordinates =
      getCoordinates(reader, map, extents, getRowMajorStrides(extents));
  if (!coordinates)
    return false;
  if (coordinates->isFlat) {
    int64_t size = 1;
    for (int64_t extent : extents)
      size *= extent;
    auto leaves = getCounter(coordinates->values.front(), size, classes);
    return leaves && classes.unify(sourceAxes, *leaves);
  }
  for (auto [axis, extent, coordinate] :
       llvm::zip_equal(sourceAxes, extents, coordinates->values)) {
    auto leaves = getCounter(coordinate, extent, classes);
    if (!leaves || !classes.unify(axis, *leaves))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Parts that do not read from each other
//===----------------------------------------------------------------------===//

/// Makes two lists of axes the same loops, unless an item would then be read
/// along a diagonal.
bool IterationSpace::tryJoin(ArrayRef<Axis> axes, ArrayRef<Axis> others,
                             ArrayRef<const Primitive *> items) {
  size_t checkpoint = classes.getCheckpoint();
  bool isJoined = classes.unify(axes, others) &&
                  llvm::all_of(items, [&](const Primitive *item) {
                    return hasDistinctLoops(*item);
                  });
  if (!isJoined)
    classes.rollBack(checkpoint);
  return isJoined;
}

static SmallVector<int64_t> getResultShape(const Primitive &primitive) {
  return primitive.isReduction()
             ? llvm::to_vector(getShape(primitive.op->getResult(0)))
             : llvm::to_vector(primitive.shape);
}

/// Reductions alike share all loops, others those of their results.
bool IterationSpace::joinResults(const Primitive &a, const Primitive &b,
                                 ArrayRef<const Primitive *> items) {
  auto first = dyn_cast_or_null<ReduceOp>(a.op);
  auto second = dyn_cast_or_null<ReduceOp>(b.op);
  if (first && second && a.shape == b.shape &&
      first.getAxes() == second.getAxes())
    return tryJoin(a.axes, b.axes, items);
  return getResultShape(a) == getResultShape(b) &&
         tryJoin(a.getResultAxes(), b.getResultAxes(), items);
}

void IterationSpace::joinParts(ArrayRef<const Primitive *> items,
                               ArrayRef<unsigned> outputs,
                               llvm::IntEqClasses &parts) {
  auto areApart = [&](unsigned a, unsigned b) {
    return parts.findLeader(a) != parts.findLeader(b);
  };
  using Key = std::tuple<const void *, const void *, ArrayRef<int64_t>>;
  llvm::DenseMap<Key, SmallVector<unsigned, 1>> readers;
  for (unsigned index = 0; index < items.size(); ++index)
    for (const Read &read : items[index]->reads) {
      if (read.source.getDefiningOp<ConstantOp>())
        continue;
      SmallVector<unsigned, 1> &others =
          readers[{read.source.getAsOpaquePointer(),
                   read.map.getAsOpaquePointer(), items[index]->shape}];
      for (unsigned other : others)
        if (areApart(index, other) &&
            tryJoin(items[index]->axes, items[other]->axes, items))
          parts.join(index, other);
      if (llvm::all_of(others,
                       [&](unsigned other) { return areApart(index, other); }))
        others.push_back(index);
    }
  for (auto [number, output] : llvm::enumerate(outputs))
    for (unsigned other : outputs.take_front(number))
      if (areApart(output, other) &&
          joinResults(*items[output], *items[other], items))
        parts.join(output, other);
}

bool IterationSpace::hasDistinctLoops(const Primitive &primitive) const {
  SmallVector<Axis> leaves = classes.getLeaves(primitive.axes);
  llvm::sort(leaves);
  return std::adjacent_find(leaves.begin(), leaves.end()) == leaves.end();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

std::optional<BufferView> getBoxView(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> strides,
                                     const Coordinates &coordinates,
                                     const LoopNest &nest) {
  if (!coordinates.isFlat)
    return deplo::getBoxView(shape, strides, coordinates.values, nest);
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  std::optional<BufferView> view =
      deplo::getBoxView(size, 1, coordinates.values, nest);
  if (view)
    view->merged.assign(
        1, llvm::to_vector<2>(llvm::seq<int64_t>(0, shape.size())));
  return view;
}

bool isBoxInLeaves(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                   const Coordinates &coordinates, const AxisClasses &classes) {
  // Number the leaves.
  SmallVector<int64_t> extents;
  SmallVector<SmallVector<unsigned>> loops;
  llvm::SmallDenseMap<unsigned, unsigned> numbers;
  Coordinates numbered = coordinates;
  for (LinearCoordinate &coordinate : numbered.values)
    for (auto &[leaf, factor] : coordinate.terms) {
      auto [position, isNew] = numbers.try_emplace(leaf, extents.size());
      if (isNew) {
        loops.push_back({static_cast<unsigned>(extents.size())});
        extents.push_back(classes.getExtent(leaf));
      }
      leaf = position->second;
    }
  return getBoxView(shape, strides, numbered, {extents, loops}).has_value();
}

bool isWidening(Operation *op) {
  auto map = dyn_cast_or_null<MapOp>(op);
  if (!map || map.getInputs().size() != 1)
    return false;
  auto body = map.getBody()->without_terminator();
  return llvm::hasSingleElement(body) &&
         isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(*body.begin());
}

} // namespace deplo::graph
