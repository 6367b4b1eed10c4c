// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductDims.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"

#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Analysis/WarpPieces.h"
#include "deplo/Dialect/ArgumentNames.h"
#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

/// That of an accumulator, which is that of its rest, too.
static ParseResult
parseSumTypes(OpAsmParser &parser,
              const std::optional<OpAsmParser::UnresolvedOperand> &rest,
              Type &accumulator, Type &ofRest, Type &ofNextRest) {
  if (parser.parseType(accumulator))
    return failure();
  if (rest)
    ofRest = ofNextRest = accumulator;
  return success();
}

static void printSumTypes(OpAsmPrinter &printer, AsyncDotOp, Value,
                          Type accumulator, Type, Type) {
  printer << accumulator;
}

/// `atom<...>`, or nothing.
static ParseResult parseAtom(OpAsmParser &parser, AtomAttr &atom) {
  if (failed(parser.parseOptionalKeyword("atom")))
    return success();
  atom = dyn_cast_or_null<AtomAttr>(AtomAttr::parse(parser, Type()));
  return success(atom != nullptr);
}

static void printAtom(OpAsmPrinter &printer, Operation *, AtomAttr atom) {
  if (!atom)
    return;
  printer << " atom";
  atom.print(printer);
}

} // namespace deplo::tile

#define GET_OP_CLASSES
#include "deplo/Dialect/Tile/IR/TileOps.cpp.inc"

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     TypeRange argumentTypes, ArrayRef<AxisAttr> axes,
                     ScheduleAttr schedule) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(
      getAxesAttrName(state.name),
      builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  if (schedule)
    state.addAttribute(getScheduleAttrName(state.name), schedule);
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : argumentTypes)
    body.addArgument(type, state.location);
  for (size_t i = 0; i < axes.size(); ++i)
    body.addArgument(builder.getIndexType(), state.location);
}

/// Axes are %i, %j, %k; buffers have the names of their locations.
void KernelOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn setName) {
  constexpr StringLiteral letters = "ijklmn";
  for (auto [i, axis] : llvm::enumerate(getAxisValues()))
    setName(axis,
            i < letters.size() ? letters.substr(i, 1) : StringRef("axis"));
  printArgumentNames(getMemrefs(), setName);
}

void KernelOp::setAxis(unsigned i, AxisAttr axis) {
  SmallVector<Attribute> axes(getAxes().begin(), getAxes().end());
  axes[i] = axis;
  setAxesAttr(ArrayAttr::get(getContext(), axes));
}

std::optional<unsigned> KernelOp::getClusterAxis() {
  unsigned last = getAxes().size() - 1;
  if (getAxes().empty() || getAxis(last).getKind() != AxisKind::Cluster)
    return std::nullopt;
  return last;
}

int64_t KernelOp::getClusterBlocks() {
  std::optional<unsigned> axis = getClusterAxis();
  return axis ? getAxis(*axis).getBlocks() : 1;
}

int64_t getMostBlocks(KernelOp kernel, unsigned axis) {
  AxisAttr attribute = kernel.getAxis(axis);
  return llvm::divideCeil(
      SymbolicSizes::get(kernel).getMax(attribute.getExtent()),
      attribute.getStep());
}

int64_t getMostBlocks(KernelOp kernel) {
  int64_t blocks = 1;
  for (unsigned axis = 0; axis < kernel.getAxes().size(); ++axis)
    if (llvm::MulOverflow(blocks, getMostBlocks(kernel, axis), blocks))
      return INT64_MAX;
  return blocks;
}

