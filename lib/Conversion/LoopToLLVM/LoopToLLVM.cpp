// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns every loop.kernel into a function for the CPU.
//
//   loop.kernel @k(%x, %y) {      module @kernels {
//     loop.for %i = 0 to 8 {        llvm.func private @k.body(%x, %y) { .. }
//       ..                          llvm.func @k(%args: !llvm.ptr) {
//     }                               %x = llvm.load %args[0] ..
//   }                                 llvm.call @k.body(%x, %y)
//                                   }
//                                 }
//
// Parallel loops run in order, on one thread: any order is a valid one. The
// order of reductions is described in EmitReduce.cpp.

#include "HalfFloats.h"
#include "KernelEmitter.h"
#include "deplo/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

namespace deplo {
#define GEN_PASS_DEF_LOOPTOLLVMPASS
#include "deplo/Conversion/Passes.h.inc"
} // namespace deplo

using namespace mlir;
using namespace deplo;

static void addLowering(OpPassManager &passes) {
  passes.addPass(createExpandMathPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

/// Conversion passes may leave what they don't know.
static LogicalResult checkLowered(ModuleOp module) {
  WalkResult result = module->walk([&](Operation *op) {
    if (isa<ModuleOp>(op) || isa<LLVM::LLVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("can't be compiled for the host");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct LoopToLLVMPass : deplo::impl::LoopToLLVMPassBase<LoopToLLVMPass> {
  void runOnOperation() override {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

  LogicalResult convert(ModuleOp module) {
    SmallVector<loop::KernelOp> kernels(module.getOps<loop::KernelOp>());
    if (kernels.empty())
      return success();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto functions = ModuleOp::create(builder, module.getLoc());
    builder.setInsertionPointToEnd(functions.getBody());
    for (loop::KernelOp kernel : kernels) {
      if (failed(host::KernelEmitter(builder).emit(kernel)))
        return failure();
      kernel.erase();
    }
    functions.setSymName("kernels");
    SymbolTable(module).insert(functions);

    OpPassManager lowering(ModuleOp::getOperationName());
    addLowering(lowering);
    host::lowerHalfFloats(functions);
    if (failed(runPipeline(lowering, functions)))
      return failure();
    return checkLowered(functions);
  }
};

} // namespace
