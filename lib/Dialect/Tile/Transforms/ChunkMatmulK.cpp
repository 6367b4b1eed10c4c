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
// Legality: the reduction adds products of two loads (or of what extends them
// to the accumulator's type), and both depend on the reduced coordinate along
// one dimension of their memrefs. Chunks are added in ascending order. Elements
// beyond the extent are masked to zero in both operands and add nothing. Sums
// with several results have a loop for each. The monoid is associative by
// declaration, so that chunks may be summed apart.

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
// Operands
//===----------------------------------------------------------------------===//

namespace {

/// A factor of the products that a reduction adds.
struct Factor {
  LoadOp load;
  /// The dimension of the accumulator that each dimension of the load is.
  SmallVector<int64_t> dims;
  /// The memref dimension that the reduced coordinate moves, and by how much.
  int64_t reducedDim = 0;
  AffineIndex reducedIndex;
};

} // namespace

/// The load that `value` is, extended and broadcast as may be.
static std::optional<Factor> getFactor(Value value, Value variable,
                                       int64_t rank) {
  Factor factor;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    factor.dims = llvm::to_vector(broadcast.getDims());
    value = broadcast.getInput();
  } else {
    factor.dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  factor.load = value.getDefiningOp<LoadOp>();
  if (!factor.load)
    return std::nullopt;
  unsigned moved = 0;
  for (auto [dim, index] : llvm::enumerate(factor.load.getIndices())) {
    AffineIndex coordinate = AffineIndex::get(index);
    if (coordinate.base != variable)
      continue;
    ++moved;
    factor.reducedDim = dim;
    factor.reducedIndex = coordinate;
  }
  if (moved != 1 || factor.reducedIndex.scale < 1)
    return std::nullopt;
  return factor;
}

namespace {

/// A reduction that adds products.
struct SumOfProducts {
  loop::ReduceOp reduce;
  Factor lhs, rhs;

  static std::optional<SumOfProducts> get(loop::ReduceOp reduce,
                                          unsigned result = 0);
};

} // namespace

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
  std::optional<Factor> lhs =
      getFactor(product.getLhs(), variable, type.getRank());
  std::optional<Factor> rhs =
      getFactor(product.getRhs(), variable, type.getRank());
  // Each has a dimension that the other has not: all else is a reduction that
  // reads each element once.
  auto hasOwn = [](const Factor &factor, const Factor &other) {
    return llvm::any_of(factor.dims, [&](int64_t dim) {
      return !llvm::is_contained(other.dims, dim);
    });
  };
  if (!lhs || !rhs || !hasOwn(*lhs, *rhs) || !hasOwn(*rhs, *lhs) ||
      lhs->load.getType().getElementType() !=
          rhs->load.getType().getElementType())
    return std::nullopt;
  return SumOfProducts{reduce, *lhs, *rhs};
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Loads a chunk of `factor` at `variable`; `dims` are those of the result. The
/// tile's dimensions go from the largest stride in memory to the smallest.
static Value loadChunk(OpBuilder &builder, const Factor &factor, Value variable,
                       int64_t chunk, int64_t extent, int64_t rank,
                       SmallVector<int64_t> &dims) {
  LoadOp load = factor.load;
  Location loc = load.getLoc();
  BoxAccess box = *BoxAccess::get(load);
  struct Dim {
    int64_t stride, memrefDim, step, size, bound, resultDim;
  };
  auto [strides, offset] = load.getMemRefType().getStridesAndOffset();
  SmallVector<Dim> list;
  for (auto [t, memrefDim] : llvm::enumerate(box.dims))
    list.push_back({strides[memrefDim], memrefDim, box.steps[t], box.shape[t],
                    load.getMemRefType().getDimSize(memrefDim),
                    factor.dims[t]});
  int64_t step = factor.reducedIndex.scale;
  list.push_back({strides[factor.reducedDim], factor.reducedDim, step, chunk,
                  factor.reducedIndex.offset + (extent - 1) * step + 1, rank});
  llvm::stable_sort(
      list, [](const Dim &a, const Dim &b) { return a.stride > b.stride; });

  SmallVector<int64_t> memrefDims, steps, bounds, shape;
  for (const Dim &dim : list) {
    memrefDims.push_back(dim.memrefDim);
    steps.push_back(dim.step);
    bounds.push_back(dim.bound);
    shape.push_back(dim.size);
    dims.push_back(dim.resultDim);
  }
  SmallVector<Value> indices(load.getIndices());
  indices[factor.reducedDim] =
      factor.reducedIndex.rebuild(builder, loc, variable);
  bool isDefault = memrefDims == getSpannedDims(std::nullopt, indices.size(),
                                                memrefDims.size());
  bool hasSteps = llvm::any_of(steps, [](int64_t step) { return step != 1; });
  bool hasTail = extent % chunk != 0;
  return LoadOp::create(
      builder, loc,
      RankedTensorType::get(shape, load.getType().getElementType()),
      load.getMemref(), indices,
      isDefault ? nullptr : builder.getDenseI64ArrayAttr(memrefDims),
      hasSteps ? builder.getDenseI64ArrayAttr(steps) : nullptr,
      hasTail ? builder.getDenseI64ArrayAttr(bounds) : nullptr,
      /*vector=*/nullptr);
}

static void chunk(const SumOfProducts &sum, int64_t chunk, Precision precision,
                  bool twoLevels) {
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
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<int64_t> lhsDims, rhsDims;
  Value lhs = loadChunk(builder, sum.lhs, loop.getInductionVar(), chunk, extent,
                        type.getRank(), lhsDims);
  Value rhs = loadChunk(builder, sum.rhs, loop.getInductionVar(), chunk, extent,
                        type.getRank(), rhsDims);
  bool isF32 = cast<RankedTensorType>(lhs.getType()).getElementType().isF32();
  Value total = loop.getRegionIterArgs().front();
  Value dot = DotOp::create(
      builder, loc, type, lhs, lhsDims, rhs, rhsDims, twoLevels ? zeros : total,
      isF32 ? precision : Precision::IEEE, /*atom=*/AtomAttr());
  if (twoLevels)
    dot = arith::AddFOp::create(builder, loc, total, dot);
  scf::YieldOp::create(builder, loc, dot);
  reduce.replaceAllUsesWith(loop.getResults());
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
    LoadOp operand = sum.lhs.load;
    bool twoLevels =
        precision == Precision::IEEE &&
        sumsInTwoLevels(reduce.getExtent(),
                        operand.getType().getElementTypeBitWidth() / 8);
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
          << (isContraction ? "no reduction adds products of two loads"
                            : "the schedule is not one of a contraction");
      return markAllAnalysesPreserved();
    }
    remark::passed(kernel.getLoc(), options) << remark::add(
        "{0} sums of products go over chunks of {1}{2}", chunked.count, size,
        chunked.inTwoLevels ? ", each summed from zero" : "");
  }
};

} // namespace
