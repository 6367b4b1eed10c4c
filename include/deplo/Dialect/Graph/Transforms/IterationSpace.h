// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of primitives that become one kernel: which axes run together, and
// how each read reaches its buffer. Fusion asks whether primitives can share
// loops, the conversion to loops builds them; both answer from here.

#ifndef DEPLO_DIALECT_GRAPH_TRANSFORMS_ITERATIONSPACE_H
#define DEPLO_DIALECT_GRAPH_TRANSFORMS_ITERATIONSPACE_H

#include "deplo/Analysis/AxisClasses.h"
#include "deplo/Analysis/BufferViews.h"
#include "deplo/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/IntEqClasses.h"

namespace deplo::graph {

/// A read of `source[map(i)]`, i being the coordinates of the reader.
struct Read {
  mlir::Value source;
  mlir::AffineMap map;
  /// A source of a graph.gather: the map may be any, the source is a buffer.
  bool isGathered = false;
};

/// What `value` reads, through all the index maps that lead to it; none if
/// their composition would divide sums of coordinates.
std::optional<Read> traceRead(mlir::Value value);

/// A map, a reduction, a contraction, a scan or a gather, or a copy of a view
/// (no operation), in its loops.
struct Primitive {
  using Axis = AxisClasses::Axis;

  mlir::Operation *op = nullptr;
  /// The axes of the result, and reduced ones.
  llvm::SmallVector<Axis> axes;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Read> reads;

  /// Whether there are axes that the result does not have.
  bool isReduction() const {
    return llvm::isa_and_nonnull<ReduceOp, ContractOp>(op);
  }
  bool isScan() const { return llvm::isa_and_nonnull<ScanOp>(op); }
  /// Whether it folds elements along axes: in a kernel those run inside of the
  /// others.
  bool isFold() const { return isReduction() || isScan(); }
  llvm::SmallVector<Axis> getResultAxes() const;
  /// Of a fold, the axes that it does not go along.
  llvm::SmallVector<Axis> getKeptAxes() const;
  /// Of a scan.
  Axis getScanAxis() const { return axes[llvm::cast<ScanOp>(op).getAxis()]; }
};

/// Coordinates of a read in leaves of AxisClasses.
struct Coordinates {
  llvm::SmallVector<LinearCoordinate> values;
  /// One coordinate, the position in the whole buffer, in place of one for each
  /// dimension.
  bool isFlat = false;
};

class IterationSpace {
public:
  using Axis = AxisClasses::Axis;

  /// The primitive `op`, a computation, whose operands
  /// traceRead can follow.
  Primitive getPrimitive(mlir::Operation *op, AxisClasses::Owner owner);
  /// A copy of `read` with `shape`.
  Primitive getCopy(Read read, llvm::ArrayRef<int64_t> shape,
                    AxisClasses::Owner owner);

  /// Makes `reader` run in the loops of what it reads. Fails if that needs
  /// another order of elements within a loop, or a part of it only.
  bool unify(const Primitive &reader, mlir::AffineMap map,
             const Primitive &source);

  /// The coordinates of a read of a buffer of `shape` and `strides`; none if
  /// they are not linear in any loops. May split axes.
  std::optional<Coordinates> getCoordinates(const Primitive &reader,
                                            mlir::AffineMap map,
                                            llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<int64_t> strides);

  /// Coordinates of the elements of `primitive`'s result.
  llvm::SmallVector<LinearCoordinate>
  getResultCoordinates(const Primitive &primitive);

  /// Makes parts of a kernel, none of which reads from another, run in the same
  /// loops where they read one buffer alike or have results of one shape.
  /// `outputs` are the positions in `items` of what leaves the kernel; `parts`
  /// joins items that read from each other, and then those that share loops.
  void joinParts(llvm::ArrayRef<const Primitive *> items,
                 llvm::ArrayRef<unsigned> outputs, llvm::IntEqClasses &parts);

  /// Whether the loops of `primitive` are all different.
  bool hasDistinctLoops(const Primitive &primitive) const;

  AxisClasses classes;

private:
  std::optional<LinearCoordinate> getCoordinate(const Primitive &reader,
                                                mlir::AffineExpr expr);
  bool tryJoin(llvm::ArrayRef<Axis> axes, llvm::ArrayRef<Axis> others,
               llvm::ArrayRef<const Primitive *> items);
  bool joinResults(const Primitive &a, const Primitive &b,
                   llvm::ArrayRef<const Primitive *> items);
};

/// The view in which a read at `coordinates` is a box.
std::optional<BufferView> getBoxView(llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<int64_t> strides,
                                     const Coordinates &coordinates,
                                     const LoopNest &nest);

/// As above, with a loop for each leaf of `classes` that is read.
bool isBoxInLeaves(llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> strides,
                   const Coordinates &coordinates, const AxisClasses &classes);

/// Whether `op` only widens its operand: computing it again from the narrower
/// type costs next to nothing.
bool isWidening(mlir::Operation *op);

} // namespace deplo::graph

#endif // DEPLO_DIALECT_GRAPH_TRANSFORMS_ITERATIONSPACE_H