/// `%i = 32 step 1 grid`
static ParseResult parseAxis(OpAsmParser &parser, OpAsmParser::Argument &value,
                             Attribute &axis) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t extent, step;
  StringRef kindName;
  if (parser.parseArgument(value) || parser.parseEqual() ||
      parser.parseInteger(extent))
    return failure();
  step = extent;
  if (succeeded(parser.parseOptionalKeyword("step")) &&
      parser.parseInteger(step))
    return failure();
  SMLoc kindLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kindName))
    return failure();
  std::optional<AxisKind> kind = symbolizeAxisKind(kindName);
  if (!kind)
    return parser.emitError(kindLoc)
           << "axis kind is tile, grid or cluster, got " << kindName;
  value.type = parser.getBuilder().getIndexType();
  axis = AxisAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), extent, step, *kind);
  return success(static_cast<bool>(axis));
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> axes;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseKeyword("axes") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parseAxis(parser, arguments.emplace_back(), axes.emplace_back());
      }))
    return failure();
  keepArgumentNames(parser, arguments);
  result.addAttribute(getAxesAttrName(result.name), builder.getArrayAttr(axes));
  if (succeeded(parser.parseOptionalKeyword("warps"))) {
    int64_t warps;
    if (parser.parseLParen() || parser.parseInteger(warps) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(getWarpsAttrName(result.name),
                        builder.getI64IntegerAttr(warps));
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printSignature(printer, getSymName(), getMemrefs());
  printer << " axes(";
  llvm::interleaveComma(
      llvm::enumerate(getAxisValues()), printer, [&](auto indexed) {
        AxisAttr axis = getAxis(indexed.index());
        printer.printRegionArgument(indexed.value(), {}, /*omitType=*/true);
        printer << " = " << axis.getExtent();
        if (axis.getStep() != axis.getExtent())
          printer << " step " << axis.getStep();
        printer << " " << stringifyAxisKind(axis.getKind());
      });
  printer << ")";
  if (getWarps())
    printer << " warps(" << *getWarps() << ")";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getAxesAttrName(), getWarpsAttrName()});
  printer << " ";
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  // C1
  if (getBody()->getNumArguments() < getAxes().size())
    return emitOpError("has fewer block arguments than axes");
  for (BlockArgument argument : getMemrefs())
    if (!isa<MemRefType>(argument.getType()))
      return emitOpError() << "argument " << argument.getArgNumber() << " is "
                           << argument.getType() << ", expected a memref";
  for (BlockArgument argument : getAxisValues())
    if (!argument.getType().isIndex())
      return emitOpError() << "axis value " << argument.getArgNumber() << " is "
                           << argument.getType() << ", expected an index";
  // C2
  if (getWarps() && (*getWarps() < 1 || !llvm::isPowerOf2_64(*getWarps())))
    return emitOpError() << "has " << *getWarps()
                         << " warps, expected a power of two";
  // C3
  for (unsigned i = 0; i + 1 < getAxes().size(); ++i)
    if (getAxis(i).getKind() == AxisKind::Cluster)
      return emitOpError() << "axis " << i
                           << " is a cluster axis, expected the last one alone";
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static LogicalResult verifyVector(Operation *op,
                                  std::optional<int64_t> vector) {
  if (vector && (*vector < 1 || !llvm::isPowerOf2_64(*vector)))
    return op->emitOpError()
           << "has vector " << *vector << ", expected a power of two";
  return success();
}

/// The constraints of a box access to global memory; the tile has `tileRank`
/// dimensions of `elementType`.
template <typename OpT>
static LogicalResult verifyBox(OpT op, int64_t tileRank, Type elementType) {
  MemRefType memref = op.getMemRefType();
  int64_t rank = memref.getRank();
  if (static_cast<int64_t>(op.getIndices().size()) != rank) // C1
    return op.emitOpError() << "has " << op.getIndices().size()
                            << " indices for a memref of rank " << rank;
  auto hasTileRank =
      [&](StringRef name,
          std::optional<ArrayRef<int64_t>> values) -> LogicalResult { // C2
    if (!values || static_cast<int64_t>(values->size()) == tileRank)
      return success();
    return op.emitOpError() << name << " has " << values->size()
                            << " entries for a tile of rank " << tileRank;
  };
  if (failed(hasTileRank("dims", op.getDims())) ||
      failed(hasTileRank("steps", op.getSteps())) ||
      failed(hasTileRank("bounds", op.getBounds())))
    return failure();
  // C3
  if (tileRank > rank)
    return op.emitOpError()
           << "tile of rank " << tileRank << " spans a memref of rank " << rank;
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : getSpannedDims(op.getDims(), rank, tileRank))
    if (dim < 0 || dim >= rank || !seen.insert(dim).second)
      return op.emitOpError()
             << "dims must be distinct and below the memref's rank " << rank
             << ", got " << dim;
  if (op.getSteps() &&
      llvm::any_of(*op.getSteps(), [](int64_t step) { return step < 1; }))
    return op.emitOpError("steps must be positive");
  if (memref.getElementType() != elementType) // C4
    return op.emitOpError() << "moves elements of " << memref.getElementType()
                            << " as " << elementType;
  return verifyVector(op, op.getVector()); // C5
}

LogicalResult LoadOp::verify() {
  RankedTensorType tile = getResult().getType();
  return verifyBox(*this, tile.getRank(), tile.getElementType());
}

