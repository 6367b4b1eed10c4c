// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A PTX file as it is written: what the parser makes and the decoder reads.
// Names are resolved by scope, but nothing is checked against the meaning of
// an instruction yet. Text is held as views of the module's own source.

#ifndef DEPLO_EMULATOR_PTX_H
#define DEPLO_EMULATOR_PTX_H

#include "deplo/Runtime/Status.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deplo::emulator {

/// Counted from 1.
struct Location {
  uint32_t line = 0, column = 0;
};

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  U16x2,
  S16x2,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2
};

/// "f32" to Type::F32; nullopt if there is no such type.
std::optional<Type> parseType(std::string_view name);
std::string_view typeName(Type type);
/// In bytes; 0 for None and Pred.
uint32_t typeSize(Type type);
bool isFloat(Type type);
bool isSigned(Type type);

enum class Space : uint8_t {
  Generic,
  Register,
  Param,
  Const,
  Global,
  Local,
  Shared
};

std::string_view spaceName(Space space);

struct Operand {
  enum class Kind : uint8_t {
    /// A register, special register, variable, label or function.
    Name,
    Integer,
    /// `bits` holds a double, or an f32 if `isSingle`.
    Float,
    /// `{a, b}`.
    Vector,
    /// `(a, b)`, of a call.
    List,
    /// `[base + bits]`, `[base, {x, y}]`.
    Address,
    /// `d|p`.
    Pair,
    /// `_`.
    Sink
  };
  Kind kind = Kind::Sink;
  /// `!p`, or `-x` of a name.
  bool isNegated = false;
  bool isSingle = false;
  Location location;
  std::string_view name;
  /// The value of a constant, the displacement of an address.
  uint64_t bits = 0;
  std::vector<Operand> elements;
};

struct Instruction {
  Location location;
  /// Empty if it always executes.
  std::string_view guard;
  bool isGuardNegated = false;
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
  /// Where its names are looked up.
  uint32_t scope = 0;
  /// From the opcode to the semicolon.
  std::string_view text;
};

/// A piece of an initializer: bytes, or the address of a variable.
struct InitialValue {
  uint64_t bits = 0;
  bool isDouble = false;
  std::string_view symbol;
  bool isGeneric = false;
};

struct Variable {
  std::string_view name;
  Location location;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t alignment = 1;
  /// 0 for `x[]`: the launch gives its size.
  uint64_t bytes = 0;
  bool isExternal = false, isUnsized = false;
  std::vector<InitialValue> initial;
};

/// `.reg .b32 %r<10>` or one register.
struct RegisterFamily {
  std::string_view name;
  Type type = Type::None;
  /// 0 for a single register of exactly this name.
  uint32_t count = 0;
};

/// `{ ... }`: names declared in it and where they are.
struct Scope {
  std::optional<uint32_t> parent;
  std::map<std::string_view, Type> registers;
  /// By prefix.
  std::map<std::string_view, RegisterFamily> families;
  /// To an index into Function::variables.
  std::map<std::string_view, uint32_t> variables;
  /// To an index into Function::instructions.
  std::map<std::string_view, uint32_t> labels;
  /// `.branchtargets` and `.calltargets`.
  std::map<std::string_view, std::vector<std::string_view>> tables;
};

struct Function {
  std::string_view name;
  Location location;
  bool isKernel = false, hasBody = false;
  /// Parameters and results, in Space::Param or Space::Register.
  std::vector<Variable> parameters, results;
  std::vector<Scope> scopes;
  std::vector<Variable> variables;
  std::vector<Instruction> instructions;
  std::optional<std::array<uint32_t, 3>> requiredThreads, maxThreads,
      clusterBlocks;
  std::optional<uint32_t> maxRegisters, minBlocksPerMultiprocessor;
};

struct Module {
  /// Owns the text that everything else points into.
  std::shared_ptr<const std::string> source;
  /// 78 for 7.8.
  uint32_t version = 0;
  std::string target;
  uint32_t addressBits = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Parses PTX text. The error names line and column and what was expected.
runtime::Result<Module> parsePtx(std::string_view text);

} // namespace deplo::emulator

#endif // DEPLO_EMULATOR_PTX_H
