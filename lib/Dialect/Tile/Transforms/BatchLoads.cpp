// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// batch_loads: the loads of several iterations start before their stores.
//
//   scf.for %k = %c0 to %c8192 step %c1024 {
//     %a = tile.load %x[%k]
//     tile.store %a, %y[%k]
//   } {tile.unroll = 2 : i64}
//
// becomes
//
//   scf.for %k = %c0 to %c8192 step %c2048 {
//     %n = arith.addi %k, %c1024
//     %a = tile.load %x[%k]
//     %b = tile.load %x[%n]
//     tile.store %a, %y[%k]
//     tile.store %b, %y[%n]
//   }
//
// Where a row is on chip and registers are free, the loads of the next
// iterations start before those of this one are used (prefetch_chunks,
// hoist_loads).
//
// Nobody after this step may move a load past a store: where kernels overlap,
// pointers that are read are not known to be read only (programmatic_launch).
//
// Legality:
//   L1: the loop carries nothing and has constant bounds; iterations keep their
//       order.
//   L2: the kernel does not store to what is loaded, so a load gives the same
//       values earlier, and coordinates are computed without effects, from
//       values of before the loop and from such loads.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "deplo-batch-loads"

namespace deplo::tile {
#define GEN_PASS_DEF_BATCHLOADSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static constexpr llvm::StringLiteral unrollName = "tile.unroll";

/// A load from memory that the kernel does not store to (L2).
static bool isMovableLoad(Operation *op) {
  if (!isa<LoadOp, GatherOp>(op))
    return false;
  Value memref = op->getOperand(0);
  return llvm::none_of(memref.getUsers(), llvm::IsaPred<StoreOp>);
}

/// Whether `op` and all of the loop's body that it depends on may come first.
static bool mayComeFirst(Operation *op, Block *body) {
  if (!isMovableLoad(op) && (!isPure(op) || op->getNumRegions() != 0))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !source || source->getBlock() != body || mayComeFirst(source, body);
  });
}

/// The loads of `loop` that may come before its stores; none if it stores
/// nothing.
static SmallVector<Operation *> findLoads(scf::ForOp loop) {
  SmallVector<Operation *> loads;
  bool hasStore = false;
  for (Operation &op : *loop.getBody()) {
    if (op.getNumRegions() != 0)
      return {};
    hasStore |= isa<StoreOp>(op);
    if (isMovableLoad(&op) && mayComeFirst(&op, loop.getBody()))
      loads.push_back(&op);
  }
  return hasStore ? loads : SmallVector<Operation *>();
}

/// Moves `op`, after what it depends on, behind `last`, which is then the last
/// of those at the front of `body`.
static void moveToFront(Operation *op, Block *body, Operation *&last,
                        DenseSet<Operation *> &moved) {
  if (!moved.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && source->getBlock() == body)
      moveToFront(source, body, last, moved);
  if (last)
    op->moveAfter(last);
  else
    op->moveBefore(&body->front());
  last = op;
}

int64_t tile::getBatch(scf::ForOp loop, int64_t registers) {
  auto factor = loop->getAttrOfType<IntegerAttr>(unrollName);
  if (!factor || loop.getNumRegionIterArgs() != 0 ||
      !getConstantIntValue(loop.getLowerBound()) ||
      !getConstantIntValue(loop.getUpperBound()) ||
      !getConstantIntValue(loop.getStep()))
    return 1;
  int64_t each = 0;
  for (Operation *load : findLoads(loop))
    each += getRegisters(load->getResult(0));
  if (each == 0)
    return 1;
  int64_t batch = std::min(factor.getInt(), registers / each);
  while (batch > 1 && factor.getInt() % batch != 0)
    --batch;
  return std::max<int64_t>(batch, 1);
}

