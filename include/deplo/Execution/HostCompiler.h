// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module at level `loop` to LLVM IR, an object file and a package for
// the CPU that this runs on.

#ifndef DEPLO_EXECUTION_HOSTCOMPILER_H
#define DEPLO_EXECUTION_HOSTCOMPILER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace deplo {

/// What host packages name as their target: the processor, and a digest of the
/// instructions that it has. A package runs where this is the same.
std::string getHostTarget();

/// The symbol of kernel `name` in an object file: apart from the C library's.
std::string getHostSymbol(llvm::StringRef name);

/// The text of the optimised LLVM IR of the kernels of `module`, which has been
/// through deplo-loop-to-llvm.
llvm::FailureOr<std::string> emitHostLLVMIR(mlir::ModuleOp module);

/// A relocatable object with the kernels of `module`, which has been through
/// deplo-loop-to-llvm.
llvm::FailureOr<std::string> emitHostObject(mlir::ModuleOp module);

/// A package for device "host". `module` is at level `loop`, or has been
/// through deplo-loop-to-llvm, as which the function leaves it.
llvm::FailureOr<std::string> compileHostPackage(mlir::ModuleOp module,
                                                llvm::StringRef name = "main");

} // namespace deplo

#endif // DEPLO_EXECUTION_HOSTCOMPILER_H
