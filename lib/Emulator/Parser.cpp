// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The grammar of PTX by recursive descent.

#include "Lexer.h"

#include <cstring>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;
using Kind = Token::Kind;

namespace {

constexpr uint32_t oldestVersion = 60, newestVersion = 90;
/// Blocks and vectors may be nested this deep; more is not a program.
constexpr unsigned maxDepth = 100;
constexpr uint64_t maxVariableBytes = uint64_t(1) << 30;
constexpr uint64_t maxRegisters = uint64_t(1) << 24;

class Parser {
public:
  explicit Parser(Module &module) : module(module), lexer(*module.source) {
    advance();
  }

  /// The error, or nothing.
  std::optional<std::string> parse() {
    parseHeader();
    while (!error && token.kind != Kind::End)
      parseTopLevel();
    return error;
  }

private:
  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  void advance() {
    previousEnd = token.text.data() + token.text.size();
    token = error ? Token() : lexer.next();
  }

  void fail(Location at, const std::string &message) {
    if (!error)
      error = std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              message;
    token = Token();
  }

  std::string found() const {
    if (token.kind == Kind::End)
      return "the end of the file";
    if (token.kind == Kind::Dotted)
      return "'." + std::string(token.text) + "'";
    return "'" + std::string(token.text) + "'";
  }

  void expected(const std::string &what) {
    fail(token.location, "expected " + what + ", found " + found());
  }

  bool accept(char c) {
    if (!token.is(c))
      return false;
    advance();
    return true;
  }

  bool acceptDotted(std::string_view name) {
    if (!token.isDotted(name))
      return false;
    advance();
    return true;
  }

  void expect(char c, const char *where) {
    if (!accept(c))
      expected(std::string("'") + c + "' " + where);
  }

  std::string_view expectName(const char *what) {
    std::string_view text = token.text;
    if (token.kind != Kind::Name) {
      expected(what);
      return {};
    }
    advance();
    return text;
  }

  uint64_t expectInteger(const char *what) {
    uint64_t bits = token.bits;
    if (token.kind != Kind::Integer) {
      expected(what);
      return 0;
    }
    advance();
    return bits;
  }

  //===--------------------------------------------------------------------===//
  // The file
  //===--------------------------------------------------------------------===//

