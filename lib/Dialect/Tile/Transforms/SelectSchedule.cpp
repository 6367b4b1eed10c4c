// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// select_schedule: chooses the tunables of each kernel and writes them on it.
//
//   loop.kernel @k(...) {
// ->
//   loop.kernel @k(...) attributes {schedule = #tile.schedule<block = [1],
//   warps = 8, vector = 4>} {
//
// It asks what is pinned by name first, then the analytic model
// (ScheduleModel, or ContractionModel or MmaModel for a kernel that is a
// contraction).
//
// Legality: a schedule changes no values. What hardware can't run is refused
// here or by the step that takes it up.

#include "SchedulePins.h"

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/Analysis/KernelCost.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-select-schedule"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

namespace {

struct SelectSchedulePass : impl::SelectSchedulePassBase<SelectSchedulePass> {
  using Base::Base;

  void runOnOperation() override;
  LogicalResult select(loop::KernelOp kernel, const Pins &pins,
                       const TargetDescription &target);
  LogicalResult select(loop::Contraction contraction, const Pins &pins,
                       const TargetDescription &target);
  LogicalResult selectMma(loop::Contraction contraction, const Pins &pins,
                          const TargetDescription &target);
  LogicalResult selectLike(loop::KernelOp kernel, loop::KernelOp leader,
                           const Pins &pins, const TargetDescription &target);
  LogicalResult alignParts(ConcatOp concat, const Pins &pins,
                           const TargetDescription &target);
  template <typename Choice>
  void report(loop::Contraction contraction, const Choice &choice);

  Precision mode = Precision::IEEE;
};

} // namespace

static bool isContraction(loop::KernelOp kernel) {
  return loop::findContraction(kernel).has_value();
}

LogicalResult SelectSchedulePass::select(loop::KernelOp kernel,
                                         const Pins &pins,
                                         const TargetDescription &target) {
  if (auto contraction = loop::findContraction(kernel))
    return select(*contraction, pins, target);
  // Numbers are of contractions, not of kernels that copy for these or add up
  // their parts.
  SchedulePins numbers;
  if (llvm::none_of(getOperation().getOps<loop::KernelOp>(), isContraction))
    numbers = pins.numbers;
  if (numbers.block && !llvm::all_of(*numbers.block, llvm::isPowerOf2_64))
    return kernel.emitOpError("has no schedule: ")
           << "block has a size that is no power of two";
  ScheduleFacts facts =
      getScheduleFacts(kernel, alignment, SymbolicSizes::get(kernel));
  std::string error;
  std::optional<ScheduleChoice> choice =
      chooseSchedule(facts, target, numbers, error);
  if (!choice)
    return kernel.emitOpError("has no schedule: ") << error;
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), choice->block, choice->warps, choice->vector,
      choice->cluster, choice->chunk, choice->unroll, /*thread=*/{},
      /*stages=*/1, AtomKind::FMA, /*warpTile=*/{}, Precision::IEEE,
      pins.stageInputs, pins.transposeSmem, pins.asyncCopy, pins.swizzleSmem,
      pins.padSmem, pins.programmaticLaunch, pins.tmaCopy, pins.warpSpecialize,
      pins.tmaStore, pins.persistBlocks));
  remark::analysis(kernel.getLoc(), remark::RemarkOpts::name("SelectSchedule")
                                        .category(DEBUG_TYPE)
                                        .function(kernel.getSymName()))
      << remark::add("{0}", choice->reason)
      << remark::metric("BytesRead", choice->bytesRead)
      << remark::metric("BytesWritten", choice->bytesWritten)
      << remark::metric("Blocks", choice->blocks)
      << remark::metric("BlocksPerMultiprocessor",
                        choice->blocksPerMultiprocessor)
      << remark::metric("Waves", llvm::formatv("{0:F2}", choice->waves).str())
      << remark::metric("Registers", choice->registersPerThread)
      << remark::metric("Nanoseconds", int64_t(choice->nanoseconds));
  return success();
}

/// A size for each axis, and for the columns if blocks fold rows.
static size_t countBlockSizes(loop::Contraction &contraction) {
  return contraction.axes.size() + contraction.foldsRows();
}

