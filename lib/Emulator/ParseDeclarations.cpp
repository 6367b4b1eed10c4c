// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parser.h"

#include <algorithm>

using namespace deplo::emulator;

static constexpr uint64_t maxVariableBytes = uint64_t(1) << 30;
static constexpr uint64_t maxRegisters = uint64_t(1) << 24;

std::optional<Space> Parser::acceptSpace() {
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
void Parser::parseVariableType(Variable &variable, uint32_t &width) {
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
void Parser::parsePointerAttributes() {
  if (token.isDotted("param") || token.isDotted("global") ||
      token.isDotted("shared") || token.isDotted("local") ||
      token.isDotted("const"))
    advance();
  if (acceptDotted("align"))
    expectInteger("an alignment");
}

/// `[2][3]` or `[]`.
void Parser::parseExtents(Variable &variable, uint64_t elementBytes) {
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
    if (extent > maxVariableBytes || extent * variable.bytes > maxVariableBytes)
      return fail(at, "a variable can't have more than 1 GiB");
    variable.bytes *= extent;
  }
}

void Parser::parseVariables(Space space, bool isExternal,
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

void Parser::parseInitializer(Variable &variable, unsigned depth) {
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

void Parser::parseRegisters(Scope &scope) {
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
