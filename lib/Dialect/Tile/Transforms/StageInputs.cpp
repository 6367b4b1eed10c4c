// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stage_inputs: what a block reads several times goes through shared memory.
//
//   scf.for %k = %c0 to %c8192 step %c2048 ... {
//     %a = tile.load %x[%i, %k] : memref<32x8192xf32> -> tensor<1x2048xf32>
//   scf.for %j = %c0 to %c8192 step %c2048 {
//     %b = tile.load %x[%i, %j] : memref<32x8192xf32> -> tensor<1x2048xf32>
//
// becomes
//
//   %row = tile.alloc : !tile.buffer<1x8192xf32, #tile.shared<>>
//   tile.copy %x[%i, %c0] to %row : memref<32x8192xf32>, !tile.buffer<...>
//   tile.barrier
//   scf.for %k = ... { %a = tile.read %row[%c0, %k] : !tile.buffer<...> ->
//   tensor<1x2048xf32> scf.for %j = ... { %b = tile.read %row[%c0, %j] :
//   !tile.buffer<...> -> tensor<1x2048xf32>
//
// Legality: the memref is not stored to. All loads of a row have one corner,
// but for what the loops that sweep it add; these start at 0 and go by whole
// elements of the tile. The buffer holds all that they sweep: elements beyond
// the bounds are zero in it, as they are in the loads. It is written once,
// before the first read, so one barrier is enough.

#include "PassSupport.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-stage-inputs"

namespace deplo::tile {
#define GEN_PASS_DEF_STAGEINPUTSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// A loop from 0 to a constant, or to a size that is known when the program
/// runs; of that, as many iterations as there may be.
struct Sweep {
  int64_t iterations, step;
};

} // namespace

static std::optional<Sweep> getSweep(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  if (auto size = loop.getUpperBound().getDefiningOp<loop::SizeOp>())
    upper = SymbolicSizes::get(loop).getMax(size.getNumber());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (lower != 0 || !upper || !step || *step < 1 || *upper < 1)
    return std::nullopt;
  return Sweep{int64_t(llvm::divideCeil(*upper, *step)), *step};
}

/// The loop whose induction variable `index` is, or null.
static scf::ForOp getLoop(Value index) {
  auto argument = dyn_cast_or_null<BlockArgument>(index);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && argument == loop.getInductionVar() ? loop : scf::ForOp();
}

/// `base` as the variable of a loop and an axis of the kernel that it is added
/// to; either may be null.
static std::pair<scf::ForOp, Value> splitBase(Value base) {
  if (scf::ForOp loop = getLoop(base))
    return {loop, Value()};
  auto sum = base ? base.getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  if (!sum)
    return {scf::ForOp(), base};
  for (auto [part, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                             std::pair(sum.getRhs(), sum.getLhs())})
    if (scf::ForOp loop = getLoop(part); loop && isa<BlockArgument>(other))
      return {loop, other};
  return {scf::ForOp(), base};
}

/// The part of a memref that the loops around `load` sweep, if it has a fixed
/// corner.
static std::optional<StagedRow> getRow(LoadOp load) {
  BoxAccess box = *BoxAccess::get(load);
  StagedRow row;
  row.memref = box.memref;
  row.shape = box.shape;
  row.dims = box.dims;
  row.steps = box.steps;
  row.bounds = box.bounds;
  StagedRow::Read read{load, SmallVector<Value>(box.shape.size()),
                       SmallVector<int64_t>(box.shape.size(), 0)};
  for (auto [dim, index] : llvm::enumerate(box.indices)) {
    AffineIndex coordinate = AffineIndex::get(index);
    const int64_t *tileDim = llvm::find(box.dims, int64_t(dim));
    bool isSpanned = tileDim != box.dims.end();
    size_t t = tileDim - box.dims.begin();
    auto [loop, axis] = splitBase(coordinate.base);
    if (loop) {
      std::optional<Sweep> sweep = getSweep(loop);
      if (!sweep || !isSpanned || coordinate.scale < 1 ||
          coordinate.scale % box.steps[t] != 0)
        return std::nullopt;
      int64_t factor = coordinate.scale / box.steps[t];
      row.shape[t] =
          (sweep->iterations - 1) * sweep->step * factor + box.shape[t];
      read.sweeps[t] = loop.getInductionVar();
      read.factors[t] = factor;
      coordinate = {axis, axis ? coordinate.scale : 0, coordinate.offset};
    }
    if (coordinate.base &&
        !isa<KernelOp>(coordinate.base.getParentBlock()->getParentOp()))
      return std::nullopt;
    row.hasInnerDim |= isSpanned && box.shape[t] > 1 && !coordinate.base;
    row.corner.push_back(coordinate);
  }
  row.reads.push_back(std::move(read));
  return row;
}

