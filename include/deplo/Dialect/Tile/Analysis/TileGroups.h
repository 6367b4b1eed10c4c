// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that must have one layout, and how these layouts depend on each other.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_TILEGROUPS_H
#define DEPLO_DIALECT_TILE_ANALYSIS_TILEGROUPS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <vector>

namespace deplo::tile {

/// Tiles that elementwise operations and loops tie together: they have one
/// shape and layout.
struct TileGroup {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<int64_t> shape;
  /// For each dimension: the elements accessed along it where neighbours are
  /// neighbours in memory.
  llvm::SmallVector<int64_t> contiguous;
  /// For each dimension: the most elements along it that every access can move;
  /// 0 without accesses.
  llvm::SmallVector<int64_t> width;
  /// For each dimension: whether results of a reduction are spread over it.
  llvm::SmallVector<bool> kept;
  /// Whether a tile of the group is the result of a reduction, or the total of
  /// a scan.
  bool isReduced = false;
  /// What register_tile chooses.
  std::optional<LinearLayout> layout;

  int64_t getNumElements() const;
  void limitWidth(unsigned dim, int64_t limit);
  /// The dimensions from the one that is most often contiguous in memory to the
  /// one that is least often; the last ones first where that is equal.
  llvm::SmallVector<int64_t> getOrder() const;
};

/// The tile `part` is `whole` without the dimensions that are not in `dims`:
/// its result in a reduction, its total in a scan, or its operand in a
/// broadcast.
struct SliceRelation {
  unsigned part, whole;
  llvm::SmallVector<int64_t> dims;
};

/// The groups of a kernel. Values that take any layout are in the group of
/// their use: they must have one each.
class TileGroups {
public:
  /// Emits an error and returns nothing if an operation on tiles is not known.
  /// Memrefs start at multiples of `alignment` bytes.
  static std::optional<TileGroups> get(KernelOp kernel, int64_t alignment);

  unsigned getGroup(mlir::Value tile) const { return groupOf.lookup(tile); }
  /// Groups of larger tiles come before those of smaller ones.
  llvm::SmallVector<unsigned> getLargestFirst() const;

  std::vector<TileGroup> groups;
  llvm::SmallVector<SliceRelation> relations;

private:
  explicit TileGroups(int64_t alignment) : alignment(alignment) {}

  mlir::LogicalResult visit(mlir::Operation *op);
  void unite(mlir::Value a, mlir::Value b);
  void collect(mlir::Value value);
  void relate(mlir::Operation *op);
  void addAccess(TileGroup &group, unsigned dim, mlir::Operation *access);
  void addPartsToWholes();

  int64_t alignment;
  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseMap<mlir::Value, unsigned> groupOf;
  llvm::DenseMap<void *, unsigned> groupOfLeader;
};

inline bool isTile(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}
inline mlir::RankedTensorType getTileType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Constants, splats and masks, which any thread can make.
bool takesAnyLayout(mlir::Operation *op);

/// The tile that a load, store, read or write moves.
mlir::Value getMovedTile(mlir::Operation *access);

/// The dimensions of an operand of rank `rank` that its reduction keeps.
llvm::SmallVector<int64_t> getKeptDims(int64_t rank, int64_t axis);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_TILEGROUPS_H
