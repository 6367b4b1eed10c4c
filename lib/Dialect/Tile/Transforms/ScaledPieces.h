// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of contractions as two pieces of f16, of rows that have scales.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCALEDPIECES_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCALEDPIECES_H

#include "OperandCopies.h"

namespace deplo::tile {

/// Two planes of f16 for a memref of f32, with rows of a multiple of 16 bytes.
mlir::MemRefType getScaledPiecesType(mlir::MemRefType type);

/// That of the roots of the scales of its rows along dimension `dim`, which is
/// of one element there.
mlir::MemRefType getScalesType(mlir::MemRefType type, unsigned dim);

class ScaledPieces : public BufferCopies {
public:
  using BufferCopies::BufferCopies;

  struct Buffers {
    mlir::Value pieces, scales;
  };

  /// Those of `buffer`, whose rows are along dimension `dim`; they are written
  /// before `launch`.
  Buffers get(mlir::Value buffer, unsigned dim, loop::LaunchOp launch);

private:
  /// Kernels that write them, in the order of their launches.
  llvm::ArrayRef<loop::KernelOp>
  getWriters(mlir::Location loc, mlir::MemRefType type, unsigned dim);

  llvm::DenseMap<std::pair<mlir::Type, unsigned>,
                 llvm::SmallVector<loop::KernelOp, 2>>
      writers;
};

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCALEDPIECES_H
