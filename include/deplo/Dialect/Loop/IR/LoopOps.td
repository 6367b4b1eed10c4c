// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD
#define DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD

include "deplo/Dialect/Loop/IR/LoopBase.td"
include "deplo/Dialect/Monoid.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Loop_Op<string mnemonic, list<Trait> traits = []>
    : Op<Loop_Dialect, mnemonic, traits>;

// What loop.for, loop.reduce and loop.scan share: one induction variable from 0 to the
// extent, by 1.
class Loop_LoopOp<string mnemonic, list<Trait> traits = []>
    : Loop_Op<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<LoopLikeOpInterface, ["getLoopInductionVars", "getLoopLowerBounds",
            "getLoopUpperBounds", "getLoopSteps", "getStaticTripCount"]>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>], traits)> {
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  code loopClassDeclaration = [{
    ::mlir::BlockArgument getInductionVar() { return getBody()->getArgument(0); }
  }];
  let extraClassDeclaration = loopClassDeclaration;
}

def Loop_KernelOp : Loop_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one fused kernel as a loop nest";
  let description = [{
    ```mlir
    loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<8xf32>
      }
    }
    ```

    `schedule` is what `select_schedule` chose for it.

    Constraints:
    - C1: arguments are memrefs whose elements are whole bytes; a bool is an i8.
    - C2: an argument that is stored to is not loaded from, so that iterations
      are independent.
    - C3: arguments are used by `loop.load` and `loop.store` only.

    No argument that is stored to overlaps another argument: that is for the
    launch to see to, and what makes loads free of effects.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<AnyAttr>:$schedule);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$argumentTypes)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getArguments() { return getBody()->getArguments(); }
    /// Whether the kernel stores to `argument`; if not, it only reads it.
    static bool isWritten(::mlir::BlockArgument argument);
  }];
}

def Loop_ForOp : Loop_LoopOp<"for", [SingleBlock, NoTerminator, RecursiveMemoryEffects,
    RecursivelySpeculatable, ParentOneOf<["KernelOp", "ForOp"]>]> {
  let summary = "a parallel loop: iterations are independent";
  let description = [{
    Runs its body for `%i` from 0 to `extent - 1` in any order, or at once.

    ```mlir
    loop.for %i = 0 to 32 {
    }
    ```

    Constraints:
    - C1: the extent is not negative.
    - C2: the body has one index argument.
  }];
  let arguments = (ins I64Attr:$extent);
  let builders = [OpBuilder<(ins "int64_t":$extent)>];
}

def Loop_ReduceOp : Loop_LoopOp<"reduce", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    RecursivelySpeculatable]> {
  let summary = "a reduction loop with named monoids";
  let description = [{
    Folds the values that the body yields for `%k` from 0 to `extent - 1`, each
    with its monoid. The order is unspecified but fixed: two runs give the same
    bits. Over nothing the result is the identity of the monoid.

    ```mlir
    %s, %m = loop.reduce [add, max] %k = 0 to 2048 : f32, f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b, %a : f32, f32
    }
    ```

    A single monoid is written without brackets: `loop.reduce add %k = 0 to 8 : f32`.

    With a part, the iterations are divided, and only those of one part are
    folded, the identity if there are none. Each iteration is in one part; in
    which one is unspecified but fixed.

    ```mlir
    loop.for %p = 0 to 132 {
      %s = loop.reduce add %k = 0 to 1048583 part %p of 132 : f32 {
        %a = loop.load %x[%k] : memref<1048583xf32>
        loop.yield %a : f32
      }
      loop.store %s, %t[%p] : memref<132xf32>
    }
    ```

    Constraints:
    - C1: the extent is not negative.
    - C2: one monoid, one result and one yielded value of the same type for each
      reduction, at least one.
    - C3: the body stores no element in two iterations (C6 of `loop.store`).
    - C4: the body has one index argument.
    - C5: results are integers or floats, or (in a `tile.kernel`) tiles of them.
    - C6: the monoids are defined for them.
    - C7: a part comes with the number of parts, at least 2. It is the variable
      of an enclosing `loop.for` of as many iterations or (in a `tile.kernel`)
      an axis of as many blocks, each of which has one.
  }];
  let arguments = (ins TypedArrayAttrBase<Deplo_Monoid, "monoids">:$kinds, I64Attr:$extent,
                       Optional<Index>:$part, OptionalAttr<I64Attr>:$parts);
  let results = (outs Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::deplo::Monoid>":$kinds, "int64_t":$extent,
                                 "::mlir::TypeRange":$types, CArg<"::mlir::Value", "{}">:$part,
                                 CArg<"std::optional<int64_t>", "{}">:$parts)>];
  let extraClassDeclaration = loopClassDeclaration # [{
    ::llvm::SmallVector<::deplo::Monoid> getMonoids();
    ::deplo::loop::YieldOp getYield();
  }];
}

def Loop_ScanOp : Loop_LoopOp<"scan", [SingleBlock, NoTerminator, RecursiveMemoryEffects,
    RecursivelySpeculatable, ParentOneOf<["KernelOp", "ForOp"]>]> {
  let summary = "a sweep whose iterations carry running values from one to the next";
  let description = [{
    Runs its body for `%k` from 0 to `extent - 1`. What goes from one iteration
    to the next are the running values of `loop.running`, and nothing else:
    apart from them iterations are independent.

    ```mlir
    loop.scan %k = 0 to 2048 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      %s = loop.running add %a : f32
      loop.store %s, %y[%i, %k] : memref<32x2048xf32>
    }
    ```

    Constraints:
    - C1: the extent is not negative.
    - C2: the body has one index argument.
    - C3: the body holds no other loop.
  }];
  let arguments = (ins I64Attr:$extent);
  let builders = [OpBuilder<(ins "int64_t":$extent)>];
}

