// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// warp_specialize: a warpgroup of its own starts copies, the others compute.
//
//   scf.for %k = ... {
//     tile.tma_copy %x[%i, %k] to %s on %full[%n mod 4]
//     tile.mbarrier_wait %full[%n mod 4] phase %n / 4
//     tile.barrier
//     %d, %t = tile.async_dot ...
//     tile.await %t
//
// becomes, for a kernel of eight warps,
//
//   %empty = tile.mbarriers arrivals 8 : !tile.mbarriers<4>
//   tile.producer registers [40, 232] {
//     scf.for %k = ... {
//       tile.mbarrier_wait %empty[%n mod 4] phase %n / 4 - 1
//       tile.tma_copy %x[%i, %k] to %s on %full[%n mod 4]
//   scf.for %k = ... {
//     tile.mbarrier_wait %full[%n mod 4] phase %n / 4
//     %d, %t = tile.async_dot ...
//     tile.await %t
//     tile.mbarrier_arrive %empty[%n mod 4]
//
// Legality: all that an iteration copies is copied by tensor maps, from places
// that follow from the loop's variable; a slot is filled again when each warp
// has arrived after its last use of it, so the barrier of all threads goes.
// Registers are those that a block has.

#include "CarriedValues.h"
#include "PassSupport.h"
#include "deplo/Analysis/Occupancy.h"
#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "deplo-warp-specialize"

namespace deplo::tile {
#define GEN_PASS_DEF_WARPSPECIALIZEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

namespace {

/// An iteration that copies by tensor maps, waits for that, and computes.
struct Roles {
  /// Up to the wait: copies, and what they need.
  SmallVector<Operation *> fill;
  SmallVector<TmaCopyOp> copies;
  MBarrierWaitOp wait;
  BarrierOp barrier;
  /// Behind which nothing reads the slots.
  AwaitOp lastAwait;

  static std::optional<Roles> get(scf::ForOp loop, std::string &reason);
};

} // namespace

std::optional<Roles> Roles::get(scf::ForOp loop, std::string &reason) {
  Roles roles;
  for (Operation &op : *loop.getBody()) {
    if (roles.wait) {
      if (auto barrier = dyn_cast<BarrierOp>(op)) {
        if (roles.barrier) {
          reason = "iterations have more barriers than that after the copies";
          return std::nullopt;
        }
        roles.barrier = barrier;
      }
      if (isa<ReadOp, CopyOp, AsyncCopyOp, WriteOp, TmaCopyOp>(op)) {
        reason = "iterations access shared memory other than by wgmma";
        return std::nullopt;
      }
      if (auto await = dyn_cast<AwaitOp>(op))
        roles.lastAwait = await;
      continue;
    }
    if ((roles.wait = dyn_cast<MBarrierWaitOp>(op)))
      continue;
    roles.fill.push_back(&op);
    if (auto copy = dyn_cast<TmaCopyOp>(op)) {
      roles.copies.push_back(copy);
    } else if (!isPure(&op)) {
      reason = "iterations do more than copy by tensor maps before they wait";
      return std::nullopt;
    }
  }
  if (!roles.wait || roles.copies.empty()) {
    reason = "no loop copies by tensor maps";
    return std::nullopt;
  }
  if (takeCarriedValue(roles.fill, loop)) {
    reason = "where copies start depends on what the iteration before computed";
    return std::nullopt;
  }
  if (roles.copies.front().getBarriers().getType().getCount() < 2) {
    reason = "there is one slot, which is filled after it is read";
    return std::nullopt;
  }
  if (!roles.barrier || !roles.lastAwait) {
    reason = "no wgmma reads what is copied";
    return std::nullopt;
  }
  return roles;
}

/// What `loop` needs of the operations before it, if all of that may be moved
/// to the front of the kernel.
static FailureOr<llvm::SetVector<Operation *>>
getPrerequisites(ArrayRef<Operation *> fill, scf::ForOp loop) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> work(fill);
  work.push_back(loop);
  auto visit = [&](Value operand) {
    Operation *definition = operand.getDefiningOp();
    if (definition && !loop->isAncestor(definition) &&
        needed.insert(definition))
      work.push_back(definition);
  };
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op == loop) {
      for (Value bound :
           {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        visit(bound);
      continue;
    }
    llvm::for_each(op->getOperands(), visit);
  }
  for (Operation *op : needed)
    if (!isPure(op) && !isa<AllocOp, MBarriersOp>(op))
      return failure();
  return needed;
}

