// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILEOPS_TD
#define DEPLO_DIALECT_TILE_IR_TILEOPS_TD

include "deplo/Dialect/Monoid.td"
include "deplo/Dialect/Tile/IR/TileTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_SharedMemory : Resource<"::deplo::tile::SharedMemory">;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the program of one thread block";
  let description = [{
    Arguments are memrefs in global memory. Each axis has an index value: the
    coordinate of this block's first iteration along it.

    ```mlir
    tile.kernel @double(%x: memref<4096xf32>, %y: memref<4096xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
      %a = tile.load %x[%i] : memref<4096xf32> -> tensor<1024xf32>
      %b = arith.addf %a, %a : tensor<1024xf32>
      tile.store %b, %y[%i] : tensor<1024xf32>, memref<4096xf32>
    }
    ```

    Constraints:
    - C1: arguments are memrefs, followed by one index for each axis.
    - C2: warps, once chosen, are a power of two.
    - C3: the last axis alone may be a cluster axis.

    The blocks of a cluster differ in the coordinate along its axis alone. What
    doesn't depend on that is the same in all of them, and the first one stores
    it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Tile_AxisAttr, "axes">:$axes,
                       OptionalAttr<I64Attr>:$warps, OptionalAttr<Tile_ScheduleAttr>:$schedule);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$argumentTypes,
                                 "::llvm::ArrayRef<::deplo::tile::AxisAttr>":$axes,
                                 "::deplo::tile::ScheduleAttr":$schedule)>];
  let extraClassDeclaration = [{
    unsigned getNumMemrefs() { return getBody()->getNumArguments() - getAxes().size(); }
    ::mlir::Block::BlockArgListType getMemrefs() { return getBody()->getArguments().take_front(getNumMemrefs()); }
    ::mlir::Block::BlockArgListType getAxisValues() { return getBody()->getArguments().drop_front(getNumMemrefs()); }
    AxisAttr getAxis(unsigned i) { return ::llvm::cast<AxisAttr>(getAxes()[i]); }
    /// The axis that the blocks of a cluster share, the last; or none.
    ::std::optional<unsigned> getClusterAxis();
    /// Blocks of a cluster; 1 without.
    int64_t getClusterBlocks();
    void setAxis(unsigned i, AxisAttr axis);
  }];
}

def Tile_ConcatOp : Tile_Op<"concat", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a kernel of the blocks of several kernels";
  let description = [{
    The first blocks of the grid run the first part, those behind them the next
    one. Nothing orders parts: none may read or write what another writes.

    ```mlir
    tile.concat @query_and_key(%x: memref<64x32xf32>, %v: memref<32x64xf32>, %w: memref<32x16xf32>, %q: memref<64x64xf32>, %k: memref<64x16xf32>) {
      tile.part @query(%x, %v, %q) : memref<64x32xf32>, memref<32x64xf32>, memref<64x64xf32>
      tile.part @key(%x, %w, %k) : memref<64x32xf32>, memref<32x16xf32>, memref<64x16xf32>
    }
    ```

    Constraints:
    - C1: arguments are memrefs.
    - C2: the body consists of at least two `tile.part`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$argumentTypes)>];
  let extraClassDeclaration = [{
    auto getParts() { return getBody()->getOps<PartOp>(); }
  }];
}

