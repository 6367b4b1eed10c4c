// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.scan: a thread scans runs of neighbours that it holds; what a run folds
// to is scanned over lanes by shuffles and over warps through shared memory;
// runs of a thread that are further apart follow one another. Each element is
// then combined with what all elements before its run fold to.
//
//   y[i] = (carry * runs before) * (warps before) * (lanes before) * run up to
//   i
//
// The order is fixed by the layout: two runs of a program give the same bits.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace deplo {

/// Neighbours along the axis in registers of one thread.
struct KernelEmitter::Run {
  /// Registers of the operand, in order, and their inclusive scan.
  SmallVector<int32_t> registers;
  SmallVector<Value> prefixes;
  /// The register of the total that belongs to the row.
  int32_t row = 0;
  /// What the runs of the lanes and warps before fold to, null for nothing; and
  /// what this one folds to with all of theirs.
  Value before, total;
};

Value KernelEmitter::getIdentityOf(Monoid kind, Type type) {
  return arith::ConstantOp::create(builder, getIdentity(kind, type));
}

/// The sums of all subsets of `masks`, single bits, in counting order.
static SmallVector<int32_t> getOffsets(ArrayRef<int32_t> masks) {
  SmallVector<int32_t> offsets = {0};
  for (int32_t mask : masks)
    for (size_t i = 0, count = offsets.size(); i < count; ++i)
      offsets.push_back(offsets[i] | mask);
  return offsets;
}

/// After the exchange by a mask, groups of twice as many lanes know what they
/// fold to, and their upper halves what the lower ones do.
void KernelEmitter::scanLanes(Run &run, Monoid kind,
                              ArrayRef<int32_t> laneMasks) {
  for (int32_t mask : laneMasks) {
    Value isLower = getIsZero(lane, mask);
    Value other = shuffle(run.total, mask);
    Value before = run.before;
    Value upper = before
                      ? combine(builder, builder.getLoc(), kind, other, before)
                      : other;
    if (!before)
      before = getIdentityOf(kind, other.getType());
    run.before = arith::SelectOp::create(builder, isLower, before, upper);
    run.total = combine(builder, builder.getLoc(), kind, run.total, other);
  }
}

/// One lane of each warp leaves what its runs fold to in shared memory; after a
/// barrier each thread folds those of the warps before its own.
void KernelEmitter::scanWarps(tile::ScanOp op, MutableArrayRef<Run> runs,
                              ArrayRef<int32_t> warpMasks, int64_t runsPerRow) {
  int64_t members = int64_t(1) << warpMasks.size();
  Value member = getMember(warpMasks);
  tile::LayoutAttr rows = tile::getLayout(op.getTotal());
  int64_t numRows = op.getTotal().getType().getNumElements();
  Type element = op.getTotal().getType().getElementType();

  // In a loop, threads behind may still read the previous iteration's values:
  // iterations use two buffers in turn, and none is two barriers behind.
  Operation *parent = op->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  bool alternates = loop && loop->getParentOp() == kernel.getOperation();
  int64_t bufferSize = runsPerRow * members * numRows;
  Value scratch = allocateShared((alternates ? 2 : 1) * bufferSize *
                                 element.getIntOrFloatBitWidth() / 8);
  Value start = getIndex(0);
  if (alternates) {
    Value iteration = arith::DivUIOp::create(
        builder, lookup(loop.getInductionVar()), lookup(loop.getStep()));
    start = multiply(arith::AndIOp::create(builder, iteration, getIndex(1)),
                     bufferSize);
  } else if (parent != kernel.getOperation()) {
    emitBarrier();
  }
  auto pointerTo = [&](size_t run, Value slot) -> Value {
    Value row = getIndex(0);
    for (auto [coordinate, size] :
         llvm::zip(getCoordinates(rows, runs[run].row), rows.getShape()))
      row = add(multiply(row, size), coordinate);
    Value place = add(getIndex(int64_t(run) % runsPerRow * members), slot);
    Value offset = add(start, add(multiply(place, numRows), row));
    return LLVM::GEPOp::create(builder, scratch.getType(), element, scratch,
                               ValueRange(offset));
  };

  Value writes = conjunction(
      getIsZero(lane, rows.getLinearLayout().getReplicaMask().lane),
      getIsLeaderWarp(tile::getLayout(op.getInput()).getLinearLayout()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (writes)
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, writes, /*withElseRegion=*/false)
              .thenBlock());
    for (size_t run = 0; run < runs.size(); ++run)
      LLVM::StoreOp::create(builder, runs[run].total, pointerTo(run, member));
  }
  emitBarrier();
  Monoid kind = op.getKind();
  for (size_t i = 0; i < runs.size(); ++i) {
    Run &run = runs[i];
    Value before = getIdentityOf(kind, element), total;
    for (int64_t other = 0; other < members; ++other) {
      Value value =
          LLVM::LoadOp::create(builder, element, pointerTo(i, getIndex(other)));
      total = total ? combine(builder, builder.getLoc(), kind, total, value)
                    : value;
      if (other + 1 == members)
        break;
      Value isNext = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                           member, getIndex(other + 1));
      before = arith::SelectOp::create(builder, isNext, total, before);
    }
    run.before = run.before ? combine(builder, builder.getLoc(), kind, before,
                                      run.before)
                            : before;
    run.total = total;
  }
}

