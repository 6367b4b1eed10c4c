// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vectorize_access: chooses how many elements each access of a thread moves.
//
//   %a = tile.load %x[%i, %c0] : memref<32x2048xf32> -> tensor<1x2048xf32,
//   #layout>
//
// becomes
//
//   %a = tile.load %x[%i, %c0] vector 4 : memref<32x2048xf32> ->
//   tensor<1x2048xf32, #layout>
//
// Legality: a thread holds that many neighbours, and every access starts at a
// multiple of its size. Elements of an access that bounds end within move one
// by one. See getAccessWidth.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "deplo-vectorize-access"

namespace deplo::tile {
#define GEN_PASS_DEF_VECTORIZEACCESSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

bool tile::vectorizeAccess(Operation *op, int64_t alignment) {
  constexpr StringLiteral attribute = "vector";
  if (op->hasAttr(attribute))
    return false;
  int64_t width = getAccessWidth(op, alignment);
  if (width > 1)
    op->setAttr(attribute, IntegerAttr::get(
                               IntegerType::get(op->getContext(), 64), width));
  return width > 1;
}

namespace {

struct VectorizeAccessPass
    : tile::impl::VectorizeAccessPassBase<VectorizeAccessPass> {
  using VectorizeAccessPassBase::VectorizeAccessPassBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkAlignment(kernel, alignment)))
      return signalPassFailure();
    int64_t vectorized = 0, total = 0;
    kernel.walk([&](Operation *op) {
      if (!isa<LoadOp, StoreOp, GatherOp, CopyOp, AsyncCopyOp, ReadOp, WriteOp>(
              op))
        return;
      ++total;
      vectorized += vectorizeAccess(op, alignment);
    });
    auto options = remark::RemarkOpts::name("VectorizeAccess")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    if (vectorized != 0)
      remark::passed(kernel.getLoc(), options)
          << remark::add("{0} of {1} accesses move several elements at once",
                         vectorized, total);
    else
      remark::missed(kernel.getLoc(), options)
          << "no access has neighbours in one thread that are aligned in "
             "memory";
  }
};

} // namespace
