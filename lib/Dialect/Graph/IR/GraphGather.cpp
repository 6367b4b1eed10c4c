// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.gather: assembly, verifier, folder and canonical forms.

#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Analysis/Guards.h"
#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::graph;

//===----------------------------------------------------------------------===//
// Construction and assembly
//===----------------------------------------------------------------------===//

void GatherOp::build(OpBuilder &builder, OperationState &state,
                     RankedTensorType resultType, ValueRange sources,
                     ValueRange indices, ArrayRef<AffineMap> maps,
                     ArrayRef<AffineMap> guards, TypedAttr fill) {
  state.addOperands(sources);
  state.addOperands(indices);
  state.addTypes(resultType);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(sources.size()),
                                    static_cast<int32_t>(indices.size())};
  properties.maps = builder.getAffineMapArrayAttr(maps);
  properties.guards = builder.getAffineMapArrayAttr(guards);
  properties.fill = fill;
}

TypedAttr GatherOp::getFillOrZero() {
  if (TypedAttr fill = getFillAttr())
    return fill;
  return Builder(getContext()).getZeroAttr(getType().getElementType());
}

/// Sources with their maps and guards, then index tensors, then the fill.
ParseResult GatherOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::UnresolvedOperand> sources, indices;
  SmallVector<Attribute> maps, guards;
  auto parseSource = [&]() -> ParseResult {
    AffineMapAttr map, guard;
    if (parser.parseOperand(sources.emplace_back()) ||
        parser.parseKeyword("by") || parser.parseAttribute(map))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("where"))) {
      if (parser.parseAttribute(guard))
        return failure();
    } else {
      AffineMap value = map.getValue();
      guard = AffineMapAttr::get(AffineMap::get(
          value.getNumDims(), value.getNumSymbols(), {}, parser.getContext()));
    }
    maps.push_back(map);
    guards.push_back(guard);
    return success();
  };
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(parseSource))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parser.parseCommaSeparatedList(
          [&] { return parser.parseOperand(indices.emplace_back()); }))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("else"))) {
    TypedAttr fill;
    if (parser.parseAttribute(fill))
      return failure();
    result.addAttribute(getFillAttrName(result.name), fill);
  }
  FunctionType type;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  result.addAttribute(getMapsAttrName(result.name), builder.getArrayAttr(maps));
  result.addAttribute(getGuardsAttrName(result.name),
                      builder.getArrayAttr(guards));
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(sources.size()),
      static_cast<int32_t>(indices.size())};
  result.addTypes(type.getResults());
  sources.append(indices);
  return parser.resolveOperands(sources, type.getInputs(), location,
                                result.operands);
}

void GatherOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  llvm::interleaveComma(llvm::enumerate(getSources()), printer,
                        [&](auto source) {
                          unsigned k = source.index();
                          printer << source.value() << " by " << getMaps()[k];
                          if (getGuard(k).getNumResults() != 0)
                            printer << " where " << getGuards()[k];
                        });
  if (!getIndices().empty())
    printer << " at " << getIndices();
  if (TypedAttr fill = getFillAttr())
    printer << " else " << fill;
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getMapsAttrName(), getGuardsAttrName(),
                                 getFillAttrName(),
                                 getOperandSegmentSizesAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static bool dependsOnIndices(AffineExpr coordinate) {
  bool found = false;
  coordinate.walk(
      [&](AffineExpr part) { found |= isa<AffineSymbolExpr>(part); });
  return found;
}

