// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_sweeps: of a row that is too long for shared memory, as much as fits is
// kept there, and the rest is read again in the other direction.
//
//   %m = scf.for %k = %c0 to %c262144 step %c4096 ... { tile.load %x[%i, %k] }
//   scf.for %k = %c0 to %c262144 step %c4096 { tile.load %x[%i, %k] ... }
//
// becomes
//
//   %p = scf.for %k = %c0 to %c114688 step %c4096 ... { tile.load %x[%i, %k] }
//   %m = scf.for %k = %c114688 to %c262144 step %c4096 iter_args(%p) ...
//   scf.for %k = %c114688 to %c262144 step %c4096 { ... } {tile.descending}
//   scf.for %k = %c0 to %c114688 step %c4096 { ... }
//
// stage_inputs then finds a row that fits, swept by the loops from 0. What was
// read last is what L2 still has: every other sweep starts with it and goes
// down.
//
// Legality: iterations of a sweep that carries nothing are independent, and
// what a sweep carries is combined by a monoid, which is associative and
// commutative by declaration. Either order is fixed. Sweeps that scan have one
// order, and stay.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-split-sweeps"

namespace deplo::tile {
#define GEN_PASS_DEF_SPLITSWEEPSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// The loop of the kernel's own block that sweeps what `read` loads, if it
/// alone does.
static scf::ForOp getSweepingLoop(const StagedRow::Read &read) {
  scf::ForOp loop;
  for (auto [sweep, factor] : llvm::zip_equal(read.sweeps, read.factors)) {
    if (!sweep)
      continue;
    if (loop || factor != 1)
      return {};
    loop = cast<scf::ForOp>(Value(sweep).getParentBlock()->getParentOp());
  }
  return loop && isa<KernelOp>(loop->getParentOp()) ? loop : scf::ForOp();
}

std::optional<LongRow> tile::findLongRow(KernelOp kernel, int64_t budget) {
  std::optional<LongRow> longRow;
  int64_t bytes = 0;
  for (const StagedRow &row : findRows(kernel)) {
    if (row.reads.size() < 2 || row.shape.empty())
      continue;
    int64_t rowBytes = row.getBufferType().getSizeInBytes();
    if (rowBytes <= budget)
      continue;
    LongRow candidate;
    for (const StagedRow::Read &read : row.reads) {
      scf::ForOp loop = getSweepingLoop(read);
      if (!loop || !loop.getBody()->getOps<ScanOp>().empty())
        return std::nullopt;
      candidate.sweeps.insert(loop);
    }
    scf::ForOp first = candidate.sweeps.front();
    std::optional<int64_t> end = getConstantIntValue(first.getUpperBound());
    if (!end) // it may end before what would be kept does
      return std::nullopt;
    candidate.step = *getConstantIntValue(first.getStep());
    candidate.end = *end;
    bool isAlike = llvm::all_of(candidate.sweeps, [&](scf::ForOp loop) {
      return getConstantIntValue(loop.getStep()) == candidate.step &&
             getConstantIntValue(loop.getUpperBound()) == candidate.end;
    });
    // Several operands with rows of one length share the room.
    if (!isAlike || candidate.end % candidate.step != 0 ||
        (longRow && longRow->sweeps != candidate.sweeps))
      return std::nullopt;
    longRow = candidate;
    bytes += rowBytes;
  }
  if (!longRow)
    return std::nullopt;
  int64_t steps = longRow->end / longRow->step;
  longRow->kept = budget / (bytes / steps) * longRow->step;
  if (longRow->kept == 0 || longRow->kept >= longRow->end)
    return std::nullopt;
  return longRow;
}

void tile::splitSweeps(const LongRow &row) {
  bool isDescending = false;
  for (scf::ForOp loop : row.sweeps) {
    OpBuilder builder(loop);
    Value middle =
        arith::ConstantIndexOp::create(builder, loop.getLoc(), row.kept);
    auto kept = cast<scf::ForOp>(loop->clone());
    scf::ForOp first = kept, second = loop;
    if (isDescending)
      std::swap(first, second);
    // The first sweep goes up; the rest of the second and the fourth goes down
    // from where it ended.
    if (isDescending)
      builder.setInsertionPointAfter(loop);
    builder.insert(kept);
    kept.setUpperBound(middle);
    loop.setLowerBound(middle);
    if (isDescending)
      loop->setAttr(descendingName, builder.getUnitAttr());
    if (second != loop)
      loop.replaceAllUsesWith(second.getResults());
    second.getInitArgsMutable().assign(first.getResults());
    isDescending = !isDescending;
  }
}

namespace {

struct SplitSweepsPass : tile::impl::SplitSweepsPassBase<SplitSweepsPass> {
  using SplitSweepsPassBase::SplitSweepsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("SplitSweeps")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    auto missed = [&](StringRef reason) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      markAllAnalysesPreserved();
    };
    if (kernel.getSchedule() &&
        kernel.getSchedule()->getStageInputs() == Choice::Never)
      return missed("the schedule says that nothing is staged");
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    int64_t budget = target.getSharedPerBlock() - getSharedBytes(kernel);
    std::optional<LongRow> row = findLongRow(kernel, budget);
    if (!row)
      return missed("no row that is read again is too long for shared memory");
    splitSweeps(*row);
    simplifyMasks(kernel);
    remark::passed(kernel.getLoc(), options) << remark::add(
        "of {0} elements that are swept {1} times, the first {2} can stay in "
        "shared memory",
        row->end, row->sweeps.size(), row->kept);
  }
};

} // namespace