LogicalResult StoreOp::verify() {
  RankedTensorType tile = getValue().getType();
  return verifyBox(*this, tile.getRank(), tile.getElementType());
}

LogicalResult GatherOp::verify() {
  RankedTensorType type = getType();
  Type offset = getOffsets().getType().getElementType();
  if (!offset.isInteger(32) && !offset.isInteger(64)) // C1
    return emitOpError() << "has offsets of " << offset
                         << ", expected i32 or i64";
  if (getMask() && !getElementTypeOrSelf(getMask()).isInteger(1)) // C1
    return emitOpError() << "has a mask of " << getElementTypeOrSelf(getMask())
                         << ", expected i1";
  if (getOtherwise() && !getMask()) // C3
    return emitOpError("has values for masked elements, but no mask");
  for (Type element : {getMemRefType().getElementType(),
                       getOtherwise() ? getElementTypeOrSelf(getOtherwise())
                                      : type.getElementType()})
    if (element != type.getElementType()) // C2
      return emitOpError() << "moves elements of " << element << " as "
                           << type.getElementType();
  return verifyVector(*this, getVector()); // C4
}

bool accessesGlobalMemory(Operation *op) {
  auto accesses = [](Operation *nested) {
    bool usesMemref = llvm::any_of(nested->getOperandTypes(), [](Type type) {
      return isa<MemRefType>(type);
    });
    return usesMemref && !isMemoryEffectFree(nested) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  };
  return op->walk(accesses).wasInterrupted();
}

LogicalResult WaitDependenciesOp::verify() {
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (accessesGlobalMemory(op)) // C2
      return emitOpError("follows an access to global memory, which may be "
                         "what the grids that it waits for write")
                 .attachNote(op->getLoc())
             << "the access";
  return success();
}

LogicalResult CopyOp::verify() {
  BufferType buffer = getBuffer().getType();
  return verifyBox(*this, buffer.getRank(), buffer.getElementType());
}

LogicalResult TmaCopyOp::verify() {
  BufferType buffer = getBuffer().getType();
  if (failed(verifyBox(*this, buffer.getRank(),
                       buffer.getElementType()))) // C1
    return failure();
  std::string reason;
  if (!getTensorMap(*this, /*argument=*/0, reason)) // C2
    return emitOpError() << reason;
  return success();
}

LogicalResult TmaStoreOp::verify() {
  RankedTensorType tile = getValue().getType();
  BufferType buffer = getBuffer().getType();
  if (failed(verifyBox(*this, tile.getRank(), tile.getElementType()))) // C1
    return failure();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  int64_t warps = kernel ? kernel.getWarps().value_or(1) : 1;
  if (buffer.getRank() != tile.getRank() + 2 || buffer.getShape()[1] != warps ||
      buffer.getElementType() != tile.getElementType()) // C2
    return emitOpError() << "has a buffer of " << buffer << ", expected slots, "
                         << warps << " warps and a piece of the "
                         << tile.getRank() << " dimensions of the tile";
  std::string reason;
  if (!getTensorMap(*this, /*argument=*/0, reason)) // C3
    return emitOpError() << reason;
  LayoutAttr layout = getLayout(getValue());
  if (!layout)
    return success();
  std::optional<WarpPieces> pieces =
      WarpPieces::get(layout.getLinearLayout(), getPieceShape());
  if (!pieces ||
      ArrayRef<int64_t>(pieces->layout.getShape()) != getPieceShape()) // C4
    return emitOpError("has a tile of which warps hold no such pieces");
  if (pieces->pieces.size() % getSlots() != 0) // C4
    return emitOpError() << "has " << getSlots() << " slots for "
                         << pieces->pieces.size()
                         << " pieces of a warp, expected a divisor";
  return success();
}

/// Whether `token` has one use: an await, or a loop that carries it, which then
/// awaits it once.
static bool isAwaitedOnce(Value token, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!seen.insert(token).second)
    return true;
  if (!token.hasOneUse())
    return false;
  OpOperand &use = *token.use_begin();
  if (isa<AwaitOp>(use.getOwner()))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(use.getOwner())) {
    BlockArgument carried = loop.getTiedLoopRegionIterArg(&use);
    return carried && isAwaitedOnce(carried, seen);
  }
  auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
  auto loop = yield ? dyn_cast<scf::ForOp>(yield->getParentOp()) : scf::ForOp();
  return loop &&
         isAwaitedOnce(loop.getRegionIterArgs()[use.getOperandNumber()],
                       seen) &&
         isAwaitedOnce(loop.getResult(use.getOperandNumber()), seen);
}

