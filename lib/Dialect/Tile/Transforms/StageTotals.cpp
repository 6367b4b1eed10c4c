// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stage_totals: the totals of a sum over two levels wait in shared memory.
//
//   %s = scf.for %k = 0 to 4096 step 16 iter_args(%total = %zeros) {
//     ...
//     %d = tile.dot %a, %b, %zeros
//     %t = arith.addf %total, %d
//     scf.yield %t
//   }
// ->
//   %totals = tile.alloc : !tile.buffer<64x128xf32, #tile.shared<>>
//   tile.write %zeros, %totals
//   scf.for %o = 0 to 4096 step 512 {
//     %end = arith.minui(%o + 512, 4096)
//     %p = scf.for %k = %o to %end step 16 iter_args(%acc = %zeros) {
//       ...
//       %d = tile.dot %a, %b, %acc
//       scf.yield %d
//     }
//     %t = tile.read %totals
//     %u = arith.addf %t, %p
//     tile.write %u, %totals
//   }
//   %s = tile.read %totals
//
// A thread has as many totals as accumulators, and uses them once in a chunk:
// their registers are worth more as those of other warps. Copies that are in
// flight stay so from one inner loop to the next: both loops carry their
// tokens.
//
// Legality: each total is one thread's, which reads what it wrote itself, so
// that no barrier is needed. The monoid is associative by declaration; the
// order of additions is fixed, and no value takes up more than `terms`
// products.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/Analysis/TileGroups.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-stage-totals"

namespace deplo::tile {
#define GEN_PASS_DEF_STAGETOTALSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat());
}

/// What gives `part` its first value: the accumulator of a tile.dot, or what a
/// loop of them starts with.
static OpOperand *getStart(Value part) {
  if (auto dot = part.getDefiningOp<DotOp>())
    return &dot.getAccumulatorMutable();
  if (auto dot = part.getDefiningOp<AsyncDotOp>())
    return &dot.getAccumulatorMutable();
  if (auto loop = part.getDefiningOp<scf::ForOp>())
    return loop.getTiedLoopInit(cast<OpResult>(part));
  return nullptr;
}

TwoLevelSums TwoLevelSums::get(scf::ForOp loop) {
  TwoLevelSums sums{loop, {}};
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      !getConstantIntValue(loop.getStep()))
    return sums;
  for (BlockArgument total : loop.getRegionIterArgs()) {
    if (!isTile(total) || !total.hasOneUse() ||
        !isZero(loop.getTiedLoopInit(total)->get()))
      continue;
    auto add = dyn_cast<arith::AddFOp>(*total.user_begin());
    if (!add || !add->hasOneUse() || add->getBlock() != loop.getBody() ||
        loop.getTiedLoopYieldedValue(total)->get() != add.getResult())
      continue;
    Value part = add.getLhs() == total ? add.getRhs() : add.getLhs();
    OpOperand *start = getStart(part);
    if (part.hasOneUse() && start && isZero(start->get()))
      sums.sums.push_back({total, add, part, start});
  }
  return sums;
}

/// Whether several threads add to one total: then each needs its own.
static bool areShared(const TwoLevelSums &sums) {
  return llvm::any_of(sums.sums, [](const TwoLevelSums::Sum &sum) {
    LayoutAttr layout = getLayout(sum.total);
    return layout && !layout.getLinearLayout().isInjective();
  });
}

