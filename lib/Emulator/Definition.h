// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction tables. One entry is one form of an instruction:
//
//   {"add", "sat? s32", "=T T T", select}
//
// Modifiers, in order: `a|b` is one of them, a final `?` makes it optional, a
// final `*` stands for any ending. Those that are types are T, U and V, in
// order. Operands: `=` is a result; T, U, V are of these types, W is twice as
// wide as T, a type's own name is that type, `p` is a predicate; `~` lets a
// register be wider; `v` takes a vector as well; `[]` is an address; `=p|p`
// is a pair whose second is optional; `@` is left to the selector; a final `?`
// makes it optional; `...` leaves the rest to the selector.
//
// The selector returns the handler and may set fields of the instruction.

#ifndef DEPLO_LIB_EMULATOR_DEFINITION_H
#define DEPLO_LIB_EMULATOR_DEFINITION_H

#include "Program.h"

namespace deplo::emulator {

class Decoder;

/// An instruction that matched a definition's modifiers.
struct Form {
  Decoder &decoder;
  const Instruction &ast;
  /// In order, without those that were left out.
  std::vector<std::string_view> modifiers;
  std::vector<Type> types;

  bool has(std::string_view modifier) const;
  /// The one among `names` that is there, as an index; -1 if none.
  int which(std::initializer_list<std::string_view> names) const;
  Type type(unsigned n = 0) const {
    return n < types.size() ? types[n] : Type::None;
  }
};

using Selector = Handler (*)(Form &form, Inst &inst);

struct Definition {
  const char *opcode;
  const char *modifiers;
  const char *operands;
  Selector select;
};

struct DefinitionList {
  const Definition *first;
  size_t count;
  const Definition *begin() const { return first; }
  const Definition *end() const { return first + count; }
};

template <size_t N> DefinitionList listOf(const Definition (&table)[N]) {
  return {table, N};
}

// What the decoder puts together by itself.

/// Goes to Inst::target.
Handler branchHandler();
/// griddepcontrol.wait.
Handler gridWaitHandler();
/// Calls the function at Inst::target.
Handler callHandler();
Handler returnHandler();
/// Stops with a fault: the function has no body.
Handler unknownCallHandler();
/// A register of so many bytes to another.
Handler moveHandler(uint32_t bytes);

/// The definition that `ast` matches. On failure sets `error` to what was
/// expected.
const Definition *findDefinition(const Instruction &ast, Form &form,
                                 std::string &error);

DefinitionList integerDefinitions();
DefinitionList bitDefinitions();
DefinitionList floatDefinitions();
DefinitionList halfDefinitions();
DefinitionList compareDefinitions();
DefinitionList convertDefinitions();
DefinitionList moveDefinitions();
DefinitionList memoryDefinitions();
DefinitionList atomicDefinitions();
DefinitionList controlDefinitions();
DefinitionList warpDefinitions();
DefinitionList barrierDefinitions();
DefinitionList fenceDefinitions();
DefinitionList asyncCopyDefinitions();
DefinitionList mbarrierDefinitions();
DefinitionList bulkCopyDefinitions();
DefinitionList tensorCopyDefinitions();
DefinitionList clusterDefinitions();
DefinitionList matrixDefinitions();
DefinitionList wgmmaDefinitions();

#define DEPLO_PTX_INT "u16|u32|u64|s16|s32|s64"
#define DEPLO_PTX_ANY                                                          \
  "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64"
#define DEPLO_PTX_ROUND "rn|rz|rm|rp"

/// Builds one kernel's Inst records; selectors use it for unusual operands.
class Decoder {
public:
  virtual ~Decoder() = default;

  virtual void fail(Location at, const std::string &message) = 0;
  /// Adds a result or source register. Results come first.
  virtual void addResult(const Operand &operand, Type type,
                         bool mayBeWider = false) = 0;
  virtual void addSource(const Operand &operand, Type type,
                         bool mayBeWider = false) = 0;
  virtual void addAddress(const Operand &operand) = 0;
  virtual void addPredicate(const Operand &operand, bool isResult) = 0;
  /// An integer that must be known now.
  virtual std::optional<int64_t> constant(const Operand &operand) = 0;
  /// A label, to be put into Inst::target.
  virtual void setTarget(const Operand &label) = 0;
  /// A `.branchtargets` table, or one of functions; its number.
  virtual uint32_t table(const Operand &name) = 0;
  /// The size of the register that `operand` names, 0 if it is none.
  virtual uint32_t registerBytes(const Operand &operand) = 0;
  /// An access of so many bytes, for the granules of the shadow memory.
  virtual void noteAccess(Space space, uint32_t bytes) = 0;
  virtual Features &features() = 0;
};

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_DEFINITION_H
