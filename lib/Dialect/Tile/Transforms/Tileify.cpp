// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a loop nest into a tile program.
//
//   loop.for %i = 0 to 32 {                            axes(%i = 32 tile)
//     %s = loop.reduce add %k = 0 to 2048 : f32 {      %s = loop.reduce add %k
//     = 0 to 2048 : tensor<32xf32> {
//       %a = loop.load %x[%i, %k]                  ->    %a = tile.load %x[%i,
//       %k] dims [0] : tensor<32xf32> loop.yield %a loop.yield %a :
//       tensor<32xf32>
//     }                                                }
//     loop.store %s, %y[%i]                            tile.store %s, %y[%i] :
//     tensor<32xf32>
//   }
//
// Legality. Iterations of loop.for are independent, so all of them can run at
// once: a scalar of the body becomes a tile with one dimension for each loop
// that it depends on, and a loop that does not matter to it costs nothing. No
// two iterations store to one element (the loop dialect verifies it).
// An access is a box if each of its coordinates depends on at most one loop,
// linearly, and no loop appears in two. Loads that are none, or are under a
// condition, become tile.gather, with offsets computed as tiles of integers; a
// store must be a box.

#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/AffineArithmetic.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "deplo-tileify"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_TILEIFYPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

SmallVector<loop::ForOp> getAxisLoops(loop::KernelOp kernel) {
  SmallVector<loop::ForOp> loops;
  Block *block = kernel.getBody();
  while (block) {
    loop::ForOp only;
    for (Operation &op : *block) {
      auto loop = dyn_cast<loop::ForOp>(op);
      if (isa<loop::StoreOp, loop::ReduceOp, loop::ScanOp>(op) ||
          (loop && only))
        return loops;
      if (loop)
        only = loop;
    }
    if (!only)
      return loops;
    loops.push_back(only);
    block = only.getBody();
  }
  return loops;
}

namespace {

/// A value of the loop nest as a tile, or as the scalar that it was if it
/// depends on nothing.
struct TileValue {
  Value value;
  /// The numbers of the parallel loops that it depends on, ascending.
  SmallVector<unsigned> dims;

  bool isScalar() const { return !isa<RankedTensorType>(value.getType()); }
};

/// `scale * variable + offset`, where the variable is a loop's.
struct Coordinate {
  Value variable;
  int64_t scale = 0;
  int64_t offset = 0;
};

/// What an induction variable is in the tile program.
struct LoopVariable {
  /// The number of a parallel loop. Reduction loops have none.
  std::optional<unsigned> dim;
  /// The index where the loop starts; null for 0.
  Value index;
};

class Tileifier {
public:
  explicit Tileifier(loop::KernelOp source)
      : source(source), builder(source), sizes(SymbolicSizes::get(source)) {}

  FailureOr<KernelOp> run();

  /// A loop's variable, an index of the kernel or a constant, as integers.
  TileValue getNumber(Location loc, Value index, Type type);
  /// The value over (at least its own and) `dims`.
  Value spread(Location loc, const TileValue &value, ArrayRef<unsigned> dims);

  OpBuilder &getBuilder() { return builder; }
  const SymbolicSizes &getSizes() const { return sizes; }

private:
  void createKernel(ArrayRef<loop::ForOp> axisLoops);
  LogicalResult convertBlock(Block &block);
  LogicalResult convert(Operation *op);
  LogicalResult convertLoop(Operation *loop);
  void convertRunning(loop::RunningOp running);
  LogicalResult convertReduce(loop::ReduceOp reduce);
  LogicalResult convertFold(loop::ReduceOp reduce);
  LogicalResult convertLoad(loop::LoadOp load);
  LogicalResult convertStore(loop::StoreOp store);
  LogicalResult convertGather(loop::LoadOp load);
  /// Bounds for a conditional load, one for each of `loops`, if masking what is
  /// outside of the memref does instead of the condition.
  std::optional<SmallVector<int64_t>>
  getBoundsFor(loop::LoadOp load, ArrayRef<Coordinate> coordinates,
               ArrayRef<unsigned> loops);
  LogicalResult convertIndexCast(arith::IndexCastOp cast);
  TileValue getIterationNumber(Location loc, Value index, Type type);
  LogicalResult convertElementwise(Operation *op);