def Tile_PartOp : Tile_Op<"part", [HasParent<"ConcatOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a kernel whose blocks are part of another's";
  let description = [{
    Constraints:
    - C1: the callee is a `loop.kernel` or `tile.kernel` of the module.
    - C2: operands match its arguments in number and type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$buffers);
  let assemblyFormat = "$kernel `(` $buffers `)` attr-dict `:` type($buffers)";
}

//===----------------------------------------------------------------------===//
// Programmatic dependent launch
//===----------------------------------------------------------------------===//

def Tile_LaunchDependentsOp : Tile_Op<"launch_dependents", [HasParent<"KernelOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "grids that depend on this one may start (PTX ISA, griddepcontrol.launch_dependents)";
  let description = [{
    Once every block of the grid has executed it or is complete, blocks of the
    grids that depend on this one may start. It says nothing about memory: they
    wait for this grid to complete before they use what it wrote
    (`tile.wait_dependencies`).

    Constraints:
    - C1: the parent is a `tile.kernel`, so that every thread executes it.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WaitDependenciesOp : Tile_Op<"wait_dependencies", [HasParent<"KernelOp">,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the grids that this one depends on (PTX ISA, griddepcontrol.wait)";
  let description = [{
    They are complete, and what they wrote to global memory is visible, before any
    thread goes on. A kernel with it is launched before they are complete.

    Constraints:
    - C1: the parent is a `tile.kernel`, so that every thread executes it.
    - C2: no access to global memory precedes it in the kernel.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

// A box of a memref: tile coordinate c of tile dimension t is the memref
// coordinate indices[dims[t]] + steps[t] * c; the other memref dimensions stay
// at their index.
class Tile_GlobalOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
  }];
}

defvar boxDescription = [{

    Tile coordinate `c` of dimension `t` is the memref coordinate
    `indices[dims[t]] + steps[t] * c`; the memref's other dimensions stay at
    their index. Without `dims` the tile spans the memref's last dimensions in
    order; without `steps` all are 1. With `bounds`, elements whose memref
    coordinate along `dims[t]` is negative or not below `bounds[t]` are masked.

    Constraints:
    - C1: one index for each memref dimension.
    - C2: `dims`, `steps` and `bounds` have one entry for each tile dimension.
    - C3: dims are distinct and within the memref's rank; steps are positive.
    - C4: the element types are equal.
    - C5: `vector`, the elements of one access of a thread, is a power of two.
}];

def Tile_LoadOp : Tile_GlobalOp<"load"> {
  let summary = "a box of global memory as a tile";
  let description = "Masked elements are zero." # boxDescription;
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memref, Variadic<Index>:$indices,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$steps,
                       OptionalAttr<DenseI64ArrayAttr>:$bounds, OptionalAttr<I64Attr>:$vector);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $memref `[` $indices `]` (`dims` $dims^)? (`steps` $steps^)? (`bounds` $bounds^)? (`vector` $vector^)?
    attr-dict `:` type($memref) `->` type($result)
  }];
}

def Tile_StoreOp : Tile_GlobalOp<"store"> {
  let summary = "a tile to a box of global memory";
  let description = "Masked elements are not written." # boxDescription;
  let arguments = (ins AnyRankedTensor:$value, Arg<AnyMemRef, "", [MemWrite]>:$memref, Variadic<Index>:$indices,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$steps,
                       OptionalAttr<DenseI64ArrayAttr>:$bounds, OptionalAttr<I64Attr>:$vector);
  let assemblyFormat = [{
    $value `,` $memref `[` $indices `]` (`dims` $dims^)? (`steps` $steps^)? (`bounds` $bounds^)? (`vector` $vector^)?
    attr-dict `:` type($value) `,` type($memref)
  }];
}

def Tile_GatherOp : Tile_Op<"gather", [Elementwise, AttrSizedOperandSegments]> {
  let summary = "elements of global memory at computed offsets";
  let description = [{
    Element `c` is the element `offsets[c]` places from where the memref starts,
    counted in elements. Where the mask is false nothing is read: the element is
    that of `otherwise`, or zero without it.

    ```mlir
    %a = tile.gather %x[%o] mask %m else %e : (memref<4x8xf32>, tensor<32xi32>, tensor<32xi1>, tensor<32xf32>) -> tensor<32xf32>
    ```

    Constraints:
    - C1: offsets are i32 or i64, the mask i1; all tiles have one shape.
    - C2: the memref, `otherwise` and the result have one element type.
    - C3: there is no `otherwise` without a mask.
    - C4: `vector`, the elements of one access of a thread, is a power of two.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memref, AnyRankedTensor:$offsets,
                       Optional<AnyRankedTensor>:$mask, Optional<AnyRankedTensor>:$otherwise,
                       OptionalAttr<I64Attr>:$vector);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $memref `[` $offsets `]` (`mask` $mask^)? (`else` $otherwise^)? (`vector` $vector^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
    ::mlir::RankedTensorType getType() { return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType()); }
  }];
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc<Tile_SharedMemory>]>]> {
  let summary = "a buffer in shared memory, alive for the whole kernel";
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

class Tile_CopyLikeOp<string mnemonic> : Tile_GlobalOp<mnemonic> {
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memref, Variadic<Index>:$indices,
                       Arg<Tile_BufferType, "", [MemWrite]>:$buffer,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$steps,
                       OptionalAttr<DenseI64ArrayAttr>:$bounds, OptionalAttr<I64Attr>:$vector);
}

