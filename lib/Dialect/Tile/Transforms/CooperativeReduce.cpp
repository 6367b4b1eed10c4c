// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a reduced dimension a dimension of tiles, which threads share.
//
//   %s = loop.reduce add %k = 0 to 2048 : tensor<32xf32> {
//     %a = tile.load %x[%i, %k] dims [0] : tensor<32xf32>
//     %b = arith.mulf %a, %a : tensor<32xf32>
//     loop.yield %b : tensor<32xf32>
//   }
// ->
//   %a = tile.load %x[%i, %c0] : tensor<32x2048xf32>
//   %b = arith.mulf %a, %a : tensor<32x2048xf32>
//   %s = tile.reduce [add] %b axis 1 : tensor<32x2048xf32> -> tensor<32xf32>
//
// Legality. The monoid is associative and commutative by declaration, and the
// body has no effects, so its iterations can run at once. Nothing that a kernel
// loads is stored to by it (C2 of loop.kernel), so loads may move and equal
// loads be one: what a later sweep of the row reads is the tile that the
// reduction has read.

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "deplo-cooperative-reduce"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_COOPERATIVEREDUCEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

namespace {

/// Rewrites one reduction loop whose body has no other.
class ReductionWidener {
public:
  explicit ReductionWidener(loop::ReduceOp reduce)
      : reduce(reduce), builder(reduce) {}

  void run();

private:
  void widen(Operation *op);
  Value widenLoad(LoadOp load);
  Value widenBroadcast(BroadcastOp broadcast);
  void widenIndex(Operation *op);
  /// The type with the reduced dimension at the end.
  RankedTensorType getWideType(Type type) {
    auto tile = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tile.getShape());
    shape.push_back(reduce.getExtent());
    return withShape(tile, shape);
  }
  /// The value over the reduced dimension; repeated if it doesn't vary.
  Value getWide(Value tile);
  bool varies(Value value) {
    return wide.count(value) || value == reduce.getInductionVar() ||
           varyingIndices.contains(value);
  }

  loop::ReduceOp reduce;
  OpBuilder builder;
  DenseMap<Value, Value> wide;
  DenseSet<Value> varyingIndices;
};

} // namespace

Value ReductionWidener::getWide(Value tile) {
  if (Value known = wide.lookup(tile))
    return known;
  RankedTensorType type = getWideType(tile.getType());
  if (isConstantTile(tile))
    return reshapeConstantTile(builder, tile, type.getShape());
  if (auto broadcast = tile.getDefiningOp<BroadcastOp>())
    return BroadcastOp::create(builder, tile.getLoc(), type,
                               broadcast.getInput(), broadcast.getDims());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  return BroadcastOp::create(builder, tile.getLoc(), type, tile, dims);
}

Value ReductionWidener::widenLoad(LoadOp load) {
  RankedTensorType tile = load.getType();
  SmallVector<int64_t> dims = getSpannedDims(
      load.getDims(), load.getMemRefType().getRank(), tile.getRank());
  SmallVector<int64_t> steps(tile.getRank(), 1);
  if (load.getSteps())
    steps.assign(load.getSteps()->begin(), load.getSteps()->end());
  SmallVector<Value> indices(load.getIndices());
  for (auto [memrefDim, index] : llvm::enumerate(indices)) {
    AffineIndex affine = AffineIndex::get(index);
    if (affine.base != reduce.getInductionVar())
      continue;
    index = affine.rebuild(builder, load.getLoc(), /*newBase=*/Value());
    dims.push_back(memrefDim);
    steps.push_back(affine.scale);
  }
  DenseI64ArrayAttr dimsAttr, stepsAttr;
  if (dims != getSpannedDims(std::nullopt, indices.size(), dims.size()))
    dimsAttr = builder.getDenseI64ArrayAttr(dims);
  if (llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    stepsAttr = builder.getDenseI64ArrayAttr(steps);
  return LoadOp::create(builder, load.getLoc(), getWideType(tile),
                        load.getMemref(), indices, dimsAttr, stepsAttr,
                        /*bounds=*/nullptr, /*vector=*/nullptr);
}

Value ReductionWidener::widenBroadcast(BroadcastOp broadcast) {
  RankedTensorType type = getWideType(broadcast.getType());
  SmallVector<int64_t> dims(broadcast.getDims());
  dims.push_back(type.getRank() - 1);
  return BroadcastOp::create(builder, broadcast.getLoc(), type,
                             getWide(broadcast.getInput()), dims);
}

void ReductionWidener::widen(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value v) { return varies(v); })) {
    op->moveBefore(reduce);
    return;
  }
  TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) { wide[load.getResult()] = widenLoad(load); })
      .Case([&](BroadcastOp broadcast) {
        wide[broadcast.getResult()] = widenBroadcast(broadcast);
      })
      .Case([&](IotaOp iota) {
        Value start = arith::ConstantIndexOp::create(builder, iota.getLoc(), 0);
        wide[iota.getResult()] =
            IotaOp::create(builder, iota.getLoc(),
                           getWideType(iota.getResult().getType()), start);
      })
      .Default([&](Operation *op) {
        // Index arithmetic is folded into the loads that it is for.
        if (op->getResult(0).getType().isIndex()) {
          varyingIndices.insert(op->getResult(0));
          return;
        }
        // Elementwise operations, and reductions over other dimensions.
        IRMapping operands;
        for (Value operand : op->getOperands())
          if (isa<RankedTensorType>(operand.getType()))
            operands.map(operand, getWide(operand));
        Operation *result = builder.clone(*op, operands);
        for (auto [before, after] :
             llvm::zip_equal(op->getResults(), result->getResults())) {
          after.setType(getWideType(before.getType()));
          wide[before] = after;
        }
      });
}

