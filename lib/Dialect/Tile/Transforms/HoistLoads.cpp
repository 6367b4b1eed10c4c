// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hoist_loads: starts all loads of a block before its first reduction.
//
//   %s = tile.reduce [add] %a axis 1
//   %b = tile.load %w[%c0]
//
// becomes
//
//   %b = tile.load %w[%c0]
//   %s = tile.reduce [add] %a axis 1
//
// Legality: a load of a memref that the kernel doesn't store to gives the same
// values everywhere in it. Only loads whose coordinates are computed before the
// reduction move.

#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace deplo::tile {
#define GEN_PASS_DEF_HOISTLOADSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static bool isStoredTo(Value memref) {
  return llvm::any_of(memref.getUsers(),
                      [](Operation *user) { return isa<StoreOp>(user); });
}

/// Whether `value` is known at `point`, or computed without effects from such
/// values.
static bool isKnownAt(Value value, Operation *point,
                      const DominanceInfo &dominance) {
  if (dominance.properlyDominates(value, point))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == point->getBlock() &&
         value.getType().isIndex() && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isKnownAt(operand, point, dominance);
         });
}

/// Moves `op` before `point`, after what it depends on.
static void moveBefore(Operation *op, Operation *point,
                       const DominanceInfo &dominance) {
  for (Value operand : op->getOperands())
    if (!dominance.properlyDominates(operand, point))
      moveBefore(operand.getDefiningOp(), point, dominance);
  op->moveBefore(point);
}

int64_t tile::hoistLoads(KernelOp kernel) {
  auto found =
      llvm::find_if(*kernel.getBody(), llvm::IsaPred<ReduceOp, ScanOp>);
  if (found == kernel.getBody()->end())
    return 0;
  Operation *first = &*found;
  DominanceInfo dominance(kernel);
  int64_t moved = 0;
  for (LoadOp load :
       llvm::make_early_inc_range(kernel.getBody()->getOps<LoadOp>())) {
    bool isKnown = llvm::all_of(load->getOperands(), [&](Value operand) {
      return isKnownAt(operand, first, dominance);
    });
    if (load->isBeforeInBlock(first) || !isKnown ||
        isStoredTo(load.getMemref()))
      continue;
    moveBefore(load, first, dominance);
    ++moved;
  }
  return moved;
}

namespace {

struct HoistLoadsPass : tile::impl::HoistLoadsPassBase<HoistLoadsPass> {
  using HoistLoadsPassBase::HoistLoadsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("HoistLoads")
                       .category("deplo-hoist-loads")
                       .function(kernel.getSymName());
    int64_t blocks = 1;
    for (unsigned i = 0; i < kernel.getAxes().size(); ++i)
      blocks *= kernel.getAxis(i).getBlocks();
    if (blocks > target.getMultiprocessors() && !always) {
      remark::missed(kernel.getLoc(), options)
          << "not applied: " << std::to_string(blocks) << " blocks on "
          << std::to_string(target.getMultiprocessors())
          << " multiprocessors hide each other's latency";
      return;
    }
    if (int64_t moved = hoistLoads(kernel))
      remark::passed(kernel.getLoc(), options)
          << std::to_string(moved) << " loads start before the first reduction";
    else
      remark::missed(kernel.getLoc(), options)
          << "not applied: no load follows a reduction";
  }
};

} // namespace