def Tile_CopyOp : Tile_CopyLikeOp<"copy"> {
  let summary = "a box of global memory to a whole buffer";
  let description = "Masked elements are zero. Other threads see it after a barrier." # boxDescription;
  let assemblyFormat = [{
    $memref `[` $indices `]` `to` $buffer (`dims` $dims^)? (`steps` $steps^)? (`bounds` $bounds^)?
    (`vector` $vector^)? attr-dict `:` type($memref) `,` qualified(type($buffer))
  }];
}

def Tile_AsyncCopyOp : Tile_CopyLikeOp<"async_copy"> {
  let summary = "tile.copy that returns at once (PTX ISA, cp.async)";
  let description = "Complete for the copying thread when its token is awaited, for others after a barrier that follows." # boxDescription # [{
    - C6: the token is awaited exactly once.
    - C7: `vector` elements, once chosen, are 4, 8 or 16 bytes.
  }];
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = [{
    $memref `[` $indices `]` `to` $buffer (`dims` $dims^)? (`steps` $steps^)? (`bounds` $bounds^)?
    (`vector` $vector^)? attr-dict `:` type($memref) `,` qualified(type($buffer))
  }];
}

def Tile_AwaitOp : Tile_Op<"await", [MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits for asynchronous copies of this thread, or contractions of its warpgroup";
  let arguments = (ins Variadic<Tile_TokenType>:$tokens);
  let assemblyFormat = "$tokens attr-dict";
}

class Tile_BufferOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

defvar bufferDescription = [{
    Tile coordinate `c` is the buffer coordinate `indices + c`.

    Constraints:
    - C1: one index for each buffer dimension, and the tile has the buffer's rank.
    - C2: the element types are equal.
    - C3: `vector`, the elements of one access of a thread, is a power of two.
}];

def Tile_ReadOp : Tile_BufferOp<"read"> {
  let summary = "a box of a buffer as a tile";
  let description = bufferDescription;
  let arguments = (ins Arg<Tile_BufferType, "", [MemRead]>:$buffer, Variadic<Index>:$indices,
                       OptionalAttr<I64Attr>:$vector);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer `[` $indices `]` (`vector` $vector^)? attr-dict `:` qualified(type($buffer)) `->` type($result)";
}

def Tile_WriteOp : Tile_BufferOp<"write"> {
  let summary = "a tile to a box of a buffer";
  let description = bufferDescription;
  let arguments = (ins AnyRankedTensor:$value, Arg<Tile_BufferType, "", [MemWrite]>:$buffer,
                       Variadic<Index>:$indices, OptionalAttr<I64Attr>:$vector);
  let assemblyFormat = "$value `,` $buffer `[` $indices `]` (`vector` $vector^)? attr-dict `:` type($value) `,` qualified(type($buffer))";
}

