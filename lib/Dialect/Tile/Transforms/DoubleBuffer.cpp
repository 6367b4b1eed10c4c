// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// double_buffer: chunks of a loop go to the slots of a ring in turn.
//
//   %s = tile.alloc : !tile.buffer<64x16xf32, ...>
//   scf.for %k = %c0 to %c512 step %c16 ... {
//     tile.copy %x[%i, %k] to %s
//     tile.barrier
//     ... tile.read %s ...
//     tile.barrier
//
// becomes, for 3 stages,
//
//   %r = tile.alloc : !tile.buffer<3x64x16xf32, ...>
//   scf.for %k = %c0 to %c512 step %c16 ... {
//     %n = arith.divui %k, %c16
//     %m = arith.remui %n, %c3
//     %s = tile.slot %r[%m]
//     tile.copy %x[%i, %k] to %s
//     tile.barrier
//     ... tile.read %s ...
//
// Legality: each iteration fills all of a buffer before its barrier and reads
// it after that, so none needs what another put there. The barrier at the end
// goes: a thread that is past the barrier of the next iteration knows that all
// have read the slot of this one, and only then is it filled again.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-double-buffer"

namespace deplo::tile {
#define GEN_PASS_DEF_DOUBLEBUFFERPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// The barrier that ends an iteration of `loop`, or null.
static BarrierOp getLastBarrier(scf::ForOp loop) {
  Operation *last = loop.getBody()->getTerminator()->getPrevNode();
  return dyn_cast_or_null<BarrierOp>(last);
}

/// The buffers that each iteration of `loop` fills before its first barrier and
/// that nothing else uses.
static SmallVector<AllocOp> getFilledBuffers(scf::ForOp loop) {
  SmallVector<AllocOp> buffers;
  for (Operation &op : *loop.getBody()) {
    if (isa<BarrierOp>(op))
      break;
    auto copy = dyn_cast<CopyOp>(op);
    auto alloc = copy ? copy.getBuffer().getDefiningOp<AllocOp>() : AllocOp();
    if (!alloc || loop->isAncestor(alloc))
      continue;
    bool isFilled = llvm::all_of(alloc->getUsers(), [&](Operation *user) {
      return user == copy ||
             (isa<ReadOp, AsyncDotOp>(user) && loop->isAncestor(user) &&
              copy->isBeforeInBlock(
                  loop.getBody()->findAncestorOpInBlock(*user)));
    });
    if (isFilled)
      buffers.push_back(alloc);
  }
  return buffers;
}

SmallVector<AllocOp> tile::findStagedBuffers(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (lower != 0 || !step || *step < 1 || !getLastBarrier(loop))
    return {};
  return getFilledBuffers(loop);
}

void tile::doubleBuffer(scf::ForOp loop, int64_t slots) {
  Location loc = loop.getLoc();
  SmallVector<AllocOp> buffers = findStagedBuffers(loop);
  OpBuilder builder(loop);
  Value count = arith::ConstantIndexOp::create(builder, loc, slots);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = arith::DivUIOp::create(builder, loc, loop.getInductionVar(),
                                        loop.getStep());
  Value slot = arith::RemUIOp::create(builder, loc, number, count);
  for (AllocOp alloc : buffers) {
    BufferType type = alloc.getType();
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), slots);
    alloc.getResult().setType(BufferType::get(
        type.getContext(), shape, type.getElementType(), type.getLayout()));
    auto view =
        SlotOp::create(builder, alloc.getLoc(), type, alloc.getResult(), slot);
    alloc.getResult().replaceAllUsesExcept(view.getResult(), view);
  }
  getLastBarrier(loop).erase();
}

namespace {

struct DoubleBufferPass : tile::impl::DoubleBufferPassBase<DoubleBufferPass> {
  using DoubleBufferPassBase::DoubleBufferPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("DoubleBuffer")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    int64_t slots = stages != 0            ? int64_t(stages)
                    : kernel.getSchedule() ? kernel.getSchedule()->getStages()
                                           : 1;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!findStagedBuffers(loop).empty())
        loops.push_back(loop);
    });
    if (loops.empty() || slots < 2) {
      remark::missed(kernel.getLoc(), options)
          << (loops.empty() ? "no loop fills a shared buffer in each iteration"
                            : "the schedule says one stage");
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    for (scf::ForOp loop : loops) {
      int64_t bytes = 0;
      for (AllocOp alloc : findStagedBuffers(loop))
        bytes += alloc.getType().getSizeInBytes();
      int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
      if ((slots - 1) * bytes > left) {
        remark::missed(loop.getLoc(), options) << remark::add(
            "{0} stages take {1} bytes more, and {2} has {3} left for them",
            slots, (slots - 1) * bytes, target.getChip(), left);
        continue;
      }
      doubleBuffer(loop, slots);
      remark::passed(loop.getLoc(), options)
          << remark::add("{0} chunks at once, {1} bytes", slots, slots * bytes);
    }
  }
};

} // namespace
