// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers, folders, canonical forms and assembly of the primitive tier.

#include "deplo/Dialect/AffineArithmetic.h"
#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::graph;

//===----------------------------------------------------------------------===//
// Regions with named operands: (%a = %x : type, ...)
//===----------------------------------------------------------------------===//

/// Parses `(%a = %x : type, ...)`. A map names scalars: their type is the
/// operand's element type.
static ParseResult
parseInputs(OpAsmParser &parser, OperationState &result, bool areScalars,
            SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc location = parser.getCurrentLocation();
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(types.emplace_back()))
      return failure();
    argument.type =
        areScalars ? getElementTypeOrSelf(types.back()) : types.back();
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput))
    return failure();
  return parser.resolveOperands(operands, types, location, result.operands);
}

static void printInputs(OpAsmPrinter &printer, Block &body,
                        OperandRange inputs) {
  printer << " (";
  llvm::interleaveComma(
      llvm::zip(body.getArguments(), inputs), printer, [&](auto pair) {
        auto [argument, input] = pair;
        printer.printRegionArgument(argument, {}, /*omitType=*/true);
        printer << " = " << input << " : " << input.getType();
      });
  printer << ") -> ";
}

static void printBody(OpAsmPrinter &printer, Region &region) {
  printer << ' ';
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

/// Drops operands whose block argument is unused and merges equal ones; block
/// arguments correspond to operands.
static bool dropRedundantInputs(Operation *op, PatternRewriter &rewriter) {
  Block &body = op->getRegion(0).front();
  llvm::SmallDenseMap<Value, unsigned> firstUse;
  llvm::BitVector redundant(op->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    BlockArgument argument = body.getArgument(index);
    if (argument.use_empty()) {
      redundant.set(index);
      continue;
    }
    auto [first, isNew] = firstUse.try_emplace(operand, index);
    if (isNew)
      continue;
    rewriter.replaceAllUsesWith(argument, body.getArgument(first->second));
    redundant.set(index);
  }
  if (redundant.none())
    return false;
  rewriter.modifyOpInPlace(op, [&] {
    op->eraseOperands(redundant);
    body.eraseArguments(redundant);
  });
  return true;
}

namespace {
template <typename OpTy> struct DropRedundantInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    return success(dropRedundantInputs(op, rewriter));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) { return getValue(); }

void ConstantOp::getAsmResultNames(
    function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), "cst");
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

void MapOp::build(OpBuilder &builder, OperationState &state,
                  RankedTensorType resultType, ValueRange inputs,
                  function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  state.addOperands(inputs);
  state.addTypes(resultType);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input), input.getLoc());
  Value yielded = body(builder, state.location, block->getArguments());
  YieldOp::create(builder, state.location, yielded);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseInputs(parser, result, /*areScalars=*/true, arguments) ||
      parser.parseArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments,
                         /*enableNameShadowing=*/true))
    return failure();
  return success();
}

void MapOp::print(OpAsmPrinter &printer) {
  printInputs(printer, *getBody(), getInputs());
  printer << getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printBody(printer, getRegion());
}

/// a, b, c, ... in the region.
void MapOp::getAsmBlockArgumentNames(
    Region &region, function_ref<void(Value, StringRef)> setName) {
  for (BlockArgument argument : region.getArguments()) {
    char letter = 'a' + argument.getArgNumber() % 26;
    setName(argument, StringRef(&letter, 1));
  }
}

/// Whether `op` computes scalars from scalars and does nothing else.
static bool isScalarOp(Operation &op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperandTypes(), isScalar) &&
         llvm::all_of(op.getResultTypes(), isScalar);
}

