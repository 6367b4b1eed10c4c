// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_matmul_k: the sum of a contraction is divided among blocks.
//
//   loop.kernel @mm(%x, %w, %y) {
//     loop.for %i = 0 to 32 { loop.for %j = 0 to 2048 {
//       %s = loop.reduce add %k = 0 to 2048 : f32 { ... }
//       ...
//       loop.store %r, %y[%i, %j]
// -> (4 parts)
//   loop.kernel @mm_parts(%x: memref<32x4x512xf32>, %w: memref<4x512x2048xf32>,
//                         %t: memref<4x32x2048xf32>) {
//     loop.for %i = 0 to 32 { loop.for %j = 0 to 2048 { loop.for %p = 0 to 4 {
//       %s = loop.reduce add %k = 0 to 512 : f32 { ... }
//       loop.store %s, %t[%p, %i, %j]
//   loop.kernel @mm(%y, %t) {
//     loop.for %i = 0 to 32 { loop.for %j = 0 to 2048 {
//       %s = loop.reduce add %p = 0 to 4 : f32 { loop.load %t[%p, %i, %j] }
//       ...
//       loop.store %r, %y[%i, %j]
//
// The parts are a batch of contractions, which the steps that follow schedule
// as any other. What is computed of the result comes after the sum over parts,
// once. The step is the third in the order of decisions, and comes first in the
// pipeline because kernels are made of loops (rationale: contractions.md,
// "Split-K").
//
// Where a kernel folds the rows of a product, blocks own the columns that they
// fold. Then it is the fold that is divided, into parts that blocks can own:
//
//       %m = loop.reduce max %j = 0 to 2048 : f32 {
//         %s = loop.reduce add %k = 0 to 2048 : f32 { ... %w[%k, %j] ... }
// -> (16 parts)
//       loop.for %p = 0 to 16 {
//         %m = loop.reduce max %j = 0 to 128 : f32 {
//           %s = loop.reduce add %k = 0 to 2048 : f32 { ... %w[%k, %p, %j] ...
//           }
//
// Legality is that of split_reduce: the monoid is associative and commutative
// by declaration, parts are added in the order of their numbers, and views
// divide the summed dimension of both operands.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

#include <set>

#define DEBUG_TYPE "deplo-split-matmul-k"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_SPLITMATMULKPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

/// Summed elements of a part below which its launch costs more than it saves.
static constexpr int64_t leastPart = 128;
/// Parts of which a multiprocessor computes this many one beside the other.
static constexpr int64_t mostOfMultiprocessor = 4;
/// The part of a kernel's time that several kernels may take in its place. The
/// model of multiply-adds was fitted to both, those of tensor cores were not;
/// an estimate of 0.98 for 8192x8192x8192 was 1.08 when measured (H200).
static constexpr double worthSplitting = 0.9, worthSplittingFma = 0.95;

namespace {

struct SplitMatmulKPass : impl::SplitMatmulKPassBase<SplitMatmulKPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  std::optional<Split> chooseColumns(loop::KernelOp kernel, int64_t columns,
                                     const TargetDescription &target,
                                     std::string &times, std::string &reason);
  std::optional<Split> choose(loop::KernelOp kernel, int64_t pinned,
                              const TargetDescription &target,
                              std::string &times, std::string &reason);

  Precision mode = Precision::IEEE;
};

} // namespace

/// Blocks fold the rows of a product: of all columns, or of the parts that take
/// least time, which a second kernel folds.
std::optional<Split>
SplitMatmulKPass::chooseColumns(loop::KernelOp kernel, int64_t columns,
                                const TargetDescription &target,
                                std::string &times, std::string &reason) {
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
  std::optional<double> whole =
      estimateKernel(kernel, target, alignment, sizes, mode);
  double least = whole ? worthSplitting * *whole : HUGE_VAL;
  std::optional<Split> best;
  for (int64_t length : {256, 128, 64, 32}) {
    FailureOr<Split> split = failure();
    if (columns >= 2 * length || (columns > length && !whole))
      split = splitReductions(kernel, std::max<int64_t>(columns / length, 2),
                              /*leastPart=*/1);
    if (failed(split))
      continue;
    std::optional<double> time = estimateSplit(*split, target, alignment, mode);
    if (time && *time < least) {
      best = std::move(*split);
      least = *time;
    }
  }
  times = llvm::formatv("{0:f2} us instead of {1:f2} us", least * 1e-3,
                        whole.value_or(HUGE_VAL) * 1e-3);
  if (!best)
    reason = llvm::formatv("a block folds rows of all {0} columns", columns);
  return best;
}

