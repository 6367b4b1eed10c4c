// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_DIALECT_TILE_IR_TILETYPES_TD
#define DEPLO_DIALECT_TILE_IR_TILETYPES_TD

include "deplo/Dialect/Tile/IR/TileAttrs.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Tile_BufferType : Tile_Type<"Buffer", "buffer"> {
  let summary = "a buffer in shared memory";
  let description = [{
    ```mlir
    !tile.buffer<1x2048xf32, #tile.shared<pad = 4>>
    ```

    Constraints:
    - C1: sizes are positive.
    - C2: elements are integers or floats of whole bytes.
    - C3: rows of a swizzled buffer are a power of two of bytes, at least its
      swizzle.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::deplo::tile::SharedAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// As the model of shared memory takes it.
    ::deplo::SharedBuffer getModel() const;
    /// Bytes of shared memory, padding included.
    int64_t getSizeInBytes() const;
  }];
}

def Tile_MBarriersType : Tile_Type<"MBarriers", "mbarriers"> {
  let summary = "barriers in shared memory (PTX ISA, mbarrier)";
  let description = [{
    Each counts arrivals, and the bytes that copies bring. When all have come, its
    phase is complete and the next one begins.

    ```mlir
    !tile.mbarriers<4>
    ```

    Constraints:
    - C1: there is at least one.
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Tile_TokenType : Tile_Type<"Token", "token"> {
  let summary = "an asynchronous copy or contraction in flight";
  let description = "Awaited exactly once by `tile.await`.";
}

#endif // DEPLO_DIALECT_TILE_IR_TILETYPES_TD
