// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The grammar of PTX by recursive descent. Parser.cpp has the file, functions
// and statements, ParseDeclarations.cpp variables and registers,
// ParseOperands.cpp operands.

#ifndef DEPLO_LIB_EMULATOR_PARSER_H
#define DEPLO_LIB_EMULATOR_PARSER_H

#include "Lexer.h"

namespace deplo::emulator {

class Parser {
public:
  explicit Parser(Module &module) : module(module), lexer(*module.source) {
    advance();
  }

  /// The error, or nothing.
  std::optional<std::string> parse();

private:
  using Kind = Token::Kind;

  /// Blocks and vectors may be nested this deep; more is not a program.
  static constexpr unsigned maxDepth = 100;

  //===--- Tokens ---------------------------------------------------------===//
  void advance();
  void fail(Location at, const std::string &message);
  std::string found() const;
  void expected(const std::string &what);
  bool accept(char c);
  bool acceptDotted(std::string_view name);
  void expect(char c, const char *where);
  std::string_view expectName(const char *what);
  uint64_t expectInteger(const char *what);

  //===--- The file -------------------------------------------------------===//
  void parseHeader();
  void parseTopLevel();
  void advanceOrFail(const char *what);
  /// A directive for debuggers and the like, to the end of its line.
  void skipLine();
  void skipSection();

  //===--- Declarations ---------------------------------------------------===//
  std::optional<Space> acceptSpace();
  /// Alignment, vector width and type, in any order; the type is required.
  void parseVariableType(Variable &variable, uint32_t &width);
  /// `.ptr .global .align 16`, after a kernel parameter's type.
  void parsePointerAttributes();
  /// `[2][3]` or `[]`.
  void parseExtents(Variable &variable, uint64_t elementBytes);
  void parseVariables(Space space, bool isExternal,
                      std::vector<Variable> &variables, Scope *scope);
  void parseInitializer(Variable &variable, unsigned depth = 0);
  void parseRegisters(Scope &scope);

  //===--- Functions ------------------------------------------------------===//
  void parseParameters(std::vector<Variable> &parameters);
  std::array<uint32_t, 3> parseTriple();
  void parseFunctionDirectives(Function &function);
  void parseFunction(bool isKernel);
  void parseBlock(Function &function, uint32_t scope, unsigned depth);
  void parseBodyDirective(Function &function, uint32_t scope);
  /// `label:`, a table of labels, or an instruction.
  void parseStatement(Function &function, uint32_t scope);
  void parseLabel(Function &function, uint32_t scope, const Instruction &label);

  //===--- Operands -------------------------------------------------------===//
  Operand parseConstant();
  Operand parseOperand(unsigned depth);
  void parseList(Operand &list, char end, unsigned depth);
  /// `%tid.x` is one name.
  Operand parseName();
  void parseAddress(Operand &address, unsigned depth);

  Module &module;
  Lexer lexer;
  Token token;
  const char *previousEnd = nullptr;
  std::optional<std::string> error;
};

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_PARSER_H
