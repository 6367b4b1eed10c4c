// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function that a tile.kernel became, and grids of several.

#ifndef DEPLO_CONVERSION_TILETOKERNEL_EMITTEDKERNEL_H
#define DEPLO_CONVERSION_TILETOKERNEL_EMITTEDKERNEL_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace deplo {

/// A kernel's function, and what its launch needs.
struct EmittedKernel {
  mlir::LLVM::LLVMFuncOp function;
  int64_t blocks, threads, sharedBytes;
  int32_t resident;
  bool isProgrammatic;
};

/// Makes a function one that the host launches.
void markKernel(const EmittedKernel &emitted, int64_t cluster);

/// Makes a function that calls, in each block, the part of `concat` that the
/// block belongs to, and erases `concat`; `parts` are the functions by name.
mlir::LogicalResult emitConcat(tile::ConcatOp concat,
                               const llvm::StringMap<EmittedKernel> &parts,
                               mlir::gpu::GPUModuleOp module);

} // namespace deplo

#endif // DEPLO_CONVERSION_TILETOKERNEL_EMITTEDKERNEL_H
