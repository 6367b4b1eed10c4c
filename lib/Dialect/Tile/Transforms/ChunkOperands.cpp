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
// Legality: elements of a factor are computed from elements of loads, each of
// which the variable moves along one dimension of its memref, if at all. Loads
// beyond the extent of the sum give zeros, and what is computed of these is
// replaced by zeros.

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
/// element from loads; appends these, with their dimensions.
static bool
findLoads(Value value, ArrayRef<int64_t> dims, Value variable,
          SmallVectorImpl<std::pair<LoadOp, SmallVector<int64_t>>> &loads) {
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
                     variable, loads);
  if (auto splat = dyn_cast<SplatOp>(op))
    return findLoads(splat.getInput(), {}, variable, loads);
  if (isScalar(value) && isPure(op) && op->getNumOperands() == 0)
    return true; // a size
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumRegions() == 0 &&
         isPure(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return findLoads(operand,
                            isScalar(operand) ? ArrayRef<int64_t>() : dims,
                            variable, loads);
         });
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
    value = value.getDefiningOp<arith::ExtFOp>().getIn();
  factor.value = value;
  SmallVector<std::pair<LoadOp, SmallVector<int64_t>>> loads;
  if (!findLoads(value, factor.dims, variable, loads))
    return std::nullopt;
  for (auto &[load, dims] : loads)
    if (!factor.load && dims.size() == factor.dims.size() &&
        !getMovements(load, variable).empty())
      factor.load = load;
  return factor.load ? std::optional(factor) : std::nullopt;
}

/// What `value` is widened from; its own type if it isn't.
static Type getNarrowType(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  return getElementTypeOrSelf(value.getType());
}

std::optional<SumOfProducts> SumOfProducts::get(loop::ReduceOp reduce,
                                                unsigned result) {
  if (reduce.getMonoids()[result] != Monoid::Add)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(reduce.getResult(result).getType());
  auto product =
      reduce.getYield().getValues()[result].getDefiningOp<arith::MulFOp>();
  if (!type || !product)
    return std::nullopt;
  Value variable = reduce.getInductionVar();
  // Both factors are staged as they are before they are widened, if that makes
  // them the same type.
  Type narrow = getNarrowType(product.getLhs());
  bool isWidened = narrow == getNarrowType(product.getRhs()) &&
                   narrow != type.getElementType();
  std::optional<Factor> lhs =
      getFactor(product.getLhs(), variable, type.getRank(), isWidened);
  std::optional<Factor> rhs =
      getFactor(product.getRhs(), variable, type.getRank(), isWidened);
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

/// From the largest stride in memory to the smallest.
void ChunkBuilder::findOrder() {
  LoadOp load = factor.load;
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

ChunkedTile ChunkBuilder::computeChunk(Operation *op, ArrayRef<int64_t> dims) {
  SmallVector<ChunkedTile> operands;
  llvm::SmallSetVector<int64_t, 4> all;
  for (Value operand : op->getOperands()) {
    bool isTile = isa<RankedTensorType>(operand.getType());
    operands.push_back(build(operand, isTile ? dims : ArrayRef<int64_t>()));
    all.insert_range(operands.back().dims);
  }
  ChunkedTile tile;
  llvm::copy_if(order, std::back_inserter(tile.dims),
                [&](int64_t dim) { return all.contains(dim); });
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
  ChunkedTile mask = {InBoundsOp::create(inside, loc,
                                         getType(summed, inside.getI1Type()),
                                         variable, reduce.getExtent()),
                      {summed}};
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
  return factor.isMapped() && hasTail() ? replaceTail(tile) : tile;
}

ChunkedTile buildChunk(const Factor &factor, loop::ReduceOp reduce,
                       OpBuilder &before, OpBuilder &inside, Value variable,
                       int64_t chunk) {
  return ChunkBuilder(factor, reduce, before, inside, variable, chunk).run();
}

} // namespace deplo::tile
