// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PassSupport.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

std::string getMemrefName(Value memref) {
  auto argument = cast<BlockArgument>(memref);
  if (auto name = dyn_cast<NameLoc>(argument.getLoc()))
    return "%" + name.getName().str();
  return "%arg" + std::to_string(argument.getArgNumber());
}

FailureOr<Choice> getChoice(KernelOp kernel, StringRef mode, llvm::function_ref<Choice(ScheduleAttr)> scheduled) {
  if (mode.empty())
    return kernel.getSchedule() ? scheduled(*kernel.getSchedule()) : Choice::Auto;
  if (std::optional<Choice> choice = symbolizeChoice(mode))
    return *choice;
  return kernel.emitOpError() << "can't be scheduled with mode=" << mode << ", expected auto, always or never";
}

LogicalResult checkAlignment(KernelOp kernel, int64_t alignment) {
  if (alignment >= 1 && llvm::isPowerOf2_64(alignment))
    return success();
  return kernel.emitOpError() << "can't have arguments with alignment=" << alignment << ", expected a power of two";
}

int64_t getSharedBytes(KernelOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](AllocOp alloc) { bytes += alloc.getType().getSizeInBytes(); });
  kernel.walk([&](ReduceOp reduce) {
    for (Value result : reduce.getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      bytes += kernel.getWarps().value_or(1) * type.getNumElements() *
               llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    }
  });
  return bytes;
}

} // namespace deplo::tile