bool isAwaitedOnce(Value token) {
  llvm::SmallPtrSet<Value, 8> seen;
  return isAwaitedOnce(token, seen);
}

LogicalResult AsyncCopyOp::verify() {
  BufferType buffer = getBuffer().getType();
  if (failed(verifyBox(*this, buffer.getRank(), buffer.getElementType())))
    return failure();
  // C6
  if (!isAwaitedOnce(getToken()))
    return emitOpError("token must be awaited exactly once by tile.await");
  // C7 (PTX ISA, cp.async: cp-size is 4, 8 or 16)
  if (std::optional<int64_t> vector = getVector()) {
    int64_t bytes =
        *vector * buffer.getElementType().getIntOrFloatBitWidth() / 8;
    if (bytes != 4 && bytes != 8 && bytes != 16)
      return emitOpError() << "copies " << bytes
                           << " bytes at a time, expected 4, 8 or 16";
  }
  return success();
}

LogicalResult SlotOp::verify() {
  BufferType ring = getRing().getType(), slot = getResult().getType();
  if (ring.getRank() < 2 ||
      slot != BufferType::get(getContext(), ring.getShape().drop_front(),
                              ring.getElementType(), ring.getLayout())) // C1
    return emitOpError() << "is " << slot << " of the ring " << ring
                         << ", expected that without its first dimension";
  return success();
}

template <typename OpT>
static LogicalResult verifyBufferAccess(OpT op, RankedTensorType tile) {
  BufferType buffer = op.getBuffer().getType();
  if (static_cast<int64_t>(op.getIndices().size()) != buffer.getRank() ||
      tile.getRank() != buffer.getRank()) // C1
    return op.emitOpError()
           << "has " << op.getIndices().size() << " indices and a tile of rank "
           << tile.getRank() << " for a buffer of rank " << buffer.getRank();
  if (tile.getElementType() != buffer.getElementType()) // C2
    return op.emitOpError() << "moves elements of " << buffer.getElementType()
                            << " as " << tile.getElementType();
  return verifyVector(op, op.getVector()); // C3
}

LogicalResult ReadOp::verify() {
  return verifyBufferAccess(*this, getResult().getType());
}

LogicalResult WriteOp::verify() {
  return verifyBufferAccess(*this, getValue().getType());
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

/// `type` without dimension `axis`, in its layout too.
static RankedTensorType dropDim(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  Attribute encoding;
  if (LayoutAttr layout = getLayout(type))
    encoding = LayoutAttr::get(
        type.getContext(),
        layout.getLinearLayout().dropDim(axis).removeDuplicateRegisters());
  return RankedTensorType::get(shape, type.getElementType(), encoding);
}

static ArrayAttr getMonoidAttrs(OpBuilder &builder, ArrayRef<Monoid> kinds) {
  return builder.getArrayAttr(llvm::map_to_vector(kinds, [&](Monoid kind) {
    return Attribute(MonoidAttr::get(builder.getContext(), kind));
  }));
}

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     ArrayRef<Monoid> kinds, ValueRange inputs, int64_t axis,
                     Value part, std::optional<int64_t> parts) {
  state.addAttribute(getKindsAttrName(state.name),
                     getMonoidAttrs(builder, kinds));
  state.addAttribute(getAxisAttrName(state.name),
                     builder.getI64IntegerAttr(axis));
  state.addOperands(inputs);
  if (part)
    state.addOperands(part);
  if (parts)
    state.addAttribute(getPartsAttrName(state.name),
                       builder.getI64IntegerAttr(*parts));
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      int32_t(inputs.size()), part ? 1 : 0};
  for (Value input : inputs)
    state.addTypes(dropDim(cast<RankedTensorType>(input.getType()), axis));
}

static SmallVector<Monoid> getMonoidsOf(ArrayAttr kinds) {
  return llvm::map_to_vector(
      kinds, [](Attribute kind) { return cast<MonoidAttr>(kind).getValue(); });
}

SmallVector<Monoid> ReduceOp::getMonoids() { return getMonoidsOf(getKinds()); }