def Tile_SlotOp : Tile_Op<"slot", [Pure]> {
  let summary = "one of the buffers of a ring";
  let description = [{
    A ring is a buffer whose first dimension counts its slots. The slot lies in
    the ring as the ring says.

    ```mlir
    %s = tile.slot %ring[%i] : !tile.buffer<3x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
    ```

    Constraints:
    - C1: the result is the ring without its first dimension.
  }];
  let arguments = (ins Tile_BufferType:$ring, Index:$slot);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "$ring `[` $slot `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "all threads of the block arrive before any goes on (PTX ISA, barrier.sync)";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, AttrSizedOperandSegments]> {
  let summary = "monoids folded over one dimension of tiles";
  let description = [{
    Each operand is folded with its monoid; the result has the dimension removed
    and is known to every thread that holds part of its row. How is read off the
    layout: over a thread's registers, then lanes by shuffles, then warps through
    shared memory.

    ```mlir
    %s = tile.reduce [add] %x axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
    ```

    With a part, only the elements of one part are folded, the identity if there
    are none. Each element is in one part; in which one is unspecified but fixed.
    `chunk_reduce` gives each part chunks of its own.

    ```mlir
    %s = tile.reduce [add] %x axis 0 part %i of 132 : tensor<1048576xf32> -> tensor<f32>
    ```

    Constraints:
    - C1: one monoid and one result for each input, at least one.
    - C2: inputs have one shape and layout; the axis is within it.
    - C3: each result is its input without the axis; with layouts, the
      input's layout without the axis.
    - C4: the monoids are defined for the elements.
    - C5: a part comes with the number of parts, at least 2. It is an axis of as
      many blocks, each of which has one.
  }];
  let arguments = (ins TypedArrayAttrBase<Deplo_Monoid, "monoids">:$kinds, Variadic<AnyRankedTensor>:$inputs,
                       Optional<Index>:$part, I64Attr:$axis, OptionalAttr<I64Attr>:$parts);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::deplo::Monoid>":$kinds, "::mlir::ValueRange":$inputs,
                                 "int64_t":$axis, CArg<"::mlir::Value", "{}">:$part,
                                 CArg<"std::optional<int64_t>", "{}">:$parts)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::deplo::Monoid> getMonoids();
  }];
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "sums of products of two tiles, added to an accumulator";
  let description = [{
    `result[i] = accumulator[i] + sum over k of lhs[...] * rhs[...]`. Dimension
    `t` of an operand is dimension `dims[t]` of the result, or the one that is
    summed over where `dims[t]` is the result's rank. So an operand lies as it
    lies in memory, transposed or not, and a batch is a dimension of all three.
    Elements are multiplied and added in the accumulator's type. With precision
    `tf32`, those of f32 may be rounded to tf32 before; with precision `f32`, each
    is a sum of three numbers of bf16, of whose nine products the three smallest
    may be left out, and what would come to infinity may come to NaN
    (`tile.recompute`); with precision `f32_fast`, it may be rounded to a sum of
    two numbers of f16 times a power of two for each row along the sum, the
    smallest of whose four products may be left out.

    ```mlir
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<64x8xf32>, tensor<8x32xf32>, tensor<64x32xf32>
    ```

    With an `atom`, tensor cores add products in an order of their own.

    ```mlir
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [2, 1]> : tensor<64x16xf16>, tensor<16x32xf16>, tensor<64x32xf32>
    ```

    Constraints:
    - C1: each operand has one entry of `dims` for each dimension, all different,
      none greater than the result's rank, which is among them.
    - C2: sizes along equal dimensions are equal; each dimension of the result is
      a dimension of an operand.
    - C3: the operands have one element type, that of the accumulator or one that
      extends to it.
    - C4: with layouts, each thread holds the elements of the operands that its
      elements of the accumulator take; with an atom, layouts are those of its
      fragments.
    - C5: an atom has warps for each dimension of the result, and multiplies f16,
      bf16 or, with precision `f32`, `f32_fast` or `tf32`, f32, into f32, or i8
      into i32.
    - C6: precisions other than `ieee` are of operands of f32.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, DenseI64ArrayAttr:$lhsDims, AnyRankedTensor:$rhs,
                       DenseI64ArrayAttr:$rhsDims, AnyRankedTensor:$accumulator,
                       DefaultValuedAttr<Tile_Precision, "::deplo::tile::Precision::IEEE">:$precision,
                       OptionalAttr<Tile_AtomAttr>:$atom);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `dims` $lhsDims `,` $rhs `dims` $rhsDims `,` $accumulator (`precision` $precision^)?
    `` custom<Atom>($atom) attr-dict `:`
    type($lhs) `,` type($rhs) `,` type($accumulator)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getContractedSize();
    /// The last dimensions of the result that only `lhs` and only `rhs` have.
    ::std::pair<unsigned, unsigned> getRowAndColumn();
    /// What is summed over in one instruction of the atom.
    int64_t getAtomDepth();
    /// The dimension of an operand that is summed over.
    static unsigned getContractedDim(::llvm::ArrayRef<int64_t> dims, int64_t rank) {
      return ::llvm::find(dims, rank) - dims.begin();
    }
  }];
}

