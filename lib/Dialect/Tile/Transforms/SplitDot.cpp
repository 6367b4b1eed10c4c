// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_tile, of a contraction: a chunk in shared memory is added a few
// elements at a time, so that what a thread holds of the operands fits its
// registers.
//
//   %a = tile.read %s[%c0, %c0] -> tensor<64x16xf32>
//   %b = tile.read %t[%c0, %c0] -> tensor<16x32xf32>
//   %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c
//
// becomes
//
//   %d = scf.for %kk = 0 to 16 step 4 iter_args(%acc = %c) {
//     %a = tile.read %s[%c0, %kk] -> tensor<64x4xf32>
//     %b = tile.read %t[%kk, %c0] -> tensor<4x32xf32>
//     %e = tile.dot %a dims [0, 2], %b dims [2, 1], %acc
//     scf.yield %e
//   }
//
// Legality: products are added in the order that tile.dot adds them in.

#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// A part of `read`, `step` elements of dimension `dim` from `index` on.
static Value readPart(OpBuilder &builder, ReadOp read, unsigned dim,
                      Value index, int64_t step) {
  SmallVector<Value> indices(read.getIndices());
  if (AffineIndex::get(indices[dim]) == AffineIndex{Value(), 0, 0})
    indices[dim] = index;
  else
    indices[dim] =
        arith::AddIOp::create(builder, read.getLoc(), indices[dim], index);
  SmallVector<int64_t> shape(read.getType().getShape());
  shape[dim] = step;
  return ReadOp::create(
      builder, read.getLoc(),
      RankedTensorType::get(shape, read.getType().getElementType()),
      read.getBuffer(), indices, read.getVectorAttr());
}

bool tile::splitDot(DotOp dot, int64_t step) {
  auto lhs = dot.getLhs().getDefiningOp<ReadOp>();
  auto rhs = dot.getRhs().getDefiningOp<ReadOp>();
  int64_t size = dot.getContractedSize();
  if (!lhs || !rhs || size <= step)
    return false;
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto getConstant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop =
      scf::ForOp::create(builder, loc, getConstant(0), getConstant(size),
                         getConstant(step), dot.getAccumulator());
  builder.setInsertionPointToStart(loop.getBody());
  int64_t rank = dot.getType().getRank();
  auto getPart = [&](ReadOp read, ArrayRef<int64_t> dims) {
    return readPart(builder, read, DotOp::getContractedDim(dims, rank),
                    loop.getInductionVar(), step);
  };
  Value lhsPart = getPart(lhs, dot.getLhsDims());
  Value rhsPart = getPart(rhs, dot.getRhsDims());
  Value sum =
      DotOp::create(builder, loc, dot.getType(), lhsPart, dot.getLhsDims(),
                    rhsPart, dot.getRhsDims(), loop.getRegionIterArgs().front(),
                    dot.getPrecision(), dot.getAtomAttr());
  scf::YieldOp::create(builder, loc, sum);
  dot.replaceAllUsesWith(loop.getResult(0));
  dot.erase();
  for (ReadOp read : {lhs, rhs})
    if (read->use_empty())
      read.erase();
  return true;
}
