// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD
#define DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD

include "deplo/Dialect/Loop/IR/LoopBase.td"
include "deplo/Dialect/Monoid.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Loop_Op<string mnemonic, list<Trait> traits = []>
    : Op<Loop_Dialect, mnemonic, traits>;

def Loop_KernelOp : Loop_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
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
    - C1: arguments are memrefs.
    - C2: an argument that is stored to is not loaded from, so that iterations
      are independent.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<AnyAttr>:$schedule);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$argumentTypes)>];
  let skipDefaultBuilders = 1;
}

def Loop_ForOp : Loop_Op<"for", [SingleBlock, NoTerminator, RecursiveMemoryEffects,
    ParentOneOf<["KernelOp", "ForOp"]>]> {
  let summary = "a parallel loop: iterations are independent";
  let description = [{
    Runs its body for `%i` from 0 to `extent - 1` in any order, or at once.

    Constraints:
    - C1: the extent is not negative.
    - C2: the body has one index argument.
  }];
  let arguments = (ins I64Attr:$extent);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "int64_t":$extent)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getInductionVar() { return getBody()->getArgument(0); }
  }];
}

def Loop_ReduceOp : Loop_Op<"reduce", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a reduction loop with named monoids";
  let description = [{
    Folds the values that the body yields for `%k` from 0 to `extent - 1`, each
    with its monoid. The order is unspecified but fixed: two runs give the same
    bits.

    ```mlir
    %s, %m = loop.reduce [add, max] %k = 0 to 2048 : f32, f32 {
      %a = loop.load %x[%i, %k] : memref<32x2048xf32>
      %b = arith.mulf %a, %a : f32
      loop.yield %b, %a : f32, f32
    }
    ```

    Constraints:
    - C1: the extent is not negative.
    - C2: one monoid, one result and one yielded value of the same type for each
      reduction, at least one.
    - C3: the body does not store.
  }];
  let arguments = (ins TypedArrayAttrBase<Deplo_Monoid, "monoids">:$kinds, I64Attr:$extent);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::deplo::Monoid>":$kinds, "int64_t":$extent,
                                 "::mlir::TypeRange":$types)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getInductionVar() { return getBody()->getArgument(0); }
    ::llvm::SmallVector<::deplo::Monoid> getMonoids();
  }];
}

def Loop_YieldOp : Loop_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"ReduceOp">]> {
  let summary = "the values of one iteration of a reduction";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values `:` type($values) attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

class Loop_AccessOp<string mnemonic, list<Trait> traits = []> : Loop_Op<mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
  }];
}

def Loop_LoadOp : Loop_AccessOp<"load"> {
  let summary = "one element at affine coordinates";
  let description = [{
    ```mlir
    %a = loop.load %x[0, %i, %k * 2 + 1] : memref<1x32x4096xf32>
    ```

    Constraints:
    - C1: one coordinate for each dimension of the memref.
    - C2: the result is the memref's element.
    - C3: coordinates are affine in loop variables of enclosing loops.
    - C4: constant coordinates are within the memref.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memref, Variadic<Index>:$indices, AffineMapAttr:$map);
  let results = (outs AnyType:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$memref, "::mlir::AffineMap":$map, "::mlir::ValueRange":$indices)>];
}

def Loop_StoreOp : Loop_AccessOp<"store"> {
  let summary = "one element stored at affine coordinates";
  let description = [{
    ```mlir
    loop.store %v, %y[%i, %j] : memref<32x2048xf32>
    ```

    Constraints: C1 to C4 of `loop.load`, for the stored value.
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
    it became.

    Constraints:
    - C1: the callee is a symbol of the module, or of the device module in it.
    - C2: operands match the arguments of a `loop.kernel` or `tile.kernel` callee
      in number.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$buffers);
  let assemblyFormat = "$kernel `(` $buffers `)` attr-dict `:` type($buffers)";
}

#endif // DEPLO_DIALECT_LOOP_IR_LOOPOPS_TD
