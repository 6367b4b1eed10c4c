// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// programmatic_launch: starts a kernel while the one before it still runs.
//
//   %c2 = arith.constant dense<2.0> : tensor<1024xf32>
//   %a = tile.load %x[%i]
//
// becomes
//
//   %c2 = arith.constant dense<2.0> : tensor<1024xf32>
//   tile.wait_dependencies
//   tile.launch_dependents
//   %a = tile.load %x[%i]
//
// Legality: every thread of every block waits before it accesses global memory,
// as the wait is an operation of the kernel's body itself. A grid is then
// complete only after those that it depends on, and so waiting for the last one
// is waiting for all. When dependents start has no part in that; it is chosen
// for speed (docs/rationale/programmatic-launch.md).

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-programmatic-launch"

namespace deplo::tile {
#define GEN_PASS_DEF_PROGRAMMATICLAUNCHPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// How the blocks of a grid fill the multiprocessors.
namespace {
struct Residency {
  /// Blocks of the grid for each multiprocessor, and those that it has room
  /// for.
  int64_t blocks, room;
};
} // namespace

static Residency getResidency(KernelOp kernel, TargetAttr target) {
  int64_t blocks = 1;
  for (unsigned i = 0; i < kernel.getAxes().size(); ++i)
    blocks *= kernel.getAxis(i).getBlocks();
  int64_t warps = kernel.getWarps().value_or(1);
  return {int64_t(llvm::divideCeil(blocks, target.getMultiprocessors())),
          target.getWarpsPerMultiprocessor() / warps};
}

static bool fitsInL2(KernelOp kernel, TargetAttr target) {
  int64_t bytes = 0;
  for (BlockArgument memref : kernel.getMemrefs()) {
    auto type = cast<MemRefType>(memref.getType());
    bytes = llvm::SaturatingAdd<uint64_t>(
        bytes, llvm::SaturatingMultiply<uint64_t>(
                   type.getNumElements(),
                   llvm::divideCeil(type.getElementTypeBitWidth(), 8)));
  }
  return bytes <= target.getL2Bytes();
}

/// A grid of several waves gets its blocks onto other multiprocessors than the
/// grid before it did if both overlap, and then misses what these have near.
/// Data that don't fit in L2 are not near anyway.
static bool losesLocality(KernelOp kernel, TargetAttr target) {
  Residency residency = getResidency(kernel, target);
  return residency.blocks > residency.room && fitsInL2(kernel, target);
}

/// Blocks of multiply-adds that leave places free go to the multiprocessors
/// that the grid before leaves first, and some get more than others if both
/// overlap: that takes longer than the launch. A few go to as many anyway.
static bool losesBalance(KernelOp kernel, TargetAttr target) {
  bool hasAtom = kernel
                     ->walk([](DotOp dot) {
                       return dot.getAtomAttr() ? WalkResult::interrupt()
                                                : WalkResult::advance();
                     })
                     .wasInterrupted();
  std::optional<int64_t> places =
      countContractionBlocks(kernel, getSharedBytes(kernel), describe(target));
  int64_t blocks = 1;
  for (unsigned i = 0; i < kernel.getAxes().size(); ++i)
    blocks *= kernel.getAxis(i).getBlocks();
  return !hasAtom && places && getResidency(kernel, target).blocks < *places &&
         2 * blocks > target.getMultiprocessors();
}

/// Dependents that start beside this grid take the places that are left. Where
/// these are too few for them, some multiprocessors get more blocks than
/// others; if each has few, one more is much.
static bool leavesTooFewPlaces(KernelOp kernel, TargetAttr target) {
  constexpr int64_t manyBlocks = 8;
  Residency residency = getResidency(kernel, target);
  return residency.blocks < manyBlocks &&
         2 * residency.blocks >= residency.room;
}

WaitDependenciesOp tile::launchProgrammatically(KernelOp kernel) {
  Block &body = *kernel.getBody();
  if (!body.getOps<WaitDependenciesOp>().empty())
    return {};
  auto access = llvm::find_if(
      body, [](Operation &op) { return accessesGlobalMemory(&op); });
  if (access == body.end())
    return {};
  OpBuilder builder(&*access);
  auto wait = WaitDependenciesOp::create(builder, access->getLoc());
  TargetAttr target = findTarget(kernel);
  if (target && leavesTooFewPlaces(kernel, target))
    builder.setInsertionPointToEnd(&body);
  LaunchDependentsOp::create(builder, kernel.getLoc());
  return wait;
}

namespace {

struct ProgrammaticLaunchPass
    : tile::impl::ProgrammaticLaunchPassBase<ProgrammaticLaunchPass> {
  using ProgrammaticLaunchPassBase::ProgrammaticLaunchPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getProgrammaticLaunch();
        });
    if (failed(choice))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("ProgrammaticLaunch")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (*choice == Choice::Never) {
      remark::missed(kernel.getLoc(), options) << "the schedule says never";
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    constexpr unsigned firstCapability = 90;
    if (target.getComputeCapability() < firstCapability) {
      remark::missed(kernel.getLoc(), options) << remark::add(
          "{0} has no programmatic dependent launch, sm_90 and later do",
          target.getChip().str());
      return markAllAnalysesPreserved();
    }
    if (*choice == Choice::Auto && losesLocality(kernel, target)) {
      remark::missed(kernel.getLoc(), options)
          << "a grid of several waves, whose data fit in L2, is faster where "
             "its "
             "blocks go to the same multiprocessors each time";
      return markAllAnalysesPreserved();
    }
    if (*choice == Choice::Auto && losesBalance(kernel, target)) {
      remark::missed(kernel.getLoc(), options)
          << "blocks of multiply-adds that leave places free are spread evenly "
             "if none of the kernel before are left";
      return markAllAnalysesPreserved();
    }
    WaitDependenciesOp wait = launchProgrammatically(kernel);
    if (!wait) {
      remark::missed(kernel.getLoc(), options)
          << "the kernel accesses no global memory, or waits already";
      return markAllAnalysesPreserved();
    }
    remark::passed(wait.getLoc(), options)
        << "starts before the kernels that it depends on are complete, and "
           "waits for them before its first access to global memory";
  }
};

} // namespace