/// `[add, max]`
static ParseResult parseMonoids(OpAsmParser &parser, ArrayAttr &monoids) {
  SmallVector<Attribute> kinds;
  auto parseKind = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Monoid> kind = symbolizeMonoid(name);
    if (!kind)
      return parser.emitError(loc) << "unknown monoid " << name
                                   << ", expected one of " << getMonoidNames();
    kinds.push_back(MonoidAttr::get(parser.getContext(), *kind));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseKind))
    return failure();
  monoids = parser.getBuilder().getArrayAttr(kinds);
  return success();
}

static void printMonoids(OpAsmPrinter &printer, ArrayRef<Monoid> kinds) {
  printer << " [";
  llvm::interleaveComma(kinds, printer,
                        [&](Monoid kind) { printer << stringifyMonoid(kind); });
  printer << "] ";
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  ArrayAttr kinds;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  int64_t axis;
  SmallVector<Type> inputTypes;
  SMLoc loc;
  if (parseMonoids(parser, kinds) || parser.getCurrentLocation(&loc) ||
      parser.parseOperandList(inputs) || parser.parseKeyword("axis") ||
      parser.parseInteger(axis))
    return failure();
  std::optional<OpAsmParser::UnresolvedOperand> part;
  int64_t parts = 0;
  if (succeeded(parser.parseOptionalKeyword("part")) &&
      (parser.parseOperand(part.emplace()) || parser.parseKeyword("of") ||
       parser.parseInteger(parts)))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseTypeList(inputTypes) || parser.parseArrow() ||
      parser.parseTypeList(result.types) ||
      parser.resolveOperands(inputs, inputTypes, loc, result.operands))
    return failure();
  if (part) {
    if (parser.resolveOperand(*part, builder.getIndexType(), result.operands))
      return failure();
    result.addAttribute(getPartsAttrName(result.name),
                        builder.getI64IntegerAttr(parts));
  }
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      int32_t(inputs.size()), part ? 1 : 0};
  result.addAttribute(getKindsAttrName(result.name), kinds);
  result.addAttribute(getAxisAttrName(result.name),
                      builder.getI64IntegerAttr(axis));
  return success();
}

void ReduceOp::print(OpAsmPrinter &printer) {
  printMonoids(printer, getMonoids());
  printer << getInputs() << " axis " << getAxis();
  if (getPart() && getParts())
    printer << " part " << getPart() << " of " << *getParts();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getKindsAttrName(), getAxisAttrName(),
                                 getPartsAttrName(),
                                 getOperandSegmentSizesAttrName()});
  printer << " : " << getInputs().getTypes() << " -> " << getResultTypes();
}

/// One monoid, operand and result for each fold, and operands of one shape and
/// layout.
static LogicalResult verifyFolds(Operation *op, ValueRange inputs,
                                 size_t numMonoids) {
  if (inputs.empty() || numMonoids != inputs.size() ||
      op->getNumResults() != inputs.size())
    return op->emitOpError()
           << "has " << numMonoids << " monoids, " << inputs.size()
           << " operands and " << op->getNumResults()
           << " results, expected one of each for each reduction";
  auto first = cast<RankedTensorType>(inputs.front().getType());
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getShape() != first.getShape() ||
        type.getEncoding() != first.getEncoding())
      return op->emitOpError()
             << "operands have different shapes or layouts: " << first
             << " and " << type;
  }
  return success();
}

/// Whether `part` is the number of a block among `parts`.
static bool isBlockAmong(Value part, int64_t parts) {
  auto argument = dyn_cast<BlockArgument>(part);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : KernelOp();
  if (!kernel || argument.getArgNumber() < kernel.getNumMemrefs())
    return false;
  AxisAttr axis =
      kernel.getAxis(argument.getArgNumber() - kernel.getNumMemrefs());
  return axis.getKind() == AxisKind::Grid && axis.getExtent() == parts &&
         axis.getStep() == 1;
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyFolds(*this, getInputs(), getKinds().size()))) // C1, C2
    return failure();
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOpError() << "axis " << axis << " is not within a tile of rank "
                         << first.getRank();
  // C3
  for (auto [input, result] : llvm::zip(getInputs(), getResults())) {
    RankedTensorType expected =
        dropDim(cast<RankedTensorType>(input.getType()), axis);
    if (result.getType() != expected)
      return emitOpError() << "result is " << result.getType() << ", expected "
                           << expected;
  }
  for (auto [kind, input] : llvm::zip(getMonoids(), getInputs()))
    if (failed(verifyMonoid(*this, kind, input.getType()))) // C4
      return failure();
  // C5
  if (bool(getPart()) != bool(getParts()))
    return emitOpError("expects a part together with the number of parts");
  if (getPart() && (*getParts() < 2 || !isBlockAmong(getPart(), *getParts())))
    return emitOpError() << "is one of " << *getParts()
                         << " parts, expected at least 2 and an axis of as "
                            "many blocks";
  return success();
}

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

