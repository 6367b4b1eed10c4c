// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.gather: a chain of loads, the last source first. Each has a condition
// and, where that is false, the value of the source after it:
//
//   %0 = loop.load %b[%i - 4] if %in_b else %fill
//   %1 = loop.load %a[%i] if %in_a else %0

#include "KernelEmitter.h"

#include "deplo/Analysis/Guards.h"
#include "deplo/Dialect/AffineArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace deplo::graph {

namespace {

/// Integer arithmetic of one type on loop variables and indices.
struct ScalarEmitter {
  OpBuilder &builder;
  Location loc;
  Type type;
  ArrayRef<Value> operands; // index values
  const SymbolicSizes &sizes;

  Value getDim(unsigned dim) {
    return arith::IndexCastOp::create(builder, loc, type, operands[dim]);
  }
  Value getConstant(int64_t value) {
    return createNumber<loop::SizeOp>(builder, loc, type, value, sizes);
  }
  template <typename OpT> Value create(Value lhs, Value rhs) {
    return builder.createOrFold<OpT>(loc, lhs, rhs);
  }
};

} // namespace

static bool dependsOnDimsBelow(AffineExpr expr, unsigned limit) {
  bool isBelow = true;
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      isBelow &= dim.getPosition() < limit;
  });
  return isBelow;
}

/// The number that `values[at]` and a later one, which is removed, are both
/// between 0 and: their sum is that.
static std::optional<int64_t> takeUpperBound(SmallVector<AffineExpr> &values,
                                             unsigned at, unsigned numDims) {
  for (unsigned other = at + 1; other < values.size(); ++other) {
    auto sum = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(values[at] + values[other], numDims, 0));
    if (!sum || sum.getValue() < 0)
      continue;
    values.erase(values.begin() + other);
    return sum.getValue();
  }
  return std::nullopt;
}

/// True where none of `values` is negative; null if that is so everywhere. With
/// `inPairs`, the two bounds of a number are one comparison of unsigned ones,
/// which no analysis of accesses understands.
static Value emitGuard(SmallVector<AffineExpr> values,
                       ArrayRef<int64_t> extents, ArrayRef<Value> operands,
                       const SymbolicSizes &sizes, bool inPairs,
                       OpBuilder &builder, Location loc) {
  Value guard;
  for (unsigned at = 0; at < values.size(); ++at) {
    AffineExpr value = values[at];
    bool isNarrow = dependsOnDimsBelow(value, extents.size()) &&
                    fitsIn32Bits(value, extents);
    Type type = isNarrow ? builder.getI32Type() : builder.getI64Type();
    ScalarEmitter emitter{builder, loc, type, operands, sizes};
    Value number = emitAffine(value, extents, emitter);
    std::optional<int64_t> most;
    if (inPairs)
      most = takeUpperBound(values, at, operands.size());
    Value holds = arith::CmpIOp::create(
        builder, loc,
        most ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sge, number,
        emitter.getConstant(most.value_or(0)));
    guard = guard ? arith::AndIOp::create(builder, loc, guard, holds) : holds;
  }
  return guard;
}

Value KernelEmitter::emitGather(const KernelLoops::Item &item, Scope &scope) {
  auto gather = cast<GatherOp>(item.primitive.op);
  Location gatherLoc = gather.getLoc();
  unsigned numSources = gather.getSources().size();
  // The operands of all expressions: loops, then indices.
  SmallVector<Value> operands;
  SmallVector<int64_t> extents;
  SmallVector<AffineExpr> dims, symbols;
  llvm::SmallDenseMap<unsigned, AffineExpr> dimOf;
  for (unsigned axis = 0; axis < item.primitive.axes.size(); ++axis) {
    LinearCoordinate coordinate;
    if (axis < item.coordinates.size())
      coordinate = item.coordinates[axis];
    AffineExpr expr = builder.getAffineConstantExpr(coordinate.constant);
    for (auto [counter, factor] : coordinate.terms) {
      LoopPart part{counter, 1, 1, /*isOutermost=*/true};
      if (item.isDivided)
        part = loops.getPart(counter);
      AffineExpr &dim = dimOf[part.loop];
      if (!dim) {
        dim = builder.getAffineDimExpr(operands.size());
        operands.push_back(getInductionVar(part.loop, scope));
        extents.push_back(loops.getExtent(part.loop));
      }
      AffineExpr number = dim.floorDiv(part.divisor);
      if (!part.isOutermost)
        number = number % part.extent;
      expr = expr + number * factor;
    }
    dims.push_back(expr);
  }
  for (unsigned k = 0; k < gather.getIndices().size(); ++k) {
    symbols.push_back(builder.getAffineDimExpr(operands.size()));
    operands.push_back(arith::IndexCastOp::create(
        scope.builder, gatherLoc, builder.getIndexType(),
        emitRead(item, numSources + k, scope)));
  }
  auto inOperands = [&](AffineMap map) {
    return simplifyInRange(
        map.replaceDimsAndSymbols(dims, symbols, operands.size(), 0), extents);
  };

  Value value = getConstant(gather.getFillOrZero());
  for (unsigned k = numSources; k-- > 0;) {
    const Read &read = item.primitive.reads[k];
    AffineMap map = inOperands(read.map);
    SmallVector<AffineExpr> guard(inOperands(gather.getGuard(k)).getResults());
    auto shape = cast<RankedTensorType>(read.source.getType()).getShape();
    // What depends on an index may be out of range.
    for (auto [size, coordinate] : llvm::zip_equal(shape, map.getResults()))
      if (!dependsOnDimsBelow(coordinate, extents.size())) {
        guard.push_back(coordinate);
        guard.push_back(size - 1 - coordinate);
      }
    Value condition =
        emitGuard(guard, extents, operands, sizes,
                  /*inPairs=*/item.isDivided, scope.builder, gatherLoc);
    value = emitSource(item, k, map, operands, condition, value, scope);
  }
  return value;
}

/// Source `k` of a gather where `condition` holds, `otherwise` elsewhere.
Value KernelEmitter::emitSource(const KernelLoops::Item &item, unsigned k,
                                AffineMap map, ValueRange operands,
                                Value condition, Value otherwise,
                                Scope &scope) {
  Location sourceLoc = item.primitive.op->getLoc();
  std::optional<unsigned> access = item.accesses[k];
  if (!access) {
    Value constant = emitRead(item, k, scope);
    return condition ? arith::SelectOp::create(scope.builder, sourceLoc,
                                               condition, constant, otherwise)
                     : constant;
  }
  SmallVector<Value> used;
  for (auto [dim, operand] : llvm::enumerate(operands))
    if (map.isFunctionOfDim(dim))
      used.push_back(operand);
  Value argument = kernel.getArguments()[argumentOf[*access]];
  Type type = otherwise.getType();
  Type inMemory = cast<MemRefType>(argument.getType()).getElementType();
  if (condition && inMemory != type)
    otherwise =
        arith::ExtUIOp::create(scope.builder, sourceLoc, inMemory, otherwise);
  Value loaded = loop::LoadOp::create(scope.builder, sourceLoc, argument,
                                      compressUnusedDims(map), used, condition,
                                      condition ? otherwise : Value());
  if (inMemory == type)
    return loaded;
  return arith::TruncIOp::create(scope.builder, sourceLoc, type, loaded);
}

} // namespace deplo::graph
