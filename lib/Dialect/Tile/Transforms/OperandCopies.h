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

/// Copies of buffers, made in the order of a block's launches: one serves all
/// launches until one of them writes to its buffer.
class OperandCopies {
public:
  OperandCopies(mlir::SymbolTable &symbols, const OperandForm &form)
      : symbols(symbols), form(form) {}

  /// The copy of `buffer`, which is made before `launch`.
  mlir::Value get(mlir::Value buffer, loop::LaunchOp launch);
  /// `launch` may write to buffers.
  void forgetWritten(loop::LaunchOp launch);
  void forgetAll() { known.clear(); }

private:
  void write(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
             mlir::Value to);
  loop::KernelOp getKernel(mlir::Location loc, mlir::MemRefType from,
                           mlir::MemRefType to);

  mlir::SymbolTable &symbols;
  const OperandForm &form;
  llvm::SmallMapVector<mlir::Value, mlir::Value, 4> known;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, loop::KernelOp> kernels;
};

/// Gives each launch in functions of `module` the operands that `getOperands`
/// returns for it; those of none keep theirs.
void replaceOperands(
    mlir::ModuleOp module, const OperandForm &form,
    llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(
        loop::LaunchOp, OperandCopies &)>
        getOperands);

/// Gives each launch of a kernel that `copied` names copies of its operands of
/// those numbers.
void replaceOperands(
    mlir::ModuleOp module, const OperandForm &form,
    const llvm::StringMap<llvm::SmallVector<unsigned>> &copied);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_OPERANDCOPIES_H
