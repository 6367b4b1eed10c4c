// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// eliminate_barriers: barriers that keep nothing apart go.
//
//   tile.copy %x[%i, %c0] to %row vector 4
//   tile.barrier
//   scf.for %k = %c0 to %c8192 step %c2048 ... {
//     %a = tile.read %row[%c0, %k] vector 4 : ... -> tensor<1x2048xf32, #row>
//
// becomes
//
//   tile.copy %x[%i, %c0] to %row vector 4
//   scf.for %k = %c0 to %c8192 step %c2048 ... {
//     %a = tile.read %row[%c0, %k] vector 4 : ... -> tensor<1x2048xf32, #row>
//
// Legality: of each access that reaches the barrier from another one, and each
// access that the barrier reaches before the next one, both read, or they are
// to different memory, or each element that both touch is touched by one thread
// only. The last is a question to layouts: copies are dealt to threads in turn,
// tiles as their layouts say; both are linear over GF(2), and so is where they
// meet (ThreadAccess). A thread's own accesses stay in order, except that an
// asynchronous copy may overtake what came before it. Barriers go one by one,
// so that of two in a row one stays if one is needed.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/Synchronization.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-eliminate-barriers"

namespace deplo::tile {
#define GEN_PASS_DEF_ELIMINATEBARRIERSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

unsigned tile::eliminateBarriers(KernelOp kernel) {
  SmallVector<BarrierOp> barriers;
  kernel.walk([&](BarrierOp barrier) { barriers.push_back(barrier); });
  unsigned count = 0;
  for (BarrierOp barrier : barriers) {
    if (findConflict(barrier))
      continue;
    barrier.erase();
    ++count;
  }
  return count;
}

namespace {

struct EliminateBarriersPass
    : tile::impl::EliminateBarriersPassBase<EliminateBarriersPass> {
  using EliminateBarriersPassBase::EliminateBarriersPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("EliminateBarriers")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    unsigned count = eliminateBarriers(kernel);
    SmallVector<BarrierOp> kept;
    kernel.walk([&](BarrierOp barrier) { kept.push_back(barrier); });
    if (count != 0)
      remark::passed(kernel.getLoc(), options) << remark::add(
          "{0} of {1} barriers go: no thread sees what others do on the other "
          "side",
          count, count + kept.size());
    else
      remark::missed(kernel.getLoc(), options)
          << (kept.empty() ? "there is no barrier"
                           : "each barrier is between accesses of different "
                             "threads");
    if (count == 0)
      markAllAnalysesPreserved();
  }
};

} // namespace
