// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX text to tokens.

#ifndef DEPLO_LIB_EMULATOR_LEXER_H
#define DEPLO_LIB_EMULATOR_LEXER_H

#include "deplo/Emulator/Ptx.h"

namespace deplo::emulator {

struct Token {
  enum class Kind : uint8_t {
    End,
    /// `add`, `%r1`, `$L_1`, `_`.
    Name,
    /// `.f32`, `.shared::cluster`; the text is without the dot.
    Dotted,
    Integer,
    Float,
    String,
    /// One character.
    Punctuation,
    Invalid
  };
  Kind kind = Kind::End;
  std::string_view text;
  Location location;
  /// Of an integer or float, see Operand::bits.
  uint64_t bits = 0;
  bool isSingle = false;

  bool is(char c) const { return kind == Kind::Punctuation && text[0] == c; }
  bool isDotted(std::string_view name) const {
    return kind == Kind::Dotted && text == name;
  }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Token next();

private:
  void skipSpace();
  void advance(size_t count);
  Token number(Token token);

  std::string_view text;
  size_t position = 0;
  Location location = {1, 1};
};

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_LEXER_H
