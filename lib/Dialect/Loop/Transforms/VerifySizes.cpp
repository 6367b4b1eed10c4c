// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that kernels are right for every value of the sizes that are known
// only when a program runs (SymbolicSizes). A kernel is, where
// - a coordinate along a dimension of such a size is the variable of a loop of
//   that extent, goes through it in reverse, or is a number below every size of
//   the range; other coordinates don't contain one,
// - and loops for each result, reductions above all, are not empty.

#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/IR/BuiltinOps.h"

namespace deplo::loop {
#define GEN_PASS_DEF_VERIFYSIZESPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

static constexpr llvm::StringLiteral remedy =
    "compile for a fixed size of that dimension";

/// Whether the loop is one of a nest around all else of the kernel.
static bool isOuterLoop(ForOp loop) {
  Operation *parent = loop->getParentOp();
  auto isAlone = [&](Operation &op) {
    return &op == loop || (op.getNumRegions() == 0 && !isa<StoreOp>(op));
  };
  if (!llvm::all_of(*loop->getBlock(), isAlone))
    return false;
  auto outer = dyn_cast<ForOp>(parent);
  return isa<KernelOp>(parent) || (outer && isOuterLoop(outer));
}

static int64_t getExtent(Value variable) {
  return getExtentOf(variable).value_or(0);
}

/// Whether `expr` goes through a dimension of `size` elements in reverse, block
/// by block: q * (n - 1 - i) + r, where i is the variable of a loop of n = size
/// / q iterations, and r is within a block.
static bool isReversed(AffineExpr expr, ValueRange indices, int64_t size,
                       const SymbolicSizes &sizes) {
  std::optional<LinearForm> form = getLinearForm(expr, indices.size());
  if (!form)
    return false;
  std::optional<int64_t> block;
  int64_t most = 0;
  for (auto [coefficient, index] :
       llvm::zip_equal(form->coefficients, indices)) {
    int64_t extent = getExtent(index);
    if (coefficient == 0)
      continue;
    if (extent < 1)
      return false;
    if (sizes.isSymbolic(extent)) {
      if (block || size % extent != 0 || coefficient != -(size / extent))
        return false;
      block = size / extent;
    } else if (coefficient > 0) {
      most += coefficient * (extent - 1);
    } else {
      return false;
    }
  }
  if (!block || sizes.isSymbolic(*block))
    return false;
  int64_t least = form->constant - (size - *block);
  return least >= 0 && least + most < *block;
}

template <typename AccessOp>
static LogicalResult verifyAccess(AccessOp access, const SymbolicSizes &sizes) {
  // Numbers near a generic one can only come from it.
  int64_t limit = INT64_MAX;
  for (const SymbolicSize &size : sizes.getSizes())
    limit = std::min(limit, size.generic / 2);
  for (auto [size, expr] : llvm::zip_equal(access.getMemRefType().getShape(),
                                           access.getMap().getResults())) {
    auto fail = [&, size = size] {
      return access.emitOpError()
             << "reaches only a part of " << sizes.describe(size)
             << " elements, a number that is known when the program runs; "
             << remedy;
    };
    bool isSymbolic = sizes.isSymbolic(size);
    if (isSymbolic) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        if (getExtent(access.getIndices()[dim.getPosition()]) != size)
          return fail();
        continue;
      }
      if (isReversed(expr, access.getIndices(), size, sizes))
        continue;
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      if (!constant || constant.getValue() >= sizes.getMin(size))
        return fail();
      continue;
    }
    WalkResult result = WalkResult::advance();
    expr.walk([&](AffineExpr part) {
      auto constant = dyn_cast<AffineConstantExpr>(part);
      if (constant && std::abs(constant.getValue()) >= limit)
        result = WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return access.emitOpError()
             << "has a coordinate that depends on a size that is known when "
                "the program runs; "
             << remedy;
  }
  return success();
}

namespace {

struct VerifySizesPass
    : deplo::loop::impl::VerifySizesPassBase<VerifySizesPass> {
  void runOnOperation() override {
    if (failed(SymbolicSizes::verify(getOperation())))
      return signalPassFailure();
    SymbolicSizes sizes = SymbolicSizes::get(getOperation());
    if (sizes.empty())
      return;
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.walk([&](Operation *op) { return verify(op, sizes); })
              .wasInterrupted())
        return signalPassFailure();
  }

  /// A block whose row is empty still has addresses, and an empty tensor none.
  WalkResult verifyNotEmpty(Operation *loop, int64_t extent,
                            const SymbolicSizes &sizes) {
    if (!sizes.isSymbolic(extent) || sizes.getMin(extent) > 0)
      return WalkResult::advance();
    return loop->emitOpError()
           << "goes over " << sizes.describe(extent)
           << " elements for each result, which may be none when the program "
              "runs; declare a minimum of 1";
  }

  WalkResult verify(Operation *op, const SymbolicSizes &sizes) {
    if (auto scan = dyn_cast<ScanOp>(op))
      return verifyNotEmpty(scan, scan.getExtent(), sizes);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return verifyNotEmpty(reduce, reduce.getExtent(), sizes);
    if (auto loop = dyn_cast<ForOp>(op); loop && !isOuterLoop(loop))
      return verifyNotEmpty(loop, loop.getExtent(), sizes);
    if (auto load = dyn_cast<LoadOp>(op))
      return verifyAccess(load, sizes);
    if (auto store = dyn_cast<StoreOp>(op))
      return verifyAccess(store, sizes);
    return WalkResult::advance();
  }
};

} // namespace