void ReductionWidener::run() {
  for (Operation &op :
       llvm::make_early_inc_range(reduce.getBody()->without_terminator()))
    widen(&op);
  SmallVector<Value> inputs;
  for (Value yielded : reduce.getYield().getValues())
    inputs.push_back(getWide(yielded));
  auto axis = cast<RankedTensorType>(inputs.front().getType()).getRank() - 1;
  auto result =
      ReduceOp::create(builder, reduce.getLoc(), reduce.getMonoids(), inputs,
                       axis, reduce.getPart(), reduce.getParts());
  reduce.replaceAllUsesWith(result.getResults());
  reduce.erase();
}

/// Equal loads become one. General CSE keeps them apart if there is a store
/// between them.
static void mergeLoads(KernelOp kernel) {
  SmallVector<LoadOp> loads;
  for (LoadOp load :
       llvm::make_early_inc_range(kernel.getBody()->getOps<LoadOp>())) {
    auto *equal = llvm::find_if(loads, [&](LoadOp other) {
      return OperationEquivalence::isEquivalentTo(
          load, other, OperationEquivalence::IgnoreLocations);
    });
    if (equal == loads.end()) {
      loads.push_back(load);
      continue;
    }
    load.getResult().replaceAllUsesWith(equal->getResult());
    load.erase();
  }
}

/// Whether `reduce` is over a window: few elements, gathered for each result by
/// itself. A thread folds its own windows then; neighbouring ones overlap, and
/// threads have more neighbours along the results than in a window.
static bool isWindow(loop::ReduceOp reduce) {
  constexpr int64_t maxElements = 128;
  bool gathers = false, isWindow = reduce.getExtent() <= maxElements;
  reduce.getBody()->walk([&](Operation *op) {
    gathers |= isa<GatherOp>(op);
    isWindow &= !isa<LoadOp>(op);
  });
  return gathers && isWindow;
}

unsigned reduceCooperatively(KernelOp kernel) {
  // Inner reductions come first in a post-order walk. Around one that stays a
  // loop all do.
  SmallVector<loop::ReduceOp> reductions;
  kernel.walk([&](loop::ReduceOp reduce) {
    bool hasInner = reduce.getBody()
                        ->walk([](loop::ReduceOp inner) {
                          return isWindow(inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
                        })
                        .wasInterrupted();
    if (!hasInner && !isWindow(reduce))
      reductions.push_back(reduce);
  });
  for (loop::ReduceOp reduce : reductions)
    ReductionWidener(reduce).run();
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  mergeLoads(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return reductions.size();
}

namespace {

struct CooperativeReducePass
    : impl::CooperativeReducePassBase<CooperativeReducePass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("CooperativeReduce")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<int64_t> extents;
    kernel.walk(
        [&](loop::ReduceOp reduce) { extents.push_back(reduce.getExtent()); });
    if (reduceCooperatively(kernel) == 0) {
      remark::missed(kernel.getLoc(), options)
          << remark::add("the kernel has no reduction");
      return;
    }
    std::string list = llvm::join(
        llvm::map_range(extents, [](int64_t n) { return std::to_string(n); }),
        ", ");
    remark::passed(kernel.getLoc(), options)
        << remark::add("threads share reductions over {0} elements", list);
  }
};

} // namespace

} // namespace deplo::tile
