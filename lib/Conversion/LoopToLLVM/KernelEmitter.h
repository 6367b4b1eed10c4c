// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one loop.kernel as an llvm.func whose body is scf, arith, math and
// vector on loads and stores through bare pointers.

#ifndef DEPLO_LIB_CONVERSION_LOOPTOLLVM_KERNELEMITTER_H
#define DEPLO_LIB_CONVERSION_LOOPTOLLVM_KERNELEMITTER_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace deplo::host {

class KernelEmitter {
public:
  /// Functions go where `builder` stands.
  explicit KernelEmitter(mlir::OpBuilder &builder) : builder(builder) {}

  /// `void name(void *const *args)`, and a private function with the pointers
  /// as arguments that it calls: there, LLVM can be told that they don't alias.
  mlir::LogicalResult emit(loop::KernelOp kernel);

private:
  /// Iterations computed at once where the emitter itself makes vectors. The
  /// order of a sum depends on it, so it is the same for every processor.
  static constexpr int64_t laneCount = 16;
  /// Terms that a floating-point sum adds one after the other at each level.
  static constexpr int64_t blockSize = 16;

  /// What one accumulation step adds to what it is given.
  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value iteration, mlir::ValueRange accumulators)>;

  struct Accumulation {
    llvm::SmallVector<Monoid> kinds;
    llvm::SmallVector<mlir::Value> identities;
    Step step;
  };

  void emitEntry(loop::KernelOp kernel, mlir::Operation *body);
  void emitOps(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  void emitElementwise(mlir::Operation &op);
  void emitWithRegions(mlir::Operation &op);
  void emitLoad(loop::LoadOp load);
  void emitConditionalLoad(loop::LoadOp load, mlir::Value address);
  void emitStore(loop::StoreOp store);
  void emitSize(loop::SizeOp size);
  void emitFor(loop::ForOp loop);
  void emitForRange(loop::ForOp loop, mlir::Value from, mlir::Value to,
                    int64_t step);

  // EmitScan.cpp
  void emitScan(loop::ScanOp scan);
  void emitRunning(loop::RunningOp running);

  // EmitReduce.cpp
  void emitReduce(loop::ReduceOp reduce);
  llvm::SmallVector<mlir::Value> emitReduceOverLanes(loop::ReduceOp reduce);
  llvm::SmallVector<mlir::Value> emitSerialReduce(loop::ReduceOp reduce,
                                                  mlir::Value from,
                                                  mlir::Value to,
                                                  int64_t count);
  std::pair<mlir::Value, mlir::Value> getShare(loop::ReduceOp reduce,
                                               mlir::Value end);
  llvm::SmallVector<mlir::Value> emitTerms(loop::ReduceOp reduce,
                                           mlir::Value iteration);
  llvm::SmallVector<mlir::Value> getIdentities(loop::ReduceOp reduce);
  llvm::SmallVector<mlir::Value> accumulate(const Accumulation &accumulation,
                                            mlir::Value from, mlir::Value to,
                                            int64_t blockedBy);
  llvm::SmallVector<mlir::Value> combineAll(llvm::ArrayRef<Monoid> kinds,
                                            mlir::ValueRange lhs,
                                            mlir::ValueRange rhs);
  mlir::Value combineLanes(Monoid kind, mlir::Value vector);

  /// The address of an access, `lane` iterations of the lane loop further on.
  mlir::Value emitAddress(mlir::Operation *access, mlir::AffineExpr offset,
                          mlir::ValueRange indices, int64_t lane);
  mlir::Value loadFrom(mlir::Value address, mlir::Type type);
  void storeTo(mlir::Value address, mlir::Value value);

  bool isVarying(mlir::Value value);
  /// `value` as emitted, one for each lane.
  mlir::Value getWide(mlir::Value value);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::VectorType getWideType(mlir::Type type);
  mlir::Value getIndex(int64_t value);
  /// The same for an extent or stride, which the launch may give.
  mlir::Value getNumber(int64_t value);

  mlir::OpBuilder &builder;
  mlir::Location loc = builder.getUnknownLoc();
  SymbolicSizes sizes;
  /// Of the sizes, in order.
  llvm::SmallVector<mlir::Value> sizeValues;
  /// Emitted values; memrefs map to pointers, induction variables to indices.
  mlir::IRMapping values;
  /// The induction variable of the loop that lanes are iterations of; null
  /// while everything is scalar. It maps to the index of the first lane.
  mlir::Value laneVariable;
  /// What the running values of the current scan have folded so far.
  llvm::MapVector<mlir::Operation *, mlir::Value> running;
};

/// Offset in elements from the start of the memref, in the dimensions of the
/// access's map. Sizes that the launch gives are symbols.
mlir::AffineExpr getLinearOffset(mlir::MemRefType type, mlir::AffineMap map,
                                 const SymbolicSizes &sizes);

/// By how much `offset` grows with each step of `variable`: 0 if it does not
/// depend on it, nullopt if not by a constant.
std::optional<int64_t> getStep(mlir::AffineExpr offset,
                               mlir::ValueRange indices, mlir::Value variable);

/// The same for a load or store.
std::optional<int64_t> getStep(mlir::Operation *access, mlir::Value variable,
                               const SymbolicSizes &sizes);

/// Whether all of `block` can be computed for several iterations at once.
bool canWiden(mlir::Block &block, bool allowReductions);

} // namespace deplo::host

#endif // DEPLO_LIB_CONVERSION_LOOPTOLLVM_KERNELEMITTER_H