FailureOr<ProducerOp> tile::warpSpecialize(scf::ForOp loop,
                                           ArrayRef<int64_t> registers,
                                           std::string &reason) {
  auto kernel = loop->getParentOfType<KernelOp>();
  std::optional<Roles> roles = Roles::get(loop, reason);
  if (!roles)
    return failure();
  FailureOr<llvm::SetVector<Operation *>> needed =
      getPrerequisites(roles->fill, loop);
  if (failed(needed)) {
    reason = "where copies start depends on what the kernel has loaded";
    return failure();
  }
  Location loc = loop.getLoc();
  // In their order, in front of all else.
  SmallVector<Operation *> ordered(needed->getArrayRef());
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *front = &kernel.getBody()->front();
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBody());
  for (Operation *op : ordered) {
    if (op == front)
      front = front->getNextNode();
    else
      op->moveBefore(front);
  }
  builder.setInsertionPoint(front);
  auto full = roles->wait.getBarriers();
  auto empty =
      MBarriersOp::create(builder, loc, full.getType(),
                          builder.getI64IntegerAttr(*kernel.getWarps()));
  auto producer = ProducerOp::create(builder, loc, registers);
  builder.setInsertionPointToStart(&producer.getRegion().emplaceBlock());
  auto copying = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                    loop.getUpperBound(), loop.getStep());
  builder.setInsertionPointToStart(copying.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), copying.getInductionVar());
  bool waits = false;
  for (Operation *op : roles->fill) {
    if (isa<TmaCopyOp>(op) && !waits) {
      waits = true;
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      Value before = arith::SubIOp::create(
          builder, loc, mapping.lookupOrDefault(roles->wait.getPhase()), one);
      MBarrierWaitOp::create(builder, loc, empty,
                             mapping.lookupOrDefault(roles->wait.getIndex()),
                             before);
    }
    builder.clone(*op, mapping);
  }
  for (TmaCopyOp copy : roles->copies)
    copy.erase();
  roles->barrier.erase();
  builder.setInsertionPointAfter(roles->lastAwait);
  MBarrierArriveOp::create(builder, loc, empty, roles->wait.getIndex());
  return producer;
}

/// Registers of a thread of the producer and of each of the kernel's warps:
/// few for the one, all others for the rest, as the hardware grants them to as
/// many blocks as shared memory has room for.
static SmallVector<int64_t> chooseRegisters(KernelOp kernel,
                                            TargetAttr target) {
  int64_t sharedBytes = 0, sums = 0;
  kernel.walk(
      [&](AllocOp alloc) { sharedBytes += alloc.getType().getSizeInBytes(); });
  // Of pieces, sums have a rest, and what a chunk comes to is added to them.
  kernel.walk([&](AsyncDotOp dot) {
    sums += getRegisters(dot.getResult()) * (dot.isOfPieces() ? 3 : 1);
  });
  int64_t needed =
      std::max(sums, estimateRegisters(kernel)) + registersBesideSums;
  TargetDescription description = describe(target);
  int64_t warps = *kernel.getWarps();
  int64_t blocks = countResidentRoles(description, warps, needed, sharedBytes);
  RoleRegisters registers =
      shareRegisters(description, warps, std::max<int64_t>(blocks, 1));
  return {registers.ofProducer, registers.ofOthers};
}

namespace {

struct WarpSpecializePass
    : tile::impl::WarpSpecializePassBase<WarpSpecializePass> {
  using WarpSpecializePassBase::WarpSpecializePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getWarpSpecialize();
        });
    if (failed(choice))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("WarpSpecialize")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    auto miss = [&](const std::string &reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    SmallVector<scf::ForOp> loops;
    for (auto loop : kernel.getBody()->getOps<scf::ForOp>())
      if (!loop.getBody()->getOps<TmaCopyOp>().empty())
        loops.push_back(loop);
    if (loops.size() != 1)
      return miss(loops.empty() ? "no loop copies by tensor maps"
                                : "several loops copy by tensor maps");
    if (*choice == Choice::Never)
      return miss("the schedule says never");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    constexpr int64_t warpsPerGroup = 4, threadsPerWarp = 32;
    int64_t warps = kernel.getWarps().value_or(1);
    if (!target.hasWgmma())
      return miss(target.getChip().str() +
                  " gives all warps as many registers, sm_90a can change that");
    if (warps % warpsPerGroup != 0 ||
        (warps + ProducerOp::warps) * threadsPerWarp >
            target.getThreadsPerBlock())
      return miss("the kernel's " + std::to_string(warps) +
                  " warps and one more warpgroup are no block");
    SmallVector<int64_t> counts(registers.begin(), registers.end());
    if (counts.empty())
      counts = chooseRegisters(kernel, target);
    std::string reason;
    FailureOr<ProducerOp> producer =
        warpSpecialize(loops.front(), counts, reason);
    if (failed(producer))
      return miss(reason);
    remark::passed(kernel.getLoc(), options) << remark::add(
        "a warpgroup of {0} registers a thread starts copies, {1} warps of {2} "
        "compute",
        counts[0], warps, counts[1]);
  }
};

} // namespace
