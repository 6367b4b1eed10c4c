// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pad_smem: shifts the rows of a buffer so that lanes hit different banks.
//
//   %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<>>
//
// becomes
//
//   %b = tile.alloc : !tile.buffer<32x32xf32, #tile.shared<pad = 1>>
//
// Legality: all accesses go through coordinates, so a pad changes no values. It
// keeps accesses aligned and the block's buffers within the target's shared
// memory.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "deplo-pad-smem"

namespace deplo::tile {
#define GEN_PASS_DEF_PADSMEMPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

std::optional<PaddingEffect>
tile::choosePadding(AllocOp alloc, int64_t alignment, int64_t budget) {
  SharedAttr layout = alloc.getType().getLayout();
  if (alloc.getType().getRank() == 0 || layout.getSwizzle() != 0)
    return std::nullopt;
  std::optional<BufferAccesses> accesses =
      BufferAccesses::get(alloc, alignment);
  std::optional<BankConflicts> before =
      accesses ? accesses->getCost(layout) : std::nullopt;
  if (!before)
    return std::nullopt;

  BufferType buffer = accesses->buffer;
  BankConflicts best = *before;
  PaddingEffect effect{layout.getPad(), before->degree, before->degree,
                       before->wavefronts};
  int64_t bytes = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rows = 1;
  for (int64_t size : alloc.getType().getShape().drop_back())
    rows *= size;
  // Beyond a row of all banks, the pattern repeats.
  int64_t most = std::min<int64_t>(numSharedMemoryBanks * sharedMemoryBankBytes,
                                   budget / rows) /
                 bytes;
  for (int64_t pad = 0; pad <= most && !best.isConflictFree(); ++pad) {
    if (rows > 1 &&
        (buffer.getShape().back() + pad) % accesses->copyVector != 0)
      continue;
    std::optional<BankConflicts> cost = accesses->getCost(
        SharedAttr::get(alloc.getContext(), pad, /*swizzle=*/0));
    if (!cost || cost->wavefronts >= best.wavefronts)
      continue;
    best = *cost;
    effect.pad = pad;
    effect.degreeAfter = cost->degree;
    effect.wavefronts = cost->wavefronts;
  }
  return effect;
}

/// Why a buffer gets no other pad.
static std::string getReason(AllocOp alloc,
                             const std::optional<PaddingEffect> &effect,
                             int64_t budget) {
  if (alloc.getType().getLayout().getSwizzle() != 0)
    return " is swizzled";
  if (!effect)
    return " has accesses without layouts or evenly spaced rows";
  if (effect->degreeBefore <= 1)
    return " has conflict-free accesses";
  return " keeps " + describeConflicts(effect->degreeBefore) +
         " accesses: no pad of up to " + std::to_string(budget) +
         " bytes lowers that";
}

namespace {

struct PadSmemPass : tile::impl::PadSmemPassBase<PadSmemPass> {
  using PadSmemPassBase::PadSmemPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Choice> choice =
        getChoice(kernel, mode,
                  [](ScheduleAttr schedule) { return schedule.getPadSmem(); });
    if (failed(choice) || failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("PadSmem")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<AllocOp> buffers = getBuffersToLayOut(kernel, *choice, options);
    if (buffers.empty())
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(kernel);
    if (!target)
      return signalPassFailure();
    int64_t left = target.getSharedPerBlock() - getSharedBytes(kernel);
    SmallVector<std::string> reasons;
    for (AllocOp alloc : buffers) {
      int64_t bytes = alloc.getType().getSizeInBytes();
      int64_t budget =
          *choice == Choice::Always ? left : std::min(left, bytes / 4);
      std::optional<PaddingEffect> effect =
          choosePadding(alloc, alignment, budget);
      std::string name = getBufferName(alloc, getMemrefName);
      if (!effect || effect->pad == alloc.getType().getLayout().getPad()) {
        reasons.push_back(name + getReason(alloc, effect, budget));
        continue;
      }
      setLayout(alloc, SharedAttr::get(&getContext(), effect->pad, 0));
      left -= alloc.getType().getSizeInBytes() - bytes;
      remark::passed(alloc.getLoc(), options)
          << remark::add("accesses of {0}: {1} -> {2} with a pad of {3}", name,
                         describeConflicts(effect->degreeBefore),
                         describeConflicts(effect->degreeAfter), effect->pad);
    }
    if (!reasons.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", llvm::join(reasons, "; "));
  }
};

} // namespace
