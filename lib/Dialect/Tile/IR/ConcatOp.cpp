// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/ArgumentNames.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

void ConcatOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     TypeRange argumentTypes) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : argumentTypes)
    body.addArgument(type, state.location);
}

void ConcatOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn setName) {
  printArgumentNames(getBody()->getArguments(), setName);
}

ParseResult ConcatOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  keepArgumentNames(parser, arguments);
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void ConcatOp::print(OpAsmPrinter &printer) {
  printSignature(printer, getSymName(), getBody()->getArguments());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName()});
  printer << " ";
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

LogicalResult ConcatOp::verify() {
  for (BlockArgument argument : getBody()->getArguments())
    if (!isa<MemRefType>(argument.getType())) // C1
      return emitOpError() << "argument " << argument.getArgNumber() << " is "
                           << argument.getType() << ", expected a memref";
  for (Operation &op : *getBody())
    if (!isa<PartOp>(op)) { // C2
      InFlightDiagnostic diagnostic =
          emitOpError("has an operation that is no tile.part");
      diagnostic.attachNote(op.getLoc()) << "it is here";
      return diagnostic;
    }
  size_t parts = llvm::range_size(getParts());
  if (parts < 2) // C2
    return emitOpError() << "has " << parts
                         << " parts, expected at least two; launch the kernel";
  return success();
}

//===----------------------------------------------------------------------===//
// PartOp
//===----------------------------------------------------------------------===//

LogicalResult PartOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  Operation *module = (*this)->getParentOfType<ModuleOp>();
  Operation *callee =
      symbolTables.lookupSymbolIn(module, getKernelAttr().getAttr());
  // The loop dialect knows this one, not the other way round.
  StringRef kind = callee ? callee->getName().getStringRef() : StringRef();
  if (kind != "loop.kernel" && kind != "tile.kernel") // C1
    return emitOpError() << "names @" << getKernel()
                         << ", which is no kernel of the module";
  SmallVector<Type> types;
  for (BlockArgument argument : callee->getRegion(0).getArguments())
    if (!argument.getType().isIndex()) // axes follow the buffers
      types.push_back(argument.getType());
  if (types.size() != getBuffers().size()) // C2
    return emitOpError() << "passes " << getBuffers().size() << " buffers to @"
                         << getKernel() << ", which takes " << types.size();
  for (auto [number, buffer, type] : llvm::enumerate(getBuffers(), types))
    if (buffer.getType() != type) // C2
      return emitOpError() << "passes " << buffer.getType() << " as argument "
                           << number << " of @" << getKernel() << ", expected "
                           << type;
  return success();
}

} // namespace deplo::tile
