// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tile.dot and tile.async_dot verify alike.

#ifndef DEPLO_LIB_DIALECT_TILE_IR_PRODUCTDIMS_H
#define DEPLO_LIB_DIALECT_TILE_IR_PRODUCTDIMS_H

#include "mlir/IR/Operation.h"

namespace deplo::tile {

/// An operand of a product: its name, its shape, and the dimension of the
/// result that each of its dimensions is.
struct ProductOperand {
  llvm::StringRef name;
  llvm::ArrayRef<int64_t> shape, dims;
};

/// Dimensions of operands are different ones of the result, and one that is
/// summed over, which comes after all of these (C1); sizes agree, and every
/// dimension of the result is of some operand (C2).
llvm::LogicalResult verifyProductDims(mlir::Operation *op,
                                      llvm::ArrayRef<int64_t> result,
                                      llvm::ArrayRef<ProductOperand> operands);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_IR_PRODUCTDIMS_H
