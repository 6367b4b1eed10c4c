// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of one graph.fused and the shapes in which it sees its buffers.

#ifndef DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELLOOPS_H
#define DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELLOOPS_H

#include "deplo/Dialect/Graph/Transforms/IterationSpace.h"
#include "deplo/Dialect/SymbolicSizes.h"

namespace deplo::graph {

/// An access to the buffer of an operand or of a result of the graph.fused.
struct BufferAccess {
  mlir::Value buffer;
  Coordinates coordinates;
  BufferView view;
  /// Whether the bytes stand for bools.
  bool isBool = false;
  /// Read by a graph.gather, at coordinates that are its own affair.
  bool isGathered = false;
  /// Whether the coordinates of the view count through leaves, which are parts
  /// of loops, in place of loops.
  bool isDivided = false;
};

/// A leaf as a part of its loop: variable floordiv `divisor` mod `extent`.
struct LoopPart {
  unsigned loop;
  int64_t divisor, extent;
  bool isOutermost; // then the remainder is the quotient
};

class KernelLoops {
public:
  using Loops = llvm::SmallVector<unsigned>;

  struct Item {
    Primitive primitive;
    /// For each read: the item it reads from, if it is computed here, ...
    llvm::SmallVector<std::optional<unsigned>> sources;
    /// ... or the access to a buffer. Constants have neither.
    llvm::SmallVector<std::optional<unsigned>> accesses;
    /// Loops of the operands, outermost first, and which of them are reduced,
    /// or scanned.
    Loops loops, reduced, scanned;
    /// Whether the result is the same in all loops but the parallel ones.
    bool isPerIteration = false;
    /// For each axis whose coordinate a map uses as a number, that coordinate
    /// in leaves, and in loops.
    llvm::SmallVector<LinearCoordinate> leafCoordinates, coordinates;
    /// Whether `coordinates` count through leaves, which are parts of loops, in
    /// place of loops: those of an operand that is gathered for a contraction.
    bool isDivided = false;
    /// Whether a contraction multiplies what is computed of this.
    bool isOfOperand = false;
  };

  struct Output {
    unsigned item;
    unsigned access;
    /// The loops inside of the parallel ones that reach each element.
    Loops swept;
  };

  /// Finds the loops of `fused`, the buffers of whose operands and results are
  /// memrefs. Fails, with an error, where primitives can't share loops.
  static llvm::FailureOr<KernelLoops> get(FusedOp fused,
                                          mlir::ValueRange inputBuffers,
                                          mlir::ValueRange outputBuffers);

  int64_t getExtent(unsigned loop) const { return extents[loop]; }
  LoopPart getPart(unsigned leaf) const;
  /// The loop that moves `coordinate` of the view of `access`.
  unsigned getLoop(const BufferAccess &access,
                   const BoxCoordinate &coordinate) const {
    return access.isDivided ? getPart(coordinate.loop).loop : coordinate.loop;
  }

  std::vector<Item> items;
  std::vector<Output> outputs;
  std::vector<BufferAccess> accesses;
  /// Outermost first.
  Loops parallel;

private:
  llvm::LogicalResult addItems(FusedOp fused, bool sharesConversions);
  llvm::LogicalResult shareLoops(FusedOp fused);
  void joinParts();
  llvm::LogicalResult checkScans(FusedOp fused, const Item &item);
  llvm::LogicalResult findParallel(FusedOp fused);
  llvm::LogicalResult findAccesses(FusedOp fused, mlir::ValueRange inputBuffers,
                                   mlir::ValueRange outputBuffers);
  void findCoordinates();
  void findOperands();
  bool updateCoordinates(llvm::ArrayRef<llvm::SmallVector<unsigned>> nest);
  void mergeAll(bool divides,
                llvm::function_ref<bool(unsigned, unsigned)> suits);
  void mergeLoops();
  void divideLoops(const SymbolicSizes &sizes);
  bool tryMerge(unsigned outer, unsigned inner, bool divides);
  bool canMerge(unsigned outer, unsigned inner, bool divides) const;
  bool sharesRow(unsigned outer, unsigned inner,
                 const SymbolicSizes &sizes) const;
  unsigned countUsedLeaves(const BufferAccess &access,
                           llvm::ArrayRef<unsigned> leaves) const;
  /// Recomputes every view and coordinate with `nest`; false if a view is no
  /// box or a coordinate not linear. If `divides`, reads along a part of a loop
  /// need not be boxes.
  bool updateViews(llvm::ArrayRef<llvm::SmallVector<unsigned>> nest,
                   bool divides = false);
  void assignLoops();

  unsigned getNumber(AxisClasses::Axis leaf);
  llvm::SmallVector<unsigned>
  getNumbers(llvm::ArrayRef<AxisClasses::Axis> axes);

  IterationSpace space;
  /// Leaves, numbered from 0, and their extents.
  llvm::DenseMap<AxisClasses::Axis, unsigned> numbers;
  llvm::SmallVector<int64_t> leafExtents;
  llvm::SmallVector<unsigned> parallelLeaves;
  /// The leaves of each loop, outermost first.
  llvm::SmallVector<llvm::SmallVector<unsigned>> nest;
  llvm::SmallVector<int64_t> extents;
};

} // namespace deplo::graph

#endif // DEPLO_LIB_CONVERSION_GRAPHTOLOOP_KERNELLOOPS_H
