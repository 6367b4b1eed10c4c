// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stage_inputs, of a contraction: the chunks of its operands go through shared
// memory, because every thread along a row takes the same elements.
//
//   scf.for %k = ... {
//     %a = tile.load %x[%i, %k] : memref<512x512xf32> -> tensor<64x16xf32>
//     %d = tile.dot %a dims [0, 2], ...
//
// becomes
//
//   %buffer = tile.alloc : !tile.buffer<64x16xf32, #tile.shared<>>
//   scf.for %k = ... {
//     tile.copy %x[%i, %k] to %buffer
//     tile.barrier
//     %a = tile.read %buffer[%c0, %c0] -> tensor<64x16xf32>
//     %d = tile.dot %a dims [0, 2], ...
//     tile.barrier
//
// Legality: the memref is not stored to. The first barrier comes before any
// thread reads what others copied, the second before any thread copies over
// what others still read.

#include "PassSupport.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

SmallVector<StagedOperands> tile::findOperands(KernelOp kernel) {
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp store) { stored.insert(store.getMemref()); });
  llvm::MapVector<scf::ForOp, llvm::SetVector<LoadOp>> loads;
  kernel.walk([&](DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!loop)
      return;
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      auto load = operand.getDefiningOp<LoadOp>();
      if (load && load->getParentOp() == loop &&
          llvm::all_of(load->getUsers(), llvm::IsaPred<DotOp>) &&
          !stored.contains(load.getMemref()))
        loads[loop].insert(load);
    }
  });
  SmallVector<StagedOperands> found;
  for (auto &[loop, ofLoop] : loads)
    found.push_back({loop, llvm::to_vector(ofLoop)});
  return found;
}

static BufferType getBufferType(LoadOp load) {
  return BufferType::get(
      load.getContext(), load.getType().getShape(),
      load.getType().getElementType(),
      SharedAttr::get(load.getContext(), /*pad=*/0, /*swizzle=*/0));
}

int64_t StagedOperands::getBytes() const {
  int64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += getBufferType(load).getSizeInBytes();
  return bytes;
}

void tile::stageOperands(const StagedOperands &operands) {
  scf::ForOp loop = operands.loop;
  Location loc = loop.getLoc();
  OpBuilder before(loop);
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  // Copies first, then one barrier for all of them.
  Operation *last = operands.loads.front();
  for (LoadOp load : operands.loads)
    if (last->isBeforeInBlock(load))
      last = load;
  OpBuilder inside(loop.getContext());
  inside.setInsertionPointAfter(last);
  SmallVector<Value> buffers;
  for (LoadOp load : operands.loads) {
    buffers.push_back(
        AllocOp::create(before, load.getLoc(), getBufferType(load)));
    CopyOp::create(inside, load.getLoc(), load.getMemref(), load.getIndices(),
                   buffers.back(), load.getDimsAttr(), load.getStepsAttr(),
                   load.getBoundsAttr(), /*vector=*/IntegerAttr());
  }
  BarrierOp::create(inside, loc);
  SmallVector<LoadOp> loads(operands.loads);
  for (auto [load, buffer] : llvm::zip_equal(loads, buffers)) {
    SmallVector<Value> corner(load.getType().getRank(), zero);
    auto read = ReadOp::create(inside, load.getLoc(), load.getType(), buffer,
                               corner, /*vector=*/IntegerAttr());
    load.replaceAllUsesWith(read.getResult());
    load.erase();
  }
  inside.setInsertionPoint(loop.getBody()->getTerminator());
  BarrierOp::create(inside, loc);
}