LogicalResult GatherOp::verify() {
  RankedTensorType type = getType();
  size_t count = getSources().size();
  if (count == 0 || getMaps().size() != count ||
      getGuards().size() != count) // C1
    return emitOpError() << "has " << count << " sources, " << getMaps().size()
                         << " maps and " << getGuards().size()
                         << " guards, expected one of each at least";
  for (auto [k, index] : llvm::enumerate(getIndices()))
    if (getTensorType(index).getShape() != type.getShape()) // C3
      return emitOpError() << "index tensor " << k << " is " << index.getType()
                           << ", expected the shape of the result " << type
                           << ", broadcast it with graph.index_map";
  if (TypedAttr fill = getFillAttr();
      fill && fill.getType() != type.getElementType()) // C2
    return emitOpError() << "fills with " << fill.getType() << ", expected "
                         << type.getElementType();
  for (unsigned k = 0; k < count; ++k) {
    RankedTensorType source = getTensorType(getSources()[k]);
    AffineMap map = getMap(k), guard = getGuard(k);
    for (AffineMap taken : {map, guard})
      if (taken.getNumDims() != type.getRank() ||
          taken.getNumSymbols() != getIndices().size()) // C1
        return emitOpError()
               << "the map or guard of source " << k << " takes "
               << taken.getNumDims() << " coordinates and "
               << taken.getNumSymbols() << " indices, expected "
               << type.getRank() << " and " << getIndices().size();
    if (map.getNumResults() != source.getRank()) // C1
      return emitOpError() << "the map of source " << k << " goes to "
                           << map.getNumResults() << " coordinates, expected "
                           << source.getRank();
    if (source.getElementType() != type.getElementType()) // C2
      return emitOpError() << "source " << k << " holds "
                           << source.getElementType() << ", expected "
                           << type.getElementType();
    if (!source.hasStaticShape() || !type.hasStaticShape() ||
        type.getNumElements() == 0)
      continue;
    for (auto [axis, coordinate] : llvm::enumerate(map.getResults()))
      if (!dependsOnIndices(coordinate) &&
          !isWithinWhere(simplifyInRange(coordinate, type.getShape()),
                         source.getDimSize(axis), guard,
                         type.getShape())) // C4
        return emitOpError() << "coordinate " << axis << " of source " << k
                             << " is not within " << source.getDimSize(axis)
                             << " elements wherever its guard holds";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = getType();
  if (!type.hasStaticShape())
    return {};
  if (type.getNumElements() == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  auto isFill = [&](Attribute source) {
    auto splat = dyn_cast_or_null<SplatElementsAttr>(source);
    return splat &&
           splat.getSplatValue<Attribute>() == Attribute(getFillOrZero());
  };
  if (llvm::all_of(adaptor.getSources(), isFill))
    return DenseElementsAttr::get(type, Attribute(getFillOrZero()));
  return {};
}

//===----------------------------------------------------------------------===//
// Canonical forms
//===----------------------------------------------------------------------===//

namespace {

/// The parts of a graph.gather, to be changed and built again.
struct Pieces {
  explicit Pieces(GatherOp op)
      : sources(op.getSources()), indices(op.getIndices()),
        maps(op.getMaps().getAsValueRange<AffineMapAttr>()),
        guards(op.getGuards().getAsValueRange<AffineMapAttr>()),
        fill(op.getFillAttr()) {}

  void dropFrom(size_t first) {
    sources.truncate(first);
    maps.truncate(first);
    guards.truncate(first);
  }
  void drop(size_t k) {
    sources.erase(sources.begin() + k);
    maps.erase(maps.begin() + k);
    guards.erase(guards.begin() + k);
  }
  GatherOp build(PatternRewriter &rewriter, Location loc,
                 RankedTensorType type) const {
    return GatherOp::create(rewriter, loc, type, sources, indices, maps, guards,
                            fill);
  }

  SmallVector<Value> sources, indices;
  SmallVector<AffineMap> maps, guards;
  TypedAttr fill;
};

/// Guards without what always holds; no source that is never read.
struct SimplifyGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!type.hasStaticShape())
      return failure();
    Pieces pieces(op);
    bool hasChanged = false;
    for (size_t k = 0; k < pieces.sources.size();) {
      AffineMap &map = pieces.maps[k], &guard = pieces.guards[k];
      std::optional<AffineMap> simple = simplifyGuard(guard, type.getShape());
      RankedTensorType source = getTensorType(pieces.sources[k]);
      if (!simple ||
          (source.hasStaticShape() && source.getNumElements() == 0)) {
        pieces.drop(k);
        hasChanged = true;
        continue;
      }
      AffineMap simpleMap = simplifyInRange(map, type.getShape());
      hasChanged |= *simple != guard || simpleMap != map;
      guard = *simple;
      map = simpleMap;
      ++k;
      // What depends on indices may be out of range.
      if (guard.getNumResults() == 0 &&
          llvm::none_of(map.getResults(), dependsOnIndices) &&
          k < pieces.sources.size()) {
        pieces.dropFrom(k);
        hasChanged = true;
      }
    }
    if (!hasChanged)
      return failure();
    if (pieces.sources.empty())
      rewriter.replaceOpWithNewOp<ConstantOp>(
          op, DenseElementsAttr::get(type, Attribute(op.getFillOrZero())));
    else
      rewriter.replaceOp(op, pieces.build(rewriter, op.getLoc(), type));
    return success();
  }
};

