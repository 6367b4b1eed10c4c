// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers in shared memory: what is read, written and copied to them.

#include "KernelEmitter.h"

#include "deplo/Analysis/MatrixAccess.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/Analysis/GatherAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace deplo {

static constexpr unsigned sharedAddressSpace = 3;

/// A thread moves as many vectors of a copy one after the other; more in a
/// loop.
static constexpr int64_t mostUnrolledMoves = 16;
/// Those of single elements have a mask and an address each, and a register
/// unless they are asynchronous.
static constexpr int64_t mostUnrolledElements = 4;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::allocateShared(int64_t bytes, int64_t alignment) {
  sharedAlignment = std::max(sharedAlignment, alignment);
  int64_t offset = llvm::alignTo(sharedBytes, alignment);
  sharedBytes = offset + llvm::alignTo(bytes, alignment);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(warp);
  auto pointerType =
      LLVM::LLVMPointerType::get(builder.getContext(), sharedAddressSpace);
  Value base = LLVM::AddressOfOp::create(builder, pointerType, sharedMemory);
  return LLVM::GEPOp::create(
      builder, pointerType, builder.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

void KernelEmitter::emitAlloc(tile::AllocOp op) {
  SmallVector<tile::AllocOp> rings = copyGroups.getRings(op);
  if (rings.size() > 1)
    return emitRings(rings);
  // Units beside the threads swizzle addresses, not offsets in the buffer.
  constexpr int64_t widestAccess = 16;
  int64_t period = op.getType().getModel().swizzle.getPeriod();
  bool isCopiedInBulk = llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<tile::TmaStoreOp>(user);
  });
  mapping.map(
      op.getResult(),
      allocateShared(op.getType().getSizeInBytes(),
                     std::max(period, isCopiedInBulk ? tile::bulkCopyAlignment
                                                     : widestAccess)));
}

/// The first slots of all `rings`, then the second ones, and so on.
void KernelEmitter::emitRings(MutableArrayRef<tile::AllocOp> rings) {
  if (mapping.contains(rings.front().getResult()))
    return;
  tile::BufferType first = rings.front().getType();
  int64_t slots = first.getShape().front(), bytes = 0;
  SmallVector<int64_t> starts;
  for (tile::AllocOp ring : rings) {
    starts.push_back(bytes);
    bytes += ring.getType().getSizeInBytes() / slots;
  }
  Value memory =
      allocateShared(slots * bytes, first.getModel().swizzle.getPeriod());
  for (auto [ring, start] : llvm::zip_equal(rings, starts)) {
    bytesBetweenSlots[ring.getResult()] = bytes;
    mapping.map(ring.getResult(),
                LLVM::GEPOp::create(
                    builder, memory.getType(), builder.getI8Type(), memory,
                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(start)})
                    .getResult());
  }
}

void KernelEmitter::emitSlot(tile::SlotOp op) {
  tile::BufferType slot = op.getResult().getType();
  auto found = bytesBetweenSlots.find(op.getRing());
  int64_t elements = (found == bytesBetweenSlots.end() ? slot.getSizeInBytes()
                                                       : found->second) /
                     getBytes(slot.getElementType());
  Value ring = lookup(op.getRing());
  mapping.map(
      op.getResult(),
      LLVM::GEPOp::create(builder, ring.getType(), slot.getElementType(), ring,
                          ValueRange(multiply(lookup(op.getSlot()), elements)))
          .getResult());
}

void KernelEmitter::emitBarrier() {
  if (writesForWgmma) // which reads by another proxy than threads write by
    NVVM::FenceProxyOp::create(
        builder, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(builder.getContext(),
                                   NVVM::SharedSpace::shared_cta));
  if (!isBesideProducer) {
    NVVM::Barrier0Op::create(builder);
    return;
  }
  // Of the kernel's warps alone.
  constexpr int64_t barrier = 1, lanes = 32;
  Type i32 = builder.getI32Type();
  NVVM::BarrierOp::create(
      builder, /*res=*/Type(),
      arith::ConstantIntOp::create(builder, i32, barrier),
      arith::ConstantIntOp::create(builder, i32, *kernel.getWarps() * lanes),
      NVVM::BarrierReductionAttr(), Value());
}

void KernelEmitter::emitRead(tile::ReadOp op) {
  if (std::optional<MatrixAccess> access = tile::getMatrixAccess(op))
    return emitMatrixRead(op, *access);
  tile::LayoutAttr layout = tile::getLayout(op.getResult());
  auto type = cast<VectorType>(convertType(op.getType()));
  int64_t width = op.getVector().value_or(1);
  auto accessType = VectorType::get({width}, type.getElementType());
  SmallVector<Value> indices = lookup(op.getIndices());
  Value tile = arith::ConstantOp::create(
      builder, cast<TypedAttr>(builder.getZeroAttr(type)));
  for (int64_t reg = 0; reg < type.getNumElements(); reg += width) {
    SmallVector<Value> coordinates = getCoordinates(layout, reg);
    for (auto [coordinate, index] : llvm::zip(coordinates, indices))
      coordinate = add(index, coordinate);
    Value pointer = getSharedPointer(lookup(op.getBuffer()),
                                     op.getBuffer().getType(), coordinates);
    Value access = LLVM::LoadOp::create(
        builder, accessType, pointer, width * getBytes(type.getElementType()));
    tile = vector::InsertStridedSliceOp::create(
        builder, access, tile, ArrayRef<int64_t>(reg), ArrayRef<int64_t>(1));
  }
  mapping.map(op.getResult(), tile);
}