void tile::batchLoads(scf::ForOp loop, int64_t batch) {
  int64_t from = *getConstantIntValue(loop.getLowerBound()),
          to = *getConstantIntValue(loop.getUpperBound()),
          step = *getConstantIntValue(loop.getStep()),
          factor = loop->getAttrOfType<IntegerAttr>(unrollName).getInt();
  int64_t whole = llvm::divideCeil(to - from, step) / batch * batch * step;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto getIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (from + whole < to) {
    builder.setInsertionPointAfter(loop);
    auto rest = cast<scf::ForOp>(builder.clone(*loop));
    rest->removeAttr(unrollName);
    builder.setInsertionPoint(loop);
    rest.setLowerBound(getIndex(from + whole));
    loop.setUpperBound(getIndex(from + whole));
  }
  loop.setStep(getIndex(batch * step));
  if (factor > batch)
    loop->setAttr(unrollName, builder.getI64IntegerAttr(factor / batch));
  else
    loop->removeAttr(unrollName);
  SmallVector<Value> steps;
  for (int64_t i = 1; i < batch; ++i)
    steps.push_back(getIndex(i * step));

  Block *body = loop.getBody();
  SmallVector<Operation *> iteration;
  for (Operation &op : body->without_terminator())
    iteration.push_back(&op);
  builder.setInsertionPoint(body->getTerminator());
  for (Value offset : steps) {
    IRMapping mapping;
    mapping.map(
        loop.getInductionVar(),
        arith::AddIOp::create(builder, loc, loop.getInductionVar(), offset)
            .getResult());
    for (Operation *op : iteration)
      builder.clone(*op, mapping);
  }
  Operation *last = nullptr;
  DenseSet<Operation *> moved;
  for (Operation *load : findLoads(loop))
    moveToFront(load, body, last, moved);
}

/// Whether what the next iterations of `loop` load may come while the row that
/// this one reads is on chip: what all rows share comes from L2, and there are
/// few other blocks to use the time.
static bool mayLoadAhead(scf::ForOp loop, int64_t spareRegisters) {
  int64_t ahead = 0;
  for (LoadOp load : loop.getOps<LoadOp>())
    ahead += getRegisters(load.getResult());
  return !loop.getBody()->getOps<ReadOp>().empty() &&
         2 * ahead <= spareRegisters;
}

/// Registers of a thread that are free in the blocks that shared memory has
/// room for, beside `used` ones.
static int64_t getSpareRegisters(KernelOp kernel, TargetAttr target,
                                 int64_t used) {
  int64_t warps = kernel.getWarps().value_or(1);
  int64_t blocks = target.getWarpsPerMultiprocessor() / warps;
  if (int64_t bytes = getSharedBytes(kernel))
    blocks = std::min(blocks, target.getSharedPerMultiprocessor() / bytes);
  constexpr int64_t lanes = 32;
  return target.getRegistersPerMultiprocessor() /
             (std::max<int64_t>(blocks, 1) * warps * lanes) -
         used;
}

namespace {

struct BatchLoadsPass : tile::impl::BatchLoadsPassBase<BatchLoadsPass> {
  using BatchLoadsPassBase::BatchLoadsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("BatchLoads")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    constexpr int64_t lanes = 32;
    int64_t registers =
        std::min<int64_t>(target.getRegistersPerThread(),
                          target.getRegistersPerMultiprocessor() /
                              (kernel.getWarps().value_or(1) * lanes));
    int64_t used = otherRegisters + estimateRegisters(kernel);
    registers -= used;
    int64_t spare = getSpareRegisters(kernel, target, used);
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (scf::ForOp loop : loops) {
      int64_t batch = getBatch(loop, registers);
      if (batch == 1)
        continue;
      if (batch > 1)
        batchLoads(loop, batch);
      if (mayLoadAhead(loop, spare) && prefetchChunks(loop) != 0)
        hoistLoads(kernel);
      remark::passed(loop.getLoc(), options) << remark::add(
          "the loads of {0} iterations start before their stores", batch);
      changed = true;
    }
    if (changed)
      return;
    remark::missed(kernel.getLoc(), options)
        << "no unrolled loop without carried values loads and stores";
    markAllAnalysesPreserved();
  }
};

} // namespace
