// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// align_rows: rows that start at any address are accessed at aligned ones.
//
//   %a = tile.load %x[%i, %k] bounds [4096, 50257] : ... -> tensor<1x4096xbf16>
// ->
//   %m = tile.misalignment %x[%i, %c0] modulo 8 : memref<4096x50257xbf16>
//   %s = arith.subi %k, %m : index
//   %a = tile.load %x[%i, %s] bounds [4096, 50257] : ...
//
// The tiles of one inner dimension are shifted as one: position p of them is
// column p - m of the row, in accesses, masks and iotas alike. What goes from
// tile to tile, also through shared memory, stays as it is.
//
// Legality, for a dimension that is shifted by less than `modulo` elements:
//   L1: the tiles go past the end of the row by at least as much, so that they
//       still cover it. Their padding is masked, wherever it matters, by bounds
//       and tile.in_bounds, which mask what is before the row too.
//   L2: all accesses along it are bounded and go by single elements.
//   L3: buffers that hold a part of it are filled by copies alone.
//   L4: a block has one row of what is aligned, at indices that are known where
//       the kernel starts.

#include "PassSupport.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/TileDims.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-align-rows"

namespace deplo::tile {
#define GEN_PASS_DEF_ALIGNROWSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// What is shifted
//===----------------------------------------------------------------------===//

namespace {

/// All that has one inner dimension of tiles as its dimension `dim`.
struct Row {
  /// An access to global memory.
  SmallVector<std::pair<Operation *, unsigned>> accesses;
  SmallVector<std::pair<InBoundsOp, unsigned>> masks;
  SmallVector<IotaOp> iotas;
  /// The first access that is wide once its row is aligned, and how wide.
  Operation *anchor = nullptr;
  unsigned anchorDim = 0;
  int64_t modulo = 1;
};

/// Classes of tile dimensions that are shifted as one: those that a buffer
/// brings together.
class Rows {
public:
  explicit Rows(KernelOp kernel) : dims(kernel), rows(dims.getNumClasses()) {
    kernel.walk([&](ReadOp read) {
      SmallVector<unsigned> classes = dims.getClasses(read.getResult());
      auto [known, isNew] = ofBuffer.insert({read.getBuffer(), classes});
      for (auto [a, b] : llvm::zip_equal(known->second, classes))
        rows.join(a, b);
    });
    rows.compress();
    for (unsigned number = 0; number < dims.getNumClasses(); ++number)
      if (dims.getAxis(number))
        axes.insert(rows[number]);
  }

  unsigned getNumRows() const { return rows.getNumClasses(); }
  bool isAxis(unsigned row) const { return axes.contains(row); }