void KernelEmitter::emitWrite(tile::WriteOp op) {
  tile::LayoutAttr layout = tile::getLayout(op.getValue());
  Value tile = lookup(op.getValue());
  auto type = cast<VectorType>(tile.getType());
  int64_t width = op.getVector().value_or(1);
  SmallVector<Value> indices = lookup(op.getIndices());
  for (int64_t reg = 0; reg < type.getNumElements(); reg += width) {
    SmallVector<Value> coordinates = getCoordinates(layout, reg);
    for (auto [coordinate, index] : llvm::zip(coordinates, indices))
      coordinate = add(index, coordinate);
    Value access = vector::ExtractStridedSliceOp::create(
        builder, tile, ArrayRef<int64_t>(reg), ArrayRef<int64_t>(width),
        ArrayRef<int64_t>(1));
    LLVM::StoreOp::create(builder, access,
                          getSharedPointer(lookup(op.getBuffer()),
                                           op.getBuffer().getType(),
                                           coordinates),
                          width * getBytes(type.getElementType()));
  }
}

/// The block's threads take the buffer's vectors in turn (getCopyRuns).
/// `move` gets the addresses of one vector and, with bounds, whether it is in
/// bounds.
template <typename OpT>
void KernelEmitter::emitCopyVectors(
    OpT op, llvm::function_ref<void(Value, Value, Value)> move) {
  tile::BufferType buffer = op.getBuffer().getType();
  int64_t width = op.getVector().value_or(1);
  int64_t threads = kernel.getWarps().value_or(1) * 32;
  SmallVector<int64_t> vectors(buffer.getShape());
  vectors.back() /= width;
  int64_t total = 1;
  for (int64_t size : vectors)
    total *= size;
  Box box = getBox(op, lookup(op.getIndices()), buffer.getRank());

  SmallVector<tile::CopyRun> runs = tile::getCopyRuns(op, vectors);
  auto getVectorCoordinates = [&](Value number) {
    SmallVector<Value> coordinates(vectors.size());
    SmallVector<int64_t> taken(vectors.size(), 1);
    for (auto [i, run] : llvm::enumerate(runs)) {
      Value length = getIndex(run.length);
      bool isLast = i + 1 == runs.size();
      Value along = isLast
                        ? number
                        : builder.createOrFold<arith::RemUIOp>(number, length);
      if (!isLast)
        number = builder.createOrFold<arith::DivUIOp>(number, length);
      Value &coordinate = coordinates[run.dim];
      along = multiply(along, taken[run.dim]);
      coordinate = coordinate ? add(coordinate, along) : along;
      taken[run.dim] *= run.length;
    }
    coordinates.back() = multiply(coordinates.back(), width);
    return coordinates;
  };
  auto moveVector = [&](ValueRange coordinates) {
    Extent extent = getExtent(op, box.corner, coordinates);
    Value pointer = getPointer(getAddress(op.getMemref(), box.indices, box.dims,
                                          box.steps, coordinates));
    Value shared =
        getSharedPointer(lookup(op.getBuffer()), buffer, coordinates);
    OpBuilder::InsertionGuard guard(builder);
    if (extent.partial) {
      auto branch = scf::IfOp::create(builder, extent.partial,
                                      /*withElseRegion=*/true);
      builder.setInsertionPointToStart(branch.thenBlock());
      auto type = VectorType::get({width}, buffer.getElementType());
      LLVM::StoreOp::create(
          builder,
          loadElements(type, pointer, extent.elements, lookup(op.getMemref())),
          shared, width * getBytes(buffer.getElementType()));
      builder.setInsertionPointToStart(branch.elseBlock());
    }
    // An asynchronous copy of no bytes doesn't look at its source.
    if (extent.whole && !std::is_same_v<OpT, tile::AsyncCopyOp>)
      pointer = arith::SelectOp::create(builder, extent.whole, pointer,
                                        lookup(op.getMemref()));
    move(pointer, shared, extent.whole);
  };

  Value start = thread;
  if (indexType.getWidth() > 32)
    start = arith::ExtUIOp::create(builder, indexType, thread);
  OpBuilder::InsertionGuard guard(builder);
  bool isPowerOf2 = llvm::isPowerOf2_64(threads) &&
                    llvm::all_of(vectors, llvm::isPowerOf2_64);
  constexpr bool isAsync = std::is_same_v<OpT, tile::AsyncCopyOp>;
  int64_t mostMoves =
      width > 1 || isAsync ? mostUnrolledMoves : mostUnrolledElements;
  if (!isPowerOf2 || total > threads * mostMoves) {
    auto loop =
        scf::ForOp::create(builder, start, getIndex(total), getIndex(threads));
    builder.setInsertionPointToStart(loop.getBody());
    return moveVector(getVectorCoordinates(loop.getInductionVar()));
  }
  // Powers of two: the bits of a vector's number that are the thread's and
  // those that say which of its vectors it is are different ones, and so are
  // the bits of the coordinates that they move. Addresses are the thread's and
  // constants.
  if (total < threads)
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder,
                          arith::CmpIOp::create(builder,
                                                arith::CmpIPredicate::ult,
                                                start, getIndex(total)),
                          /*withElseRegion=*/false)
            .thenBlock());
  SmallVector<Value> ofThread = getVectorCoordinates(start);
  for (int64_t first = 0; first < total; first += threads) {
    SmallVector<Value> coordinates;
    SmallVector<int64_t> moved(vectors.size()), taken(vectors.size(), 1);
    int64_t number = first;
    for (tile::CopyRun run : runs) {
      moved[run.dim] += number % run.length * taken[run.dim];
      taken[run.dim] *= run.length;
      number /= run.length;
    }
    moved.back() *= width;
    for (auto [coordinate, constant] : llvm::zip_equal(ofThread, moved))
      coordinates.push_back(add(coordinate, getIndex(constant)));
    moveVector(coordinates);
  }
}

