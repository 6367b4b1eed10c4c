// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/Occupancy.h"
#include "deplo/Dialect/Tile/Analysis/TileGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

/// Whether threads wait for each other at `op`.
static bool isMeetingPoint(Operation *op) {
  return isa<ReduceOp, ScanOp, ConvertLayoutOp, BarrierOp, AwaitOp>(op);
}

int64_t getRegisters(Value tile) {
  LayoutAttr layout = getLayout(tile);
  unsigned bits = getTileType(tile).getElementTypeBitWidth();
  if (!layout || bits == 1 || tile.getDefiningOp<arith::ConstantOp>())
    return 0;
  if (auto broadcast = tile.getDefiningOp<BroadcastOp>())
    return getRegisters(broadcast.getInput());
  if (isa_and_nonnull<SplatOp, IotaOp>(tile.getDefiningOp()))
    return 1;
  constexpr int64_t registerBits = 32;
  return llvm::divideCeil(
      layout.getLinearLayout().getNumRegisters() * int64_t(bits), registerBits);
}

/// Whether `value` is defined before `point` and used after it.
static bool isLiveAcross(Value value, Operation *point) {
  Block *block = value.getParentBlock();
  Operation *here = block->findAncestorOpInBlock(*point);
  if (!here ||
      (value.getDefiningOp() && !value.getDefiningOp()->isBeforeInBlock(here)))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *there = block->findAncestorOpInBlock(*user);
    // Inside a loop around the point, the next iteration uses it again.
    return there == here ? user != here : here->isBeforeInBlock(there);
  });
}

int64_t estimateRegisters(KernelOp kernel) {
  SmallVector<Value> values;
  SmallVector<Operation *> points;
  kernel.walk([&](Operation *op) {
    llvm::copy_if(op->getResults(), std::back_inserter(values), isTile);
    for (Region &region : op->getRegions())
      if (!region.empty())
        llvm::copy_if(region.getArguments(), std::back_inserter(values),
                      isTile);
    if (isMeetingPoint(op))
      points.push_back(op);
  });
  int64_t most = 0;
  for (Operation *point : points) {
    int64_t registers = 0;
    for (Value result : point->getResults())
      if (isTile(result))
        registers += getRegisters(result);
    for (Value value : values)
      if (isLiveAcross(value, point))
        registers += getRegisters(value);
    most = std::max(most, registers);
  }
  return most;
}

int64_t estimateLoopRegisters(KernelOp kernel) {
  int64_t most = 0;
  kernel.walk([&](scf::ForOp loop) {
    int64_t carried = 0, loaded = 0, unroll = 1;
    for (Value value : loop.getRegionIterArgs())
      if (isTile(value))
        carried += getRegisters(value);
    for (LoadOp load : loop.getOps<LoadOp>())
      loaded += getRegisters(load.getResult());
    if (auto factor = loop->getAttrOfType<IntegerAttr>("tile.unroll"))
      unroll = factor.getInt();
    most = std::max(most, carried + unroll * loaded);
  });
  return most;
}

std::optional<int64_t> countContractionBlocks(KernelOp kernel,
                                              int64_t sharedBytes,
                                              const TargetDescription &target) {
  auto getRegisters = [](Value tile) {
    return int64_t(getLayout(tile).getLinearLayout().getNumRegisters());
  };
  // What loops gather while they multiply, and where that is.
  int64_t gathered = 0;
  kernel.walk([&](GatherOp gather) {
    if (gather->getParentOfType<scf::ForOp>())
      gathered += 2 * getRegisters(gather.getResult());
  });
  std::optional<int64_t> blocks;
  kernel.walk([&](DotOp dot) {
    int64_t sums =
        std::max(getRegisters(dot.getResult()), estimateRegisters(kernel));
    int64_t rank = dot.getType().getRank(), operands = gathered;
    for (auto [operand, dims] : {std::pair(dot.getLhs(), dot.getLhsDims()),
                                 std::pair(dot.getRhs(), dot.getRhsDims())})
      operands += dims.back() == rank
                      ? getRegisters(operand)
                      : getRegisters(operand) / dot.getContractedSize();
    int64_t most = countResidentBlocks(target, *kernel.getWarps(),
                                       getContractionRegisters(sums, operands),
                                       sharedBytes);
    blocks = std::max<int64_t>(std::min(blocks.value_or(most), most), 1);
  });
  return blocks;
}

} // namespace deplo::tile
