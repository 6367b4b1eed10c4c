// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Interpreter/Interpreter.h"

#include "ScalarOps.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <memory>

using namespace mlir;

namespace deplo {

/// A tile in row-major order, or a scalar.
using Numbers = std::vector<Number>;

namespace {

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
int32_t join(int32_t a, int32_t b) {
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

} // namespace

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

static int64_t getSize(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

/// The coordinates of element `i` in row-major order.
static SmallVector<int64_t> getCoordinates(int64_t i, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> coordinates(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; i /= shape[dim])
    coordinates[dim] = i % shape[dim];
  return coordinates;
}

static int64_t linearize(ArrayRef<int64_t> coordinates,
                         ArrayRef<int64_t> shape) {
  int64_t i = 0;
  for (auto [coordinate, size] : llvm::zip(coordinates, shape))
    i = i * size + coordinate;
  return i;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// The element at `coordinates`, or null with an error outside of the memref.
static Number *getElement(Operation *op, const View &view, MemRefType type,
                          ArrayRef<int64_t> coordinates) {
  int64_t offset = view.offset;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
    if (coordinate < 0 || coordinate >= type.getDimSize(dim)) {
      op->emitError() << "accesses coordinate " << coordinate
                      << " of dimension " << dim << " of " << type;
      return nullptr;
    }
    offset += coordinate * view.strides[dim];
  }
  if (offset >= static_cast<int64_t>(view.elements->size())) {
    op->emitError() << "accesses element " << offset << " of an array of "
                    << view.elements->size();
    return nullptr;
  }
  return &(*view.elements)[offset];
}

LogicalResult Interpreter::runAccess(Operation *op, Value memref,
                                     ValueRange indices, AffineMap map,
                                     Number &element, bool isStore) {
  SmallVector<Attribute> operands, results;
  Builder builder(op->getContext());
  for (Value index : indices)
    operands.push_back(builder.getIndexAttr(getIndex(index)));
  if (failed(map.constantFold(operands, results)))
    return op->emitError("has coordinates that can't be computed");
  SmallVector<int64_t> coordinates =
      llvm::map_to_vector(results, [](Attribute result) {
        return cast<IntegerAttr>(result).getInt();
      });
  Number *place = getElement(op, views.lookup(memref),
                             cast<MemRefType>(memref.getType()), coordinates);
  if (!place)
    return failure();
  (isStore ? *place : element) = isStore ? element : *place;
  return success();
}

/// Visits the elements of a box in row-major order of the tile, with null for
/// those that are masked.
LogicalResult Interpreter::runBox(
    Operation *op, llvm::function_ref<LogicalResult(int64_t, Number *)> visit) {
  tile::BoxAccess box = *tile::BoxAccess::get(op);
  View view = views.lookup(box.memref);
  SmallVector<int64_t> corner = llvm::map_to_vector(
      box.indices, [&](Value index) { return getIndex(index); });
  for (int64_t i = 0, size = box.getNumElements(); i < size; ++i) {
    SmallVector<int64_t> coordinates(corner);
    bool isMasked = false;
    for (auto [t, c] : llvm::enumerate(getCoordinates(i, box.shape))) {
      coordinates[box.dims[t]] += box.steps[t] * c;
      int64_t coordinate = coordinates[box.dims[t]];
      isMasked |= !box.bounds.empty() &&
                  (coordinate < 0 || coordinate >= box.bounds[t]);
    }
    Number *element =
        isMasked ? nullptr
                 : getElement(op, view, box.getMemRefType(), coordinates);
    if ((!isMasked && !element) || failed(visit(i, element)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// For each element of a tile the thread that holds it.
ArrayRef<int32_t> Interpreter::getThreads(Operation *op,
                                          RankedTensorType tile) {
  auto [entry, isNew] = threads.try_emplace(op, tile.getNumElements(), nobody);
  tile::LayoutAttr attr = tile::getLayout(tile);
  if (!isNew)
    return entry->second;
  if (!attr) {
    llvm::fill(entry->second, several);
    return entry->second;
  }
  LinearLayout layout = attr.getLinearLayout();
  int32_t warps = op->getParentOfType<tile::KernelOp>().getWarps().value_or(1);
  int32_t layoutLanes = layout.getSize(InputDim::Lane),
          layoutWarps = layout.getSize(InputDim::Warp);
  for (int32_t thread = 0; thread < warps * numLanes; ++thread)
    for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg) {
      int32_t &holder = entry->second[layout.packCoordinates(
          layout.apply(reg, thread % numLanes % layoutLanes,
                       thread / numLanes % layoutWarps))];
      holder = join(holder, thread);
    }
  return entry->second;
}

LogicalResult Interpreter::write(Operation *op, Shared &shared, int64_t i,
                                 Number number, Shared::State state,
                                 int32_t thread) {
  if (join(shared.readers[i], thread) == several && shared.readers[i] != nobody)
    return op->emitError(
        "writes a buffer that threads may still read; a barrier is missing");
  if (shared.states[i] == Shared::State::InFlight)
    return op->emitError(
        "writes an element that an asynchronous copy is about to write");
  shared.elements[i] = number;
  shared.states[i] = state;
  shared.writers[i] = thread;
  return success();
}

LogicalResult Interpreter::read(Operation *op, Shared &shared, int64_t i,
                                Number &number, int32_t thread) {
  switch (shared.states[i]) {
  case Shared::State::Empty:
    return op->emitError("reads an element of a buffer that was not written");
  case Shared::State::InFlight:
    return op->emitError("reads an element that an asynchronous copy brings "
                         "before it is awaited");
  case Shared::State::Written:
    if (join(shared.writers[i], thread) != several)
      break;
    return op->emitError("reads an element that another thread may have "
                         "written; a barrier is missing");
  case Shared::State::Visible:
    break;
  }
  shared.readers[i] = join(shared.readers[i], thread);
  number = shared.elements[i];
  return success();
}

/// Visits the elements of a tile, by number, and their places in the buffer.
LogicalResult Interpreter::runBuffer(
    Operation *op, Value buffer, ValueRange indices, RankedTensorType tile,
    llvm::function_ref<LogicalResult(Shared &, int64_t, int64_t)> visit) {
  ArrayRef<int64_t> shape = cast<tile::BufferType>(buffer.getType()).getShape();
  Shared &shared = *buffers.lookup(buffer);
  for (int64_t i = 0, size = tile.getNumElements(); i < size; ++i) {
    SmallVector<int64_t> coordinates = getCoordinates(i, tile.getShape());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      coordinates[dim] += getIndex(index);
      if (coordinates[dim] < 0 || coordinates[dim] >= shape[dim])
        return op->emitError()
               << "accesses coordinate " << coordinates[dim] << " of dimension "
               << dim << " of " << buffer.getType();
    }
    if (failed(visit(shared, i, linearize(coordinates, shape))))
      return failure();
  }
  return success();
}

static Number getZero(Type type) {
  Number zero;
  if (isa<FloatType>(type))
    zero.real = 0.0;
  else
    zero.integer = 0;
  return zero;
}

LogicalResult Interpreter::runShared(Operation *op) {
  auto copyTo = [&](auto copy, Shared::State state) {
    std::shared_ptr<Shared> shared = buffers.lookup(copy.getBuffer());
    Number zero = getZero(copy.getBuffer().getType().getElementType());
    // Threads take vectors in turn, along rows where these lie so in memory.
    bool isAlongRows = tile::BoxAccess::get(op)->getUnitStrideDim() ==
                       copy.getBuffer().getType().getRank() - 1;
    int64_t vector = copy.getVector().value_or(1);
    int64_t count =
        numLanes *
        copy->template getParentOfType<tile::KernelOp>().getWarps().value_or(1);
    return runBox(op, [&](int64_t i, Number *element) {
      return write(op, *shared, i, element ? *element : zero, state,
                   isAlongRows ? static_cast<int32_t>(i / vector % count)
                               : several);
    });
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::AllocOp alloc) {
        buffers[alloc.getResult()] =
            std::make_shared<Shared>(getSize(alloc.getType().getShape()));
        return success();
      })
      .Case([&](tile::SlotOp slot) {
        int64_t number = getIndex(slot.getSlot());
        if (number < 0 || number >= slot.getRing().getType().getShape()[0])
          return LogicalResult(op->emitError()
                               << "takes slot " << number << " of "
                               << slot.getRing().getType());
        std::shared_ptr<Shared> &shared = slots[{slot.getRing(), number}];
        if (!shared)
          shared = std::make_shared<Shared>(
              getSize(slot.getResult().getType().getShape()));
        buffers[slot.getResult()] = shared;
        return success();
      })
      .Case([&](tile::CopyOp copy) {
        return copyTo(copy, Shared::State::Written);
      })
      .Case([&](tile::AsyncCopyOp copy) {
        buffers[copy.getToken()] = buffers.lookup(copy.getBuffer());
        return copyTo(copy, Shared::State::InFlight);
      })
      .Case([&](tile::AwaitOp await) {
        for (Value token : await.getTokens())
          for (Shared::State &state : buffers.lookup(token)->states)
            if (state == Shared::State::InFlight)
              state = Shared::State::Written;
        return success();
      })
      .Case<tile::LaunchDependentsOp, tile::WaitDependenciesOp>(
          [](Operation *) { return success(); }) // one kernel runs at a time
      .Case([&](tile::BarrierOp) {
        auto meet = [](Shared &shared) {
          llvm::fill(shared.readers, nobody);
          for (Shared::State &state : shared.states)
            if (state == Shared::State::Written)
              state = Shared::State::Visible;
        };
        for (auto &[value, shared] : buffers)
          meet(*shared);
        for (auto &[value, shared] : slots)
          meet(*shared);
        return success();
      })
      .Case([&](tile::ReadOp readOp) {
        Numbers result(readOp.getType().getNumElements());
        ArrayRef<int32_t> readers = getThreads(op, readOp.getType());
        LogicalResult done = runBuffer(
            op, readOp.getBuffer(), readOp.getIndices(), readOp.getType(),
            [&](Shared &shared, int64_t i, int64_t place) {
              return read(op, shared, place, result[i], readers[i]);
            });
        numbers[readOp.getResult()] = std::move(result);
        return done;
      })
      .Case([&](tile::WriteOp writeOp) {
        const Numbers &value = numbers.find(writeOp.getValue())->second;
        ArrayRef<int32_t> writers =
            getThreads(op, writeOp.getValue().getType());
        return runBuffer(op, writeOp.getBuffer(), writeOp.getIndices(),
                         writeOp.getValue().getType(),
                         [&](Shared &shared, int64_t i, int64_t place) {
                           return write(op, shared, place, value[i],
                                        Shared::State::Written, writers[i]);
                         });
      })
      .Default([](Operation *op) {
        return op->emitError("is unknown to the interpreter");
      });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Folds `input`, a tile of `type`, along `axis`, in ascending order from the
/// identity.
static Numbers fold(const Numbers &input, RankedTensorType type, int64_t axis,
                    Monoid kind) {
  ArrayRef<int64_t> shape = type.getShape();
  ScalarFunction combine = getScalarFunction(kind, type.getElementType());
  Number identity = getNumber(getIdentity(kind, type.getElementType()));
  int64_t inner = getSize(shape.drop_front(axis + 1)), length = shape[axis],
          outer = getSize(shape.take_front(axis));
  Numbers result;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Number operands[2] = {identity, identity};
      for (int64_t k = 0; k < length; ++k) {
        operands[1] = input[(o * length + k) * inner + i];
        operands[0] = combine(operands);
      }
      result.push_back(operands[0]);
    }
  return result;
}

/// Sums of products, in ascending order from the accumulator.
static Numbers multiply(tile::DotOp dot, const Numbers &lhs, const Numbers &rhs,
                        const Numbers &accumulator) {
  RankedTensorType type = dot.getType();
  ScalarFunction add = getScalarFunction(Monoid::Add, type.getElementType());
  ScalarFunction times = getScalarFunction(Monoid::Mul, type.getElementType());
  Numbers result;
  for (int64_t i = 0, size = getSize(type.getShape()); i < size; ++i) {
    SmallVector<int64_t> coordinates = getCoordinates(i, type.getShape());
    coordinates.push_back(0);
    auto getElement = [&](const Numbers &operand, RankedTensorType operandType,
                          ArrayRef<int64_t> dims) {
      SmallVector<int64_t> own;
      for (int64_t dim : dims)
        own.push_back(coordinates[dim]);
      return operand[linearize(own, operandType.getShape())];
    };
    Number operands[2] = {accumulator[i], {}};
    for (int64_t k = 0, depth = dot.getContractedSize(); k < depth; ++k) {
      coordinates.back() = k;
      Number factors[2] = {
          getElement(lhs, dot.getLhs().getType(), dot.getLhsDims()),
          getElement(rhs, dot.getRhs().getType(), dot.getRhsDims())};
      operands[1] = times(factors);
      operands[0] = add(operands);
    }
    result.push_back(operands[0]);
  }
  return result;
}

/// Scans `input`, a tile of `type`, along `axis`, in ascending order from
/// `carry`, or the identity; leaves there what all of it folds to.
static Numbers scan(const Numbers &input, RankedTensorType type, int64_t axis,
                    Monoid kind, Numbers &carry) {
  ArrayRef<int64_t> shape = type.getShape();
  ScalarFunction combine = getScalarFunction(kind, type.getElementType());
  int64_t inner = getSize(shape.drop_front(axis + 1)), length = shape[axis],
          outer = getSize(shape.take_front(axis));
  if (carry.empty())
    carry.assign(outer * inner,
                 getNumber(getIdentity(kind, type.getElementType())));
  Numbers result(input.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Number &running = carry[o * inner + i];
      for (int64_t k = 0; k < length; ++k) {
        int64_t place = (o * length + k) * inner + i;
        Number operands[2] = {running, input[place]};
        result[place] = running = combine(operands);
      }
    }
  return result;
}

LogicalResult Interpreter::runTile(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::LoadOp load) {
        Numbers result(load.getType().getNumElements(),
                       getZero(load.getType().getElementType()));
        LogicalResult done = runBox(op, [&](int64_t i, Number *element) {
          if (element)
            result[i] = *element;
          return success();
        });
        numbers[load.getResult()] = std::move(result);
        return done;
      })
      .Case([&](tile::GatherOp gather) {
        const Numbers &offsets = numbers.find(gather.getOffsets())->second;
        const Numbers *mask = nullptr, *otherwise = nullptr;
        if (gather.getMask())
          mask = &numbers.find(gather.getMask())->second;
        if (gather.getOtherwise())
          otherwise = &numbers.find(gather.getOtherwise())->second;
        View view = views.lookup(gather.getMemref());
        Numbers result(offsets.size(),
                       getZero(gather.getType().getElementType()));
        for (auto [i, offset] : llvm::enumerate(offsets)) {
          if (mask && (*mask)[i].integer == 0) {
            if (otherwise)
              result[i] = (*otherwise)[i];
            continue;
          }
          if (offset.integer < 0 ||
              offset.integer >= static_cast<int64_t>(view.elements->size()))
            return LogicalResult(
                op->emitError() << "accesses element " << offset.integer
                                << " of an array of " << view.elements->size());
          result[i] = (*view.elements)[offset.integer];
        }
        numbers[gather.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::StoreOp store) {
        const Numbers &value = numbers.find(store.getValue())->second;
        return runBox(op, [&](int64_t i, Number *element) {
          if (element)
            *element = value[i];
          return success();
        });
      })
      .Case([&](tile::ReduceOp reduce) {
        for (auto [kind, input, result] : llvm::zip(
                 reduce.getMonoids(), reduce.getInputs(), reduce.getResults()))
          numbers[result] = fold(numbers.find(input)->second,
                                 cast<RankedTensorType>(input.getType()),
                                 reduce.getAxis(), kind);
        return success();
      })
      .Case([&](tile::DotOp dot) {
        numbers[dot.getResult()] =
            multiply(dot, numbers.find(dot.getLhs())->second,
                     numbers.find(dot.getRhs())->second,
                     numbers.find(dot.getAccumulator())->second);
        return success();
      })
      .Case([&](tile::ScanOp op) {
        Numbers carry;
        if (op.getCarry())
          carry = numbers.find(op.getCarry())->second;
        Numbers result =
            scan(numbers.find(op.getInput())->second, op.getInput().getType(),
                 op.getAxis(), op.getKind(), carry);
        numbers[op.getResult()] = std::move(result);
        numbers[op.getTotal()] = std::move(carry);
        return success();
      })
      .Case([&](tile::BroadcastOp broadcast) {
        const Numbers &input = numbers.find(broadcast.getInput())->second;
        ArrayRef<int64_t> shape = broadcast.getType().getShape();
        Numbers result;
        for (int64_t i = 0, size = getSize(shape); i < size; ++i) {
          SmallVector<int64_t> coordinates = getCoordinates(i, shape), kept;
          for (int64_t dim : broadcast.getDims())
            kept.push_back(coordinates[dim]);
          result.push_back(input[linearize(
              kept, broadcast.getInput().getType().getShape())]);
        }
        numbers[broadcast.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::SplatOp splat) {
        Number scalar = numbers.find(splat.getInput())->second.front();
        numbers[splat.getResult()] =
            Numbers(splat.getType().getNumElements(), scalar);
        return success();
      })
      .Case([&](tile::IotaOp iota) {
        Type element = getElementTypeOrSelf(iota.getType());
        Numbers result(getSize(getShape(iota.getType())));
        for (auto [i, number] : llvm::enumerate(result)) {
          number.integer = getIndex(iota.getStart()) + int64_t(i);
          number = roundTo(number, element);
        }
        numbers[iota.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::MisalignmentOp misalignment) {
        auto [strides, element] =
            misalignment.getMemref().getType().getStridesAndOffset();
        for (auto [index, stride] :
             llvm::zip(misalignment.getIndices(), strides))
          element += getIndex(index) * stride;
        setIndex(misalignment, element % int64_t(misalignment.getModulo()));
        return success();
      })
      .Case([&](tile::InBoundsOp inBounds) {
        ArrayRef<int64_t> shape = inBounds.getType().getShape();
        Numbers result(getSize(shape));
        for (auto [i, element] : llvm::enumerate(result)) {
          element.integer = 1;
          for (auto [c, corner, bound] :
               llvm::zip(getCoordinates(i, shape), inBounds.getCorner(),
                         inBounds.getBounds()))
            element.integer &=
                getIndex(corner) + c >= 0 && getIndex(corner) + c < bound;
        }
        numbers[inBounds.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::ConvertLayoutOp convert) {
        Numbers input = numbers.find(convert.getInput())->second;
        numbers[convert.getResult()] = std::move(input);
        return success();
      })
      .Default([&](Operation *op) { return runShared(op); });
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

static Numbers getConstant(Attribute value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return {getNumber(value)};
  Numbers result;
  for (Attribute element : dense.getValues<Attribute>())
    result.push_back(getNumber(element));
  return result;
}

LogicalResult Interpreter::runElementwise(Operation *op) {
  ScalarFunction function = getScalarFunction(op);
  if (!function || op->getNumOperands() > 3)
    return op->emitError("is unknown to the interpreter");
  Numbers result(getSize(getShape(op->getResult(0).getType())));
  SmallVector<const Numbers *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&numbers.find(operand)->second);
  for (size_t i = 0; i < result.size(); ++i) {
    Number elements[3];
    // A condition may be one for the whole tile.
    for (auto [k, operand] : llvm::enumerate(operands))
      elements[k] = (*operand)[operand->size() == 1 ? 0 : i];
    result[i] = function(elements);
  }
  numbers[op->getResult(0)] = std::move(result);
  return success();
}

LogicalResult Interpreter::runLoop(scf::ForOp loop) {
  int64_t upper = getIndex(loop.getUpperBound()),
          step = getIndex(loop.getStep());
  if (step < 1)
    return loop.emitError()
           << "has step " << step << ", expected a positive one";
  auto assign = [&](ValueRange from, ValueRange to) {
    std::vector<Numbers> values;
    SmallVector<std::shared_ptr<Shared>> tokens;
    for (Value value : from) {
      bool isToken = isa<tile::TokenType>(value.getType());
      values.push_back(isToken ? Numbers() : numbers.find(value)->second);
      tokens.push_back(isToken ? buffers.lookup(value) : nullptr);
    }
    for (auto [value, token, target] : llvm::zip(values, tokens, to))
      if (token)
        buffers[target] = token;
      else
        numbers[target] = value;
  };
  assign(loop.getInitArgs(), loop.getRegionIterArgs());
  for (int64_t i = getIndex(loop.getLowerBound()); i < upper; i += step) {
    setIndex(loop.getInductionVar(), i);
    if (failed(run(*loop.getBody())))
      return failure();
    assign(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
  assign(loop.getRegionIterArgs(), loop.getResults());
  return success();
}

LogicalResult Interpreter::runReduce(loop::ReduceOp reduce) {
  SmallVector<Monoid> kinds = reduce.getMonoids();
  SmallVector<Numbers> results;
  for (auto [kind, result] : llvm::zip(kinds, reduce.getResults())) {
    Number identity =
        getNumber(getIdentity(kind, getElementTypeOrSelf(result.getType())));
    results.emplace_back(getSize(getShape(result.getType())), identity);
  }
  for (int64_t k = 0, extent = reduce.getExtent(); k < extent; ++k) {
    setIndex(reduce.getInductionVar(), k);
    if (failed(run(*reduce.getBody())))
      return failure();
    for (auto [kind, value, result] :
         llvm::zip(kinds, reduce.getBody()->getTerminator()->getOperands(),
                   results)) {
      ScalarFunction combine =
          getScalarFunction(kind, getElementTypeOrSelf(value.getType()));
      const Numbers &numbersOfValue = numbers.find(value)->second;
      for (auto [i, element] : llvm::enumerate(result)) {
        Number operands[2] = {element, numbersOfValue[i]};
        element = combine(operands);
      }
    }
  }
  for (auto [value, result] : llvm::zip(reduce.getResults(), results))
    numbers[value] = std::move(result);
  return success();
}

LogicalResult Interpreter::runScan(loop::ScanOp scan) {
  for (auto op : scan.getBody()->getOps<loop::RunningOp>())
    running[op] = getNumber(getIdentity(op.getKind(), op.getType()));
  for (int64_t k = 0, extent = scan.getExtent(); k < extent; ++k) {
    setIndex(scan.getInductionVar(), k);
    if (failed(run(*scan.getBody())))
      return failure();
  }
  return success();
}

void Interpreter::runRunning(loop::RunningOp op) {
  Number operands[2] = {running[op],
                        numbers.find(op.getValue())->second.front()};
  running[op] = getScalarFunction(op.getKind(), op.getType())(operands);
  numbers[op.getResult()] = {running[op]};
}

LogicalResult Interpreter::run(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::YieldOp, loop::YieldOp, func::ReturnOp>(
          [](auto) { return success(); })
      .Case([&](arith::ConstantOp constant) {
        numbers[constant.getResult()] = getConstant(constant.getValue());
        return success();
      })
      .Case([&](scf::ForOp loop) { return runLoop(loop); })
      .Case([&](loop::ReduceOp reduce) { return runReduce(reduce); })
      .Case([&](loop::ScanOp scan) { return runScan(scan); })
      .Case([&](loop::RunningOp op) {
        runRunning(op);
        return success();
      })
      .Case([&](loop::ForOp loop) {
        for (int64_t i = 0, extent = loop.getExtent(); i < extent; ++i) {
          setIndex(loop.getInductionVar(), i);
          if (failed(run(*loop.getBody())))
            return failure();
        }
        return success();
      })
      .Case([&](loop::LoadOp load) {
        if (Value condition = load.getCondition())
          if (numbers.find(condition)->second.front().integer == 0) {
            Numbers otherwise = numbers.find(load.getOtherwise())->second;
            numbers[load.getResult()] = std::move(otherwise);
            return success();
          }
        Number element;
        LogicalResult done = runAccess(op, load.getMemref(), load.getIndices(),
                                       load.getMap(), element, false);
        numbers[load.getResult()] = {element};
        return done;
      })
      .Case([&](loop::StoreOp store) {
        Number element = numbers.find(store.getValue())->second.front();
        return runAccess(op, store.getMemref(), store.getIndices(),
                         store.getMap(), element, true);
      })
      .Default([&](Operation *op) {
        if (isa<tile::TileDialect>(op->getDialect()))
          return runTile(op);
        if (isa<memref::MemRefDialect, loop::LoopDialect>(op->getDialect()))
          return runPlan(op);
        return runElementwise(op);
      });
}

LogicalResult Interpreter::run(Block &block) {
  for (Operation &op : block)
    if (failed(run(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and plans
//===----------------------------------------------------------------------===//

/// Runs the blocks of a cluster one operation at a time: what combines them is
/// among the kernel's own operations.
LogicalResult Interpreter::runCluster(tile::KernelOp kernel, unsigned axis) {
  struct State {
    DenseMap<Value, Numbers> numbers;
    DenseMap<Value, std::shared_ptr<Shared>> buffers;
  };
  SmallVector<State> states;
  for (int64_t i = 0; i < kernel.getClusterBlocks(); ++i) {
    setIndex(kernel.getAxisValues()[axis], i * kernel.getAxis(axis).getStep());
    states.emplace_back().numbers = numbers;
  }
  for (Operation &op : *kernel.getBody()) {
    if (auto reduce = dyn_cast<tile::ClusterReduceOp>(op)) {
      for (auto [kind, input, result] : llvm::zip(
               reduce.getMonoids(), reduce.getInputs(), reduce.getResults())) {
        ScalarFunction combine =
            getScalarFunction(kind, getElementTypeOrSelf(input.getType()));
        Numbers total = states.front().numbers.find(input)->second;
        for (State &state : llvm::drop_begin(states))
          for (auto [element, part] :
               llvm::zip_equal(total, state.numbers.find(input)->second)) {
            Number operands[2] = {element, part};
            element = combine(operands);
          }
        for (State &state : states)
          state.numbers[result] = total;
      }
      continue;
    }
    for (State &state : states) {
      std::swap(numbers, state.numbers);
      std::swap(buffers, state.buffers);
      if (failed(run(&op)))
        return failure();
      std::swap(numbers, state.numbers);
      std::swap(buffers, state.buffers);
    }
  }
  return success();
}

LogicalResult Interpreter::runBlocks(tile::KernelOp kernel, unsigned axis) {
  if (axis == kernel.getClusterAxis())
    return runCluster(kernel, axis);
  if (axis == kernel.getAxes().size()) {
    buffers.clear();
    slots.clear();
    return run(*kernel.getBody());
  }
  for (int64_t i = 0; i < kernel.getAxis(axis).getBlocks(); ++i) {
    setIndex(kernel.getAxisValues()[axis], i * kernel.getAxis(axis).getStep());
    if (failed(runBlocks(kernel, axis + 1)))
      return failure();
  }
  return success();
}

LogicalResult Interpreter::run(Operation *kernel, ArrayRef<View> arguments) {
  if (!isa<loop::KernelOp, tile::KernelOp>(kernel))
    return kernel->emitError("is not a loop.kernel or tile.kernel");
  Block &body = kernel->getRegion(0).front();
  for (auto [value, view] : llvm::zip(body.getArguments(), arguments)) {
    View asDeclared(*view.elements, cast<MemRefType>(value.getType()));
    views[value] = asDeclared;
  }
  if (auto tileKernel = dyn_cast<tile::KernelOp>(kernel))
    return runBlocks(tileKernel, 0);
  return run(body);
}

LogicalResult Interpreter::runPlan(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::AllocOp alloc) {
        allocations.push_back(std::make_unique<HostArray>(alloc.getType()));
        views[alloc.getResult()] =
            View(allocations.back()->elements, alloc.getType());
        return success();
      })
      .Case<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
            memref::ReinterpretCastOp, memref::SubViewOp>([&](auto view) {
        // Strides and offset of a static view are in its type.
        View source = views.lookup(view->getOperand(0));
        views[view->getResult(0)] = View(
            *source.elements, cast<MemRefType>(view->getResult(0).getType()));
        return success();
      })
      .Case([&](loop::LaunchOp launch) -> LogicalResult {
        Operation *kernel = SymbolTable::lookupNearestSymbolFrom(
            launch, launch.getKernelAttr());
        if (!kernel)
          return launch.emitError() << "launches " << launch.getKernelAttr()
                                    << ", which is not there";
        SmallVector<View> arguments =
            llvm::map_to_vector(launch.getBuffers(), [&](Value buffer) {
              return views.lookup(buffer);
            });
        return Interpreter().run(kernel, arguments);
      })
      .Default([](Operation *op) {
        return op->emitError("is unknown to the interpreter");
      });
}

LogicalResult Interpreter::run(func::FuncOp plan, ArrayRef<View> arguments) {
  for (auto [value, view] : llvm::zip(plan.getArguments(), arguments))
    views[value] = view;
  return run(plan.getBody().front());
}

/// Views of `arguments`, if they suit `types`.
static FailureOr<SmallVector<View>>
getViews(Operation *op, TypeRange types,
         MutableArrayRef<HostArray *> arguments) {
  if (types.size() != arguments.size())
    return op->emitError() << "takes " << types.size() << " memrefs, got "
                           << arguments.size();
  SmallVector<View> views;
  for (auto [type, argument] : llvm::zip(types, arguments)) {
    auto memref = cast<MemRefType>(type);
    if (memref.getElementType() != argument->type.getElementType())
      return op->emitError()
             << "takes " << memref << ", got " << argument->type;
    views.emplace_back(argument->elements, memref);
  }
  return views;
}

LogicalResult interpretKernel(Operation *kernel,
                              MutableArrayRef<HostArray *> arguments) {
  // The axes of a tile.kernel follow its memrefs.
  SmallVector<Type> types;
  for (Type type : kernel->getRegion(0).front().getArgumentTypes())
    if (isa<MemRefType>(type))
      types.push_back(type);
  FailureOr<SmallVector<View>> views = getViews(kernel, types, arguments);
  return failed(views) ? failure() : Interpreter().run(kernel, *views);
}

LogicalResult interpretPlan(func::FuncOp plan,
                            MutableArrayRef<HostArray *> arguments) {
  FailureOr<SmallVector<View>> views =
      getViews(plan, plan.getArgumentTypes(), arguments);
  return failed(views) ? failure() : Interpreter().run(plan, *views);
}

} // namespace deplo
