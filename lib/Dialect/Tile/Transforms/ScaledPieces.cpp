// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_pieces, of precision f32_fast: a number x of a row whose largest number
// has the exponent e becomes
//
//   a = x / root^2         where root = 2^ceil((e - 14) / 2)
//   high = f16(a)
//   low = f16(2^11 (a - high))
//
// The largest a is from 2^13 to 2^15, within the range of f16. A number of
// 2^-27 of it or more has 22 bits in both pieces; one of which `high` is
// subnormal has fewer, down to 2^-49 of it. The root of the scale is what is
// stored: sums are multiplied twice by those of their row and their column,
// whose product is a number of f32 where the scales' isn't.
//
// Rows that are contiguous are read once, by a kernel that folds and divides
// them:
//
//   loop.kernel @pieces(%x, %s, %p) {
//     loop.for %i = 0 to 2048 {
//       %m = loop.reduce max %k = 0 to 1024 : f32 { |%x[%i, %k]| }
//       %root = ...
//       loop.store %root, %s[%i, 0]
//       loop.for %k = 0 to 1024 {
//         ...
//         loop.store %high, %p[0, %i, %k]
//         loop.store %low, %p[1, %i, %k]
//
// Others are folded by one kernel, and divided by another.
//
// Rows of zeros, and such as are smaller than 2^-112, are multiplied by 2^126:
// that keeps all bits of numbers so small. Pieces of infinity and NaN are
// infinite or NaN.

#include "ScaledPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

#include "deplo/Dialect/Tile/IR/Tile.h"

#include <cmath>

using namespace mlir;

namespace deplo::tile {

// Of f32.
static constexpr int64_t mantissaBits = 23, exponentMask = 0xff, bias = 127;

MemRefType getScaledPiecesType(MemRefType type) {
  return getPlanesType(type, Float16Type::get(type.getContext()));
}

MemRefType getScalesType(MemRefType type, unsigned dim) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  return MemRefType::get(shape, type.getElementType());
}

namespace {

/// Builds a kernel that reads rows along dimension `dim` of its first argument.
class RowKernel {
public:
  RowKernel(OpBuilder &before, Location loc, StringRef name, MemRefType type,
            unsigned dim, ArrayRef<MemRefType> results);

  loop::KernelOp kernel;

  /// The largest number of each row becomes its scale.
  void foldRows();
  /// Each element of a row that was folded becomes two.
  void splitRow();
  void splitElements();

private:
  Value getNumber(uint32_t value) {
    return arith::ConstantIntOp::create(builder, builder.getI32Type(),
                                        int32_t(value));
  }
  Value getArgument(unsigned number) { return kernel.getArguments()[number]; }
  Value enterLoop(int64_t extent) {
    auto loop = loop::ForOp::create(builder, extent);
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }
  Value load(ValueRange place) {
    return loop::LoadOp::create(builder, getArgument(0),
                                builder.getMultiDimIdentityMap(place.size()),
                                place);
  }
  /// Of the scale of the row, in place of one of its elements.
  AffineMap getScaleMap() {
    SmallVector<AffineExpr> place(
        builder.getMultiDimIdentityMap(row.size()).getResults());
    place.insert(place.begin() + dim, builder.getAffineConstantExpr(0));
    return AffineMap::get(row.size(), 0, place, builder.getContext());
  }
  SmallVector<Value> getPlace(Value variable) {
    SmallVector<Value> place(row);
    place.insert(place.begin() + dim, variable);
    return place;
  }
  Value getRoot(Value largest);
  void split(ValueRange place, Value root);

  MemRefType type;
  unsigned dim;
  ImplicitLocOpBuilder builder;
  /// Where the row is, and the root of its scale.
  SmallVector<Value> row;
  Value root;
};

} // namespace

RowKernel::RowKernel(OpBuilder &before, Location loc, StringRef name,
                     MemRefType type, unsigned dim,
                     ArrayRef<MemRefType> results)
    : type(type), dim(dim), builder(loc, before) {
  SmallVector<Type> arguments = {type};
  llvm::append_range(arguments, results);
  kernel = loop::KernelOp::create(builder, name, arguments);
  builder.setInsertionPointToStart(kernel.getBody());
}

void RowKernel::foldRows() {
  for (auto [number, extent] : llvm::enumerate(type.getShape()))
    if (number != dim)
      row.push_back(enterLoop(extent));
  auto reduce = loop::ReduceOp::create(
      builder, Monoid::Max, type.getDimSize(dim), builder.getF32Type());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(reduce.getBody());
    Value number = load(getPlace(reduce.getInductionVar()));
    Value size = math::AbsFOp::create(builder, number);
    loop::YieldOp::create(builder, size);
  }
  root = getRoot(reduce.getResult(0));
  loop::StoreOp::create(builder, root, getArgument(1), getScaleMap(), row);
}

