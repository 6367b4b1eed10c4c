// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's -O3, for device and host code alike.

#ifndef DEPLO_TARGET_OPTIMIZE_H
#define DEPLO_TARGET_OPTIMIZE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace deplo {

/// Runs LLVM's default -O3 pipeline for `machine` on `module`.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace deplo

#endif // DEPLO_TARGET_OPTIMIZE_H