LogicalResult MapOp::verify() {
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getShape() != getType().getShape()) // C1
      return emitOpError() << "operand " << index << " is " << type
                           << ", expected the shape of the result " << getType()
                           << ", broadcast it with graph.index_map";
  }
  Block &body = *getBody();
  if (body.getNumArguments() != getInputs().size()) // C2
    return emitOpError() << "region has " << body.getNumArguments()
                         << " arguments for " << getInputs().size()
                         << " operands";
  for (auto [index, argument, input] :
       llvm::enumerate(body.getArguments(), getInputs()))
    if (argument.getType() != getElementTypeOrSelf(input)) // C2
      return emitOpError() << "region argument " << index << " is "
                           << argument.getType() << ", expected "
                           << getElementTypeOrSelf(input);
  for (Operation &op : body.without_terminator())
    if (!isScalarOp(op)) // C4
      return (emitOpError() << "region holds " << op.getName()
                            << ", expected scalar arithmetic")
                 .attachNote(op.getLoc())
             << "here";
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getNumOperands() != 1) // C3
    return emitOpError() << "region yields "
                         << body.getTerminator()->getNumOperands()
                         << " values, expected one";
  Type yielded = yield.getOperand(0).getType();
  if (yielded != getType().getElementType()) // C3
    return emitOpError() << "region yields " << yielded << ", expected "
                         << getType().getElementType();
  return success();
}

namespace {

/// An operand that is the same everywhere becomes a scalar of the region.
struct InlineSplats : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [input, argument] :
         llvm::zip(op.getInputs(), op.getBody()->getArguments())) {
      SplatElementsAttr splat;
      if (argument.use_empty() || !matchPattern(input, m_Constant(&splat)))
        continue;
      rewriter.setInsertionPointToStart(op.getBody());
      Value scalar = arith::ConstantOp::create(
          rewriter, input.getLoc(),
          cast<TypedAttr>(splat.getSplatValue<Attribute>()));
      rewriter.replaceAllUsesWith(argument, scalar);
      return success();
    }
    return failure();
  }
};

/// What a map computes from coordinates alone is computed again where it is
/// used, rather than stored, unless it is long and has several users.
struct InlineGenerated : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isCheap(MapOp generator) {
    constexpr size_t fewOperations = 16;
    return generator->hasOneUse() ||
           generator.getBody()->getOperations().size() <= fewOperations;
  }

  LogicalResult matchAndRewrite(MapOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [input, argument] :
         llvm::zip(op.getInputs(), op.getBody()->getArguments())) {
      auto generator = input.getDefiningOp<MapOp>();
      if (argument.use_empty() || !generator ||
          !generator.getInputs().empty() || !isCheap(generator))
        continue;
      rewriter.setInsertionPointToStart(op.getBody());
      IRMapping mapping;
      for (Operation &scalar : generator.getBody()->without_terminator())
        rewriter.clone(scalar, mapping);
      rewriter.replaceAllUsesWith(
          argument, mapping.lookupOrDefault(generator.getYielded()));
      return success();
    }
    return failure();
  }
};

/// The identity function.
struct ForwardIdentity : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op,
                                PatternRewriter &rewriter) const override {
    auto argument = dyn_cast<BlockArgument>(op.getYielded());
    if (!argument || argument.getOwner() != op.getBody())
      return failure();
    Value input = op.getInputs()[argument.getArgNumber()];
    if (input.getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, input);
    return success();
  }
};

/// A region that yields a constant.
struct FoldConstantMap : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op,
                                PatternRewriter &rewriter) const override {
    Attribute scalar;
    if (!op.getType().hasStaticShape() ||
        !matchPattern(op.getYielded(), m_Constant(&scalar)))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, DenseElementsAttr::get(op.getType(), scalar));
    return success();
  }
};

} // namespace

void MapOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<DropRedundantInputs<MapOp>, InlineSplats, InlineGenerated,
               ForwardIdentity, FoldConstantMap>(context);
}

//===----------------------------------------------------------------------===//
// IndexOp
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  int64_t rank = cast<MapOp>((*this)->getParentOp()).getType().getRank();
  int64_t axis = getAxis();
  if (axis < 0 || axis >= rank) // C1
    return emitOpError() << "axis is " << axis << ", the map's result has "
                         << rank << " axes";
  return success();
}

