// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"

using namespace mlir;

namespace deplo::tile {

std::optional<MatrixAccess> getMatrixAccess(ReadOp read) {
  BufferType buffer = read.getBuffer().getType();
  LayoutAttr layout = getLayout(read.getResult());
  if (!layout || buffer.getRank() < 2)
    return std::nullopt;
  std::optional<MatrixAccess> access =
      getMatrixAccess(layout.getLinearLayout(), buffer.getRank() - 1,
                      buffer.getElementType().getIntOrFloatBitWidth());
  if (!access)
    return std::nullopt;
  // Rows of matrices are aligned to their size.
  int64_t pitch = buffer.getShape().back() + buffer.getLayout().getPad();
  bool isAligned =
      pitch % access->rowElements == 0 &&
      getKnownDivisor(read.getIndices().back()) % access->rowElements == 0;
  return isAligned ? access : std::nullopt;
}

static std::optional<BoxOfBuffer>
modelBox(BufferType buffer, const LinearLayout &layout, int64_t vector) {
  BoxOfBuffer result;
  result.access.layout = layout;
  result.access.vectorWidth = vector;
  result.box.shape.assign(layout.getShape());
  result.box.elementBytes = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  // The first dimension that has several rows only says how many.
  bool hasRows = false;
  for (unsigned dim = 0; dim + 1 < result.box.shape.size(); ++dim) {
    if (hasRows && result.box.shape[dim] != buffer.getShape()[dim])
      return std::nullopt;
    hasRows |= result.box.shape[dim] != 1;
  }
  return result;
}

/// Elements of one access of a thread: as chosen, or else as can be.
static int64_t getVector(Operation *access, int64_t alignment) {
  auto chosen = access->getAttrOfType<IntegerAttr>("vector");
  return chosen ? chosen.getInt() : getAccessWidth(access, alignment);
}

/// What a copy writes; nothing if it goes along rows, without conflicts.
static std::optional<BoxOfBuffer> modelCopy(Operation *copy, BufferType buffer,
                                            int64_t vector) {
  SmallVector<unsigned> memoryOrder = BoxAccess::get(copy)->getMemoryOrder();
  int64_t rank = buffer.getRank();
  if (rank == 0 || memoryOrder.front() + 1 == rank ||
      !llvm::all_of(buffer.getShape(), llvm::isPowerOf2_64))
    return std::nullopt;
  SmallVector<int64_t> values(rank, 1), lanes(rank, 1), warps(rank, 1), order;
  values.back() = vector;
  int64_t left = 32,
          leftWarps = copy->getParentOfType<KernelOp>().getWarps().value_or(1);
  SmallVector<int64_t> vectors(buffer.getShape());
  vectors.back() /= vector;
  for (CopyRun run : getCopyRuns(copy, vectors)) {
    int64_t lanesAlong = std::min(left, run.length);
    int64_t warpsAlong = std::min(leftWarps, run.length / lanesAlong);
    lanes[run.dim] *= lanesAlong;
    warps[run.dim] *= warpsAlong;
    left /= lanesAlong;
    leftWarps /= warpsAlong;
    if (!llvm::is_contained(order, run.dim))
      order.push_back(run.dim);
  }
  llvm::Expected<LinearLayout> layout =
      LinearLayout::blocked(buffer.getShape(), values, lanes, warps, order);
  if (!layout) {
    llvm::consumeError(layout.takeError());
    return std::nullopt;
  }
  return modelBox(buffer, *layout, vector);
}

/// Those of the buffer, or of the slots of a ring, which are accessed alike.
static SmallVector<Operation *> getUsers(AllocOp alloc, BufferType &buffer) {
  SmallVector<Operation *> users;
  buffer = alloc.getType();
  for (Operation *user : alloc.getResult().getUsers()) {
    auto slot = dyn_cast<SlotOp>(user);
    if (!slot) {
      users.push_back(user);
      continue;
    }
    buffer = slot.getResult().getType();
    llvm::append_range(users, slot.getResult().getUsers());
  }
  return users;
}

std::optional<BufferAccesses> BufferAccesses::get(AllocOp alloc,
                                                  int64_t alignment) {
  BufferAccesses accesses;
  for (Operation *user : getUsers(alloc, accesses.buffer)) {
    if (isa<CopyOp, AsyncCopyOp>(user)) {
      int64_t vector = getVector(user, alignment);
      accesses.copyVector = std::max(accesses.copyVector, vector);
      if (std::optional<BoxOfBuffer> box =
              modelCopy(user, accesses.buffer, vector))
        accesses.boxes.push_back(std::move(*box));
      continue;
    }
    // How it lies is said by the instruction.
    if (isa<AsyncDotOp, TmaStoreOp>(user))
      return std::nullopt;
    if (isa<TmaCopyOp>(user))
      continue;
    auto read = dyn_cast<ReadOp>(user);
    std::optional<BoxOfBuffer> box;
    if (std::optional<MatrixAccess> matrix =
            read ? getMatrixAccess(read) : std::nullopt) {
      box = modelBox(accesses.buffer, matrix->rows, matrix->rowElements);
    } else {
      accesses.isOfMatrices = false;
      Value tile = read ? Value(read.getResult())
                        : Value(cast<WriteOp>(user).getValue());
      if (LayoutAttr layout = getLayout(tile))
        box = modelBox(accesses.buffer, layout.getLinearLayout(),
                       getVector(user, alignment));
    }
    if (!box)
      return std::nullopt;
    accesses.boxes.push_back(std::move(*box));
  }
  return accesses;
}

std::optional<BankConflicts> BufferAccesses::getCost(SharedAttr layout) const {
  SharedBuffer model = BufferType::get(buffer.getContext(), buffer.getShape(),
                                       buffer.getElementType(), layout)
                           .getModel();
  BankConflicts cost;
  for (const BoxOfBuffer &access : boxes) {
    SharedBuffer box = access.box;
    box.pad = model.pad + model.shape.back() - box.shape.back();
    box.swizzle = model.swizzle;
    llvm::Expected<BankConflicts> conflicts =
        getBankConflicts(access.access, box);
    if (!conflicts) {
      llvm::consumeError(conflicts.takeError());
      return std::nullopt;
    }
    cost += *conflicts;
  }
  return cost;
}

Value getMemory(Value buffer) {
  auto slot = buffer.getDefiningOp<SlotOp>();
  return slot ? slot.getRing() : buffer;
}

void setLayout(AllocOp alloc, SharedAttr layout) {
  auto set = [&](Value buffer) {
    auto type = cast<BufferType>(buffer.getType());
    buffer.setType(BufferType::get(alloc.getContext(), type.getShape(),
                                   type.getElementType(), layout));
  };
  set(alloc.getResult());
  for (Operation *user : alloc.getResult().getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      set(slot.getResult());
}

std::string getBufferName(AllocOp alloc,
                          llvm::function_ref<std::string(Value)> getName) {
  BufferType buffer;
  for (Operation *user : getUsers(alloc, buffer))
    if (isa<CopyOp, AsyncCopyOp, TmaCopyOp>(user))
      return "the buffer of " + getName(BoxAccess::get(user)->memref);
  return "a buffer";
}

std::string describeConflicts(int64_t degree) {
  return degree <= 1 ? "conflict-free" : std::to_string(degree) + "-way";
}

} // namespace deplo::tile
