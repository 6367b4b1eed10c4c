// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates, and the operations that touch global or shared memory.

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
/// Those of single elements have a mask and an address each.
static constexpr int64_t mostUnrolledElements = 4;

static int64_t getBytes(Type elementType) {
  return elementType.getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// The bits of coordinate `dim` that a set of moves can set.
static int64_t getReach(const LinearLayout &layout, InputDim input,
                        unsigned dim) {
  int64_t reach = 0;
  for (unsigned bit = 0; bit < layout.getNumBits(input); ++bit)
    reach |= layout.getBasis(input, bit)[dim];
  return reach;
}

Value KernelEmitter::getThreadCoordinate(tile::LayoutAttr layoutAttr,
                                         unsigned dim) {
  Value &cached = threadCoordinates[{layoutAttr, dim}];
  if (cached)
    return cached;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(warp);

  LinearLayout layout = layoutAttr.getLinearLayout();
  Type i32 = builder.getI32Type();
  Value coordinate;
  // Runs of bits that move by successive powers of two are one mask and shift;
  // runs combine by exclusive or.
  auto addRuns = [&](InputDim input, Value index) {
    unsigned numBits = layout.getNumBits(input);
    for (unsigned bit = 0; bit < numBits;) {
      int32_t move = layout.getBasis(input, bit)[dim];
      unsigned end = bit + 1;
      while (move != 0 && end < numBits &&
             layout.getBasis(input, end)[dim] == move << (end - bit))
        ++end;
      if (move != 0) {
        Value bits = index;
        if (bit != 0)
          bits = arith::ShRUIOp::create(
              builder, bits, arith::ConstantIntOp::create(builder, i32, bit));
        bits = arith::AndIOp::create(
            builder, bits,
            arith::ConstantIntOp::create(builder, i32,
                                         (int64_t(1) << (end - bit)) - 1));
        Value term = builder.createOrFold<arith::MulIOp>(
            bits, arith::ConstantIntOp::create(builder, i32, move));
        coordinate =
            coordinate
                ? arith::XOrIOp::create(builder, coordinate, term).getResult()
                : term;
      }
      bit = end;
    }
  };
  addRuns(InputDim::Lane, lane);
  addRuns(InputDim::Warp, warp);
  if (!coordinate)
    cached = arith::ConstantIntOp::create(builder, indexType, 0);
  else if (indexType.getWidth() > 32)
    cached = arith::ExtUIOp::create(builder, indexType, coordinate);
  else
    cached = coordinate;
  return cached;
}

SmallVector<Value> KernelEmitter::getCoordinates(tile::LayoutAttr layoutAttr,
                                                 int32_t reg) {
  LinearLayout layout = layoutAttr.getLinearLayout();
  Coordinates ofRegister = layout.apply(reg, 0);
  SmallVector<Value> coordinates;
  for (unsigned dim = 0; dim < layout.getRank(); ++dim) {
    Value ofThread = getThreadCoordinate(layoutAttr, dim);
    int64_t threadBits = getReach(layout, InputDim::Lane, dim) |
                         getReach(layout, InputDim::Warp, dim);
    if (ofRegister[dim] == 0)
      coordinates.push_back(ofThread);
    else if ((threadBits & ofRegister[dim]) ==
             0) // Then the sum is the exclusive or, and folds into addresses.
      coordinates.push_back(add(ofThread, getIndex(ofRegister[dim])));
    else
      coordinates.push_back(
          arith::XOrIOp::create(builder, ofThread, getIndex(ofRegister[dim])));
  }
  return coordinates;
}

Value KernelEmitter::getIsZero(Value index, int64_t mask) {
  if (mask == 0)
    return {};
  Type i32 = builder.getI32Type();
  Value bits = arith::AndIOp::create(
      builder, index, arith::ConstantIntOp::create(builder, i32, mask));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, bits,
                               arith::ConstantIntOp::create(builder, i32, 0));
}

/// Whether `index` is computed from `other`.
static bool dependsOn(Value index, Value other) {
  Operation *definition = index.getDefiningOp();
  return index == other ||
         (definition &&
          llvm::any_of(definition->getOperands(),
                       [&](Value part) { return dependsOn(part, other); }));
}

Value KernelEmitter::getIsLeaderBlock(ValueRange indices) {
  std::optional<unsigned> axis = kernel.getClusterAxis();
  if (!axis)
    return Value();
  Value slice = kernel.getAxisValues()[*axis];
  if (llvm::any_of(indices,
                   [&](Value index) { return dependsOn(index, slice); }))
    return Value();
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, lookup(slice),
                               getIndex(0));
}

