// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that are known when a program runs.
//
// In the IR such a size is a number like any other, its generic number: a prime
// above its range that divides no size of the program. What analyses conclude
// for it (which sizes are equal, which divide each other, that an index below
// it is in range, that a tile has a remainder) then holds for every size of the
// range. What is known when the program runs is put in its place when kernels
// and launch plans become programs: every multiple of a generic number stands
// for that multiple of the size. `graph.sizes` of the module says which numbers
// those are.

#ifndef DEPLO_DIALECT_SYMBOLICSIZES_H
#define DEPLO_DIALECT_SYMBOLICSIZES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace deplo {

struct SymbolicSize {
  std::string name;
  /// The number that stands for it in the IR.
  int64_t generic;
  /// The range that the program is compiled for.
  int64_t min, max;
};

/// coefficient * product of sizes, by their number.
struct SizeProduct {
  int64_t coefficient;
  llvm::SmallVector<unsigned, 2> factors;
};

class SymbolicSizes {
public:
  static constexpr llvm::StringLiteral attributeName = "graph.sizes";

  /// Checks the attribute of a module, if it has one.
  static llvm::LogicalResult verify(mlir::Operation *module);

  /// The sizes of the module around `op`; none if all are fixed, or if the
  /// attribute is not sound.
  static SymbolicSizes get(mlir::Operation *op);

  bool empty() const { return sizes.empty(); }
  llvm::ArrayRef<SymbolicSize> getSizes() const { return sizes; }

  /// Whether `number` is a multiple of a size.
  bool isSymbolic(int64_t number) const;
  SizeProduct getProduct(int64_t number) const;
  /// The largest value that `number` may have; INT64_MAX if that is more.
  int64_t getMax(int64_t number) const;
  /// The smallest one.
  int64_t getMin(int64_t number) const;
  /// "4096 * rows", for messages.
  std::string describe(int64_t number) const;
  /// "16 * rows + 1200": a sum of numbers, like products added.
  std::string describeSum(llvm::ArrayRef<int64_t> terms) const;

private:
  llvm::SmallVector<SymbolicSize, 2> sizes;
};

} // namespace deplo

#endif // DEPLO_DIALECT_SYMBOLICSIZES_H
