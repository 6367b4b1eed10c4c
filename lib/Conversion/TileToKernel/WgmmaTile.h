// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What contractions by wgmma, of numbers and of pieces of them, have in common.

#ifndef DEPLO_LIB_CONVERSION_TILETOKERNEL_WGMMATILE_H
#define DEPLO_LIB_CONVERSION_TILETOKERNEL_WGMMATILE_H

#include "KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace deplo {

/// An operand of wgmma in shared memory. Along its rows lies what is summed
/// over or, where they `areOuter`, what isn't: rows or columns of the result.
struct KernelEmitter::WgmmaOperand {
  /// Of descriptors, in bytes.
  static constexpr int64_t unit = 16;

  mlir::Value buffer;
  tile::BufferType type;
  bool areOuter;

  int64_t getElementBytes() const { return getBytes(type.getElementType()); }
  int64_t getSwizzle() const { return type.getLayout().getSwizzle(); }
  /// Of a piece of all rows as long as the swizzle.
  int64_t getPieceBytes() const {
    return type.getSizeInBytes() * getSwizzle() /
           (type.getShape().back() * getElementBytes());
  }
  /// From the first element to another one at the start of a row or piece.
  int64_t getOuterUnits(int64_t outer) const {
    if (!areOuter)
      return outer * getSwizzle() / unit;
    int64_t bytes = outer * getElementBytes();
    return (bytes / getSwizzle() * getPieceBytes() + bytes % getSwizzle()) /
           unit;
  }
  int64_t getDepthUnits(int64_t depth) const {
    return depth * (areOuter ? getSwizzle() : getElementBytes()) / unit;
  }
  /// From the pieces of f32 of one scale to those of the next one: the rows of
  /// the buffer behind its first dimension.
  int64_t getScaleUnits() const {
    int64_t rows = 1;
    for (int64_t size : type.getShape().drop_front().drop_back())
      rows *= size;
    return rows * getSwizzle() / unit;
  }
};

/// A warpgroup's part of a contraction.
struct KernelEmitter::WgmmaTile {
  static constexpr int64_t instructionRows = 64;

  /// That of the accumulator's rows, and of its columns.
  WgmmaOperand lhs, rhs;
  /// Where the warpgroup's rows and columns start.
  MatrixDescriptor a, b;
  int64_t rows, columns;
  /// Summed elements of an instruction.
  int64_t depth;
  /// The number of the warpgroup along rows.
  mlir::Value groupOfRows;

  /// Of a thread in one instruction.
  int64_t getNumSums() const { return columns / 2; }
};

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_TILETOKERNEL_WGMMATILE_H
