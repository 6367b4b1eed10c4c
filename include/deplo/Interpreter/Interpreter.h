// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels of the loop and tile levels on host arrays: slowly, one
// operation after the other, as the oracle for passes between these levels.
//
// Floats are computed in double precision and rounded to their type after every
// operation; reductions go in ascending order, from the identity. Two kernels
// that do the same operations in the same order therefore give the same bits,
// whatever their layouts. Blocks of a tile.kernel run in turn, whole tiles at a
// time.
//
// Shared memory is watched: it is an error to read what was not written, what
// another thread wrote after the last barrier, what an asynchronous copy brings
// before its token is awaited, and to write what another thread read after the
// last barrier. Tiles without a layout are anybody's. So is an access outside
// of a memref.

#ifndef DEPLO_INTERPRETER_INTERPRETER_H
#define DEPLO_INTERPRETER_INTERPRETER_H

#include "deplo/Interpreter/HostArray.h"

#include "mlir/Support/LLVM.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace deplo {

/// Runs `kernel`, a loop.kernel or tile.kernel, on `arguments`, one for each
/// memref. Emits an error and fails on operations that it doesn't know and on
/// accesses that are wrong.
mlir::LogicalResult
interpretKernel(mlir::Operation *kernel,
                mlir::MutableArrayRef<HostArray *> arguments);

/// Runs a launch plan: allocations, views and launches.
mlir::LogicalResult interpretPlan(mlir::func::FuncOp plan,
                                  mlir::MutableArrayRef<HostArray *> arguments);

} // namespace deplo

#endif // DEPLO_INTERPRETER_INTERPRETER_H
