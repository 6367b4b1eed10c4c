// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Target/NVPTX.h"

#include "deplo/Target/Optimize.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace deplo {

std::optional<std::string> findInToolkit(StringRef relativePath) {
  SmallVector<std::string> roots;
  auto addVariable = [&](StringRef name) {
    std::string value = llvm::sys::Process::GetEnv(name).value_or("");
    SmallVector<StringRef> paths;
    StringRef(value).split(paths, llvm::sys::EnvPathSeparator, /*MaxSplit=*/-1,
                           /*KeepEmpty=*/false);
    roots.append(paths.begin(), paths.end());
  };
  addVariable("CUDA_HOME");
  addVariable("CUDA_PATH");
#ifdef DEPLO_CUDA_TOOLKIT_ROOT
  roots.push_back(DEPLO_CUDA_TOOLKIT_ROOT);
#endif
  roots.push_back("/usr/local/cuda");
  addVariable("DEPLO_CUDA_TOOLKITS");
  for (const std::string &root : roots) {
    SmallString<128> path(root);
    llvm::sys::path::append(path, relativePath);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return std::nullopt;
}

std::optional<std::string> findTool(StringRef name) {
  if (std::optional<std::string> path = findInToolkit(("bin/" + name).str()))
    return path;
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  return path ? std::optional(*path) : std::nullopt;
}

/// The oldest PTX version that knows the chip and everything that deplo emits
/// for it (PTX ISA, release notes): older drivers load older versions.
static StringRef getPtxFeature(StringRef chip) {
  unsigned architecture = 0;
  chip.drop_front(StringRef("sm_").size()).consumeInteger(10, architecture);
  if (architecture >= 100)
    return "+ptx88";
  return architecture >= 90 ? "+ptx81" : "+ptx80";
}

std::unique_ptr<llvm::TargetMachine>
createTargetMachine(gpu::GPUModuleOp module) {
  ArrayAttr targets = module.getTargetsAttr();
  auto target = targets && targets.size() == 1
                    ? dyn_cast<NVVM::NVVMTargetAttr>(targets[0])
                    : NVVM::NVVMTargetAttr();
  if (!target) {
    module.emitError("device module needs one #nvvm.target");
    return nullptr;
  }
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple(target.getTriple());
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend) {
    module.emitError() << "this LLVM cannot emit PTX: " << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.getChip(), getPtxFeature(target.getChip()),
      llvm::TargetOptions(), std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

std::unique_ptr<llvm::Module> translateToLLVMIR(gpu::GPUModuleOp op,
                                                llvm::TargetMachine &machine,
                                                llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(op, context, op.getName());
  if (!module) {
    op.emitError("cannot translate the device module to LLVM IR");
    return nullptr;
  }
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  optimize(*module, machine);
  return module;
}

std::string emitPtx(llvm::Module &module, llvm::TargetMachine &machine) {
  SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, stream, nullptr,
                              llvm::CodeGenFileType::AssemblyFile);
  passes.run(module);
  return text.str().str();
}

} // namespace deplo
