// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// swizzle_smem: exchanges 16-byte chunks of a buffer's rows so that lanes hit
// different banks.
//
//   %b = tile.alloc : !tile.buffer<128x64xf16, #tile.shared<>>
//
// becomes
//
//   %b = tile.alloc : !tile.buffer<128x64xf16, #tile.shared<swizzle = 128>>
//
// Legality: all accesses go through coordinates and none is wider than a chunk,
// so where chunks lie changes no values.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-swizzle-smem"

namespace deplo::tile {
#define GEN_PASS_DEF_SWIZZLESMEMPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

std::optional<SwizzleEffect> tile::chooseSwizzle(AllocOp alloc,
                                                 int64_t alignment) {
  SharedAttr layout = alloc.getType().getLayout();
  std::optional<BufferAccesses> accesses =
      BufferAccesses::get(alloc, alignment);
  std::optional<BankConflicts> before =
      accesses ? accesses->getCost(layout) : std::nullopt;
  if (!before)
    return std::nullopt;
  SwizzleEffect effect{layout.getSwizzle(), before->degree, before->degree,
                       accesses->isOfMatrices};
  int64_t rowBytes = accesses->buffer.getModel().elementBytes *
                     accesses->buffer.getShape().back();
  int64_t fewest = before->wavefronts;
  if (layout.getPad() != 0 || !llvm::isPowerOf2_64(rowBytes))
    return effect;
  for (int64_t span : {32, 64, 128}) {
    if (span > rowBytes)
      break;
    std::optional<BankConflicts> cost =
        accesses->getCost(SharedAttr::get(alloc.getContext(), /*pad=*/0, span));
    if (!cost || cost->wavefronts >= fewest)
      continue;
    fewest = cost->wavefronts;
    effect.swizzle = span;
    effect.degreeAfter = cost->degree;
  }
  return effect;
}

/// Why a buffer is not swizzled.
static std::string getReason(const std::optional<SwizzleEffect> &effect) {
  if (!effect)
    return " has accesses without layouts or evenly spaced rows";
  if (effect->degreeBefore <= 1)
    return " has conflict-free accesses";
  if (!effect->isOfMatrices)
    return " is not read by ldmatrix alone";
  return " keeps " + describeConflicts(effect->degreeBefore) +
         " accesses: no swizzle lowers that";
}

namespace {

struct SwizzleSmemPass : tile::impl::SwizzleSmemPassBase<SwizzleSmemPass> {
  using SwizzleSmemPassBase::SwizzleSmemPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode, [](ScheduleAttr schedule) {
          return schedule.getSwizzleSmem();
        });
    if (failed(choice) || failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("SwizzleSmem")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<AllocOp> buffers = getBuffersToLayOut(kernel, *choice, options);
    if (buffers.empty())
      return markAllAnalysesPreserved();
    SmallVector<std::string> reasons;
    for (AllocOp alloc : buffers) {
      std::optional<SwizzleEffect> effect = chooseSwizzle(alloc, alignment);
      std::string name = getBufferName(alloc, getMemrefName);
      bool isWanted =
          effect && (effect->isOfMatrices || *choice == Choice::Always);
      if (!isWanted ||
          effect->swizzle == alloc.getType().getLayout().getSwizzle()) {
        reasons.push_back(name + getReason(effect));
        continue;
      }
      setLayout(alloc,
                SharedAttr::get(&getContext(), /*pad=*/0, effect->swizzle));
      remark::passed(alloc.getLoc(), options) << remark::add(
          "accesses of {0}: {1} -> {2} with a swizzle of {3}", name,
          describeConflicts(effect->degreeBefore),
          describeConflicts(effect->degreeAfter), effect->swizzle);
    }
    if (!reasons.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", llvm::join(reasons, "; "));
  }
};

} // namespace
