// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores and gathers.

#include "KernelEmitter.h"

#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Analysis/GatherAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace deplo {

KernelEmitter::Box
KernelEmitter::getBox(Operation *op, SmallVector<Value> indices, int64_t rank) {
  tile::BoxAccess access = *tile::BoxAccess::get(op);
  assert(int64_t(access.shape.size()) == rank && "a tile of another rank");
  Box box{access.dims, access.steps, std::move(indices), {}};
  for (int64_t dim : box.dims)
    box.corner.push_back(box.indices[dim]);
  return box;
}

/// Bounds may end within an access where it starts at an unknown distance from
/// them, or they are no multiple of its width. Those that provably hold aren't
/// looked at.
KernelEmitter::Extent KernelEmitter::getExtent(Operation *op, ValueRange corner,
                                               ValueRange coordinates) {
  tile::BoxAccess box = *tile::BoxAccess::get(op);
  Extent extent;
  SmallVector<unsigned> checked;
  for (auto [dim, bound] : llvm::enumerate(box.bounds))
    if (!tile::isWithinBound(box.indices[box.dims[dim]], box.steps[dim],
                             box.shape[dim], bound))
      checked.push_back(dim);
  auto getChecked = [&](auto range, std::optional<unsigned> without = {}) {
    SmallVector<std::decay_t<decltype(range[0])>> kept;
    for (unsigned dim : checked)
      if (dim != without)
        kept.push_back(range[dim]);
    return kept;
  };
  auto getInChecked = [&](std::optional<unsigned> without = {}) {
    return getInBounds(getChecked(corner, without),
                       getChecked(coordinates, without),
                       getChecked(box.steps, without),
                       ArrayRef<int64_t>(getChecked(box.bounds, without)));
  };
  auto vector = op->getAttrOfType<IntegerAttr>("vector");
  int64_t width = vector ? vector.getInt() : 1;
  std::optional<unsigned> unit = box.getUnitStrideDim();
  auto endsWithin = [&] {
    return box.bounds[*unit] % width != 0 ||
           tile::getKnownDivisor(box.indices[box.dims[*unit]]) % width != 0;
  };
  if (width == 1 || !llvm::is_contained(checked, *unit) || !endsWithin()) {
    extent.whole = getInChecked();
    return extent;
  }

  int64_t bound = box.bounds[*unit];
  Value inOthers = getInChecked(unit);
  Value start = add(corner[*unit], coordinates[*unit]);
  // Below the bound and so many elements more or less.
  auto isBelow = [&](Value position, int64_t more) -> Value {
    Value limit = builder.createOrFold<arith::MaxSIOp>(
        add(getNumber(bound), getIndex(more)), getIndex(0));
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, position,
                                 limit);
  };
  extent.whole = conjunction(inOthers, isBelow(start, 1 - width));
  Value touched = conjunction(
      inOthers, isBelow(add(start, getIndex(width - 1)), width - 1));
  Value isTrue = arith::ConstantIntOp::create(builder, builder.getI1Type(), 1);
  extent.partial = arith::AndIOp::create(
      builder, touched, arith::XOrIOp::create(builder, extent.whole, isTrue));
  for (int64_t i = 0; i < width; ++i)
    extent.elements.push_back(isBelow(add(start, getIndex(i)), 0));
  return extent;
}

/// `pointer`, of which LLVM knows neither the alignment nor how far it is from
/// others: it would make three loads of four bytes behind one of 16 bytes
/// another of 16, which may end behind the buffer.
Value KernelEmitter::hideOrigin(Value pointer) {
  return LLVM::InlineAsmOp::create(
             builder, pointer.getType(), ValueRange(pointer), "mov.b64 $0, $1;",
             "=l,l", /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
             ArrayAttr())
      .getResult(0);
}