Value KernelEmitter::getIsLeaderWarp(const LinearLayout &layout) {
  // Warps that the layout doesn't tell apart are replicas too.
  int64_t warps = kernel.getWarps().value_or(1);
  int64_t unknownWarps =
      (warps - 1) & ~int64_t(layout.getSize(InputDim::Warp) - 1);
  return getIsZero(warp, layout.getReplicaMask().warp | unknownWarps);
}

Value KernelEmitter::getIsLeader(const LinearLayout &layout) {
  // A layout without lanes, of a tile of one element, tells none apart.
  constexpr int64_t lanes = 32;
  int64_t unknownLanes =
      (lanes - 1) & ~int64_t(layout.getSize(InputDim::Lane) - 1);
  return conjunction(
      getIsZero(lane, layout.getReplicaMask().lane | unknownLanes),
      getIsLeaderWarp(layout));
}

Value KernelEmitter::getInBounds(ValueRange corner, ValueRange coordinates,
                                 ArrayRef<int64_t> steps,
                                 std::optional<ArrayRef<int64_t>> bounds) {
  Value result;
  if (!bounds)
    return result;
  for (auto [start, coordinate, step, bound] :
       llvm::zip(corner, coordinates, steps, *bounds)) {
    Value position = add(start, multiply(coordinate, step));
    // Seen as unsigned, negative positions are beyond all bounds.
    auto below =
        start.getDefiningOp<arith::SubIOp>() || splitConstant(start).second < 0
            ? arith::CmpIPredicate::ult
            : arith::CmpIPredicate::slt;
    result = conjunction(result, arith::CmpIOp::create(builder, below, position,
                                                       getNumber(bound))
                                     .getResult());
  }
  return result;
}

std::pair<Value, int64_t> KernelEmitter::splitConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {Value(), constant.getSExtValue()};
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&constant)))
    return {value, 0};
  auto [rest, number] = splitConstant(sum.getLhs());
  return {rest, number + constant.getSExtValue()};
}

KernelEmitter::Address KernelEmitter::getAddress(Value memref,
                                                 ValueRange indices,
                                                 ArrayRef<int64_t> spannedDims,
                                                 ArrayRef<int64_t> steps,
                                                 ValueRange coordinates) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, start] = type.getStridesAndOffset();
  Address address{memref, getIndex(0)};
  auto addPart = [&](Value coordinate, int64_t stride) {
    auto [variable, constant] = splitConstant(coordinate);
    if (sizes.isSymbolic(stride)) {
      variable = coordinate;
      constant = 0;
    }
    address.constant += constant * stride;
    if (variable)
      address.variable = add(address.variable, multiply(variable, stride));
  };
  if (sizes.isSymbolic(start))
    address.variable = getNumber(start);
  else
    address.constant = start;
  for (auto [index, stride] : llvm::zip(indices, strides))
    addPart(index, stride);
  for (auto [dim, step, coordinate] :
       llvm::zip(spannedDims, steps, coordinates))
    addPart(coordinate, step * strides[dim]);
  return address;
}

Value KernelEmitter::getPointer(const Address &address) {
  Type element = cast<MemRefType>(address.memref.getType()).getElementType();
  Value pointer = lookup(address.memref);
  // The sum is in bounds, its parts need not be.
  for (Value offset : {address.variable, getIndex(address.constant)})
    if (!matchPattern(offset, m_Zero()))
      pointer = LLVM::GEPOp::create(builder, pointer.getType(), element,
                                    pointer, ValueRange(offset));
  return pointer;
}

/// What divides the elements from where the memref's buffer starts to its end,
/// whatever the sizes that are known when the program runs; 1 if nothing does.
static int64_t getSpanDivisor(MemRefType type, const SymbolicSizes &sizes) {
  SmallVector<int64_t> strides;
  int64_t span;
  if (failed(type.getStridesAndOffset(strides, span)) ||
      ShapedType::isDynamic(span))
    return 1;
  bool isSymbolic = sizes.isSymbolic(span);
  // Generic numbers are large; what overflows only has to be told apart.
  uint64_t elements = uint64_t(span) + 1, product = 1;
  int64_t divisor = 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      return 1;
    isSymbolic |= sizes.isSymbolic(size) || sizes.isSymbolic(stride);
    elements += uint64_t(size - 1) * uint64_t(stride);
    product *= uint64_t(size);
    divisor *= sizes.getProduct(size).coefficient;
  }
  if (!isSymbolic)
    return int64_t(elements);
  // Without gaps it is a product, whose coefficient is not generic.
  return elements == product ? divisor : 1;
}

