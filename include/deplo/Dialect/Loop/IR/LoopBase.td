// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_IR_LOOPBASE_TD
#define DEPLO_DIALECT_LOOP_IR_LOOPBASE_TD

include "mlir/IR/OpBase.td"

def Loop_Dialect : Dialect {
  let name = "loop";
  let cppNamespace = "::deplo::loop";
  let summary = "Kernels as loop nests with iterator kinds and named reductions";
  let description = [{
    One `loop.kernel` for each fused group. `loop.for` is parallel by
    construction; order lives only in `loop.reduce` and `loop.scan`, whose
    monoids are named.
    Bodies are scalar `arith` and `math`; indices are affine in loop variables.
    Kinds and monoids are explicit, so a pass proves legality instead of
    matching for it.

    A module at this level holds the kernels and a `func.func` that is the
    launch plan: `memref.alloc` for temporaries, `memref` views, `loop.launch`.
    Result buffers are trailing arguments of the plan, marked `loop.result`. A
    buffer of i8 that callers know as bools or unsigned numbers says so:
    `loop.dtype = "bool"` or `"u8"`.

    An argument of the plan marked `loop.weight` has the same values in each call
    until the caller says that they have changed. Launches that read nothing else
    are marked `loop.prepared` (`deplo-prepare-weights`): they run once for all
    calls, and what they write belongs to no call.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect"];
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 1;
}

#endif // DEPLO_DIALECT_LOOP_IR_LOOPBASE_TD
