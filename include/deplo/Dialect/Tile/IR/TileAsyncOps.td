// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What units beside the threads do: copies by tensor maps, contractions of
// shared memory, barriers that count them, and warps that only start copies.
// Included by TileOps.td.

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

def Tile_MBarriersOp : Tile_Op<"mbarriers", [HasParent<"KernelOp">,
    MemoryEffects<[MemAlloc<Tile_SharedMemory>]>]> {
  let summary = "barriers in shared memory, alive for the whole kernel (PTX ISA, mbarrier.init)";
  let description = [{
    A phase of each is complete after `arrivals` arrivals and all bytes that copies
    announced. Phases are counted from 0.

    ```mlir
    %full = tile.mbarriers arrivals 2 : !tile.mbarriers<4>
    ```

    Constraints:
    - C1: arrivals are positive.
    - C2: the parent is a `tile.kernel`.
  }];
  let arguments = (ins I64Attr:$arrivals);
  let results = (outs Tile_MBarriersType:$result);
  let assemblyFormat = "`arrivals` $arrivals attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_MBarrierWaitOp : Tile_Op<"mbarrier_wait", [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits until a phase of a barrier is complete (PTX ISA, mbarrier.try_wait.parity)";
  let description = [{
    What arrived before the phase was complete has been done, and what copies
    brought for it can be read. The phase is the current one, or the one before it;
    that before phase 0 is complete from the start.

    ```mlir
    tile.mbarrier_wait %full[%slot] phase %n : !tile.mbarriers<4>
    ```
  }];
  let arguments = (ins Tile_MBarriersType:$barriers, Index:$index, Index:$phase);
  let assemblyFormat = "$barriers `[` $index `]` `phase` $phase attr-dict `:` qualified(type($barriers))";
}

def Tile_MBarrierArriveOp : Tile_Op<"mbarrier_arrive", [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "each warp arrives at a barrier (PTX ISA, mbarrier.arrive)";
  let description = [{
    One arrival for each of the kernel's warps, after all that it has done.

    ```mlir
    tile.mbarrier_arrive %empty[%slot] : !tile.mbarriers<4>
    ```
  }];
  let arguments = (ins Tile_MBarriersType:$barriers, Index:$index);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` qualified(type($barriers))";
}

//===----------------------------------------------------------------------===//
// Copies by tensor maps
//===----------------------------------------------------------------------===//

def Tile_TmaCopyOp : Tile_GlobalOp<"tma_copy"> {
  let summary = "a box of global memory to a whole buffer, by the tensor memory accelerator (PTX ISA, cp.async.bulk.tensor)";
  let description = [{
    One thread starts it. It arrives at the barrier, whose phase is not complete
    before all bytes are in the buffer. Elements outside of the memref, or of the
    bounds, are zero.

    ```mlir
    tile.tma_copy %x[%i, %k] to %slot on %full[%n] : memref<512x512xbf16>, !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.mbarriers<4>
    ```

    Constraints:
    - C1: indices, `dims`, `bounds` and elements are as those of a `tile.copy`.
    - C2: there is a tensor map for it: see `#tile.tensor_map`.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memref, Variadic<Index>:$indices,
                       Arg<Tile_BufferType, "", [MemWrite]>:$buffer,
                       Arg<Tile_MBarriersType, "", [MemWrite]>:$barriers, Index:$index,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let assemblyFormat = [{
    $memref `[` $indices `]` `to` $buffer `on` $barriers `[` $index `]` (`dims` $dims^)? (`bounds` $bounds^)?
    attr-dict `:` type($memref) `,` qualified(type($buffer)) `,` qualified(type($barriers))
  }];
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
    ::std::optional<::llvm::ArrayRef<int64_t>> getSteps() { return ::std::nullopt; }
    ::std::optional<int64_t> getVector() { return ::std::nullopt; }
  }];
}

