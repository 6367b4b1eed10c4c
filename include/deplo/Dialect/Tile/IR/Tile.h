// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILE_H
#define DEPLO_DIALECT_TILE_IR_TILE_H

#include "deplo/Analysis/LinearLayout.h"
#include "deplo/Analysis/SharedMemory.h"
#include "deplo/Dialect/Monoid.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
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

/// The layouts of a tile.dot's tiles.
struct DotLayouts {
  LinearLayout lhs, rhs, accumulator;
};

/// Those that its atom wants. Fails with the reason if there are none.
llvm::Expected<DotLayouts> getAtomLayouts(DotOp dot);

/// The memref dimension that each tile dimension of a box access spans: the
/// op's `dims`, or the last dimensions in order.
llvm::SmallVector<int64_t>
getSpannedDims(std::optional<llvm::ArrayRef<int64_t>> dims, int64_t memrefRank,
               int64_t tileRank);

/// Whether `op`, or one inside of it, reads or writes global memory.
bool accessesGlobalMemory(mlir::Operation *op);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_IR_TILE_H