//===----------------------------------------------------------------------===//
// SizeOp
//===----------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  int64_t number = getNumber();
  if (number < 1) // C1
    return emitOpError() << "is of " << number
                         << ", expected a positive number";
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state, Monoid kind,
                     Value input, ArrayRef<int64_t> axes) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape =
      getReducedShape(type.getShape(), axes, /*keepdims=*/false);
  build(builder, state, RankedTensorType::get(shape, type.getElementType()),
        kind, input, axes);
}

void ReduceOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), getKind() == Monoid::Add   ? "sum"
                       : getKind() == Monoid::Mul ? "prod"
                                                  : stringifyMonoid(getKind()));
}

LogicalResult ReduceOp::verify() {
  RankedTensorType input = getInput().getType();
  if (failed(verifyAxes(*this, getAxes(), input.getRank()))) // C1
    return failure();
  if (getType().getElementType() != input.getElementType()) // C2
    return emitOpError() << "result holds " << getType().getElementType()
                         << ", expected the operand's "
                         << input.getElementType();
  if (failed(verifyMonoid(*this, getKind(), getType()))) // C3
    return failure();
  return verifyShape(
      *this, getType(),
      getReducedShape(input.getShape(), getAxes(), /*keepdims=*/false)); // C2
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getAxes().empty() && getInput().getType() == getType())
    return getInput();
  auto isEmpty = [&](int64_t axis) {
    return getInput().getType().getDimSize(axis) == 0;
  };
  if (getType().hasStaticShape() && llvm::any_of(getAxes(), isEmpty))
    return DenseElementsAttr::get(
        getType(),
        Attribute(getIdentity(getKind(), getType().getElementType())));
  return {};
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

void ContractOp::getAsmResultNames(
    function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), "product");
}

SmallVector<int64_t> ContractOp::getIterationShape() {
  SmallVector<int64_t> shape(getType().getShape());
  shape.resize(getLhsMap().getNumDims(), -1);
  for (auto [type, map] : {std::pair(getLhs().getType(), getLhsMap()),
                           std::pair(getRhs().getType(), getRhsMap())})
    for (auto [size, coordinate] :
         llvm::zip_equal(type.getShape(), map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(coordinate);
          dim && shape[dim.getPosition()] < 0)
        shape[dim.getPosition()] = size;
  return shape;
}

/// Whether the coordinates that `map` yields from `shape` are within `operand`.
static LogicalResult verifyCoordinates(ContractOp op, StringRef name,
                                       RankedTensorType operand, AffineMap map,
                                       ArrayRef<int64_t> shape) {
  for (auto [axis, coordinate] : llvm::enumerate(map.getResults())) {
    int64_t size = operand.getDimSize(axis);
    auto dim = dyn_cast<AffineDimExpr>(coordinate);
    if (dim && dim.getPosition() >= op.getType().getRank() &&
        shape[dim.getPosition()] != size) // C2
      return op.emitOpError()
             << "sums over " << shape[dim.getPosition()] << " elements, axis "
             << axis << " of " << name << " has " << size;
    std::optional<ValueRange64> range = getRange(coordinate, shape);
    if (!range) // C4
      return op.emitOpError()
             << "coordinate " << axis << " of " << name
             << " divides by something other than a positive constant, or "
                "overflows";
    if (range->min < 0 || range->max >= size) // C4
      return op.emitOpError()
             << "coordinate " << axis << " of " << name << " runs from "
             << range->min << " to " << range->max << ", the operand has "
             << size << " elements";
  }
  return success();
}

LogicalResult ContractOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  int64_t rank = getType().getRank();
  for (auto [name, type, map] : {std::tuple("lhs", lhs, getLhsMap()),
                                 std::tuple("rhs", rhs, getRhsMap())})
    if (map.getNumDims() <= rank || map.getNumSymbols() != 0 ||
        map.getNumDims() != getLhsMap().getNumDims() ||
        map.getNumResults() != type.getRank()) // C1
      return emitOpError()
             << "map of " << name << " takes " << map.getNumDims()
             << " coordinates and " << map.getNumSymbols() << " symbols to "
             << map.getNumResults() << ", expected the result's " << rank
             << ", at least one that is summed over and no symbols, to the "
                "operand's "
             << type.getRank();
  SmallVector<int64_t> shape = getIterationShape();
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (extent < 0 && !ShapedType::isDynamic(extent)) // C2
      return emitOpError() << "coordinate " << dim
                           << " is summed over and is no coordinate of an "
                              "operand by itself";
  Type element = getType().getElementType();
  if (lhs.getElementType() != rhs.getElementType()) // C3
    return emitOpError() << "multiplies elements of " << lhs.getElementType()
                         << " and " << rhs.getElementType()
                         << ", expected one type";
  bool isFloat = isa<FloatType>(lhs.getElementType());
  bool isWide =
      isFloat ? element.isF32()
              : lhs.getElementType().isInteger(8) && element.isInteger(32);
  if (element != lhs.getElementType() && !isWide) // C3
    return emitOpError() << "result holds " << element
                         << ", expected the operands' " << lhs.getElementType()
                         << (isFloat ? " or f32" : ", or i32 of i8");
  if (llvm::any_of(shape, ShapedType::isDynamic) ||
      llvm::is_contained(shape, 0) || !lhs.hasStaticShape() ||
      !rhs.hasStaticShape())
    return success();
  if (failed(verifyCoordinates(*this, "lhs", lhs, getLhsMap(), shape)))
    return failure();
  return verifyCoordinates(*this, "rhs", rhs, getRhsMap(), shape);
}

