// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot by wgmma.

#include "KernelEmitter.h"

#include "deplo/Analysis/ContractionLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t instructionRows = 64, lanes = 32, warpsPerGroup = 4;
/// Of descriptors, in bytes.
static constexpr int64_t unit = 16;

/// An operand of wgmma in shared memory. Along its rows lies what is summed
/// over or, where they `areOuter`, what isn't: rows or columns of the result.
struct KernelEmitter::WgmmaOperand {
  Value buffer;
  tile::BufferType type;
  bool areOuter;

  int64_t getElementBytes() const { return getBytes(type.getElementType()); }
  int64_t getSwizzle() const { return type.getLayout().getSwizzle(); }
  /// Of a piece of all rows as long as the swizzle.
  int64_t getPieceBytes() const {
    return type.getSizeInBytes() * getSwizzle() /
           (type.getShape().back() * getElementBytes());
  }
  /// From the first element to another one at the start of a row or piece.
  int64_t getOuterUnits(int64_t outer) const {
    if (!areOuter)
      return outer * getSwizzle() / unit;
    int64_t bytes = outer * getElementBytes();
    return (bytes / getSwizzle() * getPieceBytes() + bytes % getSwizzle()) /
           unit;
  }
  int64_t getDepthUnits(int64_t depth) const {
    return depth * (areOuter ? getSwizzle() : getElementBytes()) / unit;
  }
};

/// The matrix of which `operand` is all (PTX ISA, "Matrix Descriptor Format"):
/// groups of eight rows of one swizzle, one after the other. Where it starts is
/// in the lower half, in units of 16 bytes.
KernelEmitter::MatrixDescriptor
KernelEmitter::getMatrixDescriptor(const WgmmaOperand &operand) {
  constexpr int64_t addressMask = 0x3fff;
  constexpr uint32_t rowsOfGroup = 8;
  uint32_t swizzle = operand.getSwizzle();
  uint32_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  // From piece to piece; rows that are summed over are one.
  uint32_t leading = operand.areOuter ? operand.getPieceBytes() / unit : 1;
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  Value address = LLVM::PtrToIntOp::create(builder, i32, operand.buffer);
  address = arith::ShRUIOp::create(builder, address, number(4));
  address = arith::AndIOp::create(builder, address, number(addressMask));
  return {address, leading << 16,
          mode << 30 | rowsOfGroup * swizzle / uint32_t(unit)};
}

/// The descriptor `units` behind the start of another. Its halves are put
/// together last: ptxas 13.0 loses the upper one of a sum of 64 bits.
Value KernelEmitter::packDescriptor(const MatrixDescriptor &descriptor,
                                    int64_t units) {
  Type i32 = builder.getI32Type();
  Value lower = builder.createOrFold<arith::AddIOp>(
      descriptor.lower,
      arith::ConstantIntOp::create(builder, i32, descriptor.leading + units));
  Value upper = arith::ConstantIntOp::create(builder, i32, descriptor.upper);
  Value halves = vector::FromElementsOp::create(
      builder, VectorType::get({2}, i32), ValueRange{lower, upper});
  return LLVM::BitcastOp::create(builder, builder.getI64Type(), halves);
}

static NVVM::WGMMATypes getWgmmaType(Type element) {
  return element.isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
}

void KernelEmitter::emitAsyncDot(tile::AsyncDotOp op) {
  int64_t rank = op.getResult().getType().getRank();
  auto [ofLhs, ofRhs] = op.getRowAndColumn();
  auto [row, column] = getWgmmaDims(op.getAtom().getWarps(), ofLhs, ofRhs);
  auto getOperand = [&](Value buffer, ArrayRef<int64_t> dims) {
    return WgmmaOperand{lookup(buffer),
                        cast<tile::BufferType>(buffer.getType()),
                        dims.back() != rank};
  };
  WgmmaOperand lhs = getOperand(op.getLhs(), op.getLhsDims());
  WgmmaOperand rhs = getOperand(op.getRhs(), op.getRhsDims());
  if (ofLhs != row)
    std::swap(lhs, rhs);
  RankedTensorType result = op.getResult().getType();
  ArrayRef<int64_t> warps = op.getAtom().getWarps();
  int64_t groupRows = result.getDimSize(row) * warpsPerGroup / warps[row];
  int64_t columns = result.getDimSize(column) / warps[column];
  int64_t depth = op.getAtomDepth();
  Type i32 = builder.getI32Type();
  auto number = [&](Type type, int64_t value) {
    return arith::ConstantIntOp::create(builder, type, value);
  };
  // Where the warpgroup's rows and columns start; warps along rows come first.
  Value group = NVVM::ShflOp::create(
      builder, i32, number(i32, -1),
      arith::DivUIOp::create(builder, warp, number(i32, warpsPerGroup)),
      number(i32, 0), number(i32, lanes - 1), NVVM::ShflKind::idx, UnitAttr());
  int64_t groupsAlongRows = warps[row] / warpsPerGroup;
  auto startAt = [&](const WgmmaOperand &operand, Value index, int64_t outer) {
    MatrixDescriptor descriptor = getMatrixDescriptor(operand);
    descriptor.lower = arith::AddIOp::create(
        builder, descriptor.lower,
        arith::MulIOp::create(builder, index,
                              number(i32, operand.getOuterUnits(outer))));
    return descriptor;
  };
  MatrixDescriptor a = startAt(
      lhs, arith::RemUIOp::create(builder, group, number(i32, groupsAlongRows)),
      groupRows);
  MatrixDescriptor b = startAt(
      rhs, arith::DivUIOp::create(builder, group, number(i32, groupsAlongRows)),
      columns);

  // Sums that start at zero are not read, so no register is set for them.
  bool isZero = matchPattern(op.getAccumulator(), m_AnyZeroFloat());
  SmallVector<Value> elements = unpack(lookup(op.getAccumulator()));
  int64_t sums = columns / 2; // of a thread in one instruction
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(sums, builder.getF32Type()));
  auto shape = NVVM::MMAShapeAttr::get(builder.getContext(), instructionRows,
                                       columns, depth);
  NVVM::WGMMATypes type = getWgmmaType(lhs.type.getElementType());
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t block = 0; block * instructionRows < groupRows; ++block) {
    Value accumulator = LLVM::UndefOp::create(builder, sumsType);
    for (int64_t i = 0; i < sums && !isZero; ++i)
      accumulator = LLVM::InsertValueOp::create(builder, accumulator,
                                                elements[block * sums + i], i);
    for (int64_t k = 0; k < op.getContractedSize() / depth; ++k)
      accumulator = NVVM::WgmmaMmaAsyncOp::create(
          builder, sumsType, accumulator,
          packDescriptor(a, lhs.getOuterUnits(block * instructionRows) +
                                lhs.getDepthUnits(k * depth)),
          packDescriptor(b, rhs.getDepthUnits(k * depth)), shape, type, type,
          NVVM::WGMMATypes::f32,
          isZero && k == 0 ? NVVM::WGMMAScaleOut::zero
                           : NVVM::WGMMAScaleOut::one,
          NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one,
          lhs.areOuter ? NVVM::MMALayout::col : NVVM::MMALayout::row,
          rhs.areOuter ? NVVM::MMALayout::row : NVVM::MMALayout::col,
          NVVM::MMAIntOverflowAttr());
    for (int64_t i = 0; i < sums; ++i)
      elements[block * sums + i] =
          LLVM::ExtractValueOp::create(builder, accumulator, i);
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  mapping.map(op.getResult(), pack(elements));
  dotsInFlight.push_back(op.getToken());
}

} // namespace deplo
