// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of TileAsyncOps.td.

#include "ProductDims.h"
#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace deplo::tile {

LogicalResult MBarriersOp::verify() {
  if (getArrivals() < 1) // C1
    return emitOpError() << "expects " << getArrivals()
                         << " arrivals, a phase needs one";
  return success();
}

/// The operation of `op`'s block that awaits `token`; null if none does.
static Operation *getAwait(Value token) {
  for (Operation *user : token.getUsers())
    if (isa<AwaitOp>(user) && user->getBlock() == token.getParentBlock())
      return user;
  return nullptr;
}

LogicalResult AsyncDotOp::verify() {
  RankedTensorType result = getResult().getType();
  int64_t rank = result.getRank();
  struct Operand {
    StringRef name;
    BufferType type;
    ArrayRef<int64_t> dims;
    bool areInMemory;
  };
  const Operand operands[] = {{"lhs", getLhs().getType(), getLhsDims(),
                               areInMemory(getLhs(), getLhsDims())},
                              {"rhs", getRhs().getType(), getRhsDims(),
                               areInMemory(getRhs(), getRhsDims())}};
  auto getShape = [&](const Operand &operand) {
    return operand.type.getShape().drop_front(operand.areInMemory ? 1 : 0);
  };
  if (failed(verifyProductDims( // C1, C2
          *this, result.getShape(),
          {{"lhs", getShape(operands[0]), getLhsDims()},
           {"rhs", getShape(operands[1]), getRhsDims()}})))
    return failure();
  Type element = getAtomElement();
  for (const Operand &operand : operands) {
    Type own = operand.type.getElementType();
    if (operand.areInMemory &&
        (operand.type.getShape().front() != PiecesForm::get(own).count ||
         !(own.isBF16() || own.isF16()))) // C8
      return emitOpError() << operand.name << " is of "
                           << operand.type.getShape().front() << " pieces of "
                           << own << ", expected three of bf16 or two of f16";
    if (isOfPieces() && !operand.areInMemory) { // C8
      if (!own.isF32() || !element.isBF16())
        return emitOpError()
               << operand.name << " is of " << own
               << ", expected pieces, or f32 beside those of bf16";
      continue;
    }
    if (own != element) // C3
      return emitOpError() << "multiplies elements of " << element << " and "
                           << own << ", expected one type";
  }
  for (Value rest : {Value(getRest()), Value(getNextRest())})
    if (bool(rest) != isOfPieces() || (rest && rest.getType() != result)) // C9
      return emitOpError() << "has operands of "
                           << (isOfPieces() ? "pieces and " : "numbers and ")
                           << (rest ? "a rest" : "no rest") << ", expected "
                           << (isOfPieces() ? "one of the accumulator's type"
                                            : "none");
  for (auto [name, dims] :
       {std::pair("lhs", getLhsDims()), std::pair("rhs", getRhsDims())})
    if (!llvm::is_contained(dims.take_back(2), rank)) // C1
      return emitOpError() << "dims of " << name << " must have " << rank
                           << " as one of the last two";
  if (!(element.isF16() || element.isBF16()) ||
      !result.getElementType().isF32()) // C3
    return emitOpError() << "multiplies " << element << " into "
                         << result.getElementType()
                         << ", expected f16 or bf16 into f32";
  for (const Operand &operand : operands) {
    constexpr int64_t leastBytes = 32;
    bool areSummed = operand.dims.back() == rank;
    int64_t rowBytes = operand.type.getShape().back() *
                       operand.type.getElementType().getIntOrFloatBitWidth() /
                       8;
    if (areSummed ? !llvm::is_contained({32, 64, 128}, rowBytes)
                  : rowBytes % leastBytes != 0) // C4
      return emitOpError() << "has an operand with rows of " << rowBytes
                           << " bytes, expected "
                           << (areSummed ? "32, 64 or 128"
                                         : "a multiple of 32");
  }
  if (getAtom().getKind() != AtomKind::Wgmma ||
      static_cast<int64_t>(getAtom().getWarps().size()) != rank) // C5
    return emitOpError() << "has the atom " << getAtom()
                         << ", expected wgmma with warps along " << rank
                         << " dimensions";
  auto [ofLhs, ofRhs] = getRowAndColumn();
  unsigned row = getWgmmaDims(getAtom().getWarps(), ofLhs, ofRhs).first;
  for (auto [operand, own] :
       {std::pair(&operands[0], ofLhs), std::pair(&operands[1], ofRhs)})
    if (isOfPieces() && !operand->areInMemory && own != row) // C8
      return emitOpError() << operand->name
                           << " is of f32 and gives the instruction its "
                              "columns, expected pieces of bf16";
  if (LayoutAttr layout = getLayout(getResult())) {
    llvm::Expected<LinearLayout> wanted = getAtomLayout(*this);
    if (!wanted) // C5
      return emitOpError() << "has an atom without an accumulator: "
                           << llvm::toString(wanted.takeError());
    if (layout.getLinearLayout() != *wanted) // C5
      return emitOpError() << "has a result of " << result
                           << ", expected the layout "
                           << LayoutAttr::get(getContext(), *wanted);
  }
  if (!isAwaitedOnce(getToken())) // C6
    return emitOpError("token must be awaited exactly once by tile.await");
  Operation *await = getAwait(getToken());
  SmallVector<OpOperand *> uses;
  for (Value part : {Value(getResult()), Value(getNextRest())})
    if (part)
      for (OpOperand &use : part.getUses())
        uses.push_back(&use);
  for (OpOperand *use : uses) {
    Operation *user =
        (*this)->getBlock()->findAncestorOpInBlock(*use->getOwner());
    bool isLater = !user || isa<scf::YieldOp>(user) ||
                   (await && await->isBeforeInBlock(user));
    auto next = dyn_cast<AsyncDotOp>(use->getOwner());
    bool isAccumulator = next && (next.getAccumulator() == use->get() ||
                                  next.getRest() == use->get());
    bool isCarried = isa<scf::ForOp>(use->getOwner());
    if (!isLater && !isAccumulator && !isCarried) // C7
      return emitOpError("result is used before its token is awaited")
                 .attachNote(use->getOwner()->getLoc())
             << "the use";
  }
  return success();
}

