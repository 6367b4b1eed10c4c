// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tma_copy: boxes are copied to shared memory by the tensor memory accelerator.
//
//   scf.for %k = ... {
//     %s = tile.slot %ring[%n mod 4]
//     tile.copy %x[%i, %k] to %s
//     tile.barrier
//     ...
//
// becomes
//
//   %full = tile.mbarriers arrivals 1 : !tile.mbarriers<4>
//   scf.for %k = ... {
//     %s = tile.slot %ring[%n mod 4]
//     tile.tma_copy %x[%i, %k] to %s on %full[%n mod 4]
//     tile.mbarrier_wait %full[%n mod 4] phase %n / 4
//     tile.barrier
//     ...
//
// Legality: what lies outside of the bounds is zero in both. The hardware has a
// tensor map for the box (see #tile.tensor_map), and the memref's pointer is
// aligned as that needs, as is where boxes begin in their rows. A loop runs
// once in a kernel, so that iteration n is phase n / 4 of its barrier. The
// barrier for all threads stays: copies of a later iteration don't start before
// all have read the slot.

#include "PassSupport.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-tma-copy"

namespace deplo::tile {
#define GEN_PASS_DEF_TMACOPYPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// Slots of the ring that `copy` fills one of, and which one.
static std::pair<int64_t, Value> getSlot(CopyOp copy) {
  auto slot = copy.getBuffer().getDefiningOp<SlotOp>();
  if (!slot)
    return {1, Value()};
  return {slot.getRing().getType().getShape().front(), slot.getSlot()};
}

SmallVector<FilledIteration> tile::findFilledIterations(KernelOp kernel) {
  SmallVector<FilledIteration> found;
  for (auto loop : kernel.getBody()->getOps<scf::ForOp>()) {
    FilledIteration iteration;
    iteration.loop = loop;
    if (getConstantIntValue(loop.getLowerBound()) != 0 ||
        getConstantIntValue(loop.getStep()).value_or(0) < 1)
      continue;
    for (Operation &op : *loop.getBody()) {
      if ((iteration.barrier = dyn_cast<BarrierOp>(op)))
        break;
      auto copy = dyn_cast<CopyOp>(op);
      if (!copy)
        continue;
      auto [slots, slot] = getSlot(copy);
      if (iteration.copies.empty()) {
        iteration.slots = slots;
        iteration.slot = slot;
      }
      if (slots == iteration.slots && slot == iteration.slot)
        iteration.copies.push_back(copy);
    }
    if (iteration.barrier && !iteration.copies.empty())
      found.push_back(iteration);
  }
  return found;
}

std::string tile::findTmaProblem(CopyOp copy, int64_t alignment) {
  constexpr int64_t pointerAlignment = 16;
  MemRefType memref = copy.getMemRefType();
  BufferType buffer = copy.getBuffer().getType();
  SymbolicSizes sizes = SymbolicSizes::get(copy->getParentOfType<KernelOp>());
  if (alignment < pointerAlignment)
    return "pointers are aligned to " + std::to_string(alignment) +
           " bytes, tensor maps take those aligned to 16";
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return "copies a memref without strides";
  // A launch knows sizes and strides, which are those of its tensor maps.
  if (sizes.isSymbolic(offset))
    return "where the memref starts is not known before the launch";
  if (copy.getSteps() &&
      llvm::any_of(*copy.getSteps(), [](int64_t step) { return step != 1; }))
    return "copies elements that are not neighbours";
  if (buffer.getLayout().getPad() != 0)
    return "copies to a buffer with a pad";
  int64_t bytes = BoxAccess::get(copy)->getElementBytes();
  for (auto [size, stride, index] : llvm::zip_equal(
           memref.getShape(), ArrayRef(strides).take_front(memref.getRank()),
           copy.getIndices()))
    if (size != 1 && stride == 1 &&
        getKnownDivisor(index) * bytes % pointerAlignment != 0)
      return "boxes may begin within 16 bytes of a row";
  std::string reason;
  getTensorMap(
      memref,
      getSpannedDims(copy.getDims(), memref.getRank(), buffer.getRank()),
      buffer.getShape(), copy.getBounds(), buffer.getLayout().getSwizzle(),
      /*argument=*/0, reason);
  return reason;
}

void tile::copyByTma(const FilledIteration &iteration,
                     ArrayRef<CopyOp> copies) {
  scf::ForOp loop = iteration.loop;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  MLIRContext *context = loop.getContext();
  auto barriers = MBarriersOp::create(
      builder, loc, MBarriersType::get(context, iteration.slots),
      builder.getI64IntegerAttr(copies.size()));
  builder.setInsertionPointToStart(loop.getBody());
  Value slots = arith::ConstantIndexOp::create(builder, loc, iteration.slots);
  Value number = arith::DivUIOp::create(builder, loc, loop.getInductionVar(),
                                        loop.getStep());
  Value phase = arith::DivUIOp::create(builder, loc, number, slots);
  Value slot = iteration.slot;
  if (!slot)
    slot = arith::ConstantIndexOp::create(builder, loc, 0);
  for (CopyOp copy : copies) {
    builder.setInsertionPoint(copy);
    TmaCopyOp::create(builder, copy.getLoc(), copy.getMemref(),
                      copy.getIndices(), copy.getBuffer(), barriers, slot,
                      copy.getDimsAttr(), copy.getBoundsAttr());
    copy.erase();
  }
  BarrierOp barrier = iteration.barrier;
  builder.setInsertionPoint(barrier);
  MBarrierWaitOp::create(builder, barrier.getLoc(), barriers, slot, phase);
}

/// Whether wgmma reads what `copy` fills.
static bool isReadByWgmma(CopyOp copy) {
  return llvm::any_of(copy.getBuffer().getUsers(), llvm::IsaPred<AsyncDotOp>);
}

namespace {

struct TmaCopyPass : tile::impl::TmaCopyPassBase<TmaCopyPass> {
  using TmaCopyPassBase::TmaCopyPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode,
                  [](ScheduleAttr schedule) { return schedule.getTmaCopy(); });
    if (failed(choice) || failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("TmaCopy")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<FilledIteration> iterations = findFilledIterations(kernel);
    auto miss = [&](const std::string &reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    if (iterations.empty())
      return miss("no loop that runs once copies to shared memory");
    if (*choice == Choice::Never)
      return miss("the schedule says never");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    if (!target.hasTensorMaps())
      return miss(target.getChip().str() +
                  " has no tensor maps, sm_90 and later do");
    for (const FilledIteration &iteration : iterations) {
      SmallVector<CopyOp> copies;
      for (CopyOp copy : iteration.copies) {
        std::string name = getMemrefName(copy.getMemref());
        std::string reason = findTmaProblem(copy, alignment);
        if (reason.empty() && *choice == Choice::Auto && !isReadByWgmma(copy))
          reason = "is read into fragments, which cp.async serves as well";
        if (!reason.empty()) {
          remark::missed(copy.getLoc(), options)
              << remark::add("{0}: {1}", name, reason);
          continue;
        }
        remark::passed(copy.getLoc(), options)
            << remark::add("{0} is copied by a tensor map, on {1} barriers",
                           name, iteration.slots);
        copies.push_back(copy);
      }
      if (!copies.empty())
        copyByTma(iteration, copies);
    }
  }
};

} // namespace
