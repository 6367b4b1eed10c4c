// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of contractions that go through memory in another form: as pieces
// (split_pieces), in rows that tensor maps can copy (pack_operands), or with a
// row for each summed element (transpose_operands).

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_OPERANDCOPIES_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_OPERANDCOPIES_H

#include "deplo/Dialect/Loop/IR/Loop.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace deplo::tile {

/// The form that operands are copied to.
struct OperandForm {
  /// What kernels that write it are called.
  llvm::StringRef kernelName;
  /// What is read in the place of a buffer: its dimensions are the last ones,
  /// and rows may be longer than they say.
  llvm::function_ref<mlir::MemRefType(mlir::MemRefType)> getType;
  /// Stores what one element becomes with `store`, which takes the numbers of
  /// the dimensions that come first.
  using Store =
      llvm::function_ref<void(mlir::Value, llvm::ArrayRef<int64_t> first)>;
  llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::Value, Store)>
      write;
};

/// That of the pieces of a memref of f32: planes of it, with rows of a multiple
/// of 16 bytes.
mlir::MemRefType getPlanesType(mlir::MemRefType type, mlir::Type piece);

/// What is made of buffers, in the order of a block's launches: it serves all
/// launches until one of them writes to its buffer.
class BufferCopies {
public:
  explicit BufferCopies(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// `launch` may write to buffers.
  void forgetWritten(loop::LaunchOp launch);
  void forgetAll() { known.clear(); }

protected:
  mlir::SymbolTable &symbols;
  /// By the buffer, and a dimension of it.
  llvm::SmallMapVector<std::pair<mlir::Value, unsigned>,
                       llvm::SmallVector<mlir::Value, 2>, 4>
      known;
};

/// Copies of buffers in one form.
class OperandCopies : public BufferCopies {
public:
  OperandCopies(mlir::SymbolTable &symbols, const OperandForm &form)
      : BufferCopies(symbols), form(form) {}

  /// The copy of `buffer`, which is made before `launch`.
  mlir::Value get(mlir::Value buffer, loop::LaunchOp launch);

private:
  void write(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
             mlir::Value to);
  loop::KernelOp getKernel(mlir::Location loc, mlir::MemRefType from,
                           mlir::MemRefType to);

  const OperandForm &form;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, loop::KernelOp> kernels;
};

/// Gives each launch in functions of `module` the operands that `getOperands`
/// returns for it, of `copies`; those of none keep theirs.
void replaceOperands(
    mlir::ModuleOp module, BufferCopies &copies,
    llvm::function_ref<
        std::optional<llvm::SmallVector<mlir::Value>>(loop::LaunchOp)>
        getOperands);

/// Gives each launch of a kernel that `copied` names copies of its operands of
/// those numbers.
void replaceOperands(
    mlir::ModuleOp module, const OperandForm &form,
    const llvm::StringMap<llvm::SmallVector<unsigned>> &copied);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_OPERANDCOPIES_H
