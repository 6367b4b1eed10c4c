// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Execution/HostCompiler.h"

#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Execution/LaunchPlan.h"
#include "deplo/Target/Optimize.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;
using namespace deplo;

//===----------------------------------------------------------------------===//
// The processor
//===----------------------------------------------------------------------===//

/// All features, in one order, as "+avx2,-avx512f".
static std::string getHostFeatures() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  SmallVector<std::string> names;
  for (const auto &entry : features)
    names.push_back((entry.second ? "+" : "-") + entry.first().str());
  llvm::sort(names, [](const std::string &a, const std::string &b) {
    return StringRef(a).drop_front() < StringRef(b).drop_front();
  });
  return llvm::join(names, ",");
}

std::string deplo::getHostTarget() {
  uint64_t digest = llvm::xxh3_64bits(getHostFeatures());
  return (llvm::Triple(llvm::sys::getProcessTriple()).getArchName() + "-" +
          llvm::sys::getHostCPUName() + "-" +
          llvm::utohexstr(uint32_t(digest), true, 8))
      .str();
}

std::string deplo::getHostSymbol(StringRef name) {
  return ("deplo_" + name).str();
}

static std::unique_ptr<llvm::TargetMachine> createHostMachine(ModuleOp module) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend) {
    module.emitError() << "this LLVM can't compile for the host: " << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), getHostFeatures(),
      llvm::TargetOptions(), llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Aggressive,
      /*JIT=*/true));
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// The nested module that deplo-loop-to-llvm made.
static ModuleOp findKernels(ModuleOp module) {
  for (ModuleOp nested : module.getOps<ModuleOp>())
    return nested;
  return nullptr;
}

static std::unique_ptr<llvm::Module> translate(ModuleOp module,
                                               llvm::TargetMachine &machine,
                                               llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  ModuleOp kernels = findKernels(module);
  std::unique_ptr<llvm::Module> translated =
      kernels ? translateModuleToLLVMIR(kernels, context, "kernels")
              : std::make_unique<llvm::Module>("kernels", context);
  if (!translated) {
    module.emitError("can't translate the kernels to LLVM IR");
    return nullptr;
  }
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration() && !function.hasLocalLinkage())
      function.setName(getHostSymbol(function.getName()));
  optimize(*translated, machine);
  return translated;
}

FailureOr<std::string> deplo::emitHostLLVMIR(ModuleOp module) {
  std::unique_ptr<llvm::TargetMachine> machine = createHostMachine(module);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translate(module, *machine, context);
  if (!translated)
    return failure();
  std::string text;
  llvm::raw_string_ostream(text) << *translated;
  return text;
}

//===----------------------------------------------------------------------===//
// Object and package
//===----------------------------------------------------------------------===//

FailureOr<std::string> deplo::emitHostObject(ModuleOp module) {
  std::unique_ptr<llvm::TargetMachine> machine = createHostMachine(module);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translate(module, *machine, context);
  if (!translated)
    return failure();
  SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("this LLVM can't emit objects for the host");
  passes.run(*translated);
  return object.str().str();
}

static LogicalResult lowerKernels(ModuleOp module) {
  if (module.getOps<loop::KernelOp>().empty())
    return success();
  PassManager passes(module.getContext());
  passes.addPass(createLoopToLLVMPass());
  return passes.run(module);
}

FailureOr<std::string> deplo::compileHostPackage(ModuleOp module,
                                                 StringRef name) {
  FailureOr<LaunchPlan> plan = extractLaunchPlan(module, /*alignment=*/1);
  if (failed(plan) || failed(lowerKernels(module)))
    return failure();
  FailureOr<std::string> object = emitHostObject(module);
  if (failed(object))
    return failure();

  runtime::Package package;
  package.blobs.push_back(*object);
  package.manifest.compiler = "deplo " DEPLO_VERSION;
  package.manifest.name = name.str();
  package.manifest.device = "host";
  package.manifest.target = getHostTarget();
  std::vector<std::string> kernels = plan->getKernels();
  for (const std::string &kernel : kernels) {
    runtime::KernelInfo info;
    info.name = kernel;
    info.object = 0;
    package.manifest.kernels.push_back(std::move(info));
  }
  plan->write(package.manifest, kernels);
  runtime::Result<std::string> bytes = runtime::writePackage(package);
  if (!bytes.ok())
    return module.emitError() << bytes.message();
  return std::move(*bytes);
}