/// Of how many products the sums are that `split` computes in parts.
static void sayPartOf(Split &split, int64_t depth) {
  for (SplitKernel &part : split.kernels)
    if (auto contraction = loop::findContraction(part.kernel.get()))
      contraction->reduce->setAttr(
          partOfAttrName,
          Builder(part.kernel->getContext()).getI64IntegerAttr(depth));
}

std::optional<Split> SplitMatmulKPass::choose(loop::KernelOp kernel,
                                              int64_t pinned,
                                              const TargetDescription &target,
                                              std::string &times,
                                              std::string &reason) {
  auto contraction = loop::findContraction(kernel);
  if (!contraction) {
    reason = "it is no contraction";
    return std::nullopt;
  }
  if (contraction->foldsRows())
    return chooseColumns(kernel, contraction->getColumns(), target, times,
                         reason);
  int64_t depth = contraction->getDepth();
  if (SymbolicSizes::get(kernel).isSymbolic(depth)) {
    reason = "how many products it adds is known when the program runs";
    return std::nullopt;
  }
  int64_t most = pinned
                     ? pinned
                     : std::min(depth / leastPart,
                                mostOfMultiprocessor * target.multiprocessors);
  if (pinned == 1 || most < 2) {
    reason = pinned == 1 ? "the schedule says one part" : "its sums are short";
    return std::nullopt;
  }
  std::optional<double> whole = estimateKernel(
      kernel, target, alignment, SymbolicSizes::get(kernel), mode);
  double worth = prefersMma(*contraction, mode, target) ? worthSplitting
                                                        : worthSplittingFma;
  double least = whole ? worth * *whole : HUGE_VAL;
  double quickest = HUGE_VAL;
  std::optional<Split> best;
  std::set<int64_t> tried;
  for (int64_t count = pinned ? pinned : 2; count <= most;
       count += std::max<int64_t>(count / 4, 1)) {
    FailureOr<Split> split = splitReductions(kernel, count, /*leastPart=*/1);
    if (failed(split)) {
      reason = "its operands can't be divided by a view";
      return std::nullopt;
    }
    if (!tried.insert(split->parts).second)
      continue;
    sayPartOf(*split, depth);
    double time =
        estimateSplit(*split, target, alignment, mode).value_or(HUGE_VAL);
    quickest = std::min(quickest, time);
    if (pinned || time < least) {
      best = std::move(*split);
      least = time;
    }
  }
  times = llvm::formatv("{0:f2} us instead of {1:f2} us", quickest * 1e-3,
                        whole.value_or(HUGE_VAL) * 1e-3);
  if (!best)
    reason = "parts in blocks of their own don't pay: " + times;
  return best;
}

void SplitMatmulKPass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<loop::KernelOp> kernels(module.getOps<loop::KernelOp>());
  if (kernels.empty()) {
    remark::missed(
        module.getLoc(),
        remark::RemarkOpts::name("SplitMatmulK").category(DEBUG_TYPE))
        << remark::add("the module has no loop.kernel");
    return;
  }
  FailureOr<int64_t> pinned = parsePinnedParts(pin, module);
  FailureOr<Precision> given = parsePrecision(precision, module);
  TargetAttr target = succeeded(pinned) && succeeded(given)
                          ? TargetAttr::lookup(module)
                          : TargetAttr();
  if (!target)
    return signalPassFailure();
  mode = *given;
  SymbolTable symbols(module);
  for (loop::KernelOp kernel : kernels) {
    auto options = remark::RemarkOpts::name("SplitMatmulK")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    std::string times, reason;
    auto contraction = loop::findContraction(kernel);
    bool foldsRows = contraction && contraction->foldsRows();
    std::optional<Split> split =
        choose(kernel, *pinned, describe(target), times, reason);
    if (!split) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
      continue;
    }
    remark::passed(kernel.getLoc(), options)
        << remark::add("{0} of {1} {2} in {3} parts, {4} kernels: {5}",
                       foldsRows ? "folds" : "sums", split->extent,
                       foldsRows ? "columns" : "products", split->parts,
                       split->kernels.size(), times);
    replaceKernel(kernel, *split, symbols);
  }
}

} // namespace deplo::tile