int64_t DotOp::getContractedSize() {
  int64_t rank = getType().getRank();
  return getLhs().getType().getDimSize(getContractedDim(getLhsDims(), rank));
}

/// C4 and C5, with an atom.
static LogicalResult verifyAtom(DotOp dot) {
  RankedTensorType result = dot.getType();
  Type element = dot.getLhs().getType().getElementType();
  int64_t rank = result.getRank();
  int64_t entries = dot.getAtomAttr().getWarps().size();
  if (entries != rank) // C5
    return dot.emitOpError() << "has an atom with warps along " << entries
                             << " dimensions, the result has " << rank;
  bool isInexact = element.isF32() && dot.getPrecision() != Precision::IEEE;
  bool isFloat = result.getElementType().isF32() &&
                 (element.isF16() || element.isBF16() || isInexact);
  bool isInteger =
      result.getElementType().isInteger(32) && element.isInteger(8);
  if (!isFloat && !isInteger) // C5
    return dot.emitOpError()
           << "has an atom that multiplies " << element << " into "
           << result.getElementType() << ", expected f16, bf16 or, with "
           << "precision f32, f32_fast or tf32, f32 into f32, or i8 into i32";
  LayoutAttr layout = getLayout(result);
  if (!layout)
    return success();
  llvm::Expected<DotLayouts> wanted = getAtomLayouts(dot);
  if (!wanted) // C4
    return dot.emitOpError() << "has an atom without fragments: "
                             << llvm::toString(wanted.takeError());
  for (auto [name, value, expected] :
       {std::tuple("lhs", Value(dot.getLhs()), wanted->lhs),
        std::tuple("rhs", Value(dot.getRhs()), wanted->rhs),
        std::tuple("result", Value(dot.getResult()), wanted->accumulator)}) {
    LayoutAttr own = getLayout(value);
    if (!own || own.getLinearLayout() != expected) // C4
      return dot.emitOpError()
             << name << " is " << value.getType() << ", expected the layout "
             << LayoutAttr::get(dot.getContext(), expected);
  }
  return success();
}