  void parseHeader() {
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

  void parseTopLevel() {
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

  void advanceOrFail(const char *what) {
    if (token.kind == Kind::End || token.kind == Kind::Invalid)
      return expected(what);
    advance();
  }

  /// A directive for debuggers and the like, to the end of its line.
  void skipLine() {
    uint32_t line = token.location.line;
    while (!error && token.kind != Kind::End && token.location.line == line)
      advance();
  }

  void skipSection() {
    while (!error && !accept('{'))
      advanceOrFail("'{'");
    while (!error && !accept('}'))
      advanceOrFail("'}'");
  }

  //===--------------------------------------------------------------------===//
  // Declarations
  //===--------------------------------------------------------------------===//

  std::optional<Space> acceptSpace() {
    if (token.kind != Kind::Dotted)
      return std::nullopt;
    const std::pair<std::string_view, Space> spaces[] = {
        {"global", Space::Global}, {"const", Space::Const},
        {"shared", Space::Shared}, {"local", Space::Local},
        {"param", Space::Param},   {"reg", Space::Register}};
    for (auto [name, space] : spaces)
      if (acceptDotted(name))
        return space;
    return std::nullopt;
  }

  /// Alignment, vector width and type, in any order; the type is required.
  void parseVariableType(Variable &variable, uint32_t &width) {
    width = 1;
    bool isAligned = false;
    while (!error && token.kind == Kind::Dotted) {
      if (acceptDotted("align")) {
        Location at = token.location;
        uint64_t value = expectInteger("an alignment");
        if (!error && (value == 0 || value > 4096 || (value & (value - 1))))
          fail(at, "an alignment must be a power of two up to 4096");
        variable.alignment = uint32_t(value);
        isAligned = true;
      } else if (acceptDotted("v2")) {
        width = 2;
      } else if (acceptDotted("v4")) {
        width = 4;
      } else if (acceptDotted("attribute")) {
        expect('(', "after '.attribute'");
        while (!error && !accept(')'))
          advanceOrFail("')'");
      } else if (acceptDotted("ptr")) {
        parsePointerAttributes();
      } else if (std::optional<Type> type = parseType(token.text)) {
        variable.type = *type;
        advance();
      } else {
        return expected("a type");
      }
    }
    if (error)
      return;
    if (variable.type == Type::None)
      return expected("a type");
    if (!isAligned)
      variable.alignment = std::max(typeSize(variable.type) * width, 1u);
  }

  /// `.ptr .global .align 16`, after a kernel parameter's type.
  void parsePointerAttributes() {
    if (token.isDotted("param") || token.isDotted("global") ||
        token.isDotted("shared") || token.isDotted("local") ||
        token.isDotted("const"))
      advance();
    if (acceptDotted("align"))
      expectInteger("an alignment");
  }

  /// `[2][3]` or `[]`.
  void parseExtents(Variable &variable, uint64_t elementBytes) {
    variable.bytes = elementBytes;
    while (!error && accept('[')) {
      Location at = token.location;
      if (accept(']')) {
        variable.isUnsized = true;
        continue;
      }
      uint64_t extent = expectInteger("an extent");
      expect(']', "after the extent");
      if (error)
        return;
      if (extent > maxVariableBytes ||
          extent * variable.bytes > maxVariableBytes)
        return fail(at, "a variable can't have more than 1 GiB");
      variable.bytes *= extent;
    }
  }

  void parseVariables(Space space, bool isExternal,
                      std::vector<Variable> &variables, Scope *scope) {
    Variable prototype;
    prototype.space = space;
    prototype.isExternal = isExternal;
    uint32_t width = 1;
    parseVariableType(prototype, width);
    do {
      if (error)
        return;
      Variable variable = prototype;
      variable.location = token.location;
      variable.name = expectName("the variable's name");
      uint64_t elementBytes = typeSize(variable.type) * uint64_t(width);
      parseExtents(variable, elementBytes);
      if (accept('='))
        parseInitializer(variable);
      if (error)
        return;
      if (variable.isUnsized && variable.bytes == elementBytes)
        variable.bytes = variable.initial.size() * typeSize(variable.type);
      else if (variable.isUnsized)
        return fail(variable.location, "only the one extent can be left out");
      if (variable.initial.size() * typeSize(variable.type) > variable.bytes)
        return fail(variable.location, "more initial values than elements");
      if (scope)
        scope->variables[variable.name] = uint32_t(variables.size());
      variables.push_back(std::move(variable));
    } while (accept(','));
    expect(';', "after the variable");
  }

  void parseInitializer(Variable &variable, unsigned depth = 0) {
    if (depth > maxDepth)
      return fail(token.location, "initializers are nested too deeply");
    if (accept('{')) {
      if (accept('}'))
        return;
      do
        parseInitializer(variable, depth + 1);
      while (!error && accept(','));
      return expect('}', "after the initial values");
    }
    InitialValue value;
    if (token.kind == Kind::Name) {
      value.symbol = token.text;
      advance();
      if (value.symbol == "generic" && accept('(')) {
        value.isGeneric = true;
        value.symbol = expectName("a variable");
        expect(')', "after the variable");
      }
      if (accept('+'))
        value.bits = expectInteger("a displacement");
    } else {
      Operand constant = parseConstant();
      value.bits = constant.bits;
      if (constant.kind == Operand::Kind::Float && !constant.isSingle)
        value.isDouble = true;
      // `0xff(symbol)`: one byte of an address.
      if (token.is('('))
        return fail(token.location,
                    "masked addresses in initializers can't be emulated");
    }
    variable.initial.push_back(value);
  }

  void parseRegisters(Scope &scope) {
    if (token.isDotted("v2") || token.isDotted("v4"))
      return fail(token.location, "vector registers can't be emulated");
    std::optional<Type> type =
        token.kind == Kind::Dotted ? parseType(token.text) : std::nullopt;
    if (!type)
      return expected("the type of the registers");
    advance();
    do {
      Location at = token.location;
      RegisterFamily family;
      family.type = *type;
      family.name = expectName("a register");
      if (accept('<')) {
        uint64_t count = expectInteger("the number of registers");
        expect('>', "after the number of registers");
        if (!error && count > maxRegisters)
          return fail(at, "too many registers");
        family.count = uint32_t(count);
        scope.families[family.name] = family;
      } else {
        scope.registers[family.name] = *type;
      }
    } while (!error && accept(','));
    expect(';', "after the registers");
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  void parseParameters(std::vector<Variable> &parameters) {
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

  std::array<uint32_t, 3> parseTriple() {
    std::array<uint32_t, 3> result = {1, 1, 1};
    for (uint32_t &extent : result) {
      extent = uint32_t(expectInteger("an extent"));
      if (!accept(','))
        break;
    }
    return result;
  }

  void parseFunctionDirectives(Function &function) {
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
        function.minBlocksPerMultiprocessor =
            uint32_t(expectInteger("a number"));
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

  void parseFunction(bool isKernel) {
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

  void parseBlock(Function &function, uint32_t scope, unsigned depth) {
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

  void parseBodyDirective(Function &function, uint32_t scope) {
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
  void parseStatement(Function &function, uint32_t scope) {
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

  void parseLabel(Function &function, uint32_t scope,
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

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  Operand parseConstant() {
    Operand operand;
    operand.location = token.location;
    bool isNegative = false, isInverted = false;
    while (token.is('-') || token.is('+') || token.is('~')) {
      isNegative ^= token.is('-');
      isInverted ^= token.is('~');
      advance();
    }
    if (token.kind == Kind::Integer) {
      operand.kind = Operand::Kind::Integer;
      operand.bits = token.bits;
      if (isInverted)
        operand.bits = ~operand.bits;
      if (isNegative)
        operand.bits = -operand.bits;
    } else if (token.kind == Kind::Float) {
      operand.kind = Operand::Kind::Float;
      operand.isSingle = token.isSingle;
      operand.bits = token.bits;
      if (isNegative)
        operand.bits ^= uint64_t(1) << (token.isSingle ? 31 : 63);
    } else {
      expected("a constant");
      return operand;
    }
    advance();
    return operand;
  }

  Operand parseOperand(unsigned depth) {
    Operand operand;
    operand.location = token.location;
    if (depth > maxDepth) {
      fail(token.location, "operands are nested too deeply");
      return operand;
    }
    if (accept('{')) {
      operand.kind = Operand::Kind::Vector;
      parseList(operand, '}', depth);
    } else if (accept('(')) {
      operand.kind = Operand::Kind::List;
      parseList(operand, ')', depth);
    } else if (accept('[')) {
      operand.kind = Operand::Kind::Address;
      parseAddress(operand, depth);
    } else if (token.is('!')) {
      advance();
      operand = parseName();
      operand.isNegated = true;
    } else if (token.kind == Kind::Name) {
      operand = parseName();
      if (accept('|')) {
        Operand pair;
        pair.kind = Operand::Kind::Pair;
        pair.location = operand.location;
        pair.elements.push_back(std::move(operand));
        pair.elements.push_back(parseName());
        return pair;
      }
      if (operand.kind == Operand::Kind::Name &&
          (token.is('+') || token.is('-')))
        operand.bits = parseConstant().bits;
    } else {
      operand = parseConstant();
    }
    return operand;
  }

  void parseList(Operand &list, char end, unsigned depth) {
    if (accept(end))
      return;
    do
      list.elements.push_back(parseOperand(depth + 1));
    while (!error && accept(','));
    if (!error && !accept(end))
      expected(std::string("',' or '") + end + "'");
  }

  /// `%tid.x` is one name.
  Operand parseName() {
    Operand operand;
    operand.location = token.location;
    operand.kind = Operand::Kind::Name;
    operand.name = expectName("a name");
    if (operand.name == "_")
      operand.kind = Operand::Kind::Sink;
    if (!operand.name.empty() && operand.name[0] == '%' &&
        token.kind == Kind::Dotted &&
        token.text.data() == operand.name.data() + operand.name.size() + 1) {
      operand.name = std::string_view(
          operand.name.data(), operand.name.size() + 1 + token.text.size());
      advance();
    }
    return operand;
  }

  void parseAddress(Operand &address, unsigned depth) {
    Operand base;
    if (token.kind == Kind::Name) {
      base = parseName();
      if (token.is('+') || token.is('-'))
        address.bits = parseConstant().bits;
    } else {
      base = parseConstant();
    }
    address.elements.push_back(std::move(base));
    while (!error && accept(','))
      address.elements.push_back(parseOperand(depth + 1));
    if (!error && !accept(']'))
      expected("'+', ',' or ']' in an address");
  }

  Module &module;
  Lexer lexer;
  Token token;
  const char *previousEnd = nullptr;
  std::optional<std::string> error;
};

} // namespace

Result<Module> deplo::emulator::parsePtx(std::string_view text) {
  Module module;
  module.source = std::make_shared<const std::string>(text);
  if (std::optional<std::string> error = Parser(module).parse())
    return Status::failure(*error);
  return module;
}
