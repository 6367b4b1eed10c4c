// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoadOp and StoreOp: elements of memrefs at affine functions of indices.

#include "deplo/Dialect/Loop/IR/Loop.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

static constexpr StringLiteral mapName = "map";

namespace {
/// The operands of an access, as parsed.
struct ParsedAccess {
  OpAsmParser::UnresolvedOperand memref;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  /// Of a load: the condition and the value where it is false, or neither.
  SmallVector<OpAsmParser::UnresolvedOperand, 2> guard;
  MemRefType type;
};
} // namespace

static ParseResult parseAccess(OpAsmParser &parser, OperationState &result,
                               ParsedAccess &access, bool mayBeGuarded) {
  Attribute map;
  SMLoc typeLoc;
  Type parsed;
  if (parser.parseOperand(access.memref) ||
      parser.parseAffineMapOfSSAIds(access.indices, map, mapName,
                                    result.attributes))
    return failure();
  if (mayBeGuarded && succeeded(parser.parseOptionalKeyword("if")))
    if (parser.parseOperand(access.guard.emplace_back()) ||
        parser.parseKeyword("else") ||
        parser.parseOperand(access.guard.emplace_back()))
      return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseType(parsed))
    return failure();
  access.type = dyn_cast<MemRefType>(parsed);
  if (!access.type)
    return parser.emitError(typeLoc, "expected a memref type, got ") << parsed;
  Type index = parser.getBuilder().getIndexType();
  return failure(
      parser.resolveOperand(access.memref, access.type, result.operands) ||
      parser.resolveOperands(access.indices, index, result.operands));
}

template <typename AccessOp>
static void printAccess(OpAsmPrinter &printer, AccessOp op) {
  printer << op.getMemref() << '[';
  printer.printAffineMapOfSSAIds(op.getMapAttr(), op.getIndices());
  printer << ']';
}

template <typename AccessOp>
static void printAccessType(OpAsmPrinter &printer, AccessOp op) {
  printer.printOptionalAttrDict(op->getAttrs(),
                                {mapName, "operandSegmentSizes"});
  printer << " : " << op.getMemRefType();
}

/// Whether every iteration of the loops around `op` reaches it.
static bool isUnconditional(Operation *op) {
  Operation *parent = op->getParentOp();
  while (isa_and_nonnull<ForOp, ReduceOp, ScanOp>(parent))
    parent = parent->getParentOp();
  return isa_and_nonnull<KernelOp>(parent);
}

/// Coordinates without division are linear in independent variables, so their
/// bounds are exact and a violation is a fault of the program.
static LogicalResult verifyBounds(Operation *op, MemRefType type, AffineMap map,
                                  ValueRange indices) {
  SmallVector<std::optional<int64_t>> lower, upper;
  for (Value index : indices) {
    IntegerAttr constant;
    if (matchPattern(index, m_Constant(&constant))) {
      lower.push_back(constant.getInt());
      upper.push_back(constant.getInt());
      continue;
    }
    int64_t extent = *getExtentOf(index);
    if (extent == 0)
      return success(); // never runs
    lower.push_back(0);
    upper.push_back(extent - 1);
  }
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto low = getBoundForAffineExpr(expr, map.getNumDims(), 0, lower, upper,
                                     /*isUpper=*/false);
    auto high = getBoundForAffineExpr(expr, map.getNumDims(), 0, lower, upper,
                                      /*isUpper=*/true);
    int64_t size = type.getDimSize(dim);
    if (low && *low < 0)
      return op->emitOpError() << "coordinate " << dim << " reaches " << *low
                               << ", expected at least 0";
    if (high && !ShapedType::isDynamic(size) && *high >= size)
      return op->emitOpError() << "coordinate " << dim << " reaches " << *high
                               << ", expected less than " << size;
  }
  return success();
}

template <typename AccessOp>
static LogicalResult verifyAccess(AccessOp op, Type element,
                                  bool isGuarded = false) {
  MemRefType type = op.getMemRefType();
  AffineMap map = op.getMap();
  if (map.getNumResults() != type.getRank()) // C1
    return op.emitOpError()
           << "has " << map.getNumResults()
           << " coordinates for a memref of rank " << type.getRank();
  if (type.getElementType() != element) // C2
    return op.emitOpError()
           << "has a value of type " << element << " for elements of type "
           << type.getElementType();
  auto argument = dyn_cast<BlockArgument>(op.getMemref());
  if (!argument || !isa<KernelOp>(argument.getOwner()->getParentOp())) // C5
    return op.emitOpError(
        "expects as memref an argument of the enclosing loop.kernel");
  if (map.getNumSymbols() != 0 ||
      map.getNumDims() != op.getIndices().size()) // C3
    return op.emitOpError()
           << "expects a map of " << op.getIndices().size()
           << " dimensions and no symbols, got " << op.getMapAttr();
  if (isGuarded)
    return success();
  for (Value index : op.getIndices())
    if (!getExtentOf(index) && !matchPattern(index, m_Constant())) { // C3
      InFlightDiagnostic diagnostic = op.emitOpError(
          "has a coordinate that is neither a constant nor affine in the "
          "induction variables of enclosing loops");
      if (Operation *definition = index.getDefiningOp())
        diagnostic.attachNote(definition->getLoc()) << "it depends on this";
      return diagnostic;
    }
  if (isUnconditional(op))
    return verifyBounds(op, type, map, op.getIndices()); // C4
  return success();
}