/// Elements one by one, zero where they are not in bounds.
Value KernelEmitter::loadElements(VectorType type, Value pointer,
                                  ArrayRef<Value> inBounds, Value base) {
  Type element = type.getElementType();
  SmallVector<Value> elements;
  for (auto [i, isRead] : llvm::enumerate(inBounds)) {
    Value place =
        LLVM::GEPOp::create(builder, pointer.getType(), element, pointer,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    place = arith::SelectOp::create(builder, isRead, place, base);
    Value loaded =
        LLVM::LoadOp::create(builder, element, place, getBytes(element));
    elements.push_back(arith::SelectOp::create(
        builder, isRead, loaded,
        arith::ConstantOp::create(builder, builder.getZeroAttr(element))));
  }
  return pack(elements);
}

/// A divisor of the variable part of the op's addresses, in elements; 0 if that
/// is 0.
int64_t KernelEmitter::getVariableDivisor(tile::LoadOp op) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(op.getMemRefType().getStridesAndOffset(strides, offset)) ||
      llvm::any_of(strides, [&](int64_t s) { return sizes.isSymbolic(s); }) ||
      sizes.isSymbolic(offset))
    return 1;
  int64_t divisor = 0;
  for (auto [index, stride] : llvm::zip(op.getIndices(), strides)) {
    tile::AffineIndex affine = tile::AffineIndex::get(index);
    int64_t rest = affine.offset - splitConstant(lookup(index)).second;
    if (affine.base)
      rest = std::gcd(rest, tile::getKnownDivisor(affine.base) * affine.scale);
    divisor = std::gcd(divisor, rest * stride);
  }
  LinearLayout layout = tile::getLayout(op.getResult()).getLinearLayout();
  Box box = getBox(op, op.getIndices(), op.getType().getRank());
  for (auto [tileDim, dim] : llvm::enumerate(box.dims)) {
    int64_t bits = getReach(layout, InputDim::Lane, tileDim) |
                   getReach(layout, InputDim::Warp, tileDim);
    int64_t registers = getReach(layout, InputDim::Register, tileDim);
    if (bits & registers)
      bits |= registers;
    divisor =
        std::gcd(divisor, (bits & -bits) * box.steps[tileDim] * strides[dim]);
  }
  return divisor;
}

void KernelEmitter::emitLoad(tile::LoadOp op) {
  tile::LayoutAttr layout = tile::getLayout(op.getResult());
  auto type = cast<VectorType>(convertType(op.getType()));
  Type element = type.getElementType();
  int64_t width = op.getVector().value_or(1);
  auto accessType = VectorType::get({width}, element);
  Box box = getBox(op, lookup(op.getIndices()), op.getType().getRank());

  // LLVM merges accesses that are narrower than their alignment.
  constexpr int64_t widestAccess = 16;
  int64_t divisor = getVariableDivisor(op);
  const int64_t alignment =
      getReadAlignment(op.getMemRefType(), sizes, this->alignment);

  Value tile = arith::ConstantOp::create(
      builder, cast<TypedAttr>(builder.getZeroAttr(type)));
  for (int64_t reg = 0; reg < type.getNumElements(); reg += width) {
    SmallVector<Value> coordinates = getCoordinates(layout, reg);
    Address address = getAddress(op.getMemref(), box.indices, box.dims,
                                 box.steps, coordinates);
    Extent extent = getExtent(op, box.corner, coordinates);
    Value inBounds = extent.whole;
    // Out of bounds: read elements at the memref's beginning instead, without a
    // branch, and discard them.
    Value pointer = getPointer(address, inBounds, width);
    int64_t known = std::gcd(std::gcd(divisor, address.constant),
                             inBounds ? getFirst(address) : 0) *
                    getBytes(element);
    known = known == 0 ? widestAccess : std::min(known & -known, widestAccess);
    Value access = LLVM::LoadOp::create(
        builder, accessType, pointer,
        std::max(std::min(known, alignment), width * getBytes(element)));
    if (inBounds)
      access = arith::SelectOp::create(
          builder, inBounds, access,
          arith::ConstantOp::create(
              builder, cast<TypedAttr>(builder.getZeroAttr(accessType))));
    if (extent.partial) {
      auto branch = scf::IfOp::create(builder, accessType, extent.partial,
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value first = getPointer(address);
      if (alignment < width * getBytes(element))
        first = hideOrigin(first);
      scf::YieldOp::create(builder,
                           loadElements(accessType, first, extent.elements,
                                        lookup(op.getMemref())));
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, access);
      access = branch.getResult(0);
    }
    tile = width == type.getNumElements()
               ? access
               : vector::InsertStridedSliceOp::create(builder, access, tile,
                                                      ArrayRef<int64_t>(reg),
                                                      ArrayRef<int64_t>(1))
                     .getResult();
  }
  mapping.map(op.getResult(), tile);
}