int64_t TwoLevelSums::getBytes() const {
  int64_t bytes = 0;
  for (const Sum &sum : sums) {
    RankedTensorType type = getTileType(sum.total);
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

static bool isOfTensorCores(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return !loop.getBody()->getOps<AsyncDotOp>().empty() ||
           llvm::any_of(loop.getBody()->getOps<DotOp>(), isOfTensorCores);
  auto dot = dyn_cast<DotOp>(op);
  return isa<AsyncDotOp>(op) || (dot && dot.getAtomAttr());
}

/// The lanes of a warp hold eight rows of an accumulator of tensor cores, which
/// would be on the same banks.
static void padTotals(AllocOp totals) {
  constexpr int64_t alignment = 16, mostOfBytes = 4;
  std::optional<PaddingEffect> effect = choosePadding(
      totals, alignment, totals.getType().getSizeInBytes() / mostOfBytes);
  if (effect)
    setLayout(totals, SharedAttr::get(totals.getContext(), effect->pad,
                                      /*swizzle=*/0));
}

void tile::stageTotals(TwoLevelSums &sums, int64_t chunks) {
  scf::ForOp loop = sums.loop;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  auto getConstant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value zero = getConstant(0);
  Value length = getConstant(chunks * *getConstantIntValue(loop.getStep()));
  auto getCorner = [&](RankedTensorType type) {
    return SmallVector<Value>(type.getRank(), zero);
  };
  auto read = [&](AllocOp totals, RankedTensorType type) -> Value {
    return ReadOp::create(builder, loc, type, totals, getCorner(type),
                          /*vector=*/IntegerAttr());
  };
  auto write = [&](Value tile, AllocOp totals) {
    WriteOp::create(builder, loc, tile, totals, getCorner(getTileType(tile)),
                    /*vector=*/IntegerAttr());
  };
  SmallVector<AllocOp> buffers;
  // By the position of what the loop carries.
  llvm::SmallDenseMap<unsigned, unsigned> sumAt;
  for (auto [number, sum] : llvm::enumerate(sums.sums)) {
    RankedTensorType type = getTileType(sum.total);
    buffers.push_back(AllocOp::create(
        builder, loc,
        BufferType::get(builder.getContext(), type.getShape(),
                        type.getElementType(),
                        SharedAttr::get(builder.getContext(), /*pad=*/0,
                                        /*swizzle=*/0))));
    write(sum.start->get(), buffers.back());
    sumAt[sum.total.getArgNumber() - 1] = number;
  }

  // What else the loop carries goes through both loops.
  SmallVector<Value> others;
  for (auto [position, init] : llvm::enumerate(loop.getInitArgs()))
    if (!sumAt.contains(position))
      others.push_back(init);
  auto outer = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                  loop.getUpperBound(), length, others);
  if (others.empty()) // it has its yield already
    outer.getBody()->getTerminator()->erase();
  builder.setInsertionPointToStart(outer.getBody());
  Value end = arith::MinUIOp::create(
      builder, loc,
      arith::AddIOp::create(builder, loc, outer.getInductionVar(), length),
      loop.getUpperBound());
  builder.setInsertionPointAfter(outer);
  SmallVector<Value> inits, results, yielded;
  for (auto [position, result] : llvm::enumerate(loop.getResults())) {
    auto sum = sumAt.find(position);
    if (sum == sumAt.end()) {
      inits.push_back(outer.getRegionIterArg(yielded.size()));
      results.push_back(outer.getResult(yielded.size()));
      yielded.push_back(result);
      continue;
    }
    inits.push_back(loop.getInitArgs()[position]);
    results.push_back(read(buffers[sum->second], getTileType(result)));
  }
  loop.replaceAllUsesWith(results);
  loop->moveBefore(outer.getBody(), outer.getBody()->end());
  loop.setLowerBound(outer.getInductionVar());
  loop.setUpperBound(end);
  loop.getInitArgsMutable().assign(inits);
  builder.setInsertionPointToEnd(outer.getBody());
  for (auto [sum, buffer] : llvm::zip_equal(sums.sums, buffers)) {
    Value part = loop.getTiedLoopResult(loop.getTiedLoopInit(sum.total));
    sum.start->set(sum.total);
    sum.add.replaceAllUsesWith(sum.part);
    sum.add.erase();
    write(arith::AddFOp::create(builder, loc, read(buffer, getTileType(part)),
                                part),
          buffer);
  }
  scf::YieldOp::create(builder, loc, yielded);
  for (auto [sum, buffer] : llvm::zip_equal(sums.sums, buffers))
    if (isOfTensorCores(sum.start->getOwner()))
      padTotals(buffer);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct StageTotalsPass : tile::impl::StageTotalsPassBase<StageTotalsPass> {
  using StageTotalsPassBase::StageTotalsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("StageTotals")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (terms < 1) {
      kernel.emitOpError() << "can't have terms=" << int64_t(terms)
                           << ", expected a positive number";
      return signalPassFailure();
    }
    SmallVector<TwoLevelSums> sums;
    kernel.walk([&](scf::ForOp loop) {
      TwoLevelSums found = TwoLevelSums::get(loop);
      if (!found.sums.empty())
        sums.push_back(std::move(found));
    });
    if (sums.empty()) {
      remark::missed(kernel.getLoc(), options) << "no sum has two levels";
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    for (TwoLevelSums &sum : sums) {
      if (areShared(sum)) {
        remark::missed(sum.loop.getLoc(), options)
            << "totals stay in registers: several threads have each";
        continue;
      }
      int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
      if (sum.getBytes() > left) {
        remark::missed(sum.loop.getLoc(), options) << remark::add(
            "totals of {0} bytes stay in registers: {1} has {2} bytes left",
            sum.getBytes(), target.getChip(), left);
        continue;
      }
      int64_t chunks = std::max<int64_t>(
          terms / *getConstantIntValue(sum.loop.getStep()), 1);
      remark::passed(sum.loop.getLoc(), options) << remark::add(
          "totals of {0} bytes wait in shared memory, {1} chunks at a time are "
          "added to them",
          sum.getBytes(), chunks);
      stageTotals(sum, chunks);
    }
  }
};

} // namespace