LogicalResult verifyProductDims(Operation *op, ArrayRef<int64_t> result,
                                ArrayRef<ProductOperand> operands) {
  int64_t rank = result.size();
  SmallVector<int64_t> sizes(rank + 1, -1);
  for (const auto &[name, shape, dims] : operands) {
    llvm::SmallDenseSet<int64_t> distinct(dims.begin(), dims.end());
    if (dims.size() != shape.size() || distinct.size() != dims.size() ||
        !distinct.contains(rank) ||
        llvm::any_of(dims, [&](int64_t dim) { return dim < 0 || dim > rank; }))
      return op->emitOpError()
             << "dims of " << name << " must be " << shape.size()
             << " different numbers from 0 to " << rank << ", with " << rank
             << " among them";
    for (auto [size, dim] : llvm::zip_equal(shape, dims)) {
      int64_t expected = dim < rank ? result[dim] : sizes[rank];
      if (expected >= 0 && size != expected)
        return op->emitOpError()
               << name << " has size " << size << " along dimension " << dim
               << ", expected " << expected;
      sizes[dim] = size;
    }
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    if (sizes[dim] < 0)
      return op->emitOpError()
             << "dimension " << dim << " of the result is of no operand";
  return success();
}

LogicalResult DotOp::verify() {
  RankedTensorType result = getType();
  if (failed(verifyProductDims( // C1, C2
          *this, result.getShape(),
          {{"lhs", getLhs().getType().getShape(), getLhsDims()},
           {"rhs", getRhs().getType().getShape(), getRhsDims()}})))
    return failure();
  for (RankedTensorType type : {getLhs().getType(), getRhs().getType()}) {
    if (type.getElementType() != getLhs().getType().getElementType()) // C3
      return emitOpError() << "multiplies elements of "
                           << getLhs().getType().getElementType() << " and "
                           << type.getElementType() << ", expected one type";
    if (type.getElementType() != result.getElementType() &&
        type.getElementTypeBitWidth() >= result.getElementTypeBitWidth()) // C3
      return emitOpError() << "adds products of " << type.getElementType()
                           << " to " << result.getElementType()
                           << ", expected a type that holds them";
  }
  if (getPrecision() != Precision::IEEE &&
      !getLhs().getType().getElementType().isF32()) // C6
    return emitOpError() << "has precision "
                         << stringifyPrecision(getPrecision())
                         << " and multiplies "
                         << getLhs().getType().getElementType()
                         << ", expected f32";
  if (getAtomAttr())
    return verifyAtom(*this);
  LayoutAttr layout = getLayout(result);
  for (auto [name, type, dims] :
       {std::tuple("lhs", getLhs().getType(), getLhsDims()),
        std::tuple("rhs", getRhs().getType(), getRhsDims())}) {
    LayoutAttr own = getLayout(type);
    if (bool(own) != bool(layout) ||
        (own && !holdsOperand(own.getLinearLayout(), layout.getLinearLayout(),
                              dims))) // C4
      return emitOpError() << name << " is " << type
                           << ", whose layout doesn't give threads what their "
                              "elements of "
                           << result << " take";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RecomputeOp
//===----------------------------------------------------------------------===//

LogicalResult RecomputeOp::verify() {
  if (getDepth() < 1) // C3
    return emitOpError() << "adds " << getDepth()
                         << " products, expected a positive number";
  if (!getType().getElementType().isF32()) // C1
    return emitOpError() << "recomputes elements of "
                         << getType().getElementType() << ", expected f32";
  for (auto [name, memref, indices, map] :
       {std::tuple("lhs", getLhs(), getLhsIndices(), getLhsMap()),
        std::tuple("rhs", getRhs(), getRhsIndices(), getRhsMap())}) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.getElementType().isF32()) // C1
      return emitOpError() << name << " has elements of "
                           << type.getElementType() << ", expected f32";
    if (map.getNumDims() != getType().getRank() + 1 ||
        map.getNumSymbols() != indices.size() ||
        map.getNumResults() != type.getRank()) // C2
      return emitOpError() << "map of " << name << " is "
                           << AffineMapAttr::get(map) << ", expected "
                           << getType().getRank() + 1 << " dimensions, "
                           << indices.size() << " symbols and "
                           << type.getRank() << " results";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ClusterReduceOp
//===----------------------------------------------------------------------===//

void ClusterReduceOp::build(OpBuilder &builder, OperationState &state,
                            ArrayRef<Monoid> kinds, ValueRange inputs) {
  state.addAttribute(getKindsAttrName(state.name),
                     getMonoidAttrs(builder, kinds));
  state.addOperands(inputs);
  state.addTypes(inputs.getTypes());
}

SmallVector<Monoid> ClusterReduceOp::getMonoids() {
  return getMonoidsOf(getKinds());
}

ParseResult ClusterReduceOp::parse(OpAsmParser &parser,
                                   OperationState &result) {
  ArrayAttr kinds;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SMLoc loc;
  if (parseMonoids(parser, kinds) || parser.getCurrentLocation(&loc) ||
      parser.parseOperandList(inputs) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseTypeList(result.types) ||
      parser.resolveOperands(inputs, result.types, loc, result.operands))
    return failure();
  result.addAttribute(getKindsAttrName(result.name), kinds);
  return success();
}

void ClusterReduceOp::print(OpAsmPrinter &printer) {
  printMonoids(printer, getMonoids());
  printer << getInputs();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getKindsAttrName()});
  printer << " : " << getInputs().getTypes();
}

LogicalResult ClusterReduceOp::verify() {
  if (failed(verifyFolds(*this, getOperands(), getKinds().size()))) // C1, C2
    return failure();
  for (auto [input, result] : llvm::zip(getInputs(), getResults())) // C2
    if (result.getType() != input.getType())
      return emitOpError() << "result is " << result.getType() << ", expected "
                           << input.getType();
  // C3
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel || !kernel.getClusterAxis())
    return emitOpError(
        "is not directly in a tile.kernel that has a cluster axis");
  return success();
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

void ScanOp::build(OpBuilder &builder, OperationState &state, Monoid kind,
                   Value input, Value carry, int64_t axis) {
  state.addAttribute(getKindAttrName(state.name),
                     MonoidAttr::get(builder.getContext(), kind));
  state.addAttribute(getAxisAttrName(state.name),
                     builder.getI64IntegerAttr(axis));
  state.addOperands(input);
  if (carry)
    state.addOperands(carry);
  auto type = cast<RankedTensorType>(input.getType());
  state.addTypes({type, dropDim(type, axis)});
}

LogicalResult ScanOp::verify() {
  RankedTensorType type = getInput().getType();
  int64_t axis = getAxis();
  if (axis < 0 || axis >= type.getRank()) // C1
    return emitOpError() << "axis " << axis << " is not within a tile of rank "
                         << type.getRank();
  if (getResult().getType() != type) // C2
    return emitOpError() << "result is " << getResult().getType()
                         << ", expected " << type;
  RankedTensorType part = dropDim(type, axis);
  if (getTotal().getType() != part) // C3
    return emitOpError() << "total is " << getTotal().getType() << ", expected "
                         << part;
  if (getCarry() && getCarry().getType() != part) // C3
    return emitOpError() << "carry is " << getCarry().getType() << ", expected "
                         << part;
  return verifyMonoid(*this, getKind(), type); // C4
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  // C1
  ArrayRef<int64_t> dims = getDims();
  if (static_cast<int64_t>(dims.size()) != input.getRank())
    return emitOpError() << "has " << dims.size()
                         << " dims for an operand of rank " << input.getRank();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= result.getRank() || (i > 0 && dim <= dims[i - 1]))
      return emitOpError()
             << "dims must be strictly increasing and below the result's rank "
             << result.getRank();
  // C2
  if (input.getElementType() != result.getElementType())
    return emitOpError() << "repeats elements of " << input.getElementType()
                         << " as " << result.getElementType();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (input.getDimSize(i) != result.getDimSize(dim))
      return emitOpError() << "operand dimension " << i << " has size "
                           << input.getDimSize(i) << ", result dimension "
                           << dim << " has size " << result.getDimSize(dim);
  // C3
  RankedTensorType expected = result;
  for (int64_t dim = result.getRank() - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim))
      expected = dropDim(expected, dim);
  if (getLayout(input) != getLayout(expected))
    return emitOpError() << "operand is " << input << ", expected " << expected;
  return success();
}

