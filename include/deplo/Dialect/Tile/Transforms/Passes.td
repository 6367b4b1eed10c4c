// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RegisterTilePass : Pass<"deplo-register-tile", "::deplo::tile::KernelOp"> {
  let summary = "Says which thread holds which element of every tile";
  let description = [{
    Step 008. Gives each tile a layout: a thread holds neighbours in memory, then
    lanes go along the dimension that is contiguous there, then warps along
    dimensions that are not reduced. Tiles of fewer dimensions get slices of the
    layout of the tile they are reduced from or broadcast to.
    `tile.convert_layout` is inserted where a tile is needed in two layouts, and
    around transposed accesses to memory.

    Fails if tiles that must be kept while threads wait for each other exceed the
    registers of the module's target.
  }];
  let options = [
    Option<"vector", "vector", "int64_t", "0",
           "neighbours that a thread holds; 0 for the schedule's, or 4 without one">];
}

def VectorizeAccessPass : Pass<"deplo-vectorize-access", "::deplo::tile::KernelOp"> {
  let summary = "Chooses how many elements each access of a thread moves";
  let description = [{
    Sets `vector` on accesses to global and shared memory: the largest power of
    two, up to 16 bytes, that layout, strides, offsets, bounds and the alignment
    of the arguments allow. Accesses of one element are left as they are.
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