LogicalResult KernelEmitter::emitScan(tile::ScanOp op) {
  LinearLayout layout = tile::getLayout(op.getInput()).getLinearLayout();
  unsigned axis = op.getAxis();
  ScanBits bits = layout.scanBits(axis);
  if (!bits.isComplete)
    return op.emitError()
           << "layout's registers, lanes and warps do not follow "
              "one another along axis "
           << axis;
  Monoid kind = op.getKind();
  auto fold = [&](Value lhs, Value rhs) -> Value {
    return lhs && rhs ? combine(builder, builder.getLoc(), kind, lhs, rhs)
           : lhs      ? lhs
                      : rhs;
  };

  // The runs of each row, in order.
  SmallVector<Value> elements = unpack(lookup(op.getInput()));
  auto rowAt = getRegisters(tile::getLayout(op.getTotal()).getLinearLayout());
  SmallVector<int32_t> inRun = getOffsets(bits.runMasks),
                       apart = getOffsets(bits.registerMasks);
  int32_t scanned = inRun.back() | apart.back();
  SmallVector<Run> runs;
  for (int32_t first = 0; first < layout.getNumRegisters(); ++first) {
    if (first & scanned)
      continue;
    Coordinates coordinates = layout.apply(first, 0);
    std::vector<int32_t> kept(coordinates.begin(), coordinates.end());
    kept.erase(kept.begin() + axis);
    for (int32_t offset : apart) {
      Run &run = runs.emplace_back();
      run.row = rowAt.at(kept);
      for (int32_t within : inRun) {
        run.registers.push_back(first | offset | within);
        run.total = fold(run.total, elements[run.registers.back()]);
        run.prefixes.push_back(run.total);
      }
    }
  }

  for (Run &run : runs)
    scanLanes(run, kind, bits.laneMasks);
  if (!bits.warpMasks.empty())
    scanWarps(op, runs, bits.warpMasks, apart.size());

  SmallVector<Value> totals(rowAt.size());
  if (op.getCarry())
    totals = unpack(lookup(op.getCarry()));
  // Registers that repeat a row compute it again from the same carry.
  SmallVector<Value> running;
  for (auto [i, run] : llvm::enumerate(runs)) {
    if (i % apart.size() == 0)
      running.push_back(op.getCarry() ? totals[run.row] : Value());
    Value before = fold(running.back(), run.before);
    for (auto [reg, prefix] : llvm::zip(run.registers, run.prefixes))
      elements[reg] = fold(before, prefix);
    running.back() = fold(running.back(), run.total);
  }
  for (auto [i, total] : llvm::enumerate(running))
    totals[runs[i * apart.size()].row] = total;
  mapping.map(op.getResult(), pack(elements));
  mapping.map(op.getTotal(), pack(totals));
  return success();
}

} // namespace deplo
