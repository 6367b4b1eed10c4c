// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"

#include "deplo/Dialect/Tile/Analysis/GatherAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace deplo::tile {

/// The widest access of a thread (PTX ISA, ld and st).
static constexpr int64_t maxAccessBytes = 16;
/// Buffers start at a multiple of it.
static constexpr int64_t sharedAlignment = 16;

template <typename OpT>
static BoxAccess getBox(OpT op, ArrayRef<int64_t> shape) {
  BoxAccess box;
  box.memref = op.getMemref();
  box.indices = llvm::to_vector(op.getIndices());
  box.shape = llvm::to_vector(shape);
  box.dims =
      getSpannedDims(op.getDims(), op.getMemRefType().getRank(), shape.size());
  box.steps = op.getSteps() ? llvm::to_vector(*op.getSteps())
                            : SmallVector<int64_t>(shape.size(), 1);
  if (op.getBounds())
    box.bounds = llvm::to_vector(*op.getBounds());
  return box;
}

std::optional<BoxAccess> BoxAccess::get(Operation *op) {
  return TypeSwitch<Operation *, std::optional<BoxAccess>>(op)
      .Case([](LoadOp load) {
        return getBox(load, load.getResult().getType().getShape());
      })
      .Case([](StoreOp store) {
        return getBox(store, store.getValue().getType().getShape());
      })
      .Case([](TmaStoreOp store) {
        return getBox(store, store.getValue().getType().getShape());
      })
      .Case<CopyOp, AsyncCopyOp, TmaCopyOp>([](auto copy) {
        return getBox(copy, copy.getBuffer().getType().getShape());
      })
      .Default([](Operation *) { return std::nullopt; });
}

static int64_t getBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t BoxAccess::getElementBytes() const {
  return getBytes(getMemRefType().getElementType());
}

int64_t BoxAccess::getNumElements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

/// The strides and offset of a memref; nothing if it isn't strided.
static std::optional<std::pair<SmallVector<int64_t>, int64_t>>
getStridesAndOffset(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  return std::pair(strides, offset);
}

std::optional<unsigned> BoxAccess::getUnitStrideDim() const {
  auto form = getStridesAndOffset(getMemRefType());
  if (!form)
    return std::nullopt;
  std::optional<unsigned> unit;
  for (unsigned t = 0; t < shape.size(); ++t)
    if (form->first[dims[t]] == 1 && steps[t] == 1 &&
        (!unit || shape[t] >= shape[*unit]))
      unit = t;
  return unit;
}

SmallVector<unsigned> BoxAccess::getMemoryOrder() const {
  SmallVector<unsigned> order;
  std::optional<unsigned> unit = getUnitStrideDim();
  if (unit)
    order.push_back(*unit);
  for (unsigned dim = shape.size(); dim-- > 0;)
    if (dim != unit)
      order.push_back(dim);
  return order;
}

SmallVector<CopyRun> getCopyRuns(Operation *copy, ArrayRef<int64_t> vectors) {
  constexpr int64_t sectorBytes = 32;
  BoxAccess box = *BoxAccess::get(copy);
  SmallVector<CopyRun> runs;
  for (unsigned dim : box.getMemoryOrder())
    runs.push_back({dim, vectors[dim]});
  if (runs.empty() || runs.front().dim + 1 == vectors.size())
    return runs;
  int64_t sector = sectorBytes / box.getElementBytes();
  int64_t length = runs.front().length;
  if (length > sector && length % sector == 0) {
    runs.front().length = sector;
    runs.push_back({runs.front().dim, length / sector});
  }
  return runs;
}

MisalignmentOp BoxAccess::getMisalignment(unsigned dim) const {
  auto shifted = indices[dims[dim]].getDefiningOp<arith::SubIOp>();
  return shifted ? shifted.getRhs().getDefiningOp<MisalignmentOp>()
                 : MisalignmentOp();
}

int64_t getKnownDivisor(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return std::abs(constant.getSExtValue());
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    return std::gcd(getKnownDivisor(sum.getLhs()),
                    getKnownDivisor(sum.getRhs()));
  if (auto product = index.getDefiningOp<arith::MulIOp>())
    return getKnownDivisor(product.getLhs()) *
           getKnownDivisor(product.getRhs());
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument)
    return 1;
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(owner))
    return argument == loop.getInductionVar()
               ? std::gcd(getKnownDivisor(loop.getLowerBound()),
                          getKnownDivisor(loop.getStep()))
               : 1;
  if (std::optional<AxisAttr> axis = getAxisOf(argument))
    return axis->getBlocks() == 1 ? 0 : axis->getStep();
  return 1;
}

/// `width` halved until it divides `value`.
static int64_t limitTo(int64_t width, int64_t value) {
  return value == 0 ? width : std::min(width, value & -value);
}

static bool areEqual(Value a, Value b) {
  APInt x, y;
  return a == b || (matchPattern(a, m_ConstantInt(&x)) &&
                    matchPattern(b, m_ConstantInt(&y)) && x == y);
}