int64_t getReadAlignment(MemRefType type, const SymbolicSizes &sizes,
                         int64_t alignment) {
  int64_t bytes = getSpanDivisor(type, sizes) * getBytes(type.getElementType());
  return bytes > 0 ? std::min(bytes & -bytes, alignment) : alignment;
}

/// Elements from where the memref's buffer starts to its end, the fewest where
/// sizes are known when the program runs; 0 if not known. Without elements
/// there are no accesses.
static int64_t getSpan(MemRefType type, const SymbolicSizes &sizes) {
  SmallVector<int64_t> strides;
  int64_t span;
  if (failed(type.getStridesAndOffset(strides, span)) ||
      ShapedType::isDynamic(span) || type.getNumElements() == 0)
    return 0;
  span = sizes.getMin(span);
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (ShapedType::isDynamic(stride) || stride < 0)
      return 0;
    span +=
        (std::max<int64_t>(sizes.getMin(size), 1) - 1) * sizes.getMin(stride);
  }
  return span + 1;
}

Value KernelEmitter::getMaskedPlace(Value memref, int64_t width) {
  auto type = cast<MemRefType>(memref.getType());
  Value pointer = lookup(memref);
  if (width <= getSpan(type, sizes))
    return pointer;
  constexpr StringLiteral name = "masked_reads";
  auto module = function->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    // As long as the widest access.
    constexpr int64_t bytes = 16;
    IntegerType byte = builder.getI8Type();
    LLVM::GlobalOp::create(
        builder, LLVM::LLVMArrayType::get(byte, bytes),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        DenseElementsAttr::get(RankedTensorType::get({bytes}, byte),
                               builder.getIntegerAttr(byte, 0)),
        /*alignment=*/bytes,
        cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace());
  }
  return LLVM::AddressOfOp::create(builder, pointer.getType(), name);
}

int64_t KernelEmitter::getFirst(const Address &address) {
  return address.constant < 0 ? llvm::PowerOf2Ceil(-address.constant) : 0;
}

Value KernelEmitter::getPointer(const Address &address, Value inBounds,
                                int64_t width) {
  if (!inBounds)
    return getPointer(address);
  // Masked accesses keep their distance as well, if the memref is large enough
  // for them to start at its beginning.
  int64_t first = getFirst(address);
  int64_t place = first + address.constant;
  if (place % width != 0 ||
      place + width >
          getSpan(cast<MemRefType>(address.memref.getType()), sizes))
    return arith::SelectOp::create(builder, inBounds, getPointer(address),
                                   getMaskedPlace(address.memref, width));
  Address masked = address;
  masked.variable = arith::SelectOp::create(builder, inBounds, address.variable,
                                            getIndex(first));
  return getPointer(masked);
}

Value KernelEmitter::getSharedPointer(Value buffer, tile::BufferType type,
                                      ValueRange coordinates) {
  if (type.getLayout().getSwizzle() != 0)
    return getSwizzledPointer(buffer, type, coordinates);
  Value offset = getIndex(0);
  for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
    int64_t size = type.getShape()[dim];
    if (static_cast<int64_t>(dim) == type.getRank() - 1)
      size += type.getLayout().getPad();
    offset = add(multiply(offset, size), coordinate);
  }
  return LLVM::GEPOp::create(builder, buffer.getType(), type.getElementType(),
                             buffer, ValueRange(offset));
}

/// The row's number, of which a constant part is split off, and the chunk moved
/// by it. Rows that are whole periods of the swizzle apart move chunks alike:
/// their addresses differ by a constant.
Value KernelEmitter::getSwizzledPointer(Value buffer, tile::BufferType type,
                                        ValueRange coordinates) {
  SharedBuffer model = type.getModel();
  Swizzle swizzle = model.swizzle;
  int64_t elementBytes = getBytes(type.getElementType());
  int64_t rowBytes = type.getShape().back() * elementBytes;
  Value row = getIndex(0);
  int64_t constantRow = 0;
  for (auto [coordinate, size] :
       llvm::zip_equal(coordinates.drop_back(), type.getShape().drop_back())) {
    auto [variable, constant] = splitConstant(coordinate);
    row = multiply(row, size);
    if (variable)
      row = add(row, variable);
    constantRow = constantRow * size + constant;
  }
  int64_t constantBytes = constantRow * rowBytes;
  if (constantBytes % swizzle.getPeriod() != 0) {
    row = add(row, getIndex(constantRow));
    constantBytes = 0;
  }
  Value start = multiply(row, rowBytes);
  auto shift = [&](Value value, int64_t bits) {
    return builder.createOrFold<arith::ShRUIOp>(value, getIndex(bits));
  };
  Value moved = builder.createOrFold<arith::AndIOp>(
      shift(start, swizzle.shift),
      getIndex(((int64_t(1) << swizzle.bits) - 1) << swizzle.base));
  Value column = builder.createOrFold<arith::XOrIOp>(
      multiply(coordinates.back(), elementBytes), moved);
  Value pointer =
      LLVM::GEPOp::create(builder, buffer.getType(), builder.getI8Type(),
                          buffer, ValueRange(add(start, column)));
  if (constantBytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      builder, buffer.getType(), builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constantBytes)});
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

