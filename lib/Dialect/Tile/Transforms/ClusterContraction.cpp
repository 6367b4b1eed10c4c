// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cluster_reduce, of a contraction: its chunks are shared among the blocks of a
// cluster, and so are the columns of the result's tile afterwards.
//
//   axes(%i = 512 step 64 grid, %j = 2048 step 128 grid) {
//     %d = scf.for %k = 0 to 2048 step 64 {
//       %a = tile.load %x[%i, %k]
//       ... tile.dot ...
//     ... tile.store %e, %y[%i, %j] : tensor<64x128xf32>
// -> (4 blocks)
//   axes(..., %p = 128 step 32 cluster) {
//     %first = %p * 16
//     %d = scf.for %k = 0 to 512 step 64 {
//       %a = tile.load %x[%i, %k + %first]
//       ... tile.dot ...
//     %s = tile.cluster_reduce_scatter %d dim 1 : ... -> tensor<64x32xf32>
//     ... tile.store %e, %y[%i, %j + %p] : tensor<64x32xf32>
//
// What is computed of the result comes once, after the sum, as much of it in
// each block. So a product whose result has few tiles has blocks for all
// multiprocessors, and nothing goes through memory.
//
// Legality: addition is associative and commutative by declaration, and blocks
// are added in their order. Each block has as many chunks. The other part of
// the kernel is elementwise along what is shared.

#include "ClusterSupport.h"
#include "TensorizeSupport.h"

#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace deplo::tile {

scf::ForOp findChunkLoop(KernelOp kernel) {
  for (auto loop : kernel.getBody()->getOps<scf::ForOp>())
    if (!loop.getBody()->getOps<DotOp>().empty())
      return loop;
  return {};
}

/// The dimension of the results of the loop's contractions whose elements a
/// thread holds all of: N of the instruction.
static std::optional<int64_t> findSharedDim(KernelOp kernel, scf::ForOp loop,
                                            std::string &reason) {
  std::optional<int64_t> shared;
  ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || schedule.getWarpTile().size() != 2) {
    reason = "threads share out rows and columns of the result";
    return std::nullopt;
  }
  for (DotOp dot : loop.getBody()->getOps<DotOp>()) {
    FailureOr<SmallVector<int64_t>> warps = getWarpsPerDim(
        dot, schedule.getWarpTile(), kernel.getWarps().value_or(1), reason);
    if (failed(warps))
      return std::nullopt;
    auto [row, column] = dot.getRowAndColumn();
    int64_t dim = getWgmmaDims(*warps, row, column).second;
    if ((*warps)[dim] != 1 || shared.value_or(dim) != dim) {
      reason = "warps share out both dimensions of the result";
      return std::nullopt;
    }
    shared = dim;
  }
  return shared;
}

std::optional<ClusterChunks> clusterContraction(KernelOp kernel,
                                                scf::ForOp loop, int64_t blocks,
                                                std::string &reason) {
  constexpr int64_t leastSlice = 8; // columns of an instruction
  std::optional<int64_t> dim = findSharedDim(kernel, loop, reason);
  if (!dim)
    return std::nullopt;
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (getConstantIntValue(loop.getLowerBound()) != 0 || !upper || !step ||
      *upper % (*step * blocks) != 0) {
    reason = "its chunks can't be shared equally";
    return std::nullopt;
  }
  int64_t length = *upper / blocks;
  auto type = cast<RankedTensorType>(loop.getResult(0).getType());
  ClusterChunks shared{*upper / *step, blocks, type.getDimSize(*dim) / blocks};
  if (shared.slice < leastSlice || type.getDimSize(*dim) % blocks != 0 ||
      length % shared.slice != 0) {
    reason = "tiles of " + std::to_string(type.getDimSize(*dim)) +
             " columns can't be shared out among " + std::to_string(blocks) +
             " blocks";
    return std::nullopt;
  }
  for (Operation &op : *kernel.getBody())
    if (op.getNumRegions() != 0 && &op != loop) {
      reason = "the kernel has other loops";
      return std::nullopt;
    }

  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> sums(loop.getResults());
  Value start = addClusterAxis(kernel, type.getDimSize(*dim), shared.slice);
  // Where a block's chunks start.
  Value first = arith::MulIOp::create(
      builder, loc, start,
      arith::ConstantIndexOp::create(builder, loc, length / shared.slice));
  loop.setUpperBound(arith::ConstantIndexOp::create(builder, loc, length));
  builder.setInsertionPointToStart(loop.getBody());
  Value variable = loop.getInductionVar();
  auto index = arith::AddIOp::create(builder, loc, variable, first);
  variable.replaceAllUsesExcept(index, index);
  // The sums, and what follows on a part of them.
  builder.setInsertionPointAfter(loop);
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = shared.slice;
  SmallVector<std::pair<Value, Value>> parts;
  for (Value sum : sums) {
    auto part = ClusterReduceScatterOp::create(
        builder, loc, cast<RankedTensorType>(sum.getType()).clone(shape), sum,
        builder.getI64IntegerAttr(*dim));
    sum.replaceAllUsesExcept(part, part);
    parts.push_back({sum, part});
  }
  // Types first, as that is what tells dimensions apart.
  TileDims dims(kernel);
  unsigned number = dims.getClasses(parts.front().second)[*dim];
  SmallVector<TileStart> starts = findStarts(kernel, dims, number);
  dims.resize(number, shared.slice);
  for (auto [operand, scale] : starts) {
    OpBuilder before(operand->getOwner());
    Location at = operand->getOwner()->getLoc();
    Value shift = start;
    if (scale != 1)
      shift = arith::MulIOp::create(
          before, at, shift, arith::ConstantIndexOp::create(before, at, scale));
    operand->set(arith::AddIOp::create(before, at, operand->get(), shift));
  }
  return shared;
}

} // namespace deplo::tile
