// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dimensions of the tiles of a kernel are the same dimension.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H

#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/PointerUnion.h"

namespace deplo::tile {

/// Operations tie dimensions of their operands and results together:
/// elementwise ones position by position, broadcasts and reductions the
/// dimensions that they keep, loops what they carry. The classes of that
/// relation are what a pass resizes. A class is an axis of the kernel, if
/// accesses along it start at the axis's index, or an inner dimension. The
/// slice of a row that a block of a cluster has is an inner dimension.
///
/// A constant has whatever size its use wants. Operations that share one are
/// not tied together by it, so classes of constants are those of their uses.
class TileDims {
public:
  explicit TileDims(KernelOp kernel);

  /// In place of a class for tiles that are newer than the analysis.
  static constexpr unsigned noClass = ~0u;

  unsigned getNumClasses() const { return classes.size(); }
  /// The class of each dimension of a tile that is not a constant.
  llvm::SmallVector<unsigned> getClasses(mlir::Value tile) const;
  /// The class of each dimension of an operand.
  llvm::SmallVector<unsigned> getClasses(mlir::OpOperand &operand) const;

  /// Elements of a tile along the class.
  int64_t getSize(unsigned number) const { return classes[number].size; }
  /// Elements of all blocks together that are not padding.
  int64_t getExtent(unsigned number) const { return classes[number].extent; }
  /// The axis that the class is, if it is one.
  std::optional<unsigned> getAxis(unsigned number) const {
    return classes[number].axis;
  }
  /// The cluster axis's value, if tiles of the class start at it; else null.
  mlir::Value getSliceStart(unsigned number) const {
    return classes[number].sliceStart;
  }
  /// The part that the kernel's block folds of the class, and how many there
  /// are; null and 1 for all of it.
  std::pair<mlir::Value, int64_t> getPart(unsigned number) const {
    return {classes[number].part, classes[number].parts};
  }
  /// How many accesses have neighbours along the class side by side in memory.
  int64_t getContiguousAccesses(unsigned number) const {
    return classes[number].contiguousAccesses;
  }

  /// Gives the tiles of the class another size. Bounds of accesses stay.
  void resize(unsigned number, int64_t size);

private:
  /// A value, or an operand that is a constant.
  using Tile = llvm::PointerUnion<mlir::Value, mlir::OpOperand *>;
  using Dim = std::pair<void *, unsigned>;
  struct Class {
    int64_t size;
    int64_t extent;
    int64_t contiguousAccesses = 0;
    std::optional<unsigned> axis;
    mlir::Value sliceStart;
    mlir::Value part;
    int64_t parts = 1;
    llvm::SmallVector<std::pair<Tile, unsigned>> members;
  };

  static Tile getTile(mlir::OpOperand &operand);
  static mlir::RankedTensorType getType(Tile tile);
  llvm::SmallVector<unsigned> getClassesOf(Tile tile) const;
  void unite(Tile a, unsigned dimA, Tile b, unsigned dimB);
  void uniteAll(Tile a, Tile b);
  void visit(mlir::Operation *op);
  void visitElementwise(mlir::Operation *op);
  void visitLoop(mlir::scf::ForOp loop);
  template <typename OpT>
  void visitAccess(OpT access, llvm::ArrayRef<unsigned> numbers);
  bool learnAxis(Class &known, mlir::Value start);
  void learnBound(Class &known, int64_t bound, int64_t start, int64_t step);
  void visitMask(InBoundsOp mask);
  void numberClasses();

  KernelOp kernel;
  SymbolicSizes sizes;
  llvm::EquivalenceClasses<Dim> relation;
  llvm::DenseMap<Dim, unsigned> classOf;
  llvm::SmallVector<Class> classes;
};

/// Whether the tile's elements are all one constant or scalar.
bool isConstantTile(mlir::Value tile);

/// A constant tile in another shape.
mlir::Value reshapeConstantTile(mlir::OpBuilder &builder, mlir::Value tile,
                                llvm::ArrayRef<int64_t> shape);

/// The tile type with another shape. Tiles have no layout yet.
inline mlir::RankedTensorType withShape(mlir::Type tile,
                                        llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(
      shape, llvm::cast<mlir::RankedTensorType>(tile).getElementType());
}

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_TILEDIMS_H
