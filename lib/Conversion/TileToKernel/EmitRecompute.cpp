// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.recompute: a thread adds up again what it holds of sums that are not
// finite. Few ever are, so elements are looked at a few at a time, and what is
// behind the branch takes few registers.

#include "KernelEmitter.h"

#include "deplo/Dialect/AffineArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace deplo {

namespace {

/// Computes affine expressions in a thread's program.
struct CoordinateEmitter {
  ImplicitLocOpBuilder &builder;
  Type type;
  SmallVector<Value> dims;

  Value getDim(unsigned dim) { return dims[dim]; }
  Value getConstant(int64_t value) {
    return arith::ConstantIntOp::create(builder, type, value);
  }
  template <typename OpT> Value create(Value lhs, Value rhs) {
    return builder.createOrFold<OpT>(lhs, rhs);
  }
};

} // namespace

/// The element of `memref` for the coordinates of a product; zero outside.
Value KernelEmitter::loadFactor(Value memref, ValueRange indices, AffineMap map,
                                ValueRange coordinates) {
  CoordinateEmitter emitter{builder, indexType,
                            SmallVector<Value>(coordinates)};
  llvm::append_range(emitter.dims, lookup(indices));
  auto type = cast<MemRefType>(memref.getType());
  // Symbols become dimensions behind the others.
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < map.getNumSymbols(); ++i)
    symbols.push_back(
        getAffineDimExpr(map.getNumDims() + i, builder.getContext()));
  SmallVector<int64_t> extents(emitter.dims.size(), ShapedType::kDynamic);
  SmallVector<Value> place;
  Value inBounds;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape())) {
    Value coordinate =
        emitAffine(expr.replaceSymbols(symbols), extents, emitter);
    // Seen as unsigned, negative coordinates are beyond all bounds.
    inBounds = conjunction(
        inBounds, arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                        coordinate, getNumber(size)));
    place.push_back(coordinate);
  }
  Address address = getAddress(memref, place, /*spannedDims=*/{}, /*steps=*/{},
                               /*coordinates=*/{});
  Type element = type.getElementType();
  Value loaded = LLVM::LoadOp::create(
      builder, element, getPointer(address, inBounds, 1), getBytes(element));
  if (!inBounds)
    return loaded;
  return arith::SelectOp::create(
      builder, inBounds, loaded,
      arith::ConstantOp::create(builder, builder.getZeroAttr(element)));
}

/// Which of `elements` are finite: bits of infinity and of NaN have the largest
/// exponent.
static SmallVector<Value> getAreFinite(ImplicitLocOpBuilder &builder,
                                       ArrayRef<Value> elements) {
  constexpr uint32_t magnitude = 0x7fffffff, infinity = 0x7f800000;
  Type i32 = builder.getI32Type();
  return llvm::map_to_vector(elements, [&](Value value) -> Value {
    Value bits = arith::AndIOp::create(
        builder, LLVM::BitcastOp::create(builder, i32, value),
        arith::ConstantIntOp::create(builder, i32, magnitude));
    return arith::CmpIOp::create(
        builder, arith::CmpIPredicate::ult, bits,
        arith::ConstantIntOp::create(builder, i32, infinity));
  });
}

/// Replaces `elements` by what `replace` makes of them, where not all are
/// finite.
static void replaceUnlessFinite(
    ImplicitLocOpBuilder &builder, MutableArrayRef<Value> elements,
    llvm::function_ref<void(ArrayRef<Value> areFinite)> replace) {
  SmallVector<Value> areFinite = getAreFinite(builder, elements);
  Value allFinite = areFinite.front();
  for (Value isFinite : ArrayRef(areFinite).drop_front())
    allFinite = arith::AndIOp::create(builder, allFinite, isFinite);
  auto branch =
      scf::IfOp::create(builder, ValueRange(elements).getTypes(), allFinite,
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, elements);
  builder.setInsertionPointToStart(branch.elseBlock());
  replace(areFinite);
  scf::YieldOp::create(builder, elements);
  llvm::copy(branch.getResults(), elements.begin());
}

/// Those from register `firstRegister` on.
void KernelEmitter::recomputeElements(tile::RecomputeOp op,
                                      int32_t firstRegister,
                                      ArrayRef<Value> areFinite,
                                      MutableArrayRef<Value> elements) {
  Type element = op.getType().getElementType();
  SmallVector<Value> zeros(
      elements.size(),
      arith::ConstantOp::create(builder, builder.getZeroAttr(element)));
  auto loop = scf::ForOp::create(builder, getIndex(0), getNumber(op.getDepth()),
                                 getIndex(1), zeros);
  {
    OpBuilder::InsertionGuard inLoop(builder);
    builder.setInsertionPointToStart(loop.getBody());
    tile::LayoutAttr layout = tile::getLayout(op.getResult());
    LinearLayout linear = layout.getLinearLayout();
    // By the coordinates that the map looks at.
    std::map<std::pair<bool, std::vector<int32_t>>, Value> known;
    auto getFactor = [&](bool isLhs, int32_t reg) {
      AffineMap map = isLhs ? op.getLhsMap() : op.getRhsMap();
      Coordinates own = linear.apply(reg, 0);
      std::vector<int32_t> key;
      for (auto [dim, coordinate] : llvm::enumerate(own))
        if (map.isFunctionOfDim(dim))
          key.push_back(coordinate);
      Value &factor = known[{isLhs, key}];
      if (factor)
        return factor;
      SmallVector<Value> coordinates = getCoordinates(layout, reg);
      coordinates.push_back(loop.getInductionVar());
      factor =
          isLhs ? loadFactor(op.getLhs(), op.getLhsIndices(), map, coordinates)
                : loadFactor(op.getRhs(), op.getRhsIndices(), map, coordinates);
      return factor;
    };
    SmallVector<Value> sums;
    for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
      int32_t reg = firstRegister + static_cast<int32_t>(i);
      sums.push_back(LLVM::FMAOp::create(builder, getFactor(true, reg),
                                         getFactor(false, reg), sum));
    }
    scf::YieldOp::create(builder, sums);
  }
  for (auto [isFinite, value, sum] :
       llvm::zip_equal(areFinite, elements, loop.getResults()))
    value = arith::SelectOp::create(builder, isFinite, value, sum);
}

void KernelEmitter::emitRecompute(tile::RecomputeOp op) {
  constexpr size_t elementsAtOnce = 8;
  SmallVector<Value> elements = unpack(lookup(op.getValue()));
  replaceUnlessFinite(builder, elements, [&](ArrayRef<Value>) {
    for (size_t first = 0; first < elements.size(); first += elementsAtOnce) {
      auto part = MutableArrayRef(elements).slice(
          first, std::min(elementsAtOnce, elements.size() - first));
      replaceUnlessFinite(builder, part, [&](ArrayRef<Value> areFinite) {
        recomputeElements(op, first, areFinite, part);
      });
    }
  });
  mapping.map(op.getResult(), pack(elements));
}

} // namespace deplo
