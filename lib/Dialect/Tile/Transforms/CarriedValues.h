// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of an iteration can run before the one in front of it is done, or
// elsewhere.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CARRIEDVALUES_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CARRIEDVALUES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace deplo::tile {

/// Whether `ops`, or what is in their regions, take a value that an iteration
/// of `loop` hands on to the next one. If not, its variable is all that they
/// need to know of an iteration.
bool takeCarriedValue(llvm::ArrayRef<mlir::Operation *> ops,
                      mlir::scf::ForOp loop);

/// `value`, with what the body of `loop` computes it from, cloned at `builder`:
/// as it is where what `mapping` holds, such as the loop's variable, is as it
/// says.
mlir::Value cloneFromBody(mlir::OpBuilder &builder, mlir::Value value,
                          mlir::scf::ForOp loop, mlir::IRMapping &mapping);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_CARRIEDVALUES_H
