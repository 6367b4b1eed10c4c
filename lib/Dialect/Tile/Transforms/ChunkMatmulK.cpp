// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// chunk_matmul_k: the sum of a contraction goes over chunks.
//
//   %s = loop.reduce add %k = 0 to 512 : tensor<64x32xf32> {
//     %a = tile.load %x[%i, %k] dims [0] : tensor<64xf32>
//     %b = tile.load %w[%k, %j] : tensor<32xf32>
//     ... broadcast both, multiply, yield
//   }
// -> (chunk = 16)
//   %s = scf.for %k = 0 to 512 step 16 iter_args(%acc = zeros) {
//     %a = tile.load %x[%i, %k] : tensor<64x16xf32>
//     %b = tile.load %w[%k, %j] : tensor<16x32xf32>
//     %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc
//     scf.yield %d
//   }
//
// Long sums of f32 have two levels: each chunk is summed from zero, and what it
// comes to is added to the total,
//
//     %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros
//     %t = arith.addf %acc, %d
//     scf.yield %t
//
// because the error of a sum grows with the terms that one value takes up.
//
// With precision f32, what tensor cores make infinite or NaN of pieces of the
// factors is computed again from these,
//
//   %r = tile.recompute %s, %x[%i] ..., %w[%j] ... depth 512
//
// and is what IEEE 754 says.
//
// Legality: the reduction adds products of two factors (or of what extends them
// to the accumulator's type), each a load or computed from loads element by
// element (ChunkOperands). Chunks are added in ascending order. Elements
// beyond the extent are masked to zero in both operands and add nothing. Sums
// with several results have a loop for each. The monoid is associative by
// declaration, so that chunks may be summed apart.

#include "ChunkOperands.h"
#include "PassSupport.h"
#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-chunk-matmul-k"

namespace deplo::tile {
#define GEN_PASS_DEF_CHUNKMATMULKPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Where in memory the products of `factor` with the accumulator's coordinates
/// and the reduced one are; appends what the symbols of the map stand for.
static AffineMap getAccessMap(const Factor &factor, Value variable,
                              int64_t rank, SmallVectorImpl<Value> &symbols) {
  LoadOp load = factor.load;
  BoxAccess box = *BoxAccess::get(load);
  MLIRContext *context = load.getContext();
  SmallVector<AffineExpr> coordinates;
  for (Value index : load.getIndices()) {
    AffineIndex moved = AffineIndex::get(index);
    if (moved.base == variable) {
      coordinates.push_back(getAffineDimExpr(rank, context) * moved.scale +
                            moved.offset);
      continue;
    }
    coordinates.push_back(getAffineSymbolExpr(symbols.size(), context));
    symbols.push_back(index);
  }
  for (auto [tileDim, dim, step] : llvm::enumerate(box.dims, box.steps))
    coordinates[dim] = coordinates[dim] +
                       getAffineDimExpr(factor.dims[tileDim], context) * step;
  return AffineMap::get(rank + 1, symbols.size(), coordinates, context);
}

/// `total`, the sum in pieces, with what is not finite computed again.
static Value recompute(OpBuilder &builder, const SumOfProducts &sum,
                       Value total, int64_t depth) {
  int64_t rank = cast<RankedTensorType>(total.getType()).getRank();
  SmallVector<Value> lhsIndices, rhsIndices;
  loop::ReduceOp reduce = sum.reduce;
  Value variable = reduce.getInductionVar();
  AffineMap lhsMap = getAccessMap(sum.lhs, variable, rank, lhsIndices);
  AffineMap rhsMap = getAccessMap(sum.rhs, variable, rank, rhsIndices);
  LoadOp lhs = sum.lhs.load, rhs = sum.rhs.load;
  return RecomputeOp::create(builder, total.getLoc(), total.getType(), total,
                             lhs.getMemref(), lhsIndices, lhsMap,
                             rhs.getMemref(), rhsIndices, rhsMap, depth);
}

static void chunk(const SumOfProducts &sum, int64_t chunk, Precision precision,
                  bool twoLevels) {
  // What is computed of loads can't be computed again from memory alone.
  if (isOfPieces(precision) && (sum.lhs.isMapped() || sum.rhs.isMapped()))
    precision = Precision::IEEE;
  loop::ReduceOp reduce = sum.reduce;
  Location loc = reduce.getLoc();
  auto type = cast<RankedTensorType>(reduce.getResult(0).getType());
  int64_t extent = reduce.getExtent();
  OpBuilder builder(reduce);
  auto getConstant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value zeros = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  auto loop = scf::ForOp::create(builder, loc, getConstant(0),
                                 getConstant(llvm::alignTo(extent, chunk)),
                                 getConstant(chunk), zeros);
  // The coordinates that don't vary along the sum are computed before it.
  for (Operation &op :
       llvm::make_early_inc_range(reduce.getBody()->without_terminator()))
    if (isPure(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          return operand.getParentBlock() != reduce.getBody();
        }))
      op.moveBefore(loop);
  OpBuilder before(loop);
  builder.setInsertionPointToStart(loop.getBody());
  auto build = [&](const Factor &factor) {
    return buildChunk(factor, reduce, before, builder, loop.getInductionVar(),
                      chunk);
  };
  ChunkedTile lhs = build(sum.lhs), rhs = build(sum.rhs);
  bool isF32 = getElementTypeOrSelf(lhs.value).isF32();
  Value total = loop.getRegionIterArgs().front();
  Value dot =
      DotOp::create(builder, loc, type, lhs.value, lhs.dims, rhs.value,
                    rhs.dims, twoLevels ? zeros : total,
                    isF32 ? precision : Precision::IEEE, /*atom=*/AtomAttr());
  if (twoLevels)
    dot = arith::AddFOp::create(builder, loc, total, dot);
  scf::YieldOp::create(builder, loc, dot);
  builder.setInsertionPointAfter(loop);
  Value result = loop.getResult(0);
  if (isF32 && isOfPieces(precision))
    result = recompute(builder, sum, result, extent);
  reduce.replaceAllUsesWith(ValueRange(result));
  reduce.erase();
}