Value RowKernel::getRoot(Value largest) {
  // With its bias, the exponent of the root is (127 + e + 114) / 2.
  constexpr uint32_t leastExponent = 14, moved = 114;
  Value exponent =
      arith::BitcastOp::create(builder, builder.getI32Type(), largest);
  exponent = arith::ShRUIOp::create(builder, exponent, getNumber(mantissaBits));
  exponent = arith::AndIOp::create(builder, exponent, getNumber(exponentMask));
  exponent =
      arith::MaxSIOp::create(builder, exponent, getNumber(leastExponent));
  exponent = arith::AddIOp::create(builder, exponent, getNumber(moved));
  exponent = arith::ShRUIOp::create(builder, exponent, getNumber(1));
  exponent = arith::ShLIOp::create(builder, exponent, getNumber(mantissaBits));
  return arith::BitcastOp::create(builder, builder.getF32Type(), exponent);
}

void RowKernel::splitRow() {
  split(getPlace(enterLoop(type.getDimSize(dim))), root);
}

void RowKernel::splitElements() {
  SmallVector<Value> place;
  for (int64_t extent : type.getShape())
    place.push_back(enterLoop(extent));
  row = place;
  row.erase(row.begin() + dim);
  split(place,
        loop::LoadOp::create(builder, getArgument(1), getScaleMap(), row));
}

void RowKernel::split(ValueRange place, Value root) {
  Type f16 = builder.getF16Type(), f32 = builder.getF32Type();
  auto store = [&](Value piece, int64_t plane) {
    AffineMap map = builder.getMultiDimIdentityMap(place.size());
    SmallVector<AffineExpr> coordinates(map.getResults());
    coordinates.insert(coordinates.begin(),
                       builder.getAffineConstantExpr(plane));
    loop::StoreOp::create(
        builder, piece, getArgument(2),
        AffineMap::get(place.size(), 0, coordinates, builder.getContext()),
        place);
  };
  // One over the square of the root.
  Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), root);
  bits = arith::SubIOp::create(builder,
                               getNumber(uint32_t(3 * bias) << mantissaBits),
                               arith::AddIOp::create(builder, bits, bits));
  Value whole = arith::MulFOp::create(
      builder, load(place), arith::BitcastOp::create(builder, f32, bits));
  Value high = arith::TruncFOp::create(builder, f16, whole);
  store(high, 0);
  // What is left is exact.
  Value rest = arith::SubFOp::create(builder, whole,
                                     arith::ExtFOp::create(builder, f32, high));
  Value scale = arith::ConstantOp::create(
      builder, builder.getF32FloatAttr(
                   std::ldexp(1.0f, PiecesForm::get(f16).exponentOfRest)));
  rest = arith::MulFOp::create(builder, rest, scale);
  store(arith::TruncFOp::create(builder, f16, rest), 1);
}

ArrayRef<loop::KernelOp> ScaledPieces::getWriters(Location loc, MemRefType type,
                                                  unsigned dim) {
  SmallVector<loop::KernelOp, 2> &kernels = writers[{type, dim}];
  if (!kernels.empty())
    return kernels;
  auto module = cast<ModuleOp>(symbols.getOp());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  MemRefType scales = getScalesType(type, dim),
             pieces = getScaledPiecesType(type);
  if (dim + 1 == type.getRank()) {
    RowKernel whole(builder, loc, "pieces", type, dim, {scales, pieces});
    whole.foldRows();
    whole.splitRow();
    kernels = {whole.kernel};
  } else {
    RowKernel fold(builder, loc, "scales", type, dim, {scales});
    fold.foldRows();
    RowKernel split(builder, loc, "pieces", type, dim, {scales, pieces});
    split.splitElements();
    kernels = {fold.kernel, split.kernel};
  }
  for (loop::KernelOp kernel : kernels)
    symbols.insert(kernel);
  return kernels;
}

ScaledPieces::Buffers ScaledPieces::get(Value buffer, unsigned dim,
                                        loop::LaunchOp launch) {
  SmallVector<Value, 2> &buffers = known[{buffer, dim}];
  if (!buffers.empty())
    return {buffers[0], buffers[1]};
  Location loc = launch.getLoc();
  auto type = cast<MemRefType>(buffer.getType());
  OpBuilder builder(launch);
  Value pieces =
      memref::AllocOp::create(builder, loc, getScaledPiecesType(type));
  Value scales =
      memref::AllocOp::create(builder, loc, getScalesType(type, dim));
  Value arguments[] = {buffer, scales, pieces};
  for (loop::KernelOp writer : getWriters(loc, type, dim))
    loop::LaunchOp::create(
        builder, loc, TypeRange(), writer.getSymName(),
        ArrayRef(arguments).take_front(writer.getArguments().size()));
  buffers = {pieces, scales};
  return {pieces, scales};
}

} // namespace deplo::tile