def Tile_RecomputeOp : Tile_Op<"recompute", [Elementwise, AttrSizedOperandSegments,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "sums of products of global memory, anew where they are not finite";
  let description = [{
    Where an element of `value` is infinite or NaN, the result has
    `sum over k < depth of lhs[lhsMap(i, k)] * rhs[rhsMap(i, k)]` instead, added in
    f32 in ascending order. So a sum that tensor cores add up from pieces of its
    factors is as IEEE 754 says where the pieces are not finite. Maps take the coordinates of the
    element, then `k`; their symbols are the indices. Coordinates outside of the
    memref stand for zeros.

    ```mlir
    %e = tile.recompute %d, %x[%i] affine_map<(d0, d1, d2)[s0] -> (s0 + d0, d2)>, %w[%j] affine_map<(d0, d1, d2)[s0] -> (d2, s0 + d1)> depth 512 : tensor<64x32xf32>, memref<128x512xf32>, memref<512x64xf32>
    ```

    Constraints:
    - C1: the tile and both memrefs are of f32.
    - C2: a map has a dimension for each of the tile and one more, a symbol for
      each index, and a result for each dimension of its memref.
    - C3: the depth is positive.
  }];
  let arguments = (ins AnyRankedTensor:$value, Arg<AnyMemRef, "", [MemRead]>:$lhs, Variadic<Index>:$lhsIndices,
                       AffineMapAttr:$lhsMap, Arg<AnyMemRef, "", [MemRead]>:$rhs, Variadic<Index>:$rhsIndices,
                       AffineMapAttr:$rhsMap, I64Attr:$depth);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $value `,` $lhs `[` $lhsIndices `]` $lhsMap `,` $rhs `[` $rhsIndices `]` $rhsMap `depth` $depth attr-dict `:`
    type($value) `,` type($lhs) `,` type($rhs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getType() { return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType()); }
  }];
}

def Tile_ScanOp : Tile_Op<"scan", [Pure]> {
  let summary = "a monoid folded over each element of a tile and those before it";
  let description = [{
    Element `c` of the first result is the carry folded with the operand's
    elements from 0 to `c` along the axis: an inclusive scan. The second result
    is the fold of all of them, what the next tile of a longer row takes for its
    carry; every thread that holds part of a row knows it. Without a carry the
    fold begins with the first element.

    ```mlir
    %y, %next = tile.scan add %x carry %c axis 1 : (tensor<1x2048xf32>, tensor<1xf32>) -> (tensor<1x2048xf32>, tensor<1xf32>)
    ```

    How is read off the layout, as for `tile.reduce`: over a thread's neighbouring
    registers, then lanes by shuffles, then warps through shared memory, then
    over the registers that are further apart.

    Constraints:
    - C1: the axis is within the operand.
    - C2: the first result is of the operand's type.
    - C3: carry and second result are the operand without the axis; with layouts,
      of the operand's layout without the axis.
    - C4: the monoid is defined for the elements.
  }];
  let arguments = (ins Deplo_Monoid:$kind, AnyRankedTensor:$input, Optional<AnyRankedTensor>:$carry,
                       I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$total);
  let assemblyFormat = [{
    $kind $input (`carry` $carry^)? `axis` $axis attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::deplo::Monoid":$kind, "::mlir::Value":$input, "::mlir::Value":$carry,
                                 "int64_t":$axis)>];
}

