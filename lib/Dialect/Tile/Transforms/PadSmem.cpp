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
#include "deplo/Analysis/SharedMemory.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
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

namespace {

/// What a warp does to a box of a buffer: to the model, a buffer of the box's
/// shape whose rows are followed by the rest of the real buffer's.
struct ModelledAccess {
  SharedAccess access;
  SharedBuffer box;
};

} // namespace

/// Nothing, if rows of the box are not evenly spaced in the buffer.
static std::optional<ModelledAccess>
modelBox(BufferType buffer, const LinearLayout &layout, int64_t vector) {
  ModelledAccess result;
  result.access.layout = layout;
  result.access.vectorWidth = vector;
  result.box.shape.assign(layout.getShape());
  result.box.elementBytes = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  result.box.pad = buffer.getShape().back() - result.box.shape.back();
  // The first dimension only says how many rows there are.
  for (unsigned dim = 1; dim + 1 < result.box.shape.size(); ++dim)
    if (result.box.shape[dim] != buffer.getShape()[dim])
      return std::nullopt;
  return result;
}

/// Nothing, if the tile has no layout or can't be modelled.
static std::optional<ModelledAccess> modelTile(BufferType buffer, Value tile,
                                               int64_t vector) {
  LayoutAttr layout = getLayout(tile);
  return layout ? modelBox(buffer, layout.getLinearLayout(), vector)
                : std::nullopt;
}

/// Elements of one access of a thread: as chosen, or else as can be.
static int64_t getVector(Operation *access, int64_t alignment) {
  auto chosen = access->getAttrOfType<IntegerAttr>("vector");
  return chosen ? chosen.getInt() : getAccessWidth(access, alignment);
}

/// What all accesses cost with `pad`; nothing if it misaligns one.
static std::optional<BankConflicts> getCost(ArrayRef<ModelledAccess> accesses,
                                            int64_t pad) {
  BankConflicts cost;
  for (const ModelledAccess &modelled : accesses) {
    SharedBuffer box = modelled.box;
    box.pad += pad;
    llvm::Expected<BankConflicts> conflicts =
        getBankConflicts(modelled.access, box);
    if (!conflicts) {
      llvm::consumeError(conflicts.takeError());
      return std::nullopt;
    }
    cost += *conflicts;
  }
  return cost;
}

std::optional<PaddingEffect>
tile::choosePadding(AllocOp alloc, int64_t alignment, int64_t budget) {
  BufferType buffer = alloc.getType();
  if (buffer.getRank() == 0 || buffer.getLayout().getSwizzle() != 0)
    return std::nullopt;
  // The slots of a ring are accessed alike.
  SmallVector<Operation *> users;
  for (Operation *user : alloc.getResult().getUsers()) {
    auto slot = dyn_cast<SlotOp>(user);
    if (!slot) {
      users.push_back(user);
      continue;
    }
    buffer = slot.getResult().getType();
    llvm::append_range(users, slot.getResult().getUsers());
  }
  std::vector<ModelledAccess> accesses;
  // Copies go along rows, without conflicts, but need them aligned.
  int64_t copyVector = 1;
  for (Operation *user : users) {
    int64_t vector = getVector(user, alignment);
    if (isa<CopyOp, AsyncCopyOp>(user)) {
      copyVector = std::max(copyVector, vector);
      continue;
    }
    std::optional<ModelledAccess> modelled =
        isa<ReadOp>(user)
            ? modelTile(buffer, user->getResult(0), vector)
            : modelTile(buffer, cast<WriteOp>(user).getValue(), vector);
    if (!modelled)
      return std::nullopt;
    accesses.push_back(std::move(*modelled));
  }
  std::optional<BankConflicts> before =
      getCost(accesses, buffer.getLayout().getPad());
  if (!before)
    return std::nullopt;

  BankConflicts best = *before;
  PaddingEffect effect{buffer.getLayout().getPad(), before->degree,
                       before->degree, before->wavefronts};
  int64_t bytes = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rows = 1;
  for (int64_t size : alloc.getType().getShape().drop_back())
    rows *= size;
  // Beyond a row of all banks, the pattern repeats.
  int64_t most = std::min<int64_t>(numSharedMemoryBanks * sharedMemoryBankBytes,
                                   budget / rows) /
                 bytes;
  for (int64_t pad = 0; pad <= most && !best.isConflictFree(); ++pad) {
    if (rows > 1 && (buffer.getShape().back() + pad) % copyVector != 0)
      continue;
    std::optional<BankConflicts> cost = getCost(accesses, pad);
    if (!cost || cost->wavefronts >= best.wavefronts)
      continue;
    best = *cost;
    effect.pad = pad;
    effect.degreeAfter = cost->degree;
    effect.wavefronts = cost->wavefronts;
  }
  return effect;
}

void tile::padBuffer(AllocOp alloc, int64_t pad) {
  BufferType before = alloc.getType();
  SharedAttr shared =
      SharedAttr::get(alloc.getContext(), pad, before.getLayout().getSwizzle());
  auto setPad = [&](Value buffer) {
    auto type = cast<BufferType>(buffer.getType());
    buffer.setType(BufferType::get(alloc.getContext(), type.getShape(),
                                   type.getElementType(), shared));
  };
  setPad(alloc.getResult());
  for (Operation *user : alloc.getResult().getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      setPad(slot.getResult());
}

/// `2-way`, or `conflict-free`.
static std::string describe(int64_t degree) {
  return degree <= 1 ? "conflict-free" : std::to_string(degree) + "-way";
}

/// Why a buffer gets no other pad.
static std::string getReason(const std::optional<PaddingEffect> &effect,
                             int64_t budget) {
  if (!effect)
    return " has accesses without layouts or evenly spaced rows";
  if (effect->degreeBefore <= 1)
    return " has conflict-free accesses";
  return " keeps " + describe(effect->degreeBefore) +
         " accesses: no pad of up to " + std::to_string(budget) +
         " bytes lowers that";
}

/// The name of the input that a buffer holds.
static std::string getBufferName(AllocOp alloc) {
  SmallVector<Operation *> users(alloc.getResult().getUsers());
  for (Operation *user : alloc.getResult().getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      llvm::append_range(users, slot.getResult().getUsers());
  for (Operation *user : users)
    if (isa<CopyOp, AsyncCopyOp>(user))
      return "the buffer of " + getMemrefName(BoxAccess::get(user)->memref);
  return "a buffer";
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
    SmallVector<AllocOp> buffers;
    kernel.walk([&](AllocOp alloc) { buffers.push_back(alloc); });
    if (buffers.empty() || *choice == Choice::Never) {
      remark::missed(kernel.getLoc(), options)
          << (buffers.empty() ? "the kernel has no shared buffer"
                              : "the schedule says never");
      return markAllAnalysesPreserved();
    }
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
      std::string name = getBufferName(alloc);
      if (!effect || effect->pad == alloc.getType().getLayout().getPad()) {
        reasons.push_back(name + getReason(effect, budget));
        continue;
      }
      padBuffer(alloc, effect->pad);
      left -= alloc.getType().getSizeInBytes() - bytes;
      remark::passed(alloc.getLoc(), options)
          << remark::add("accesses of {0}: {1} -> {2} with a pad of {3}", name,
                         describe(effect->degreeBefore),
                         describe(effect->degreeAfter), effect->pad);
    }
    if (!reasons.empty())
      remark::missed(kernel.getLoc(), options)
          << remark::add("{0}", llvm::join(reasons, "; "));
  }
};

} // namespace
