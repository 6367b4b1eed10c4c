// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/Analysis/KernelCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;

namespace deplo::loop {

static int64_t getExtent(Operation *loop) {
  return getLoopExtent(loop).value_or(1);
}

/// How often `op` runs.
static int64_t getTrips(Operation *op) {
  int64_t trips = 1;
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    trips *= getExtent(parent);
  return trips;
}

/// How many coordinates an access takes: those of the loops that it depends on.
static int64_t countCoordinates(Operation *access, ValueRange indices,
                                AffineMap map) {
  int64_t count = 1;
  for (auto [i, index] : llvm::enumerate(indices)) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument && map.isFunctionOfDim(i))
      count *= getExtent(argument.getOwner()->getParentOp());
    else if (!argument && !matchPattern(index, m_Constant()))
      return getTrips(access); // it follows an index
  }
  return count;
}

static bool isFloatOperation(Operation *op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      op->getNumResults() != 1)
    return false;
  return isa<FloatType>(op->getResult(0).getType()) &&
         !isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp,
              arith::SelectOp, arith::BitcastOp, arith::SIToFPOp,
              arith::UIToFPOp>(op);
}

KernelCost computeCost(KernelOp kernel) {
  KernelCost cost;
  // Accesses of one argument that differ in their coordinates add up, to no
  // more than the whole of it.
  for (BlockArgument argument : kernel.getBody()->getArguments()) {
    auto type = cast<MemRefType>(argument.getType());
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    // Loops of equal extent that sweep the same row reach the same elements.
    std::set<std::pair<const void *, int64_t>> loads, stores;
    for (Operation *user : argument.getUsers()) {
      if (auto load = dyn_cast<LoadOp>(user))
        loads.insert(
            {load.getMap().getAsOpaquePointer(),
             countCoordinates(load, load.getIndices(), load.getMap())});
      if (auto store = dyn_cast<StoreOp>(user))
        stores.insert(
            {store.getMap().getAsOpaquePointer(),
             countCoordinates(store, store.getIndices(), store.getMap())});
    }
    auto sum = [&](const auto &accesses) {
      int64_t count = 0;
      for (const auto &[map, coordinates] : accesses)
        count += coordinates;
      return std::min(count, type.getNumElements()) * bytes;
    };
    cost.bytesRead += sum(loads);
    cost.bytesWritten += sum(stores);
  }
  kernel.walk([&](Operation *op) {
    if (isFloatOperation(op))
      cost.flops += getTrips(op);
    if (isa<RunningOp>(op))
      cost.flops += getTrips(op);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      cost.flops += getTrips(op) * reduce.getExtent() * reduce.getNumResults();
  });
  return cost;
}

} // namespace deplo::loop