/// `width` halved until it divides the address of a box that starts at
/// `start - misalignment` along memref dimension `unit`: that of `start` has
/// the remainder that is subtracted.
static int64_t limitToShifted(int64_t width, const BoxAccess &box,
                              MisalignmentOp misalignment, unsigned unit) {
  auto form = getStridesAndOffset(box.getMemRefType());
  auto shift = getStridesAndOffset(misalignment.getMemref().getType());
  if (form->first.size() != shift->first.size())
    return 1;
  width = limitTo(width, misalignment.getModulo());
  width = limitTo(width, form->second - shift->second);
  for (unsigned dim = 0; dim < box.indices.size(); ++dim) {
    Value index = box.indices[dim], other = misalignment.getIndices()[dim];
    int64_t stride = form->first[dim], otherStride = shift->first[dim];
    if (dim == unit) {
      auto shifted = index.getDefiningOp<arith::SubIOp>();
      width = limitTo(width, stride * getKnownDivisor(shifted.getLhs()));
      width = limitTo(width, otherStride * getKnownDivisor(other));
    } else if (areEqual(index, other)) {
      width = limitTo(width, (stride - otherStride) * getKnownDivisor(index));
    } else {
      width = limitTo(width, stride * getKnownDivisor(index));
      width = limitTo(width, otherStride * getKnownDivisor(other));
    }
  }
  return width;
}

/// The limit that memory puts on accesses along tile dimension `unit`.
static int64_t getBoxWidth(const BoxAccess &box, unsigned unit,
                           int64_t alignment) {
  auto form = getStridesAndOffset(box.getMemRefType());
  if (!form || ShapedType::isDynamic(form->second) ||
      llvm::any_of(form->first, ShapedType::isDynamic))
    return 1;
  auto &[strides, offset] = *form;
  int64_t bytes = box.getElementBytes();
  int64_t width =
      llvm::bit_floor(uint64_t(std::max<int64_t>(1, maxAccessBytes / bytes)));
  width = limitTo(width, std::max<int64_t>(1, alignment / bytes));
  if (MisalignmentOp misalignment = box.getMisalignment(unit)) {
    width = limitToShifted(width, box, misalignment, box.dims[unit]);
  } else {
    width = limitTo(width, offset);
    for (auto [dim, index] : llvm::enumerate(box.indices))
      if (box.getMemRefType().getDimSize(dim) != 1)
        width = limitTo(width, strides[dim] * getKnownDivisor(index));
  }
  for (unsigned t = 0; t < box.shape.size(); ++t)
    if (t != unit && box.shape[t] != 1)
      width = limitTo(width, strides[box.dims[t]] * box.steps[t]);
  // What is out of bounds reads a whole access at the memref's base instead.
  while (!box.bounds.empty() && width > 1 && width > box.bounds[unit])
    width /= 2;
  return limitTo(width, box.shape[unit]);
}

/// The limit that a layout puts on accesses along `dim`.
static int64_t getLayoutWidth(Value tile, unsigned dim) {
  LayoutAttr layout = getLayout(tile);
  return layout ? layout.getLinearLayout().contiguity(dim)
                : cast<RankedTensorType>(tile.getType()).getDimSize(dim);
}

/// The limit that a buffer puts on accesses along its last dimension, from
/// `indices`.
static int64_t getBufferWidth(BufferType buffer, ValueRange indices) {
  int64_t bytes = getBytes(buffer.getElementType());
  int64_t width = std::max<int64_t>(1, sharedAlignment / bytes);
  bool hasRows = llvm::any_of(buffer.getShape().drop_back(),
                              [](int64_t size) { return size != 1; });
  width = limitTo(width, hasRows ? buffer.getShape().back() +
                                       buffer.getLayout().getPad()
                                 : 0);
  return indices.empty() ? width
                         : limitTo(width, getKnownDivisor(indices.back()));
}

int64_t getAccessWidth(Operation *op, int64_t alignment) {
  if (std::optional<BoxAccess> box = BoxAccess::get(op)) {
    std::optional<unsigned> unit = box->getUnitStrideDim();
    if (!unit)
      return 1;
    int64_t width = getBoxWidth(*box, *unit, alignment);
    return TypeSwitch<Operation *, int64_t>(op)
        .Case([&](LoadOp load) {
          return std::min(width, getLayoutWidth(load.getResult(), *unit));
        })
        .Case([&](StoreOp store) {
          return std::min(width, getLayoutWidth(store.getValue(), *unit));
        })
        .Case<CopyOp, AsyncCopyOp>([&](auto copy) -> int64_t {
          // Threads go along the buffer's rows.
          if (*unit + 1 != box->shape.size())
            return 1;
          return std::min(width,
                          getBufferWidth(copy.getBuffer().getType(), {}));
        });
  }
  return TypeSwitch<Operation *, int64_t>(op)
      .Case([&](GatherOp gather) -> int64_t {
        std::optional<unsigned> unit = tile::getUnitStrideDim(gather);
        if (!unit)
          return 1;
        return std::min(getGatherWidth(gather, *unit, alignment),
                        getLayoutWidth(gather.getResult(), *unit));
      })
      .Case([](ReadOp read) -> int64_t {
        BufferType buffer = read.getBuffer().getType();
        if (buffer.getRank() == 0)
          return 1;
        return std::min(getBufferWidth(buffer, read.getIndices()),
                        getLayoutWidth(read.getResult(), buffer.getRank() - 1));
      })
      .Case([](WriteOp write) -> int64_t {
        BufferType buffer = write.getBuffer().getType();
        if (buffer.getRank() == 0)
          return 1;
        return std::min(getBufferWidth(buffer, write.getIndices()),
                        getLayoutWidth(write.getValue(), buffer.getRank() - 1));
      })
      .Default(int64_t(1));
}

} // namespace deplo::tile
