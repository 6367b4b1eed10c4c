// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// chunk_matmul_k: the factors of a sum of products, chunk by chunk.
//
//   loop.reduce add %k = 0 to 512 {
//     %a = tile.load %x[%i, %k] dims [0] : tensor<64xf32>
//     %s = tile.load %scale[%i] : tensor<64xf32>
//     %f = arith.mulf %a, %s : tensor<64xf32>
//     ... broadcast, multiply by the other factor, yield
// -> (%f, chunk = 16)
//   %s = tile.load %scale[%i] : tensor<64xf32>
//   scf.for %k = 0 to 512 step 16 {
//     %a = tile.load %x[%i, %k] : tensor<64x16xf32>
//     %b = tile.broadcast %s dims [0] : tensor<64xf32> -> tensor<64x16xf32>
//     %f = arith.mulf %a, %b : tensor<64x16xf32>
//
// Places that are gathered, such as those of windows, are computed for all
// elements of a chunk:
//
//   %n = tile.iota %k : tensor<i32>
//   ... %a = tile.gather %x[%offsets] mask %m : tensor<64xf32>
// ->
//     %n = tile.iota %k : tensor<16xi32>
//     ... %a = tile.gather %x[%offsets] mask %m : tensor<16x64xf32>
//
// Legality: elements of a factor are computed from elements of loads, each of
// which the variable moves along one dimension of its memref, if at all, and of
// gathers whose places are computed from the variable and from axes. Loads
// beyond the extent of the sum give zeros, nothing is gathered there, and what
// is computed of these is replaced by zeros.

#include "ChunkOperands.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {

/// The memref dimension that a variable moves, and by how much.
struct Movement {
  unsigned dim;
  AffineIndex index;
};

} // namespace

/// The movements of `load` with `variable`.
static SmallVector<Movement> getMovements(LoadOp load, Value variable) {
  SmallVector<Movement> movements;
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    AffineIndex coordinate = AffineIndex::get(index);
    if (coordinate.base == variable)
      movements.push_back({unsigned(dim), coordinate});
  }
  return movements;
}

static SmallVector<int64_t> select(ArrayRef<int64_t> dims,
                                   ArrayRef<int64_t> positions) {
  return llvm::map_to_vector(positions,
                             [&](int64_t position) { return dims[position]; });
}

/// Whether `value`, with dimensions `dims` of the sum, is computed element by
/// element from loads, which are appended with their dimensions, and gathers.
static bool
findLoads(Value value, ArrayRef<int64_t> dims, Value variable,
          SmallVectorImpl<std::pair<LoadOp, SmallVector<int64_t>>> &loads,
          bool &isGathered) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto isScalar = [](Value operand) {
    return !isa<RankedTensorType>(operand.getType());
  };
  if (auto load = dyn_cast<LoadOp>(op)) {
    SmallVector<Movement> movements = getMovements(load, variable);
    loads.push_back({load, llvm::to_vector(dims)});
    return movements.size() <= 1 &&
           (movements.empty() || movements.front().index.scale >= 1);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return findLoads(broadcast.getInput(), select(dims, broadcast.getDims()),
                     variable, loads, isGathered);
  if (auto splat = dyn_cast<SplatOp>(op))
    return findLoads(splat.getInput(), {}, variable, loads, isGathered);
  if (auto iota = dyn_cast<IotaOp>(op))
    return iota.getStart() == variable ? iota.getType().getRank() == 0
                                       : isa<BlockArgument>(iota.getStart());
  if (auto gather = dyn_cast<GatherOp>(op)) {
    isGathered = true;
    return llvm::all_of(gather->getOperands().drop_front(), [&](Value operand) {
      return findLoads(operand, dims, variable, loads, isGathered);
    });
  }
  if (isScalar(value) && isPure(op) && op->getNumOperands() == 0)
    return true; // a size
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumRegions() == 0 &&
         isPure(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return findLoads(operand,
                            isScalar(operand) ? ArrayRef<int64_t>() : dims,
                            variable, loads, isGathered);
         });
}

/// What `value` is widened from; null if it isn't.
static Value getWidened(Value value) {
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp>(value.getDefiningOp())
             ? value.getDefiningOp()->getOperand(0)
             : Value();
}