  /// The dimension of a tile (operand) or buffer that goes along `row`.
  std::optional<unsigned> getDim(ArrayRef<unsigned> classes,
                                 unsigned row) const {
    for (auto [dim, number] : llvm::enumerate(classes))
      if (rows[number] == row)
        return dim;
    return std::nullopt;
  }
  std::optional<unsigned> getDim(Value tile, unsigned row) const {
    return getDim(dims.getClasses(tile), row);
  }
  std::optional<unsigned> getDim(OpOperand &tile, unsigned row) const {
    return getDim(dims.getClasses(tile), row);
  }
  std::optional<unsigned> getBufferDim(Value buffer, unsigned row) const {
    return getDim(ofBuffer.lookup(buffer), row);
  }

private:
  TileDims dims;
  llvm::IntEqClasses rows;
  llvm::DenseMap<Value, SmallVector<unsigned>> ofBuffer;
  llvm::SmallDenseSet<unsigned> axes;
};

} // namespace

/// Collects what goes along row `number`; nothing if something can't be
/// shifted.
static std::optional<Row> findRow(KernelOp kernel, const Rows &rows,
                                  unsigned number) {
  Row row;
  WalkResult result = kernel.walk([&](Operation *op) {
    std::optional<unsigned> dim;
    if (auto copy = dyn_cast<CopyOp>(op)) {
      dim = rows.getBufferDim(copy.getBuffer(), number);
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      dim = rows.getDim(store.getValueMutable(), number);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      dim = rows.getDim(load.getResult(), number);
    } else if (isa<WriteOp, AsyncCopyOp>(op)) { // L3
      return WalkResult::interrupt();
    }
    if (dim)
      row.accesses.emplace_back(op, *dim);
    if (auto mask = dyn_cast<InBoundsOp>(op)) {
      if (std::optional<unsigned> dim = rows.getDim(mask.getResult(), number))
        row.masks.emplace_back(mask, *dim);
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      if (rows.getDim(iota.getResult(), number))
        row.iotas.push_back(iota);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || row.accesses.empty())
    return std::nullopt;
  return row;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// L1 and L2 of an access that is shifted by less than `modulo`.
static bool canShift(Operation *op, unsigned dim, int64_t modulo) {
  BoxAccess box = *BoxAccess::get(op);
  if (box.bounds.empty() || box.steps[dim] != 1)
    return false;
  AffineIndex start = AffineIndex::get(box.indices[box.dims[dim]]);
  std::optional<int64_t> last = start.getMax();
  int64_t end = SymbolicSizes::get(op).getMax(box.bounds[dim]);
  return start.offset == 0 && last &&
         *last + box.shape[dim] >= end + modulo - 1;
}

/// L4.
static bool hasOneKnownRow(Operation *op, unsigned dim) {
  BoxAccess box = *BoxAccess::get(op);
  for (unsigned t = 0; t < box.shape.size(); ++t)
    if (t != dim && box.shape[t] != 1)
      return false;
  for (auto [d, index] : llvm::enumerate(box.indices)) {
    auto argument = dyn_cast<BlockArgument>(index);
    bool isKnown =
        argument && isa<KernelOp>(argument.getOwner()->getParentOp());
    if (int64_t(d) != box.dims[dim] && !isKnown && !getConstantIntValue(index))
      return false;
  }
  return true;
}

/// The widest accesses, in elements, that aligned rows allow `op`; 1 if it has
/// them already or can't have them.
static int64_t getModulo(Operation *op, unsigned dim, int64_t vector,
                         int64_t alignment) {
  constexpr int64_t maxAccessBytes = 16;
  BoxAccess box = *BoxAccess::get(op);
  if (box.getUnitStrideDim() != dim || !hasOneKnownRow(op, dim))
    return 1;
  int64_t bytes = std::min(maxAccessBytes, alignment);
  int64_t modulo =
      std::min(vector, std::max<int64_t>(bytes / box.getElementBytes(), 1));
  return getAccessWidth(op, alignment) < modulo ? modulo : 1;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static void shiftRow(KernelOp kernel, const Row &row) {
  BoxAccess box = *BoxAccess::get(row.anchor);
  Location loc = row.anchor->getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBody());
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(box.indices)) {
    std::optional<int64_t> constant = int64_t(dim) == box.dims[row.anchorDim]
                                          ? 0
                                          : getConstantIntValue(index);
    indices.push_back(
        constant ? arith::ConstantIndexOp::create(builder, loc, *constant)
                       .getResult()
                 : index);
  }
  Value misalignment =
      MisalignmentOp::create(builder, loc, builder.getIndexType(), box.memref,
                             indices, builder.getI64IntegerAttr(row.modulo));
  auto shift = [&](Operation *op, OpOperand &start) {
    OpBuilder here(op);
    start.set(
        arith::SubIOp::create(here, op->getLoc(), start.get(), misalignment));
  };
  for (auto [op, dim] : row.accesses) {
    BoxAccess access = *BoxAccess::get(op);
    MutableOperandRange starts =
        isa<LoadOp>(op)    ? cast<LoadOp>(op).getIndicesMutable()
        : isa<StoreOp>(op) ? cast<StoreOp>(op).getIndicesMutable()
                           : cast<CopyOp>(op).getIndicesMutable();
    shift(op, starts[access.dims[dim]]);
  }
  for (auto [mask, dim] : row.masks) {
    InBoundsOp op = mask;
    shift(op, op.getCornerMutable()[dim]);
  }
  for (IotaOp iota : row.iotas)
    shift(iota, iota.getStartMutable());
}

SmallVector<AlignedRow> tile::alignRows(KernelOp kernel, int64_t vector,
                                        int64_t alignment) {
  SmallVector<AlignedRow> aligned;
  Rows all(kernel);
  SmallVector<Row> rows;
  for (unsigned number = 0; number < all.getNumRows(); ++number) {
    std::optional<Row> row =
        all.isAxis(number) ? std::nullopt : findRow(kernel, all, number);
    if (!row)
      continue;
    for (auto [op, dim] : row->accesses) {
      int64_t modulo = getModulo(op, dim, vector, alignment);
      if (modulo <= row->modulo)
        continue;
      row->modulo = modulo;
      row->anchor = op;
      row->anchorDim = dim;
    }
    auto fits = [&](const std::pair<Operation *, unsigned> &access) {
      return canShift(access.first, access.second, row->modulo);
    };
    if (row->anchor && llvm::all_of(row->accesses, fits))
      rows.push_back(*row);
  }
  for (const Row &row : rows) {
    shiftRow(kernel, row);
    BoxAccess box = *BoxAccess::get(row.anchor);
    aligned.push_back({box.memref, row.modulo});
  }
  return aligned;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct AlignRowsPass : tile::impl::AlignRowsPassBase<AlignRowsPass> {
  using AlignRowsPassBase::AlignRowsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    FailureOr<int64_t> most = getWidestAccess(kernel, vector);
    if (failed(most))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("AlignRows")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<AlignedRow> rows = alignRows(kernel, *most, alignment);
    for (const AlignedRow &row : rows)
      remark::passed(kernel.getLoc(), options) << remark::add(
          "rows of {0} are accessed {1} elements at a time, from "
          "the last aligned address before them",
          getMemrefName(row.memref), row.modulo);
    if (!rows.empty())
      return;
    remark::missed(kernel.getLoc(), options)
        << "no row starts at an address that is not aligned, alone in its "
           "block, with padding for a shift";
    markAllAnalysesPreserved();
  }
};

} // namespace