OpFoldResult ContractOp::fold(FoldAdaptor adaptor) {
  if (!getType().hasStaticShape())
    return {};
  if (getType().getNumElements() == 0)
    return DenseElementsAttr::get(getType(), ArrayRef<Attribute>());
  if (llvm::is_contained(getIterationShape(), 0))
    return DenseElementsAttr::get(
        getType(),
        Attribute(
            Builder(getContext()).getZeroAttr(getType().getElementType())));
  return {};
}

//===----------------------------------------------------------------------===//
// IndexMapOp
//===----------------------------------------------------------------------===//

LogicalResult IndexMapOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  AffineMap map = getMap();
  if (map.getNumSymbols() != 0) // C1
    return emitOpError("map must not have symbols");
  if (map.getNumDims() != result.getRank() ||
      map.getNumResults() != input.getRank()) // C1
    return emitOpError() << "map takes " << map.getNumDims()
                         << " coordinates to " << map.getNumResults()
                         << ", expected the result's " << result.getRank()
                         << " to the operand's " << input.getRank();
  if (input.getElementType() != result.getElementType()) // C2
    return emitOpError() << "result holds " << result.getElementType()
                         << ", expected the operand's "
                         << input.getElementType();
  if (!input.hasStaticShape() || !result.hasStaticShape() ||
      result.getNumElements() == 0)
    return success();
  map = simplifyInRange(map, result.getShape());
  for (auto [axis, coordinate] : llvm::enumerate(map.getResults())) {
    std::optional<ValueRange64> range = getRange(coordinate, result.getShape());
    int64_t size = input.getDimSize(axis);
    if (!range) // C3
      return emitOpError() << "coordinate " << axis
                           << " divides by something other than a positive "
                              "constant, or overflows";
    if (range->min < 0 || range->max >= size) // C3
      return emitOpError() << "coordinate " << axis << " runs from "
                           << range->min << " to " << range->max
                           << ", the operand has " << size << " elements";
  }
  return success();
}

/// Whether `map`, read from a tensor of `shape`, is the tensor itself.
static bool isIdentityOn(AffineMap map, ArrayRef<int64_t> shape) {
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(shape.size(), map.getContext());
  return simplifyInRange(map, shape) == simplifyInRange(identity, shape);
}