namespace {

/// Where a box access of a tile with a layout lies.
struct Box {
  SmallVector<int64_t> dims, steps;
  SmallVector<Value> indices, corner;
};

} // namespace

template <typename OpT>
static Box getBox(OpT op, SmallVector<Value> indices, int64_t rank) {
  Box box;
  box.dims =
      tile::getSpannedDims(op.getDims(), op.getMemRefType().getRank(), rank);
  box.steps = op.getSteps() ? llvm::to_vector(*op.getSteps())
                            : SmallVector<int64_t>(rank, 1);
  box.indices = std::move(indices);
  for (int64_t dim : box.dims)
    box.corner.push_back(box.indices[dim]);
  return box;
}

/// Bounds may end within an access where it starts at an unknown distance from
/// them, or they are no multiple of its width. Those that provably hold aren't
/// looked at.
template <typename OpT>
KernelEmitter::Extent KernelEmitter::getExtent(OpT op, ValueRange corner,
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
  int64_t width = op.getVector().value_or(1);
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
      scf::YieldOp::create(
          builder, loadElements(accessType, getPointer(address),
                                extent.elements, lookup(op.getMemref())));
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
  // Units beside the threads swizzle addresses, not offsets in the buffer.
  constexpr int64_t widestAccess = 16;
  int64_t period = op.getType().getModel().swizzle.getPeriod();
  mapping.map(op.getResult(), allocateShared(op.getType().getSizeInBytes(),
                                             std::max(period, widestAccess)));
}

void KernelEmitter::emitSlot(tile::SlotOp op) {
  tile::BufferType slot = op.getResult().getType();
  int64_t elements = slot.getSizeInBytes() / getBytes(slot.getElementType());
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

/// The block's threads take the buffer's vectors in turn, in row-major order.
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

  auto getVectorCoordinates = [&](Value number) {
    SmallVector<Value> coordinates(vectors.size());
    for (int64_t dim = vectors.size() - 1; dim >= 0; --dim) {
      Value size = getIndex(vectors[dim]);
      coordinates[dim] =
          dim == 0 ? number
                   : builder.createOrFold<arith::RemUIOp>(number, size);
      if (dim != 0)
        number = builder.createOrFold<arith::DivUIOp>(number, size);
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
  int64_t mostMoves = width > 1 ? mostUnrolledMoves : mostUnrolledElements;
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
    int64_t number = first * width, inner = vectors.back() * width;
    SmallVector<int64_t> sizes(vectors);
    sizes.back() = inner;
    SmallVector<int64_t> moved(sizes.size());
    for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
      moved[dim] = number % sizes[dim];
      number /= sizes[dim];
    }
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
  NVVM::CpAsyncCommitGroupOp::create(builder);
  inFlight.push_back(op.getToken());
}

/// How many of those in flight were committed after the last of `tokens`;
/// forgets the others. Nothing if none of `tokens` is in flight.
static std::optional<int64_t> completeUpTo(SmallVector<Value> &inFlight,
                                           ValueRange tokens) {
  const Value *last = inFlight.begin();
  for (const Value &token : inFlight)
    if (llvm::is_contained(tokens, token))
      last = &token + 1;
  if (last == inFlight.begin())
    return std::nullopt;
  int64_t left = inFlight.end() - last;
  inFlight.erase(inFlight.begin(), last);
  return left;
}

/// Groups complete in order: waiting for one leaves those committed after it
/// in flight.
void KernelEmitter::emitAwait(tile::AwaitOp op) {
  if (std::optional<int64_t> left = completeUpTo(inFlight, op.getTokens()))
    NVVM::CpAsyncWaitGroupOp::create(builder, *left);
  if (std::optional<int64_t> left = completeUpTo(dotsInFlight, op.getTokens()))
    NVVM::WgmmaWaitGroupSyncOp::create(builder, *left);
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
