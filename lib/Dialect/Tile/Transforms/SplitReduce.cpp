// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides long reductions of few results among kernels that fill the device.
//
//   loop.kernel @sum(%x, %y) {
//     %s = loop.reduce add %k = 0 to 67108864 : f32 {
//       %a = loop.load %x[%k]
//       loop.yield %a
//     }
//     loop.store %s, %y[]
//   }
// -> (1024 parts)
//   loop.kernel @sum_parts(%x: memref<1024x65536xf32>, %t: memref<1024xf32>) {
//     loop.for %p = 0 to 1024 {
//       %s = loop.reduce add %k = 0 to 65536 : f32 {
//         %a = loop.load %x[%p, %k]
//         loop.yield %a
//       }
//       loop.store %s, %t[%p]
//     }
//   }
//   loop.kernel @sum(%y, %t: memref<1024xf32>) {
//     %s = loop.reduce add %p = 0 to 1024 : f32 {
//       %a = loop.load %t[%p]
//       loop.yield %a
//     }
//     loop.store %s, %y[]
//   }
//
// What parts of one length leave over is one more part, by a kernel of its own.
// A number of elements that is known when the program runs is divided by what
// divides all of those that there may be: 4096 rows of any length have 1024
// parts of 4 rows. If that is no number of parts, the reduction itself has
// parts, and the program that runs divides it:
//
//     loop.for %p = 0 to 1024 {
//       %s = loop.reduce add %k = 0 to %n part %p of 1024 : f32 {
//         %a = loop.load %x[%k]
//         loop.yield %a
//       }
//       loop.store %s, %t[%p]
//     }
//
// If the kernel has other loops, a kernel totals the parts, and the rest loads
// the total: then a sweep over the row is an axis of the rest, as long as no
// other reduction is left.
//
// Legality. The monoid is associative and commutative by declaration and the
// parts are combined in an order that is fixed. The body of the reduction has
// no effects; it runs once for each element as before. Its coordinate is the
// whole coordinate of one dimension of what it loads, so that a view can divide
// that dimension. What the body uses from outside is computed again.

#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

#include <cmath>

#define DEBUG_TYPE "deplo-split-reduce"

using namespace mlir;

namespace deplo::tile {

#define GEN_PASS_DEF_SPLITREDUCEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"

/// Elements of a part below which its launch costs more than it saves.
static constexpr int64_t leastPart = 512;
/// Blocks a multiprocessor beyond which more parts don't help.
static constexpr int64_t mostBlocks = 8;
/// The part of a kernel's time that several kernels may take in its place: the
/// estimates of small kernels are not better than that.
static constexpr double worthSplitting = 0.8;
/// The same where the blocks of a cluster would share a row: a kernel that is
/// long enough for a cluster to pay.
static constexpr double worthMoreThanCluster = 0.97;
/// The same there for twice as many parts.
static constexpr double worthMoreParts = 0.99;

/// The longest reduction directly in the innermost axis of `kernel`.
static loop::ReduceOp findReduction(loop::KernelOp kernel) {
  SmallVector<loop::ForOp> axes = getAxisLoops(kernel);
  Block *block = axes.empty() ? kernel.getBody() : axes.back().getBody();
  loop::ReduceOp longest;
  for (auto reduce : block->getOps<loop::ReduceOp>())
    if (!longest || reduce.getExtent() > longest.getExtent())
      longest = reduce;
  return longest;
}

namespace {

struct SplitReducePass : impl::SplitReducePassBase<SplitReducePass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void split(loop::KernelOp kernel, SymbolTable &symbols,
             const TargetDescription &target);
  std::optional<Split> choose(loop::KernelOp kernel,
                              const TargetDescription &target,
                              std::string &times, std::string &reason);
};

} // namespace

std::optional<Split> SplitReducePass::choose(loop::KernelOp kernel,
                                             const TargetDescription &target,
                                             std::string &times,
                                             std::string &reason) {
  loop::ReduceOp reduce = findReduction(kernel);
  if (!reduce) {
    reason = "the kernel has no reduction";
    return std::nullopt;
  }
  if (loop::findContraction(kernel)) {
    reason = "it is a contraction";
    return std::nullopt;
  }
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
  bool hasScan =
      kernel->walk([](loop::ScanOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (hasScan) {
    reason = "the kernel has a scan";
    return std::nullopt;
  }
  if (parts == 1) {
    reason = "the option says one part";
    return std::nullopt;
  }
  std::string error;
  std::optional<ScheduleChoice> whole = chooseSchedule(
      getScheduleFacts(kernel, alignment, sizes), target, {}, error);
  int64_t most = std::min<int64_t>(sizes.getMax(reduce.getExtent()) / leastPart,
                                   mostBlocks * target.multiprocessors);
  if (parts == 0 &&
      (!whole || most < 2 ||
       (whole->cluster == 1 && whole->blocks >= 2 * target.multiprocessors))) {
    if (!whole || most < 2)
      reason = "its reductions are short";
    else
      reason = llvm::formatv("{0} blocks keep {1} multiprocessors busy",
                             whole->blocks, target.multiprocessors);
    return std::nullopt;
  }
  std::optional<Split> best;
  double quickest = HUGE_VAL;
  bool isShared = whole && whole->cluster > 1;
  double nanoseconds =
      whole ? whole->nanoseconds *
                  (isShared ? worthMoreThanCluster : worthSplitting)
            : 0;
  int64_t first = parts ? int64_t(parts) : 2;
  int64_t last = parts ? int64_t(parts) : most;
  for (int64_t count = first; count <= last; count *= 2) {
    FailureOr<Split> split =
        splitReductions(kernel, count, parts ? 2 : leastPart);
    if (failed(split)) {
      reason = "its loads can't be divided by a view";
      return std::nullopt;
    }
    std::optional<double> time = estimateSplit(*split, target, alignment);
    quickest = std::min(quickest, time.value_or(HUGE_VAL));
    if (parts != 0 || (time && *time < nanoseconds)) {
      best = std::move(*split);
      nanoseconds = time.value_or(0) * (isShared ? worthMoreParts : 1);
    }
  }
  times = llvm::formatv("{0:f2} us instead of {1:f2} us", quickest * 1e-3,
                        whole ? whole->nanoseconds * 1e-3 : HUGE_VAL);
  if (!best && reason.empty())
    reason = "parts in kernels of their own don't pay: " + times;
  return best;
}

void SplitReducePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<loop::KernelOp> kernels(module.getOps<loop::KernelOp>());
  if (kernels.empty()) {
    remark::missed(module.getLoc(),
                   remark::RemarkOpts::name("SplitReduce").category(DEBUG_TYPE))
        << remark::add("the module has no loop.kernel");
    return;
  }
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return signalPassFailure();
  SymbolTable symbols(module);
  for (loop::KernelOp kernel : kernels)
    split(kernel, symbols, describe(target));
}

void SplitReducePass::split(loop::KernelOp kernel, SymbolTable &symbols,
                            const TargetDescription &target) {
  auto options = remark::RemarkOpts::name("SplitReduce")
                     .category(DEBUG_TYPE)
                     .function(kernel.getSymName());
  std::string times, reason;
  std::optional<Split> split = choose(kernel, target, times, reason);
  if (!split) {
    remark::missed(kernel.getLoc(), options) << remark::add("{0}", reason);
    return;
  }
  remark::passed(kernel.getLoc(), options) << remark::add(
      "a reduction over {0} elements in {1} parts, {2} kernels: {3}",
      split->extent, split->parts, split->kernels.size(), times);
  replaceKernel(kernel, *split, symbols);
}

} // namespace deplo::tile