def Tile_TmaStoreOp : Tile_GlobalOp<"tma_store"> {
  let summary = "a tile to a box of global memory, by the tensor memory accelerator (PTX ISA, cp.async.bulk.tensor)";
  let description = [{
    Each warp writes a piece of what it holds of the tile to its part of a slot of
    the buffer, starts a copy from there, and goes on with the next piece and slot.
    A slot is written again when what was copied from it has been read. Elements
    outside of the memref, or of the bounds, are not written.

    The buffer is of slots, of warps, and of what a piece is of the tile:

    ```mlir
    tile.tma_store %v, %y[%i, %j] by %stage : tensor<128x256xbf16>, memref<512x512xbf16>, !tile.buffer<2x8x16x64xbf16, #tile.shared<swizzle = 128>>
    ```

    Constraints:
    - C1: indices, `dims`, `bounds` and elements are as those of a `tile.store`.
    - C2: the buffer has two dimensions more than the tile, the second of which is
      the kernel's warps; elements are the tile's.
    - C3: there is a tensor map for a piece: see `#tile.tensor_map`.
    - C4: with a layout, what a warp holds is made of such pieces, as many as a
      multiple of the slots.
  }];
  let arguments = (ins AnyRankedTensor:$value, Arg<AnyMemRef, "", [MemWrite]>:$memref, Variadic<Index>:$indices,
                       Arg<Tile_BufferType, "", [MemRead, MemWrite]>:$buffer,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let assemblyFormat = [{
    $value `,` $memref `[` $indices `]` `by` $buffer (`dims` $dims^)? (`bounds` $bounds^)?
    attr-dict `:` type($value) `,` type($memref) `,` qualified(type($buffer))
  }];
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
    ::std::optional<::llvm::ArrayRef<int64_t>> getSteps() { return ::std::nullopt; }
    ::std::optional<int64_t> getVector() { return ::std::nullopt; }
    int64_t getSlots() { return getBuffer().getType().getShape()[0]; }
    ::llvm::ArrayRef<int64_t> getPieceShape() { return getBuffer().getType().getShape().drop_front(2); }
  }];
}

//===----------------------------------------------------------------------===//
// Contractions of shared memory
//===----------------------------------------------------------------------===//

def Tile_AsyncDotOp : Tile_Op<"async_dot", [AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "tile.dot of two buffers that returns at once (PTX ISA, wgmma.mma_async)";
  let description = [{
    The result is there when the token is awaited; until then it can only be the
    accumulator of the next one. Buffers may be written when the token has been
    awaited by all warps.

    ```mlir
    %d, %t = tile.async_dot %a dims [0, 2], %b dims [1, 2], %c atom<wgmma, warps = [8, 1]> : !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.buffer<256x64xbf16, #tile.shared<swizzle = 128>>, tensor<128x256xf32>
    ```

    Operands with one more dimension, in front, are of pieces of f32. Of three of
    bf16, 2^24 times a number is `p[0] + p[1] + p[2]`, and the three smallest of
    nine products are left out, as in a `tile.dot` with precision `f32`. Of two of
    f16, a number is `p[0] + 2^-11 p[1]`, and the smallest of four products is, as
    with precision `f32_fast`. The sum has two parts: what an element comes to is
    `result + 2^-48 nextRest`, or of pieces of f16 `result + 2^-11 nextRest`, more
    exact than f32. Sums are awaited at once, so that both are there without the
    token.

    ```mlir
    %d, %t, %s = tile.async_dot %a dims [0, 2], %b dims [1, 2], %c rest %r atom<wgmma, warps = [8, 1]> : !tile.buffer<3x128x32xbf16, #tile.shared<swizzle = 64>>, !tile.buffer<3x128x32xbf16, #tile.shared<swizzle = 64>>, tensor<128x128xf32>
    ```

    The operand that gives the instruction its rows may be of f32 as it is: then
    threads read what they need of it and make its pieces in registers, from where
    the instruction takes them.

    ```mlir
    %d, %t, %s = tile.async_dot %a dims [0, 2], %b dims [1, 2], %c rest %r atom<wgmma, warps = [8, 1]> : !tile.buffer<128x32xf32, #tile.shared<swizzle = 128>>, !tile.buffer<3x64x32xbf16, #tile.shared<swizzle = 64>>, tensor<128x64xf32>
    ```

    Constraints:
    - C1: each operand has one entry of `dims` for each dimension, but for one of
      pieces, all different, none greater than the result's rank, which is one of
      the last two.
    - C2: sizes along equal dimensions are equal; each dimension of the result is
      a dimension of an operand.
    - C3: the operands are both of f16 or both of bf16, or one is of f32 and the
      other of its pieces; the accumulator is of f32.
    - C4: rows that are summed over are 32, 64 or 128 bytes, others a multiple of
      32 bytes.
    - C5: the atom is `wgmma`; with a layout, it is that of its accumulator.
    - C6: the token is awaited exactly once.
    - C7: in its block, nothing but an `async_dot`'s accumulator uses the result
      before the token is awaited.
    - C8: both operands are of pieces or none, which are three of bf16 or two of
      f16; in the place of three, the operand of the instruction's rows may be of
      f32.
    - C9: there is a rest where operands are of pieces, and nowhere else.
  }];
  let arguments = (ins Arg<Tile_BufferType, "", [MemRead]>:$lhs, DenseI64ArrayAttr:$lhsDims,
                       Arg<Tile_BufferType, "", [MemRead]>:$rhs, DenseI64ArrayAttr:$rhsDims,
                       AnyRankedTensor:$accumulator, Optional<AnyRankedTensor>:$rest,
                       Tile_AtomAttr:$atom);
  let results = (outs AnyRankedTensor:$result, Tile_TokenType:$token,
                      Optional<AnyRankedTensor>:$nextRest);
  let assemblyFormat = [{
    $lhs `dims` $lhsDims `,` $rhs `dims` $rhsDims `,` $accumulator (`rest` $rest^)? `atom` `` $atom attr-dict `:`
    qualified(type($lhs)) `,` qualified(type($rhs)) `,`
    custom<SumTypes>(ref($rest), type($accumulator), type($rest), type($nextRest))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether operands are multiplied as pieces of f32.
    bool isOfPieces() { return areInMemory(getLhs(), getLhsDims()) || areInMemory(getRhs(), getRhsDims()); }
    /// Whether an operand has a dimension of pieces.
    static bool areInMemory(::mlir::TypedValue<BufferType> operand, ::llvm::ArrayRef<int64_t> dims) {
      return operand.getType().getRank() > static_cast<int64_t>(dims.size());
    }
    int64_t getContractedSize() {
      return getLhs().getType().getShape().take_back(getLhsDims().size())[::llvm::find(getLhsDims(), getResult().getType().getRank()) - getLhsDims().begin()];
    }
    /// The last dimensions of the result that only `lhs` and only `rhs` have.
    ::std::pair<unsigned, unsigned> getRowAndColumn();
    /// What operands are of as the instruction takes them.
    ::mlir::Type getAtomElement();
    /// What is summed over in one instruction.
    int64_t getAtomDepth();
  }];
}

