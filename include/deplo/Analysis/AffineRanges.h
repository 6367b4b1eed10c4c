// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine expressions over dimensions of known size: their values, and simpler
// forms that hold within those sizes only, such as (i * 8 + j) floordiv 8 = i
// for j < 8.

#ifndef DEPLO_ANALYSIS_AFFINERANGES_H
#define DEPLO_ANALYSIS_AFFINERANGES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace deplo {

/// Inclusive bounds.
struct ValueRange64 {
  int64_t min = 0;
  int64_t max = 0;
};

/// Bounds of `expr` where dimension `i` runs from 0 to `extents[i] - 1`. They
/// are exact for sums of different dimensions, otherwise possibly too wide.
/// None for symbols, for empty or unknown extents and on overflow.
std::optional<ValueRange64> getRange(mlir::AffineExpr expr,
                                     llvm::ArrayRef<int64_t> extents);

/// `expr` with divisions and remainders removed where the extents allow.
mlir::AffineExpr simplifyInRange(mlir::AffineExpr expr,
                                 llvm::ArrayRef<int64_t> extents);

/// `map` with every result simplified, and unit dimensions replaced by 0.
mlir::AffineMap simplifyInRange(mlir::AffineMap map,
                                llvm::ArrayRef<int64_t> extents);

/// A linear form: constant + sum of coefficients[i] * dimension i.
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> coefficients;
};

/// The linear form of `expr` over `numDims` dimensions; none if it divides.
std::optional<LinearForm> getLinearForm(mlir::AffineExpr expr,
                                        unsigned numDims);

/// Whether every division and remainder in `expr` is of one dimension, as in
/// (d0 floordiv 8) mod 4: splitting dimensions then makes it linear.
bool dividesDimsOnly(mlir::AffineExpr expr);

/// Position in memory: the sum of the results of `map` times `strides`.
mlir::AffineExpr linearize(mlir::AffineMap map,
                           llvm::ArrayRef<int64_t> strides);

/// Strides of a row-major array.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// The coordinates in a row-major array of `shape` of the element at
/// `position`.
mlir::AffineMap delinearize(mlir::AffineExpr position,
                            llvm::ArrayRef<int64_t> shape, unsigned numDims);

mlir::AffineExpr getExpr(const LinearForm &form, mlir::MLIRContext *context);

/// The position, in a row-major array of `shape`, that `map` goes to, if that
/// is linear where the coordinates need not be: then `map` is a reshape. None
/// if it is not, or not seen to be.
std::optional<LinearForm> getFlatForm(mlir::AffineMap map,
                                      llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> extents);

} // namespace deplo

#endif // DEPLO_ANALYSIS_AFFINERANGES_H
