// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates of elements, and where they lie in global and shared memory.

#include "KernelEmitter.h"

#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace deplo {

int64_t getReach(const LinearLayout &layout, InputDim input, unsigned dim) {
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

void KernelEmitter::enterFirstThread() {
  Value isFirst = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::eq, thread,
      arith::ConstantIntOp::create(builder, builder.getI32Type(), 0));
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, isFirst, /*withElseRegion=*/false)
          .thenBlock());
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
  Value inRow = multiply(coordinates.back(), elementBytes), piece;
  if (model.splitBytes != 0) {
    int64_t pieceBytes = type.getSizeInBytes() / rowBytes * model.splitBytes;
    rowBytes = model.splitBytes;
    Value number =
        builder.createOrFold<arith::DivUIOp>(inRow, getIndex(rowBytes));
    piece = multiply(number, pieceBytes);
    inRow = builder.createOrFold<arith::RemUIOp>(inRow, getIndex(rowBytes));
  }
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
  Value column = builder.createOrFold<arith::XOrIOp>(inRow, moved);
  if (piece)
    column = add(piece, column);
  Value pointer =
      LLVM::GEPOp::create(builder, buffer.getType(), builder.getI8Type(),
                          buffer, ValueRange(add(start, column)));
  if (constantBytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      builder, buffer.getType(), builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constantBytes)});
}

} // namespace deplo
