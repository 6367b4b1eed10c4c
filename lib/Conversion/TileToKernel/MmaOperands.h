// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a thread's elements one instruction of tensor cores takes.

#ifndef DEPLO_LIB_CONVERSION_TILETOKERNEL_MMAOPERANDS_H
#define DEPLO_LIB_CONVERSION_TILETOKERNEL_MMAOPERANDS_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace deplo {

/// The fragments of a tile: where each starts among a thread's elements, by the
/// coordinates of its first element in lane 0.
class Fragments {
public:
  Fragments(const LinearLayout &layout, int32_t elements);

  /// `coordinates` are those of the accumulator and the one summed over.
  int32_t getFirst(llvm::ArrayRef<int32_t> coordinates,
                   llvm::ArrayRef<int64_t> dims) const;

private:
  std::map<std::vector<int32_t>, int32_t> firstAt;
};

/// An operand of tile.dot and what of it one instruction takes.
struct MmaOperand {
  mlir::Value tile;
  llvm::ArrayRef<int64_t> dims;
  Fragments fragments;
  int64_t words;
};

/// Both, A with the rows of the accumulator.
class MmaOperands {
public:
  static constexpr int64_t accumulatorElements = 4, wordsOfA = 4, wordsOfB = 2;

  MmaOperands(tile::DotOp op, const tile::DotLayouts &layouts);

  const MmaOperand &get(bool isA) const { return isA ? a : b; }

  /// Elements of a 32-bit register.
  const int64_t elementsPerWord;

private:
  MmaOperand getOperand(mlir::Value tile, llvm::ArrayRef<int64_t> dims,
                        const LinearLayout &layout, int64_t words) const;

  const bool isSwapped;
  MmaOperand a, b;
};

/// The sums of one instruction, m16n8 and so deep.
llvm::SmallVector<mlir::Value>
createMma(mlir::ImplicitLocOpBuilder &builder, mlir::NVVM::MMATypes type,
          int64_t depth, llvm::ArrayRef<mlir::Value> a,
          llvm::ArrayRef<mlir::Value> b, llvm::ArrayRef<mlir::Value> added);

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_TILETOKERNEL_MMAOPERANDS_H
