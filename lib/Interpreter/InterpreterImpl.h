// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the interpreter share.

#ifndef DEPLO_LIB_INTERPRETER_INTERPRETERIMPL_H
#define DEPLO_LIB_INTERPRETER_INTERPRETERIMPL_H

#include "ScalarOps.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Interpreter/HostArray.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <memory>

namespace deplo::interpreter {

using namespace mlir;

/// A tile in row-major order, or a scalar.
using Numbers = std::vector<Number>;

/// Elements of global memory as a memref sees them.
struct View {
  Numbers *elements = nullptr;
  SmallVector<int64_t> strides;
  int64_t offset = 0;

  View() = default;
  View(Numbers &elements, MemRefType type) : elements(&elements) {
    LogicalResult isStrided = type.getStridesAndOffset(strides, offset);
    (void)isStrided;
  }
};

/// In place of the number of a thread.
constexpr int32_t nobody = -1, several = -2;
constexpr int32_t numLanes = 32;

/// Those that touch an element: nobody, one thread, or several.
inline int32_t join(int32_t a, int32_t b) {
  if (a == nobody || b == nobody)
    return a == nobody ? b : a;
  return a == b ? a : several;
}

/// A buffer in shared memory, and who may access its elements.
struct Shared {
  enum class State : uint8_t { Empty, InFlight, Written, Visible };
  explicit Shared(size_t size)
      : elements(size), states(size, State::Empty), writers(size, nobody),
        readers(size, nobody) {}

  Numbers elements;
  std::vector<State> states;
  /// The threads that wrote or read each element after the last barrier.
  std::vector<int32_t> writers, readers;
};

class Interpreter {
public:
  LogicalResult run(Operation *kernel, ArrayRef<View> arguments);
  LogicalResult run(func::FuncOp plan, ArrayRef<View> arguments);

private:
  LogicalResult run(Block &block);
  LogicalResult run(Operation *op);
  LogicalResult runBlocks(tile::KernelOp kernel, unsigned axis);
  LogicalResult runCluster(tile::KernelOp kernel, unsigned axis);
  LogicalResult runLoop(scf::ForOp loop);
  LogicalResult runReduce(loop::ReduceOp reduce);
  LogicalResult runScan(loop::ScanOp scan);
  void runRunning(loop::RunningOp running);
  LogicalResult runAccess(Operation *op, Value memref, ValueRange indices,
                          AffineMap map, Number &element, bool isStore);
  LogicalResult
  runBox(Operation *op,
         llvm::function_ref<LogicalResult(int64_t, Number *)> visit);
  LogicalResult runBuffer(
      Operation *op, Value buffer, ValueRange indices, RankedTensorType tile,
      llvm::function_ref<LogicalResult(Shared &, int64_t, int64_t)> visit);
  LogicalResult runRecompute(tile::RecomputeOp op);
  LogicalResult runTile(Operation *op);
  LogicalResult runShared(Operation *op);
  LogicalResult runPlan(Operation *op);
  LogicalResult runElementwise(Operation *op);
  LogicalResult write(Operation *op, Shared &shared, int64_t i, Number number,
                      Shared::State state, int32_t thread);
  LogicalResult read(Operation *op, Shared &shared, int64_t i, Number &number,
                     int32_t thread);
  ArrayRef<int32_t> getThreads(Operation *op, RankedTensorType tile);

  int64_t getIndex(Value index) {
    return numbers.find(index)->second.front().integer;
  }
  void setIndex(Value index, int64_t value) {
    Number number;
    number.integer = value;
    numbers[index] = {number};
  }

  DenseMap<Value, Numbers> numbers;
  /// The threads that hold each element of what is read or written.
  DenseMap<Operation *, std::vector<int32_t>> threads;
  DenseMap<Value, View> views;
  /// What the running values of a scan have folded so far.
  DenseMap<Operation *, Number> running;
  /// What a buffer or token stands for.
  DenseMap<Value, std::shared_ptr<Shared>> buffers;
  /// Slots of rings.
  DenseMap<std::pair<Value, int64_t>, std::shared_ptr<Shared>> slots;
  /// Allocations of the launch plan.
  std::vector<std::unique_ptr<HostArray>> allocations;
};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

inline ArrayRef<int64_t> getShape(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

inline int64_t getSize(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

/// The coordinates of element `i` in row-major order.
inline SmallVector<int64_t> getCoordinates(int64_t i, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> coordinates(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; i /= shape[dim])
    coordinates[dim] = i % shape[dim];
  return coordinates;
}

inline int64_t linearize(ArrayRef<int64_t> coordinates,
                         ArrayRef<int64_t> shape) {
  int64_t i = 0;
  for (auto [coordinate, size] : llvm::zip(coordinates, shape))
    i = i * size + coordinate;
  return i;
}

inline Number getZero(Type type) {
  Number zero;
  if (isa<FloatType>(type))
    zero.real = 0.0;
  else
    zero.integer = 0;
  return zero;
}

} // namespace deplo::interpreter

#endif // DEPLO_LIB_INTERPRETER_INTERPRETERIMPL_H
