// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_reduce and split_matmul_k: several kernels take the place of one.
//
//   loop.launch @sum(%x, %y)
//
// becomes
//
//   %t = memref.alloc()
//   loop.launch @sum_parts(%x, %t)
//   loop.launch @sum(%y, %t)

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/MmaModel.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace deplo::tile {

std::optional<double> estimateKernel(loop::KernelOp kernel,
                                     const TargetDescription &target,
                                     int64_t alignment,
                                     const SymbolicSizes &sizes,
                                     Precision precision) {
  std::string error;
  auto getTime = [](const auto &choice) {
    return choice ? std::optional(choice->nanoseconds) : std::nullopt;
  };
  if (auto contraction = loop::findContraction(kernel)) {
    if (auto pieces = choosePieces(*contraction, precision, target, alignment,
                                   sizes, {}, std::nullopt))
      return pieces->second.nanoseconds;
    if (auto packing = choosePacking(*contraction, precision, target, alignment,
                                     sizes, {}, std::nullopt))
      return packing->nanoseconds;
    if (prefersMma(*contraction, precision, target)) {
      auto choice =
          chooseTensorCores(*contraction, precision, target, alignment, sizes,
                            {}, std::nullopt, error);
      return choice ? std::optional(choice->second.nanoseconds) : std::nullopt;
    }
    return getTime(chooseContraction(
        getContractionFacts(*contraction, getPrecisionOfFMA(precision)), target,
        {}, error));
  }
  return getTime(chooseSchedule(getScheduleFacts(kernel, alignment, sizes),
                                target, {}, error));
}

std::optional<double> estimateSplit(const Split &split,
                                    const TargetDescription &target,
                                    int64_t alignment, Precision precision) {
  double sum = 0;
  for (const SplitKernel &part : split.kernels) {
    std::optional<double> time = estimateKernel(
        part.kernel.get(), target, alignment, split.sizes, precision);
    if (!time)
      return std::nullopt;
    sum += *time;
  }
  return sum;
}

void replaceKernel(loop::KernelOp kernel, Split &split, SymbolTable &symbols) {
  SmallVector<loop::LaunchOp> launches;
  symbols.getOp()->walk([&](loop::LaunchOp launch) {
    if (launch.getKernel() == kernel.getSymName())
      launches.push_back(launch);
  });
  OpBuilder builder(kernel);
  std::string name = kernel.getSymName().str();
  symbols.remove(kernel);
  SmallVector<loop::KernelOp> kernels;
  // The rest, which comes last, keeps the name.
  kernels.push_back(split.kernels.back().kernel.release());
  kernels.back().setSymName(name);
  builder.insert(kernels.back());
  symbols.insert(kernels.back());
  for (SplitKernel &part : llvm::drop_end(split.kernels)) {
    builder.setInsertionPoint(kernels.front());
    loop::KernelOp op = part.kernel.release();
    op.setSymName(name + part.suffix);
    builder.insert(op);
    symbols.insert(op);
    kernels.push_back(op);
  }
  std::rotate(kernels.begin(), kernels.begin() + 1, kernels.end());

  for (loop::LaunchOp launch : launches) {
    builder.setInsertionPoint(launch);
    SmallVector<Value> buffers(launch.getBuffers());
    for (MemRefType type : split.temporaries)
      buffers.push_back(
          memref::AllocOp::create(builder, launch.getLoc(), type));
    for (auto [part, op] : llvm::zip_equal(split.kernels, kernels)) {
      SmallVector<Value> operands;
      for (const SplitOperand &operand : part.operands) {
        Value buffer = buffers[operand.buffer];
        if (operand.view) {
          auto [strides, offset] = operand.view.getStridesAndOffset();
          buffer = memref::ReinterpretCastOp::create(
              builder, launch.getLoc(), operand.view, buffer, offset,
              operand.view.getShape(), strides);
        }
        operands.push_back(buffer);
      }
      loop::LaunchOp::create(builder, launch.getLoc(), TypeRange(),
                             op.getSymName(), operands);
    }
    launch.erase();
  }
  kernel.erase();
}

} // namespace deplo::tile
