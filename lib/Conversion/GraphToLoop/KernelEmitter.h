// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELEMITTER_H
#define DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELEMITTER_H

#include "KernelLoops.h"
#include "deplo/Dialect/AffineArithmetic.h"
#include "deplo/Dialect/Loop/IR/Loop.h"

#include "mlir/IR/IRMapping.h"

namespace deplo::graph {

/// Writes the loop.kernel of one graph.fused.
class KernelEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                const KernelLoops &loops)
      : loops(loops), builder(builder), loc(loc),
        sizes(SymbolicSizes::get(builder.getBlock()->getParentOp())) {}

  /// The kernel; `argumentOf` gives the argument of each access.
  loop::KernelOp emit(llvm::StringRef name,
                      llvm::ArrayRef<mlir::Type> argumentTypes,
                      llvm::ArrayRef<unsigned> argumentOf);

private:
  struct Load {
    mlir::Value argument;
    mlir::AffineMap map;
    llvm::SmallVector<mlir::Value> operands;
    mlir::Value value;
  };

  /// Where values are available: the body of the parallel loops, or a nest of
  /// loops inside of it.
  struct Scope {
    Scope(Scope *parent, mlir::OpBuilder builder)
        : parent(parent), builder(builder) {}

    Scope *parent;
    mlir::OpBuilder builder;
    llvm::DenseMap<unsigned, mlir::Value> inductionVars;
    llvm::DenseMap<unsigned, mlir::Value> values; // of items
    llvm::SmallVector<Load> loaded;
  };

  void emitParallelValues(Scope &scope);
  void emitOutputs(Scope &scope);
  std::pair<mlir::Value, mlir::Block *> emitSweep(unsigned loop, bool isScan,
                                                  Scope &scope);
  mlir::Value emitReduce(const KernelLoops::Item &item, Scope &scope);
  mlir::Value emitRunning(const KernelLoops::Item &item, Scope &scope);
  mlir::Value emitReduceLoops(const KernelLoops::Item &item, size_t depth,
                              Scope &scope);
  void storeProduct(const KernelLoops::Item &item, Scope &scope);
  /// Emits in `scope` what `item` reads and is not available there.
  void emitReads(llvm::ArrayRef<unsigned> wanted, Scope &scope);
  /// The items that emitReads emits, in program order.
  llvm::SmallVector<unsigned> getMissing(llvm::ArrayRef<unsigned> wanted,
                                         const Scope &scope) const;
  void emitItem(unsigned index, Scope &scope);
  mlir::Value emitRead(const KernelLoops::Item &item, unsigned read,
                       Scope &scope);
  mlir::Value emitMap(const KernelLoops::Item &item, mlir::ValueRange operands,
                      Scope &scope);
  mlir::Value emitCoordinate(const LinearCoordinate &coordinate, IndexOp op,
                             Scope &scope);
  mlir::Value emitGather(const KernelLoops::Item &item, Scope &scope);
  mlir::Value emitSource(const KernelLoops::Item &item, unsigned source,
                         mlir::AffineMap map, mlir::ValueRange operands,
                         mlir::Value condition, mlir::Value otherwise,
                         Scope &scope);
  mlir::Value emitLoad(unsigned access, mlir::Location readLoc, Scope &scope);
  void emitStore(const KernelLoops::Output &output, Scope &scope);
  mlir::Value getConstant(mlir::TypedAttr value);
  mlir::Value getNumber(mlir::Type type, int64_t number, mlir::OpBuilder &at);

  mlir::Value lookup(unsigned item, const Scope &scope) const;
  mlir::Value getInductionVar(unsigned loop, const Scope &scope) const;
  /// The coordinates of an access, as a map of induction variables.
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>>
  getCoordinates(unsigned access, const Scope &scope);

  const KernelLoops &loops;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  SymbolicSizes sizes;
  loop::KernelOp kernel;
  llvm::ArrayRef<unsigned> argumentOf;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  /// Whether a reduction has stored the results with its loops.
  bool storesWhatItFolds = false;
  KernelLoops::Loops foldedLoops;
};

} // namespace deplo::graph

#endif // DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELEMITTER_H