def Loop_RunningOp : Loop_Op<"running", [NoMemoryEffect, SameOperandsAndResultType, HasParent<"ScanOp">]> {
  let summary = "a monoid folded over the iterations so far";
  let description = [{
    The values of the operand in the iterations from 0 to this one, this one
    included, folded with the monoid: an inclusive scan. The state is this
    operation's own. In which order values combine is unspecified but fixed: two
    runs give the same bits. The operand may depend on other running values.

    ```mlir
    %s = loop.running add %a : f32
    ```

    Constraints:
    - C1: the operand is an integer or a float.
    - C2: the monoid is defined for it.
  }];
  let arguments = (ins Deplo_Monoid:$kind, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Loop_YieldOp : Loop_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"ReduceOp">]> {
  let summary = "the values of one iteration of a reduction";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values `:` type($values) attr-dict";
  let builders = [OpBuilder<(ins), "return;">];
}

def Loop_SizeOp : Loop_Op<"size", [Pure]> {
  let summary = "a size that is known when the program runs, as a number";
  let description = [{
    What `number` of the IR stands for: a multiple of a generic number of
    `graph.sizes` is that multiple of the size, any other number is itself. A
    constant would be the generic number.

    ```mlir
    %n = loop.size 1048583 : i64
    ```

    In a `tile.kernel` it bounds loops over chunks.

    Constraints:
    - C1: the number is positive.
    - C2: the result is an index or an i64.
  }];
  let arguments = (ins I64Attr:$number);
  let results = (outs AnyTypeOf<[Index, I64]>:$result);
  let assemblyFormat = "$number attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class Loop_AccessOp<string mnemonic, list<Trait> traits = []> : Loop_Op<mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  code accessClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
  }];
  let extraClassDeclaration = accessClassDeclaration;
}

def Loop_LoadOp : Loop_AccessOp<"load", [Pure, AttrSizedOperandSegments]> {
  let summary = "one element at affine coordinates";
  let description = [{
    ```mlir
    %a = loop.load %x[0, %i, %k * 2 + 1] : memref<1x32x4096xf32>
    %b = loop.load %x[0, %n, %i - 3] if %c else %a : memref<1x32x4096xf32>
    ```

    With a condition, the element is loaded only where it is true; elsewhere the
    value is the one after `else`. Such a load may also follow indices: values of
    the kernel, such as elements of another memref, among its coordinates.

    What a kernel loads it does not store (C2 of `loop.kernel`), so a load reads
    the same value wherever in the kernel it stands. It has no effects: equal
    loads are one, and loads move out of loops.

    Constraints:
    - C1: one coordinate for each dimension of the memref.
    - C2: the result is the memref's element.
    - C3: coordinates are affine in induction variables of enclosing loops, and
      constants; with a condition also in other index values.
    - C4: coordinates are within the memref. Checked for coordinates without
      division, in iterations that are not under a condition.
    - C5: the memref is an argument of the enclosing `loop.kernel`.
    - C7: a condition comes with a value of the element's type.
  }];
  let arguments = (ins AnyMemRef:$memref, Variadic<Index>:$indices, Optional<I1>:$condition,
                       Optional<AnyType>:$otherwise, AffineMapAttr:$map);
  let results = (outs AnyType:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$memref, "::mlir::AffineMap":$map, "::mlir::ValueRange":$indices,
                                 CArg<"::mlir::Value", "{}">:$condition, CArg<"::mlir::Value", "{}">:$otherwise)>];
}

def Loop_StoreOp : Loop_AccessOp<"store"> {
  let summary = "one element stored at affine coordinates";
  let description = [{
    ```mlir
    loop.store %v, %y[%i, %j] : memref<32x2048xf32>
    ```

    Constraints: C1 to C5 of `loop.load`, for the stored value, and
    - C6: every enclosing `loop.for` and `loop.scan` of more than one iteration
      is in the coordinates, or iterations would store to the same element. Checked for
      stores that are not under a condition.
  }];
  let arguments = (ins AnyType:$value, Arg<AnyMemRef, "", [MemWrite]>:$memref, Variadic<Index>:$indices,
                   AffineMapAttr:$map);
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$memref, "::mlir::AffineMap":$map,
                                 "::mlir::ValueRange":$indices)>];
}

def Loop_LaunchOp : Loop_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a kernel launch in the launch plan";
  let description = [{
    ```mlir
    loop.launch @double(%x, %y) : memref<8xf32>, memref<8xf32>
    ```

    The callee is a `loop.kernel` or, later, the `tile.kernel` or device function
    it became, or a `tile.concat` that it is part of.

    Constraints:
    - C1: the callee is a symbol of the module, or of a device module in it (a
      `gpu.module`, or a `module` for the host); once there is a `gpu.binary` the
      callee is taken to be in that.
    - C2: operands match the arguments of a `loop.kernel`, `tile.kernel` or
      `tile.concat` callee in number and type.
    - C3: a buffer that a `loop.kernel` stores to is passed once.
    - C4: a launch marked `loop.prepared` passes arguments of the plan marked
      `loop.weight` and temporaries, no other arguments.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$buffers);
  let assemblyFormat = "$kernel `(` $buffers `)` attr-dict `:` type($buffers)";
}

#endif // DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD
