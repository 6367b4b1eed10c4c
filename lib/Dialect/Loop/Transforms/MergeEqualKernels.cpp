// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps one of kernels that differ in names only.
//
//   loop.launch @norm(%x, %y)               loop.launch @norm(%x, %y)
//   loop.launch @norm_1(%y, %z)             loop.launch @norm(%y, %z)
//   loop.kernel @norm(..) { .. }            loop.kernel @norm(..) { .. }
//   loop.kernel @norm_1(..) { .. }
//
// Legality. Kernels have no state and reach nothing but their arguments, so
// two with the same attributes, argument types and operations, in the same
// order and connected in the same way, do the same to the same arguments.

#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/Loop/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Remarks.h"

namespace deplo::loop {
#define GEN_PASS_DEF_MERGEEQUALKERNELSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

#define DEBUG_TYPE "deplo-merge-equal-kernels"

using namespace mlir;
using namespace deplo::loop;

/// All attributes but the name.
static DictionaryAttr getAttributes(KernelOp kernel) {
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(kernel.getSymNameAttrName());
  return attributes.getDictionary(kernel.getContext());
}

bool deplo::loop::areEqual(KernelOp a, KernelOp b) {
  return getAttributes(a) == getAttributes(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getRegion(), &b.getRegion(),
             OperationEquivalence::IgnoreLocations);
}

namespace {

struct MergeEqualKernelsPass
    : deplo::loop::impl::MergeEqualKernelsPassBase<MergeEqualKernelsPass> {
  void runOnOperation() override {
    // Only kernels of the same size and argument types are compared.
    llvm::MapVector<std::pair<size_t, Type>, SmallVector<KernelOp>> alike;
    llvm::DenseMap<StringAttr, KernelOp> kept;
    SmallVector<KernelOp> equal;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      size_t size = 0;
      kernel.walk([&](Operation *) { ++size; });
      SmallVector<KernelOp> &others = alike[{
          size, FunctionType::get(&getContext(),
                                  kernel.getBody()->getArgumentTypes(), {})}];
      auto same = llvm::find_if(
          others, [&](KernelOp other) { return areEqual(other, kernel); });
      if (same == others.end()) {
        others.push_back(kernel);
        continue;
      }
      kept[kernel.getSymNameAttr()] = *same;
      equal.push_back(kernel);
    }
    getOperation().walk([&](LaunchOp launch) {
      if (KernelOp kernel = kept.lookup(launch.getKernelAttr().getAttr()))
        launch.setKernelAttr(FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    });
    for (KernelOp kernel : equal) {
      StringRef name = kept[kernel.getSymNameAttr()].getSymName();
      remark::passed(
          kernel.getLoc(),
          remark::RemarkOpts::name("merge").category(DEBUG_TYPE).function(name))
          << ("also launched in place of " + kernel.getSymName() +
              ", which is equal")
                 .str();
      kernel.erase();
    }
  }
};

} // namespace
