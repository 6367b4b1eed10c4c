// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several tile passes need to talk to their users.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_PASSSUPPORT_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_PASSSUPPORT_H

#include "deplo/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Remarks.h"

namespace deplo::tile {

/// `memref`, a kernel's argument, as the user knows it: by the name that its
/// location carries, or as it is printed.
std::string getMemrefName(mlir::Value memref);

/// The pass option `mode` (auto, always or never), or what the schedule says if
/// it is empty. Emits an error if it is none of these.
mlir::FailureOr<Choice>
getChoice(KernelOp kernel, llvm::StringRef mode,
          llvm::function_ref<Choice(ScheduleAttr)> scheduled);

/// Emits an error unless the pass option `alignment` is a power of two.
mlir::LogicalResult checkAlignment(KernelOp kernel, int64_t alignment);

/// Elements of the widest access: `vector` where a pass's option gives it, else
/// the schedule's. An error where that is no power of two.
mlir::FailureOr<int64_t> getWidestAccess(KernelOp kernel, int64_t vector);

/// The target of the module around `kernel`, or null.
TargetAttr findTarget(KernelOp kernel);

/// Bytes of shared memory that `kernel` takes at most: its buffers, and what
/// reductions and conversions of layouts exchange between warps.
int64_t getSharedBytes(KernelOp kernel);

/// The shared buffers of `kernel` whose layout a step may choose: none, with a
/// remark that says why, where the schedule says never.
llvm::SmallVector<AllocOp> getBuffersToLayOut(KernelOp kernel, Choice choice,
                                              mlir::remark::RemarkOpts options);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_PASSSUPPORT_H