void KernelEmitter::emitCopy(tile::CopyOp op) {
  Type element = op.getBuffer().getType().getElementType();
  int64_t width = op.getVector().value_or(1);
  auto type = VectorType::get({width}, element);
  int64_t alignment = width * getBytes(element);
  emitCopyVectors(op, [&](Value global, Value shared, Value inBounds) {
    Value data = LLVM::LoadOp::create(builder, type, global, alignment);
    if (inBounds)
      data = arith::SelectOp::create(
          builder, inBounds, data,
          arith::ConstantOp::create(
              builder, cast<TypedAttr>(builder.getZeroAttr(type))));
    LLVM::StoreOp::create(builder, data, shared, alignment);
  });
}

void KernelEmitter::emitAsyncCopy(tile::AsyncCopyOp op) {
  Type element = op.getBuffer().getType().getElementType();
  int64_t bytes = op.getVector().value_or(1) * getBytes(element);
  Type i32 = builder.getI32Type();
  // cp.async.cg (past L1) exists for 16 bytes only.
  auto modifier = bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                              : NVVM::LoadCacheModifierKind::CA;
  emitCopyVectors(op, [&](Value global, Value shared, Value inBounds) {
    // Out of bounds: copy no byte, the hardware fills with zeros.
    Value copied;
    if (inBounds)
      copied = arith::SelectOp::create(
          builder, inBounds, arith::ConstantIntOp::create(builder, i32, bytes),
          arith::ConstantIntOp::create(builder, i32, 0));
    NVVM::CpAsyncOp::create(builder, shared, global, bytes, modifier, copied);
  });
  if (copyGroups.isLast(op))
    NVVM::CpAsyncCommitGroupOp::create(builder);
  inFlight.push_back(op.getToken());
}

/// Forgets those of `inFlight` up to the last of `tokens`. Whether there were
/// any.
static bool completeUpTo(SmallVector<Value> &inFlight, ValueRange tokens) {
  const Value *last = inFlight.begin();
  for (const Value &token : inFlight)
    if (llvm::is_contained(tokens, token))
      last = &token + 1;
  bool any = last != inFlight.begin();
  inFlight.erase(inFlight.begin(), last);
  return any;
}

unsigned KernelEmitter::countGroups(ArrayRef<Value> tokens) const {
  unsigned count = 0;
  for (const Value &token : tokens)
    count +=
        &token == tokens.begin() || !copyGroups.isJoined(*(&token - 1), token);
  return count;
}

/// Groups complete in order: waiting for one leaves those committed after it
/// in flight.
void KernelEmitter::emitAwait(tile::AwaitOp op) {
  if (completeUpTo(inFlight, op.getTokens()))
    NVVM::CpAsyncWaitGroupOp::create(builder, countGroups(inFlight));
  if (completeUpTo(dotsInFlight, op.getTokens()))
    NVVM::WgmmaWaitGroupSyncOp::create(builder, countGroups(dotsInFlight));
}

/// Tokens in flight that a loop carries have other names in its body. Fails if
/// an iteration would not find them in the order in which the last left them.
LogicalResult KernelEmitter::renameTokens(scf::ForOp op, ValueRange from,
                                          ValueRange to) {
  for (SmallVector<Value> *queue : {&inFlight, &dotsInFlight}) {
    SmallVector<Value> expected, renamed;
    for (auto [before, after] : llvm::zip_equal(from, to))
      if (llvm::is_contained(*queue, before)) {
        expected.push_back(before);
        renamed.push_back(after);
      }
    if (expected.empty())
      continue; // what is in flight stays so
    if (expected != *queue)
      return op.emitError(
          "has copies or contractions in flight that it doesn't carry, or in "
          "another order than they were started in");
    *queue = std::move(renamed);
  }
  return success();
}

} // namespace deplo
