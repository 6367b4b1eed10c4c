// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shares long rows among the blocks of a cluster, or the chunks of a
// contraction (ClusterContraction.cpp).
//
//   axes(%i = 4096 step 1 grid) warps(16) {
//     %a = tile.load %x[%i, %c0] : tensor<1x65536xf32>
//     %s = tile.reduce [add] %a axis 1
//     ... tile.store %b, %y[%i, %c0] : tensor<1x65536xf32>
// -> (blocks = 4)
//   axes(%i = 4096 step 1 grid, %j = 65536 step 16384 cluster) warps(16) {
//     %a = tile.load %x[%i, %j] : tensor<1x16384xf32>
//     %p = tile.reduce [add] %a axis 1
//     %s = tile.cluster_reduce [add] %p : tensor<1xf32>
//     ... tile.store %b, %y[%i, %j] : tensor<1x16384xf32>
//
// Legality.
// L1: the tiles have one inner dimension, and it is reduced by the kernel's own
//     operations. Along it, elements are independent but for these reductions,
//     whose monoids are associative and commutative by declaration; the blocks'
//     parts are combined in a fixed order.
// L2: every access along it starts at a constant, so that a slice starts a
//     multiple of the step later. Numbers and masks shift alike.
// L3: nothing is in shared memory yet, there are no loops, and the reductions
//     are over all of a row.
// L4: the target's clusters have that many blocks, and the extent is static.

#include "ClusterSupport.h"

#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"

#define DEBUG_TYPE "deplo-cluster-reduce"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_CLUSTERREDUCEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

static std::optional<unsigned> findDim(ArrayRef<unsigned> classes,
                                       unsigned number) {
  const unsigned *it = llvm::find(classes, number);
  if (it == classes.end())
    return std::nullopt;
  return it - classes.begin();
}

/// The inner dimension of the kernel; nothing and the reason if there is not
/// exactly one (L1).
static std::optional<unsigned> findRow(KernelOp kernel, const TileDims &dims,
                                       std::string &reason) {
  std::optional<unsigned> row;
  for (unsigned number = 0; number < dims.getNumClasses(); ++number) {
    if (dims.getAxis(number) || dims.getSize(number) == 1)
      continue;
    if (row) {
      reason = "the tiles have several inner dimensions";
      return std::nullopt;
    }
    row = number;
  }
  if (!row)
    reason = "no dimension is inside of the axes";
  return row;
}

SmallVector<TileStart> findStarts(KernelOp kernel, const TileDims &dims,
                                  unsigned row) {
  SmallVector<TileStart> found;
  auto addAccess = [&](auto access, ArrayRef<unsigned> classes) {
    std::optional<unsigned> dim = findDim(classes, row);
    if (!dim)
      return;
    BoxAccess box = *BoxAccess::get(access);
    found.push_back(
        {&access.getIndicesMutable()[box.dims[*dim]], box.steps[*dim]});
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      addAccess(load, dims.getClasses(load.getResult()));
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      addAccess(store, dims.getClasses(store.getValueMutable()));
    } else if (auto mask = dyn_cast<InBoundsOp>(op)) {
      if (auto dim = findDim(dims.getClasses(mask.getResult()), row))
        found.push_back({&mask.getCornerMutable()[*dim], 1});
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      if (findDim(dims.getClasses(iota.getResult()), row))
        found.push_back({&iota.getStartMutable(), 1});
    }
  });
  return found;
}

static SmallVector<ReduceOp>
findReductions(KernelOp kernel, const TileDims &dims, unsigned row) {
  SmallVector<ReduceOp> found;
  for (auto reduce : kernel.getBody()->getOps<ReduceOp>())
    if (dims.getClasses(reduce->getOpOperand(0))[reduce.getAxis()] == row)
      found.push_back(reduce);
  return found;
}

/// L1 to L4; the reason why not, or nothing.
static std::string whyNot(KernelOp kernel, ArrayRef<TileStart> starts,
                          ArrayRef<ReduceOp> reductions) {
  for (Operation &op : *kernel.getBody()) {
    if (op.getNumRegions() != 0)
      return "the kernel has loops";
    if (isa<AllocOp>(op))
      return "inputs are in shared memory already";
  }
  if (reductions.empty())
    return "no row is reduced";
  for (ReduceOp reduce : reductions)
    if (reduce.getPart())
      return "blocks have parts of the rows already";
  for (const TileStart &start : starts)
    if (AffineIndex::get(start.index->get()).base)
      return "an access along the row starts at a coordinate that varies";
  return {};
}

