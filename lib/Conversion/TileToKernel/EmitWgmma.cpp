// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot by wgmma.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t instructionRows = 64, lanes = 32, warpsPerGroup = 4;

/// The matrix at the start of `buffer`, whose rows are one swizzle long (PTX
/// ISA, "Matrix Descriptor Format"): eight rows of one swizzle after the other.
Value KernelEmitter::getMatrixDescriptor(Value buffer, tile::BufferType type) {
  constexpr uint64_t unit = 16, addressMask = 0x3fff, rowsOfAtom = 8;
  int64_t swizzle = type.getLayout().getSwizzle();
  uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  uint64_t fixed =
      mode << 62 | (rowsOfAtom * swizzle / unit) << 32 | uint64_t(1) << 16;
  Type i64 = builder.getI64Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i64, value);
  };
  Value address = LLVM::PtrToIntOp::create(builder, i64, buffer);
  address = arith::ShRUIOp::create(builder, address, number(4));
  address = arith::AndIOp::create(builder, address, number(addressMask));
  return arith::OrIOp::create(builder, address, number(fixed));
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
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
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
    Value descriptor = getMatrixDescriptor(lookup(buffer), typeOf(buffer));
    Value units = arith::MulIOp::create(
        builder, arith::ExtUIOp::create(builder, i64, index),
        number(i64, rows * rowBytes / unit));
    return arith::AddIOp::create(builder, descriptor, units).getResult();
  };
  Value a = startAt(
      buffers[0],
      arith::RemUIOp::create(builder, group, number(i32, groupsAlongRows)),
      groupRows);
  Value b = startAt(
      buffers[1],
      arith::DivUIOp::create(builder, group, number(i32, groupsAlongRows)),
      columns);
  auto advance = [&](Value descriptor, int64_t units) {
    return builder.createOrFold<arith::AddIOp>(descriptor, number(i64, units));
  };

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
    for (int64_t i = 0; i < sums; ++i)
      accumulator = LLVM::InsertValueOp::create(builder, accumulator,
                                                elements[block * sums + i], i);
    for (int64_t k = 0; k < op.getContractedSize() / depth; ++k)
      accumulator = NVVM::WgmmaMmaAsyncOp::create(
          builder, sumsType, accumulator,
          advance(a, block * instructionRows * rowBytes / unit + k * stepUnits),
          advance(b, k * stepUnits), shape, type, type, NVVM::WGMMATypes::f32,
          NVVM::WGMMAScaleOut::one, NVVM::WGMMAScaleIn::one,
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