//===----------------------------------------------------------------------===//
// Roles of warps
//===----------------------------------------------------------------------===//

def Tile_ProducerOp : Tile_Op<"producer", [HasParent<"KernelOp">, SingleBlock, NoTerminator,
    RecursiveMemoryEffects]> {
  let summary = "what further warps do while the kernel's warps go on";
  let description = [{
    A warpgroup beside the kernel's warps runs the region, by one thread; the
    kernel's warps go on with what follows. The two meet at barriers in shared
    memory. `registers` are those of each thread of the warpgroup and of each of
    the kernel's warps (PTX ISA, setmaxnreg).

    ```mlir
    tile.producer registers [40, 232] {
      tile.mbarrier_wait %empty[%c0] phase %c0 : !tile.mbarriers<4>
    }
    ```

    Constraints:
    - C1: there are two numbers of registers, multiples of 8 from 24 to 256.
    - C2: the kernel's warps are whole warpgroups, and with those registers no more
      than a block of their threads can start with.
    - C3: only copies by tensor maps and waits for barriers have effects in it.
    - C4: only operations without effects, allocations and a wait for other grids
      precede it: the further warps run them, too.
  }];
  let arguments = (ins DenseI64ArrayAttr:$registers);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = "`registers` $registers $region attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the warpgroup.
    static constexpr int64_t warps = 4;
  }];
}

//===----------------------------------------------------------------------===//
// Blocks that stay
//===----------------------------------------------------------------------===//

def Tile_EachTileOp : Tile_Op<"each_tile", [ParentOneOf<["KernelOp", "ProducerOp"]>, SingleBlock,
    NoTerminator, RecursiveMemoryEffects]> {
  let summary = "what a block does for each of its tiles in turn";
  let description = [{
    The kernel is launched with so many blocks, or one for each tile if the launch
    gives extents of fewer. Block `b` runs the region for the tiles whose numbers
    are `b`, `b` + blocks, and so on, where tiles are numbered as blocks would be of
    a kernel without. The region's arguments are the corner of the tile along each
    axis of the kernel, and how many tiles the block has run before.

    ```mlir
    tile.each_tile blocks 132 (%i, %j) number %n {
      tile.tma_copy %x[%i, %c0] to %a on %full[%n] : memref<512x512xbf16>, !tile.buffer<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.mbarriers<4>
    }
    ```

    Constraints:
    - C1: the region has an index for each axis of the kernel, and one more.
    - C2: no axis of the kernel is of a cluster, and there are blocks, no more than
      tiles, or than the most that a launch may give.
    - C3: all of a kernel have as many blocks, and nothing uses the kernel's own
      coordinates.
  }];
  let arguments = (ins I64Attr:$blocks);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$blocks, "unsigned":$axes)>];
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getAxisValues() { return getBody()->getArguments().drop_back(); }
    ::mlir::BlockArgument getNumber() { return getBody()->getArguments().back(); }
    /// Of the grid, without this operation; the most that a launch may give.
    int64_t getNumTiles();
  }];
}
