// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PassSupport.h"

#include "deplo/Analysis/BitSwaps.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

std::string getMemrefName(Value memref) {
  auto argument = cast<BlockArgument>(memref);
  if (auto name = dyn_cast<NameLoc>(argument.getLoc()))
    return "%" + name.getName().str();
  return "%arg" + std::to_string(argument.getArgNumber());
}

FailureOr<Choice>
getChoice(KernelOp kernel, StringRef mode,
          llvm::function_ref<Choice(ScheduleAttr)> scheduled) {
  if (mode.empty())
    return kernel.getSchedule() ? scheduled(*kernel.getSchedule())
                                : Choice::Auto;
  if (std::optional<Choice> choice = symbolizeChoice(mode))
    return *choice;
  return kernel.emitOpError() << "can't be scheduled with mode=" << mode
                              << ", expected auto, always or never";
}

LogicalResult checkAlignment(KernelOp kernel, int64_t alignment) {
  if (alignment >= 1 && llvm::isPowerOf2_64(alignment))
    return success();
  return kernel.emitOpError()
         << "can't have arguments with alignment=" << alignment
         << ", expected a power of two";
}

FailureOr<int64_t> getWidestAccess(KernelOp kernel, int64_t vector) {
  constexpr int64_t defaultVector = 4;
  int64_t most = vector != 0            ? vector
                 : kernel.getSchedule() ? kernel.getSchedule()->getVector()
                                        : defaultVector;
  if (most >= 1 && llvm::isPowerOf2_64(most))
    return most;
  return kernel.emitOpError()
         << "can't have vector=" << most << ", expected a power of two";
}

TargetAttr findTarget(KernelOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>("tile.target")
                : TargetAttr();
}

static int64_t getBytes(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Unless shuffles do.
static bool goesThroughShared(ConvertLayoutOp convert) {
  return !getBitSwaps(getLayout(convert.getInput()).getLinearLayout(),
                      getLayout(convert.getResult()).getLinearLayout());
}

int64_t getSharedBytes(KernelOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op))
      bytes += alloc.getType().getSizeInBytes();
    else if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      bytes += goesThroughShared(convert) ? getBytes(convert.getResult()) : 0;
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      for (Value result : reduce.getResults())
        bytes += kernel.getWarps().value_or(1) * getBytes(result);
    else if (auto reduce = dyn_cast<ClusterReduceOp>(op))
      for (Value result : reduce.getResults())
        bytes += getBytes(result);
    else if (auto scatter = dyn_cast<ClusterReduceScatterOp>(op))
      bytes += getBytes(scatter.getInput());
  });
  return bytes;
}

SmallVector<AllocOp> getBuffersToLayOut(KernelOp kernel, Choice choice,
                                        remark::RemarkOpts options) {
  SmallVector<AllocOp> buffers;
  kernel.walk([&](AllocOp alloc) { buffers.push_back(alloc); });
  if (!buffers.empty() && choice != Choice::Never)
    return buffers;
  remark::missed(kernel.getLoc(), options)
      << (buffers.empty() ? "the kernel has no shared buffer"
                          : "the schedule says never");
  return {};
}

} // namespace deplo::tile
