// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes straight-line code of reductions over windows.
//
//   %s = loop.reduce max %k = 0 to 2 {      %a = loop.load %x[%i * 2]
//     %a = loop.load %x[%i * 2 + %k]   ->   %b = loop.load %x[%i * 2 + 1]
//     loop.yield %a                         %s = arith.maximumf %a, %b
//   }
//
// A thread then computes neighbouring results at once and loads what their
// windows share once. Conditions that hold for an element of all windows go.
//
// Legality. The order of a reduction is unspecified but fixed: here it is that
// of the iterations. A reduction has no effects.

#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/Loop/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace deplo::loop {
#define GEN_PASS_DEF_UNROLLWINDOWSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

#define DEBUG_TYPE "deplo-unroll-windows"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

/// Whether neighbouring results may read the same elements: a coordinate adds
/// `variable` to something else, or elements outside are left out.
static bool readsWindow(LoadOp load, Value variable) {
  if (load.getCondition())
    return true;
  for (AffineExpr coordinate : load.getMap().getResults()) {
    bool isInside = false, hasOthers = false;
    for (auto [position, index] : llvm::enumerate(load.getIndices()))
      if (coordinate.isFunctionOfDim(position))
        (index == variable ? isInside : hasOthers) = true;
    if (isInside && hasOthers)
      return true;
  }
  return false;
}

static int64_t getIterations(ReduceOp reduce) {
  int64_t inner = 0;
  for (ReduceOp nested : reduce.getBody()->getOps<ReduceOp>())
    inner += getIterations(nested);
  return reduce.getExtent() * std::max<int64_t>(inner, 1);
}

bool deplo::loop::isWindow(ReduceOp reduce, int64_t maxElements) {
  if (reduce.getExtent() == 0 || getIterations(reduce) > maxElements)
    return false;
  SmallVector<Value> variables = {reduce.getInductionVar()};
  reduce.getBody()->walk(
      [&](ReduceOp inner) { variables.push_back(inner.getInductionVar()); });
  bool hasLoads = false;
  WalkResult result = reduce.getBody()->walk([&](LoadOp load) {
    bool isOfWindow = false, reads = false;
    for (Value variable : variables) {
      isOfWindow |= llvm::is_contained(load.getIndices(), variable);
      reads |= readsWindow(load, variable);
    }
    hasLoads |= isOfWindow;
    return isOfWindow && !reads ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return hasLoads && !result.wasInterrupted();
}

void deplo::loop::unroll(ReduceOp reduce, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(reduce);
  SmallVector<Value> results;
  for (int64_t k = 0, extent = reduce.getExtent(); k < extent; ++k) {
    IRMapping mapping;
    mapping.map(reduce.getInductionVar(),
                arith::ConstantIndexOp::create(rewriter, reduce.getLoc(), k)
                    .getResult());
    for (Operation &op : reduce.getBody()->without_terminator())
      rewriter.clone(op, mapping);
    for (auto [number, yielded] :
         llvm::enumerate(reduce.getYield().getValues())) {
      Value value = mapping.lookupOrDefault(yielded);
      if (k == 0)
        results.push_back(value);
      else
        results[number] =
            combine(rewriter, reduce.getLoc(), reduce.getMonoids()[number],
                    results[number], value);
    }
  }
  rewriter.replaceOp(reduce, results);
}

namespace {

struct UnrollWindowsPass
    : deplo::loop::impl::UnrollWindowsPassBase<UnrollWindowsPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto options = remark::RemarkOpts::name("UnrollWindows")
                       .category(DEBUG_TYPE)
                       .function(kernel.getSymName());
    SmallVector<ReduceOp> windows;
    kernel.walk<WalkOrder::PreOrder>([&](ReduceOp reduce) {
      if (!isWindow(reduce, maxElements))
        return WalkResult::advance();
      windows.push_back(reduce);
      return WalkResult::skip();
    });
    if (windows.empty()) {
      remark::missed(kernel.getLoc(), options)
          << remark::add("no reduction is over windows of up to {0} elements",
                         int64_t(maxElements));
      return;
    }
    IRRewriter rewriter(&getContext());
    for (ReduceOp window : windows) {
      remark::passed(window.getLoc(), options)
          << remark::add("windows of {0} elements", getIterations(window));
      SmallVector<ReduceOp> innerFirst;
      window.walk([&](ReduceOp reduce) { innerFirst.push_back(reduce); });
      for (ReduceOp reduce : innerFirst)
        unroll(reduce, rewriter);
    }
    // What is known of an element of all windows.
    OpPassManager simplify(KernelOp::getOperationName());
    simplify.addPass(arith::createIntRangeOptimizationsPass());
    simplify.addPass(createCanonicalizerPass());
    if (failed(runPipeline(simplify, kernel)))
      signalPassFailure();
  }
};

} // namespace