  /// The coordinates of a box. None if the access is no box; `obstacle` is the
  /// coordinate that is in the way.
  template <typename AccessOp>
  std::optional<SmallVector<Coordinate>> getCoordinates(AccessOp access,
                                                        unsigned &obstacle);
  /// The operands and attributes of a box access: indices, and for each
  /// parallel loop that appears (ascending) its memref dimension and step.
  struct Box {
    SmallVector<Value> indices;
    SmallVector<unsigned> loops;
    DenseI64ArrayAttr dims, steps;
  };
  Box getBox(Location loc, ArrayRef<Coordinate> coordinates);

  RankedTensorType getTileType(Type element, ArrayRef<unsigned> dims);
  Value getIndexConstant(Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  loop::KernelOp source;
  OpBuilder builder;
  SymbolicSizes sizes;
  KernelOp kernel;
  /// The reduction of the rows of a product.
  loop::ReduceOp fold;
  /// Extents of the parallel loops by number.
  SmallVector<int64_t> extents;
  DenseMap<Value, LoopVariable> variables;
  DenseMap<Value, TileValue> values;
  IRMapping memrefs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types and operands
//===----------------------------------------------------------------------===//

RankedTensorType Tileifier::getTileType(Type element, ArrayRef<unsigned> dims) {
  SmallVector<int64_t> shape;
  for (unsigned dim : dims)
    shape.push_back(extents[dim]);
  return RankedTensorType::get(shape, element);
}

Value Tileifier::spread(Location loc, const TileValue &value,
                        ArrayRef<unsigned> dims) {
  RankedTensorType type =
      getTileType(getElementTypeOrSelf(value.value.getType()), dims);
  if (value.isScalar()) {
    Attribute constant;
    if (matchPattern(value.value, m_Constant(&constant)))
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, constant));
    return SplatOp::create(builder, loc, type, value.value);
  }
  if (value.value.getType() == type)
    return value.value;
  SmallVector<int64_t> positions;
  for (auto [position, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(value.dims, dim))
      positions.push_back(position);
  return BroadcastOp::create(builder, loc, type, value.value, positions);
}

static SmallVector<unsigned> unite(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
  SmallVector<unsigned> result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(result));
  return result;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

template <typename AccessOp>
std::optional<SmallVector<Coordinate>>
Tileifier::getCoordinates(AccessOp access, unsigned &obstacle) {
  // Constant operands first, so that only loop variables are left.
  AffineMap map = access.getMap();
  MLIRContext *context = access.getContext();
  SmallVector<AffineExpr> replacements;
  for (auto [position, index] : llvm::enumerate(access.getIndices())) {
    IntegerAttr constant;
    AffineExpr expr = getAffineDimExpr(position, context);
    if (matchPattern(index, m_Constant(&constant)))
      expr = getAffineConstantExpr(constant.getInt(), context);
    else if (!variables.count(index))
      return std::nullopt; // it follows an index
    else if (!variables[index].dim && !variables[index].index)
      expr = getAffineConstantExpr(0, context); // a loop of one iteration
    replacements.push_back(expr);
  }

  SmallVector<Coordinate> coordinates;
  DenseSet<Value> seen;
  for (auto [number, expr] : llvm::enumerate(map.getResults())) {
    std::optional<LinearForm> form =
        getLinearForm(expr.replaceDims(replacements), map.getNumDims());
    Coordinate coordinate;
    bool isBox = form.has_value();
    for (unsigned dim = 0; isBox && dim < map.getNumDims(); ++dim) {
      int64_t scale = form->coefficients[dim];
      if (scale == 0)
        continue;
      isBox = scale > 0 && !coordinate.variable;
      coordinate = {access.getIndices()[dim], scale, 0};
    }
    obstacle = number;
    if (!isBox)
      return std::nullopt;
    coordinate.offset = form->constant;
    if (coordinate.variable && !seen.insert(coordinate.variable).second)
      return std::nullopt;
    coordinates.push_back(coordinate);
  }
  return coordinates;
}

Tileifier::Box Tileifier::getBox(Location loc,
                                 ArrayRef<Coordinate> coordinates) {
  Box box;
  SmallVector<std::tuple<unsigned, int64_t, int64_t>> spanned;
  for (auto [memrefDim, coordinate] : llvm::enumerate(coordinates)) {
    LoopVariable variable;
    if (coordinate.variable)
      variable = variables[coordinate.variable];
    Value index = variable.index;
    if (index && coordinate.scale != 1)
      index = arith::MulIOp::create(builder, loc, index,
                                    getIndexConstant(loc, coordinate.scale));
    if (!index)
      index = getIndexConstant(loc, coordinate.offset);
    else if (coordinate.offset != 0)
      index = arith::AddIOp::create(builder, loc, index,
                                    getIndexConstant(loc, coordinate.offset));
    box.indices.push_back(index);
    if (variable.dim)
      spanned.push_back({*variable.dim, memrefDim, coordinate.scale});
  }
  llvm::sort(spanned);

  SmallVector<int64_t> dims, steps;
  for (auto [loop, memrefDim, step] : spanned) {
    box.loops.push_back(loop);
    dims.push_back(memrefDim);
    steps.push_back(step);
  }
  // Leave out what is the default.
  if (dims != getSpannedDims(std::nullopt, coordinates.size(), dims.size()))
    box.dims = builder.getDenseI64ArrayAttr(dims);
  if (llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    box.steps = builder.getDenseI64ArrayAttr(steps);
  return box;
}

/// The condition holds only where all coordinates are within the memref. Where
/// it does not, most are all the same, so that little is read in vain.
std::optional<SmallVector<int64_t>>
Tileifier::getBoundsFor(loop::LoadOp load, ArrayRef<Coordinate> coordinates,
                        ArrayRef<unsigned> loops) {
  constexpr int64_t maxShareOutside = 8;
  // Inner dimensions would be chunked, staged or shifted.
  if (load->getParentOfType<loop::ReduceOp>())
    return std::nullopt;
  SmallVector<std::pair<unsigned, int64_t>> bounds;
  ArrayRef<int64_t> shape = load.getMemRefType().getShape();
  for (auto [size, coordinate] : llvm::zip_equal(shape, coordinates)) {
    LoopVariable variable;
    if (coordinate.variable)
      variable = variables[coordinate.variable];
    int64_t extent = variable.dim ? extents[*variable.dim] : 1;
    int64_t first = coordinate.offset;
    int64_t last = first + coordinate.scale * (extent - 1);
    int64_t outside =
        std::max<int64_t>(-first, 0) + std::max<int64_t>(last - (size - 1), 0);
    bool isAxis = variable.dim && *variable.dim < kernel.getAxes().size();
    if (outside != 0 && (!isAxis || outside > (last - first) / maxShareOutside))
      return std::nullopt;
    if (variable.dim)
      bounds.emplace_back(*variable.dim, size);
    else if (variable.index)
      return std::nullopt;
  }
  llvm::sort(bounds);
  return llvm::map_to_vector(bounds, [](auto bound) { return bound.second; });
}

LogicalResult Tileifier::convertLoad(loop::LoadOp load) {
  unsigned obstacle = 0;
  auto coordinates = getCoordinates(load, obstacle);
  if (!coordinates)
    return convertGather(load);
  Location loc = load.getLoc();
  Box box = getBox(loc, *coordinates);
  DenseI64ArrayAttr bounds;
  if (load.getCondition()) {
    auto found = getBoundsFor(load, *coordinates, box.loops);
    if (!found)
      return convertGather(load);
    bounds = builder.getDenseI64ArrayAttr(*found);
  }
  TileValue tile = {
      LoadOp::create(builder, loc, getTileType(load.getType(), box.loops),
                     memrefs.lookup(load.getMemref()), box.indices, box.dims,
                     box.steps, bounds, /*vector=*/nullptr),
      box.loops};
  if (load.getCondition()) {
    const TileValue &condition = values[load.getCondition()];
    const TileValue &otherwise = values[load.getOtherwise()];
    SmallVector<unsigned> dims =
        unite(tile.dims, unite(condition.dims, otherwise.dims));
    Value chosen = arith::SelectOp::create(
        builder, loc, spread(loc, condition, dims), spread(loc, tile, dims),
        spread(loc, otherwise, dims));
    tile = {chosen, dims};
  }
  values[load.getResult()] = tile;
  return success();
}

LogicalResult Tileifier::convertStore(loop::StoreOp store) {
  unsigned obstacle = 0;
  auto coordinates = getCoordinates(store, obstacle);
  if (!coordinates)
    return store.emitOpError()
           << "coordinate " << obstacle
           << " is not a constant plus a multiple of one loop variable that no "
              "other coordinate uses, as a tile needs it; store to a "
              "contiguous tensor and view that";
  Box box = getBox(store.getLoc(), *coordinates);
  StoreOp::create(builder, store.getLoc(),
                  spread(store.getLoc(), values[store.getValue()], box.loops),
                  memrefs.lookup(store.getMemref()), box.indices, box.dims,
                  box.steps, /*bounds=*/nullptr, /*vector=*/nullptr);
  return success();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

namespace {

/// Integers as tiles, each over the loops that it depends on.
struct TileArithmetic {
  Tileifier &tileifier;
  Location loc;
  Type type;
  ValueRange operands;

  TileValue getDim(unsigned dim) {
    return tileifier.getNumber(loc, operands[dim], type);
  }
  TileValue getConstant(int64_t value) {
    OpBuilder &builder = tileifier.getBuilder();
    return {createNumber<loop::SizeOp>(builder, loc, type, value,
                                       tileifier.getSizes()),
            {}};
  }
  template <typename OpT> TileValue create(TileValue lhs, TileValue rhs) {
    OpBuilder &builder = tileifier.getBuilder();
    if (lhs.isScalar() && rhs.isScalar())
      return {builder.createOrFold<OpT>(loc, lhs.value, rhs.value), {}};
    SmallVector<unsigned> dims = unite(lhs.dims, rhs.dims);
    return {builder.createOrFold<OpT>(loc, tileifier.spread(loc, lhs, dims),
                                      tileifier.spread(loc, rhs, dims)),
            dims};
  }
};

} // namespace

TileValue Tileifier::getNumber(Location loc, Value index, Type type) {
  IntegerAttr constant;
  if (matchPattern(index, m_Constant(&constant)))
    return {arith::ConstantOp::create(
                builder, loc, builder.getIntegerAttr(type, constant.getInt())),
            {}};
  if (variables.count(index))
    return getIterationNumber(loc, index, type);
  TileValue value = values[index];
  Type from = getElementTypeOrSelf(value.value.getType());
  if (from == type)
    return value;
  Type to = value.isScalar() ? type : Type(getTileType(type, value.dims));
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return {arith::ExtSIOp::create(builder, loc, to, value.value), value.dims};
  return {arith::TruncIOp::create(builder, loc, to, value.value), value.dims};
}

/// How many values a loop's variable takes; 0 if `index` is none.
static int64_t getExtentOf(Value index) {
  return loop::getExtentOf(index).value_or(0);
}

/// Whether 32 bits hold the offset of every element that is read. An index that
/// is out of range may wrap: its condition is computed without the offset.
static bool hasNarrowOffsets(MemRefType type, AffineExpr offset,
                             ArrayRef<int64_t> extents) {
  auto [strides, span] = type.getStridesAndOffset();
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    span += std::max<int64_t>(size - 1, 0) * stride;
  SmallVector<AffineExpr> known;
  for (auto [dim, extent] : llvm::enumerate(extents))
    known.push_back(extent == 0 ? getAffineConstantExpr(0, type.getContext())
                                : getAffineDimExpr(dim, type.getContext()));
  constexpr int64_t limit = int64_t(1) << 30;
  return span < limit && fitsIn32Bits(offset.replaceDims(known), extents);
}

/// The offset as a sum of coordinates times strides. Their constants, some of
/// which are sizes that are known when the program runs, stay apart.
static TileValue emitReversed(loop::LoadOp load, ArrayRef<int64_t> extents,
                              TileArithmetic &arithmetic) {
  MemRefType type = load.getMemRefType();
  auto [strides, start] = type.getStridesAndOffset();
  const SymbolicSizes &sizes = arithmetic.tileifier.getSizes();
  TileValue offset = arithmetic.getConstant(start);
  for (auto [size, stride, coordinate] :
       llvm::zip_equal(type.getShape(), strides, load.getMap().getResults())) {
    std::optional<AffineExpr> fromEnd =
        getFromEnd(coordinate, extents.size(), size, sizes);
    TileValue position =
        emitAffine(fromEnd.value_or(coordinate), extents, arithmetic);
    if (fromEnd)
      position = arithmetic.create<arith::AddIOp>(position,
                                                  arithmetic.getConstant(size));
    position = arithmetic.create<arith::MulIOp>(position,
                                                arithmetic.getConstant(stride));
    offset = arithmetic.create<arith::AddIOp>(offset, position);
  }
  return offset;
}

LogicalResult Tileifier::convertGather(loop::LoadOp load) {
  Location loc = load.getLoc();
  MemRefType type = load.getMemRefType();
  auto [strides, start] = type.getStridesAndOffset();
  SmallVector<int64_t> extentsOfIndices =
      llvm::map_to_vector(load.getIndices(), getExtentOf);
  AffineExpr offset = simplifyInRange(linearize(load.getMap(), strides) + start,
                                      extentsOfIndices);
  bool isNarrow = hasNarrowOffsets(type, offset, extentsOfIndices);
  TileArithmetic arithmetic{
      *this, loc, isNarrow ? builder.getI32Type() : builder.getI64Type(),
      load.getIndices()};
  bool isReversed = llvm::any_of(
      llvm::zip_equal(type.getShape(), load.getMap().getResults()),
      [&](auto dim) {
        auto [size, coordinate] = dim;
        return getFromEnd(coordinate, load.getIndices().size(), size, sizes);
      });
  TileValue offsets = isReversed
                          ? emitReversed(load, extentsOfIndices, arithmetic)
                          : emitAffine(offset, extentsOfIndices, arithmetic);

  SmallVector<unsigned> dims = offsets.dims;
  Value condition, otherwise;
  if (load.getCondition()) {
    const TileValue &mask = values[load.getCondition()];
    const TileValue &rest = values[load.getOtherwise()];
    dims = unite(dims, unite(mask.dims, rest.dims));
    condition = spread(loc, mask, dims);
    otherwise = spread(loc, rest, dims);
  }
  auto tile = GatherOp::create(builder, loc, getTileType(load.getType(), dims),
                               memrefs.lookup(load.getMemref()),
                               spread(loc, offsets, dims), condition, otherwise,
                               /*vector=*/nullptr);
  values[load.getResult()] = {tile, dims};
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and arithmetic
//===----------------------------------------------------------------------===//

/// A parallel loop or a scan: all iterations at once.
LogicalResult Tileifier::convertLoop(Operation *loop) {
  int64_t extent = *loop::getLoopExtent(loop);
  if (extent == 0)
    return success();
  Block &body = loop->getRegion(0).front();
  Value variable = body.getArgument(0);
  if (extent == 1) {
    variables[variable] = {};
    return convertBlock(body);
  }
  // Axes have a number and an index already.
  if (!variables.count(variable)) {
    Value start = getIndexConstant(loop->getLoc(), 0);
    variables[variable] = {unsigned(extents.size()), start};
    extents.push_back(extent);
  }
  return convertBlock(body);
}

/// A running value becomes the scan of a tile along the loop's dimension.
void Tileifier::convertRunning(loop::RunningOp running) {
  Location loc = running.getLoc();
  const TileValue &value = values[running.getValue()];
  auto scan = cast<loop::ScanOp>(running->getParentOp());
  std::optional<unsigned> dim = variables[scan.getInductionVar()].dim;
  if (!dim) { // one iteration
    values[running] = TileValue(value);
    return;
  }
  SmallVector<unsigned> dims = unite(value.dims, *dim);
  int64_t axis = llvm::find(dims, *dim) - dims.begin();
  auto tile = ScanOp::create(builder, loc, running.getKind(),
                             spread(loc, value, dims), Value(), axis);
  values[running] = {tile.getResult(), dims};
}

/// The rows of a product are folded when all of it is there: their loop is a
/// dimension of its tile.
LogicalResult Tileifier::convertFold(loop::ReduceOp reduce) {
  Location loc = reduce.getLoc();
  unsigned dim = extents.size();
  variables[reduce.getInductionVar()] = {dim, getIndexConstant(loc, 0)};
  extents.push_back(reduce.getExtent());
  if (failed(convertBlock(*reduce.getBody())))
    return failure();
  SmallVector<unsigned> dims = {dim};
  for (Value value : reduce.getYield().getValues())
    dims = unite(dims, values[value].dims);
  SmallVector<Value> inputs;
  for (Value value : reduce.getYield().getValues())
    inputs.push_back(spread(loc, values[value], dims));
  auto folded = ReduceOp::create(builder, loc, reduce.getMonoids(), inputs,
                                 llvm::find(dims, dim) - dims.begin());
  llvm::erase(dims, dim);
  for (auto [before, after] :
       llvm::zip_equal(reduce.getResults(), folded.getResults()))
    values[before] = {after, dims};
  return success();
}

LogicalResult Tileifier::convertReduce(loop::ReduceOp reduce) {
  if (reduce == fold)
    return convertFold(reduce);
  Location loc = reduce.getLoc();
  if (reduce.getExtent() == 0) {
    for (auto [kind, result] :
         llvm::zip_equal(reduce.getMonoids(), reduce.getResults()))
      values[result] = {arith::ConstantOp::create(
                            builder, loc, getIdentity(kind, result.getType())),
                        {}};
    return success();
  }
  if (reduce.getExtent() == 1 && !reduce.getPart()) {
    variables[reduce.getInductionVar()] = {};
    if (failed(convertBlock(*reduce.getBody())))
      return failure();
    for (auto [yielded, result] :
         llvm::zip_equal(reduce.getYield().getValues(), reduce.getResults()))
      values[result] = TileValue(values[yielded]);
    return success();
  }
  if (reduce.walk([](loop::StoreOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    return reduce.emitOpError("stores what it folds, which takes a reduction "
                              "of rows of a product; store in a loop of its "
                              "own");
  Value part;
  if (reduce.getPart())
    part = variables[reduce.getPart()].index;
  auto tiles = loop::ReduceOp::create(
      builder, loc, reduce.getMonoids(), reduce.getExtent(),
      reduce.getResultTypes(), part, reduce.getParts());
  variables[reduce.getInductionVar()] = {std::nullopt, tiles.getInductionVar()};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(tiles.getBody());
  if (failed(convertBlock(*reduce.getBody())))
    return failure();

  // tile.reduce folds tiles of one shape.
  SmallVector<unsigned> dims;
  for (Value value : reduce.getYield().getValues())
    dims = unite(dims, values[value].dims);
  SmallVector<Value> yielded;
  for (Value value : reduce.getYield().getValues())
    yielded.push_back(spread(loc, values[value], dims));
  loop::YieldOp::create(builder, loc, yielded);
  for (auto [before, after, value] :
       llvm::zip_equal(reduce.getResults(), tiles.getResults(), yielded)) {
    after.setType(value.getType());
    values[before] = {after, dims};
  }
  return success();
}

/// The number of a loop's iteration.
TileValue Tileifier::getIterationNumber(Location loc, Value index, Type type) {
  const LoopVariable &variable = variables[index];
  if (!variable.dim && !variable.index) // a loop of one iteration
    return {arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)),
            {}};
  SmallVector<unsigned> dims;
  if (variable.dim)
    dims.push_back(*variable.dim);
  return {IotaOp::create(builder, loc, getTileType(type, dims), variable.index),
          dims};
}

/// A number becomes an index, or a loop's variable a number. Indices are
/// numbers here until a gather uses them.
LogicalResult Tileifier::convertIndexCast(arith::IndexCastOp cast) {
  if (cast.getType().isIndex())
    values[cast] = TileValue(values[cast.getIn()]);
  else
    values[cast] = getNumber(cast.getLoc(), cast.getIn(), cast.getType());
  return success();
}

LogicalResult Tileifier::convertElementwise(Operation *op) {
  if (isa<arith::ConstantOp, loop::SizeOp>(op)) {
    values[op->getResult(0)] = {builder.clone(*op)->getResult(0), {}};
    return success();
  }
  for (Value operand : op->getOperands())
    if (!values.count(operand))
      return op->emitError()
             << "'" << op->getName()
             << "' computes with a loop variable; make a number of it "
                "with arith.index_cast first";
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumRegions() != 0)
    return op->emitError() << "'" << op->getName()
                           << "' has no form on tiles, expected an elementwise "
                              "operation of arith or math";

  SmallVector<unsigned> dims;
  bool isScalar = true;
  for (Value operand : op->getOperands()) {
    dims = unite(dims, values[operand].dims);
    isScalar &= values[operand].isScalar();
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isScalar ? values[operand].value
                                : spread(op->getLoc(), values[operand], dims));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(isScalar ? type : Type(getTileType(type, dims)));
  Operation *tiles = builder.create(op->getLoc(), op->getName().getIdentifier(),
                                    operands, types, op->getAttrs());
  for (auto [before, after] :
       llvm::zip_equal(op->getResults(), tiles->getResults()))
    values[before] = {after, dims};
  return success();
}

LogicalResult Tileifier::convert(Operation *op) {
  if (isa<loop::ForOp, loop::ScanOp>(op))
    return convertLoop(op);
  if (auto running = dyn_cast<loop::RunningOp>(op)) {
    convertRunning(running);
    return success();
  }
  if (auto reduce = dyn_cast<loop::ReduceOp>(op))
    return convertReduce(reduce);
  if (auto load = dyn_cast<loop::LoadOp>(op))
    return convertLoad(load);
  if (auto store = dyn_cast<loop::StoreOp>(op))
    return convertStore(store);
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return convertIndexCast(cast);
  if (op->getNumResults() == 1 && op->getResult(0).getType().isIndex() &&
      isa<arith::ConstantOp>(op))
    return success(); // a coordinate; accesses look it up
  return convertElementwise(op);
}

LogicalResult Tileifier::convertBlock(Block &block) {
  for (Operation &op : block)
    if (!isa<loop::YieldOp>(op) && failed(convert(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void Tileifier::createKernel(ArrayRef<loop::ForOp> axisLoops) {
  // What a part of a reduction is among blocks, a block has one of.
  DenseSet<Value> parts;
  source.walk([&](loop::ReduceOp reduce) {
    if (reduce.getPart())
      parts.insert(reduce.getPart());
  });
  auto isOfParts = [&](loop::ForOp loop) {
    return parts.contains(loop.getInductionVar());
  };
  SmallVector<AxisAttr> axes;
  for (loop::ForOp loop : axisLoops) {
    int64_t extent = loop.getExtent(), step = isOfParts(loop) ? 1 : extent;
    axes.push_back(
        AxisAttr::get(source.getContext(), extent, step,
                      isOfParts(loop) ? AxisKind::Grid : AxisKind::Tile));
  }
  if (axes.empty())
    axes.push_back(AxisAttr::get(source.getContext(), 1, 1, AxisKind::Tile));
  kernel = KernelOp::create(
      builder, source.getLoc(), source.getSymName(),
      source.getBody()->getArgumentTypes(), axes,
      dyn_cast_if_present<ScheduleAttr>(source.getScheduleAttr()));
  if (Attribute pieces = source->getAttr(piecesAttrName))
    kernel->setAttr(piecesAttrName, pieces);
  for (auto [before, after] :
       llvm::zip_equal(source.getArguments(), kernel.getMemrefs())) {
    after.setLoc(before.getLoc());
    memrefs.map(before, after);
  }
  builder.setInsertionPointToStart(kernel.getBody());
  for (unsigned number = 0; number < axisLoops.size(); ++number) {
    loop::ForOp loop = axisLoops[number];
    BlockArgument index = kernel.getAxisValues()[number];
    index.setLoc(loop.getLoc());
    extents.push_back(loop.getExtent());
    if (isOfParts(loop))
      variables[loop.getInductionVar()] = {std::nullopt, index};
    else if (loop.getExtent() > 1)
      variables[loop.getInductionVar()] = {unsigned(number), index};
  }
}

FailureOr<KernelOp> Tileifier::run() {
  SmallVector<loop::ForOp> axisLoops = getAxisLoops(source);
  // Without iterations there is nothing to do: a kernel without a body.
  bool isEmpty = llvm::any_of(
      axisLoops, [](loop::ForOp loop) { return loop.getExtent() == 0; });
  if (isEmpty)
    axisLoops.clear();
  if (auto contraction = loop::findContraction(source))
    fold = contraction->fold;
  createKernel(axisLoops);
  if (!isEmpty && failed(convertBlock(*source.getBody()))) {
    kernel.erase();
    return failure();
  }
  // Scalars that became constant tiles.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*kernel.getBody())))
    if (isOpTriviallyDead(&op))
      op.erase();
  source.erase();
  return kernel;
}

FailureOr<KernelOp> tileify(loop::KernelOp kernel) {
  return Tileifier(kernel).run();
}

namespace {

struct TileifyPass : impl::TileifyPassBase<TileifyPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<loop::KernelOp> kernels(
        getOperation().getOps<loop::KernelOp>());
    auto options = remark::RemarkOpts::name("Tileify").category(DEBUG_TYPE);
    if (kernels.empty())
      remark::missed(getOperation().getLoc(), options)
          << remark::add("the module has no loop.kernel");
    for (loop::KernelOp source : kernels) {
      FailureOr<KernelOp> kernel = tileify(source);
      if (failed(kernel))
        return signalPassFailure();
      std::string extents =
          llvm::join(llvm::map_range(kernel->getAxes().getAsRange<AxisAttr>(),
                                     [](AxisAttr axis) {
                                       return std::to_string(axis.getExtent());
                                     }),
                     " x ");
      remark::passed(kernel->getLoc(), options.function(kernel->getSymName()))
          << remark::add("parallel axes of {0}", extents);
    }
  }
};

} // namespace

} // namespace deplo::tile
