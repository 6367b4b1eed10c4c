// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// widen_stores: lanes exchange elements before a store, so that each writes 16
// bytes in a row.
//
//   tile.store %a, %y[%i, %j] : tensor<128x256xf16, #fragments>, memref<...>
//
// becomes
//
//   %b = tile.convert_layout %a : tensor<128x256xf16, #fragments> ->
//   tensor<128x256xf16, #rows>
//   tile.store %b, %y[%i, %j] : tensor<128x256xf16, #rows>, memref<...>
//
// Legality: a conversion changes no values. It is done where it takes shuffles
// only, exchanges of bits of the lane and register numbers, and where memory
// allows wider accesses than the layout.

#include "PassSupport.h"
#include "deplo/Analysis/BitSwaps.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-widen-stores"

namespace deplo::tile {
#define GEN_PASS_DEF_WIDENSTORESPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

int64_t tile::widenStore(StoreOp store, int64_t alignment) {
  constexpr int64_t widestAccess = 16;
  BoxAccess box = *BoxAccess::get(store);
  std::optional<unsigned> unit = box.getUnitStrideDim();
  LayoutAttr layout = getLayout(store.getValue());
  if (!unit || !layout)
    return 0;
  LinearLayout from = layout.getLinearLayout();
  LinearLayout to =
      getWidened(from, *unit, widestAccess / box.getElementBytes());
  if (!getBitSwaps(from, to))
    return 0;
  int64_t before = getAccessWidth(store, alignment);
  OpBuilder builder(store);
  Value value = store.getValue();
  auto converted = ConvertLayoutOp::create(
      builder, store.getLoc(),
      cast<RankedTensorType>(value.getType())
          .cloneWithEncoding(LayoutAttr::get(store.getContext(), to)),
      value);
  store.getValueMutable().assign(converted);
  int64_t width = getAccessWidth(store, alignment);
  if (width > before)
    return width;
  // Memory allows no wider access.
  store.getValueMutable().assign(value);
  converted.erase();
  return 0;
}

namespace {

struct WidenStoresPass : tile::impl::WidenStoresPassBase<WidenStoresPass> {
  using WidenStoresPassBase::WidenStoresPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    auto options = remark::RemarkOpts::name("WidenStores")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    bool hasAtom =
        kernel
            .walk([](Operation *op) {
              auto dot = dyn_cast<DotOp>(op);
              return isa<AsyncDotOp>(op) || (dot && dot.getAtomAttr())
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (!hasAtom) {
      remark::missed(kernel.getLoc(), options)
          << "the kernel has no fragments of tensor cores";
      return markAllAnalysesPreserved();
    }
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) { stores.push_back(store); });
    unsigned count = 0;
    for (StoreOp store : stores) {
      std::string name = getMemrefName(store.getMemref());
      int64_t bytes = BoxAccess::get(store)->getElementBytes();
      int64_t width = widenStore(store, alignment);
      if (width == 0)
        continue;
      ++count;
      remark::passed(store.getLoc(), options) << remark::add(
          "{0} is written {1} bytes at a time", name, width * bytes);
    }
    if (count != 0)
      return;
    remark::missed(kernel.getLoc(), options)
        << "no exchange between lanes makes accesses wider";
    markAllAnalysesPreserved();
  }
};

} // namespace