void KernelEmitter::emitGather(tile::GatherOp op) {
  auto type = cast<VectorType>(convertType(op.getType()));
  Type element = type.getElementType();
  int64_t width = op.getVector().value_or(1);
  auto accessType = VectorType::get({width}, element);
  // What neighbours in a thread read at one address is read once.
  int64_t run = width;
  LinearLayout layout = tile::getLayout(op.getResult()).getLinearLayout();
  for (unsigned dim = 0; dim < op.getType().getRank() && run == 1; ++dim)
    run = tile::getEqualRun(op, dim, layout.contiguity(dim));
  Value base = lookup(op.getMemref()), offsets = lookup(op.getOffsets());
  Value mask, otherwise;
  if (op.getMask()) {
    mask = lookup(op.getMask());
    otherwise = op.getOtherwise()
                    ? lookup(op.getOtherwise())
                    : arith::ConstantOp::create(
                          builder, cast<TypedAttr>(builder.getZeroAttr(type)))
                          .getResult();
  }
  auto getPart = [&](Value vector, int64_t reg) -> Value {
    return vector::ExtractStridedSliceOp::create(
        builder, vector, ArrayRef<int64_t>(reg), ArrayRef<int64_t>(run),
        ArrayRef<int64_t>(1));
  };
  // Where the whole block reads, or none of it, it branches: the sources of a
  // concatenation are not touched in vain.
  OpBuilder::InsertionGuard guard(builder);
  scf::IfOp branch;
  if (mask && tile::isUniform(op.getMask())) {
    Value isRead =
        vector::ExtractOp::create(builder, mask, ArrayRef<int64_t>(0));
    branch = scf::IfOp::create(builder, type, isRead, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, otherwise);
    builder.setInsertionPointToStart(branch.thenBlock());
    mask = {};
  }
  Value tile = arith::ConstantOp::create(
      builder, cast<TypedAttr>(builder.getZeroAttr(type)));
  for (int64_t reg = 0; reg < type.getNumElements(); reg += run) {
    // One offset and one bool stand for those of the whole access.
    Value offset =
        vector::ExtractOp::create(builder, offsets, ArrayRef<int64_t>(reg));
    Value pointer = LLVM::GEPOp::create(builder, base.getType(), element, base,
                                        ValueRange(offset));
    Value isRead;
    if (mask) {
      isRead = vector::ExtractOp::create(builder, mask, ArrayRef<int64_t>(reg));
      pointer = arith::SelectOp::create(builder, isRead, pointer,
                                        getMaskedPlace(op.getMemref(), width));
    }
    Value access = LLVM::LoadOp::create(builder, accessType, pointer,
                                        width * getBytes(element));
    if (run > width)
      access = vector::BroadcastOp::create(
          builder, VectorType::get({run}, element), access);
    if (mask)
      access = arith::SelectOp::create(builder, isRead, access,
                                       getPart(otherwise, reg));
    tile = vector::InsertStridedSliceOp::create(
        builder, access, tile, ArrayRef<int64_t>(reg), ArrayRef<int64_t>(1));
  }
  if (branch)
    scf::YieldOp::create(builder, tile);
  mapping.map(op.getResult(), branch ? branch.getResult(0) : tile);
}

