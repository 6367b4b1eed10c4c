// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"deplo-attach-target", "::mlir::ModuleOp"> {
  let summary = "Writes the facts of a named target on the module";
  let description = [{
    Later passes take what they know about the hardware from the module's
    attribute `tile.target` alone. `deplo show-targets` lists the names. A target
    that is there already is replaced.

    ```mlir
    module {
    ```

    becomes

    ```mlir
    module attributes {tile.target = #tile.target<chip = "sm_90a", multiprocessors = 132, ...>} {
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "LLVM's name of the processor">];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def SplitReducePass : Pass<"deplo-split-reduce", "::mlir::ModuleOp"> {
  let summary = "Divides long reductions of few results among kernels";
  let description = [{
    Blocks share nothing, so a sum of everything would keep one multiprocessor
    busy. If that takes longer by the analytic model, one kernel reduces parts
    and what is left combines them, in a fixed order. Reductions that wait for
    one another are divided one after the other, and a sweep over the row that
    follows them becomes an axis. Where only the program that runs knows how many
    elements there are, and no number of parts divides all that there may be, the
    reduction keeps its extent and has parts itself
    (`loop.reduce add %k = 0 to %n part %p of 1024`).

    ```mlir
    func.func @main(%x: memref<65536xf32>, %y: memref<f32> {loop.result}) {
      loop.launch @sum(%x, %y) : memref<65536xf32>, memref<f32>
      return
    }
    loop.kernel @sum(%x: memref<65536xf32>, %y: memref<f32>) {
      %s = loop.reduce add %k = 0 to 65536 : f32 {
        %a = loop.load %x[%k] : memref<65536xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[] : memref<f32>
    }
    ```

    becomes

    ```mlir
    func.func @main(%x: memref<65536xf32>, %y: memref<f32> {loop.result}) {
      %alloc = memref.alloc() : memref<32xf32>
      %reinterpret_cast = memref.reinterpret_cast %x to offset: [0], sizes: [32, 2048], strides: [2048, 1] : memref<65536xf32> to memref<32x2048xf32>
      loop.launch @sum_parts(%alloc, %reinterpret_cast) : memref<32xf32>, memref<32x2048xf32>
      loop.launch @sum(%y, %alloc) : memref<f32>, memref<32xf32>
      return
    }
    loop.kernel @sum_parts(%t: memref<32xf32>, %x: memref<32x2048xf32>) {
      loop.for %p = 0 to 32 {
        %s = loop.reduce add %k = 0 to 2048 : f32 {
          %a = loop.load %x[%p, %k] : memref<32x2048xf32>
          loop.yield %a : f32
        }
        loop.store %s, %t[%p] : memref<32xf32>
      }
    }
    loop.kernel @sum(%y: memref<f32>, %t: memref<32xf32>) {
      %s = loop.reduce add %k = 0 to 32 : f32 {
        %a = loop.load %t[%k] : memref<32xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[] : memref<f32>
    }
    ```
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "0", "about how many parts; 0 for what the model finds best, 1 for none">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SelectSchedulePass : Pass<"deplo-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Chooses the tunables of each kernel";
  let description = [{
    Takes what `pin` says, and the rest from the analytic model (see the
    rationale, "How a schedule is selected"). The remark gives the reason and the
    figures: bytes, blocks, blocks that a multiprocessor holds, waves, registers
    of a thread and the estimated time.

    ```mlir
    loop.kernel @rms_norm(%x: memref<32x2048xf32>, %w: memref<2048xf32>, %y: memref<32x2048xf32>) {
    ```

    becomes

    ```mlir
    loop.kernel @rms_norm(%x: memref<32x2048xf32>, %w: memref<2048xf32>, %y: memref<32x2048xf32>) attributes {schedule = #tile.schedule<block = [1], warps = 8, vector = 4>} {
    ```

    The knobs of `pin` are the fields of `#tile.schedule`: `block` (such as
    `1x64`, one size for each parallel axis), `warps`, `vector`, `cluster` (the
    most blocks that share a row, `auto` or `never`), `chunk`, `unroll`, `thread`
    (such as `8x8`: rows and columns of a contraction in a thread), `stages`,
    `atom` (`fma` or `mma_sync`), `warp_tile` (such as `64x64`: rows and columns
    of a contraction by tensor cores in a warp), `stage_inputs`, `async_copy`,
    `swizzle_smem`, `pad_smem` and `programmatic_launch`.

    Kernels of `without-wgmma` are those of which `ptxas` serialised the wgmma
    instructions, or spilled registers: they get mma.sync or multiply-adds.

    Products of f16 and bf16 are exact in f32, so tensor cores take such
    contractions where the target has them. They take those of f32 where
    `precision` is `tf32`; where it is `f32`, the model says whether they do.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, such as warps=4,stage_inputs=always">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">,
    ListOption<"withoutWgmma", "without-wgmma", "std::string",
               "kernels that wgmma doesn't suit, by name">];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def TileifyPass : Pass<"deplo-tileify", "::mlir::ModuleOp"> {
  let summary = "Turns loop nests into tile programs";
  let description = [{
    Step 001. The loops that hold nothing but one another become the axes of the
    kernel. A scalar becomes a tile with one dimension for each parallel loop that
    it depends on, the axes first; a scalar that depends on none stays one, or is
    a tile of rank 0. `loop.reduce` stays, over tiles, so that its monoid stays
    explicit. The kernel's schedule goes along.

    ```mlir
    loop.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) {
      loop.for %i = 0 to 33 {
        %s = loop.reduce add %k = 0 to 3584 : f32 {
          %a = loop.load %x[%i, %k] : memref<33x3584xf32>
          loop.yield %a : f32
        }
        loop.store %s, %y[%i] : memref<33xf32>
      }
    }
    ```

    becomes

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
      %0 = loop.reduce add %k = 0 to 3584 : tensor<33xf32> {
        %1 = tile.load %x[%i, %k] dims [0] : memref<33x3584xf32> -> tensor<33xf32>
        loop.yield %1 : tensor<33xf32>
      }
      tile.store %0, %y[%i] : tensor<33xf32>, memref<33xf32>
    }
    ```

    An access must be a box: each coordinate a multiple of one loop variable plus
    a constant, each variable in one coordinate. Others are an error that names
    the access.
  }];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def SplitMatmulKPass : Pass<"deplo-split-matmul-k", "::mlir::ModuleOp"> {
  let summary = "Divides the sum of a contraction among blocks";
  let description = [{
    Step 003 (split-K). A contraction of few rows and columns has fewer tiles than
    the device has multiprocessors, and one of few rows streams its other operand
    only if many blocks do. If it is faster by the analytic model, parts of each
    sum are computed by blocks of their own and go to a temporary; a second kernel
    adds them in the order of their numbers and computes what follows the sum,
    once. Before:

    ```mlir
    func.func @main(%x: memref<32x2048xf32>, %w: memref<2048x256xf32>, %y: memref<32x256xf32> {loop.result}) {
      loop.launch @mm(%x, %w, %y) : memref<32x2048xf32>, memref<2048x256xf32>, memref<32x256xf32>
      return
    }
    loop.kernel @mm(%x: memref<32x2048xf32>, %w: memref<2048x256xf32>, %y: memref<32x256xf32>) {
      loop.for %i = 0 to 32 {
        loop.for %j = 0 to 256 {
          %s = loop.reduce add %k = 0 to 2048 : f32 {
            %a = loop.load %x[%i, %k] : memref<32x2048xf32>
            %b = loop.load %w[%k, %j] : memref<2048x256xf32>
            %p = arith.mulf %a, %b : f32
            loop.yield %p : f32
          }
          loop.store %s, %y[%i, %j] : memref<32x256xf32>
        }
      }
    }
    ```

    After:

    ```mlir
    func.func @main(%arg0: memref<32x2048xf32>, %arg1: memref<2048x256xf32>, %arg2: memref<32x256xf32> {loop.result}) {
      %alloc = memref.alloc() : memref<16x32x256xf32>
      %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [32, 16, 128], strides: [2048, 128, 1] : memref<32x2048xf32> to memref<32x16x128xf32>
      %reinterpret_cast_0 = memref.reinterpret_cast %arg1 to offset: [0], sizes: [16, 128, 256], strides: [32768, 256, 1] : memref<2048x256xf32> to memref<16x128x256xf32>
      loop.launch @mm_parts(%alloc, %reinterpret_cast, %reinterpret_cast_0) : memref<16x32x256xf32>, memref<32x16x128xf32>, memref<16x128x256xf32>
      loop.launch @mm(%arg2, %alloc) : memref<32x256xf32>, memref<16x32x256xf32>
      return
    }
    loop.kernel @mm_parts(%arg0: memref<16x32x256xf32>, %x: memref<32x16x128xf32>, %w: memref<16x128x256xf32>) {
      loop.for %i = 0 to 32 {
        loop.for %j = 0 to 256 {
          loop.for %l = 0 to 16 {
            %0 = loop.reduce add %k = 0 to 128 : f32 attributes {tile.part_of = 2048 : i64} {
              %1 = loop.load %x[%i, %l, %k] : memref<32x16x128xf32>
              %2 = loop.load %w[%l, %k, %j] : memref<16x128x256xf32>
              %3 = arith.mulf %1, %2 : f32
              loop.yield %3 : f32
            }
            loop.store %0, %arg0[%l, %i, %j] : memref<16x32x256xf32>
          }
        }
      }
    }
    loop.kernel @mm(%y: memref<32x256xf32>, %arg0: memref<16x32x256xf32>) {
      loop.for %i = 0 to 32 {
        loop.for %j = 0 to 256 {
          %0 = loop.reduce add %k = 0 to 16 : f32 {
            %1 = loop.load %arg0[%k, %i, %j] : memref<16x32x256xf32>
            loop.yield %1 : f32
          }
          loop.store %0, %y[%i, %j] : memref<32x256xf32>
        }
      }
    }
    ```
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "knobs decided already, of which this step reads split_k=4">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SplitPiecesPass : Pass<"deplo-split-pieces", "::mlir::ModuleOp"> {
  let summary = "operands of f32 go through memory as pieces of bf16 or f16, for wgmma";
  let description = [{
    With precision `f32`, wgmma multiplies numbers of f32 as three pieces of bf16
    each. Where the model says that this is quicker than other ways to compute a
    contraction, kernels of their own write the pieces of its operands, once for
    all contractions that read them, and the contraction takes them as further
    arguments, from where tensor maps copy them. Before:

    ```mlir
    func.func @main(%x: memref<2048x1024xf32>, %w: memref<1024x2048xf32>, %y: memref<2048x2048xf32> {loop.result}) {
      loop.launch @mm(%x, %w, %y) : memref<2048x1024xf32>, memref<1024x2048xf32>, memref<2048x2048xf32>
      return
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<2048x1024xf32>, %w: memref<1024x2048xf32>, %y: memref<2048x2048xf32> {loop.result}) {
      %p = memref.alloc() : memref<3x2048x1024xbf16>
      loop.launch @pieces(%x, %p) : memref<2048x1024xf32>, memref<3x2048x1024xbf16>
      %q = memref.alloc() : memref<3x1024x2048xbf16>
      loop.launch @pieces_0(%w, %q) : memref<1024x2048xf32>, memref<3x1024x2048xbf16>
      loop.launch @mm(%x, %w, %y, %p, %q) : memref<2048x1024xf32>, memref<1024x2048xf32>, memref<2048x2048xf32>, memref<3x2048x1024xbf16>, memref<3x1024x2048xbf16>
      return
    }
    ```

    The contraction's body stays as it is; `tile.pieces` says which arguments the
    last ones are pieces of, and `tensorize` copies these instead.

    The operand that gives the instruction its rows can do without: threads make its
    pieces in registers, each time that a block reads it. That takes no memory, and
    is quicker where few blocks read the same rows, as those of weights that few
    rows are multiplied by. `pieces` in the schedule, `memory` or `registers`, says
    which.

    With precision `f32-fast`, pieces are two of f16, of rows along the sum that have
    scales. The same kernels write these, to memory of their own (`memref<2048x1xf32>`
    for rows of `%x`), and the contraction takes them behind the pieces.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, such as atom=wgmma,stages=3">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">,
    ListOption<"withoutWgmma", "without-wgmma", "std::string",
               "kernels that wgmma doesn't suit, by name">];
  let dependentDialects = ["::deplo::tile::TileDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def FusePiecesPass : Pass<"deplo-fuse-pieces", "::mlir::ModuleOp"> {
  let summary = "kernels that compute operands in rows write their pieces";
  let description = [{
    The pieces of what another kernel computes are written by a kernel that reads
    it again. Where that other kernel stores whole rows, it can fold and divide them
    itself: a norm, a softmax, a gated activation. Before:

    ```mlir
    loop.launch @gate(%x, %t) : memref<4096xf32>, memref<4096xf32>
    loop.launch @pieces(%t, %s, %p) : memref<64x64xf32>, memref<64x1xf32>, memref<2x64x64xf16>
    loop.launch @mm(%t, %w, %y, %p, %q, %s, %u) : ...
    ```

    After:

    ```mlir
    loop.launch @gate(%x, %t, %s, %p) : memref<64x64xf32>, memref<64x64xf32>, memref<64x1xf32>, memref<2x64x64xf16>
    loop.launch @mm(%t, %w, %y, %p, %q, %s, %u) : ...
    ```

    The operand itself is stored as well: sums that are not finite are computed again
    from it. It is done with precision `f32-fast` where one kernel has rows on chip, or the model
    says that it is quicker than two; `fuse_pieces` in the schedule, `always` or `never`, says
    whether it is, and `always` with precision `f32` too.

    Results of contractions are left as they are: several blocks compute a row.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, of which this step reads fuse_pieces=never">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">];
  let dependentDialects = ["::deplo::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

def TransposeOperandsPass : Pass<"deplo-transpose-operands", "::mlir::ModuleOp"> {
  let summary = "operands of multiply-adds are copied with a row for each summed element";
  let description = [{
    A thread that reads an operand along what is summed over holds four summed
    elements at once, and has fewer warps beside it; a chunk that is transposed on
    its way to shared memory is copied one element at a time. Where the model says
    that large products are quicker with a copy in memory that is transposed, kernels
    of their own write it first, once for all contractions that read it.
    Before:

    ```mlir
    func.func @main(%x: memref<4096x2048xf32>, %w: memref<2048x4096xf32>, %y: memref<4096x4096xf32> {loop.result}) {
      loop.launch @mm(%x, %w, %y) : memref<4096x2048xf32>, memref<2048x4096xf32>, memref<4096x4096xf32>
      return
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<4096x2048xf32>, %w: memref<2048x4096xf32>, %y: memref<4096x4096xf32> {loop.result}) {
      %m = memref.alloc() : memref<2048x4096xf32>
      %t = memref.reinterpret_cast %m to offset: [0], sizes: [4096, 2048], strides: [1, 4096] : memref<2048x4096xf32> to memref<4096x2048xf32, strided<[1, 4096]>>
      loop.launch @transposed(%x, %t) : memref<4096x2048xf32>, memref<4096x2048xf32, strided<[1, 4096]>>
      loop.launch @mm(%t, %w, %y) : memref<4096x2048xf32, strided<[1, 4096]>>, memref<2048x4096xf32>, memref<4096x4096xf32>
      return
    }
    ```

    Sizes have to be known before the launch, and the contraction only reads what is
    copied. The price in the model is what it takes to read and write the operand, and
    a launch. `transpose_smem` in the schedule, always or never, leaves operands as they
    are.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, such as transpose_smem=never">,
    Option<"worth", "worth", "double", "0.93", "the part of a contraction's time that it may take with the copies">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">];
  let dependentDialects = ["::deplo::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

def PackOperandsPass : Pass<"deplo-pack-operands", "::mlir::ModuleOp"> {
  let summary = "operands are copied to rows of a multiple of 16 bytes, for wgmma";
  let description = [{
    Tensor maps, by which wgmma's operands come to shared memory, copy rows that
    are a multiple of 16 bytes apart. Where the model says that a contraction of
    other rows is quicker by wgmma all the same, kernels of their own copy such
    operands to longer rows first, once for all contractions that read them.
    Before:

    ```mlir
    func.func @main(%x: memref<2048x1021xbf16>, %w: memref<1021x2048xbf16>, %y: memref<2048x2048xbf16> {loop.result}) {
      loop.launch @mm(%x, %w, %y) : memref<2048x1021xbf16>, memref<1021x2048xbf16>, memref<2048x2048xbf16>
      return
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<2048x1021xbf16>, %w: memref<1021x2048xbf16>, %y: memref<2048x2048xbf16> {loop.result}) {
      %m = memref.alloc() : memref<2048x1024xbf16>
      %p = memref.reinterpret_cast %m to offset: [0], sizes: [2048, 1021], strides: [1024, 1] : memref<2048x1024xbf16> to memref<2048x1021xbf16, strided<[1024, 1]>>
      loop.launch @packed(%x, %p) : memref<2048x1021xbf16>, memref<2048x1021xbf16, strided<[1024, 1]>>
      loop.launch @mm(%p, %w, %y) : memref<2048x1021xbf16, strided<[1024, 1]>>, memref<1021x2048xbf16>, memref<2048x2048xbf16>
      return
    }
    ```

    Sizes have to be known before the launch, elements lie in the order of their
    dimensions, and the contraction only reads what is packed. The price in the
    model is what it takes to read and write the operand, and a launch.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, such as atom=wgmma,stages=3">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">,
    Option<"precision", "precision", "std::string", "\"f32\"",
           "what products of f32 may be computed in: ieee, f32, f32-fast or tf32">,
    ListOption<"withoutWgmma", "without-wgmma", "std::string",
               "kernels that wgmma doesn't suit, by name">];
  let dependentDialects = ["::deplo::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

def ConcatGridsPass : Pass<"deplo-concat-grids", "::mlir::ModuleOp"> {
  let summary = "launches that share an operand become one, of the blocks of all";
  let description = [{
    Contractions and other kernels with a sum that read one buffer, and don't
    need what another of them computes, differ in their loops: queries have more
    columns than keys and values. Each has few blocks where rows are few. As one
    launch they share the device, and the blocks of the small ones fill what the
    large one leaves. Before:

    ```mlir
    func.func @main(%x: memref<64x32xf32>, %v: memref<32x64xf32>, %w: memref<32x16xf32>, %q: memref<64x64xf32> {loop.result}, %k: memref<64x16xf32> {loop.result}) {
      loop.launch @query(%x, %v, %q) : memref<64x32xf32>, memref<32x64xf32>, memref<64x64xf32>
      loop.launch @key(%x, %w, %k) : memref<64x32xf32>, memref<32x16xf32>, memref<64x16xf32>
      return
    }
    ```

    After:

    ```mlir
    func.func @main(%arg0: memref<64x32xf32>, %arg1: memref<32x64xf32>, %arg2: memref<32x16xf32>, %arg3: memref<64x64xf32> {loop.result}, %arg4: memref<64x16xf32> {loop.result}) {
      loop.launch @query_and_key(%arg0, %arg1, %arg3, %arg2, %arg4) : memref<64x32xf32>, memref<32x64xf32>, memref<64x64xf32>, memref<32x16xf32>, memref<64x16xf32>
      return
    }
    tile.concat @query_and_key(%arg0: memref<64x32xf32>, %arg1: memref<32x64xf32>, %arg2: memref<64x64xf32>, %arg3: memref<32x16xf32>, %arg4: memref<64x16xf32>) {
      tile.part @query(%arg0, %arg1, %arg2) : memref<64x32xf32>, memref<32x64xf32>, memref<64x64xf32>
      tile.part @key(%arg0, %arg3, %arg4) : memref<64x32xf32>, memref<32x16xf32>, memref<64x16xf32>
    }
    ```

    The kernels are compiled as before, with blocks of one size. Legal means: no
    part, and no launch between the first and the last of them, reads or writes
    what a part writes, or writes what one reads.
  }];
}

def ChunkMatmulKPass : Pass<"deplo-chunk-matmul-k", "::deplo::tile::KernelOp"> {
  let summary = "the sum of a contraction goes over chunks of its operands";
  let description = [{
    Step 002. A reduction that adds products of two operands, each of which has a
    dimension that the other has not, becomes a loop over chunks with a
    `tile.dot`. An operand is a load, or computed from loads element by element.
    Operands keep the order of dimensions that they have in memory.
    Before:

    ```mlir
    tile.kernel @mm(%x: memref<64x100xf32>, %w: memref<100x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
      %s = loop.reduce add %k = 0 to 100 : tensor<64x32xf32> {
        %a = tile.load %x[%i, %k] dims [0] : memref<64x100xf32> -> tensor<64xf32>
        %b = tile.load %w[%k, %j] dims [1] : memref<100x32xf32> -> tensor<32xf32>
        %ab = tile.broadcast %a dims [0] : tensor<64xf32> -> tensor<64x32xf32>
        %bb = tile.broadcast %b dims [1] : tensor<32xf32> -> tensor<64x32xf32>
        %p = arith.mulf %ab, %bb : tensor<64x32xf32>
        loop.yield %p : tensor<64x32xf32>
      }
      tile.store %s, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
    }
    ```

    After, with `chunk = 16`:

    ```mlir
    tile.kernel @mm(%x: memref<64x100xf32>, %w: memref<100x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
      %cst = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
      %c0 = arith.constant 0 : index
      %c112 = arith.constant 112 : index
      %c16 = arith.constant 16 : index
      %0 = scf.for %arg0 = %c0 to %c112 step %c16 iter_args(%arg1 = %cst) -> (tensor<64x32xf32>) {
        %1 = tile.load %x[%i, %arg0] bounds [64, 100] : memref<64x100xf32> -> tensor<64x16xf32>
        %2 = tile.load %w[%arg0, %j] bounds [100, 32] : memref<100x32xf32> -> tensor<16x32xf32>
        %3 = tile.dot %1 dims [0, 2], %2 dims [2, 1], %arg1 : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
        scf.yield %3 : tensor<64x32xf32>
      }
      tile.store %0, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
    }
    ```

    The number of elements need be no multiple of the chunk: what is beyond is
    zero in both operands. What of a computed operand does not vary along the sum
    is computed before the loop.
  }];
  let options = [
    Option<"chunkSize", "chunk", "int64_t", "0",
           "elements of a chunk, a power of two; 0 for the schedule's">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def FuseChunksPass : Pass<"deplo-fuse-chunks", "::deplo::tile::KernelOp"> {
  let summary = "contractions that share an operand go over its chunks together";
  let description = [{
    Loops over the same chunks of the same operand become one, so that each
    chunk is loaded once for all of them. Before:

    ```mlir
    tile.kernel @gate_up(%x: memref<64x512xf32>, %v: memref<512x32xf32>, %w: memref<512x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
      %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
      %c0 = arith.constant 0 : index
      %c512 = arith.constant 512 : index
      %c16 = arith.constant 16 : index
      %g = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
        %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
        %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
        %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
        scf.yield %d : tensor<64x32xf32>
      }
      %u = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zeros) -> (tensor<64x32xf32>) {
        %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
        %b = tile.load %w[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
        %d = tile.dot %a dims [0, 2], %b dims [2, 1], %acc : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
        scf.yield %d : tensor<64x32xf32>
      }
      %p = arith.mulf %g, %u : tensor<64x32xf32>
      tile.store %p, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
    }
    ```

    After:

    ```mlir
    tile.kernel @gate_up(%x: memref<64x512xf32>, %v: memref<512x32xf32>, %w: memref<512x32xf32>, %y: memref<64x32xf32>) axes(%i = 64 tile, %j = 32 tile) {
      %zeros = arith.constant dense<0.0> : tensor<64x32xf32>
      %c0 = arith.constant 0 : index
      %c512 = arith.constant 512 : index
      %c16 = arith.constant 16 : index
      %gu:2 = scf.for %k = %c0 to %c512 step %c16 iter_args(%g = %zeros, %u = %zeros) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
        %a = tile.load %x[%i, %k] : memref<64x512xf32> -> tensor<64x16xf32>
        %b = tile.load %v[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
        %c = tile.load %w[%k, %j] : memref<512x32xf32> -> tensor<16x32xf32>
        %d = tile.dot %a dims [0, 2], %b dims [2, 1], %g : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
        %e = tile.dot %a dims [0, 2], %c dims [2, 1], %u : tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>
        scf.yield %d, %e : tensor<64x32xf32>, tensor<64x32xf32>
      }
      %p = arith.mulf %gu#0, %gu#1 : tensor<64x32xf32>
      tile.store %p, %y[%i, %j] : tensor<64x32xf32>, memref<64x32xf32>
    }
    ```

    They may where both run over the same chunks, read memory that the kernel
    does not write and have no other effects, and neither needs what the other
    comes to.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def CooperativeReducePass : Pass<"deplo-cooperative-reduce", "::deplo::tile::KernelOp"> {
  let summary = "Makes reduced dimensions dimensions of tiles, which threads share";
  let description = [{
    Step 004. A reduction loop becomes a further dimension, the last, of the tiles
    in its body, and a `tile.reduce` over it. What doesn't vary along it moves out
    and is broadcast. Equal loads become one, so that a row that is reduced and
    then swept is read once.

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
      %0 = loop.reduce add %k = 0 to 3584 : tensor<33xf32> {
        %1 = tile.load %x[%i, %k] dims [0] : memref<33x3584xf32> -> tensor<33xf32>
        loop.yield %1 : tensor<33xf32>
      }
      tile.store %0, %y[%i] : tensor<33xf32>, memref<33xf32>
    }
    ```

    becomes

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
      %c0 = arith.constant 0 : index
      %0 = tile.load %x[%i, %c0] : memref<33x3584xf32> -> tensor<33x3584xf32>
      %1 = tile.reduce [add] %0 axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
      tile.store %1, %y[%i] : tensor<33xf32>, memref<33xf32>
    }
    ```

    How threads share the reduction is read off the layout, once there is one:
    each folds its registers, then lanes exchange by shuffles, then warps through
    shared memory.
  }];
}

def BlockifyLaunchPass : Pass<"deplo-blockify-launch", "::deplo::tile::KernelOp"> {
  let summary = "Divides the parallel axes among blocks";
  let description = [{
    Step 005. An axis gets the schedule's block size as its step; inner dimensions
    are padded to powers of two. What is beyond the extent is masked: it is not
    read, not written, and the identity of the monoid where it would be reduced.
    Blocks of a contraction may have 192 columns, in tiles of 128 and of 64, which
    have the chunks of the rows in common.

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 tile) {
      %c0 = arith.constant 0 : index
      %0 = tile.load %x[%i, %c0] : memref<33x3584xf32> -> tensor<33x3584xf32>
      %1 = tile.reduce [add] %0 axis 1 : tensor<33x3584xf32> -> tensor<33xf32>
      tile.store %1, %y[%i] : tensor<33xf32>, memref<33xf32>
    }
    ```

    becomes, with a block of 2 rows and 8 warps,

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 step 2 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %0 = tile.load %x[%i, %c0] bounds [33, 3584] : memref<33x3584xf32> -> tensor<2x4096xf32>
      %1 = tile.in_bounds[%c0, %c0] bounds [2, 3584] : tensor<2x4096xi1>
      %cst = arith.constant dense<0.000000e+00> : tensor<2x4096xf32>
      %2 = arith.select %1, %0, %cst : tensor<2x4096xi1>, tensor<2x4096xf32>
      %3 = tile.reduce [add] %2 axis 1 : tensor<2x4096xf32> -> tensor<2xf32>
      tile.store %3, %y[%i] bounds [33] : tensor<2xf32>, memref<33xf32>
    }
    ```

    Fails if the target can't run so many threads in a block or blocks in a
    launch.
  }];
  let options = [
    ListOption<"block", "block", "int64_t", "elements of each axis in a block, in place of the schedule's">,
    Option<"warps", "warps", "int64_t", "0", "warps of a block, in place of the schedule's">];
}

def ClusterReducePass : Pass<"deplo-cluster-reduce", "::deplo::tile::KernelOp"> {
  let summary = "Shares long rows among the blocks of a cluster";
  let description = [{
    A row that is longer than what one block holds is divided over the blocks of a
    thread-block cluster, which run at the same time on neighbouring
    multiprocessors. Each has a slice of the row on chip; what it reduces is
    combined with what the others have through distributed shared memory. So the
    row is read once, and shorter slices leave room for more blocks on a
    multiprocessor.

    ```mlir
    tile.kernel @scale(%x: memref<4096x65536xf32>, %y: memref<4096x65536xf32>) axes(%i = 4096 step 1 grid) warps(16) {
      %c0 = arith.constant 0 : index
      %0 = tile.load %x[%i, %c0] : memref<4096x65536xf32> -> tensor<1x65536xf32>
      %1 = tile.reduce [add] %0 axis 1 : tensor<1x65536xf32> -> tensor<1xf32>
      %2 = tile.broadcast %1 dims [0] : tensor<1xf32> -> tensor<1x65536xf32>
      %3 = arith.divf %0, %2 : tensor<1x65536xf32>
      tile.store %3, %y[%i, %c0] : tensor<1x65536xf32>, memref<4096x65536xf32>
    }
    ```

    becomes, with four blocks,

    ```mlir
    tile.kernel @scale(%x: memref<4096x65536xf32>, %y: memref<4096x65536xf32>) axes(%i = 4096 step 1 grid, %j = 65536 step 16384 cluster) warps(16) {
      %0 = tile.load %x[%i, %j] : memref<4096x65536xf32> -> tensor<1x16384xf32>
      %1 = tile.reduce [add] %0 axis 1 : tensor<1x16384xf32> -> tensor<1xf32>
      %2 = tile.cluster_reduce [add] %1 : tensor<1xf32>
      %3 = tile.broadcast %2 dims [0] : tensor<1xf32> -> tensor<1x16384xf32>
      %4 = arith.divf %0, %3 : tensor<1x16384xf32>
      tile.store %4, %y[%i, %j] : tensor<1x16384xf32>, memref<4096x65536xf32>
    }
    ```

    Needs a target with clusters, one inner dimension that is reduced, and
    accesses that start at constants along it.

    Of a contraction on tensor cores, chunks are shared, and then the columns of
    the result's tile (its rows, where these are N of the instruction):

    ```mlir
    tile.kernel @mm(...) axes(%i = 512 step 64 grid, %j = 2048 step 128 grid) {
      %d = scf.for %k = %c0 to %c2048 step %c64 iter_args(...) -> (tensor<64x128xf32>) {
        %a = tile.load %x[%i, %k] : memref<512x2048xbf16> -> tensor<64x64xbf16>
        ...
      }
      tile.store %d, %y[%i, %j] : tensor<64x128xf32>, memref<512x2048xf32>
    }
    ```

    becomes, with four blocks,

    ```mlir
    tile.kernel @mm(...) axes(%i = 512 step 64 grid, %j = 2048 step 128 grid, %p = 128 step 32 cluster) {
      %first = arith.muli %p, %c16 : index
      %d = scf.for %k = %c0 to %c512 step %c64 iter_args(...) -> (tensor<64x128xf32>) {
        %n = arith.addi %k, %first : index
        %a = tile.load %x[%i, %n] : memref<512x2048xbf16> -> tensor<64x64xbf16>
        ...
      }
      %s = tile.cluster_reduce_scatter %d dim 1 : tensor<64x128xf32> -> tensor<64x32xf32>
      %m = arith.addi %j, %p : index
      tile.store %s, %y[%i, %m] : tensor<64x32xf32>, memref<512x2048xf32>
    }
    ```

    Needs as many chunks for each block, and columns that a thread has all of.
  }];
  let options = [
    Option<"blocks", "blocks", "int64_t", "0", "the most blocks of a cluster, in place of the schedule's">,
    Option<"chunk", "chunk", "int64_t", "-1",
           "elements that are on chip at once, 0 for all of them, in place of the schedule's">];
}

def ChunkReducePass : Pass<"deplo-chunk-reduce", "::deplo::tile::KernelOp"> {
  let summary = "Puts inner dimensions too long for registers into loops over chunks";
  let description = [{
    Step 006. Where more elements of inner dimensions are in a tile than the
    schedule's chunk, each reduction over such a dimension and each store that
    spans it becomes a loop over chunks; those that don't depend on one another
    share a loop. A reduction first combines equal positions of the chunks, in the
    order of the loop, and then reduces one chunk. Of several long dimensions the
    one that is not contiguous in memory gives way first. A chunk that divides the
    dimension needs no masks. Of n parts of a reduction, each is every nth chunk.

    With a chunk of 512, the kernel above becomes

    ```mlir
    tile.kernel @row_sum(%x: memref<33x3584xf32>, %y: memref<33xf32>) axes(%i = 33 step 2 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %cst = arith.constant dense<0.000000e+00> : tensor<2x512xf32>
      %c3584 = arith.constant 3584 : index
      %c512 = arith.constant 512 : index
      %0 = scf.for %arg0 = %c0 to %c3584 step %c512 iter_args(%arg1 = %cst) -> (tensor<2x512xf32>) {
        %2 = tile.load %x[%i, %arg0] bounds [33, 3584] : memref<33x3584xf32> -> tensor<2x512xf32>
        %3 = arith.addf %arg1, %2 : tensor<2x512xf32>
        scf.yield %3 : tensor<2x512xf32>
      }
      %1 = tile.reduce [add] %0 axis 1 : tensor<2x512xf32> -> tensor<2xf32>
      tile.store %1, %y[%i] bounds [33] : tensor<2xf32>, memref<33xf32>
    }
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "-1",
           "elements that are on chip at once, 0 for all of them, in place of the schedule's">];
}

def SplitSweepsPass : Pass<"deplo-split-sweeps", "::deplo::tile::KernelOp"> {
  let summary = "divides sweeps over rows that are too long for shared memory";
  let description = [{
    What fits of a row that is read again gets loops of its own, for stage_inputs
    to find. The rest is read from memory again, every other time from its end,
    which L2 still holds.

    ```mlir
    scf.for %k = %c0 to %c262144 step %c4096 {
    ```

    becomes

    ```mlir
    scf.for %k = %c114688 to %c262144 step %c4096 {
    } {tile.descending}
    scf.for %k = %c0 to %c114688 step %c4096 {
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def StageInputsPass : Pass<"deplo-stage-inputs", "::deplo::tile::KernelOp"> {
  let summary = "reads inputs that a block needs several times from shared memory";
  let description = [{
    Step 007. A box of a memref that several loops of a block sweep (or, with
    `always`, every box with a dimension that is not an axis of the kernel) is
    copied to shared memory once and read from there. Where not all boxes fit the
    target's shared memory, those that save most reads come first. Before:

    ```mlir
    tile.kernel @scale(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %c2048 = arith.constant 2048 : index
      %c8192 = arith.constant 8192 : index
      %zero = arith.constant dense<0.0> : tensor<1x2048xf32>
      %partial = scf.for %k = %c0 to %c8192 step %c2048 iter_args(%acc = %zero) -> (tensor<1x2048xf32>) {
        %a = tile.load %x[%i, %k] : memref<32x8192xf32> -> tensor<1x2048xf32>
        %next = arith.addf %acc, %a : tensor<1x2048xf32>
        scf.yield %next : tensor<1x2048xf32>
      }
      %sum = tile.reduce [add] %partial axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
      %sums = tile.broadcast %sum dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
      scf.for %k = %c0 to %c8192 step %c2048 {
        %a = tile.load %x[%i, %k] : memref<32x8192xf32> -> tensor<1x2048xf32>
        %o = arith.divf %a, %sums : tensor<1x2048xf32>
        tile.store %o, %y[%i, %k] : tensor<1x2048xf32>, memref<32x8192xf32>
      }
    }
    ```

    After:

    ```mlir
    tile.kernel @scale(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %c2048 = arith.constant 2048 : index
      %c8192 = arith.constant 8192 : index
      %zero = arith.constant dense<0.0> : tensor<1x2048xf32>
      %row = tile.alloc : !tile.buffer<1x8192xf32, #tile.shared<>>
      tile.copy %x[%i, %c0] to %row : memref<32x8192xf32>, !tile.buffer<1x8192xf32, #tile.shared<>>
      tile.barrier
      %partial = scf.for %k = %c0 to %c8192 step %c2048 iter_args(%acc = %zero) -> (tensor<1x2048xf32>) {
        %a = tile.read %row[%c0, %k] : !tile.buffer<1x8192xf32, #tile.shared<>> -> tensor<1x2048xf32>
        %next = arith.addf %acc, %a : tensor<1x2048xf32>
        scf.yield %next : tensor<1x2048xf32>
      }
      %sum = tile.reduce [add] %partial axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
      %sums = tile.broadcast %sum dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
      scf.for %k = %c0 to %c8192 step %c2048 {
        %a = tile.read %row[%c0, %k] : !tile.buffer<1x8192xf32, #tile.shared<>> -> tensor<1x2048xf32>
        %o = arith.divf %a, %sums : tensor<1x2048xf32>
        tile.store %o, %y[%i, %k] : tensor<1x2048xf32>, memref<32x8192xf32>
      }
    }
    ```

    Chunks of a contraction's operands are copied before all threads read them.
    An operand that is computed is computed once for each chunk, from what was
    copied, and written to a buffer of its own.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">];
}

def AlignRowsPass : Pass<"deplo-align-rows", "::deplo::tile::KernelOp"> {
  let summary = "accesses rows that start at any address at aligned ones";
  let description = [{
    Rows whose length is no multiple of the elements of one access start at
    addresses that allow narrow accesses only. Where a block has one row, its
    tiles start up to an access earlier instead, at an aligned address, and what
    is before the row is masked as what is behind it; the accesses at both ends
    move their elements one by one. Before:

    ```mlir
    tile.kernel @scale(%x: memref<4096x1001xbf16>, %y: memref<4096x1001xbf16>) axes(%i = 4096 step 1 grid) warps(4) {
      %c0 = arith.constant 0 : index
      %a = tile.load %x[%i, %c0] bounds [4096, 1001] : memref<4096x1001xbf16> -> tensor<1x1024xbf16>
      %o = arith.mulf %a, %a : tensor<1x1024xbf16>
      tile.store %o, %y[%i, %c0] bounds [4096, 1001] : tensor<1x1024xbf16>, memref<4096x1001xbf16>
    }
    ```

    After:

    ```mlir
    tile.kernel @scale(%x: memref<4096x1001xbf16>, %y: memref<4096x1001xbf16>) axes(%i = 4096 step 1 grid) warps(4) {
      %c0 = arith.constant 0 : index
      %m = tile.misalignment %x[%i, %c0] modulo 4 : memref<4096x1001xbf16>
      %c0_0 = arith.constant 0 : index
      %s = arith.subi %c0_0, %m : index
      %a = tile.load %x[%i, %s] bounds [4096, 1001] : memref<4096x1001xbf16> -> tensor<1x1024xbf16>
      %o = arith.mulf %a, %a : tensor<1x1024xbf16>
      %t = arith.subi %c0_0, %m : index
      tile.store %o, %y[%i, %t] bounds [4096, 1001] : tensor<1x1024xbf16>, memref<4096x1001xbf16>
    }
    ```

    Legal if the tiles go past the end of the row by an access less one element
    and all accesses along it are bounded.
  }];
  let options = [
    Option<"vector", "vector", "int64_t", "0", "the most elements of one access; the schedule's if 0">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that the addresses of memrefs are multiples of">];
}

def TensorizePass : Pass<"deplo-tensorize", "::deplo::tile::KernelOp"> {
  let summary = "chooses the instruction of contractions";
  let description = [{
    Gives each `tile.dot` the atom that the schedule says, and as many warps along
    rows and columns as there are warp tiles. With it come the layouts that
    `register_tile` assigns. Before:

    ```mlir
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
    ```

    After, with `warp_tile = [64, 32]` in a kernel of eight warps:

    ```mlir
    %d = tile.dot %a dims [0, 2], %b dims [2, 1], %c atom<mma_sync, warps = [2, 4]> : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
    ```

    The types must be those of `mma.sync`, the target sm_80 or later, and a chunk
    a whole number of instructions deep.

    With the atom `wgmma` the dot reads buffers itself and is awaited
    (`tile.async_dot`); operands must be summed over along their rows of 32, 64 or
    128 bytes, the target sm_90a. Where that is not so, `mma_sync` takes its place.
  }];
  let options = [
    ListOption<"warpTile", "warp-tile", "int64_t",
               "rows and columns of a warp by mma.sync; the schedule's if empty">];
}

def RegisterTilePass : Pass<"deplo-register-tile", "::deplo::tile::KernelOp"> {
  let summary = "says which thread holds which element of every tile";
  let description = [{
    Step 008. Gives each tile a layout: a thread holds neighbours in memory, then
    lanes go along the dimension that is contiguous there, then warps along
    dimensions that are not reduced. Tiles of fewer dimensions get slices of the
    layout of the tile they are reduced from or broadcast to. Before:

    ```mlir
    tile.kernel @sum(%x: memref<32x2048xf32>, %y: memref<32xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32>
      %s = tile.reduce [add] %a axis 1 : tensor<1x2048xf32> -> tensor<1xf32>
      tile.store %s, %y[%i] : tensor<1xf32>, memref<32xf32>
    }
    ```

    After:

    ```mlir
    #row = #tile.layout<[1, 2048], register = [[0, 1], [0, 2], [0, 1024]],
                        lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[0, 128], [0, 256], [0, 512]]>
    #sum = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0], [0]]>
    tile.kernel @sum(%x: memref<32x2048xf32>, %y: memref<32xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32, #row>
      %s = tile.reduce [add] %a axis 1 : tensor<1x2048xf32, #row> -> tensor<1xf32, #sum>
      tile.store %s, %y[%i] : tensor<1xf32, #sum>, memref<32xf32>
    }
    ```

    `tile.convert_layout` is inserted where a tile is needed in two layouts, and
    around transposed accesses to memory, so that they are coalesced.

    In a contraction each thread computes `thread` rows and columns of the
    result. It holds these, and of the operands what they take for a few of the
    summed elements at a time: a `tile.dot` of two reads of shared memory becomes
    a loop over steps of `vector` elements.

    Fails if tiles that must be kept while threads wait for each other exceed the
    registers of the module's target.
  }];
  let options = [
    Option<"vector", "vector", "int64_t", "0",
           "the most neighbours that a thread holds; 0 for the schedule's, or 4 without one">,
    ListOption<"thread", "thread", "int64_t",
               "rows and columns of a contraction's result in a thread; the schedule's if none are given">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def PermuteRegisterTilePass : Pass<"deplo-permute-register-tile", "::deplo::tile::KernelOp"> {
  let summary = "threads own strips of a contraction's result, against bank conflicts";
  let description = [{
    Step 009. After `register_tile` a thread owns a rectangle of neighbours of
    the result, so lanes read rows of a shared buffer that are several rows
    apart, and these may lie in the same banks. Strips of fewer neighbours bring
    the lanes of a warp together. Tried for each dimension of the result, from
    wide strips to narrow ones, with the pad that suits each; taken where reads
    need fewer wavefronts. Before, eight rows in a row in each of four lanes:

    ```mlir
    #acc = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 4], [0, 8], [0, 16]], warp = []>
    #lhs = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 0], [0, 0], [0, 0]], warp = []>
    #rhs = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = []>
    tile.kernel @mm(%x: memref<32x32xf32>, %w: memref<4x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
      %s = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %s : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
      tile.barrier
      %a = tile.read %s[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x4xf32, #lhs>
      %b = tile.load %w[%c0, %c0] : memref<4x32xf32> -> tensor<4x32xf32, #rhs>
      %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x4xf32, #lhs>, tensor<4x32xf32, #rhs>, tensor<32x32xf32, #acc>
      tile.store %d, %y[%c0, %c0] : tensor<32x32xf32, #acc>, memref<32x32xf32>
    }
    ```

    After, in strips of two:

    ```mlir
    #layout = #tile.layout<[32, 32], register = [[0, 1], [0, 2], [1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 4], [0, 8], [0, 16]], warp = []>
    #layout1 = #tile.layout<[32, 4], register = [[0, 1], [0, 2], [1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 0], [0, 0], [0, 0]], warp = []>
    #layout2 = #tile.layout<[4, 32], register = [[0, 1], [0, 2], [1, 0], [2, 0]], lane = [[0, 0], [0, 0], [0, 4], [0, 8], [0, 16]], warp = []>
    tile.kernel @mm(%x: memref<32x32xf32>, %w: memref<4x32xf32>, %y: memref<32x32xf32>) axes(%i = 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %cst = arith.constant dense<0.000000e+00> : tensor<32x32xf32, #layout>
      %0 = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %0 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
      tile.barrier
      %1 = tile.read %0[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x4xf32, #layout1>
      %2 = tile.load %w[%c0, %c0] : memref<4x32xf32> -> tensor<4x32xf32, #layout2>
      %3 = tile.dot %1 dims [0, 2], %2 dims [2, 1], %cst : tensor<32x4xf32, #layout1>, tensor<4x32xf32, #layout2>, tensor<32x32xf32, #layout>
      tile.store %3, %y[%c0, %c0] : tensor<32x32xf32, #layout>, memref<32x32xf32>
    }
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def WidenStoresPass : Pass<"deplo-widen-stores", "::deplo::tile::KernelOp"> {
  let summary = "lanes exchange elements so that stores are 16 bytes wide";
  let description = [{
    A lane holds two neighbours of an accumulator of tensor cores, and four lanes
    a run of eight. Lanes that exchange registers before the store hold runs of 16
    bytes each. Where memory allows that, and in kernels with an atom. Before:

    ```mlir
    #fragments = #tile.layout<[16, 32], register = [[0, 1], [8, 0], [0, 8], [0, 16]],
                              lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
    tile.store %a, %y[%i, %j] : tensor<16x32xf16, #fragments>, memref<64x64xf16>
    ```

    After:

    ```mlir
    #rows = #tile.layout<[16, 32], register = [[0, 1], [0, 2], [0, 4], [8, 0]],
                         lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = []>
    %b = tile.convert_layout %a : tensor<16x32xf16, #fragments> -> tensor<16x32xf16, #rows>
    tile.store %b, %y[%i, %j] : tensor<16x32xf16, #rows>, memref<64x64xf16>
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def RasterizeGridPass : Pass<"deplo-rasterize-grid", "::deplo::tile::KernelOp"> {
  let summary = "numbers the blocks of a contraction so that those at once share operands";
  let description = [{
    A row of blocks reads all columns of the second operand. Blocks that go down a
    group of rows before the next column read, as many as run at once, about as
    many rows as columns: fewer elements in all. Before:

    ```mlir
    tile.kernel @mm(%x: memref<4096x64xf16>, %w: memref<64x4096xf16>) axes(%i = 4096 step 128 grid, %j = 4096 step 256 grid) warps(8) {
    ```

    After, for 132 multiprocessors:

    ```mlir
    tile.kernel @mm(%x: memref<4096x64xf16>, %w: memref<64x4096xf16>) axes(%i = 4096 step 128 grid, %j = 4096 step 256 grid) warps(8) attributes {tile.raster = 16 : i64} {
    ```
  }];
  let options = [
    Option<"group", "group", "int64_t", "0",
           "rows of blocks in a group; 0 for those that suit the target">];
}

def ComputeAheadPass : Pass<"deplo-compute-ahead", "::deplo::tile::KernelOp"> {
  let summary = "operands of the next chunk are computed while this one is multiplied";
  let description = [{
    A pipelined loop that computes an operand between two barriers has threads
    wait for each other, and for what is gathered. What is computed gets a second
    slot: each iteration gathers for the next chunk, multiplies this one, and then
    computes the next one into the other slot, so that one barrier is left. Copies
    that are computed from are awaited an iteration earlier. Before:

    ```mlir
    %r, %rt = scf.for %k = %c0 to %c512 step %c32 iter_args(%acc = %zeros, %t = %t0) {
      tile.await %t
      tile.barrier
      %u = tile.async_copy %w[%j, %k + 32] to %next
      %a = tile.gather %x[%offsets] mask %m
      tile.write %a to %computed[%c0, %c0]
      tile.barrier
      ... products of %s and %computed
      scf.yield %d, %u
    }
    ```

    After:

    ```mlir
    %a0 = tile.gather %x[%offsets0] mask %m0
    tile.write %a0 to %slot0[%c0, %c0]
    %r, %rt = scf.for %k = %c0 to %c512 step %c32 iter_args(%acc = %zeros, %t = %t0) {
      tile.await %t
      tile.barrier
      %u = tile.async_copy %w[%j, %k + 32] to %next
      %a = tile.gather %x[%offsets'] mask %m'
      ... products of %s and %slot
      tile.write %a to %slot'[%c0, %c0]
      scf.yield %d, %u
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PrefetchFragmentsPass : Pass<"deplo-prefetch-fragments", "::deplo::tile::KernelOp"> {
  let summary = "fragments are read from shared memory a step ahead of tensor cores";
  let description = [{
    In a pipelined loop over chunks, tensor cores would wait for each read of
    shared memory. The steps of a chunk are laid out one after the other, each
    after the reads of the next one, and the loop carries the fragments of the
    next chunk's first step: its await and barrier come before the last step of
    this one. Before:

    ```mlir
    %r, %rt = scf.for %k = %c0 to %c512 step %c32 iter_args(%acc = %zeros, %t = %t0) {
      tile.await %t
      tile.barrier
      %u = tile.async_copy %x[%i, %k + 32] to %next
      %d = scf.for %kk = %c0 to %c32 step %c16 iter_args(%c = %acc) {
        %a = tile.read %s[%c0, %kk]
        %b = tile.read %s[%c0, %kk]
        %e = tile.dot %a dims [0, 2], %b dims [1, 2], %c atom<mma_sync, warps = [1, 1]>
        scf.yield %e
      }
      scf.yield %d, %u
    }
    tile.await %rt
    ```

    After:

    ```mlir
    tile.await %t0
    tile.barrier
    %a0 = tile.read %s0[%c0, %c0]
    %b0 = tile.read %s0[%c0, %c0]
    %r, %ra, %rb = scf.for %k = %c0 to %c512 step %c32 iter_args(%acc = %zeros, %a = %a0, %b = %b0) {
      %u = tile.async_copy %x[%i, %k + 32] to %next
      %a1 = tile.read %s[%c0, %c16]
      %b1 = tile.read %s[%c0, %c16]
      %d = tile.dot %a dims [0, 2], %b dims [1, 2], %acc atom<mma_sync, warps = [1, 1]>
      tile.await %u
      tile.barrier
      %a2 = tile.read %next[%c0, %c0]
      %b2 = tile.read %next[%c0, %c0]
      %e = tile.dot %a1 dims [0, 2], %b1 dims [1, 2], %d atom<mma_sync, warps = [1, 1]>
      scf.yield %e, %a2, %b2
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def CarrySlotsPass : Pass<"deplo-carry-slots", "::deplo::tile::KernelOp"> {
  let summary = "loops count slots of rings and their rounds instead of dividing";
  let description = [{
    The slot of a chunk is the remainder of its number by how many slots the ring
    has, and the phase of its barriers the quotient. By a power of two these are a
    mask and a shift; by another number a product and more, which every chunk
    waits for. So loops carry both. Before:

    ```mlir
    scf.for %k = %c0 to %c2048 step %c64 {
      %n = arith.divui %k, %c64 : index
      %s = arith.remui %n, %c6 : index
      %p = arith.divui %n, %c6 : index
      tile.mbarrier_wait %full[%s] phase %p : !tile.mbarriers<6>
    }
    ```

    After:

    ```mlir
    scf.for %k = %c0 to %c2048 step %c64 iter_args(%s = %c0, %p = %c0) -> (index, index) {
      tile.mbarrier_wait %full[%s] phase %p : !tile.mbarriers<6>
      %s1 = arith.addi %s, %c1 : index
      %p1 = arith.addi %p, %c1 : index
      %over = arith.cmpi eq, %s1, %c6 : index
      %t = arith.select %over, %c0, %s1 : index
      %q = arith.select %over, %p1, %p : index
      scf.yield %t, %q : index, index
    }
    ```

    Legal because the number of a chunk grows by one in each iteration: the
    loop's variable grows by the step, which is what divides it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PrefetchChunksPass : Pass<"deplo-prefetch-chunks", "::deplo::tile::KernelOp"> {
  let summary = "loads of the next chunk start before a chunk is scanned";
  let description = [{
    In a loop whose threads wait for one another in every iteration, such as the
    scan of a long row, memory would be idle while they do. The loop carries the
    tiles that it loads: each iteration starts with the loads of the next one.

    Before:

    ```mlir
    tile.kernel @cumsum(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %c1024 = arith.constant 1024 : index
      %c8192 = arith.constant 8192 : index
      %zero = arith.constant dense<0.0> : tensor<1xf32>
      %end = scf.for %k = %c0 to %c8192 step %c1024 iter_args(%carry = %zero) -> (tensor<1xf32>) {
        %a = tile.load %x[%i, %k] : memref<32x8192xf32> -> tensor<1x1024xf32>
        %s, %next = tile.scan add %a carry %carry axis 1 : (tensor<1x1024xf32>, tensor<1xf32>) -> (tensor<1x1024xf32>, tensor<1xf32>)
        tile.store %s, %y[%i, %k] : tensor<1x1024xf32>, memref<32x8192xf32>
        scf.yield %next : tensor<1xf32>
      }
    }
    ```

    After:

    ```mlir
    tile.kernel @cumsum(%x: memref<32x8192xf32>, %y: memref<32x8192xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %c1024 = arith.constant 1024 : index
      %c8192 = arith.constant 8192 : index
      %zero = arith.constant dense<0.0> : tensor<1xf32>
      %first = tile.load %x[%i, %c0] : memref<32x8192xf32> -> tensor<1x1024xf32>
      %end:2 = scf.for %k = %c0 to %c8192 step %c1024 iter_args(%carry = %zero, %a = %first) -> (tensor<1xf32>, tensor<1x1024xf32>) {
        %n = arith.addi %k, %c1024 : index
        %b = tile.load %x[%i, %n] bounds [32, 8192] : memref<32x8192xf32> -> tensor<1x1024xf32>
        %s, %next = tile.scan add %a carry %carry axis 1 : (tensor<1x1024xf32>, tensor<1xf32>) -> (tensor<1x1024xf32>, tensor<1xf32>)
        tile.store %s, %y[%i, %k] : tensor<1x1024xf32>, memref<32x8192xf32>
        scf.yield %next, %b : tensor<1xf32>, tensor<1x1024xf32>
      }
    }
    ```

    Legal because the kernel does not store to what it loads (C2 of
    `loop.kernel`). Past the last chunk nothing is read: loads are bounded.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def DoubleBufferPass : Pass<"deplo-double-buffer", "::deplo::tile::KernelOp"> {
  let summary = "chunks of a loop go to the slots of a ring in turn";
  let description = [{
    Step 010. A shared buffer that each iteration of a loop fills before a barrier
    and reads behind it becomes a ring of as many slots as the schedule has
    stages. The barrier that ended the iteration goes. Before:

    ```mlir
    tile.kernel @chunks(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 step 64 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c512 = arith.constant 512 : index
      %s = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
      scf.for %k = %c0 to %c512 step %c16 {
        tile.copy %x[%i, %k] to %s : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
        tile.barrier
        %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
        tile.store %a, %y[%i, %k] : tensor<64x16xf32>, memref<64x512xf32>
        tile.barrier
      }
    }
    ```

    After, with two stages:

    ```mlir
    tile.kernel @chunks(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c512 = arith.constant 512 : index
      %0 = tile.alloc : !tile.buffer<2x64x16xf32, #tile.shared<>>
      %c2 = arith.constant 2 : index
      scf.for %arg0 = %c0 to %c512 step %c16 {
        %1 = arith.divui %arg0, %c16 : index
        %2 = arith.remui %1, %c2 : index
        %3 = tile.slot %0[%2] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
        tile.copy %x[%i, %arg0] to %3 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
        tile.barrier
        %4 = tile.read %3[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
        tile.store %4, %y[%i, %arg0] : tensor<64x16xf32>, memref<64x512xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0", "slots of a ring; the schedule's if 0">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TmaCopyPass : Pass<"deplo-tma-copy", "::deplo::tile::KernelOp"> {
  let summary = "boxes are copied to shared memory by the tensor memory accelerator";
  let description = [{
    Step 011. Each copy of an iteration becomes one by a tensor map, which one
    thread starts; its barrier in shared memory counts the bytes. By default this is
    done where wgmma reads the buffer. Strides must be multiples of 16 bytes, the
    tile's neighbours neighbours in memory, the target sm_90 or later. Before:

    ```mlir
    %r = tile.alloc : !tile.buffer<2x64x64xbf16, #tile.shared<>>
    scf.for %k = %c0 to %c512 step %c64 {
      %n = arith.divui %k, %c64 : index
      %m = arith.remui %n, %c2 : index
      %s = tile.slot %r[%m]
      tile.copy %x[%i, %k] to %s
      tile.barrier
    }
    ```

    After:

    ```mlir
    %r = tile.alloc : !tile.buffer<2x64x64xbf16, #tile.shared<>>
    %full = tile.mbarriers arrivals 1 : !tile.mbarriers<2>
    scf.for %k = %c0 to %c512 step %c64 {
      %n = arith.divui %k, %c64 : index
      %p = arith.divui %n, %c2 : index
      %m = arith.remui %n, %c2 : index
      %s = tile.slot %r[%m]
      tile.tma_copy %x[%i, %k] to %s on %full[%m]
      tile.mbarrier_wait %full[%m] phase %p
      tile.barrier
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitInnerForSwizzlePass : Pass<"deplo-split-inner-for-swizzle", "::deplo::tile::KernelOp"> {
  let summary = "operands lie in shared memory as wgmma reads them";
  let description = [{
    Step 012. Gives each buffer that wgmma reads the swizzle of its rows, which are
    32, 64 or 128 bytes long: eight rows of one column of 16 bytes lie in different
    banks. Copies by tensor maps write the same. Before:

    ```mlir
    %a = tile.alloc : !tile.buffer<4x128x64xbf16, #tile.shared<>>
    ```

    After:

    ```mlir
    %a = tile.alloc : !tile.buffer<4x128x64xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
}

def TmaStorePass : Pass<"deplo-tma-store", "::deplo::tile::KernelOp"> {
  let summary = "results of wgmma go to memory by the tensor memory accelerator";
  let description = [{
    Warps write what they hold of a result to shared memory, piece by piece, and
    have it copied from there: whole lines, whatever the layout, past what the
    threads do next. Elements beyond the extents are left out by the tensor map. By
    default this is done where blocks may stay for several tiles (there may be more
    than multiprocessors), the pieces lie as `stmatrix` writes them (f16 and bf16)
    and a multiprocessor has room for as many blocks as without. What must
    hold: registers, lanes and warps each move along one dimension of the result by
    a distance of their own; the result's rows are neighbours in memory, their
    stride a multiple of 16 bytes, whatever sizes a launch gives. Before:

    ```mlir
    tile.store %v, %y[%i, %j] : tensor<128x256xbf16, #fragments>, memref<4096x4096xbf16>
    ```

    After, in a kernel of eight warps:

    ```mlir
    %s = tile.alloc : !tile.buffer<2x8x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.tma_store %v, %y[%i, %j] by %s : tensor<128x256xbf16, #fragments>, memref<4096x4096xbf16>, !tile.buffer<2x8x16x64xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def WarpSpecializePass : Pass<"deplo-warp-specialize", "::deplo::tile::KernelOp"> {
  let summary = "a warpgroup of its own starts copies, the others compute";
  let description = [{
    A loop that copies by tensor maps is divided: one thread of a further warpgroup
    starts copies as long as slots are free, and the kernel's warps wait for slots
    that are full. No barrier stops all of them. The further warpgroup gives its
    registers to the others. Before:

    ```mlir
    scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) {
      tile.tma_copy %x[%i, %k] to %s on %full[%m]
      tile.mbarrier_wait %full[%m] phase %p
      tile.barrier
      %d, %t = tile.async_dot %s dims [0, 2], ...
      tile.await %t
    }
    ```

    After, in a kernel of eight warps:

    ```mlir
    %empty = tile.mbarriers arrivals 8 : !tile.mbarriers<4>
    tile.producer registers [40, 232] {
      scf.for %k = %c0 to %c512 step %c64 {
        %q = arith.subi %p, %c1 : index
        tile.mbarrier_wait %empty[%m] phase %q
        tile.tma_copy %x[%i, %k] to %s on %full[%m]
      }
    }
    scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) {
      tile.mbarrier_wait %full[%m] phase %p
      %d, %t = tile.async_dot %s dims [0, 2], ...
      tile.await %t
      tile.mbarrier_arrive %empty[%m]
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    ListOption<"registers", "registers", "int64_t",
               "registers of a thread of the producer and of the others; chosen if empty">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PersistBlocksPass : Pass<"deplo-persist-blocks", "::deplo::tile::KernelOp"> {
  let summary = "each block computes several tiles, whose copies start before the tile before is done";
  let description = [{
    As many blocks as the device has room for stay, and take the grid's tiles in
    turn, as blocks would be numbered; a launch that gives fewer has one for each.
    The producer goes on to the next tile while the others are still at the end of
    the last one: slots and phases of the ring count chunks of all tiles. By default
    this is done where there may be more tiles than room for blocks, rings have a
    power of two of slots, and results are stored by tensor maps. What must hold:
    the kernel has a producer, and one loop with a ring, whose slots follow from its
    variable alone; warps exchange nothing else through shared memory; no cluster
    shares a tile; chunks have numbers. Before, in a grid of 512 blocks:

    ```mlir
    tile.producer registers [40, 232] {
      scf.for %k = %c0 to %c4096 step %c64 {
        tile.mbarrier_wait %empty[%slot] phase %before
        tile.tma_copy %x[%i, %k] to %s on %full[%slot]
      }
    }
    %d = scf.for %k = %c0 to %c4096 step %c64 iter_args(%c = %zeros) {
      tile.mbarrier_wait %full[%slot] phase %p
      ...
    }
    tile.store %d, %y[%i, %j]
    ```

    After, where slots and phases are those of `%n * 4096 + %k`:

    ```mlir
    tile.producer registers [40, 232] {
      tile.each_tile blocks 132 (%i, %j) number %n {
        scf.for %k = %c0 to %c4096 step %c64 {
          tile.mbarrier_wait %empty[%slot] phase %before
          tile.tma_copy %x[%i, %k] to %s on %full[%slot]
        }
      }
    }
    tile.each_tile blocks 132 (%i, %j) number %n {
      %d = scf.for %k = %c0 to %c4096 step %c64 iter_args(%c = %zeros) {
        tile.mbarrier_wait %full[%slot] phase %p
        ...
      }
      tile.store %d, %y[%i, %j]
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"blocks", "blocks", "int64_t", "0",
           "the blocks that stay; those that the device has room for if 0">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def OverlapDotsPass : Pass<"deplo-overlap-dots", "::deplo::tile::KernelOp"> {
  let summary = "contractions by wgmma are awaited after the next ones have started";
  let description = [{
    Tensor cores are idle between a contraction's end and the next one's start. So
    each iteration starts its contraction before it awaits that of the iteration
    before; the first one is peeled. Before:

    ```mlir
    scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zeros) {
      tile.mbarrier_wait %full[%m] phase %p
      %d, %t = tile.async_dot %s dims [0, 2], ..., %c
      tile.await %t
      tile.mbarrier_arrive %empty[%m]
      scf.yield %d
    }
    ```

    After:

    ```mlir
    tile.mbarrier_wait %full[%c0] phase %c0
    %d0, %t0 = tile.async_dot %s0 dims [0, 2], ..., %zeros
    scf.for %k = %c64 to %c512 step %c64 iter_args(%c = %d0, %u = %t0) {
      tile.mbarrier_wait %full[%m] phase %p
      %d, %t = tile.async_dot %s dims [0, 2], ..., %c
      tile.await %u
      tile.mbarrier_arrive %empty[%before]
      scf.yield %d, %t
    }
    tile.await %last
    tile.mbarrier_arrive %empty[%m_last]
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PipelineKOuterPass : Pass<"deplo-pipeline-k-outer", "::deplo::tile::KernelOp"> {
  let summary = "chunks are copied some iterations before they are used";
  let description = [{
    Step 015. In a loop that fills slots of rings by asynchronous copies, the
    copies of the first chunks run before the loop, and each iteration starts
    those of a later one: one less than there are slots. Before:

    ```mlir
    tile.kernel @chunks(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 step 64 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %c512 = arith.constant 512 : index
      %r = tile.alloc : !tile.buffer<2x64x16xf32, #tile.shared<>>
      scf.for %k = %c0 to %c512 step %c16 {
        %n = arith.divui %k, %c16 : index
        %m = arith.remui %n, %c2 : index
        %s = tile.slot %r[%m] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
        %t = tile.async_copy %x[%i, %k] to %s vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
        tile.await %t
        tile.barrier
        %a = tile.read %s[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
        tile.store %a, %y[%i, %k] : tensor<64x16xf32>, memref<64x512xf32>
      }
    }
    ```

    After, with two slots:

    ```mlir
    tile.kernel @chunks(%x: memref<64x512xf32>, %y: memref<64x512xf32>) axes(%i = 64 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %c512 = arith.constant 512 : index
      %0 = tile.alloc : !tile.buffer<2x64x16xf32, #tile.shared<>>
      %c0_0 = arith.constant 0 : index
      %1 = arith.divui %c0_0, %c16 : index
      %2 = arith.remui %1, %c2 : index
      %3 = tile.slot %0[%2] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
      %4 = tile.async_copy %x[%i, %c0_0] to %3 bounds [64, 512] vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
      %c16_1 = arith.constant 16 : index
      %5 = scf.for %arg0 = %c0 to %c512 step %c16 iter_args(%arg1 = %4) -> (!tile.token) {
        tile.await %arg1
        tile.barrier
        %6 = arith.addi %arg0, %c16_1 : index
        %7 = arith.divui %6, %c16 : index
        %8 = arith.remui %7, %c2 : index
        %9 = tile.slot %0[%8] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
        %10 = tile.async_copy %x[%i, %6] to %9 bounds [64, 512] vector 4 : memref<64x512xf32>, !tile.buffer<64x16xf32, #tile.shared<>>
        %11 = arith.divui %arg0, %c16 : index
        %12 = arith.remui %11, %c2 : index
        %13 = tile.slot %0[%12] : !tile.buffer<2x64x16xf32, #tile.shared<>> -> !tile.buffer<64x16xf32, #tile.shared<>>
        %14 = tile.read %13[%c0, %c0] : !tile.buffer<64x16xf32, #tile.shared<>> -> tensor<64x16xf32>
        tile.store %14, %y[%i, %arg0] : tensor<64x16xf32>, memref<64x512xf32>
        scf.yield %10 : !tile.token
      }
      tile.await %5
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def StageTotalsPass : Pass<"deplo-stage-totals", "::deplo::tile::KernelOp"> {
  let summary = "totals of a sum over two levels wait in shared memory";
  let description = [{
    Where each chunk of a contraction is summed from zero and added to a total
    (chunk_matmul_k), the totals go to shared memory, and several chunks at a time
    are added to them: their registers serve more warps. Before:

    ```mlir
    tile.kernel @mm(%x: memref<32x4096xf32>, %w: memref<4096x32xf32>, %y: memref<32x32xf32>) axes(%i = 32 step 32 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c4096 = arith.constant 4096 : index
      %zeros = arith.constant dense<0.0> : tensor<32x32xf32>
      %s = scf.for %k = %c0 to %c4096 step %c16 iter_args(%total = %zeros) -> (tensor<32x32xf32>) {
        %a = tile.load %x[%i, %k] : memref<32x4096xf32> -> tensor<32x16xf32>
        %b = tile.load %w[%k, %c0] : memref<4096x32xf32> -> tensor<16x32xf32>
        %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zeros : tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x32xf32>
        %t = arith.addf %total, %d : tensor<32x32xf32>
        scf.yield %t : tensor<32x32xf32>
      }
      tile.store %s, %y[%i, %c0] : tensor<32x32xf32>, memref<32x32xf32>
    }
    ```

    After, with 512 terms:

    ```mlir
    tile.kernel @mm(%x: memref<32x4096xf32>, %w: memref<4096x32xf32>, %y: memref<32x32xf32>) axes(%i = 32 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c4096 = arith.constant 4096 : index
      %cst = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
      %c0_0 = arith.constant 0 : index
      %c512 = arith.constant 512 : index
      %0 = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
      tile.write %cst, %0[%c0_0, %c0_0] : tensor<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
      scf.for %arg0 = %c0 to %c4096 step %c512 {
        %2 = arith.addi %arg0, %c512 : index
        %3 = arith.minui %2, %c4096 : index
        %4 = scf.for %arg1 = %arg0 to %3 step %c16 iter_args(%arg2 = %cst) -> (tensor<32x32xf32>) {
          %7 = tile.load %x[%i, %arg1] : memref<32x4096xf32> -> tensor<32x16xf32>
          %8 = tile.load %w[%arg1, %c0] : memref<4096x32xf32> -> tensor<16x32xf32>
          %9 = tile.dot %7 dims [0, 2], %8 dims [2, 1], %arg2 : tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x32xf32>
          scf.yield %9 : tensor<32x32xf32>
        }
        %5 = tile.read %0[%c0_0, %c0_0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32>
        %6 = arith.addf %5, %4 : tensor<32x32xf32>
        tile.write %6, %0[%c0_0, %c0_0] : tensor<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
      }
      %1 = tile.read %0[%c0_0, %c0_0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32>
      tile.store %1, %y[%i, %c0] : tensor<32x32xf32>, memref<32x32xf32>
    }
    ```

    Legal because the sum is associative by declaration and each thread reads what
    it wrote itself. Totals that don't fit stay in registers.
  }];
  let options = [
    Option<"terms", "terms", "int64_t", "512", "the most products that one value takes up">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def AsyncCopyPass : Pass<"deplo-async-copy", "::deplo::tile::KernelOp"> {
  let summary = "copies to shared memory without a trip through registers";
  let description = [{
    Step 013. Copies become asynchronous ones of 4, 8 or 16 bytes, as strides,
    bounds and alignment allow, and are awaited before the barrier that follows
    (sm_80 and later). Before:

    ```mlir
    tile.kernel @copy(%x: memref<32x2048xf32>, %y: memref<32x2048xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %row = tile.alloc : !tile.buffer<1x2048xf32, #tile.shared<>>
      tile.copy %x[%i, %c0] to %row : memref<32x2048xf32>, !tile.buffer<1x2048xf32, #tile.shared<>>
      tile.barrier
    }
    ```

    After:

    ```mlir
    tile.kernel @copy(%x: memref<32x2048xf32>, %y: memref<32x2048xf32>) axes(%i = 32 step 1 grid) warps(8) {
      %c0 = arith.constant 0 : index
      %row = tile.alloc : !tile.buffer<1x2048xf32, #tile.shared<>>
      %t = tile.async_copy %x[%i, %c0] to %row vector 4 : memref<32x2048xf32>, !tile.buffer<1x2048xf32, #tile.shared<>>
      tile.await %t
      tile.barrier
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def TransposeSmemPass : Pass<"deplo-transpose-smem", "::deplo::tile::KernelOp"> {
  let summary = "gives chunks of operands a row for each summed element";
  let description = [{
    Where neighbours in memory are summed over, as in both operands of `x @ w.T`,
    a chunk that lies in shared memory as in memory gives a thread several summed
    elements with each wide read, and all of these occupy registers at once. The
    transposed chunk gives it neighbours of one summed element. The copy
    transposes, one element at a time, which takes more instructions: only
    `always` does it. Before:

    ```mlir
    tile.kernel @mm(%x: memref<128x16xf32>, %w: memref<16x128xf32>, %y: memref<128x128xf32>) axes(%i = 1 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [128, 128], warps = 8, vector = 4, transpose_smem = always>} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      %s = tile.alloc : !tile.buffer<128x16xf32, #tile.shared<>>
      %t = tile.alloc : !tile.buffer<16x128xf32, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %s : memref<128x16xf32>, !tile.buffer<128x16xf32, #tile.shared<>>
      tile.copy %w[%c0, %c0] to %t : memref<16x128xf32>, !tile.buffer<16x128xf32, #tile.shared<>>
      tile.barrier
      %a = tile.read %s[%c0, %c0] : !tile.buffer<128x16xf32, #tile.shared<>> -> tensor<128x16xf32>
      %b = tile.read %t[%c0, %c0] : !tile.buffer<16x128xf32, #tile.shared<>> -> tensor<16x128xf32>
      %d = tile.dot %a dims [0, 2], %b dims [2, 1], %zero : tensor<128x16xf32>, tensor<16x128xf32>, tensor<128x128xf32>
      tile.store %d, %y[%c0, %c0] : tensor<128x128xf32>, memref<128x128xf32>
    }
    ```

    After:

    ```mlir
    tile.kernel @mm(%x: memref<128x16xf32>, %w: memref<16x128xf32>, %y: memref<128x128xf32>) axes(%i = 1 step 1 grid) warps(8) attributes {schedule = #tile.schedule<block = [128, 128], warps = 8, vector = 4, transpose_smem = always>} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      %s = tile.alloc : !tile.buffer<16x128xf32, #tile.shared<>>
      %t = tile.alloc : !tile.buffer<16x128xf32, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %s dims [1, 0] : memref<128x16xf32>, !tile.buffer<16x128xf32, #tile.shared<>>
      tile.copy %w[%c0, %c0] to %t : memref<16x128xf32>, !tile.buffer<16x128xf32, #tile.shared<>>
      tile.barrier
      %a = tile.read %s[%c0, %c0] : !tile.buffer<16x128xf32, #tile.shared<>> -> tensor<16x128xf32>
      %b = tile.read %t[%c0, %c0] : !tile.buffer<16x128xf32, #tile.shared<>> -> tensor<16x128xf32>
      %d = tile.dot %a dims [2, 0], %b dims [2, 1], %zero : tensor<16x128xf32>, tensor<16x128xf32>, tensor<128x128xf32>
      tile.store %d, %y[%c0, %c0] : tensor<128x128xf32>, memref<128x128xf32>
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">];
}

def SwizzleSmemPass : Pass<"deplo-swizzle-smem", "::deplo::tile::KernelOp"> {
  let summary = "exchanges chunks of the rows of shared buffers against bank conflicts";
  let description = [{
    `ldmatrix` reads eight rows of 16 bytes at once, all at one column: without a
    swizzle they lie in the same banks if rows are 128 bytes or more apart. With
    it, each row has its 16-byte chunks at other places, by exclusive or with the
    row's number. Unlike a pad it takes no memory and keeps rows aligned.
    Chooses the swizzle of fewest wavefronts, by the model of banks in
    SharedMemory.h, for buffers that `ldmatrix` alone reads; with `always` for any
    other as well. Before:

    ```mlir
    #a = #tile.layout<[16, 64], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]],
                      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
    tile.kernel @read(%x: memref<16x64xf16>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %b = tile.alloc : !tile.buffer<16x64xf16, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %b : memref<16x64xf16>, !tile.buffer<16x64xf16, #tile.shared<>>
      tile.barrier
      %a = tile.read %b[%c0, %c0] : !tile.buffer<16x64xf16, #tile.shared<>> -> tensor<16x64xf16, #a>
    }
    ```

    After:

    ```mlir
    #a = #tile.layout<[16, 64], register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]],
                      lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
    tile.kernel @read(%x: memref<16x64xf16>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %b = tile.alloc : !tile.buffer<16x64xf16, #tile.shared<swizzle = 128>>
      tile.copy %x[%c0, %c0] to %b : memref<16x64xf16>, !tile.buffer<16x64xf16, #tile.shared<swizzle = 128>>
      tile.barrier
      %a = tile.read %b[%c0, %c0] : !tile.buffer<16x64xf16, #tile.shared<swizzle = 128>> -> tensor<16x64xf16, #a>
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def PadSmemPass : Pass<"deplo-pad-smem", "::deplo::tile::KernelOp"> {
  let summary = "pads rows of shared buffers against bank conflicts";
  let description = [{
    Step 014. Chooses, for each buffer, the smallest pad that costs the accesses
    to it the fewest wavefronts, by the model of banks in SharedMemory.h. With
    `always` the pad may take all shared memory of a block, else a quarter of the
    buffer. Lanes that read a
    column of 32 words a row all hit one bank. Before:

    ```mlir
    #column = #tile.layout<[32, 32], register = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]],
                           lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
    tile.kernel @read(%x: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
      tile.copy %x[%c0, %c0] to %b vector 1 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<>>
      tile.barrier
      %a = tile.read %b[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<>> -> tensor<32x32xf32, #column>
    }
    ```

    After:

    ```mlir
    #column = #tile.layout<[32, 32], register = [[0, 16], [0, 8], [0, 4], [0, 2], [0, 1]],
                           lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
    tile.kernel @read(%x: memref<32x32xf32>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<pad = 1>>
      tile.copy %x[%c0, %c0] to %b vector 1 : memref<32x32xf32>, !tile.buffer<32x32xf32, #tile.shared<pad = 1>>
      tile.barrier
      %a = tile.read %b[%c0, %c0] : !tile.buffer<32x32xf32, #tile.shared<pad = 1>> -> tensor<32x32xf32, #column>
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">,
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def HoistLoadsPass : Pass<"deplo-hoist-loads", "::deplo::tile::KernelOp"> {
  let summary = "Starts all loads of a block before its first reduction";
  let description = [{
    Threads wait for one another in a reduction, and loads that follow it in the
    program start only then. Where all blocks of the grid run at once, that wait
    is the time of the kernel. Before:

    ```mlir
    #row = #tile.layout<[1, 128], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
    #column = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = []>
    tile.kernel @scaled(%x: memref<4x128xf32>, %w: memref<4x128xf32>, %y: memref<4x128xf32>) axes(%i = 4 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %a = tile.load %x[%i, %c0] : memref<4x128xf32> -> tensor<1x128xf32, #row>
      %s = tile.reduce [add] %a axis 1 : tensor<1x128xf32, #row> -> tensor<1xf32, #column>
      %b = tile.load %w[%i, %c0] : memref<4x128xf32> -> tensor<1x128xf32, #row>
      %t = tile.broadcast %s dims [0] : tensor<1xf32, #column> -> tensor<1x128xf32, #row>
      %c = arith.mulf %b, %t : tensor<1x128xf32, #row>
      tile.store %c, %y[%i, %c0] : tensor<1x128xf32, #row>, memref<4x128xf32>
    }
    ```

    After:

    ```mlir
    #layout = #tile.layout<[1, 128], register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
    #layout1 = #tile.layout<[1], register = [], lane = [[0], [0], [0], [0], [0]], warp = []>
    tile.kernel @scaled(%x: memref<4x128xf32>, %w: memref<4x128xf32>, %y: memref<4x128xf32>) axes(%i = 4 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %0 = tile.load %x[%i, %c0] : memref<4x128xf32> -> tensor<1x128xf32, #layout>
      %1 = tile.load %w[%i, %c0] : memref<4x128xf32> -> tensor<1x128xf32, #layout>
      %2 = tile.reduce [add] %0 axis 1 : tensor<1x128xf32, #layout> -> tensor<1xf32, #layout1>
      %3 = tile.broadcast %2 dims [0] : tensor<1xf32, #layout1> -> tensor<1x128xf32, #layout>
      %4 = arith.mulf %1, %3 : tensor<1x128xf32, #layout>
      tile.store %4, %y[%i, %c0] : tensor<1x128xf32, #layout>, memref<4x128xf32>
    }
    ```

    A larger grid hides the latency behind other blocks, and the registers that
    early loads occupy would cost it some of those: there the step does nothing.
  }];
  let options = [
    Option<"always", "always", "bool", "false", "whatever the grid">];
}

def MarkUnrollPass : Pass<"deplo-mark-unroll", "::deplo::tile::KernelOp"> {
  let summary = "says how often loops are unrolled";
  let description = [{
    Step 016. Sets `tile.unroll` on loops with constant bounds: the largest
    divisor of the trip count that the schedule and the instruction cache allow,
    or, if that is at most half of what they allow, what they allow. A loop over
    chunks of a contraction that is not unrolled is marked with 1, so that nothing
    else unrolls it.
    Before:

    ```mlir
    tile.kernel @copy(%x: memref<3072xf32>, %y: memref<3072xf32>) axes(%i = 1 step 1 grid) warps(1)
        attributes {schedule = #tile.schedule<block = [], warps = 1, vector = 1, unroll = 4>} {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c3072 = arith.constant 3072 : index
      scf.for %k = %c0 to %c3072 step %c256 {
        %a = tile.load %x[%k] : memref<3072xf32> -> tensor<256xf32>
        tile.store %a, %y[%k] : tensor<256xf32>, memref<3072xf32>
      }
    }
    ```

    After:

    ```mlir
    tile.kernel @copy(%x: memref<3072xf32>, %y: memref<3072xf32>) axes(%i = 1 step 1 grid) warps(1)
        attributes {schedule = #tile.schedule<block = [], warps = 1, vector = 1, unroll = 4>} {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c3072 = arith.constant 3072 : index
      scf.for %k = %c0 to %c3072 step %c256 {
        %a = tile.load %x[%k] : memref<3072xf32> -> tensor<256xf32>
        tile.store %a, %y[%k] : tensor<256xf32>, memref<3072xf32>
      } {tile.unroll = 4 : i64}
    }
    ```
  }];
  let options = [
    Option<"unroll", "unroll", "int64_t", "0", "the most copies of a body; 0 for the schedule's">];
}

def BatchLoadsPass : Pass<"deplo-batch-loads", "::deplo::tile::KernelOp"> {
  let summary = "starts the loads of several iterations before their stores";
  let description = [{
    A thread waits for what it loads before it stores the result, and a load
    that follows a store in the program starts after it: nothing after this step
    knows that they touch different memory. So a loop that loads and stores has
    the loads of one iteration in flight, however often it is unrolled. Where
    `tile.unroll` allows, this step makes one iteration of several, whose loads
    come first, as many as registers are left for. Before:

    ```mlir
    #row = #tile.layout<[256], register = [[1], [2], [128]], lane = [[4], [8], [16], [32], [64]], warp = []>
    tile.kernel @copy(%x: memref<3072xf32>, %y: memref<3072xf32>) axes(%i = 1 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c3072 = arith.constant 3072 : index
      scf.for %k = %c0 to %c3072 step %c256 {
        %a = tile.load %x[%k] : memref<3072xf32> -> tensor<256xf32, #row>
        tile.store %a, %y[%k] : tensor<256xf32, #row>, memref<3072xf32>
      } {tile.unroll = 2 : i64}
    }
    ```

    After:

    ```mlir
    #layout = #tile.layout<[256], register = [[1], [2], [128]], lane = [[4], [8], [16], [32], [64]], warp = []>
    tile.kernel @copy(%x: memref<3072xf32>, %y: memref<3072xf32>) axes(%i = 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c3072 = arith.constant 3072 : index
      %c512 = arith.constant 512 : index
      %c256_0 = arith.constant 256 : index
      scf.for %arg0 = %c0 to %c3072 step %c512 {
        %0 = tile.load %x[%arg0] : memref<3072xf32> -> tensor<256xf32, #layout>
        %1 = arith.addi %arg0, %c256_0 : index
        %2 = tile.load %x[%1] : memref<3072xf32> -> tensor<256xf32, #layout>
        tile.store %0, %y[%arg0] : tensor<256xf32, #layout>, memref<3072xf32>
        tile.store %2, %y[%1] : tensor<256xf32, #layout>, memref<3072xf32>
      }
    }
    ```

    RMSNorm of rows of 393216, whose weights come from L2, is the example that
    the step was made for.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def VectorizeAccessPass : Pass<"deplo-vectorize-access", "::deplo::tile::KernelOp"> {
  let summary = "chooses how many elements each access of a thread moves";
  let description = [{
    Sets `vector` on accesses to global and shared memory: the largest power of
    two, up to 16 bytes, that layout, strides, offsets and the alignment of the
    arguments allow; elements of one that bounds end within move one by one. Accesses of one element are left as they are. Before:

    ```mlir
    #tile = #tile.layout<[1024], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]],
                         warp = [[128], [256], [512]]>
    tile.kernel @copy(%x: memref<4096xf32>, %y: memref<4095xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
      %a = tile.load %x[%i] : memref<4096xf32> -> tensor<1024xf32, #tile>
      tile.store %a, %y[%i] bounds [4095] : tensor<1024xf32, #tile>, memref<4095xf32>
    }
    ```

    After:

    ```mlir
    #tile = #tile.layout<[1024], register = [[1], [2]], lane = [[4], [8], [16], [32], [64]],
                         warp = [[128], [256], [512]]>
    tile.kernel @copy(%x: memref<4096xf32>, %y: memref<4095xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
      %a = tile.load %x[%i] vector 4 : memref<4096xf32> -> tensor<1024xf32, #tile>
      tile.store %a, %y[%i] bounds [4095] vector 4 : tensor<1024xf32, #tile>, memref<4095xf32>
    }
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

def EliminateBarriersPass : Pass<"deplo-eliminate-barriers", "::deplo::tile::KernelOp"> {
  let summary = "barriers that keep nothing apart go";
  let description = [{
    Removes each barrier between accesses that are all reads, of different memory,
    or of the same threads. Which thread touches which element follows from the
    layouts of tiles, and from how copies are dealt to threads: vector by vector, in
    turn. Here each thread reads what it has copied itself. Before:

    ```mlir
    #row = #tile.layout<[1, 256], register = [[0, 1], [0, 2], [0, 128]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
    tile.kernel @row(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c1024 = arith.constant 1024 : index
      %s = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
      %t = tile.async_copy %x[%i, %c0] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
      tile.await %t
      tile.barrier
      scf.for %k = %c0 to %c1024 step %c256 {
        %a = tile.read %s[%c0, %k] vector 4 : !tile.buffer<1x1024xf32, #tile.shared<>> -> tensor<1x256xf32, #row>
        tile.store %a, %y[%i, %k] vector 4 : tensor<1x256xf32, #row>, memref<4x1024xf32>
      }
    }
    ```

    After:

    ```mlir
    #row = #tile.layout<[1, 256], register = [[0, 1], [0, 2], [0, 128]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
    tile.kernel @row(%x: memref<4x1024xf32>, %y: memref<4x1024xf32>) axes(%i = 4 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c1024 = arith.constant 1024 : index
      %s = tile.alloc : !tile.buffer<1x1024xf32, #tile.shared<>>
      %t = tile.async_copy %x[%i, %c0] to %s vector 4 : memref<4x1024xf32>, !tile.buffer<1x1024xf32, #tile.shared<>>
      tile.await %t
      scf.for %k = %c0 to %c1024 step %c256 {
        %a = tile.read %s[%c0, %k] vector 4 : !tile.buffer<1x1024xf32, #tile.shared<>> -> tensor<1x256xf32, #row>
        tile.store %a, %y[%i, %k] vector 4 : tensor<1x256xf32, #row>, memref<4x1024xf32>
      }
    }
    ```

    A barrier is needed if what comes before it, back to barriers on all ways that
    lead there, has a conflict with what comes behind it, up to barriers on all ways
    that lead on. The wait for a thread's own copies stays.
  }];
}

def ProgrammaticLaunchPass : Pass<"deplo-programmatic-launch", "::deplo::tile::KernelOp"> {
  let summary = "starts a kernel while the one before it still runs";
  let description = [{
    Programmatic dependent launch (sm_90 and later): the blocks of a grid start,
    find their place and compute their indices while the grids that it depends on
    still run. Before its first access to global memory the kernel waits until
    they are complete and what they wrote is visible; then, or at the end where
    the multiprocessors have few places left, it lets its own dependents start.
    Before:

    ```mlir
    tile.kernel @double(%x: memref<4096xf32>, %y: memref<4096xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
      %c2 = arith.constant dense<2.0> : tensor<1024xf32>
      %a = tile.load %x[%i] : memref<4096xf32> -> tensor<1024xf32>
      %b = arith.mulf %a, %c2 : tensor<1024xf32>
      tile.store %b, %y[%i] : tensor<1024xf32>, memref<4096xf32>
    }
    ```

    After:

    ```mlir
    tile.kernel @double(%x: memref<4096xf32>, %y: memref<4096xf32>) axes(%i = 4096 step 1024 grid) warps(8) {
      %c2 = arith.constant dense<2.0> : tensor<1024xf32>
      tile.wait_dependencies
      tile.launch_dependents
      %a = tile.load %x[%i] : memref<4096xf32> -> tensor<1024xf32>
      %b = arith.mulf %a, %c2 : tensor<1024xf32>
      tile.store %b, %y[%i] : tensor<1024xf32>, memref<4096xf32>
    }
    ```

    Legal because every thread of every block waits before it reads or writes
    global memory. A block of a kernel is its body from the first operation to the
    last, with no way out in between; the wait is an operation of the body itself,
    in no loop, so that no thread misses it. As no grid is then complete before
    those that it depends on are, waiting for one's predecessor is waiting for
    all: what an earlier kernel of the stream reads or writes may be overwritten,
    and temporaries may share memory, as without this step. See the rationale,
    "Programmatic dependent launch".

    With `auto` the step is left out for grids of several waves whose data fit in
    L2: those are faster where blocks go to the same multiprocessors each time.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">];
}

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
