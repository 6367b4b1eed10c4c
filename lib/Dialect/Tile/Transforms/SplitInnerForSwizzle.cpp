// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_inner_for_swizzle: operands lie in shared memory as wgmma reads them.
//
//   %a = tile.alloc : !tile.buffer<4x128x64xbf16, #tile.shared<>>
//
// becomes
//
//   %a = tile.alloc : !tile.buffer<4x128x64xbf16, #tile.shared<swizzle = 128>>
//
// and, where wgmma finds what is summed over in columns,
//
//   %b = tile.alloc : !tile.buffer<4x64x256xbf16, #tile.shared<>>
//
// becomes
//
//   %b = tile.alloc :
//     !tile.buffer<4x64x256xbf16, #tile.shared<swizzle = 128, split = true>>
//
// Legality: all accesses go through coordinates, but for those of wgmma and of
// tensor maps, which know the same swizzles. Rows are one atom of the swizzle
// long (32, 64 or 128 bytes; a chunk is no longer) or are split in such.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-split-inner-for-swizzle"

namespace deplo::tile {
#define GEN_PASS_DEF_SPLITINNERFORSWIZZLEPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static bool isReadByWgmma(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto slot = dyn_cast<SlotOp>(user);
    return isa<AsyncDotOp>(user) || (slot && isReadByWgmma(slot.getResult()));
  });
}

int64_t tile::swizzleForWgmma(AllocOp alloc) {
  if (!isReadByWgmma(alloc.getResult()))
    return 0;
  BufferType type = alloc.getType();
  int64_t span = type.getShape().back() *
                 type.getElementType().getIntOrFloatBitWidth() / 8;
  constexpr int64_t longest = 128;
  int64_t swizzle = std::min(span, longest);
  setLayout(alloc, SharedAttr::get(alloc.getContext(), /*pad=*/0, swizzle,
                                   /*split=*/span > swizzle));
  return swizzle;
}

namespace {

struct SplitInnerForSwizzlePass
    : tile::impl::SplitInnerForSwizzlePassBase<SplitInnerForSwizzlePass> {
  using SplitInnerForSwizzlePassBase::SplitInnerForSwizzlePassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("SplitInnerForSwizzle")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<AllocOp> buffers;
    kernel.walk([&](AllocOp alloc) { buffers.push_back(alloc); });
    bool isAny = false;
    for (AllocOp alloc : buffers) {
      std::string name = getBufferName(alloc, getMemrefName);
      int64_t span = swizzleForWgmma(alloc);
      if (span == 0)
        continue;
      isAny = true;
      remark::passed(alloc.getLoc(), options) << remark::add(
          "{0} has rows of one swizzle of {1} bytes", name, span);
    }
    if (isAny)
      return;
    remark::missed(kernel.getLoc(), options)
        << "wgmma reads no buffer of the kernel";
    markAllAnalysesPreserved();
  }
};

} // namespace
