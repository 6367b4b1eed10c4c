// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/TileDims.h"

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static RankedTensorType getType(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// A tile whose elements are all one scalar: it has any size that its use
/// wants.
static bool isConstantTile(Operation *op) {
  return op->getNumResults() == 1 && isTile(op->getResult(0)) &&
         isa<arith::ConstantOp, SplatOp>(op);
}

void separateConstants(KernelOp kernel) {
  SmallVector<Operation *> constants;
  kernel.walk([&](Operation *op) {
    if (isConstantTile(op))
      constants.push_back(op);
  });
  for (Operation *constant : constants) {
    OpBuilder builder(constant);
    builder.setInsertionPointAfter(constant);
    while (!constant->use_empty() && !constant->hasOneUse())
      constant->use_begin()->set(builder.clone(*constant)->getResult(0));
  }
}

void setTileShape(Value tile, ArrayRef<int64_t> shape) {
  RankedTensorType type = withShape(tile.getType(), shape);
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>()) {
    auto value = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(cast<TypedAttr>(
        DenseElementsAttr::get(type, value.getSplatValue<Attribute>())));
  }
  tile.setType(type);
}

//===----------------------------------------------------------------------===//
// Relation
//===----------------------------------------------------------------------===//

void TileDims::unite(Value a, unsigned dimA, Value b, unsigned dimB) {
  relation.unionSets({a, dimA}, {b, dimB});
}

void TileDims::uniteAll(Value a, Value b) {
  if (isTile(a) && isTile(b))
    for (unsigned dim = 0, rank = getType(a).getRank(); dim < rank; ++dim)
      unite(a, dim, b, dim);
}

void TileDims::visit(Operation *op) {
  for (Value result : op->getResults())
    if (isTile(result))
      for (unsigned dim = 0, rank = getType(result).getRank(); dim < rank;
           ++dim)
        relation.insert({result, dim});

  TypeSwitch<Operation *>(op)
      .Case([&](BroadcastOp broadcast) {
        for (auto [dim, target] : llvm::enumerate(broadcast.getDims()))
          unite(broadcast.getInput(), dim, broadcast.getResult(), target);
      })
      .Case([&](ReduceOp reduce) {
        Value first = reduce.getInputs().front();
        for (auto [input, result] :
             llvm::zip_equal(reduce.getInputs(), reduce.getResults())) {
          uniteAll(first, input);
          for (unsigned dim = 0, rank = getType(result).getRank(); dim < rank;
               ++dim)
            unite(input, dim < reduce.getAxis() ? dim : dim + 1, result, dim);
        }
      })
      .Case([&](loop::ReduceOp reduce) {
        for (auto [yielded, result] :
             llvm::zip_equal(reduce.getBody()->getTerminator()->getOperands(),
                             reduce.getResults()))
          uniteAll(yielded, result);
      })
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument, yielded, result] : llvm::zip_equal(
                 loop.getInitArgs(), loop.getRegionIterArgs(),
                 loop.getYieldedValues(), loop.getResults())) {
          uniteAll(init, argument);
          uniteAll(init, yielded);
          uniteAll(init, result);
        }
      })
      .Default([&](Operation *op) {
        if (!op->hasTrait<OpTrait::Elementwise>() && !isa<ConvertLayoutOp>(op))
          return;
        Value first;
        for (Value value : llvm::concat<Value>(
                 llvm::to_vector_of<Value>(op->getOperands()),
                 llvm::to_vector_of<Value>(op->getResults()))) {
          if (!isTile(value))
            continue;
          if (first)
            uniteAll(first, value);
          else
            first = value;
        }
      });
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Learns axis and extent of the classes from where an access starts and what
/// bounds it.
template <typename OpT>
void TileDims::visitAccess(OpT access, Value tile) {
  RankedTensorType type = getType(tile);
  SmallVector<int64_t> dims = getSpannedDims(
      access.getDims(), access.getMemRefType().getRank(), type.getRank());
  for (auto [tileDim, memrefDim] : llvm::enumerate(dims)) {
    Class &known = classes[getClass(tile, tileDim)];
    AffineIndex index = AffineIndex::get(access.getIndices()[memrefDim]);
    auto argument = dyn_cast_if_present<BlockArgument>(index.base);
    if (argument && argument.getOwner() == kernel.getBody() &&
        argument.getArgNumber() >= kernel.getNumMemrefs()) {
      known.axis = argument.getArgNumber() - kernel.getNumMemrefs();
      known.extent = kernel.getAxis(*known.axis).getExtent();
    } else if (access.getBounds() && !index.base) {
      int64_t step = access.getSteps() ? (*access.getSteps())[tileDim] : 1;
      known.extent = std::min<int64_t>(
          known.extent,
          llvm::divideCeil((*access.getBounds())[tileDim] - index.offset,
                           step));
    }
  }
}

void TileDims::number() {
  for (const auto *entry : relation) {
    if (!entry->isLeader())
      continue;
    unsigned number = classes.size();
    Class &current = classes.emplace_back();
    for (const Dim &dim : relation.members(*entry)) {
      classOf[dim] = number;
      current.members.push_back(dim);
    }
    auto [tile, dim] = current.members.front();
    current.size = current.extent = getType(tile).getDimSize(dim);
  }
}

TileDims::TileDims(KernelOp kernel) : kernel(kernel) {
  separateConstants(kernel);
  kernel.walk([&](Operation *op) { visit(op); });
  number();
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      visitAccess(load, load.getResult());
    else if (auto store = dyn_cast<StoreOp>(op))
      visitAccess(store, store.getValue());
  });
}

unsigned TileDims::getClass(Value tile, unsigned dim) const {
  auto it = classOf.find({tile, dim});
  assert(it != classOf.end() && "not a tile of the kernel");
  return it->second;
}

SmallVector<unsigned> TileDims::getClasses(Value tile) const {
  SmallVector<unsigned> result;
  for (unsigned dim = 0, rank = getType(tile).getRank(); dim < rank; ++dim)
    result.push_back(getClass(tile, dim));
  return result;
}

void TileDims::resize(unsigned number, int64_t size) {
  classes[number].size = size;
  for (auto [tile, dim] : classes[number].members) {
    SmallVector<int64_t> shape(getType(tile).getShape());
    shape[dim] = size;
    setTileShape(tile, shape);
  }
}

} // namespace deplo::tile
