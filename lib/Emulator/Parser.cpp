// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parser.h"

#include <cstring>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

static constexpr uint32_t oldestVersion = 60, newestVersion = 90;

std::optional<std::string> Parser::parse() {
  parseHeader();
  while (!error && token.kind != Kind::End)
    parseTopLevel();
  return error;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void Parser::advance() {
  previousEnd = token.text.data() + token.text.size();
  token = error ? Token() : lexer.next();
}

void Parser::fail(Location at, const std::string &message) {
  if (!error)
    error = std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
            message;
  token = Token();
}

std::string Parser::found() const {
  if (token.kind == Kind::End)
    return "the end of the file";
  if (token.kind == Kind::Dotted)
    return "'." + std::string(token.text) + "'";
  return "'" + std::string(token.text) + "'";
}

void Parser::expected(const std::string &what) {
  fail(token.location, "expected " + what + ", found " + found());
}

bool Parser::accept(char c) {
  if (!token.is(c))
    return false;
  advance();
  return true;
}

bool Parser::acceptDotted(std::string_view name) {
  if (!token.isDotted(name))
    return false;
  advance();
  return true;
}

void Parser::expect(char c, const char *where) {
  if (!accept(c))
    expected(std::string("'") + c + "' " + where);
}

std::string_view Parser::expectName(const char *what) {
  std::string_view text = token.text;
  if (token.kind != Kind::Name) {
    expected(what);
    return {};
  }
  advance();
  return text;
}

uint64_t Parser::expectInteger(const char *what) {
  uint64_t bits = token.bits;
  if (token.kind != Kind::Integer) {
    expected(what);
    return 0;
  }
  advance();
  return bits;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

void Parser::parseHeader() {
  if (!acceptDotted("version"))
    return expected("'.version' at the start of the file");
  Location at = token.location;
  double version = 0;
  if (token.kind != Kind::Float || token.isSingle)
    return expected("a version as '8.0'");
  std::memcpy(&version, &token.bits, sizeof(version));
  advance();
  module.version =
      version > 0 && version < 100 ? uint32_t(version * 10 + 0.5) : 0;
  if (module.version < oldestVersion || module.version > newestVersion)
    return fail(at, "PTX version must be from 6.0 to 9.0");
  if (!acceptDotted("target"))
    return expected("'.target' after the version");
  module.target = std::string(expectName("a target as 'sm_90a'"));
  while (accept(','))
    expectName("a target option");
  if (acceptDotted("address_size")) {
    at = token.location;
    module.addressBits = uint32_t(expectInteger("32 or 64"));
    if (!error && module.addressBits != 64)
      fail(at, "the address size must be 64");
  }
}

void Parser::parseTopLevel() {
  if (token.isDotted("file") || token.isDotted("loc") ||
      token.isDotted("pragma"))
    return skipLine();
  if (acceptDotted("section"))
    return skipSection();
  if (acceptDotted("alias")) {
    while (!error && !accept(';'))
      advanceOrFail("';'");
    return;
  }
  bool isExternal = false;
  for (;;) {
    if (acceptDotted("extern"))
      isExternal = true;
    else if (!acceptDotted("visible") && !acceptDotted("weak") &&
             !acceptDotted("common"))
      break;
  }
  if (acceptDotted("entry"))
    return parseFunction(true);
  if (acceptDotted("func"))
    return parseFunction(false);
  if (std::optional<Space> space = acceptSpace())
    return parseVariables(*space, isExternal, module.variables, nullptr);
  expected("'.entry', '.func' or a variable");
}

void Parser::advanceOrFail(const char *what) {
  if (token.kind == Kind::End || token.kind == Kind::Invalid)
    return expected(what);
  advance();
}

/// A directive for debuggers and the like, to the end of its line.
void Parser::skipLine() {
  uint32_t line = token.location.line;
  while (!error && token.kind != Kind::End && token.location.line == line)
    advance();
}

void Parser::skipSection() {
  while (!error && !accept('{'))
    advanceOrFail("'{'");
  while (!error && !accept('}'))
    advanceOrFail("'}'");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Parser::parseParameters(std::vector<Variable> &parameters) {
  if (accept(')'))
    return;
  do {
    Variable parameter;
    Location at = token.location;
    std::optional<Space> space = acceptSpace();
    if (!space || (*space != Space::Param && *space != Space::Register))
      return fail(at, "expected '.param' or '.reg'");
    parameter.space = *space;
    uint32_t width = 1;
    parseVariableType(parameter, width);
    parameter.location = token.location;
    parameter.name = expectName("the parameter's name");
    parseExtents(parameter, typeSize(parameter.type) * uint64_t(width));
    parameters.push_back(parameter);
  } while (!error && accept(','));
  expect(')', "after the parameters");
}

std::array<uint32_t, 3> Parser::parseTriple() {
  std::array<uint32_t, 3> result = {1, 1, 1};
  for (uint32_t &extent : result) {
    extent = uint32_t(expectInteger("an extent"));
    if (!accept(','))
      break;
  }
  return result;
}

void Parser::parseFunctionDirectives(Function &function) {
  while (!error && token.kind == Kind::Dotted) {
    if (acceptDotted("maxntid"))
      function.maxThreads = parseTriple();
    else if (acceptDotted("reqntid"))
      function.requiredThreads = parseTriple();
    else if (acceptDotted("reqnctapercluster"))
      function.clusterBlocks = parseTriple();
    else if (acceptDotted("maxnreg"))
      function.maxRegisters = uint32_t(expectInteger("a number"));
    else if (acceptDotted("minnctapersm"))
      function.minBlocksPerMultiprocessor = uint32_t(expectInteger("a number"));
    else if (acceptDotted("maxnctapersm") || acceptDotted("maxclusterrank") ||
             acceptDotted("abi_preserve"))
      expectInteger("a number");
    else if (token.isDotted("pragma"))
      skipLine();
    else if (!acceptDotted("noreturn") && !acceptDotted("explicitcluster") &&
             !acceptDotted("blocksareclusters"))
      return expected("a directive of the function, '{' or ';'");
  }
}

void Parser::parseFunction(bool isKernel) {
  Function function;
  function.isKernel = isKernel;
  if (!isKernel && accept('('))
    parseParameters(function.results);
  function.location = token.location;
  function.name = expectName("the function's name");
  if (accept('('))
    parseParameters(function.parameters);
  parseFunctionDirectives(function);
  if (!accept(';')) {
    expect('{', "before the function's body");
    function.hasBody = true;
    function.scopes.emplace_back();
    for (const auto *list : {&function.parameters, &function.results})
      for (const Variable &parameter : *list) {
        if (parameter.space == Space::Register) {
          function.scopes[0].registers[parameter.name] = parameter.type;
          continue;
        }
        function.scopes[0].variables[parameter.name] =
            uint32_t(function.variables.size());
        function.variables.push_back(parameter);
      }
    parseBlock(function, 0, 0);
  }
  if (!error)
    module.functions.push_back(std::move(function));
}

void Parser::parseBlock(Function &function, uint32_t scope, unsigned depth) {
  if (depth > maxDepth)
    return fail(token.location, "blocks are nested too deeply");
  while (!error && !accept('}')) {
    if (accept('{')) {
      Scope inner;
      inner.parent = scope;
      function.scopes.push_back(inner);
      parseBlock(function, uint32_t(function.scopes.size() - 1), depth + 1);
    } else if (token.kind == Kind::Dotted) {
      parseBodyDirective(function, scope);
    } else if (!accept(';')) {
      parseStatement(function, scope);
    }
  }
}

void Parser::parseBodyDirective(Function &function, uint32_t scope) {
  if (token.isDotted("loc") || token.isDotted("file") ||
      token.isDotted("pragma"))
    return skipLine();
  bool isExternal = acceptDotted("extern");
  std::optional<Space> space = acceptSpace();
  if (!space)
    return expected("a declaration or an instruction");
  if (*space == Space::Register)
    return parseRegisters(function.scopes[scope]);
  parseVariables(*space, isExternal, function.variables,
                 &function.scopes[scope]);
}

/// `label:`, a table of labels, or an instruction.
void Parser::parseStatement(Function &function, uint32_t scope) {
  Instruction instruction;
  instruction.scope = scope;
  instruction.location = token.location;
  if (accept('@')) {
    instruction.isGuardNegated = accept('!');
    instruction.guard = expectName("a predicate");
    instruction.location = token.location;
  }
  const char *start = token.text.data();
  instruction.opcode = expectName("an instruction");
  if (error)
    return;
  if (instruction.guard.empty() && accept(':'))
    return parseLabel(function, scope, instruction);
  while (token.kind == Kind::Dotted) {
    instruction.modifiers.push_back(token.text);
    advance();
  }
  if (!token.is(';')) {
    do
      instruction.operands.push_back(parseOperand(0));
    while (!error && accept(','));
  }
  if (!error && !token.is(';'))
    return expected("',' or ';' after an operand");
  if (error)
    return;
  instruction.text = std::string_view(start, size_t(previousEnd - start));
  advance();
  function.instructions.push_back(std::move(instruction));
}

void Parser::parseLabel(Function &function, uint32_t scope,
                        const Instruction &label) {
  Scope &names = function.scopes[scope];
  if (acceptDotted("branchtargets") || acceptDotted("calltargets")) {
    std::vector<std::string_view> &table = names.tables[label.opcode];
    do
      table.push_back(expectName("a label"));
    while (!error && accept(','));
    return expect(';', "after the labels");
  }
  if (acceptDotted("callprototype")) {
    while (!error && !accept(';'))
      advanceOrFail("';'");
    names.tables[label.opcode];
    return;
  }
  if (!names.labels
           .emplace(label.opcode, uint32_t(function.instructions.size()))
           .second)
    fail(label.location,
         "label '" + std::string(label.opcode) + "' is already there");
}

Result<Module> deplo::emulator::parsePtx(std::string_view text) {
  Module module;
  module.source = std::make_shared<const std::string>(text);
  if (std::optional<std::string> error = Parser(module).parse())
    return Status::failure(*error);
  return module;
}