BufferType StagedRow::getBufferType() const {
  MLIRContext *context = memref.getContext();
  return BufferType::get(context, shape,
                         cast<MemRefType>(memref.getType()).getElementType(),
                         SharedAttr::get(context, /*pad=*/0, /*swizzle=*/0));
}

bool StagedRow::isSameRow(const StagedRow &other) const {
  return memref == other.memref && corner == other.corner &&
         shape == other.shape && dims == other.dims && steps == other.steps &&
         bounds == other.bounds;
}

/// The operation of the kernel's own block that holds `op`.
static Operation *getTopLevel(Operation *op) {
  while (!isa<KernelOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// Whether the corner of `row` is known before `op`, an operation of the
/// kernel's own block.
static bool isKnownBefore(const StagedRow &row, Operation *op) {
  return llvm::all_of(row.corner, [&](const AffineIndex &coordinate) {
    Operation *definition =
        coordinate.base ? coordinate.base.getDefiningOp() : nullptr;
    return !definition || definition->isBeforeInBlock(op);
  });
}

std::vector<StagedRow> tile::findRows(KernelOp kernel) {
  std::vector<StagedRow> rows;
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp store) { stored.insert(store.getMemref()); });
  Operation *first = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](LoadOp load) {
    std::optional<StagedRow> row =
        stored.contains(load.getMemref()) ? std::nullopt : getRow(load);
    if (!row)
      return;
    if (!first)
      first = getTopLevel(load);
    if (!isKnownBefore(*row, first))
      return;
    auto same = llvm::find_if(
        rows, [&](const StagedRow &other) { return other.isSameRow(*row); });
    if (same == rows.end())
      rows.push_back(*row);
    else
      same->reads.push_back(row->reads.front());
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// An index constant: one that the block has already, or a new one.
static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  for (Operation &op : llvm::make_range(builder.getInsertionBlock()->begin(),
                                        builder.getInsertionPoint()))
    if (auto constant = dyn_cast<arith::ConstantIndexOp>(op);
        constant && constant.value() == value)
      return constant;
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value createCopy(OpBuilder &builder, const StagedRow &row) {
  LoadOp load = row.reads.front().load;
  Location loc = load.getLoc();
  SmallVector<Value> corner;
  for (const AffineIndex &coordinate : row.corner)
    corner.push_back(coordinate.base
                         ? coordinate.rebuild(builder, loc, coordinate.base)
                         : createIndex(builder, loc, coordinate.offset));
  Value buffer = AllocOp::create(builder, loc, row.getBufferType());
  CopyOp::create(builder, loc, row.memref, corner, buffer, load.getDimsAttr(),
                 load.getStepsAttr(), load.getBoundsAttr(),
                 /*vector=*/IntegerAttr());
  return buffer;
}

static void replaceLoad(const StagedRow::Read &read, Value buffer, Value zero) {
  LoadOp load = read.load;
  OpBuilder builder(load);
  Location loc = load.getLoc();
  SmallVector<Value> indices;
  for (auto [sweep, factor] : llvm::zip(read.sweeps, read.factors)) {
    if (sweep && factor != 1)
      indices.push_back(arith::MulIOp::create(
          builder, loc, sweep, createIndex(builder, loc, factor)));
    else
      indices.push_back(sweep ? sweep : zero);
  }
  auto replacement = ReadOp::create(builder, loc, load.getType(), buffer,
                                    indices, /*vector=*/IntegerAttr());
  load.replaceAllUsesWith(replacement.getResult());
  load.erase();
}

void tile::stageRows(ArrayRef<StagedRow> rows) {
  Operation *first = nullptr;
  for (const StagedRow &row : rows)
    for (const StagedRow::Read &read : row.reads)
      if (Operation *reader = getTopLevel(read.load);
          !first || reader->isBeforeInBlock(first))
        first = reader;
  if (!first)
    return;
  OpBuilder builder(first);
  Value zero = createIndex(builder, first->getLoc(), 0);
  SmallVector<Value> buffers;
  for (const StagedRow &row : rows)
    buffers.push_back(createCopy(builder, row));
  BarrierOp::create(builder, first->getLoc());
  for (auto [row, buffer] : llvm::zip(rows, buffers))
    for (const StagedRow::Read &read : row.reads)
      replaceLoad(read, buffer, zero);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct StageInputsPass : tile::impl::StageInputsPassBase<StageInputsPass> {
  using StageInputsPassBase::StageInputsPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getStageInputs();
        });
    if (failed(choice))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("StageInputs")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (*choice == Choice::Never) {
      remark::missed(kernel.getLoc(), options) << "the schedule says never";
      return markAllAnalysesPreserved();
    }

    SmallVector<StagedOperands> operands = findOperands(kernel);
    if (!operands.empty())
      return stage(kernel, operands);
    std::vector<StagedRow> rows = findRows(kernel);
    std::vector<StagedRow> wanted;
    llvm::copy_if(rows, std::back_inserter(wanted), [&](const StagedRow &row) {
      return !row.shape.empty() &&
             (row.reads.size() > 1 ||
              (*choice == Choice::Always && row.hasInnerDim));
    });
    if (wanted.empty()) {
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", whyNot(kernel, rows, *choice));
      return markAllAnalysesPreserved();
    }
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();

    std::vector<StagedRow> staged;
    int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
    SmallVector<std::string> reasons;
    for (const StagedRow &row : largestSavingFirst(wanted)) {
      int64_t bytes = row.getBufferType().getSizeInBytes();
      std::string name = getMemrefName(row.memref);
      if (bytes > left) {
        reasons.push_back(
            llvm::formatv("a block's part of {0} takes {1} bytes, and {2} has "
                          "{3} left for it",
                          name, bytes, target.getChip(), left));
        continue;
      }
      left -= bytes;
      staged.push_back(row);
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} bytes of {1} are copied once and read {2} times",
                         bytes, name, row.reads.size());
    }
    stageRows(staged);
    if (!reasons.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", llvm::join(reasons, "; "));
    if (staged.empty())
      markAllAnalysesPreserved();
  }

  /// Stages the operands of contractions.
  void stage(KernelOp kernel, ArrayRef<StagedOperands> operands) {
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("StageInputs")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    for (const StagedOperands &ofLoop : operands) {
      int64_t bytes = ofLoop.getBytes();
      int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
      std::string names =
          llvm::join(llvm::map_range(ofLoop.loads,
                                     [](LoadOp load) {
                                       return getMemrefName(load.getMemref());
                                     }),
                     " and ");
      if (bytes > left) {
        remark::missed(kernel.getLoc(), options) << remark::add(
            "a chunk of {0} takes {1} bytes, and {2} has {3} left for it",
            names, bytes, target.getChip(), left);
        continue;
      }
      stageOperands(ofLoop);
      size_t computed = ofLoop.computed.size();
      remark::passed(kernel.getLoc(), options) << remark::add(
          "chunks of {0}, {1} bytes, are copied once for all threads{2}", names,
          bytes,
          computed == 0
              ? ""
              : llvm::formatv(", and {0} operand{1} computed of them", computed,
                              computed == 1 ? " is" : "s are")
                    .str());
    }
  }

  /// Ties go to the row that is read first.
  static std::vector<StagedRow> largestSavingFirst(ArrayRef<StagedRow> rows) {
    SmallVector<size_t> order =
        llvm::to_vector(llvm::seq<size_t>(0, rows.size()));
    auto getKey = [&](size_t i) {
      int64_t saved =
          (rows[i].reads.size() - 1) * rows[i].getBufferType().getSizeInBytes();
      return std::pair(-saved, i);
    };
    llvm::sort(order,
               [&](size_t a, size_t b) { return getKey(a) < getKey(b); });
    std::vector<StagedRow> sorted;
    for (size_t i : order)
      sorted.push_back(rows[i]);
    return sorted;
  }

  static std::string whyNot(KernelOp kernel, ArrayRef<StagedRow> rows,
                            Choice choice) {
    llvm::SetVector<Value> memrefs;
    kernel.walk([&](LoadOp load) { memrefs.insert(load.getMemref()); });
    if (memrefs.empty())
      return "the kernel reads no input";
    std::string names =
        llvm::join(llvm::map_range(memrefs, getMemrefName), ", ");
    if (rows.empty())
      return "no part of " + names + " with a fixed corner is read by a block";
    if (choice == Choice::Always)
      return "a block reads " + names + " along its axes only";
    return "each element of " + names +
           " is needed by one thread only and stays in its registers";
  }
};

} // namespace
