// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def StageInputsPass : Pass<"deplo-stage-inputs", "::deplo::tile::KernelOp"> {
  let summary = "Reads inputs that a block needs several times from shared memory";
  let description = [{
    Step 007. A box of a memref that several loops of a block sweep (or, with
    `always`, every box with a dimension that is not an axis of the kernel) is
    copied to shared memory once and read from there. Where not all boxes fit the
    target's shared memory, those that save most reads come first.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">];
}

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
           "the most neighbours that a thread holds; 0 for the schedule's, or 4 without one">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def AsyncCopyPass : Pass<"deplo-async-copy", "::deplo::tile::KernelOp"> {
  let summary = "Copies to shared memory without a trip through registers";
  let description = [{
    Step 013. Copies become asynchronous ones of 4, 8 or 16 bytes, as strides,
    bounds and alignment allow, and are awaited before the barrier that follows
    (sm_80 and later).
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def PadSmemPass : Pass<"deplo-pad-smem", "::deplo::tile::KernelOp"> {
  let summary = "Pads rows of shared buffers against bank conflicts";
  let description = [{
    Step 014. Chooses, for each buffer, the smallest pad that costs the accesses
    to it the fewest wavefronts, by the model of banks in SharedMemory.h. With
    `always` the pad may take all shared memory of a block, else a quarter of the
    buffer.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def MarkUnrollPass : Pass<"deplo-mark-unroll", "::deplo::tile::KernelOp"> {
  let summary = "Says how often loops are unrolled";
  let description = [{
    Step 016. Sets `tile.unroll` on loops with constant bounds: the largest
    divisor of the trip count that the schedule and the instruction cache allow.
  }];
  let options = [
    Option<"unroll", "unroll", "int64_t", "0", "the most copies of a body; 0 for the schedule's">];
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
