// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_LEGALIZEFORNVVMPASS
#include "deplo/Target/Passes.h.inc"

namespace {

constexpr StringLiteral discardableName = "llvm.loop_annotation";

template <typename BranchOp> void moveAnnotation(BranchOp branch) {
  if (auto annotation =
          branch->template getAttrOfType<LLVM::LoopAnnotationAttr>(
              discardableName)) {
    branch->removeAttr(discardableName);
    branch.setLoopAnnotationAttr(annotation);
  }
}

struct LegalizeForNVVMPass
    : impl::LegalizeForNVVMPassBase<LegalizeForNVVMPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (auto branch = dyn_cast<LLVM::BrOp>(op))
        moveAnnotation(branch);
      if (auto branch = dyn_cast<LLVM::CondBrOp>(op))
        moveAnnotation(branch);
      if (op == getOperation() ||
          isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitError() << "operation " << op->getName()
                      << " was left by the lowering to LLVM";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace deplo
