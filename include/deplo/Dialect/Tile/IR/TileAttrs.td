// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILEATTRS_TD
#define DEPLO_DIALECT_TILE_IR_TILEATTRS_TD

include "deplo/Dialect/Tile/IR/TileBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tile_LayoutAttr : Tile_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which thread holds which element of a tile";
  let description = [{
    A linear map over bits from (register, lane, warp) to tile coordinates: bit
    `i` of the lane index moves by the coordinates `lane[i]`, and the moves of
    all set bits combine by exclusive or. A move of zeros means that the bit's
    two halves hold the same elements. See `LinearLayout`.

    A row of 1024 elements, four consecutive ones in a thread, 32 lanes, 8 warps:

    ```mlir
    #tile.layout<[1, 1024], register = [[0, 1], [0, 2]],
                 lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]],
                 warp = [[0, 128], [0, 256], [0, 512]]>
    ```

    Constraints:
    - C1: sizes are powers of two.
    - C2: each move has one coordinate for each dimension, within its size.
    - C3: there are five lane moves.
    - C4: the layout reaches every element of the tile.
    - C5: as a tensor's encoding, its shape is the tensor's shape.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"int64_t">:$registers,
                        ArrayRefParameter<"int64_t">:$lanes,
                        ArrayRefParameter<"int64_t">:$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static LayoutAttr get(::mlir::MLIRContext *context, const ::deplo::LinearLayout &layout);
    ::deplo::LinearLayout getLinearLayout() const;
  }];
}