template <typename Choice>
void SelectSchedulePass::report(loop::Contraction contraction,
                                const Choice &choice) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  loop::KernelCost cost = loop::computeCost(kernel);
  remark::analysis(kernel.getLoc(), remark::RemarkOpts::name("SelectSchedule")
                                        .category(DEBUG_TYPE)
                                        .function(kernel.getSymName()))
      << remark::add("a contraction ({0}, {1}x{2}x{3}): {4}",
                     contraction.getTransposition(), contraction.getRows(),
                     contraction.getColumns(), contraction.getDepth(),
                     choice.reason)
      << remark::metric("BytesRead", cost.bytesRead)
      << remark::metric("BytesWritten", cost.bytesWritten)
      << remark::metric("Blocks", choice.blocks)
      << remark::metric("BlocksPerMultiprocessor",
                        choice.blocksPerMultiprocessor)
      << remark::metric("Waves", llvm::formatv("{0:F2}", choice.waves).str())
      << remark::metric("Registers", choice.registersPerThread)
      << remark::metric("Nanoseconds", int64_t(choice.nanoseconds));
}

/// Whether split_pieces has made scales.
static bool hasScaledPieces(loop::KernelOp kernel) {
  if (!kernel->hasAttr(piecesAttrName))
    return false;
  auto last = cast<MemRefType>(kernel.getArguments().back().getType());
  return last.getElementType().isF32();
}

LogicalResult SelectSchedulePass::selectMma(loop::Contraction contraction,
                                            const Pins &pins,
                                            const TargetDescription &target) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  // wgmma takes f32 in pieces, where split_pieces has made these.
  std::optional<AtomKind> pinned = pins.atom;
  if (kernel->hasAttr(piecesAttrName))
    pinned = AtomKind::Wgmma;
  Precision precision = hasScaledPieces(kernel) ? Precision::F32Fast : mode;
  std::string error;
  auto chosen = chooseTensorCores(contraction, precision, target, alignment,
                                  SymbolicSizes::get(kernel),
                                  getMmaPins(pins, contraction), pinned, error);
  if (!chosen)
    return kernel.emitOpError("has no schedule: ") << error;
  auto [atom, choice] = *chosen;
  SmallVector<int64_t> block(countBlockSizes(contraction), 1);
  block[contraction.rowAxis] = choice.blockRows;
  block[contraction.columnAxis] = choice.blockColumns;
  // The widest access: what a thread holds of a fragment is narrower.
  int64_t vector =
      pins.numbers.vector.value_or(16 / contraction.getElementBytes());
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), block, choice.warps, vector, choice.cluster, choice.chunk,
      pins.numbers.unroll.value_or(4), /*thread=*/{}, choice.stages, atom,
      {choice.warpRows, choice.warpColumns}, precision, pins.stageInputs,
      pins.transposeSmem, pins.asyncCopy, pins.swizzleSmem, pins.padSmem,
      pins.programmaticLaunch, pins.tmaCopy, pins.warpSpecialize, pins.tmaStore,
      pins.persistBlocks));
  report(contraction, choice);
  return success();
}