static std::optional<Factor> getFactor(Value value, Value variable,
                                       int64_t rank, bool isWidened) {
  Factor factor;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    factor.dims = llvm::to_vector(broadcast.getDims());
    value = broadcast.getInput();
  } else {
    factor.dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  if (isWidened)
    value = getWidened(value);
  factor.value = value;
  SmallVector<std::pair<LoadOp, SmallVector<int64_t>>> loads;
  bool isGathered = false;
  if (!findLoads(value, factor.dims, variable, loads, isGathered))
    return std::nullopt;
  for (auto &[load, dims] : loads)
    if (!factor.load && dims.size() == factor.dims.size() &&
        !getMovements(load, variable).empty())
      factor.load = load;
  return factor.load || isGathered ? std::optional(factor) : std::nullopt;
}

/// The type that `value` is widened from; its own if it isn't.
static Type getNarrowType(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  if (Value widened = getWidened(value))
    value = widened;
  return getElementTypeOrSelf(value.getType());
}

std::optional<SumOfProducts> SumOfProducts::get(loop::ReduceOp reduce,
                                                unsigned result) {
  if (reduce.getMonoids()[result] != Monoid::Add)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(reduce.getResult(result).getType());
  Operation *product = reduce.getYield().getValues()[result].getDefiningOp();
  if (!type || !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return std::nullopt;
  Value variable = reduce.getInductionVar();
  // Both factors are staged as they are before they are widened, if that makes
  // them the same type.
  Type narrow = getNarrowType(product->getOperand(0));
  bool isWidened = narrow == getNarrowType(product->getOperand(1)) &&
                   narrow != type.getElementType();
  std::optional<Factor> lhs =
      getFactor(product->getOperand(0), variable, type.getRank(), isWidened);
  std::optional<Factor> rhs =
      getFactor(product->getOperand(1), variable, type.getRank(), isWidened);
  // Each has a dimension that the other has not: all else is a reduction that
  // reads each element once.
  auto hasOwn = [](const Factor &factor, const Factor &other) {
    return llvm::any_of(factor.dims, [&](int64_t dim) {
      return !llvm::is_contained(other.dims, dim);
    });
  };
  if (!lhs || !rhs || !hasOwn(*lhs, *rhs) || !hasOwn(*rhs, *lhs))
    return std::nullopt;
  return SumOfProducts{reduce, *lhs, *rhs};
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

namespace {

class ChunkBuilder {
public:
  ChunkBuilder(const Factor &factor, loop::ReduceOp reduce, OpBuilder &before,
               OpBuilder &inside, Value variable, int64_t chunk)
      : factor(factor), reduce(reduce), before(before), inside(inside),
        variable(variable), chunk(chunk),
        summed(
            cast<RankedTensorType>(reduce.getResult(0).getType()).getRank()) {}

  ChunkedTile run();

private:
  ChunkedTile build(Value value, ArrayRef<int64_t> dims);
  ChunkedTile loadChunk(LoadOp load, ArrayRef<int64_t> dims);
  ChunkedTile computeChunk(Operation *op, ArrayRef<int64_t> dims);
  ChunkedTile gatherChunk(GatherOp gather, ArrayRef<int64_t> dims);
  template <typename OpT>
  ChunkedTile combine(Location loc, const ChunkedTile &a, const ChunkedTile &b);
  SmallVector<ChunkedTile> getSummands(Value value, ArrayRef<int64_t> dims);
  ChunkedTile addSummands(Value value, ArrayRef<int64_t> dims);
  SmallVector<int64_t> getOrdered(ArrayRef<ChunkedTile> tiles);
  ChunkedTile getTailMask(Location loc);
  ChunkedTile replaceTail(const ChunkedTile &tile);
  Value spread(OpBuilder &builder, Location loc, const ChunkedTile &tile,
               ArrayRef<int64_t> dims);

  void findOrder();
  bool hasTail() { return reduce.getExtent() % chunk != 0; }
  /// What varies along the sum is built in the loop over chunks.
  OpBuilder &getBuilder(ArrayRef<int64_t> dims) {
    return llvm::is_contained(dims, summed) ? inside : before;
  }
  RankedTensorType getType(ArrayRef<int64_t> dims, Type element) {
    return RankedTensorType::get(
        llvm::map_to_vector(dims, [&](int64_t dim) { return sizes.at(dim); }),
        element);
  }

  const Factor &factor;
  loop::ReduceOp reduce;
  OpBuilder &before, &inside;
  Value variable;
  int64_t chunk;
  /// The number of the dimension that is summed over.
  int64_t summed;
  /// All dimensions of the factor, in the order of its load, and their sizes.
  SmallVector<int64_t> order;
  llvm::SmallDenseMap<int64_t, int64_t> sizes;
  DenseMap<Value, ChunkedTile> built;
};

} // namespace

/// From the largest stride in memory to the smallest. What is gathered has its
/// last dimension innermost: lanes read along the rows of windows.
void ChunkBuilder::findOrder() {
  LoadOp load = factor.load;
  if (!load) {
    auto type = cast<RankedTensorType>(factor.value.getType());
    for (auto [dim, size] : llvm::zip_equal(factor.dims, type.getShape()))
      sizes[dim] = size;
    sizes[summed] = chunk;
    order = factor.dims;
    order.insert(order.end() - 1, summed);
    return;
  }
  BoxAccess box = *BoxAccess::get(load);
  auto [strides, offset] = load.getMemRefType().getStridesAndOffset();
  SmallVector<std::pair<int64_t, int64_t>> list; // strides, dimensions
  for (auto [t, memrefDim] : llvm::enumerate(box.dims)) {
    list.push_back({strides[memrefDim], factor.dims[t]});
    sizes[factor.dims[t]] = box.shape[t];
  }
  Movement movement = getMovements(load, reduce.getInductionVar()).front();
  list.push_back({strides[movement.dim], summed});
  sizes[summed] = chunk;
  llvm::stable_sort(list, [](auto &a, auto &b) { return a.first > b.first; });
  for (auto [stride, dim] : list)
    order.push_back(dim);
}

ChunkedTile ChunkBuilder::loadChunk(LoadOp load, ArrayRef<int64_t> dims) {
  Location loc = load.getLoc();
  BoxAccess box = *BoxAccess::get(load);
  struct Dim {
    int64_t memrefDim, step, bound;
  };
  llvm::SmallDenseMap<int64_t, Dim> loaded;
  for (auto [t, memrefDim] : llvm::enumerate(box.dims))
    loaded[dims[t]] = {int64_t(memrefDim), box.steps[t],
                       load.getMemRefType().getDimSize(memrefDim)};
  SmallVector<Value> indices(load.getIndices());
  SmallVector<Movement> movements =
      getMovements(load, reduce.getInductionVar());
  if (!movements.empty()) {
    auto [dim, index] = movements.front();
    indices[dim] = index.rebuild(inside, loc, variable);
    int64_t last = int64_t(reduce.getExtent()) - 1;
    loaded[summed] = {int64_t(dim), index.scale,
                      index.offset + last * index.scale + 1};
  }

  ChunkedTile tile;
  SmallVector<int64_t> memrefDims, steps, bounds;
  for (int64_t dim : order) {
    auto found = loaded.find(dim);
    if (found == loaded.end())
      continue;
    tile.dims.push_back(dim);
    memrefDims.push_back(found->second.memrefDim);
    steps.push_back(found->second.step);
    bounds.push_back(found->second.bound);
  }
  bool isDefault = memrefDims == getSpannedDims(std::nullopt, indices.size(),
                                                memrefDims.size());
  bool hasSteps = llvm::any_of(steps, [](int64_t step) { return step != 1; });
  bool isBounded = !movements.empty() && hasTail();
  OpBuilder &builder = getBuilder(tile.dims);
  tile.value = LoadOp::create(
      builder, loc, getType(tile.dims, load.getType().getElementType()),
      load.getMemref(), indices,
      isDefault ? nullptr : builder.getDenseI64ArrayAttr(memrefDims),
      hasSteps ? builder.getDenseI64ArrayAttr(steps) : nullptr,
      isBounded ? builder.getDenseI64ArrayAttr(bounds) : nullptr,
      /*vector=*/nullptr);
  return tile;
}

Value ChunkBuilder::spread(OpBuilder &builder, Location loc,
                           const ChunkedTile &tile, ArrayRef<int64_t> dims) {
  if (tile.dims == dims && isa<RankedTensorType>(tile.value.getType()))
    return tile.value;
  RankedTensorType type =
      getType(dims, getElementTypeOrSelf(tile.value.getType()));
  Attribute constant;
  if (!isa<RankedTensorType>(tile.value.getType())) {
    if (matchPattern(tile.value, m_Constant(&constant)))
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, constant));
    return SplatOp::create(builder, loc, type, tile.value);
  }
  SmallVector<int64_t> positions;
  for (auto [position, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(tile.dims, dim))
      positions.push_back(position);
  return BroadcastOp::create(builder, loc, type, tile.value, positions);
}

/// All dimensions of `tiles`, in the order of the chunk.
SmallVector<int64_t> ChunkBuilder::getOrdered(ArrayRef<ChunkedTile> tiles) {
  SmallVector<int64_t> ordered;
  llvm::copy_if(order, std::back_inserter(ordered), [&](int64_t dim) {
    return llvm::any_of(tiles, [&](const ChunkedTile &tile) {
      return llvm::is_contained(tile.dims, dim);
    });
  });
  return ordered;
}

ChunkedTile ChunkBuilder::getTailMask(Location loc) {
  return {InBoundsOp::create(inside, loc, getType(summed, inside.getI1Type()),
                             variable, reduce.getExtent()),
          {summed}};
}

template <typename OpT>
ChunkedTile ChunkBuilder::combine(Location loc, const ChunkedTile &a,
                                  const ChunkedTile &b) {
  SmallVector<int64_t> dims = getOrdered({a, b});
  OpBuilder &builder = getBuilder(dims);
  Value value = OpT::create(builder, loc, spread(builder, loc, a, dims),
                            spread(builder, loc, b, dims));
  return {value, dims};
}

/// Integers that add up to `value`, each over other dimensions: what places
/// have of the sum, of rows, and of neither. Sums of integers wrap and so have
/// no order.
SmallVector<ChunkedTile> ChunkBuilder::getSummands(Value value,
                                                   ArrayRef<int64_t> dims) {
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return getSummands(broadcast.getInput(), select(dims, broadcast.getDims()));
  if (auto add = dyn_cast<arith::AddIOp>(op)) {
    SmallVector<ChunkedTile> parts = getSummands(add.getLhs(), dims);
    for (const ChunkedTile &part : getSummands(add.getRhs(), dims)) {
      auto *same = llvm::find_if(parts, [&](const ChunkedTile &other) {
        return other.dims == part.dims;
      });
      if (same == parts.end())
        parts.push_back(part);
      else
        *same = combine<arith::AddIOp>(add.getLoc(), *same, part);
    }
    return parts;
  }
  auto multiply = dyn_cast<arith::MulIOp>(op);
  if (!multiply || !matchPattern(multiply.getRhs(), m_Constant()))
    return {multiply ? computeChunk(op, dims) : build(value, dims)};
  ChunkedTile factor = build(multiply.getRhs(), dims);
  return llvm::map_to_vector(
      getSummands(multiply.getLhs(), dims), [&](const ChunkedTile &part) {
        return combine<arith::MulIOp>(multiply.getLoc(), part, factor);
      });
}

/// The sum of the summands, those of fewest dimensions first: one addition for
/// each element of a chunk, however many terms a place has.
ChunkedTile ChunkBuilder::addSummands(Value value, ArrayRef<int64_t> dims) {
  SmallVector<ChunkedTile> parts = getSummands(value, dims);
  llvm::stable_sort(parts, [](const ChunkedTile &a, const ChunkedTile &b) {
    return a.dims.size() < b.dims.size();
  });
  ChunkedTile sum = parts.front();
  for (const ChunkedTile &part : llvm::drop_begin(parts))
    sum = combine<arith::AddIOp>(value.getLoc(), sum, part);
  return sum;
}

ChunkedTile ChunkBuilder::gatherChunk(GatherOp gather, ArrayRef<int64_t> dims) {
  Location loc = gather.getLoc();
  SmallVector<ChunkedTile> operands;
  for (Value operand : gather->getOperands().drop_front())
    operands.push_back(build(operand, dims));
  ChunkedTile tile;
  tile.dims = getOrdered(operands);
  if (hasTail())
    tile.dims = getOrdered({tile, {Value(), {summed}}});
  OpBuilder &builder = getBuilder(tile.dims);
  SmallVector<Value> values;
  for (const ChunkedTile &operand : operands)
    values.push_back(spread(builder, loc, operand, tile.dims));
  Value mask = gather.getMask() ? values[1] : Value();
  if (hasTail()) {
    Value isInside = spread(builder, loc, getTailMask(loc), tile.dims);
    mask =
        mask ? arith::AndIOp::create(builder, loc, mask, isInside) : isInside;
  }
  Value otherwise = gather.getOtherwise() ? values.back() : Value();
  tile.value = GatherOp::create(
      builder, loc, getType(tile.dims, gather.getType().getElementType()),
      gather.getMemref(), values.front(), mask, otherwise, /*vector=*/nullptr);
  return tile;
}

ChunkedTile ChunkBuilder::computeChunk(Operation *op, ArrayRef<int64_t> dims) {
  SmallVector<ChunkedTile> operands;
  for (Value operand : op->getOperands()) {
    bool isTile = isa<RankedTensorType>(operand.getType());
    operands.push_back(build(operand, isTile ? dims : ArrayRef<int64_t>()));
  }
  ChunkedTile tile;
  tile.dims = getOrdered(operands);
  OpBuilder &builder = getBuilder(tile.dims);
  bool isTile = isa<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Value> values;
  for (ChunkedTile &operand : operands)
    values.push_back(isTile ? spread(builder, op->getLoc(), operand, tile.dims)
                            : operand.value);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  tile.value = builder
                   .create(op->getLoc(), op->getName().getIdentifier(), values,
                           isTile ? Type(getType(tile.dims, element)) : element,
                           op->getAttrs())
                   ->getResult(0);
  return tile;
}

ChunkedTile ChunkBuilder::build(Value value, ArrayRef<int64_t> dims) {
  if (auto known = built.find(value); known != built.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  ChunkedTile tile;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant))
      constant = elements.getSplatValue<Attribute>();
    tile.value = arith::ConstantOp::create(before, value.getLoc(),
                                           cast<TypedAttr>(constant));
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    tile = loadChunk(load, dims);
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    tile = build(broadcast.getInput(), select(dims, broadcast.getDims()));
  } else if (auto splat = dyn_cast<SplatOp>(op)) {
    tile = build(splat.getInput(), {});
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    tile = gatherChunk(gather, dims);
  } else if (isa<arith::AddIOp, arith::MulIOp>(op) &&
             isa<RankedTensorType>(value.getType())) {
    tile = addSummands(value, dims);
  } else if (auto iota = dyn_cast<IotaOp>(op)) {
    if (iota.getStart() == reduce.getInductionVar())
      tile = {IotaOp::create(inside, iota.getLoc(),
                             getType(summed, iota.getType().getElementType()),
                             variable),
              {summed}};
    else
      tile = {before.clone(*op)->getResult(0), llvm::to_vector(dims)};
  } else if (op->getNumOperands() == 0) {
    tile.value = before.clone(*op)->getResult(0); // a size
  } else {
    tile = computeChunk(op, dims);
  }
  return built[value] = tile;
}

