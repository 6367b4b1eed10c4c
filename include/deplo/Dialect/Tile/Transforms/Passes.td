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

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_PASSES_TD
