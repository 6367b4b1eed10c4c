// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/TileDims.h"

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

bool isConstantTile(Value tile) {
  return isa<RankedTensorType>(tile.getType()) &&
         isa_and_nonnull<arith::ConstantOp, SplatOp>(tile.getDefiningOp());
}

Value reshapeConstantTile(OpBuilder &builder, Value tile,
                          ArrayRef<int64_t> shape) {
  RankedTensorType type = withShape(tile.getType(), shape);
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return SplatOp::create(builder, tile.getLoc(), type, splat.getInput());
  auto value = cast<DenseElementsAttr>(
      tile.getDefiningOp<arith::ConstantOp>().getValue());
  return arith::ConstantOp::create(
      builder, tile.getLoc(),
      DenseElementsAttr::get(type, value.getSplatValue<Attribute>()));
}

//===----------------------------------------------------------------------===//
// Relation
//===----------------------------------------------------------------------===//

TileDims::Tile TileDims::getTile(OpOperand &operand) {
  if (isConstantTile(operand.get()))
    return &operand;
  return operand.get();
}

/// Null for a value that is not a tile.
RankedTensorType TileDims::getType(Tile tile) {
  Value value =
      isa<Value>(tile) ? cast<Value>(tile) : cast<OpOperand *>(tile)->get();
  return dyn_cast<RankedTensorType>(value.getType());
}

void TileDims::unite(Tile a, unsigned dimA, Tile b, unsigned dimB) {
  relation.unionSets({a.getOpaqueValue(), dimA}, {b.getOpaqueValue(), dimB});
}

void TileDims::uniteAll(Tile a, Tile b) {
  RankedTensorType type = getType(a);
  for (unsigned dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
    unite(a, dim, b, dim);
}

void TileDims::visitElementwise(Operation *op) {
  SmallVector<Tile> tiles;
  for (OpOperand &operand : op->getOpOperands())
    tiles.push_back(getTile(operand));
  llvm::append_range(tiles, op->getResults());
  llvm::erase_if(tiles, [](Tile tile) { return !getType(tile); });
  for (Tile tile : tiles)
    uniteAll(tiles.front(), tile);
}

void TileDims::visitLoop(scf::ForOp loop) {
  for (auto [init, argument, yielded, result] :
       llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs(),
                       *loop.getYieldedValuesMutable(), loop.getResults())) {
    uniteAll(argument, getTile(init));
    uniteAll(argument, getTile(yielded));
    uniteAll(argument, result);
  }
}

