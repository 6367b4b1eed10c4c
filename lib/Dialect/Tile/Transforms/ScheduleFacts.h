// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the facts of a kernel that the schedule model asks for: its dimensions
// and accesses (ScheduleFacts.cpp), and what its loops compute
// (ScheduleOperations.cpp).

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEFACTS_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEFACTS_H

#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace deplo::tile {

/// Reads the facts of a kernel that the model asks for.
class FactFinder {
public:
  FactFinder(loop::KernelOp kernel, int64_t alignment,
             const SymbolicSizes &sizes)
      : kernel(kernel), alignment(alignment), sizes(sizes) {}

  ScheduleFacts run();

private:
  void findInnerDims(mlir::Block &block,
                     llvm::SmallVectorImpl<mlir::Operation *> &around);
  template <typename AccessOp> void addAccess(AccessOp access, bool isStore);
  int64_t getPartLength(loop::ReduceOp reduce) const;
  llvm::SmallBitVector findDims(mlir::Value index);
  void mergeWindows();
  void countLiveTiles();
  int64_t countLiveValues();
  int64_t countReductions(mlir::Block &block);
  int64_t countJoinedPasses();
  int64_t countIndirections();
  llvm::DenseSet<mlir::Operation *> findIndexing();
  void countInstructions();
  void countScans();

  loop::KernelOp kernel;
  int64_t alignment;
  const SymbolicSizes &sizes;
  ScheduleFacts facts;
  /// The dimension of each induction variable of more than one iteration.
  llvm::DenseMap<mlir::Value, unsigned> dimOf;
  /// What findDims has found.
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> dimsBehind;
  /// Reductions that fold one of several parts, by their dimension.
  llvm::MapVector<unsigned, loop::ReduceOp> divided;
  /// Inner loops by dimension.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> innerLoops;
  /// Accesses by what they touch, and the innermost loops that they are in.
  struct Key {
    mlir::Value memref;
    llvm::SmallVector<int64_t> numbers;
    llvm::SetVector<mlir::Operation *> loops;
  };
  llvm::SmallVector<Key> keys;
  llvm::DenseMap<mlir::Value, int64_t> reductionsBefore;
};

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEFACTS_H
