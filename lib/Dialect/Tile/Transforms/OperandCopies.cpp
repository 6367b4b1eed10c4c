// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split_pieces, pack_operands and transpose_operands: kernels that copy
// operands to another form.

#include "OperandCopies.h"

#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

namespace {

/// Sizes and strides of a buffer.
struct Dims {
  explicit Dims(MemRefType type) : type(type), sizes(type.getShape()) {
    auto known = type.getStridesAndOffset();
    strides.assign(known.first.begin(), known.first.end());
    offset = known.second;
  }

  /// Whether dimension `dim` and the next one, of `size` elements, are a row.
  bool isOneRow(size_t dim, int64_t size) const {
    return strides[dim] == size * strides[dim + 1];
  }
  void merge(size_t dim) {
    sizes[dim] *= sizes[dim + 1];
    sizes.erase(sizes.begin() + dim + 1);
    strides.erase(strides.begin() + dim);
  }
  MemRefType getType() const {
    auto plain = MemRefType::get(sizes, type.getElementType());
    if (offset == 0 && plain.getStridesAndOffset().first == strides)
      return plain;
    return MemRefType::get(
        sizes, type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), offset, strides));
  }
  Value view(OpBuilder &builder, Location loc, Value buffer) const {
    if (getType() == buffer.getType())
      return buffer;
    return memref::ReinterpretCastOp::create(builder, loc, getType(), buffer,
                                             offset, sizes, strides);
  }

  MemRefType type;
  SmallVector<int64_t> sizes, strides;
  int64_t offset;
};

} // namespace

MemRefType getPlanesType(MemRefType type, Type piece) {
  constexpr int64_t rowUnit = 8; // elements of 16 bytes
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = llvm::alignTo(shape.back(), rowUnit);
  shape.insert(shape.begin(), PiecesForm::get(piece).count);
  return MemRefType::get(shape, piece);
}

/// The memory that a buffer of `type` lies in: its last two dimensions have
/// changed places, or rows are as far apart as its strides say.
static MemRefType getMemoryType(MemRefType type) {
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  if (strides.back() != 1)
    std::swap(shape.back(), shape[shape.size() - 2]);
  else if (!type.getLayout().isIdentity())
    shape.back() = strides[type.getRank() - 2];
  return MemRefType::get(shape, type.getElementType());
}

/// A kernel that writes its first argument to the second one.
static loop::KernelOp createKernel(OpBuilder &before, Location loc,
                                   MemRefType from, MemRefType to,
                                   const OperandForm &form) {
  auto kernel =
      loop::KernelOp::create(before, loc, form.kernelName, {from, to});
  ImplicitLocOpBuilder builder(loc, before);
  builder.setInsertionPointToStart(kernel.getBody());
  SmallVector<Value> indices;
  for (int64_t extent : from.getShape()) {
    auto loop = loop::ForOp::create(builder, extent);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value element = loop::LoadOp::create(
      builder, kernel.getArguments()[0],
      builder.getMultiDimIdentityMap(from.getRank()), indices);
  auto store = [&](Value value, ArrayRef<int64_t> first) {
    SmallVector<AffineExpr> place;
    for (int64_t number : first)
      place.push_back(builder.getAffineConstantExpr(number));
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      place.push_back(builder.getAffineDimExpr(dim));
    loop::StoreOp::create(
        builder, value, kernel.getArguments()[1],
        AffineMap::get(from.getRank(), 0, place, builder.getContext()),
        indices);
  };
  form.write(builder, element, store);
  return kernel;
}

loop::KernelOp OperandCopies::getKernel(Location loc, MemRefType from,
                                        MemRefType to) {
  loop::KernelOp &kernel = kernels[{from, to}];
  if (!kernel) {
    auto module = cast<ModuleOp>(symbols.getOp());
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    kernel = createKernel(builder, loc, from, to, form);
    symbols.insert(kernel);
  }
  return kernel;
}

/// Dimensions that are one row of elements in both are one loop.
void OperandCopies::write(OpBuilder &builder, Location loc, Value from,
                          Value to) {
  Dims source(cast<MemRefType>(from.getType()));
  Dims target(cast<MemRefType>(to.getType()));
  size_t first = target.sizes.size() - source.sizes.size();
  for (size_t dim = source.sizes.size() - 1; dim-- > 0;)
    if (int64_t size = source.sizes[dim + 1];
        source.isOneRow(dim, size) && target.isOneRow(first + dim, size)) {
      source.merge(dim);
      target.merge(first + dim);
    }
  loop::KernelOp kernel = getKernel(loc, source.getType(), target.getType());
  from = source.view(builder, loc, from);
  to = target.view(builder, loc, to);
  loop::LaunchOp::create(builder, loc, TypeRange(), kernel.getSymName(),
                         ValueRange{from, to});
}

Value OperandCopies::get(Value buffer, loop::LaunchOp launch) {
  SmallVector<Value, 2> &copies = known[{buffer, 0}];
  if (!copies.empty())
    return copies.front();
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  MemRefType type = form.getType(cast<MemRefType>(buffer.getType()));
  copies.push_back(Dims(type).view(
      builder, loc,
      memref::AllocOp::create(builder, loc, getMemoryType(type))));
  write(builder, loc, buffer, copies.front());
  return copies.front();
}

void BufferCopies::forgetWritten(loop::LaunchOp launch) {
  auto kernel = symbols.lookup<loop::KernelOp>(launch.getKernel());
  llvm::SmallDenseSet<Value> written;
  for (auto [number, buffer] : llvm::enumerate(launch.getBuffers()))
    if (!kernel || loop::KernelOp::isWritten(kernel.getArguments()[number]))
      written.insert(loop::getMemory(buffer));
  known.remove_if([&](const auto &entry) {
    return written.contains(loop::getMemory(entry.first.first));
  });
}

void replaceOperands(
    ModuleOp module, BufferCopies &copies,
    llvm::function_ref<std::optional<SmallVector<Value>>(loop::LaunchOp)>
        getOperands) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      copies.forgetAll();
      for (auto launch :
           llvm::make_early_inc_range(block.getOps<loop::LaunchOp>())) {
        if (auto operands = getOperands(launch)) {
          OpBuilder builder(launch);
          auto next =
              loop::LaunchOp::create(builder, launch.getLoc(), TypeRange(),
                                     launch.getKernel(), *operands);
          launch.erase();
          launch = next;
        }
        copies.forgetWritten(launch);
      }
    }
}

void replaceOperands(ModuleOp module, const OperandForm &form,
                     const llvm::StringMap<SmallVector<unsigned>> &copied) {
  SymbolTable symbols(module);
  OperandCopies copies(symbols, form);
  auto getOperands =
      [&](loop::LaunchOp launch) -> std::optional<SmallVector<Value>> {
    auto found = copied.find(launch.getKernel());
    if (found == copied.end())
      return std::nullopt;
    SmallVector<Value> operands(launch.getBuffers());
    for (unsigned number : found->second)
      operands[number] = copies.get(operands[number], launch);
    return operands;
  };
  replaceOperands(module, copies, getOperands);
}

} // namespace deplo::tile
