// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/IR/Loop.h"

#include "deplo/Dialect/ArgumentNames.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

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

/// How often the loop runs, if it is known.
static std::optional<APInt> getTripCount(Operation *loop) {
  if (auto reduce = dyn_cast<ReduceOp>(loop); reduce && reduce.getPart())
    return std::nullopt;
  return APInt(64, *loop::getLoopExtent(loop));
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
  std::optional<APInt> Op::getStaticTripCount() { return getTripCount(*this); }
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
  printSignature(printer, getSymName(), getArguments());
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
                     ArrayRef<Monoid> kinds, int64_t extent, TypeRange types,
                     Value part, std::optional<int64_t> parts) {
  state.addAttribute("kinds", getMonoidArray(builder, kinds));
  state.addAttribute("extent", builder.getI64IntegerAttr(extent));
  if (part)
    state.addOperands(part);
  if (parts)
    state.addAttribute("parts", builder.getI64IntegerAttr(*parts));
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

/// Parses ` part %p of 132`, if it is there.
static ParseResult parseOptionalPart(OpAsmParser &parser,
                                     OperationState &result) {
  if (failed(parser.parseOptionalKeyword("part")))
    return success();
  OpAsmParser::UnresolvedOperand part;
  int64_t parts;
  if (parser.parseOperand(part) || parser.parseKeyword("of") ||
      parser.parseInteger(parts) ||
      parser.resolveOperand(part, parser.getBuilder().getIndexType(),
                            result.operands))
    return failure();
  result.addAttribute("parts", parser.getBuilder().getI64IntegerAttr(parts));
  return success();
}

static void printPart(OpAsmPrinter &printer, Value part,
                      std::optional<int64_t> parts) {
  if (part && parts)
    printer << " part " << part << " of " << *parts;
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
      parseOptionalPart(parser, result) ||
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
  printPart(printer, getPart(), getParts());
  printer << " : " << getResultTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"extent", "kinds", "parts"});
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

/// The part and their number.
static LogicalResult verifyPart(ReduceOp reduce) {
  Value part = reduce.getPart();
  std::optional<int64_t> parts = reduce.getParts();
  if (bool(part) != bool(parts))
    return reduce.emitOpError(
        "expects a part together with the number of parts");
  if (!part)
    return success();
  if (*parts < 2)
    return reduce.emitOpError()
           << "is one of " << *parts << " parts, expected at least 2";
  if (!reduce->getParentOfType<KernelOp>())
    return success();
  auto argument = dyn_cast<BlockArgument>(part);
  if (!argument || !isa<ForOp>(argument.getOwner()->getParentOp()) ||
      getExtentOf(part) != parts)
    return reduce.emitOpError()
           << "is one of " << *parts
           << " parts, expected the variable of a loop.for of as many "
              "iterations";
  return success();
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
  return verifyPart(*this); // C7
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
    if (reduce.getExtent() > 1 || (reduce.getExtent() == 1 && reduce.getPart()))
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
    auto smaller =
        ReduceOp::create(rewriter, reduce.getLoc(), kinds, reduce.getExtent(),
                         types, reduce.getPart(), reduce.getParts());
    rewriter.mergeBlocks(reduce.getBody(), smaller.getBody(),
                         smaller.getInductionVar());
    for (auto [number, result] : llvm::zip_equal(used, smaller.getResults()))
      rewriter.replaceAllUsesWith(reduce.getResult(number), result);
    rewriter.eraseOp(reduce);
    return success();
  }
};

/// Results that fold the same values alike are one.
struct ShareEqualResults : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    OperandRange yielded = reduce.getYield().getValues();
    SmallVector<Monoid> kinds = reduce.getMonoids();
    for (unsigned later = 1; later < yielded.size(); ++later)
      for (unsigned first = 0; first < later; ++first) {
        if (yielded[first] != yielded[later] || kinds[first] != kinds[later] ||
            reduce.getResult(later).use_empty())
          continue;
        rewriter.replaceAllUsesWith(reduce.getResult(later),
                                    reduce.getResult(first));
        return success();
      }
    return failure();
  }
};

} // namespace

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyShortReduce, DropUnusedResults, ShareEqualResults>(
      context);
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
// What depends on weights alone
//===----------------------------------------------------------------------===//

Value deplo::loop::getMemory(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool deplo::loop::isPrepared(LaunchOp launch) {
  return launch->hasAttr(preparedAttrName);
}

bool deplo::loop::isPrepared(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  auto numbers =
      argument
          ? argument.getOwner()
                ->getParentOp()
                ->getAttrOfType<DenseI64ArrayAttr>(preparedArgumentsAttrName)
          : DenseI64ArrayAttr();
  return numbers && llvm::is_contained(numbers.asArrayRef(),
                                       int64_t(argument.getArgNumber()));
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

/// C4: what runs once for all calls depends on weights alone.
static LogicalResult verifyPrepared(LaunchOp launch) {
  for (auto [number, buffer] : llvm::enumerate(launch.getBuffers())) {
    auto argument = dyn_cast<BlockArgument>(getMemory(buffer));
    auto plan =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : FunctionOpInterface();
    if (plan && !plan.getArgAttr(argument.getArgNumber(), weightAttrName))
      return launch.emitOpError()
             << "is prepared, but passes as argument " << number << " of @"
             << launch.getKernel() << " argument " << argument.getArgNumber()
             << " of the plan, which is not marked loop.weight";
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  if (isPrepared(*this) && failed(verifyPrepared(*this)))
    return failure();
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
  if (kind != "loop.kernel" && kind != "tile.kernel" && kind != "tile.concat" &&
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