Value addClusterAxis(KernelOp kernel, int64_t extent, int64_t slice) {
  SmallVector<Attribute> axes(kernel.getAxes().begin(), kernel.getAxes().end());
  axes.push_back(
      AxisAttr::get(kernel.getContext(), extent, slice, AxisKind::Cluster));
  kernel.setAxesAttr(ArrayAttr::get(kernel.getContext(), axes));
  return kernel.getBody()->addArgument(IndexType::get(kernel.getContext()),
                                       kernel.getLoc());
}

std::optional<ClusterSlices> clusterReduce(KernelOp kernel, int64_t blocks,
                                           int64_t chunk, std::string &reason) {
  TileDims dims(kernel);
  std::optional<unsigned> row = findRow(kernel, dims, reason);
  if (!row)
    return std::nullopt;
  SmallVector<TileStart> starts = findStarts(kernel, dims, *row);
  SmallVector<ReduceOp> reductions = findReductions(kernel, dims, *row);
  reason = whyNot(kernel, starts, reductions);
  int64_t extent = dims.getExtent(*row);
  if (reason.empty() && SymbolicSizes::get(kernel).isSymbolic(extent))
    reason = "the row's length is known at launch only";
  if (!reason.empty())
    return std::nullopt;
  ClusterSlices slices;
  slices.extent = extent;
  slices.slice = getClusterSlice(extent, blocks, chunk);
  slices.blocks = llvm::divideCeil(extent, slices.slice);
  slices.exchanges = reductions.size();
  if (slices.blocks == 1) {
    reason = "one block has the whole row";
    return std::nullopt;
  }

  dims.resize(*row, slices.slice);
  Value start = addClusterAxis(kernel, extent, slices.slice);
  for (auto [operand, step] : starts) {
    OpBuilder builder(operand->getOwner());
    AffineIndex index = AffineIndex::get(operand->get());
    index.scale = step;
    operand->set(index.rebuild(builder, operand->getOwner()->getLoc(), start));
  }
  for (ReduceOp reduce : reductions) {
    OpBuilder builder(reduce->getContext());
    builder.setInsertionPointAfter(reduce);
    auto total = ClusterReduceOp::create(
        builder, reduce.getLoc(), reduce.getMonoids(), reduce.getResults());
    for (auto [part, whole] :
         llvm::zip_equal(reduce.getResults(), total.getResults()))
      part.replaceAllUsesExcept(whole, total);
  }
  simplifyMasks(kernel);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return slices;
}

namespace {

struct ClusterReducePass : impl::ClusterReducePassBase<ClusterReducePass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("ClusterReduce")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    auto missed = [&](StringRef reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    if (kernel.getClusterAxis())
      return missed("a cluster shares the rows already");
    ScheduleAttr schedule = kernel.getScheduleAttr();
    int64_t most = blocks     ? int64_t(blocks)
                   : schedule ? schedule.getCluster()
                              : 1;
    int64_t size = chunk >= 0 ? int64_t(chunk)
                   : schedule ? schedule.getChunk()
                              : 0;
    if (most < 1) {
      kernel.emitOpError() << "can't have blocks=" << most
                           << " in a cluster, expected a positive number";
      return signalPassFailure();
    }
    if (most == 1)
      return missed("the schedule gives each row to one block");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    if (most > target.getBlocksPerCluster()) { // L4
      kernel.emitOpError() << "wants clusters of " << most << " blocks, and "
                           << target.getChip() << " has at most "
                           << target.getBlocksPerCluster()
                           << "; use a smaller cluster";
      return signalPassFailure();
    }
    std::string reason;
    if (scf::ForOp loop = findChunkLoop(kernel)) {
      std::optional<ClusterChunks> chunks =
          clusterContraction(kernel, loop, most, reason);
      if (!chunks)
        return missed(reason);
      remark::passed(kernel.getLoc(), options) << remark::add(
          "{0} chunks of a contraction are shared by {1} blocks of a cluster, "
          "which have {2} columns of the sum each",
          chunks->chunks, chunks->blocks, chunks->slice);
      return;
    }
    std::optional<ClusterSlices> slices =
        clusterReduce(kernel, most, size, reason);
    if (!slices)
      return missed(reason);
    remark::passed(kernel.getLoc(), options) << remark::add(
        "rows of {0} are shared by {1} blocks of a cluster, {2} each, which "
        "exchange results {3}",
        slices->extent, slices->blocks, slices->slice,
        slices->exchanges == 1 ? std::string("once")
                               : std::to_string(slices->exchanges) + " times");
  }
};

} // namespace

} // namespace deplo::tile