LogicalResult ProducerOp::verify() {
  constexpr int64_t threadsPerWarp = 32, warpsPerGroup = 4, unit = 8;
  ArrayRef<int64_t> registers = getRegisters();
  if (registers.size() != 2 || llvm::any_of(registers, [](int64_t count) {
        return count % unit != 0 || count < 24 || count > 256;
      })) // C1
    return emitOpError("has other registers than two multiples of 8 from 24 "
                       "to 256");
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  int64_t ofKernel = kernel.getWarps().value_or(warpsPerGroup);
  if (ofKernel % warpsPerGroup != 0) // C2
    return emitOpError() << "is beside " << ofKernel
                         << " warps, expected whole warpgroups of four";
  if (auto module = (*this)->getParentOfType<ModuleOp>())
    if (auto target = module->getAttrOfType<TargetAttr>("tile.target")) {
      int64_t threads = (ofKernel + warps) * threadsPerWarp;
      int64_t atStart = target.getRegistersPerMultiprocessor() / threads /
                        unit * unit * threads;
      int64_t wanted =
          (registers[0] * warps + registers[1] * ofKernel) * threadsPerWarp;
      if (wanted > atStart) // C2
        return emitOpError() << "wants " << wanted << " registers, a block of "
                             << threads << " threads has " << atStart;
    }
  WalkResult result = getRegion().walk([&](Operation *op) {
    if (isMemoryEffectFree(op) ||
        isa<scf::ForOp, EachTileOp, TmaCopyOp, MBarrierWaitOp>(op))
      return WalkResult::advance();
    emitOpError("holds an operation other than copies by tensor maps and waits "
                "for barriers")
            .attachNote(op->getLoc())
        << "the operation"; // C3
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (!isMemoryEffectFree(op) &&
        !isa<AllocOp, MBarriersOp, WaitDependenciesOp, LaunchDependentsOp>(op))
      return emitOpError("follows an operation with effects, which its warps "
                         "would run as well") // C4
                 .attachNote(op->getLoc())
             << "the operation";
  return success();
}

//===----------------------------------------------------------------------===//
// EachTileOp
//===----------------------------------------------------------------------===//

void EachTileOp::build(OpBuilder &builder, OperationState &state,
                       int64_t blocks, unsigned axes) {
  state.addAttribute(getBlocksAttrName(state.name),
                     builder.getI64IntegerAttr(blocks));
  Block &body = state.addRegion()->emplaceBlock();
  for (unsigned i = 0; i <= axes; ++i)
    body.addArgument(builder.getIndexType(), state.location);
}

int64_t EachTileOp::getNumTiles() {
  return getMostBlocks((*this)->getParentOfType<KernelOp>());
}

/// `blocks 132 (%i, %j) number %n { ... }`
ParseResult EachTileOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t blocks;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseKeyword("blocks") || parser.parseInteger(blocks) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("number") ||
      parser.parseArgument(arguments.emplace_back()))
    return failure();
  Builder &builder = parser.getBuilder();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = builder.getIndexType();
  result.addAttribute(getBlocksAttrName(result.name),
                      builder.getI64IntegerAttr(blocks));
  return failure(parser.parseRegion(*result.addRegion(), arguments) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes));
}

void EachTileOp::print(OpAsmPrinter &printer) {
  printer << " blocks " << getBlocks() << " (";
  llvm::interleaveComma(getAxisValues(), printer);
  printer << ") number " << getNumber() << " ";
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getBlocksAttrName()});
}

LogicalResult EachTileOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  unsigned axes = kernel.getAxes().size();
  if (getBody()->getNumArguments() != axes + 1 ||
      llvm::any_of(getBody()->getArgumentTypes(),
                   [](Type type) { return !type.isIndex(); })) // C1
    return emitOpError() << "has " << getBody()->getNumArguments()
                         << " arguments, expected an index for each of " << axes
                         << " axes and one more";
  if (kernel.getClusterAxis()) // C2
    return emitOpError("is in a kernel with an axis of a cluster");
  int64_t blocks = getBlocks(), tiles = getNumTiles();
  if (blocks < 1 || blocks > tiles) // C2
    return emitOpError() << "has " << blocks << " blocks for " << tiles
                         << " tiles";
  WalkResult others = kernel.walk([&](EachTileOp other) {
    return int64_t(other.getBlocks()) == blocks ? WalkResult::advance()
                                                : WalkResult::interrupt();
  });
  if (others.wasInterrupted()) // C3
    return emitOpError("has other blocks than another one of the kernel");
  if (llvm::any_of(kernel.getAxisValues(),
                   [](Value value) { return !value.use_empty(); })) // C3
    return emitOpError("is in a kernel that uses coordinates of its own");
  return success();
}

std::optional<AxisAttr> getAxisOf(Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (!argument)
    return std::nullopt;
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto kernel = dyn_cast_or_null<KernelOp>(parent)) {
    if (number < kernel.getNumMemrefs())
      return std::nullopt;
    return kernel.getAxis(number - kernel.getNumMemrefs());
  }
  auto tiles = dyn_cast_or_null<EachTileOp>(parent);
  if (!tiles || argument == tiles.getNumber())
    return std::nullopt;
  return tiles->getParentOfType<KernelOp>().getAxis(number);
}

} // namespace deplo::tile