void KernelEmitter::emitStore(tile::StoreOp op) {
  tile::LayoutAttr layout = tile::getLayout(op.getValue());
  LinearLayout linear = layout.getLinearLayout();
  Value tile = lookup(op.getValue());
  auto type = cast<VectorType>(tile.getType());
  int64_t width = op.getVector().value_or(1);
  int64_t alignment = width * getBytes(type.getElementType());
  Box box =
      getBox(op, lookup(op.getIndices()), op.getValue().getType().getRank());
  Value isLeader =
      conjunction(getIsLeader(linear), getIsLeaderBlock(op.getIndices()));

  int32_t duplicates = linear.getReplicaMask().reg;
  for (int64_t reg = 0; reg < type.getNumElements(); reg += width) {
    if (reg & duplicates)
      continue;
    Value access = width == type.getNumElements()
                       ? tile
                       : vector::ExtractStridedSliceOp::create(
                             builder, tile, ArrayRef<int64_t>(reg),
                             ArrayRef<int64_t>(width), ArrayRef<int64_t>(1))
                             .getResult();
    SmallVector<Value> coordinates = getCoordinates(layout, reg);
    Extent extent = getExtent(op, box.corner, coordinates);
    Value acts = conjunction(isLeader, extent.whole);
    Value pointer = getPointer(getAddress(op.getMemref(), box.indices, box.dims,
                                          box.steps, coordinates));
    auto storeIf = [&](Value condition, llvm::function_ref<void()> store) {
      OpBuilder::InsertionGuard guard(builder);
      if (condition)
        builder.setInsertionPointToStart(
            scf::IfOp::create(builder, condition, /*withElseRegion=*/false)
                .thenBlock());
      store();
    };
    storeIf(acts, [&] {
      LLVM::StoreOp::create(builder, access, pointer, alignment);
    });
    if (!extent.partial)
      continue;
    storeIf(conjunction(isLeader, extent.partial), [&] {
      for (auto [i, element] : llvm::enumerate(unpack(access)))
        storeIf(extent.elements[i], [&, i = i, element = element] {
          Value place = LLVM::GEPOp::create(
              builder, pointer.getType(), element.getType(), pointer,
              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
          LLVM::StoreOp::create(builder, element, place,
                                getBytes(element.getType()));
        });
    });
  }
}

void KernelEmitter::emitMisalignment(tile::MisalignmentOp op) {
  auto [strides, offset] = op.getMemref().getType().getStridesAndOffset();
  Value element = getIndex(offset);
  for (auto [index, stride] : llvm::zip(lookup(op.getIndices()), strides))
    element = add(element, multiply(index, stride));
  mapping.map(
      op.getResult(),
      arith::AndIOp::create(builder, element, getIndex(op.getModulo() - 1))
          .getResult());
}

void KernelEmitter::emitInBounds(tile::InBoundsOp op) {
  tile::LayoutAttr layout = tile::getLayout(op.getResult());
  SmallVector<Value> corner = lookup(op.getCorner());
  SmallVector<int64_t> steps(corner.size(), 1);
  SmallVector<Value> elements;
  for (int32_t reg = 0, e = layout.getLinearLayout().getNumRegisters(); reg < e;
       ++reg)
    elements.push_back(getInBounds(corner, getCoordinates(layout, reg), steps,
                                   op.getBounds()));
  mapping.map(op.getResult(), pack(elements));
}

void KernelEmitter::emitIota(tile::IotaOp op) {
  tile::LayoutAttr layout = tile::getLayout(op.getResult());
  Type type = getElementTypeOrSelf(op.getType());
  Value start = lookup(op.getStart());
  SmallVector<Value> elements;
  for (int32_t reg = 0, e = layout.getLinearLayout().getNumRegisters(); reg < e;
       ++reg) {
    Value number = start;
    for (Value coordinate : getCoordinates(layout, reg))
      number = add(number, coordinate);
    unsigned from = indexType.getWidth(), to = type.getIntOrFloatBitWidth();
    if (from < to)
      number = arith::ExtSIOp::create(builder, type, number);
    else if (from > to)
      number = arith::TruncIOp::create(builder, type, number);
    elements.push_back(number);
  }
  mapping.map(op.getResult(), pack(elements));
}

} // namespace deplo
