// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operation on tensors to graph. Each function emits an error at the
// operation where that can't be done.

#ifndef DEPLO_LIB_CONVERSION_LINALGTOGRAPH_CONVERTERS_H
#define DEPLO_LIB_CONVERSION_LINALGTOGRAPH_CONVERTERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace deplo {

using Values = llvm::SmallVector<mlir::Value>;

/// An operation of linalg with a region and indexing maps: linalg.generic and
/// all that are named after what their region does.
llvm::FailureOr<Values> convertStructuredOp(mlir::OpBuilder &builder,
                                            mlir::linalg::LinalgOp op);

/// Any other operation on tensors.
llvm::FailureOr<Values> convertTensorOp(mlir::OpBuilder &builder,
                                        mlir::Operation *op);

/// A constant for what `value`, a scalar, always is; null if that is not known.
mlir::TypedAttr getConstant(mlir::Value value);

/// An error unless `op` is arithmetic on scalars.
llvm::LogicalResult verifyScalarOp(mlir::Operation *op);

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_LINALGTOGRAPH_CONVERTERS_H
