// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the stages of a compilation tell about its kernels, and the package that
// they end in.

#ifndef DEPLO_LIB_COMPILER_REPORTS_H
#define DEPLO_LIB_COMPILER_REPORTS_H

#include "deplo/Compiler/Compiler.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace deplo {

/// One report for each loop.kernel: its bytes, operations and bound.
void collectCosts(mlir::ModuleOp module, llvm::StringRef precision,
                  std::vector<KernelReport> &reports);

/// The schedule of each tile.kernel, and the bytes that its accesses move.
void collectSchedules(mlir::ModuleOp module,
                      std::vector<KernelReport> &reports);

/// The inputs that kernels multiply as pieces of rows with scales.
std::vector<ScaledRows> collectScaledRows(mlir::ModuleOp module);

/// What the fusion passes decided, from their remarks.
std::vector<FusionDecision> collectFusion(llvm::ArrayRef<Step> steps);

/// Why, from the remarks of select_schedule.
void collectScheduleReasons(llvm::ArrayRef<Step> steps,
                            std::vector<KernelReport> &reports);

/// Launch, registers and occupancy of each kernel of the device module or
/// binary.
void collectResources(mlir::ModuleOp module,
                      std::vector<KernelReport> &reports);

/// The object of `binary` in `format`; empty if it has none.
llvm::StringRef getObject(mlir::gpu::BinaryOp binary,
                          mlir::gpu::CompilationTarget format);

/// The machine code of `binary` as text, by the toolkit's disassembler.
mlir::FailureOr<std::string> disassemble(mlir::gpu::BinaryOp binary);

/// The package of a module with a launch plan and a gpu.binary.
mlir::FailureOr<std::string> createDevicePackage(mlir::ModuleOp module,
                                                 const CompileOptions &options);

/// The kernels by wgmma that spill registers, or whose wgmma instructions ptxas
/// has serialised, and a sentence about each.
std::vector<std::pair<std::string, std::string>>
findSlowWgmma(mlir::ModuleOp module, llvm::ArrayRef<KernelReport> reports);

} // namespace deplo

#endif // DEPLO_LIB_COMPILER_REPORTS_H
