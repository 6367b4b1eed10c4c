// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot by wgmma.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t instructionRows = 64, lanes = 32, warpsPerGroup = 4;

/// The matrix at the start of `buffer`, whose rows are one swizzle long (PTX
/// ISA, "Matrix Descriptor Format"): eight rows of one swizzle after the other.
/// Where it starts is in the lower half, in units of 16 bytes.
KernelEmitter::MatrixDescriptor
KernelEmitter::getMatrixDescriptor(Value buffer, tile::BufferType type) {
  constexpr uint32_t unit = 16, addressMask = 0x3fff, rowsOfAtom = 8;
  uint32_t swizzle = type.getLayout().getSwizzle();
  uint32_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  Value address = LLVM::PtrToIntOp::create(builder, i32, buffer);
  address = arith::ShRUIOp::create(builder, address, number(4));
  address = arith::AndIOp::create(builder, address, number(addressMask));
  return {address, mode << 30 | rowsOfAtom * swizzle / unit};
}

/// The descriptor `units` behind the start of another. Its halves are put
/// together last: ptxas 13.0 loses the upper one of a sum of 64 bits.
Value KernelEmitter::packDescriptor(const MatrixDescriptor &descriptor,
                                    int64_t units) {
  constexpr int64_t unusedOffset = 1 << 16; // rows are no longer than a swizzle
  Type i32 = builder.getI32Type();
  Value lower = builder.createOrFold<arith::AddIOp>(
      descriptor.lower,
      arith::ConstantIntOp::create(builder, i32, unusedOffset + units));
  Value upper = arith::ConstantIntOp::create(builder, i32, descriptor.upper);
  Value halves = vector::FromElementsOp::create(
      builder, VectorType::get({2}, i32), ValueRange{lower, upper});
  return LLVM::BitcastOp::create(builder, builder.getI64Type(), halves);
}

static NVVM::WGMMATypes getWgmmaType(Type element) {
  return element.isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
}

void KernelEmitter::emitAsyncDot(tile::AsyncDotOp op) {
  constexpr int64_t unit = 16;
  auto [row, column] = op.getRowAndColumn();
  Value buffers[] = {op.getLhs(), op.getRhs()};
  if (row > column) { // M is the accumulator's first dimension
    std::swap(row, column);
    std::swap(buffers[0], buffers[1]);
  }
  RankedTensorType result = op.getResult().getType();
  ArrayRef<int64_t> warps = op.getAtom().getWarps();
  int64_t groupRows = result.getDimSize(row) * warpsPerGroup / warps[row];
  int64_t columns = result.getDimSize(column) / warps[column];
  auto typeOf = [](Value buffer) {
    return cast<tile::BufferType>(buffer.getType());
  };
  Type element = typeOf(buffers[0]).getElementType();
  int64_t rowBytes =
      op.getContractedSize() * element.getIntOrFloatBitWidth() / 8;
  int64_t depth = op.getAtomDepth();
  int64_t stepUnits = depth * element.getIntOrFloatBitWidth() / 8 / unit;
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
  auto startAt = [&](Value buffer, Value index, int64_t rows) {
    MatrixDescriptor descriptor =
        getMatrixDescriptor(lookup(buffer), typeOf(buffer));
    descriptor.lower = arith::AddIOp::create(
        builder, descriptor.lower,
        arith::MulIOp::create(builder, index,
                              number(i32, rows * rowBytes / unit)));
    return descriptor;
  };
  MatrixDescriptor a = startAt(
      buffers[0],
      arith::RemUIOp::create(builder, group, number(i32, groupsAlongRows)),
      groupRows);
  MatrixDescriptor b = startAt(
      buffers[1],
      arith::DivUIOp::create(builder, group, number(i32, groupsAlongRows)),
      columns);
  // Sums that start at zero are not read, so no register is set for them.
  bool isZero = matchPattern(op.getAccumulator(), m_AnyZeroFloat());
  SmallVector<Value> elements = unpack(lookup(op.getAccumulator()));
  int64_t sums = columns / 2; // of a thread in one instruction
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(sums, builder.getF32Type()));
  auto shape = NVVM::MMAShapeAttr::get(builder.getContext(), instructionRows,
                                       columns, depth);
  NVVM::WGMMATypes type = getWgmmaType(element);
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t block = 0; block * instructionRows < groupRows; ++block) {
    Value accumulator = LLVM::UndefOp::create(builder, sumsType);
    for (int64_t i = 0; i < sums && !isZero; ++i)
      accumulator = LLVM::InsertValueOp::create(builder, accumulator,
                                                elements[block * sums + i], i);
    for (int64_t k = 0; k < op.getContractedSize() / depth; ++k)
      accumulator = NVVM::WgmmaMmaAsyncOp::create(
          builder, sumsType, accumulator,
          packDescriptor(a, block * instructionRows * rowBytes / unit +
                                k * stepUnits),
          packDescriptor(b, k * stepUnits), shape, type, type,
          NVVM::WGMMATypes::f32,
          isZero && k == 0 ? NVVM::WGMMAScaleOut::zero
                           : NVVM::WGMMAScaleOut::one,
          NVVM::WGMMAScaleIn::one,
          NVVM::WGMMAScaleIn::one, NVVM::MMALayout::row, NVVM::MMALayout::col,
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