/// Index tensors that no map takes.
struct DropUnusedIndices : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    Pieces pieces(op);
    SmallVector<AffineExpr> symbols;
    SmallVector<Value> kept;
    for (auto [s, index] : llvm::enumerate(op.getIndices())) {
      auto isUsed = [position = s](AffineMap map) {
        return map.isFunctionOfSymbol(position);
      };
      bool isNeeded = llvm::any_of(pieces.maps, isUsed) ||
                      llvm::any_of(pieces.guards, isUsed);
      symbols.push_back(rewriter.getAffineSymbolExpr(kept.size()));
      if (isNeeded)
        kept.push_back(index);
    }
    if (kept.size() == pieces.indices.size())
      return failure();
    for (auto *list : {&pieces.maps, &pieces.guards})
      for (AffineMap &map : *list)
        map = map.replaceDimsAndSymbols({}, symbols, map.getNumDims(),
                                        kept.size());
    pieces.indices = kept;
    rewriter.replaceOp(op, pieces.build(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};

/// A source that is a view is read where the view does.
struct ReadThroughViews : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    Pieces pieces(op);
    bool hasChanged = false;
    for (size_t k = 0; k < pieces.sources.size(); ++k) {
      auto view = pieces.sources[k].getDefiningOp<IndexMapOp>();
      if (!view || !view.getInput().getType().hasStaticShape() ||
          !op.getType().hasStaticShape())
        continue;
      // Out of the view's range is a fill, whatever the view reads there.
      pieces.guards[k] =
          addChecks(pieces.guards[k], pieces.maps[k], view, rewriter);
      pieces.sources[k] = view.getInput();
      pieces.maps[k] = simplifyInRange(view.getMap().compose(pieces.maps[k]),
                                       op.getType().getShape());
      hasChanged = true;
    }
    if (!hasChanged)
      return failure();
    rewriter.replaceOp(op, pieces.build(rewriter, op.getLoc(), op.getType()));
    return success();
  }

  /// `guard`, and that coordinates with indices are within the view: those that
  /// go to an axis of the same size are checked there.
  static AffineMap addChecks(AffineMap guard, AffineMap map, IndexMapOp view,
                             Builder &builder) {
    ArrayRef<int64_t> shape = view.getType().getShape();
    SmallVector<AffineExpr> checks(guard.getResults());
    for (auto [axis, coordinate] : llvm::enumerate(map.getResults())) {
      if (!dependsOnIndices(coordinate) || isCheckedAlike(axis, view))
        continue;
      checks.push_back(coordinate);
      checks.push_back(shape[axis] - 1 - coordinate);
    }
    return AffineMap::get(map.getNumDims(), map.getNumSymbols(), checks,
                          builder.getContext());
  }

  /// Whether `axis` of the view is an axis of its source, of the same size.
  static bool isCheckedAlike(unsigned axis, IndexMapOp view) {
    AffineExpr dim = getAffineDimExpr(axis, view.getContext());
    bool isFound = false;
    for (auto [to, expr] : llvm::enumerate(view.getMap().getResults())) {
      if (!expr.isFunctionOfDim(axis))
        continue;
      if (expr != dim || isFound ||
          view.getInput().getType().getDimSize(to) !=
              view.getType().getDimSize(axis))
        return false;
      isFound = true;
    }
    return isFound;
  }
};

