// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Lexer.h"

#include <cstdlib>
#include <cstring>

using namespace deplo::emulator;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}

static bool isNameRest(char c) {
  return isDigit(c) || (c != '%' && isNameStart(c));
}

static int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 16;
}

void Lexer::advance(size_t count) {
  for (; count > 0 && position < text.size(); --count) {
    if (text[position++] == '\n') {
      ++location.line;
      location.column = 1;
    } else {
      ++location.column;
    }
  }
}

void Lexer::skipSpace() {
  while (position < text.size()) {
    char c = text[position];
    std::string_view rest = text.substr(position);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0') {
      advance(1);
    } else if (rest.substr(0, 2) == "//") {
      size_t end = rest.find('\n');
      advance(end == std::string_view::npos ? rest.size() : end);
    } else if (rest.substr(0, 2) == "/*") {
      size_t end = rest.find("*/", 2);
      advance(end == std::string_view::npos ? rest.size() : end + 2);
    } else {
      return;
    }
  }
}

/// Digits of `base` from the start of `text`; sets `count` to how many.
static uint64_t parseDigits(std::string_view text, int base, size_t &count) {
  uint64_t value = 0;
  for (count = 0; count < text.size() && digitValue(text[count]) < base;
       ++count)
    value = value * uint64_t(base) + uint64_t(digitValue(text[count]));
  return value;
}

Token Lexer::number(Token token) {
  std::string_view rest = text.substr(position);
  size_t length = 0, digits = 0;
  auto prefix = [&](char lower, char upper) {
    return rest.size() > 1 && rest[0] == '0' &&
           (rest[1] == lower || rest[1] == upper);
  };
  token.kind = Token::Kind::Integer;
  if (prefix('f', 'F') || prefix('d', 'D')) {
    token.kind = Token::Kind::Float;
    token.isSingle = prefix('f', 'F');
    token.bits = parseDigits(rest.substr(2), 16, digits);
    length = 2 + digits;
    if (digits != (token.isSingle ? 8u : 16u))
      token.kind = Token::Kind::Invalid;
  } else if (prefix('x', 'X')) {
    token.bits = parseDigits(rest.substr(2), 16, digits);
    length = 2 + digits;
  } else if (prefix('b', 'B')) {
    token.bits = parseDigits(rest.substr(2), 2, digits);
    length = 2 + digits;
  } else {
    token.bits = parseDigits(rest, rest[0] == '0' ? 8 : 10, length);
    size_t end = length;
    while (end < rest.size() && isDigit(rest[end]))
      ++end;
    bool hasExponent =
        end < rest.size() && (rest[end] == 'e' || rest[end] == 'E');
    if ((end < rest.size() && rest[end] == '.') || hasExponent) {
      // strtod needs an end; no literal is longer than this.
      char buffer[64] = "";
      std::memcpy(buffer, rest.data(),
                  std::min(rest.size(), sizeof(buffer) - 1));
      char *stop = nullptr;
      double value = std::strtod(buffer, &stop);
      length = size_t(stop - buffer);
      std::memcpy(&token.bits, &value, sizeof(value));
      token.kind = Token::Kind::Float;
    } else {
      length = std::max(length, size_t(1));
    }
  }
  if (token.kind == Token::Kind::Integer && length < rest.size() &&
      (rest[length] == 'U' || rest[length] == 'u'))
    ++length;
  if (length < rest.size() && isNameRest(rest[length]))
    token.kind = Token::Kind::Invalid;
  token.text = rest.substr(0, length);
  advance(length);
  return token;
}

Token Lexer::next() {
  skipSpace();
  Token token;
  token.location = location;
  if (position >= text.size()) {
    token.text = text.substr(text.size());
    return token;
  }
  std::string_view rest = text.substr(position);
  char c = rest[0];
  if (isDigit(c))
    return number(token);
  size_t length = 1;
  if (isNameStart(c)) {
    token.kind = Token::Kind::Name;
    while (length < rest.size() && isNameRest(rest[length]))
      ++length;
  } else if (c == '.' && rest.size() > 1 &&
             (isNameStart(rest[1]) || isDigit(rest[1]))) {
    token.kind = Token::Kind::Dotted;
    ++length;
    while (length < rest.size() &&
           (isNameRest(rest[length]) ||
            (rest.substr(length, 2) == "::" && length + 2 < rest.size())))
      length += rest[length] == ':' ? 2 : 1;
    token.text = rest.substr(1, length - 1);
    advance(length);
    return token;
  } else if (c == '"') {
    token.kind = Token::Kind::String;
    while (length < rest.size() && rest[length] != '"')
      length += rest[length] == '\\' ? 2 : 1;
    if (length >= rest.size())
      token.kind = Token::Kind::Invalid;
    length = std::min(length + 1, rest.size());
  } else {
    token.kind = std::strchr("{}()[]<>,;:+-*/|!@=&~?", c)
                     ? Token::Kind::Punctuation
                     : Token::Kind::Invalid;
  }
  token.text = rest.substr(0, length);
  advance(length);
  return token;
}