namespace {

/// An interval of int64_t, both ends included.
struct Interval {
  int64_t lower, upper;
};

} // namespace

/// Where the value of `expr` lies; it may be tighter in truth.
static std::optional<Interval> getRange(AffineExpr expr,
                                        ArrayRef<Interval> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<Interval> lhs = getRange(binary.getLHS(), dims);
  std::optional<Interval> rhs = getRange(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return Interval{lhs->lower + rhs->lower, lhs->upper + rhs->upper};
  if (rhs->lower != rhs->upper)
    return std::nullopt;
  int64_t factor = rhs->lower;
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return factor >= 0 ? Interval{lhs->lower * factor, lhs->upper * factor}
                       : Interval{lhs->upper * factor, lhs->lower * factor};
  case AffineExprKind::FloorDiv:
    if (factor <= 0)
      return std::nullopt;
    return Interval{llvm::divideFloorSigned(lhs->lower, factor),
                    llvm::divideFloorSigned(lhs->upper, factor)};
  case AffineExprKind::Mod:
    if (factor <= 0)
      return std::nullopt;
    return Interval{0, factor - 1};
  default:
    return std::nullopt;
  }
}

/// Divisions whose quotient is one constant for all iterations disappear:
/// `d0 floordiv 8` is 0 and `d0 mod 8` is d0 if d0 < 8.
static AffineExpr simplifyDivisions(AffineExpr expr, ArrayRef<Interval> dims) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = simplifyDivisions(binary.getLHS(), dims);
  AffineExpr rhs = simplifyDivisions(binary.getRHS(), dims);
  AffineExprKind kind = expr.getKind();
  auto divisor = dyn_cast<AffineConstantExpr>(rhs);
  std::optional<Interval> range = getRange(lhs, dims);
  if (range && divisor && divisor.getValue() > 0 &&
      (kind == AffineExprKind::FloorDiv || kind == AffineExprKind::Mod)) {
    int64_t by = divisor.getValue();
    int64_t quotient = llvm::divideFloorSigned(range->lower, by);
    if (quotient == llvm::divideFloorSigned(range->upper, by))
      return kind == AffineExprKind::Mod
                 ? lhs - quotient * by
                 : getAffineConstantExpr(quotient, expr.getContext());
  }
  return getAffineBinaryOpExpr(kind, lhs, rhs);
}

/// Folds constants and equal indices into the map, simplifies it and drops
/// indices that it does not use.
static bool canonicalizeAccess(AffineMap &map,
                               SmallVectorImpl<Value> &indices) {
  constexpr int64_t unknown = int64_t(1) << 31; // times a stride, no overflow
  MLIRContext *context = map.getContext();
  SmallVector<Value> kept;
  SmallVector<Interval> ranges;
  SmallVector<AffineExpr> replacements;
  llvm::SmallDenseMap<Value, AffineExpr> seen;
  for (Value index : indices) {
    IntegerAttr constant;
    if (matchPattern(index, m_Constant(&constant))) {
      replacements.push_back(getAffineConstantExpr(constant.getInt(), context));
      continue;
    }
    AffineExpr &dim = seen[index];
    if (!dim) {
      dim = getAffineDimExpr(kept.size(), context);
      kept.push_back(index);
      // Of another value nothing is known.
      std::optional<int64_t> extent = getExtentOf(index);
      ranges.push_back(extent ? Interval{0, std::max<int64_t>(*extent - 1, 0)}
                              : Interval{-unknown, unknown});
    }
    replacements.push_back(dim);
  }
  AffineMap simplified =
      map.replaceDimsAndSymbols(replacements, {}, kept.size(), 0);
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : simplified.getResults())
    results.push_back(
        simplifyAffineExpr(simplifyDivisions(expr, ranges), kept.size(), 0));
  simplified = AffineMap::get(kept.size(), 0, results, context);
  SmallVector<Value> used;
  for (auto [position, index] : llvm::enumerate(kept))
    if (simplified.isFunctionOfDim(position))
      used.push_back(index);
  simplified = compressUnusedDims(simplified);
  if (simplified == map && ArrayRef<Value>(used) == ArrayRef<Value>(indices))
    return false;
  map = simplified;
  indices.assign(used);
  return true;
}

