// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.reduce: within a thread, then over lanes by shuffles, then over warps
// through shared memory, as the layout says.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

Value foldTree(ImplicitLocOpBuilder &builder, Monoid kind,
               SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(
          combine(builder, builder.getLoc(), kind, values[i], values[i + 1]));
    if (values.size() % 2 != 0)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Narrow values travel in 32 bits.
Value KernelEmitter::shuffle(Value value, int64_t mask) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  auto bfly = [&](Value word) {
    Value all = arith::ConstantIntOp::create(builder, i32, -1);
    return NVVM::ShflOp::create(
               builder, word.getType(), all, word,
               arith::ConstantIntOp::create(builder, i32, mask),
               arith::ConstantIntOp::create(builder, i32, 31),
               NVVM::ShflKind::bfly, UnitAttr())
        .getResult();
  };
  if (width == 32)
    return bfly(value);
  Type integer = builder.getIntegerType(width);
  Value bits =
      isa<FloatType>(type)
          ? arith::BitcastOp::create(builder, integer, value).getResult()
          : value;
  if (width < 32) {
    bits = arith::TruncIOp::create(
        builder, integer, bfly(arith::ExtUIOp::create(builder, i32, bits)));
  } else {
    Value high = arith::ShRUIOp::create(
        builder, bits, arith::ConstantIntOp::create(builder, integer, 32));
    Value low = bfly(arith::TruncIOp::create(builder, i32, bits));
    high = bfly(arith::TruncIOp::create(builder, i32, high));
    bits = arith::OrIOp::create(
        builder, arith::ExtUIOp::create(builder, integer, low),
        arith::ShLIOp::create(
            builder, arith::ExtUIOp::create(builder, integer, high),
            arith::ConstantIntOp::create(builder, integer, 32)));
  }
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(builder, type, bits).getResult()
             : bits;
}

std::map<std::vector<int32_t>, int32_t>
KernelEmitter::getRegisters(const LinearLayout &layout) {
  std::map<std::vector<int32_t>, int32_t> registerAt;
  for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg) {
    Coordinates coordinates = layout.apply(reg, 0);
    registerAt.emplace(
        std::vector<int32_t>(coordinates.begin(), coordinates.end()), reg);
  }
  return registerAt;
}

Value KernelEmitter::getMember(ArrayRef<int32_t> warpMasks) {
  Value member = getIndex(0);
  for (auto [i, mask] : llvm::enumerate(warpMasks)) {
    Value isClear = getIsZero(warp, mask & -mask);
    member = arith::SelectOp::create(builder, isClear, member,
                                     add(member, getIndex(int64_t(1) << i)));
  }
  return member;
}

LogicalResult KernelEmitter::emitReduce(tile::ReduceOp op) {
  LinearLayout layout =
      tile::getLayout(op.getInputs().front()).getLinearLayout();
  unsigned axis = op.getAxis();
  ReductionBits bits = layout.reductionBits(axis);
  if (!bits.isComplete)
    return op.emitError() << "layout's threads do not cover slices along axis "
                          << axis << " by exchanges";
  tile::LayoutAttr resultAttr = tile::getLayout(op.getResult(0));
  LinearLayout result = resultAttr.getLinearLayout();

  // Registers of one slice meet in the register of the result that holds it.
  auto registerAt = getRegisters(result);
  int32_t duplicates = layout.getReplicaMask().reg;
  SmallVector<SmallVector<Value>> reduced;
  for (auto [kind, input] : llvm::zip(op.getMonoids(), op.getInputs())) {
    SmallVector<SmallVector<Value>> slices(result.getNumRegisters());
    SmallVector<Value> elements = unpack(lookup(input));
    for (auto [reg, element] : llvm::enumerate(elements)) {
      if (reg & duplicates) // the same element again
        continue;
      Coordinates coordinates = layout.apply(reg, 0);
      std::vector<int32_t> kept(coordinates.begin(), coordinates.end());
      kept.erase(kept.begin() + axis);
      slices[registerAt.at(kept)].push_back(element);
    }
    SmallVector<Value> &values = reduced.emplace_back();
    for (SmallVector<Value> &slice : slices) {
      Value value = foldTree(builder, kind, slice);
      // Both lanes of a pair compute the same sum: all end with the same bits.
      for (int32_t mask : bits.laneMasks)
        value = combine(builder, builder.getLoc(), kind, value,
                        shuffle(value, mask));
      values.push_back(value);
    }
  }

  if (!bits.warpMasks.empty()) {
    // Each warp of a group that shares slices leaves its values behind those of
    // the others, so that lanes with different values use different banks;
    // after a barrier each thread folds all of them.
    int64_t members = int64_t(1) << bits.warpMasks.size();
    Value member = getMember(bits.warpMasks);
    bool inLoop = op->getParentOp() != kernel.getOperation();
    SmallVector<Value> scratches;
    for (Value value : op.getResults()) {
      auto type = cast<RankedTensorType>(value.getType());
      scratches.push_back(
          allocateShared(type.getNumElements() * members *
                         type.getElementType().getIntOrFloatBitWidth() / 8));
    }
    int64_t resultSize =
        cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
    auto pointerTo = [&](Value scratch, Type element, int32_t reg,
                         Value slot) -> Value {
      Value offset = getIndex(0);
      for (auto [coordinate, size] :
           llvm::zip(getCoordinates(resultAttr, reg), resultAttr.getShape()))
        offset = add(multiply(offset, size), coordinate);
      return LLVM::GEPOp::create(
          builder, scratch.getType(), element, scratch,
          ValueRange(add(multiply(slot, resultSize), offset)));
    };
    // In a loop, threads behind may still read the previous iteration's values.
    if (inLoop)
      emitBarrier();
    // One lane of those that now hold the same value writes it, in one warp of
    // those that held the same elements.
    Value writes = conjunction(getIsZero(lane, result.getReplicaMask().lane),
                               getIsLeaderWarp(layout));
    {
      OpBuilder::InsertionGuard guard(builder);
      if (writes)
        builder.setInsertionPointToStart(
            scf::IfOp::create(builder, writes, /*withElseRegion=*/false)
                .thenBlock());
      for (auto [scratch, values] : llvm::zip(scratches, reduced))
        for (auto [reg, value] : llvm::enumerate(values))
          LLVM::StoreOp::create(
              builder, value, pointerTo(scratch, value.getType(), reg, member));
    }
    emitBarrier();
    for (auto [kind, scratch, values] :
         llvm::zip(op.getMonoids(), scratches, reduced)) {
      for (auto [reg, value] : llvm::enumerate(values)) {
        SmallVector<Value> parts;
        for (int64_t part = 0; part < members; ++part)
          parts.push_back(LLVM::LoadOp::create(
              builder, value.getType(),
              pointerTo(scratch, value.getType(), reg, getIndex(part))));
        value = foldTree(builder, kind, parts);
      }
    }
  }
  for (auto [value, elements] : llvm::zip(op.getResults(), reduced))
    mapping.map(value, pack(elements));
  return success();
}

} // namespace deplo
