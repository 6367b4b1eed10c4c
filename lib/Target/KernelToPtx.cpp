// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Target/NVPTX.h"
#include "deplo/Target/Passes.h"

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_KERNELTOPTXPASS
#include "deplo/Target/Passes.h.inc"

namespace {

/// One entry for each kernel: its name, type and launch.
gpu::KernelTableAttr createKernelTable(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  SmallVector<gpu::KernelMetadataAttr> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      continue;
    NamedAttrList metadata;
    if (auto launch = function->getAttrOfType<tile::LaunchAttr>("tile.launch"))
      metadata.set("launch", launch);
    if (auto grid = function->getAttrOfType<DenseI64ArrayAttr>("tile.grid"))
      metadata.set("grid", grid);
    if (auto most = function->getAttrOfType<IntegerAttr>("tile.most_blocks"))
      metadata.set("most_blocks", most);
    if (auto maps = function->getAttrOfType<ArrayAttr>("tile.maps"))
      metadata.set("maps", maps);
    kernels.push_back(gpu::KernelMetadataAttr::get(
        function.getSymNameAttr(), function.getFunctionType(),
        /*argAttrs=*/nullptr, metadata.getDictionary(context)));
  }
  return gpu::KernelTableAttr::get(context, kernels);
}

struct KernelToPtxPass : impl::KernelToPtxPassBase<KernelToPtxPass> {
  void runOnOperation() override {
    for (auto module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      std::unique_ptr<llvm::TargetMachine> machine =
          createTargetMachine(module);
      if (!machine)
        return signalPassFailure();
      llvm::LLVMContext context;
      std::unique_ptr<llvm::Module> llvmModule =
          translateToLLVMIR(module, *machine, context);
      if (!llvmModule)
        return signalPassFailure();
      std::string ptx = emitPtx(*llvmModule, *machine);

      OpBuilder builder(module);
      auto object = gpu::ObjectAttr::get(
          &getContext(), module.getTargetsAttr()[0],
          gpu::CompilationTarget::Assembly, builder.getStringAttr(ptx),
          DictionaryAttr(), createKernelTable(module));
      gpu::BinaryOp::create(builder, module.getLoc(), module.getName(),
                            Attribute(), ArrayRef<Attribute>(object));
      module.erase();
    }
  }
};

} // namespace
} // namespace deplo