LogicalResult SelectSchedulePass::select(loop::Contraction contraction,
                                         const Pins &pins,
                                         const TargetDescription &target) {
  auto kernel = contraction.reduce->getParentOfType<loop::KernelOp>();
  ContractionPins numbers;
  const SchedulePins &given = pins.numbers;
  if (given.block && given.block->size() != countBlockSizes(contraction))
    return kernel.emitOpError()
           << "has no schedule: block has " << given.block->size()
           << " sizes, the kernel has " << contraction.axes.size() << " axes"
           << (contraction.foldsRows() ? " and the columns that it folds" : "");
  if (given.block && contraction.foldsRows() &&
      given.block->back() < contraction.getColumns())
    return kernel.emitOpError()
           << "has no schedule: a block folds whole rows, of "
           << contraction.getColumns() << " columns, and has "
           << given.block->back() << "; give it as many";
  bool isMma = suitsMma(contraction, mode, target);
  bool hasPieces = kernel->hasAttr(piecesAttrName);
  if (given.block && !llvm::all_of(*given.block, llvm::isPowerOf2_64) &&
      (pins.atom != AtomKind::Wgmma || hasPieces))
    return kernel.emitOpError("has no schedule: ")
           << "block has a size that is no power of two, which only columns of "
              "wgmma of f16 or bf16 may be; pin atom=wgmma, or use powers of "
              "two";
  if (pins.atom.value_or(AtomKind::FMA) != AtomKind::FMA && !isMma)
    return kernel.emitOpError("has no schedule: ")
           << "tensor cores of " << target.chip
           << " multiply no such elements; drop the atom, or choose "
              "precision=f32, f32-fast or tf32 for f32";
  if (pins.piecesInRegisters.value_or(false) && !hasPieces)
    return kernel.emitOpError("has no schedule: ")
           << "pieces are made in registers of operands of f32 that tensor "
              "maps copy, with rows of a multiple of 16 bytes, by wgmma and "
              "with precision f32; drop pieces=registers";
  if (pins.atom == AtomKind::Wgmma && !hasPieces &&
      !suitsWgmma(contraction, target))
    return kernel.emitOpError("has no schedule: ")
           << target.chip << " multiplies no such operands by wgmma, which "
           << "takes rows of f16, bf16 or, with precision f32, f32 that are "
              "summed over, or are the result's, on sm_90a; drop atom=wgmma";
  // A thread's tile is of multiply-adds.
  bool isFma = pins.atom ? pins.atom == AtomKind::FMA
                         : !pins.thread.empty() ||
                               (pins.warpTile.empty() && !hasPieces &&
                                !prefersMma(contraction, mode, target));
  if (!isFma && isMma)
    return selectMma(contraction, pins, target);
  Precision precision = getPrecisionOfFMA(mode);
  ContractionFacts facts = getContractionFacts(contraction, precision);
  if (given.block) {
    numbers.blockRows = (*given.block)[contraction.rowAxis];
    numbers.blockColumns = (*given.block)[contraction.columnAxis];
  }
  if (!pins.thread.empty()) {
    numbers.threadRows = pins.thread[0];
    numbers.threadColumns = pins.thread[1];
  }
  numbers.warps = given.warps.value_or(0);
  numbers.chunk = given.chunk.value_or(0);
  numbers.unroll = given.unroll.value_or(0);
  numbers.vector = given.vector.value_or(0);
  numbers.stages = pins.stages.value_or(0);
  if (pins.transposeSmem != Choice::Auto)
    numbers.isTransposed = pins.transposeSmem == Choice::Always;
  std::string error;
  std::optional<ContractionChoice> choice =
      chooseContraction(facts, target, numbers, error);
  if (!choice)
    return kernel.emitOpError("has no schedule: ") << error;

  SmallVector<int64_t> block(countBlockSizes(contraction), 1);
  block[contraction.rowAxis] = choice->blockRows;
  block[contraction.columnAxis] = choice->blockColumns;
  kernel.setScheduleAttr(ScheduleAttr::get(
      &getContext(), block, choice->warps, choice->vector, /*cluster=*/1,
      choice->chunk, choice->unroll,
      {choice->threadRows, choice->threadColumns}, choice->stages,
      AtomKind::FMA, /*warpTile=*/{}, precision, pins.stageInputs,
      choice->isTransposed ? Choice::Always : pins.transposeSmem,
      pins.asyncCopy, pins.swizzleSmem, pins.padSmem, pins.programmaticLaunch,
      pins.tmaCopy, pins.warpSpecialize, pins.tmaStore, pins.persistBlocks));
  report(contraction, *choice);
  return success();
}

//===----------------------------------------------------------------------===//
// Parts of one grid
//===----------------------------------------------------------------------===//

/// Whether a tile that suits one of two contractions fits the other.
static bool haveLikeTiles(loop::Contraction &a, loop::Contraction &b,
                          Precision precision) {
  ContractionFacts x = getContractionFacts(a, precision),
                   y = getContractionFacts(b, precision);
  auto getOperands = [](const OperandFacts &facts) {
    return std::tuple(facts.count, facts.computed, facts.bytesComputedFrom);
  };
  auto getKey = [&](const ContractionFacts &facts) {
    return std::tuple(facts.elementBytes, facts.sums, facts.isLhsAlongDepth,
                      facts.isRhsAlongDepth, facts.inTwoLevels,
                      getOperands(facts.ofRows), getOperands(facts.ofColumns));
  };
  return countBlockSizes(a) == countBlockSizes(b) && a.rowAxis == b.rowAxis &&
         a.columnAxis == b.columnAxis && getKey(x) == getKey(y) &&
         a.lhs.value.getType() == b.lhs.value.getType();
}