LogicalResult SplatOp::verify() {
  if (getInput().getType() != getResult().getType().getElementType()) // C1
    return emitOpError() << "puts " << getInput().getType() << " into "
                         << getResult().getType();
  return success();
}

LogicalResult InBoundsOp::verify() {
  RankedTensorType type = getResult().getType();
  int64_t rank = type.getRank();
  if (static_cast<int64_t>(getCorner().size()) != rank ||
      static_cast<int64_t>(getBounds().size()) != rank) // C1
    return emitOpError() << "has " << getCorner().size()
                         << " corner coordinates and " << getBounds().size()
                         << " bounds for a tile of rank " << rank;
  if (!type.getElementType().isInteger(1)) // C2
    return emitOpError() << "has elements of " << type.getElementType()
                         << ", expected i1";
  return success();
}

LogicalResult MisalignmentOp::verify() {
  MemRefType type = getMemref().getType();
  if (static_cast<int64_t>(getIndices().size()) != type.getRank()) // C1
    return emitOpError() << "has " << getIndices().size()
                         << " indices for a memref of rank " << type.getRank();
  if (getModulo() < 1 || !llvm::isPowerOf2_64(getModulo())) // C2
    return emitOpError() << "has modulo " << getModulo()
                         << ", expected a power of two";
  SmallVector<int64_t> numbers;
  int64_t offset;
  if (failed(type.getStridesAndOffset(numbers, offset)))
    return emitOpError() << "is of " << type << ", expected strides"; // C3
  numbers.push_back(offset);
  if (llvm::any_of(numbers, [](int64_t number) { return number < 0; })) // C3
    return emitOpError() << "is of " << type
                         << ", expected strides and an offset that are static "
                            "and not negative";
  return success();
}

LogicalResult IotaOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() > 1) // C1
    return emitOpError() << "result " << type << " has " << type.getRank()
                         << " dimensions, expected one or none";
  Type element = type.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64)) // C2
    return emitOpError() << "result holds " << element
                         << ", expected i32 or i64";
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  if (!getLayout(getInput()) || !getLayout(getResult())) // C2
    return emitOpError("needs a layout on its operand and its result");
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  // Two conversions in a row are one.
  if (auto previous = getInput().getDefiningOp<ConvertLayoutOp>()) {
    getInputMutable().assign(previous.getInput());
    return getResult();
  }
  return {};
}

} // namespace deplo::tile