void TileDims::visit(Operation *op) {
  auto insert = [&](Tile tile) {
    RankedTensorType type = getType(tile);
    for (unsigned dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
      relation.insert({tile.getOpaqueValue(), dim});
  };
  for (OpOperand &operand : op->getOpOperands())
    insert(getTile(operand));
  for (Value result : op->getResults())
    if (!isConstantTile(result))
      insert(result);

  if (isa<ConvertLayoutOp>(op) || op->hasTrait<OpTrait::Elementwise>()) {
    visitElementwise(op);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    visitLoop(loop);
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Tile input = getTile(broadcast.getInputMutable());
    for (auto [dim, target] : llvm::enumerate(broadcast.getDims()))
      unite(input, dim, broadcast.getResult(), target);
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    uniteAll(dot.getResult(), getTile(dot.getAccumulatorMutable()));
    int64_t rank = dot.getType().getRank();
    Tile lhs = getTile(dot.getLhsMutable()), rhs = getTile(dot.getRhsMutable());
    for (auto [operand, dims] :
         {std::pair(lhs, dot.getLhsDims()), std::pair(rhs, dot.getRhsDims())})
      for (auto [dim, target] : llvm::enumerate(dims))
        if (target < rank)
          unite(operand, dim, dot.getResult(), target);
    unite(lhs, DotOp::getContractedDim(dot.getLhsDims(), rank), rhs,
          DotOp::getContractedDim(dot.getRhsDims(), rank));
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Tile first = getTile(op->getOpOperand(0));
    for (OpOperand &input : reduce.getInputsMutable())
      uniteAll(first, getTile(input));
    for (Value result : op->getResults())
      for (unsigned dim = 0, rank = getType(result).getRank(); dim < rank;
           ++dim)
        unite(first, dim < reduce.getAxis() ? dim : dim + 1, result, dim);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    Tile input = getTile(scan->getOpOperand(0));
    uniteAll(input, scan.getResult());
    SmallVector<Tile> parts = {scan.getTotal()};
    if (scan.getCarry())
      parts.push_back(getTile(scan->getOpOperand(1)));
    for (Tile part : parts)
      for (unsigned dim = 0, rank = getType(part).getRank(); dim < rank; ++dim)
        unite(input, dim < scan.getAxis() ? dim : dim + 1, part, dim);
  } else if (auto scatter = dyn_cast<ClusterReduceScatterOp>(op)) {
    for (int64_t dim = 0; dim < scatter.getResult().getType().getRank(); ++dim)
      if (dim != int64_t(scatter.getDim()))
        unite(getTile(scatter->getOpOperand(0)), dim, scatter.getResult(), dim);
  } else if (auto reduce = dyn_cast<loop::ReduceOp>(op)) {
    for (auto [yielded, result] : llvm::zip_equal(
             reduce.getYield()->getOpOperands(), reduce.getResults()))
      uniteAll(result, getTile(yielded));
  }
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

static bool hasUnitStride(MemRefType type, int64_t dim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[dim] == 1;
}

/// Learns axis and extent of the classes from where an access starts and what
/// bounds it.
template <typename OpT>
void TileDims::visitAccess(OpT access, ArrayRef<unsigned> numbers) {
  MemRefType memref = access.getMemRefType();
  SmallVector<int64_t> dims =
      getSpannedDims(access.getDims(), memref.getRank(), numbers.size());
  for (auto [tileDim, memrefDim] : llvm::enumerate(dims)) {
    Class &known = classes[numbers[tileDim]];
    int64_t step = access.getSteps() ? (*access.getSteps())[tileDim] : 1;
    if (step == 1 && hasUnitStride(memref, memrefDim))
      ++known.contiguousAccesses;
    AffineIndex index = AffineIndex::get(access.getIndices()[memrefDim]);
    if (!learnAxis(known, index.base) && access.getBounds() && !index.base)
      learnBound(known, (*access.getBounds())[tileDim], index.offset, step);
  }
}

/// Tiles that start at a constant end with the bound, or before it.
void TileDims::learnBound(Class &known, int64_t bound, int64_t start,
                          int64_t step) {
  // A size that is known when the program runs is whatever its tiles are.
  if (sizes.isSymbolic(bound))
    known.extent = bound;
  else
    known.extent =
        std::min<int64_t>(known.extent, llvm::divideCeil(bound - start, step));
}

void TileDims::visitMask(InBoundsOp mask) {
  for (auto [number, corner, bound] : llvm::zip_equal(
           getClasses(mask.getResult()), mask.getCorner(), mask.getBounds()))
    if (sizes.isSymbolic(bound) && !AffineIndex::get(corner).base)
      learnBound(classes[number], bound, /*start=*/0, /*step=*/1);
}

void TileDims::numberClasses() {
  for (const auto *entry : relation) {
    if (!entry->isLeader())
      continue;
    unsigned number = classes.size();
    Class &current = classes.emplace_back();
    for (const Dim &dim : relation.members(*entry)) {
      classOf[dim] = number;
      current.members.push_back(
          {Tile::getFromOpaqueValue(dim.first), dim.second});
    }
    auto [tile, dim] = current.members.front();
    current.size = current.extent = getType(tile).getDimSize(dim);
  }
}

/// A class that starts at an axis's index is that axis.
bool TileDims::learnAxis(Class &known, Value start) {
  auto argument = dyn_cast_if_present<BlockArgument>(start);
  if (!argument || argument.getOwner() != kernel.getBody() ||
      argument.getArgNumber() < kernel.getNumMemrefs())
    return false;
  unsigned axis = argument.getArgNumber() - kernel.getNumMemrefs();
  if (axis == kernel.getClusterAxis()) {
    known.sliceStart = start;
    return false;
  }
  known.axis = axis;
  known.extent = kernel.getAxis(*known.axis).getExtent();
  return true;
}

TileDims::TileDims(KernelOp kernel)
    : kernel(kernel), sizes(SymbolicSizes::get(kernel)) {
  kernel.walk([&](Operation *op) { visit(op); });
  numberClasses();
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      visitAccess(load, getClasses(load.getResult()));
    else if (auto store = dyn_cast<StoreOp>(op))
      visitAccess(store, getClasses(store.getValueMutable()));
    else if (auto mask = dyn_cast<InBoundsOp>(op))
      visitMask(mask);
    else if (auto iota = dyn_cast<IotaOp>(op))
      for (unsigned number : getClasses(iota.getResult()))
        learnAxis(classes[number], iota.getStart());
    else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getPart()) {
      Class &known = classes[getClasses(op->getOpOperand(0))[reduce.getAxis()]];
      known.part = reduce.getPart();
      known.parts = *reduce.getParts();
    }
  });
}

SmallVector<unsigned> TileDims::getClassesOf(Tile tile) const {
  SmallVector<unsigned> numbers;
  RankedTensorType type = getType(tile);
  for (unsigned dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
    numbers.push_back(classOf.lookup_or({tile.getOpaqueValue(), dim}, noClass));
  return numbers;
}

SmallVector<unsigned> TileDims::getClasses(Value tile) const {
  return getClassesOf(tile);
}

SmallVector<unsigned> TileDims::getClasses(OpOperand &operand) const {
  return getClassesOf(getTile(operand));
}

void TileDims::resize(unsigned number, int64_t size) {
  classes[number].size = size;
  for (auto [tile, dim] : classes[number].members) {
    SmallVector<int64_t> shape(getType(tile).getShape());
    shape[dim] = size;
    if (auto *operand = dyn_cast<OpOperand *>(tile)) {
      OpBuilder builder(operand->getOwner());
      operand->set(reshapeConstantTile(builder, operand->get(), shape));
    } else {
      auto value = cast<Value>(tile);
      value.setType(withShape(value.getType(), shape));
    }
  }
}

} // namespace deplo::tile
