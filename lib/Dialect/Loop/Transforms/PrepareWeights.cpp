// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prepare_weights: launches that depend on weights alone run once for all
// calls.
//
//   func.func @main(%x, %w {graph.weight}, %y {loop.result}) {
//     %t = memref.alloc()
//     loop.launch @cast(%w, %t)
//     loop.launch @mm(%x, %t, %y)
//
// becomes
//
//   func.func @main(%x, %w {loop.weight}, %y {loop.result}) {
//     %t = memref.alloc()
//     loop.launch @cast(%w, %t) {loop.prepared}
//     loop.launch @mm(%x, %t, %y)
//
// Legality: kernels have no state and reach nothing but their arguments, so a
// launch that reads what is the same in each call writes the same in each call.
// What it writes must outlive the call: temporaries to which no launch writes
// that is not prepared itself.

#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#define DEBUG_TYPE "deplo-prepare-weights"

namespace deplo::loop {
#define GEN_PASS_DEF_PREPAREWEIGHTSPASS
#include "deplo/Dialect/Loop/Transforms/Passes.h.inc"
} // namespace deplo::loop

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

namespace {

/// A launch, and the memory that it reads and writes.
struct Access {
  LaunchOp launch;
  SmallVector<Value> reads, writes;
};

/// What depends on weights alone in the plans of a module.
class Preparation {
public:
  explicit Preparation(ModuleOp module) : module(module), symbols(module) {}

  /// Returns how many launches are prepared.
  unsigned run();

private:
  SmallVector<Access> prepare(FunctionOpInterface plan);
  std::optional<Access> getAccess(LaunchOp launch);
  void noteArguments();

  ModuleOp module;
  SymbolTable symbols;
  /// Weights, and what prepared launches write.
  llvm::SmallDenseSet<Value> prepared;
};

} // namespace

/// None where the kernel is not a loop nest any more.
std::optional<Access> Preparation::getAccess(LaunchOp launch) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel)
    return std::nullopt;
  Access access{launch, {}, {}};
  for (auto [argument, buffer] :
       llvm::zip_equal(kernel.getArguments(), launch.getBuffers()))
    (KernelOp::isWritten(argument) ? access.writes : access.reads)
        .push_back(getMemory(buffer));
  return access;
}

static void markWeights(FunctionOpInterface plan) {
  for (unsigned number = 0; number < plan.getNumArguments(); ++number)
    if (plan.getArgAttr(number, "graph.weight") &&
        isa<MemRefType>(plan.getArgumentTypes()[number])) {
      plan.removeArgAttr(number, "graph.weight");
      plan.setArgAttr(number, weightAttrName, UnitAttr::get(plan.getContext()));
    }
}

/// Takes launches away until all that are left read only what is left.
SmallVector<Access> Preparation::prepare(FunctionOpInterface plan) {
  markWeights(plan);
  SmallVector<Access> accesses;
  llvm::DenseMap<Value, unsigned> writers, others;
  WalkResult found = plan.walk([&](LaunchOp launch) {
    std::optional<Access> access = getAccess(launch);
    if (!access)
      return WalkResult::interrupt();
    for (Value memory : access->writes)
      ++writers[memory];
    accesses.push_back(*access);
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return {};
  auto isWeight = [&](Value memory) {
    auto argument = dyn_cast<BlockArgument>(memory);
    return argument && plan.getArgAttr(argument.getArgNumber(), weightAttrName);
  };
  auto isLeft = [&](Value memory) {
    return memory.getDefiningOp<memref::AllocOp>() && writers.count(memory) &&
           !others.count(memory);
  };
  for (bool isChanging = true; isChanging;) {
    isChanging = false;
    llvm::erase_if(accesses, [&](const Access &access) {
      bool stays = llvm::all_of(access.writes, isLeft) &&
                   llvm::all_of(access.reads, [&](Value memory) {
                     return isWeight(memory) || isLeft(memory);
                   });
      if (stays)
        return false;
      for (Value memory : access.writes)
        ++others[memory];
      isChanging = true;
      return true;
    });
  }
  for (BlockArgument argument : plan.getArguments())
    if (isWeight(argument))
      prepared.insert(argument);
  for (const Access &access : accesses)
    prepared.insert_range(access.writes);
  return accesses;
}

/// Tells kernels which of their arguments are prepared in all launches.
void Preparation::noteArguments() {
  llvm::DenseMap<StringAttr, SmallVector<bool>> areAll;
  module.walk([&](LaunchOp launch) {
    SmallVector<bool> &all = areAll[launch.getKernelAttr().getAttr()];
    all.resize(launch.getBuffers().size(), true);
    for (auto [number, buffer] : llvm::enumerate(launch.getBuffers()))
      all[number] &= prepared.contains(getMemory(buffer));
  });
  for (auto kernel : module.getOps<KernelOp>()) {
    SmallVector<int64_t> numbers;
    for (auto [number, isOne] :
         llvm::enumerate(areAll.lookup(kernel.getSymNameAttr())))
      if (isOne && !KernelOp::isWritten(kernel.getArguments()[number]))
        numbers.push_back(number);
    kernel->removeAttr(preparedArgumentsAttrName);
    if (!numbers.empty())
      kernel->setAttr(preparedArgumentsAttrName,
                      DenseI64ArrayAttr::get(kernel.getContext(), numbers));
  }
}

unsigned Preparation::run() {
  unsigned count = 0;
  for (auto plan : module.getOps<FunctionOpInterface>())
    for (Access access : prepare(plan)) {
      ++count;
      access.launch->setAttr(preparedAttrName,
                             UnitAttr::get(module.getContext()));
      remark::passed(access.launch.getLoc(),
                     remark::RemarkOpts::name("Prepared")
                         .category(DEBUG_TYPE)
                         .function(access.launch.getKernel()))
          << "runs once for all calls: it depends on weights alone";
    }
  noteArguments();
  return count;
}

namespace {

struct PrepareWeightsPass
    : deplo::loop::impl::PrepareWeightsPassBase<PrepareWeightsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto miss = [&](StringRef reason) {
      remark::missed(module.getLoc(),
                     remark::RemarkOpts::name("Prepared").category(DEBUG_TYPE))
          << reason;
    };
    if (!SymbolicSizes::get(module).empty())
      return miss("calls give sizes, on which launches may depend");
    if (Preparation(module).run() == 0)
      miss("no launch depends on weights alone");
  }
};

} // namespace
