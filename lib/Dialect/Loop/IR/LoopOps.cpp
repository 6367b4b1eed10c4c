// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/IR/Loop.h"

#include "deplo/Dialect/ArgumentNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

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
// What loops share
//===----------------------------------------------------------------------===//

/// Parses `%i = 0 to 32`.
static ParseResult parseRange(OpAsmParser &parser, OperationState &result,
                              OpAsmParser::Argument &inductionVar) {
  Builder &builder = parser.getBuilder();
  int64_t lower, extent;
  SMLoc lowerLoc;
  if (parser.parseArgument(inductionVar) || parser.parseEqual() ||
      parser.getCurrentLocation(&lowerLoc) || parser.parseInteger(lower))
    return failure();
  if (lower != 0)
    return parser.emitError(lowerLoc, "expected a loop from 0, got ") << lower;
  if (parser.parseKeyword("to") || parser.parseInteger(extent))
    return failure();
  inductionVar.type = builder.getIndexType();
  result.addAttribute("extent", builder.getI64IntegerAttr(extent));
  return success();
}

static void printRange(OpAsmPrinter &printer, BlockArgument inductionVar,
                       int64_t extent) {
  printer << ' ';
  printer.printRegionArgument(inductionVar, {}, /*omitType=*/true);
  printer << " = 0 to " << extent;
}

/// Parses a region of one block; `{}` is an empty block.
static ParseResult parseBody(OpAsmParser &parser, OperationState &result,
                             ArrayRef<OpAsmParser::Argument> arguments) {
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (const OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type,
                        parser.getEncodedSourceLoc(argument.ssaName.location));
  }
  return success();
}

static LogicalResult verifyLoop(Operation *op, Region &region, int64_t extent) {
  if (extent < 0)
    return op->emitOpError()
           << "extent must not be negative, got " << extent; // C1
  Block &body = region.front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return op->emitOpError("expects a body with one index argument");
  return success();
}

static void addLoopBody(OpBuilder &builder, OperationState &state) {
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(state.addRegion(), {}, builder.getIndexType(),
                      state.location);
}

static OpFoldResult getIndexConstant(MLIRContext *context, int64_t value) {
  return IntegerAttr::get(IndexType::get(context), value);
}

std::optional<int64_t> loop::getLoopExtent(Operation *op) {
  if (auto loop = dyn_cast_or_null<ForOp>(op))
    return loop.getExtent();
  if (auto loop = dyn_cast_or_null<ReduceOp>(op))
    return loop.getExtent();
  if (auto loop = dyn_cast_or_null<ScanOp>(op))
    return loop.getExtent();
  return std::nullopt;
}

std::optional<int64_t> loop::getExtentOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getArgNumber() != 0)
    return std::nullopt;
  return getLoopExtent(argument.getOwner()->getParentOp());
}

/// Moves the body of `loop` in front of it, at iteration 0.
template <typename LoopOp>
static void inlineOnce(LoopOp loop, PatternRewriter &rewriter) {
  Value zero = arith::ConstantIndexOp::create(rewriter, loop.getLoc(), 0);
  rewriter.inlineBlockBefore(loop.getBody(), loop, zero);
}

#define DEPLO_LOOP_LIKE(Op)                                                    \
  SmallVector<Region *> Op::getLoopRegions() { return {&getRegion()}; }        \
  std::optional<SmallVector<Value>> Op::getLoopInductionVars() {               \
    return SmallVector<Value>{getInductionVar()};                              \
  }                                                                            \
  std::optional<SmallVector<OpFoldResult>> Op::getLoopLowerBounds() {          \
    return SmallVector<OpFoldResult>{getIndexConstant(getContext(), 0)};       \
  }                                                                            \
  std::optional<SmallVector<OpFoldResult>> Op::getLoopUpperBounds() {          \
    return SmallVector<OpFoldResult>{                                          \
        getIndexConstant(getContext(), getExtent())};                          \
  }                                                                            \
  std::optional<SmallVector<OpFoldResult>> Op::getLoopSteps() {                \
    return SmallVector<OpFoldResult>{getIndexConstant(getContext(), 1)};       \
  }                                                                            \
  std::optional<APInt> Op::getStaticTripCount() {                              \
    return APInt(64, getExtent());                                             \
  }
DEPLO_LOOP_LIKE(ForOp)
DEPLO_LOOP_LIKE(ReduceOp)
DEPLO_LOOP_LIKE(ScanOp)
#undef DEPLO_LOOP_LIKE

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     TypeRange argumentTypes) {
  state.addAttribute(SymbolTable::getSymbolAttrName(),
                     builder.getStringAttr(name));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(
      state.addRegion(), {}, argumentTypes,
      SmallVector<Location>(argumentTypes.size(), state.location));
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  keepArgumentNames(parser, arguments);
  return parseBody(parser, result, arguments);
}

void KernelOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn setName) {
  printArgumentNames(getBody()->getArguments(), setName);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getArguments(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {SymbolTable::getSymbolAttrName()});
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

bool KernelOp::isWritten(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(),
                      [](Operation *user) { return isa<StoreOp>(user); });
}

LogicalResult KernelOp::verify() {
  for (BlockArgument argument : getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) // C1
      return emitOpError() << "argument " << number << " must be a memref, got "
                           << argument.getType();
    Type element = type.getElementType();
    if (element.isIntOrFloat() &&
        element.getIntOrFloatBitWidth() % 8 != 0) // C1
      return emitOpError() << "argument " << number << " is " << type
                           << ", whose elements are no whole bytes; a bool is "
                              "an i8 in memory";
    Operation *load = nullptr, *store = nullptr;
    for (Operation *user : argument.getUsers()) {
      if (isa<LoadOp>(user))
        load = user;
      else if (isa<StoreOp>(user))
        store = user;
      else // C3
        return user->emitOpError() << "uses argument " << number
                                   << " of a kernel, which only loop.load and "
                                      "loop.store may use";
    }
    if (load && store) { // C2
      InFlightDiagnostic diagnostic = store->emitOpError()
                                      << "stores to argument " << number
                                      << ", which the kernel also loads from; "
                                         "store to another buffer";
      diagnostic.attachNote(load->getLoc()) << "loaded here";
      return diagnostic;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ForOp
//===----------------------------------------------------------------------===//

void ForOp::build(OpBuilder &builder, OperationState &state, int64_t extent) {
  state.addAttribute("extent", builder.getI64IntegerAttr(extent));
  addLoopBody(builder, state);
}

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument inductionVar;
  if (parseRange(parser, result, inductionVar) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parseBody(parser, result, inductionVar);
}

void ForOp::print(OpAsmPrinter &printer) {
  printRange(printer, getInductionVar(), getExtent());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"extent"});
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

/// %i, %j, %l, %m from the outside in; %k is for reductions.
void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  constexpr StringLiteral names = "ijlmnpqrs";
  size_t depth = 0;
  for (Operation *op = (*this)->getParentOp(); isa_and_nonnull<ForOp>(op);
       op = op->getParentOp())
    ++depth;
  if (!region.empty() && region.front().getNumArguments() == 1)
    setName(region.front().getArgument(0),
            names.substr(std::min(depth, names.size() - 1), 1));
}

LogicalResult ForOp::verify() {
  return verifyLoop(*this, getRegion(), getExtent()); // C1, C2
}

namespace {

/// A loop that never runs goes away; one that runs once is its body.
struct SimplifyShortFor : OpRewritePattern<ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ForOp loop,
                                PatternRewriter &rewriter) const override {
    if (loop.getExtent() > 1)
      return failure();
    if (loop.getExtent() == 1)
      inlineOnce(loop, rewriter);
    rewriter.eraseOp(loop);
    return success();
  }
};

} // namespace

void ForOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<SimplifyShortFor>(context);
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

static ArrayAttr getMonoidArray(Builder &builder, ArrayRef<Monoid> kinds) {
  SmallVector<Attribute> attributes;
  for (Monoid kind : kinds)
    attributes.push_back(MonoidAttr::get(builder.getContext(), kind));
  return builder.getArrayAttr(attributes);
}

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     ArrayRef<Monoid> kinds, int64_t extent, TypeRange types) {
  state.addAttribute("kinds", getMonoidArray(builder, kinds));
  state.addAttribute("extent", builder.getI64IntegerAttr(extent));
  state.addTypes(types);
  addLoopBody(builder, state);
}

static ParseResult parseMonoid(OpAsmParser &parser,
                               SmallVectorImpl<Monoid> &kinds) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Monoid> kind = symbolizeMonoid(keyword);
  if (!kind)
    return parser.emitError(loc, "unknown monoid '")
           << keyword << "', expected one of " << getMonoidNames();
  kinds.push_back(*kind);
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Monoid> kinds;
  OpAsmParser::Argument inductionVar;
  auto parseOne = [&] { return parseMonoid(parser, kinds); };
  ParseResult parsedKinds =
      succeeded(parser.parseOptionalLSquare())
          ? ParseResult(failure(parser.parseCommaSeparatedList(parseOne) ||
                                parser.parseRSquare()))
          : parseOne();
  if (parsedKinds || parseRange(parser, result, inductionVar) ||
      parser.parseColonTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("kinds", getMonoidArray(parser.getBuilder(), kinds));
  return parseBody(parser, result, inductionVar);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  SmallVector<Monoid> kinds = getMonoids();
  printer << ' ';
  if (kinds.size() != 1)
    printer << '[';
  llvm::interleaveComma(kinds, printer,
                        [&](Monoid kind) { printer << stringifyMonoid(kind); });
  if (kinds.size() != 1)
    printer << ']';
  printRange(printer, getInductionVar(), getExtent());
  printer << " : " << getResultTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"extent", "kinds"});
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

void ReduceOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.front().getNumArguments() == 1)
    setName(region.front().getArgument(0), "k");
}

SmallVector<Monoid> ReduceOp::getMonoids() {
  SmallVector<Monoid> kinds;
  for (Attribute kind : getKinds())
    kinds.push_back(cast<MonoidAttr>(kind).getValue());
  return kinds;
}

YieldOp ReduceOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyLoop(*this, getRegion(), getExtent()))) // C1, C4
    return failure();
  YieldOp yield = getYield();
  if (getKinds().empty() || getKinds().size() != getNumResults() ||
      yield->getNumOperands() != getNumResults()) // C2
    return emitOpError() << "expects as many monoids, results and yielded "
                            "values, at least one, got "
                         << getKinds().size() << ", " << getNumResults()
                         << " and " << yield->getNumOperands();
  for (auto [index, type, yielded] :
       llvm::enumerate(getResultTypes(), yield->getOperandTypes())) {
    if (type != yielded) // C2
      return emitOpError() << "result " << index << " is " << type
                           << " but the body yields " << yielded;
    if (!isa<IntegerType, FloatType>(getElementTypeOrSelf(type))) // C5
      return emitOpError() << "result " << index
                           << " must be an integer or a float, or a tile of "
                              "them, got "
                           << type;
  }
  for (auto [kind, type] : llvm::zip_equal(getMonoids(), getResultTypes()))
    if (failed(verifyMonoid(*this, kind, type))) // C6
      return failure();
  WalkResult walked = getBody()->walk([&](StoreOp store) { // C3
    store.emitOpError("is in a reduction, which must not store");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// The identity of a scalar, or a tile of it.
static TypedAttr getIdentityOf(Monoid kind, Type type) {
  TypedAttr identity = getIdentity(kind, getElementTypeOrSelf(type));
  if (auto tile = dyn_cast<ShapedType>(type))
    return DenseElementsAttr::get(tile, identity);
  return identity;
}

namespace {

/// A reduction over nothing is its identities; over one, the yielded values.
struct SimplifyShortReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    if (reduce.getExtent() > 1)
      return failure();
    SmallVector<Value> values;
    if (reduce.getExtent() == 0) {
      for (auto [kind, type] :
           llvm::zip_equal(reduce.getMonoids(), reduce.getResultTypes()))
        values.push_back(arith::ConstantOp::create(rewriter, reduce.getLoc(),
                                                   getIdentityOf(kind, type)));
    } else {
      YieldOp yield = reduce.getYield();
      inlineOnce(reduce, rewriter);
      llvm::append_range(values, yield.getValues());
      rewriter.eraseOp(yield);
    }
    rewriter.replaceOp(reduce, values);
    return success();
  }
};

/// Results that nothing uses are not computed.
struct DropUnusedResults : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    SmallVector<unsigned> used;
    for (OpResult result : reduce->getResults())
      if (!result.use_empty())
        used.push_back(result.getResultNumber());
    if (used.empty() || used.size() == reduce->getNumResults())
      return failure();
    SmallVector<Monoid> kinds;
    SmallVector<Type> types;
    SmallVector<Value> yielded;
    YieldOp yield = reduce.getYield();
    for (unsigned number : used) {
      kinds.push_back(reduce.getMonoids()[number]);
      types.push_back(reduce.getResult(number).getType());
      yielded.push_back(yield.getOperand(number));
    }
    rewriter.modifyOpInPlace(yield,
                             [&] { yield.getValuesMutable().assign(yielded); });
    auto smaller = ReduceOp::create(rewriter, reduce.getLoc(), kinds,
                                    reduce.getExtent(), types);
    rewriter.mergeBlocks(reduce.getBody(), smaller.getBody(),
                         smaller.getInductionVar());
    for (auto [number, result] : llvm::zip_equal(used, smaller.getResults()))
      rewriter.replaceAllUsesWith(reduce.getResult(number), result);
    rewriter.eraseOp(reduce);
    return success();
  }
};

} // namespace

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyShortReduce, DropUnusedResults>(context);
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