def Tile_SharedAttr : Tile_Attr<"Shared", "shared"> {
  let summary = "how a buffer lies in shared memory";
  let description = [{
    Row-major, each innermost row followed by `pad` unused elements. `swizzle` is
    the span in bytes within which 16-byte chunks are exchanged by XOR with the
    row: 0 (none), 32, 64 or 128. Rows of up to 128 bytes are counted in groups
    of 128 bytes (PTX ISA, "Swizzling modes"), longer ones each. Rows that are
    `split` are cut to the length of the swizzle: what all rows begin with is
    followed by what they go on with.

    ```mlir
    !tile.buffer<64x256xbf16, #tile.shared<swizzle = 128, split = true>>
    ```

    Constraints:
    - C1: the pad is not negative.
    - C2: the swizzle is 0, 32, 64 or 128.
    - C3: a swizzled buffer has no pad.
    - C4: what is split is swizzled.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$pad,
                        DefaultValuedParameter<"int64_t", "0">:$swizzle,
                        DefaultValuedParameter<"bool", "false">:$split);
  let builders = [AttrBuilder<(ins "int64_t":$pad, "int64_t":$swizzle), [{
    return $_get($_ctxt, pad, swizzle, /*split=*/false);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_AxisKind : I32EnumAttr<"AxisKind", "what an axis of a kernel is", [
    I32EnumAttrCase<"Tile", 0, "tile">, I32EnumAttrCase<"Grid", 1, "grid">,
    I32EnumAttrCase<"Cluster", 2, "cluster">]> {
  let cppNamespace = "::deplo::tile";
  let genSpecializedAttr = 0;
}

def Tile_AxisAttr : Tile_Attr<"Axis", "axis"> {
  let summary = "one parallel axis of a kernel";
  let description = [{
    `extent` iterations, `step` of them in one block. A `tile` axis is whole in
    every block (its step is its extent); a `grid` axis is divided over blocks.
    A `cluster` axis is divided over the blocks of a thread-block cluster: they
    run at the same time, and `tile.cluster_reduce` combines what they have.

    Constraints:
    - C1: extent and step are positive.
    - C2: a tile axis has its extent as step.
  }];
  let parameters = (ins "int64_t":$extent, "int64_t":$step, "::deplo::tile::AxisKind":$kind);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Blocks along this axis.
    int64_t getBlocks() const { return (getExtent() + getStep() - 1) / getStep(); }
  }];
}

def Tile_Choice : I32EnumAttr<"Choice", "whether a step is taken", [
    I32EnumAttrCase<"Auto", 0, "auto">, I32EnumAttrCase<"Always", 1, "always">,
    I32EnumAttrCase<"Never", 2, "never">]> {
  let cppNamespace = "::deplo::tile";
  let genSpecializedAttr = 0;
}

def Tile_Precision : I32EnumAttr<"Precision", "what products of f32 may be computed in", [
    I32EnumAttrCase<"IEEE", 0, "ieee">, I32EnumAttrCase<"TF32", 1, "tf32">,
    I32EnumAttrCase<"F32", 2, "f32">, I32EnumAttrCase<"F32Fast", 3, "f32_fast">]> {
  let cppNamespace = "::deplo::tile";
}

def Tile_AtomKind : I32EnumAttr<"AtomKind", "the instruction of a contraction", [
    I32EnumAttrCase<"FMA", 0, "fma">, I32EnumAttrCase<"MmaSync", 1, "mma_sync">,
    I32EnumAttrCase<"Wgmma", 2, "wgmma">]> {
  let cppNamespace = "::deplo::tile";
  let genSpecializedAttr = 0;
}

def Tile_AtomAttr : Tile_Attr<"Atom", "atom"> {
  let summary = "the instruction of a contraction and how warps share its result";
  let description = [{
    `mma_sync` is `mma.sync` of m16n8 (PTX ISA): K is 16 for f16 and bf16, 8 for
    tf32 and 32 for i8. `wgmma` is `wgmma.mma_async` of m64, of four warps along the rows, which
    reads its operands from shared memory. `warps` are those along each dimension
    of the result.

    ```mlir
    #tile.atom<mma_sync, warps = [2, 4]>
    ```

    Constraints:
    - C1: the warps along each dimension are a power of two, 32 at most in all.
    - C2: the instruction is one of tensor cores (`fma` is no attribute).
  }];
  let parameters = (ins "::deplo::tile::AtomKind":$kind, ArrayRefParameter<"int64_t">:$warps);
  let assemblyFormat = "`<` $kind `,` `warps` `=` `[` $warps `]` `>`";
  let genVerifyDecl = 1;
}

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "the tunables of one kernel, read by the scheduling passes";
  let description = [{
    - `block`: elements of each parallel axis that one block computes.
    - `warps`: warps of a block.
    - `vector`: the most elements of one access of a thread.
    - `cluster`: blocks of a cluster that share each row at most.
    - `chunk`: elements of a long reduced or swept dimension (of a block's part of
      it, in a cluster) that are on chip at once; 0 for all of it.
    - `unroll`: the most copies of a loop body.
    - `thread`: of a contraction, the rows and columns of the result that one
      thread computes; empty for kernels that are none.
    - `stages`: of a contraction, the chunks of its operands that are in shared
      memory at once.
    - `atom`: the instruction of a contraction, `fma`, `mma_sync` or `wgmma`.
    - `warp_tile`: of a contraction on tensor cores, the rows and columns of the
      result that one warp computes; empty for all others.
    - `precision`: what products of f32 may be computed in, `ieee`, `f32` or
      `tf32`: the one field that says which values are wanted, and not how to
      compute them.
    - `stage_inputs`, `transpose_smem`, `async_copy`, `swizzle_smem`, `pad_smem`,
      `programmatic_launch`, `tma_copy`, `warp_specialize`, `tma_store`,
      `persist_blocks`: whether the step is taken.

    Constraints:
    - C1: block sizes, warps, vector and unroll are powers of two; block sizes of
      wgmma may be sums of such.
    - C2: the chunk is 0 or a power of two.
    - C3: a thread and a warp tile have two sizes, powers of two, or none.
    - C4: there is at least one stage.
    - C5: the cluster is positive.
    - C6: there is a warp tile if the atom is one of tensor cores.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$block, "int64_t":$warps, "int64_t":$vector,
                        DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"int64_t", "0">:$chunk,
                        DefaultValuedParameter<"int64_t", "1">:$unroll,
                        OptionalArrayRefParameter<"int64_t">:$thread,
                        DefaultValuedParameter<"int64_t", "1">:$stages,
                        DefaultValuedParameter<"::deplo::tile::AtomKind", "::deplo::tile::AtomKind::FMA">:$atom,
                        OptionalArrayRefParameter<"int64_t">:$warp_tile,
                        DefaultValuedParameter<"::deplo::tile::Precision", "::deplo::tile::Precision::IEEE">:$precision,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$stage_inputs,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$transpose_smem,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$async_copy,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$swizzle_smem,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$pad_smem,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$programmatic_launch,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$tma_copy,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$warp_specialize,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$tma_store,
                        DefaultValuedParameter<"::deplo::tile::Choice", "::deplo::tile::Choice::Auto">:$persist_blocks);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_LaunchAttr : Tile_Attr<"Launch", "launch"> {
  let summary = "how a device function is launched";
  let description = [{
    A row of `blocks` blocks of `threads` threads, each block with
    `shared_bytes` of dynamic shared memory. Each `cluster` blocks in a row are
    a thread-block cluster. A `programmatic` launch may start before the grids
    that it depends on are complete: the function waits for them itself (see
    `tile.wait_dependencies`).

    Constraints:
    - C1: blocks and threads are positive, shared bytes are not negative.
    - C2: the cluster is positive and divides the blocks.
  }];
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads, "int64_t":$shared_bytes,
                        DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"bool", "false">:$programmatic);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_TensorMapAttr : Tile_Attr<"TensorMap", "tensor_map"> {
  let summary = "a tensor map that a launch makes of an argument";
  let description = [{
    What the tensor memory accelerator (TMA) copies boxes of: `argument` is the
    pointer, `offset` bytes behind which the tensor starts. Dimensions are listed
    from the innermost; `strides` are in bytes, from the second. `box` is what one
    copy moves, and `swizzle` how it lies in shared memory. Elements are moved as
    bits, so their type is their width.

    Constraints:
    - C1: there are one to five dimensions, with a size of the box each and a
      stride less; the argument's number is not negative.
    - C2: strides and the offset are multiples of 16 bytes, strides less than 2^40.
    - C3: sizes of the box are from 1 to 256; a row of it is a multiple of 16
      bytes, and no longer than the swizzle.
    - C4: elements are of 1, 2, 4 or 8 bytes; extents are from 1 to 2^32.
  }];
  let parameters = (ins "int64_t":$argument, "int64_t":$offset, "int64_t":$element_bytes,
                        "::mlir::DenseI64ArrayAttr":$extents,
                        "::mlir::DenseI64ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$box,
                        DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_TargetAttr : Tile_Attr<"Target", "target"> {
  let summary = "the machine that is compiled for";
  let description = [{
    Facts about hardware, the only place where passes find them. Sizes in bytes,
    rates in units a second. A cluster has `blocks_per_cluster` blocks at most (1:
    there are no clusters), which run on the multiprocessors of one group.
    `mma_flops_per_second` is the rate of mma.sync of f16 with sums in f32, 0 if
    there are no tensor cores that are known, `wgmma_flops_per_second` that of
    `wgmma`, 0 on targets that have none.
    `deplo show-targets` prints those known by name.

    Constraints:
    - C1: every number is positive, but for the rates of mma.sync and wgmma, which
      may be 0.
  }];
  let parameters = (ins StringRefParameter<"LLVM's name of the processor, such as sm_90a">:$chip,
                        "int64_t":$multiprocessors,
                        "int64_t":$warps_per_multiprocessor,
                        "int64_t":$blocks_per_multiprocessor,
                        "int64_t":$registers_per_multiprocessor,
                        "int64_t":$registers_per_thread,
                        "int64_t":$threads_per_block,
                        "int64_t":$shared_per_multiprocessor,
                        "int64_t":$shared_per_block,
                        "int64_t":$l2_bytes,
                        "int64_t":$dram_bytes_per_second,
                        "int64_t":$f32_flops_per_second,
                        "int64_t":$launch_nanoseconds,
                        DefaultValuedParameter<"int64_t", "1">:$blocks_per_cluster,
                        DefaultValuedParameter<"int64_t", "1">:$multiprocessors_per_group,
                        DefaultValuedParameter<"int64_t", "0">:$mma_flops_per_second,
                        DefaultValuedParameter<"int64_t", "0">:$wgmma_flops_per_second);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The target of the module that encloses `op`; emits an error and returns
    /// null if there is none.
    static TargetAttr lookup(::mlir::Operation *op);
    /// The number in the processor's name: 90 for sm_90a.
    unsigned getComputeCapability() const;
    /// Whether copies by tensor maps and barriers in shared memory that count
    /// their bytes are there.
    bool hasTensorMaps() const { return getComputeCapability() >= 90; }
    /// Whether wgmma and setmaxnreg are there.
    bool hasWgmma() const { return getWgmmaFlopsPerSecond() > 0; }
  }];
}

#endif // DEPLO_DIALECT_TILE_IR_TILEATTRS_TD
