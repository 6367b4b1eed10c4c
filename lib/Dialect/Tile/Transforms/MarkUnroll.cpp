// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mark_unroll: says how often loops are unrolled.
//
//   scf.for %k = %c0 to %c8192 step %c2048 { ... }
//
// becomes
//
//   scf.for %k = %c0 to %c8192 step %c2048 { ... } {tile.unroll = 4 : i64}
//
// A loop that adds up products is marked with 1 if its body is too large to
// repeat: LLVM would lay out all iterations of a short one, and ptxas would
// keep operands of several at once in registers that it doesn't have.
//
// Legality: a mark changes no values. It divides the trip count, so that no
// remainder is left, and keeps the unrolled body within the instruction cache.

#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-mark-unroll"

namespace deplo::tile {
#define GEN_PASS_DEF_MARKUNROLLPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static std::optional<int64_t> getTripCount(scf::ForOp loop) {
  APInt from, to, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&from)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&to)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      !step.isStrictlyPositive())
    return std::nullopt;
  int64_t length = to.getSExtValue() - from.getSExtValue();
  return length <= 0 ? 0 : llvm::divideCeil(length, step.getSExtValue());
}

/// Instructions of one iteration in a thread, roughly: one for each element
/// that it computes or accesses.
static int64_t estimateInstructions(scf::ForOp loop) {
  int64_t instructions = 0;
  loop.getBody()->walk([&](Operation *op) {
    Type type = op->getNumResults() != 0    ? op->getResult(0).getType()
                : op->getNumOperands() != 0 ? op->getOperand(0).getType()
                                            : Type();
    LayoutAttr layout = type ? getLayout(type) : LayoutAttr();
    int64_t count = layout ? layout.getLinearLayout().getNumRegisters() : 1;
    if (auto dot = dyn_cast<DotOp>(op)) {
      constexpr int64_t sumsOfInstruction = 4;
      count *= dot.getContractedSize();
      if (dot.getAtomAttr())
        count /= sumsOfInstruction * dot.getAtomDepth();
    }
    // Loops inside have been unrolled already.
    for (Operation *at = op->getParentOp(); at != loop; at = at->getParentOp())
      if (auto factor = at->getAttrOfType<IntegerAttr>("tile.unroll"))
        count *= factor.getInt();
    instructions += count;
  });
  return instructions;
}

static bool hasDot(scf::ForOp loop) {
  return loop.walk([](DotOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether a chunk is of pieces of f32 by wgmma: a dozen instructions or more,
/// whose sums have other registers in each iteration that is laid out.
static bool hasDotOfPieces(scf::ForOp loop) {
  return llvm::any_of(loop.getOps<AsyncDotOp>(),
                      [](AsyncDotOp dot) { return dot.isOfPieces(); });
}

/// Whether the steps of a chunk are laid out in the loop already.
static bool hasStepsOfMma(scf::ForOp loop) {
  auto dots = loop.getBody()->getOps<DotOp>();
  return std::distance(dots.begin(), dots.end()) > 1 &&
         (*dots.begin()).getAtomAttr();
}

/// Whether chunks are copied by single elements, each with an address and
/// bounds that every iteration that is laid out keeps in registers.
static bool copiesElements(scf::ForOp loop) {
  return llvm::any_of(loop.getOps<AsyncCopyOp>(),
                      [](AsyncCopyOp copy) { return copy.getVector() == 1; });
}

int64_t tile::chooseUnroll(scf::ForOp loop, int64_t most) {
  // 32 KB at 16 bytes each, a quarter of the instruction cache of a
  // multiprocessor (128 KB since Volta).
  constexpr int64_t instructionBudget = 2048;
  std::optional<int64_t> trips = getTripCount(loop);
  if (!trips || *trips < 2 || hasStepsOfMma(loop) || hasDotOfPieces(loop))
    return 1;
  most =
      std::min({most, *trips, instructionBudget / estimateInstructions(loop)});
  // Without a loop over chunks what several of them read would be in registers
  // at once. LLVM lays such a loop out whole, too, if a remainder is left: with
  // barriers there can be none.
  bool isOfChunks = hasDot(loop) && !loop.getOps<scf::ForOp>().empty();
  if (isOfChunks)
    most = copiesElements(loop) ? 1 : std::min(most, *trips / 2);
  // Much less than what is wanted is worse than a remainder.
  for (int64_t factor = most; factor > 1 && (isOfChunks || 2 * factor > most);
       --factor)
    if (*trips % factor == 0)
      return factor;
  return isOfChunks ? 1 : std::max<int64_t>(most, 1);
}

namespace {

struct MarkUnrollPass : tile::impl::MarkUnrollPassBase<MarkUnrollPass> {
  using MarkUnrollPassBase::MarkUnrollPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("MarkUnroll")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    int64_t most = unroll != 0            ? int64_t(unroll)
                   : kernel.getSchedule() ? kernel.getSchedule()->getUnroll()
                                          : 1;
    if (most < 1) {
      kernel.emitOpError() << "can't be unrolled with unroll=" << most
                           << ", expected a positive number";
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (scf::ForOp loop : loops) {
      int64_t factor = chooseUnroll(loop, most);
      bool isKept =
          factor == 1 &&
          (hasDot(loop) || (hasDotOfPieces(loop) && getTripCount(loop)));
      if (factor == 1 && !isKept)
        continue;
      loop->setAttr(
          "tile.unroll",
          IntegerAttr::get(IntegerType::get(&getContext(), 64), factor));
      changed = true;
      if (isKept)
        remark::passed(loop.getLoc(), options)
            << "a loop over chunks stays one";
      else
        remark::passed(loop.getLoc(), options) << remark::add(
            "{0} of {1} iterations at once", factor, *getTripCount(loop));
    }
    if (changed)
      return;
    remark::missed(kernel.getLoc(), options)
        << (loops.empty() ? "the kernel has no loop"
            : most == 1   ? "the schedule says unroll = 1"
                          : "no loop has a known number of iterations that can "
                            "be shared out");
    markAllAnalysesPreserved();
  }
};

} // namespace
