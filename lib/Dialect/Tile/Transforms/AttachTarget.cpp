// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attach_target: writes the facts of a target that is known by name on the
// module.
//
//   module {
// ->
//   module attributes {tile.target = #tile.target<chip = "sm_90a",
//   multiprocessors = 132, ...>} {
//
// Legality: an attribute changes no values. A target that is there already is
// replaced, as the name is given for this purpose.

#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "deplo/Target/TargetDescription.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-attach-target"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_ATTACHTARGETPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

TargetAttr getTargetAttr(MLIRContext *context,
                         const TargetDescription &target) {
  return TargetAttr::get(
      context, target.chip, target.multiprocessors,
      target.warpsPerMultiprocessor, target.blocksPerMultiprocessor,
      target.registersPerMultiprocessor, target.registersPerThread,
      target.threadsPerBlock, target.sharedPerMultiprocessor,
      target.sharedPerBlock, target.l2Bytes, target.dramBytesPerSecond,
      target.f32FlopsPerSecond, target.launchNanoseconds,
      target.blocksPerCluster, target.multiprocessorsPerGroup,
      target.mmaFlopsPerSecond, target.wgmmaFlopsPerSecond);
}

TargetDescription describe(TargetAttr target) {
  return {target.getChip().str(),
          /*product=*/"",
          target.getMultiprocessors(),
          target.getWarpsPerMultiprocessor(),
          target.getBlocksPerMultiprocessor(),
          target.getRegistersPerMultiprocessor(),
          target.getRegistersPerThread(),
          target.getThreadsPerBlock(),
          target.getSharedPerMultiprocessor(),
          target.getSharedPerBlock(),
          target.getL2Bytes(),
          target.getDramBytesPerSecond(),
          target.getF32FlopsPerSecond(),
          target.getLaunchNanoseconds(),
          target.getBlocksPerCluster(),
          target.getMultiprocessorsPerGroup(),
          target.getMmaFlopsPerSecond(),
          target.getWgmmaFlopsPerSecond()};
}

namespace {

struct AttachTargetPass : impl::AttachTargetPassBase<AttachTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetDescription *target = findTarget(chip);
    if (!target) {
      module.emitError() << "unknown target '" << chip << "', expected one of "
                         << listTargets();
      return signalPassFailure();
    }
    module->setAttr("tile.target", getTargetAttr(&getContext(), *target));
    remark::passed(
        module.getLoc(),
        remark::RemarkOpts::name("AttachTarget").category(DEBUG_TYPE))
        << remark::add("{0}, with the numbers of {1}", target->chip,
                       target->product);
  }
};

} // namespace

} // namespace deplo::tile
