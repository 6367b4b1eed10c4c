// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILE_H
#define DEPLO_DIALECT_TILE_IR_TILE_H

#include "deplo/Analysis/LinearLayout.h"
#include "deplo/Analysis/SharedMemory.h"
#include "deplo/Dialect/Monoid.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "deplo/Dialect/Tile/IR/TileDialect.h.inc"
#include "deplo/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "deplo/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "deplo/Dialect/Tile/IR/TileTypes.h.inc"

namespace deplo::tile {

/// Shared memory as a side-effect resource: accesses to it do not conflict with
/// those to global memory.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "tile.shared_memory"; }
};

} // namespace deplo::tile

#define GET_OP_CLASSES
#include "deplo/Dialect/Tile/IR/TileOps.h.inc"

namespace deplo::tile {

/// The layout of a tile, or null before layouts are assigned.
LayoutAttr getLayout(mlir::Type tile);
inline LayoutAttr getLayout(mlir::Value tile) {
  return getLayout(tile.getType());
}

/// The precision that an option names: as in the IR, with `-` for `_`.
std::optional<Precision> findPrecision(llvm::StringRef option);
/// Those that options may name, for messages.
inline constexpr llvm::StringLiteral namesOfPrecisions =
    "ieee, f32, f32-fast or tf32";

/// Whether tensor cores multiply numbers of f32 in pieces.
inline bool isOfPieces(Precision precision) {
  return precision == Precision::F32 || precision == Precision::F32Fast;
}

/// What numbers of f32 are in memory for wgmma: sums of pieces of a shorter
/// type, each times a power of two.
struct PiecesForm {
  int64_t count;
  /// Products of the largest pieces are two to this power times as large as
  /// what they stand for.
  int exponentOfProducts;
  /// The same of the rest, which the other products are added to.
  int exponentOfRest;
  /// Whether rows along the sum have scales, in memory of their own: the square
  /// root of what the numbers are divided by.
  bool hasScales;

  /// That of `element`: three of bf16, of 2^24 times the number, so that all
  /// numbers of f32, down to the least subnormal one, are sums of them; or two
  /// of f16, of a row whose largest number is from 2^13 to 2^15, the second
  /// piece times 2^11.
  static PiecesForm get(mlir::Type element);
};

/// Of the numbers whose pieces are of bf16.
inline constexpr int exponentOfPieces = 24;

/// What addresses of shared memory are multiples of that tensor maps copy from
/// (PTX ISA, cp.async.bulk.tensor).
inline constexpr int64_t bulkCopyAlignment = 128;

/// The layouts of a tile.dot's tiles.
struct DotLayouts {
  LinearLayout lhs, rhs, accumulator;
};

/// Those that its atom wants. Fails with the reason if there are none.
llvm::Expected<DotLayouts> getAtomLayouts(DotOp dot);

/// The layout of the result of a tile.async_dot that its atom wants.
llvm::Expected<LinearLayout> getAtomLayout(AsyncDotOp dot);

/// Whether a token is awaited once, in a loop that carries it or not.
bool isAwaitedOnce(mlir::Value token);

/// What of a tensor map's facts the hardware doesn't have ("3 extents, ...");
/// empty if it has all.
std::string findTensorMapProblem(int64_t offset, int64_t elementBytes,
                                 llvm::ArrayRef<int64_t> extents,
                                 llvm::ArrayRef<int64_t> strides,
                                 llvm::ArrayRef<int64_t> box, int64_t swizzle);

/// The tensor map of a copy of `shape` elements along `dims` of a memref, to a
/// buffer with `swizzle`; null, with the reason, if there is none.
TensorMapAttr getTensorMap(mlir::MemRefType memref,
                           llvm::ArrayRef<int64_t> dims,
                           llvm::ArrayRef<int64_t> shape,
                           std::optional<llvm::ArrayRef<int64_t>> bounds,
                           int64_t swizzle, int64_t argument,
                           std::string &reason);
TensorMapAttr getTensorMap(TmaCopyOp copy, int64_t argument,
                           std::string &reason);
TensorMapAttr getTensorMap(TmaStoreOp store, int64_t argument,
                           std::string &reason);
/// The memref dimension of each dimension of a tensor map, from the innermost.
llvm::SmallVector<int64_t> getTensorMapDims(llvm::ArrayRef<int64_t> dims,
                                            int64_t memrefRank);

/// The memref dimension that each tile dimension of a box access spans: the
/// op's `dims`, or the last dimensions in order.
llvm::SmallVector<int64_t>
getSpannedDims(std::optional<llvm::ArrayRef<int64_t>> dims, int64_t memrefRank,
               int64_t tileRank);

/// The axis that `value` is a coordinate along, of a kernel or of the tiles
/// that its blocks run; none if it is something else.
std::optional<AxisAttr> getAxisOf(mlir::Value value);

/// Whether `op`, or one inside of it, reads or writes global memory.
bool accessesGlobalMemory(mlir::Operation *op);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_IR_TILE_H
