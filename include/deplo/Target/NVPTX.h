// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a device module in the LLVM dialect to LLVM IR and PTX.

#ifndef DEPLO_TARGET_NVPTX_H
#define DEPLO_TARGET_NVPTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace deplo {

/// A file of the CUDA toolkit, given by its path below the toolkit's root such
/// as "bin/ptxas": looked for in CUDA_HOME, CUDA_PATH, where CMake found the
/// toolkit, /usr/local/cuda, and the roots that DEPLO_CUDA_TOOLKITS lists.
std::optional<std::string> findInToolkit(llvm::StringRef relativePath);

/// A program of the CUDA toolkit, such as "ptxas": in the toolkit, else on the
/// path.
std::optional<std::string> findTool(llvm::StringRef name);

/// LLVM's NVPTX backend for the chip of `module`'s target. Emits an error and
/// returns null for a module without target or a chip that LLVM doesn't know.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(mlir::gpu::GPUModuleOp module);

/// The optimised LLVM IR of `module`. Emits
/// an error and returns null where translation or linking fails.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::gpu::GPUModuleOp module,
                                                llvm::TargetMachine &machine,
                                                llvm::LLVMContext &context);

/// The PTX of `module`.
std::string emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace deplo

#endif // DEPLO_TARGET_NVPTX_H