/// Loads beyond the extent are zeros, but not what is computed of these.
ChunkedTile ChunkBuilder::replaceTail(const ChunkedTile &tile) {
  Location loc = tile.value.getLoc();
  ChunkedTile mask = getTailMask(loc);
  Attribute zero = inside.getZeroAttr(getElementTypeOrSelf(tile.value));
  ChunkedTile zeros = {
      arith::ConstantOp::create(before, loc, cast<TypedAttr>(zero)), {}};
  return {arith::SelectOp::create(
              inside, loc, spread(inside, loc, mask, tile.dims), tile.value,
              spread(inside, loc, zeros, tile.dims)),
          tile.dims};
}

ChunkedTile ChunkBuilder::run() {
  findOrder();
  ChunkedTile tile = build(factor.value, factor.dims);
  // Nothing is gathered beyond the extent: zeros, unless there is another fill.
  auto gather = factor.value.getDefiningOp<GatherOp>();
  bool hasZeros =
      !factor.isMapped() ||
      (gather && (!gather.getOtherwise() ||
                  matchPattern(gather.getOtherwise(), m_AnyZeroFloat())));
  return hasTail() && !hasZeros ? replaceTail(tile) : tile;
}

ChunkedTile buildChunk(const Factor &factor, loop::ReduceOp reduce,
                       OpBuilder &before, OpBuilder &inside, Value variable,
                       int64_t chunk) {
  return ChunkBuilder(factor, reduce, before, inside, variable, chunk).run();
}

} // namespace deplo::tile