/// A reduction of its own for each result of `reduce`.
static SmallVector<loop::ReduceOp> splitResults(loop::ReduceOp reduce) {
  if (reduce.getNumResults() == 1)
    return {reduce};
  SmallVector<loop::ReduceOp> parts;
  for (OpResult result : reduce->getResults()) {
    OpBuilder builder(reduce);
    unsigned number = result.getResultNumber();
    Monoid monoid = reduce.getMonoids()[number];
    auto part = loop::ReduceOp::create(builder, reduce.getLoc(), monoid,
                                       reduce.getExtent(), result.getType());
    IRMapping mapping;
    mapping.map(reduce.getInductionVar(), part.getInductionVar());
    builder.setInsertionPointToEnd(part.getBody());
    for (Operation &op : reduce.getBody()->without_terminator())
      builder.clone(op, mapping);
    loop::YieldOp::create(
        builder, reduce.getLoc(),
        mapping.lookup(reduce.getYield().getValues()[number]));
    result.replaceAllUsesWith(part.getResult(0));
    parts.push_back(part);
  }
  reduce.erase();
  return parts;
}

ChunkedContractions tile::chunkContractions(KernelOp kernel, int64_t size,
                                            int64_t least,
                                            Precision precision) {
  SmallVector<loop::ReduceOp> reductions;
  kernel.walk([&](loop::ReduceOp reduce) {
    if (llvm::all_of(llvm::seq(reduce.getNumResults()), [&](unsigned result) {
          return SumOfProducts::get(reduce, result).has_value();
        }))
      reductions.push_back(reduce);
  });
  SmallVector<SumOfProducts> sums;
  for (loop::ReduceOp reduce : reductions)
    for (loop::ReduceOp part : splitResults(reduce))
      sums.push_back(*SumOfProducts::get(part));
  ChunkedContractions chunked;
  for (const SumOfProducts &sum : sums) {
    loop::ReduceOp reduce = sum.reduce;
    Type operand = getElementTypeOrSelf(sum.lhs.value);
    // wgmma of pieces keeps what rounding takes from its sums.
    bool twoLevels = precision != Precision::TF32 &&
                     !kernel->hasAttr(piecesAttrName) &&
                     getElementTypeOrSelf(reduce.getResult(0)).isF32() &&
                     sumsInTwoLevels(reduce.getExtent(),
                                     operand.getIntOrFloatBitWidth() / 8);
    int64_t whole =
        std::max<int64_t>(llvm::PowerOf2Ceil(reduce.getExtent()), least);
    chunk(sum, std::min(size, whole), precision, twoLevels);
    ++chunked.count;
    chunked.inTwoLevels += twoLevels;
  }
  return chunked;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct ChunkMatmulKPass : tile::impl::ChunkMatmulKPassBase<ChunkMatmulKPass> {
  using ChunkMatmulKPassBase::ChunkMatmulKPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("ChunkMatmulK")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    ScheduleAttr schedule = kernel.getScheduleAttr();
    bool isContraction =
        chunkSize != 0 || (schedule && (!schedule.getThread().empty() ||
                                        !schedule.getWarpTile().empty()));
    int64_t size = chunkSize != 0 ? int64_t(chunkSize)
                   : schedule     ? schedule.getChunk()
                                  : 0;
    if (isContraction && (size < 1 || !llvm::isPowerOf2_64(size))) {
      kernel.emitOpError() << "can't have chunk=" << size
                           << ", expected a power of two";
      return signalPassFailure();
    }
    // Tensor cores take whole instructions.
    bool isFMA = !schedule || schedule.getAtom() == AtomKind::FMA;
    ChunkedContractions chunked;
    if (isContraction)
      chunked = chunkContractions(kernel, size, isFMA ? 1 : size,
                                  schedule ? schedule.getPrecision()
                                           : Precision::IEEE);
    if (chunked.count == 0) {
      remark::missed(kernel.getLoc(), options)
          << (isContraction ? "no reduction adds products of two operands"
                            : "the schedule is not one of a contraction");
      return markAllAnalysesPreserved();
    }
    remark::passed(kernel.getLoc(), options) << remark::add(
        "{0} sums of products go over chunks of {1}{2}", chunked.count, size,
        chunked.inTwoLevels ? ", each summed from zero" : "");
  }
};

} // namespace