/// Gives `kernel` the tile of `leader` if it can have it, and as many warps
/// else, if it can have those.
LogicalResult SelectSchedulePass::selectLike(loop::KernelOp kernel,
                                             loop::KernelOp leader,
                                             const Pins &pins,
                                             const TargetDescription &target) {
  auto schedule = cast<ScheduleAttr>(leader.getScheduleAttr());
  Pins like = pins;
  like.numbers.warps = schedule.getWarps();
  auto own = loop::findContraction(kernel), its = loop::findContraction(leader);
  if (!own && !its) {
    std::string error;
    if (cast<ScheduleAttr>(kernel.getScheduleAttr()).getWarps() ==
            schedule.getWarps() ||
        !chooseSchedule(
            getScheduleFacts(kernel, alignment, SymbolicSizes::get(kernel)),
            target, like.numbers, error))
      return success();
    return select(kernel, like, target);
  }
  if (!own || !its)
    return success();
  if (!haveLikeTiles(*own, *its, mode)) {
    ContractionFacts facts = getContractionFacts(*own, mode);
    std::string error;
    bool isMma = prefersMma(*own, mode, target);
    MmaPins warps;
    warps.warps = schedule.getWarps();
    ContractionPins threads;
    threads.warps = schedule.getWarps();
    bool canHaveWarps =
        isMma ? chooseMma(facts, target, warps, error).has_value()
              : chooseContraction(facts, target, threads, error).has_value();
    return canHaveWarps ? select(kernel, like, target) : success();
  }
  like.numbers.block.emplace(schedule.getBlock().begin(),
                             schedule.getBlock().end());
  like.numbers.chunk = schedule.getChunk();
  like.atom = schedule.getAtom();
  like.thread.assign(schedule.getThread().begin(), schedule.getThread().end());
  like.warpTile.assign(schedule.getWarpTile().begin(),
                       schedule.getWarpTile().end());
  return select(kernel, like, target);
}

/// All parts of a grid have blocks of one size: those that suit the part that
/// reads most. Where they can't, parts are launched one after the other.
LogicalResult SelectSchedulePass::alignParts(ConcatOp concat, const Pins &pins,
                                             const TargetDescription &target) {
  SymbolTable symbols(getOperation());
  SmallVector<loop::KernelOp> kernels;
  for (PartOp part : concat.getParts())
    kernels.push_back(symbols.lookup<loop::KernelOp>(part.getKernel()));
  loop::KernelOp leader =
      *llvm::max_element(kernels, [](loop::KernelOp a, loop::KernelOp b) {
        return loop::computeCost(a).bytesRead < loop::computeCost(b).bytesRead;
      });
  auto separate = [&](StringRef reason) {
    remark::missed(concat.getLoc(), remark::RemarkOpts::name("SelectSchedule")
                                        .category(DEBUG_TYPE)
                                        .function(concat.getSymName()))
        << "its parts " << reason << " and are launched one after the other";
    separateParts(concat);
    return success();
  };
  auto usesMaps = [](loop::KernelOp kernel) {
    return cast<ScheduleAttr>(kernel.getScheduleAttr()).getAtom() ==
           AtomKind::Wgmma;
  };
  if (llvm::any_of(kernels, usesMaps))
    return separate("copy by tensor maps, arguments of a launch of their own,");
  for (loop::KernelOp kernel : kernels)
    if (kernel != leader && failed(selectLike(kernel, leader, pins, target)))
      return failure();
  auto warps = cast<ScheduleAttr>(leader.getScheduleAttr()).getWarps();
  bool isAligned = llvm::all_of(kernels, [&](loop::KernelOp kernel) {
    auto schedule = cast<ScheduleAttr>(kernel.getScheduleAttr());
    return schedule.getWarps() == warps && schedule.getCluster() == 1;
  });
  return isAligned ? success() : separate("want blocks of different sizes");
}

void SelectSchedulePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<loop::KernelOp> kernels(module.getOps<loop::KernelOp>());
  if (kernels.empty()) {
    remark::missed(
        module.getLoc(),
        remark::RemarkOpts::name("SelectSchedule").category(DEBUG_TYPE))
        << remark::add("the module has no loop.kernel");
    return;
  }
  FailureOr<Precision> given = parsePrecision(precision, module);
  if (failed(given))
    return signalPassFailure();
  // What has no scaled pieces is more exact.
  mode = *given == Precision::F32Fast ? Precision::F32 : *given;
  FailureOr<Pins> pins = parsePins(pin, module);
  TargetAttr target = succeeded(pins) ? TargetAttr::lookup(module) : nullptr;
  if (!target)
    return signalPassFailure();
  for (loop::KernelOp kernel : kernels) {
    Pins own = *pins;
    auto contraction = loop::findContraction(kernel);
    if (llvm::is_contained(withoutWgmma, kernel.getSymName()) && contraction)
      own.atom = prefersMma(*contraction, mode, describe(target))
                     ? AtomKind::MmaSync
                     : AtomKind::FMA;
    if (failed(select(kernel, own, describe(target))))
      return signalPassFailure();
  }
  for (ConcatOp concat : llvm::make_early_inc_range(module.getOps<ConcatOp>()))
    if (failed(alignParts(concat, *pins, describe(target))))
      return signalPassFailure();
}

} // namespace deplo::tile
