// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot by wgmma.

#include "WgmmaTile.h"

#include "deplo/Analysis/ContractionLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t warpsPerGroup = 4;

/// The matrix of which `operand` is all (PTX ISA, "Matrix Descriptor Format"):
/// groups of eight rows of one swizzle, one after the other. Where it starts is
/// in the lower half, in units of 16 bytes.
KernelEmitter::MatrixDescriptor
KernelEmitter::getMatrixDescriptor(const WgmmaOperand &operand) {
  constexpr int64_t addressMask = 0x3fff;
  constexpr uint32_t rowsOfGroup = 8;
  constexpr int64_t unit = WgmmaOperand::unit;
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

KernelEmitter::WgmmaTile KernelEmitter::getWgmmaTile(tile::AsyncDotOp op) {
  int64_t rank = op.getResult().getType().getRank();
  auto [ofLhs, ofRhs] = op.getRowAndColumn();
  auto [row, column] = getWgmmaDims(op.getAtom().getWarps(), ofLhs, ofRhs);
  auto getOperand = [&](Value buffer, ArrayRef<int64_t> dims) {
    return WgmmaOperand{lookup(buffer),
                        cast<tile::BufferType>(buffer.getType()),
                        dims.back() != rank};
  };
  WgmmaTile tile;
  tile.lhs = getOperand(op.getLhs(), op.getLhsDims());
  tile.rhs = getOperand(op.getRhs(), op.getRhsDims());
  if (ofLhs != row)
    std::swap(tile.lhs, tile.rhs);
  RankedTensorType result = op.getResult().getType();
  ArrayRef<int64_t> warps = op.getAtom().getWarps();
  tile.rows = result.getDimSize(row) * warpsPerGroup / warps[row];
  tile.columns = result.getDimSize(column) / warps[column];
  tile.depth = op.getAtomDepth();
  Type i32 = builder.getI32Type();
  auto number = [&](Type type, int64_t value) {
    return arith::ConstantIntOp::create(builder, type, value);
  };
  // Warps along rows come first.
  Value group =
      arith::DivUIOp::create(builder, warp, number(i32, warpsPerGroup));
  if (op.isOfPieces())
    group = NVVM::ShflOp::create(builder, i32, number(i32, -1), group,
                                 number(i32, 0), number(i32, 31),
                                 NVVM::ShflKind::idx, UnitAttr());
  int64_t groupsAlongRows = warps[row] / warpsPerGroup;
  tile.groupOfRows =
      arith::RemUIOp::create(builder, group, number(i32, groupsAlongRows));
  auto startAt = [&](const WgmmaOperand &operand, Value index, int64_t outer) {
    MatrixDescriptor descriptor = getMatrixDescriptor(operand);
    descriptor.lower = arith::AddIOp::create(
        builder, descriptor.lower,
        arith::MulIOp::create(builder, index,
                              number(i32, operand.getOuterUnits(outer))));
    return descriptor;
  };
  tile.a = startAt(tile.lhs, tile.groupOfRows, tile.rows);
  tile.b = startAt(
      tile.rhs,
      arith::DivUIOp::create(builder, group, number(i32, groupsAlongRows)),
      tile.columns);
  return tile;
}

/// One instruction, of operands that start so many units behind the tile's.
/// Sums that start at zero are not read, so no register is set for them.
Value KernelEmitter::createWgmma(const WgmmaTile &tile, Value sums,
                                 int64_t ofRows, int64_t ofColumns,
                                 bool fromZero) {
  auto shape =
      NVVM::MMAShapeAttr::get(builder.getContext(), WgmmaTile::instructionRows,
                              tile.columns, tile.depth);
  NVVM::WGMMATypes type = getWgmmaType(tile.rhs.type.getElementType());
  return NVVM::WgmmaMmaAsyncOp::create(
      builder, sums.getType(), sums, packDescriptor(tile.a, ofRows),
      packDescriptor(tile.b, ofColumns), shape, type, type,
      NVVM::WGMMATypes::f32,
      fromZero ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one,
      tile.lhs.areOuter ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      tile.rhs.areOuter ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::MMAIntOverflowAttr());
}

void KernelEmitter::emitAsyncDot(tile::AsyncDotOp op) {
  if (!copyGroups.isLast(op))
    return;
  SmallVector<tile::AsyncDotOp> dots = copyGroups.getDots(op);
  WgmmaTile tile = getWgmmaTile(dots.front());
  bool isZero = llvm::all_of(dots, [](tile::AsyncDotOp dot) {
    return matchPattern(dot.getAccumulator(), m_AnyZeroFloat());
  });
  // Of a thread in each block of rows: those of all columns.
  int64_t blocks = tile.rows / WgmmaTile::instructionRows;
  SmallVector<SmallVector<Value>> ofDots;
  tile.columns = 0;
  for (tile::AsyncDotOp dot : dots) {
    ofDots.push_back(unpack(lookup(dot.getAccumulator())));
    tile.columns += 2 * ofDots.back().size() / blocks;
  }
  int64_t sums = tile.getNumSums();
  SmallVector<Value> elements;
  for (int64_t block = 0; block < blocks; ++block)
    for (ArrayRef<Value> ofDot : ofDots)
      llvm::append_range(elements, ofDot.slice(block * ofDot.size() / blocks,
                                               ofDot.size() / blocks));
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(sums, builder.getF32Type()));
  NVVM::WgmmaFenceAlignedOp::create(builder);
  for (int64_t block = 0; block < blocks; ++block) {
    Value accumulator = LLVM::UndefOp::create(builder, sumsType);
    for (int64_t i = 0; i < sums && !isZero; ++i)
      accumulator = LLVM::InsertValueOp::create(builder, accumulator,
                                                elements[block * sums + i], i);
    for (int64_t k = 0; k < op.getContractedSize(); k += tile.depth)
      accumulator = createWgmma(
          tile, accumulator,
          tile.lhs.getOuterUnits(block * WgmmaTile::instructionRows) +
              tile.lhs.getDepthUnits(k),
          tile.rhs.getDepthUnits(k), isZero && k == 0);
    for (int64_t i = 0; i < sums; ++i)
      elements[block * sums + i] =
          LLVM::ExtractValueOp::create(builder, accumulator, i);
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  const Value *next = elements.begin();
  for (int64_t block = 0; block < blocks; ++block)
    for (SmallVector<Value> &ofDot : ofDots) {
      int64_t count = ofDot.size() / blocks;
      std::copy_n(next, count, ofDot.begin() + block * count);
      next += count;
    }
  for (auto [dot, ofDot] : llvm::zip_equal(dots, ofDots)) {
    mapping.map(dot.getResult(), pack(ofDot));
    dotsInFlight.push_back(dot.getToken());
  }
}

} // namespace deplo
