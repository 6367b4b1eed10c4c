// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parser.h"

using namespace deplo::emulator;

Operand Parser::parseConstant() {
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

Operand Parser::parseOperand(unsigned depth) {
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
    if (operand.kind == Operand::Kind::Name && (token.is('+') || token.is('-')))
      operand.bits = parseConstant().bits;
  } else {
    operand = parseConstant();
  }
  return operand;
}

void Parser::parseList(Operand &list, char end, unsigned depth) {
  if (accept(end))
    return;
  do
    list.elements.push_back(parseOperand(depth + 1));
  while (!error && accept(','));
  if (!error && !accept(end))
    expected(std::string("',' or '") + end + "'");
}

/// `%tid.x` is one name.
Operand Parser::parseName() {
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

void Parser::parseAddress(Operand &address, unsigned depth) {
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
