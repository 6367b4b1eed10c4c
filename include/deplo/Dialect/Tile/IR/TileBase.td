// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILEBASE_TD
#define DEPLO_DIALECT_TILE_IR_TILEBASE_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::deplo::tile";
  let summary = "One scheduled GPU kernel: tiles with layouts, run by a thread block";
  let description = [{
    A `tile.kernel` is the program of one thread block. Its values are tiles:
    ranked tensors whose encoding is a `#tile.layout`, so that `arith` and `math`
    work on them as they are. Before layouts are assigned the encoding is absent.
    Shared memory is explicit (`!tile.buffer`), copies are explicit, and
    asynchronous copies return a `!tile.token` that is awaited exactly once.

    Discardable attributes of this dialect:
    - `tile.target` (`#tile.target`) on a module: the machine that is compiled for;
    - `tile.pieces` (array of i64) on a kernel: its last arguments hold the pieces
      of bf16 of these arguments of f32 (`split_pieces`);
    - `tile.part_of` (i64) on `loop.reduce`: of how many elements the sum is that
      it computes a part of (`split_matmul_k`);
    - `tile.launch` (`#tile.launch`) on the device function that a kernel became;
    - `tile.unroll` (i64) on `scf.for`: how often the loop is unrolled.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // DEPLO_DIALECT_TILE_IR_TILEBASE_TD