void ScanOp::build(OpBuilder &builder, OperationState &state, int64_t extent) {
  state.addAttribute("extent", builder.getI64IntegerAttr(extent));
  addLoopBody(builder, state);
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  return ForOp::parse(parser, result);
}

void ScanOp::print(OpAsmPrinter &printer) {
  printRange(printer, getInductionVar(), getExtent());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"extent"});
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

void ScanOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.front().getNumArguments() == 1)
    setName(region.front().getArgument(0), "k");
}

LogicalResult ScanOp::verify() {
  if (failed(verifyLoop(*this, getRegion(), getExtent()))) // C1, C2
    return failure();
  for (Operation &op : *getBody())
    if (getLoopExtent(&op)) // C3
      return op.emitOpError(
          "is in a loop.scan, which must not hold other loops");
  return success();
}

namespace {

/// A scan that never runs goes away; in one that runs once the running values
/// are those of the iteration.
struct SimplifyShortScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    if (scan.getExtent() > 1)
      return failure();
    if (scan.getExtent() == 1) {
      for (auto running :
           llvm::make_early_inc_range(scan.getBody()->getOps<RunningOp>()))
        rewriter.replaceOp(running, running.getValue());
      inlineOnce(scan, rewriter);
    }
    rewriter.eraseOp(scan);
    return success();
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyShortScan>(context);
}

LogicalResult RunningOp::verify() {
  if (!isa<IntegerType, FloatType>(getType())) // C1
    return emitOpError() << "folds " << getType()
                         << ", expected an integer or a float";
  return verifyMonoid(*this, getKind(), getType()); // C2
}

//===----------------------------------------------------------------------===//
// LoadOp and StoreOp
//===----------------------------------------------------------------------===//

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
    if (!isa<ForOp, ScanOp>(op) || *getLoopExtent(op) <= 1)
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

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

/// The callee in the module or in a device module of it. Names stand for the
/// operations of other dialects, which this one does not depend on.
static Operation *lookupKernel(Operation *module, StringAttr name,
                               SymbolTableCollection &symbolTables) {
  if (Operation *callee = symbolTables.lookupSymbolIn(module, name))
    return callee;
  for (Operation &op : module->getRegion(0).getOps()) {
    if (op.getName().getStringRef() == "gpu.binary")
      return &op;
    if (isa<ModuleOp>(op) || op.getName().getStringRef() == "gpu.module")
      if (Operation *callee = symbolTables.lookupSymbolIn(&op, name))
        return callee;
  }
  return nullptr;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  Operation *module = SymbolTable::getNearestSymbolTable(*this);
  Operation *callee =
      module ? lookupKernel(module, getKernelAttr().getAttr(), symbolTables)
             : nullptr;
  if (!callee) // C1
    return emitOpError()
           << "launches @" << getKernel()
           << ", which is neither a kernel of the module nor of a "
              "device module in it";
  StringRef kind = callee->getName().getStringRef();
  if (kind == "gpu.binary")
    return success();
  if (kind != "loop.kernel" && kind != "tile.kernel" &&
      kind != "llvm.func") // C1
    return emitOpError() << "launches @" << getKernel()
                         << ", which is not a kernel but a " << kind;
  if (kind == "llvm.func")
    return success();
  // The axes of a tile.kernel follow its buffers.
  auto arguments = llvm::to_vector(llvm::make_filter_range(
      callee->getRegion(0).getArguments(),
      [](BlockArgument argument) { return !argument.getType().isIndex(); }));
  if (arguments.size() != getBuffers().size()) // C2
    return emitOpError() << "passes " << getBuffers().size() << " buffers to @"
                         << getKernel() << ", which takes " << arguments.size();
  for (auto [number, buffer, argument] :
       llvm::enumerate(getBuffers(), arguments))
    if (buffer.getType() != argument.getType()) // C2
      return emitOpError() << "passes " << buffer.getType() << " as argument "
                           << number << " of @" << getKernel() << ", expected "
                           << argument.getType();
  if (!isa<KernelOp>(callee))
    return success();
  for (BlockArgument argument : arguments) {
    Value buffer = getBuffers()[argument.getArgNumber()];
    if (KernelOp::isWritten(argument) &&
        llvm::count(getBuffers(), buffer) > 1) // C3
      return emitOpError() << "passes twice the buffer that @" << getKernel()
                           << " stores to as argument "
                           << argument.getArgNumber();
  }
  return success();
}

#define GET_OP_CLASSES
#include "deplo/Dialect/Loop/IR/LoopOps.cpp.inc"
