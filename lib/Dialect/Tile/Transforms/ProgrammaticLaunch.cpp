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
//   tile.launch_dependents
//   %c2 = arith.constant dense<2.0> : tensor<1024xf32>
//   tile.wait_dependencies
//   %a = tile.load %x[%i]
//
// Legality: every thread of every block waits before it accesses global memory,
// as the wait is an operation of the kernel's body itself. A grid is then
// complete only after those that it depends on, and so waiting for the last one
// is waiting for all (docs/rationale/programmatic-launch.md).

#include "PassSupport.h"
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
  // At the start: dependents occupy only what is free once all blocks of this
  // grid have started, and nothing that they do before their wait is visible.
  if (body.getOps<LaunchDependentsOp>().empty()) {
    builder.setInsertionPointToStart(&body);
    LaunchDependentsOp::create(builder, kernel.getLoc());
  }
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
