// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a kernel is a contraction: a query, whatever operator it came from.

#ifndef DEPLO_DIALECT_LOOP_ANALYSIS_CONTRACTION_H
#define DEPLO_DIALECT_LOOP_ANALYSIS_CONTRACTION_H

#include "deplo/Dialect/Loop/IR/Loop.h"

#include <optional>

namespace deplo::loop {

/// A kernel whose parallel loops enclose sums of products of two operands, each
/// of which leaves out a loop that the other has, and the same in all sums. The
/// innermost of the loops may be a reduction of the sums' rows instead.
struct Contraction {
  /// A load, or what is computed element by element from loads.
  struct Operand {
    /// Before it is widened for the product: what a block stages.
    mlir::Value value;
    /// The load that all loops of the operand move.
    LoadOp load;
    /// All loads, and operations of one element.
    llvm::SmallVector<LoadOp> loads;
    llvm::SmallVector<mlir::Operation *> map;
    /// Whether `load` reads at quotients and remainders of loops' variables, or
    /// under a condition, as windows of a convolution are read. What neighbours
    /// in memory are is a matter of the rows, not of the sum.
    bool isGathered = false;

    bool isMapped() const { return isGathered || !map.empty(); }
  };

  struct Product {
    Operand lhs, rhs;
    unsigned rowAxis = 0, columnAxis = 0;
  };

  /// With one result for each product.
  ReduceOp reduce;
  llvm::SmallVector<Product, 1> products;
  /// Of the first product. `rhs` is the operand that the innermost of the loops
  /// moves which only one operand has.
  Operand lhs, rhs;
  /// The parallel loops, outermost first.
  llvm::SmallVector<ForOp> axes;
  /// The reduction around the sums, if there is one: a row of the result is
  /// folded and its columns are no axis.
  ReduceOp fold;
  /// Positions in `axes`, and behind them that of `fold`: of the innermost loop
  /// that only `lhs` has, and of the innermost one that only `rhs` has.
  unsigned rowAxis, columnAxis;

  bool foldsRows() { return fold != nullptr; }
  /// The variable and the extent of a loop by its position.
  mlir::Value getVariable(unsigned position);
  int64_t getExtent(unsigned position);
  int64_t getRows() { return getExtent(rowAxis); }
  int64_t getColumns() { return getExtent(columnAxis); }
  int64_t getDepth() { return reduce.getExtent(); }
  /// Iterations of all other axes.
  int64_t getBatches();
  int64_t getElementBytes();
  /// The operands, each once, whose rows (or columns) are the result's.
  llvm::SmallVector<Operand> getOperands(bool ofRows);
  /// How the operands lie in memory, as BLAS calls it: N where neighbours of
  /// `lhs` are summed over or neighbours of `rhs` are columns, T otherwise.
  std::string getTransposition();
};

std::optional<Contraction> findContraction(KernelOp kernel);

/// Whether neighbours along the loop of `variable` are neighbours in memory.
bool isContiguous(LoadOp load, mlir::Value variable);

} // namespace deplo::loop

#endif // DEPLO_DIALECT_LOOP_ANALYSIS_CONTRACTION_H
