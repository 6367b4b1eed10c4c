// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to global and shared memory.

#include "InterpreterImpl.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo::interpreter {

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
        return op->emitOpError("is unknown to the interpreter");
      });
}

} // namespace deplo::interpreter
