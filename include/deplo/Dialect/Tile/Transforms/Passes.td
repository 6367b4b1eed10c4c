// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"deplo-attach-target", "::mlir::ModuleOp"> {
  let summary = "writes the facts of a named target on the module";
  let description = [{
    Later passes take what they know about the hardware from the attribute
    `tile.target` alone. `deplo show-targets` lists the names.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "LLVM's name of the processor">];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def SelectSchedulePass : Pass<"deplo-select-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the tunables of each kernel";
  let description = [{
    Asks what `pin` says first, then the analytic model.
  }];
  let options = [
    Option<"pin", "pin", "std::string", "", "decided fields, such as warps=4,stage_inputs=always">,
    Option<"alignment", "alignment", "int64_t", "16", "bytes that every argument of a kernel is aligned to">];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def TileifyPass : Pass<"deplo-tileify", "::mlir::ModuleOp"> {
  let summary = "turns loop nests into tile programs";
  let description = [{
    Step 001.
  }];
  let dependentDialects = ["::deplo::tile::TileDialect"];
}

def CooperativeReducePass : Pass<"deplo-cooperative-reduce", "::deplo::tile::KernelOp"> {
  let summary = "makes reduced dimensions dimensions of tiles, which threads share";
  let description = [{
    Step 004.
  }];
}

def BlockifyLaunchPass : Pass<"deplo-blockify-launch", "::deplo::tile::KernelOp"> {
  let summary = "divides the parallel axes among blocks";
  let description = [{
    Step 005.
  }];
  let options = [
    ListOption<"block", "block", "int64_t", "elements of each axis in a block, in place of the schedule's">,
    Option<"warps", "warps", "int64_t", "0", "warps of a block, in place of the schedule's">];
}

def ChunkReducePass : Pass<"deplo-chunk-reduce", "::deplo::tile::KernelOp"> {
  let summary = "puts inner dimensions too long for registers into loops over chunks";
  let description = [{
    Step 006.
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "-1",
           "elements that are on chip at once, 0 for all of them, in place of the schedule's">];
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
  }];
  let options = [
    Option<"mode", "mode", "std::string", "", "auto, always or never; the schedule's if empty">];
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
    %a = tile.load %x[%i, %c0]
    %s = tile.reduce [add] %a axis 1
    %b = tile.load %w[%c0]
    ```

    After:

    ```mlir
    %a = tile.load %x[%i, %c0]
    %b = tile.load %w[%c0]
    %s = tile.reduce [add] %a axis 1
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
    divisor of the trip count that the schedule and the instruction cache allow.
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

def VectorizeAccessPass : Pass<"deplo-vectorize-access", "::deplo::tile::KernelOp"> {
  let summary = "chooses how many elements each access of a thread moves";
  let description = [{
    Sets `vector` on accesses to global and shared memory: the largest power of
    two, up to 16 bytes, that layout, strides, offsets, bounds and the alignment
    of the arguments allow. Accesses of one element are left as they are. Before:

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
      tile.store %a, %y[%i] bounds [4095] : tensor<1024xf32, #tile>, memref<4095xf32>
    }
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "16",
           "bytes that every memref argument is aligned to">];
}

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