namespace {

template <typename AccessOp>
struct CanonicalizeAccess : OpRewritePattern<AccessOp> {
  using OpRewritePattern<AccessOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(AccessOp op,
                                PatternRewriter &rewriter) const override {
    AffineMap map = op.getMap();
    SmallVector<Value> indices(op.getIndices());
    if (!canonicalizeAccess(map, indices))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setMap(map);
      op.getIndicesMutable().assign(indices);
    });
    return success();
  }
};

} // namespace

void LoadOp::build(OpBuilder &builder, OperationState &state, Value memref,
                   AffineMap map, ValueRange indices, Value condition,
                   Value otherwise) {
  build(builder, state, cast<MemRefType>(memref.getType()).getElementType(),
        memref, indices, condition, otherwise, map);
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  ParsedAccess access;
  if (parseAccess(parser, result, access, /*mayBeGuarded=*/true))
    return failure();
  Type element = access.type.getElementType();
  bool isGuarded = !access.guard.empty();
  if (isGuarded &&
      (parser.resolveOperand(access.guard[0], parser.getBuilder().getI1Type(),
                             result.operands) ||
       parser.resolveOperand(access.guard[1], element, result.operands)))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      1, static_cast<int32_t>(access.indices.size()), isGuarded, isGuarded};
  result.addTypes(element);
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printAccess(printer, *this);
  if (getCondition())
    printer << " if " << getCondition() << " else " << getOtherwise();
  printAccessType(printer, *this);
}

LogicalResult LoadOp::verify() {
  if (bool(getCondition()) != bool(getOtherwise()) ||
      (getOtherwise() && getOtherwise().getType() != getType())) // C7
    return emitOpError("expects a condition and a value of the element's type "
                       "where it is false, or neither");
  return verifyAccess(*this, getResult().getType(), bool(getCondition()));
}

namespace {

/// A condition that is known.
struct FoldCondition : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoadOp load,
                                PatternRewriter &rewriter) const override {
    if (!load.getCondition())
      return failure();
    if (matchPattern(load.getCondition(), m_Zero())) {
      rewriter.replaceOp(load, load.getOtherwise());
      return success();
    }
    // Other indices than loop variables stay guarded.
    bool isAffine = llvm::all_of(load.getIndices(), [](Value index) {
      return getExtentOf(index) || matchPattern(index, m_Constant());
    });
    if (!isAffine || !matchPattern(load.getCondition(), m_One()))
      return failure();
    rewriter.replaceOpWithNewOp<LoadOp>(load, load.getMemref(), load.getMap(),
                                        load.getIndices());
    return success();
  }
};

} // namespace

void LoadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<CanonicalizeAccess<LoadOp>, FoldCondition>(context);
}

void StoreOp::build(OpBuilder &builder, OperationState &state, Value value,
                    Value memref, AffineMap map, ValueRange indices) {
  build(builder, state, value, memref, indices, map);
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand value;
  OperationState state(result.location, result.name);
  ParsedAccess access;
  if (parser.parseOperand(value) || parser.parseComma() ||
      parseAccess(parser, state, access, /*mayBeGuarded=*/false) ||
      parser.resolveOperand(value, access.type.getElementType(),
                            result.operands))
    return failure();
  result.addOperands(state.operands);
  result.addAttributes(state.attributes.getAttrs());
  return success();
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue() << ", ";
  printAccess(printer, *this);
  printAccessType(printer, *this);
}

LogicalResult StoreOp::verify() {
  if (failed(verifyAccess(*this, getValue().getType())))
    return failure();
  if (!isUnconditional(*this))
    return success();
  for (Operation *op = (*this)->getParentOp(); !isa<KernelOp>(op);
       op = op->getParentOp()) {
    if (!isa<ForOp, ScanOp, ReduceOp>(op) || *getLoopExtent(op) <= 1)
      continue;
    Value variable = op->getRegion(0).getArgument(0);
    bool occurs = false;
    for (auto [position, index] : llvm::enumerate(getIndices()))
      occurs |= index == variable && getMap().isFunctionOfDim(position);
    if (!occurs) { // C6
      InFlightDiagnostic diagnostic =
          emitOpError("stores to the same element in every iteration of an "
                      "enclosing loop");
      diagnostic.attachNote(op->getLoc()) << "the loop";
      return diagnostic;
    }
  }
  return success();
}

void StoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<CanonicalizeAccess<StoreOp>>(context);
}