OpFoldResult IndexMapOp::fold(FoldAdaptor adaptor) {
  if (!getType().hasStaticShape())
    return {};
  if (getType().getNumElements() == 0)
    return DenseElementsAttr::get(getType(), ArrayRef<Attribute>());
  if (getInput().getType() == getType() &&
      isIdentityOn(getMap(), getType().getShape()))
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return DenseElementsAttr::get(getType(), splat.getSplatValue<Attribute>());
  return {};
}

namespace {

struct SimplifyMap : OpRewritePattern<IndexMapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IndexMapOp op,
                                PatternRewriter &rewriter) const override {
    AffineMap map = simplifyInRange(op.getMap(), op.getType().getShape());
    if (map == op.getMap())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.setMap(map); });
    return success();
  }
};

/// Reads through two maps become one, unless that would divide sums of
/// coordinates: a tensor between such reads is cheaper than the divisions.
struct ComposeMaps : OpRewritePattern<IndexMapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IndexMapOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<IndexMapOp>();
    if (!inner || !inner.getInput().getType().hasStaticShape())
      return failure();
    AffineMap map = composeReads(op.getMap(), op.getType().getShape(),
                                 inner.getMap(), inner.getType().getShape(),
                                 inner.getInput().getType().getShape());
    if (!map)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setMap(map);
      op.getInputMutable().assign(inner.getInput());
    });
    return success();
  }
};

/// Coordinates as scalar arithmetic (emitAffine).
struct CoordinateEmitter {
  OpBuilder &builder;
  Location loc;
  Type type;
  const SymbolicSizes &sizes;

  Value getDim(unsigned dim) {
    return IndexOp::create(builder, loc, type, dim);
  }
  Value getConstant(int64_t value) {
    return createNumber<SizeOp>(builder, loc, type, value, sizes);
  }
  template <typename OpT> Value create(Value lhs, Value rhs) {
    return OpT::create(builder, loc, lhs, rhs);
  }
};

/// Whether dividing the parts of `expr` as unsigned numbers is right.
static bool dividesUnsigned(AffineExpr expr, ArrayRef<int64_t> shape) {
  bool isUnsigned = true;
  expr.walk([&](AffineExpr part) {
    AffineExprKind kind = part.getKind();
    isUnsigned &= kind != AffineExprKind::CeilDiv;
    if (kind != AffineExprKind::FloorDiv && kind != AffineExprKind::Mod)
      return;
    auto binary = cast<AffineBinaryOpExpr>(part);
    auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    std::optional<ValueRange64> range = getRange(binary.getLHS(), shape);
    isUnsigned &= divisor && divisor.getValue() > 0 && range && range->min >= 0;
  });
  return isUnsigned;
}

/// A read of what is computed from coordinates alone computes it from the
/// coordinates that are read.
struct ReadGenerated : OpRewritePattern<IndexMapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IndexMapOp op,
                                PatternRewriter &rewriter) const override {
    auto generator = op.getInput().getDefiningOp<MapOp>();
    if (!generator || !generator.getInputs().empty() ||
        !InlineGenerated::isCheap(generator) || !op.getType().hasStaticShape())
      return failure();
    AffineMap map = op.getMap();
    for (AffineExpr expr : map.getResults())
      if (!dividesUnsigned(expr, op.getType().getShape()))
        return failure();
    SymbolicSizes sizes = SymbolicSizes::get(op);
    auto body = [&](OpBuilder &builder, Location loc, ValueRange) {
      IRMapping mapping;
      for (Operation &scalar : generator.getBody()->without_terminator()) {
        auto index = dyn_cast<IndexOp>(scalar);
        if (!index) {
          builder.clone(scalar, mapping);
          continue;
        }
        CoordinateEmitter emitter{builder, index.getLoc(), index.getType(),
                                  sizes};
        mapping.map(index.getResult(),
                    emitAffine(map.getResult(index.getAxis()),
                               op.getType().getShape(), emitter));
      }
      return mapping.lookupOrDefault(generator.getYielded());
    };
    rewriter.replaceOpWithNewOp<MapOp>(op, op.getType(), ValueRange(), body);
    return success();
  }
};

} // namespace

void IndexMapOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<SimplifyMap, ComposeMaps, ReadGenerated>(context);
}

