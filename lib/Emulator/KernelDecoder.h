// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes one kernel and the functions that it calls. DecodeNames.cpp has what
// names stand for and where variables are, DecodeOperands.cpp operands,
// DecodeCalls.cpp calls, Decode.cpp instructions and functions.

#ifndef DEPLO_LIB_EMULATOR_KERNELDECODER_H
#define DEPLO_LIB_EMULATOR_KERNELDECODER_H

#include "Definition.h"

#include <set>

namespace deplo::emulator {

struct SpecialRegister {
  std::string_view name;
  Ambient::Kind kind;
  uint8_t bytes = 4;
  uint64_t value = 0;
};

/// What a name stands for.
struct Entity {
  enum class Kind { None, Register, Predicate, Variable, Special, Function };
  Kind kind = Kind::None;
  Type type = Type::None;
  /// The scope that declares a register.
  uint32_t scope = 0;
  const Variable *variable = nullptr;
  const SpecialRegister *special = nullptr;
  const Function *function = nullptr;
};

/// Calls `visit` for each name among `operands`.
template <typename Visit>
void forNames(const std::vector<Operand> &operands, Visit &&visit) {
  for (const Operand &operand : operands) {
    if (operand.kind == Operand::Kind::Name)
      visit(operand);
    forNames(operand.elements, visit);
  }
}

class KernelDecoder : public Decoder {
public:
  KernelDecoder(const Module &module, const GlobalImage &image)
      : module(module), image(image) {}

  runtime::Result<Kernel> decode(const Function &function);

  void fail(Location at, const std::string &message) override {
    if (!error)
      error = std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              message;
  }
  void addResult(const Operand &operand, Type type, bool mayBeWider) override;
  void addSource(const Operand &operand, Type type, bool mayBeWider) override;
  void addAddress(const Operand &operand) override;
  void addPredicate(const Operand &operand, bool isResult) override;
  std::optional<int64_t> constant(const Operand &operand) override;
  void setTarget(const Operand &label) override;
  uint32_t table(const Operand &name) override;
  uint32_t registerBytes(const Operand &operand) override;
  Features &features() override { return kernel.features; }
  void noteAccess(Space space, uint32_t bytes) override;

private:
  /// A function's code and names while it is decoded.
  struct Frame {
    const Function *function = nullptr;
    uint32_t begin = 0, end = 0;
    /// Of each AST instruction.
    std::vector<uint32_t> pcs;
    std::map<std::pair<uint32_t, std::string_view>, Ref> registers;
    /// Of bytes of its stack frame, by their own size and the offset.
    std::map<std::pair<uint8_t, uint64_t>, Ref> addresses;
  };
  struct CallSite {
    const Instruction &ast;
    const Function &callee;
    const std::vector<Operand> &results, &arguments;
  };
  struct Fixup {
    uint32_t pc;
    const Instruction *ast;
    std::string_view label;
    Location location;
  };

  void collectFunctions(const Function &kernel);
  std::set<const Function *> calleesOf(const Function &function) const;
  void findStackedFunctions();
  void measureFrames();
  void placeVariables();
  void decodeFunction(Frame &frame);
  void decodeInstruction(const Instruction &ast);
  void decodeOperands(const Definition &definition, Form &form);
  void decodeCall(const Instruction &ast);
  void emitStaticCall(const CallSite &site);
  void emitStackedCall(const CallSite &site);
  void emitCallTo(const CallSite &site);
  void emitMove(const CallSite &site, const Variable &formal);
  void emitParameterCopy(const CallSite &site, const Operand &argument,
                         const Variable &formal, bool isIn);
  void emit(Inst inst, const Instruction &ast);
  void resolveBranches(Frame &frame);

  const Function *findFunction(std::string_view name) const;
  /// Null if `function` is never entered again before it returns.
  StackedFunction *stackedFunction(const Function &function);
  /// A register that holds a parameter or result of a callee.
  Ref formalRef(const CallSite &site, const Variable &formal);
  Ref newRow(uint8_t bytes, Location location);
  /// The address of a byte of the current function's frame.
  Ref frameRef(uint8_t bytes, uint64_t offset);
  Entity lookUp(std::string_view name, uint32_t scope) const;
  Ref registerRef(const Entity &entity, std::string_view name,
                  Location location);
  Ref ambientRef(Ambient::Kind kind, uint8_t bytes, uint64_t value);
  Ref constantRef(uint32_t bytes, uint64_t bits);
  Ref variableRef(const Variable &variable, uint32_t bytes, uint64_t offset);
  uint64_t immediateBits(const Operand &operand, Type type) const;
  uint32_t localOffset(const Variable &variable) const;

  const Module &module;
  const GlobalImage &image;
  Kernel kernel;
  std::optional<std::string> error;

  std::vector<const Function *> functions;
  std::map<const Function *, Frame> frames;
  /// Where they are in Kernel::stacked.
  std::map<const Function *, uint32_t> stackedIndex;
  std::map<const Variable *, uint64_t> sharedOffsets, localOffsets,
      parameterOffsets;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> constants;
  /// Rows for results that nobody wants, by the bytes of a lane.
  std::map<uint32_t, Ref> sinks;
  std::map<std::tuple<Ambient::Kind, uint8_t, uint64_t>, Ref> ambients;

  // Of the instruction being decoded.
  Frame *current = nullptr;
  const Instruction *instruction = nullptr;
  std::vector<Ref> results, sources;
  std::optional<std::string_view> target;
  Location targetLocation;
  bool addressIsLocal = false;
  /// A branch has seen to it already.
  bool isGuardTaken = false;
  std::vector<Fixup> fixups;
  /// Calls, whose targets are known once all functions are decoded.
  std::vector<std::pair<uint32_t, const Function *>> calls;
  std::vector<std::pair<uint32_t, const Instruction *>> tableUses;
  std::map<uint32_t, std::vector<uint32_t>> branchTargets;
  std::vector<std::pair<uint32_t, std::string_view>> tableNames;
  std::vector<uint32_t> returnBranches;
  uint32_t originBase = 0;
};

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_KERNELDECODER_H