def Tile_ClusterReduceOp : Tile_Op<"cluster_reduce", [Pure, Elementwise]> {
  let summary = "monoids folded over the blocks of a cluster";
  let description = [{
    Element `c` of each result is the fold of element `c` of the operand in all
    blocks of the cluster, in the order of the blocks. Every block has it. Blocks
    exchange their elements through distributed shared memory, with one barrier
    of the cluster.

    ```mlir
    %t = tile.cluster_reduce [add] %s : tensor<1xf32>
    ```

    Constraints:
    - C1: one monoid and one result for each operand, at least one.
    - C2: each result is of its operand's type; operands have one shape and layout.
    - C3: it is directly in a kernel that has a cluster axis.
  }];
  let arguments = (ins TypedArrayAttrBase<Deplo_Monoid, "monoids">:$kinds, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::deplo::Monoid>":$kinds, "::mlir::ValueRange":$inputs)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::deplo::Monoid> getMonoids();
  }];
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "a tile repeated along new dimensions";
  let description = [{
    Dimension `i` of the operand is dimension `dims[i]` of the result.

    ```mlir
    %b = tile.broadcast %s dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
    ```

    Constraints:
    - C1: dims are strictly increasing, one for each operand dimension.
    - C2: sizes along dims and element types are equal.
    - C3: with layouts, the operand's is the result's without the new dimensions.
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a scalar in every element of a tile";
  let description = [{
    Constraints:
    - C1: the scalar is the tile's element type.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_InBoundsOp : Tile_Op<"in_bounds", [Pure]> {
  let summary = "true where every coordinate is within its bound";
  let description = [{
    Element `c` is true where `0 <= corner[t] + c[t] < bounds[t]` for every `t`.

    ```mlir
    %m = tile.in_bounds [%i, %k] bounds [33, 3584] : tensor<2x4096xi1>
    ```

    Constraints:
    - C1: one corner and one bound for each dimension.
    - C2: the result's elements are i1.
  }];
  let arguments = (ins Variadic<Index>:$corner, DenseI64ArrayAttr:$bounds);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`[` $corner `]` `bounds` $bounds attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "coordinates as numbers";
  let description = [{
    Element `c` is `start + c`. A tile of rank 0 is `start`.

    ```mlir
    %n = tile.iota %i : tensor<1024xi64>
    ```

    Constraints:
    - C1: the result has at most one dimension.
    - C2: the result's elements are i32 or i64.
  }];
  let arguments = (ins Index:$start);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_MisalignmentOp : Tile_Op<"misalignment", [Pure]> {
  let summary = "how far an element is past an aligned one";
  let description = [{
    The element at `indices` is that many elements behind the last one before it
    (or itself) whose distance from the memref's base pointer is a multiple of
    `modulo` elements.

    ```mlir
    %m = tile.misalignment %x[%i, %c0] modulo 8 : memref<4096x50257xbf16>
    ```

    Constraints:
    - C1: one index for each memref dimension.
    - C2: the modulo is a power of two.
    - C3: the memref's strides and offset are static and not negative.
  }];
  let arguments = (ins AnyMemRef:$memref, Variadic<Index>:$indices, I64Attr:$modulo);
  let results = (outs Index:$result);
  let assemblyFormat = "$memref `[` $indices `]` `modulo` $modulo attr-dict `:` type($memref)";
  let hasVerifier = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tile held by other threads";
  let description = [{
    How is read off the layouts: nothing, a permutation of registers, shuffles
    or a trip through shared memory.

    Constraints:
    - C1: operand and result have the same shape and element type.
    - C2: both have layouts.
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

include "deplo/Dialect/Tile/IR/TileAsyncOps.td"
include "deplo/Dialect/Tile/IR/TileClusterOps.td"

#endif // DEPLO_DIALECT_TILE_IR_TILEOPS_TD
