// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// async_copy: copies to shared memory bypass registers.
//
//   tile.copy %x[%i, %c0] to %row : memref<32x8192xf32>, !tile.buffer<...>
//   tile.barrier
//
// becomes
//
//   %t = tile.async_copy %x[%i, %c0] to %row vector 4 : memref<32x8192xf32>,
//   !tile.buffer<...> tile.await %t tile.barrier
//
// Legality: cp.async moves 4, 8 or 16 bytes, aligned on both sides (PTX ISA,
// "cp.async", sm_80). Each thread awaits its copies before the barrier that
// makes them known to the others.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-async-copy"

namespace deplo::tile {
#define GEN_PASS_DEF_ASYNCCOPYPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static BarrierOp getNextBarrier(Operation *op) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (auto barrier = dyn_cast<BarrierOp>(next))
      return barrier;
  return {};
}

/// Elements of one asynchronous access, or 0 if they are less than 4 bytes.
static int64_t getAsyncWidth(CopyOp copy, int64_t alignment) {
  int64_t bytes = BoxAccess::get(copy)->getElementBytes();
  int64_t width = std::min<int64_t>(getAccessWidth(copy, alignment),
                                    copy.getVector().value_or(16 / bytes));
  return width * bytes >= 4 ? width : 0;
}

AsyncCopyOp tile::makeAsync(CopyOp copy, int64_t alignment) {
  BarrierOp barrier = getNextBarrier(copy);
  int64_t width = getAsyncWidth(copy, alignment);
  if (!barrier || width == 0)
    return {};
  OpBuilder builder(copy);
  auto async = AsyncCopyOp::create(
      builder, copy.getLoc(), TokenType::get(copy.getContext()),
      copy.getMemref(), copy.getIndices(), copy.getBuffer(), copy.getDimsAttr(),
      copy.getStepsAttr(), copy.getBoundsAttr(),
      builder.getI64IntegerAttr(width));
  copy.erase();
  // One wait for all copies before a barrier.
  if (auto await = dyn_cast_or_null<AwaitOp>(barrier->getPrevNode());
      await && async->isBeforeInBlock(await)) {
    await.getTokensMutable().append(async.getToken());
  } else {
    builder.setInsertionPoint(barrier);
    AwaitOp::create(builder, barrier.getLoc(), async.getToken());
  }
  return async;
}

namespace {

struct AsyncCopyPass : tile::impl::AsyncCopyPassBase<AsyncCopyPass> {
  using AsyncCopyPassBase::AsyncCopyPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getAsyncCopy();
        });
    if (failed(choice))
      return signalPassFailure();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("AsyncCopy")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<CopyOp> copies;
    kernel.walk([&](CopyOp copy) { copies.push_back(copy); });
    if (copies.empty() || *choice == Choice::Never) {
      remark::missed(kernel.getLoc(), options)
          << (copies.empty() ? "nothing is copied to shared memory"
                             : "the schedule says never");
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    constexpr unsigned firstCapability = 80;
    if (target.getComputeCapability() < firstCapability) {
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0} has no asynchronous copies, sm_80 and later do",
                         target.getChip().str());
      return markAllAnalysesPreserved();
    }
    SmallVector<std::string> left;
    for (CopyOp copy : copies) {
      std::string name = getMemrefName(copy.getMemref());
      int64_t bytes = BoxAccess::get(copy)->getElementBytes();
      if (AsyncCopyOp async = makeAsync(copy, alignment))
        remark::passed(async.getLoc(), options)
            << remark::add("{0} is copied {1} bytes at a time", name,
                           *async.getVector() * bytes);
      else
        left.push_back(name);
    }
    if (!left.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("no neighbours of 4 bytes that are aligned and masked "
                         "alike, before a barrier: {0}",
                         llvm::join(left, ", "));
  }
};

} // namespace