/// A source that is chosen between sources itself: each of them is a source.
struct FlattenGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  /// More sources than that are better read from a tensor.
  static constexpr size_t maxSources = 16;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    for (size_t k = 0; k < op.getSources().size(); ++k)
      if (succeeded(flatten(op, k, rewriter)))
        return success();
    return failure();
  }

  LogicalResult flatten(GatherOp op, size_t k,
                        PatternRewriter &rewriter) const {
    auto inner = op.getSources()[k].getDefiningOp<GatherOp>();
    Pieces outer(op);
    AffineMap map = op.getMap(k), guard = op.getGuard(k);
    if (!inner || !inner.getIndices().empty() || map.getNumSymbols() != 0 ||
        op.readsGuardedWindows(k) ||
        outer.sources.size() + inner.getSources().size() > maxSources)
      return failure();
    // Where no guard of the inner one holds, its fill has to come next.
    bool isLast = k + 1 == outer.sources.size();
    bool isAlways = guard.getNumResults() == 0;
    bool fills =
        inner.getGuard(inner.getSources().size() - 1).getNumResults() != 0;
    bool fillIsNext =
        isAlways || (isLast && inner.getFillOrZero() == op.getFillOrZero());
    if (fills && !fillIsNext)
      return failure();
    if (fills && isAlways)
      outer.fill = inner.getFillOrZero();
    size_t next = isAlways ? outer.sources.size() : k + 1;
    Pieces pieces = outer;
    pieces.dropFrom(k);
    for (size_t j = 0; j < inner.getSources().size(); ++j) {
      pieces.sources.push_back(inner.getSources()[j]);
      pieces.maps.push_back(inner.getMap(j).compose(map));
      pieces.guards.push_back(
          intersectGuards(guard, inner.getGuard(j).compose(map)));
    }
    for (; next < outer.sources.size(); ++next) {
      pieces.sources.push_back(outer.sources[next]);
      pieces.maps.push_back(outer.maps[next]);
      pieces.guards.push_back(outer.guards[next]);
    }
    rewriter.replaceOp(op, pieces.build(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};

/// A view of a gather, no larger than it, is a gather of its own.
struct GatherThroughView : OpRewritePattern<IndexMapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IndexMapOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getInput().getDefiningOp<GatherOp>();
    RankedTensorType type = op.getType();
    if (!gather || !type.hasStaticShape() ||
        !gather.getType().hasStaticShape() ||
        type.getNumElements() > gather.getType().getNumElements())
      return failure();
    Pieces pieces(gather);
    for (Value &index : pieces.indices)
      index = IndexMapOp::create(
          rewriter, op.getLoc(),
          RankedTensorType::get(type.getShape(),
                                getTensorType(index).getElementType()),
          index, op.getMapAttr());
    for (auto *list : {&pieces.maps, &pieces.guards})
      for (AffineMap &map : *list)
        map = simplifyInRange(map.compose(op.getMap()), type.getShape());
    rewriter.replaceOp(op, pieces.build(rewriter, gather.getLoc(), type));
    return success();
  }
};

/// Each coordinate is a constant plus a positive multiple of at most one
/// coordinate of the result, and of another one than the others.
static bool isBox(AffineMap map) {
  llvm::SmallBitVector used(map.getNumDims());
  for (AffineExpr coordinate : map.getResults()) {
    std::optional<LinearForm> form =
        getLinearForm(coordinate, map.getNumDims());
    if (!form)
      return false;
    bool isSpanned = false;
    for (auto [dim, factor] : llvm::enumerate(form->coefficients)) {
      if (factor == 0)
        continue;
      if (factor < 0 || isSpanned || used.test(dim))
        return false;
      isSpanned = true;
      used.set(dim);
    }
  }
  return true;
}

/// One source that is always read is a view, if loops can read it as a box.
struct GatherOfOne : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getSources().size() != 1 || !op.getIndices().empty() ||
        op.getGuard(0).getNumResults() != 0 || !isBox(op.getMap(0)))
      return failure();
    rewriter.replaceOpWithNewOp<IndexMapOp>(op, op.getType(),
                                            op.getSources().front(),
                                            AffineMapAttr::get(op.getMap(0)));
    return success();
  }
};

} // namespace

// A pooling of 3x3 of two pieces, padded, spilled 255 registers and took nine
// times as long as two kernels.
bool GatherOp::readsGuardedWindows(unsigned source) {
  auto inner = getSources()[source].getDefiningOp<GatherOp>();
  return inner && inner.getSources().size() > 1 &&
         getGuard(source).getNumResults() != 0 &&
         getType().getRank() > inner.getType().getRank();
}

void GatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyGather, DropUnusedIndices, ReadThroughViews,
               FlattenGather, GatherThroughView, GatherOfOne>(context);
}
