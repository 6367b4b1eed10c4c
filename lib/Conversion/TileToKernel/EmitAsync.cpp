// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers in shared memory, copies by tensor maps, and the warps that start
// them.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t mbarrierBytes = 8, lanes = 32;
static constexpr unsigned clusterAddressSpace = 7;

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

SmallVector<tile::TensorMapAttr> collectTensorMaps(tile::KernelOp kernel) {
  SmallVector<tile::TensorMapAttr> maps;
  auto add = [&](tile::TensorMapAttr map) {
    if (!llvm::is_contained(maps, map))
      maps.push_back(map);
  };
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<tile::TmaCopyOp>(op))
      add(getTensorMap(kernel, copy));
    else if (auto store = dyn_cast<tile::TmaStoreOp>(op))
      add(getTensorMap(kernel, store));
  });
  return maps;
}

Value KernelEmitter::getMap(tile::TensorMapAttr map) {
  return entry->getArgument(llvm::find(maps, map) - maps.begin());
}

SmallVector<Value> KernelEmitter::getMapCorner(ValueRange indices,
                                               ArrayRef<int64_t> dims) {
  Type i32 = builder.getI32Type();
  SmallVector<Value> corner;
  for (int64_t dim : tile::getTensorMapDims(dims, indices.size())) {
    Value coordinate = indices[dim];
    if (indexType.getWidth() > 32)
      coordinate = arith::TruncIOp::create(builder, i32, coordinate);
    corner.push_back(coordinate);
  }
  return corner;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// One thread makes them; behind the last of several, a fence shows them to the
/// unit that copies, and the other threads wait.
void KernelEmitter::emitMBarriers(tile::MBarriersOp op) {
  int64_t count = op.getResult().getType().getCount();
  Value first = allocateShared(count * mbarrierBytes);
  mapping.map(op.getResult(), first);
  Type i32 = builder.getI32Type();
  bool isLast = !isa_and_nonnull<tile::MBarriersOp>(op->getNextNode());
  {
    OpBuilder::InsertionGuard guard(builder);
    enterFirstThread();
    Value arrivals =
        arith::ConstantIntOp::create(builder, i32, op.getArrivals());
    for (int64_t i = 0; i < count; ++i)
      NVVM::MBarrierInitOp::create(builder, getMBarrier(first, getIndex(i)),
                                   arrivals, Value());
    if (isLast)
      NVVM::FenceMbarrierInitOp::create(builder);
  }
  if (isLast)
    emitBarrier();
}

Value KernelEmitter::getMBarrier(Value barriers, Value index) {
  return LLVM::GEPOp::create(builder, barriers.getType(), builder.getI64Type(),
                             barriers, ValueRange(index));
}

void KernelEmitter::emitMBarrierWait(tile::MBarrierWaitOp op) {
  // The suspension is as long as the hardware allows.
  constexpr int64_t nanoseconds = 10000000;
  Type i32 = builder.getI32Type();
  Value phase = lookup(op.getPhase());
  if (indexType.getWidth() > 32)
    phase = arith::TruncIOp::create(builder, i32, phase);
  Value parity = arith::AndIOp::create(
      builder, phase, arith::ConstantIntOp::create(builder, i32, 1));
  NVVM::MBarrierTryWaitParityOp::create(
      builder, getMBarrier(lookup(op.getBarriers()), lookup(op.getIndex())),
      parity, arith::ConstantIntOp::create(builder, i32, nanoseconds));
}

void KernelEmitter::emitMBarrierArrive(tile::MBarrierArriveOp op) {
  Value barrier = getMBarrier(lookup(op.getBarriers()), lookup(op.getIndex()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scf::IfOp::create(builder,
                                                     getIsZero(lane, lanes - 1),
                                                     /*withElseRegion=*/false)
                                       .thenBlock());
  NVVM::MBarrierArriveOp::create(builder, builder.getI64Type(), barrier,
                                 Value());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void KernelEmitter::emitTmaCopy(tile::TmaCopyOp op) {
  OpBuilder::InsertionGuard guard(builder);
  Type i32 = builder.getI32Type();
  Value barrier = getMBarrier(lookup(op.getBarriers()), lookup(op.getIndex()));
  if (!isSingleThread)
    enterFirstThread();
  tile::BufferType buffer = op.getBuffer().getType();
  Value bytes =
      arith::ConstantIntOp::create(builder, i32, buffer.getSizeInBytes());
  NVVM::MBarrierArriveExpectTxOp::create(builder, Type(), barrier, bytes,
                                         NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());
  SmallVector<Value> corner = getMapCorner(
      lookup(op.getIndices()),
      tile::getSpannedDims(op.getDims(), op.getMemRefType().getRank(),
                           buffer.getRank()));
  tile::TensorMapAttr map = getTensorMap(kernel, op);
  Value argument = getMap(map);
  auto clusterPointer =
      LLVM::LLVMPointerType::get(builder.getContext(), clusterAddressSpace);
  // A box for each piece of the rows.
  int64_t width = map.getBox()[0];
  int64_t pieces = buffer.getShape().back() / width;
  Value start = corner.front();
  for (int64_t piece = 0; piece < pieces; ++piece) {
    corner.front() = builder.createOrFold<arith::AddIOp>(
        start, arith::ConstantIntOp::create(builder, i32, piece * width));
    Value place =
        LLVM::GEPOp::create(builder, lookup(op.getBuffer()).getType(),
                            builder.getI8Type(), lookup(op.getBuffer()),
                            ArrayRef<LLVM::GEPArg>{int32_t(
                                piece * (buffer.getSizeInBytes() / pieces))});
    place = LLVM::AddrSpaceCastOp::create(builder, clusterPointer, place);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        builder, place, argument, corner, barrier,
        /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
        /*group=*/nullptr, /*predicate=*/Value());
  }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Warps behind the kernel's own do what is in the region, the others all that
/// follows.
LogicalResult KernelEmitter::emitProducer(tile::ProducerOp op) {
  Type i32 = builder.getI32Type();
  auto count = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  int64_t warps = *kernel.getWarps();
  // The same in all lanes, so that branches are.
  Value number =
      NVVM::ShflOp::create(builder, i32, count(-1), warp, count(0), count(31),
                           NVVM::ShflKind::idx, UnitAttr());
  Value isProducer = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge,
                                           number, count(warps));
  auto roles = scf::IfOp::create(builder, isProducer, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(roles.thenBlock());
  NVVM::SetMaxRegisterOp::create(builder, op.getRegisters()[0],
                                 NVVM::SetMaxRegisterAction::decrease);
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                        thread, count(warps * lanes));
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, isFirst, /*withElseRegion=*/false)
          .thenBlock());
  isSingleThread = true;
  if (failed(emitBlock(op.getRegion().front())))
    return failure();
  isSingleThread = false;
  isBesideProducer = true;
  builder.setInsertionPointToStart(roles.elseBlock());
  NVVM::SetMaxRegisterOp::create(builder, op.getRegisters()[1],
                                 NVVM::SetMaxRegisterAction::increase);
  return success();
}

} // namespace deplo
