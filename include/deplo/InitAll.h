// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that deplo adds to an MLIR tool, in two calls.

#ifndef DEPLO_INITALL_H
#define DEPLO_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace deplo {

/// The dialects of deplo and those of MLIR that its pipelines use, with their
/// translations and interfaces.
void registerAllDialects(mlir::DialectRegistry &registry);

/// The passes and pipelines of deplo alone.
void registerPasses();

/// The passes and pipelines of deplo, and those of MLIR's that they use or that
/// clean up.
void registerAllPasses();

} // namespace deplo

#endif // DEPLO_INITALL_H
