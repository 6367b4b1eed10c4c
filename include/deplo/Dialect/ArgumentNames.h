// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of kernel arguments survive from the source program through every pass
// and through text: their locations carry them.

#ifndef DEPLO_DIALECT_ARGUMENTNAMES_H
#define DEPLO_DIALECT_ARGUMENTNAMES_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

namespace deplo {

/// Makes the names that arguments have in the text their locations.
inline void keepArgumentNames(
    mlir::OpAsmParser &parser,
    llvm::MutableArrayRef<mlir::OpAsmParser::Argument> arguments) {
  for (mlir::OpAsmParser::Argument &argument : arguments) {
    llvm::StringRef name = argument.ssaName.name.drop_front();
    // Numbers and %arg0 are what the printer makes up.
    bool isMadeUp = name.empty() || llvm::isDigit(name.front()) ||
                    (name.starts_with("arg") &&
                     llvm::all_of(name.drop_front(3), llvm::isDigit));
    if (!argument.sourceLoc && !isMadeUp)
      argument.sourceLoc = mlir::NameLoc::get(
          parser.getBuilder().getStringAttr(name),
          parser.getEncodedSourceLoc(argument.ssaName.location));
  }
}

/// Prints ` @name(%x: type, ...)`.
inline void printSignature(mlir::OpAsmPrinter &printer, llvm::StringRef name,
                           mlir::Block::BlockArgListType arguments) {
  printer << ' ';
  printer.printSymbolName(name);
  printer << '(';
  llvm::interleaveComma(arguments, printer, [&](mlir::BlockArgument argument) {
    printer.printRegionArgument(argument);
  });
  printer << ')';
}

/// Prints arguments by the names in their locations.
inline void printArgumentNames(mlir::Block::BlockArgListType arguments,
                               mlir::OpAsmSetValueNameFn setName) {
  for (mlir::BlockArgument argument : arguments)
    if (auto name = argument.getLoc()->findInstanceOf<mlir::NameLoc>())
      setName(argument, name.getName());
}

} // namespace deplo

#endif // DEPLO_DIALECT_ARGUMENTNAMES_H
