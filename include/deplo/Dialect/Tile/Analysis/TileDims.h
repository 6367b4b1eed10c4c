// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dimensions of the tiles of a kernel are the same dimension.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H

#include "deplo/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace deplo::tile {

/// Operations tie dimensions of their operands and results together: elementwise
/// ones position by position, broadcasts and reductions the dimensions that
/// they keep, loops what they carry. The classes of that relation are what a
/// pass resizes. A class is an axis of the kernel, if accesses along it start
/// at the axis's index, or an inner dimension.
///
/// A constant that several operations share would tie their dimensions
/// together, so the constructor gives each use its own (see
/// `separateConstants`).
class TileDims {
public:
  explicit TileDims(KernelOp kernel);

  unsigned getNumClasses() const { return classes.size(); }
  /// The class of each dimension of a tile.
  llvm::SmallVector<unsigned> getClasses(mlir::Value tile) const;
  unsigned getClass(mlir::Value tile, unsigned dim) const;

  /// Elements of a tile along the class.
  int64_t getSize(unsigned number) const { return classes[number].size; }
  /// Elements of all blocks together that are not padding.
  int64_t getExtent(unsigned number) const { return classes[number].extent; }
  /// The axis that the class is, if it is one.
  std::optional<unsigned> getAxis(unsigned number) const {
    return classes[number].axis;
  }

  /// Gives the tiles of the class another size. Bounds of accesses stay.
  void resize(unsigned number, int64_t size);

private:
  using Dim = std::pair<mlir::Value, unsigned>;
  struct Class {
    int64_t size;
    int64_t extent;
    std::optional<unsigned> axis;
    llvm::SmallVector<Dim> members;
  };

  void unite(mlir::Value a, unsigned dimA, mlir::Value b, unsigned dimB);
  void uniteAll(mlir::Value a, mlir::Value b);
  void visit(mlir::Operation *op);
  template <typename OpT> void visitAccess(OpT access, mlir::Value tile);
  void number();

  KernelOp kernel;
  llvm::EquivalenceClasses<Dim> relation;
  llvm::DenseMap<Dim, unsigned> classOf;
  llvm::SmallVector<Class> classes;
};

/// Gives each use of a constant tile its own constant.
void separateConstants(KernelOp kernel);

/// Sets the type of a tile, and the value if it is a constant, to another
/// shape.
void setTileShape(mlir::Value tile, llvm::ArrayRef<int64_t> shape);

/// The tile type with another shape. Tiles have no layout yet.
inline mlir::RankedTensorType withShape(mlir::Type tile,
                                        llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(
      shape, llvm::cast<mlir::RankedTensorType>(tile).getElementType());
}

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H