/// Sums of coordinates may be divided where that is a reshape: the position in
/// memory is linear.
AffineMap graph::composeReads(AffineMap outer, ArrayRef<int64_t> outerShape,
                              AffineMap inner, ArrayRef<int64_t> innerShape,
                              ArrayRef<int64_t> sourceShape) {
  AffineMap map = simplifyInRange(inner.compose(outer), outerShape);
  if (llvm::all_of(map.getResults(), dividesDimsOnly) ||
      getFlatForm(map, sourceShape, outerShape))
    return map;
  // A reshape of a reshape: the positions of both are the same.
  std::optional<LinearForm> inFlat =
      getFlatForm(inner, sourceShape, innerShape);
  std::optional<LinearForm> outFlat =
      getFlatForm(outer, innerShape, outerShape);
  if (!inFlat || !outFlat || inFlat->constant != 0 ||
      inFlat->coefficients != getRowMajorStrides(innerShape))
    return {};
  AffineExpr position = getExpr(*outFlat, map.getContext());
  return simplifyInRange(delinearize(position, sourceShape, map.getNumDims()),
                         outerShape);
}

//===----------------------------------------------------------------------===//
// FusedOp
//===----------------------------------------------------------------------===//

void FusedOp::build(OpBuilder &builder, OperationState &state, StringRef kernel,
                    TypeRange outputTypes, ValueRange inputs) {
  state.addAttribute("kernel", builder.getStringAttr(kernel));
  state.addOperands(inputs);
  state.addTypes(outputTypes);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
}

YieldOp FusedOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr kernel;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(kernel, "kernel", result.attributes) ||
      parseInputs(parser, result, /*areScalars=*/false, arguments) ||
      parser.parseArrow() || parser.parseLParen())
    return failure();
  if (parser.parseOptionalRParen())
    if (parser.parseTypeList(result.types) || parser.parseRParen())
      return failure();
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments,
                                    /*enableNameShadowing=*/true));
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getKernel());
  printInputs(printer, *getBody(), getInputs());
  printer << '(' << getOutputs().getTypes() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kernel"});
  printBody(printer, getRegion());
}

LogicalResult FusedOp::verify() {
  Block &body = *getBody();
  if (body.getArgumentTypes() != getInputs().getTypes()) // C1
    return emitOpError() << "region arguments are (" << body.getArgumentTypes()
                         << "), expected (" << getInputs().getTypes() << ")";
  for (Operation &op : body.without_terminator())
    if (!op.hasTrait<IsPrimitive>()) // C3
      return (emitOpError() << "region holds " << op.getName()
                            << ", expected primitives, decompose it first")
                 .attachNote(op.getLoc())
             << "here";
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getOperandTypes() != getOutputs().getTypes()) // C2
    return emitOpError() << "region yields ("
                         << body.getTerminator()->getOperandTypes()
                         << "), expected (" << getOutputs().getTypes() << ")";
  return success();
}

namespace {
/// Outputs that nobody reads are not written.
struct DropUnusedOutputs : OpRewritePattern<FusedOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(FusedOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> kept, yielded;
    for (auto [output, value] :
         llvm::zip_equal(op.getOutputs(), op.getYield().getValues())) {
      if (output.use_empty())
        continue;
      kept.push_back(output);
      yielded.push_back(value);
    }
    if (kept.size() == op.getNumResults())
      return failure();
    auto narrowed =
        FusedOp::create(rewriter, op.getLoc(), op.getKernel(),
                        ValueRange(kept).getTypes(), op.getInputs());
    rewriter.modifyOpInPlace(op.getYield(), [&] {
      op.getYield().getValuesMutable().assign(yielded);
    });
    rewriter.mergeBlocks(op.getBody(), narrowed.getBody(),
                         narrowed.getBody()->getArguments());
    for (auto [from, to] : llvm::zip_equal(kept, narrowed.getOutputs()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void FusedOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<DropRedundantInputs<FusedOp>, DropUnusedOutputs>(context);
}
