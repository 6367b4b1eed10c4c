// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls through registers become calls of the functions whose addresses the
// module takes and that fit:
//
//   call (r), %rd1, (a), prototype;
// ->
//   setp.ne.b64 p, %rd1, ADDRESS OF f;
//   @p bra other;
//   call (r), f, (a);
//   bra end;
// other:              // and so on for each
//   trap;             // The register holds no such address.
// end:

#include "IndirectCalls.h"

#include <algorithm>
#include <set>

using namespace deplo::emulator;

uint64_t deplo::emulator::functionAddress(const Module &module,
                                          std::string_view name) {
  // Of no space, so that nobody reads there.
  constexpr uint64_t tag = uint64_t(0xf) << 56, apart = 16;
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].name == name)
      return tag | (i + 1) * apart;
  return 0;
}

namespace {

class Expansion {
public:
  Expansion(const Module &module, Function &function,
            const std::vector<const Function *> &candidates,
            std::deque<std::string> &names)
      : module(module), function(function), candidates(candidates),
        names(names) {}

  void run();

private:
  /// The register that a call goes through; null if it names a function.
  const Operand *throughRegister(const Instruction &ast) const;
  bool fits(const Instruction &ast, const Function &callee) const;
  bool listFits(const Operand *list, const std::vector<Variable> &formals,
                uint32_t scope) const;
  void expand(const Instruction &call, const Operand &address);
  std::string_view newName(const char *prefix) {
    return names.emplace_back(prefix + std::to_string(names.size()));
  }
  Instruction &add(const Instruction &from, std::string_view opcode,
                   std::vector<std::string_view> modifiers,
                   std::vector<Operand> operands);

  const Module &module;
  Function &function;
  const std::vector<const Function *> &candidates;
  std::deque<std::string> &names;
  std::vector<Instruction> code;
};

Operand nameOf(std::string_view name, Location location) {
  Operand operand;
  operand.kind = Operand::Kind::Name;
  operand.name = name;
  operand.location = location;
  return operand;
}

/// Results, name or register, arguments.
struct CallOperands {
  const Operand *results = nullptr, *target = nullptr, *arguments = nullptr;

  explicit CallOperands(const Instruction &ast) {
    size_t next = 0;
    const std::vector<Operand> &operands = ast.operands;
    auto takes = [&](Operand::Kind kind) {
      return next < operands.size() && operands[next].kind == kind;
    };
    if (takes(Operand::Kind::List))
      results = &operands[next++];
    if (takes(Operand::Kind::Name))
      target = &operands[next++];
    if (takes(Operand::Kind::List))
      arguments = &operands[next++];
  }
};

const Operand *Expansion::throughRegister(const Instruction &ast) const {
  if (ast.opcode != "call")
    return nullptr;
  const Operand *target = CallOperands(ast).target;
  if (!target || functionAddress(module, target->name) != 0)
    return nullptr;
  return target->name[0] == '%' ? target : nullptr;
}

bool Expansion::listFits(const Operand *list,
                         const std::vector<Variable> &formals,
                         uint32_t scope) const {
  if ((list ? list->elements.size() : 0) != formals.size())
    return false;
  for (size_t i = 0; i < formals.size(); ++i)
    for (std::optional<uint32_t> at = scope; at;
         at = function.scopes[*at].parent) {
      auto found = function.scopes[*at].variables.find(list->elements[i].name);
      if (found == function.scopes[*at].variables.end())
        continue;
      if (function.variables[found->second].bytes != formals[i].bytes)
        return false;
      break;
    }
  return true;
}

bool Expansion::fits(const Instruction &ast, const Function &callee) const {
  CallOperands operands(ast);
  return listFits(operands.results, callee.results, ast.scope) &&
         listFits(operands.arguments, callee.parameters, ast.scope);
}

Instruction &Expansion::add(const Instruction &from, std::string_view opcode,
                            std::vector<std::string_view> modifiers,
                            std::vector<Operand> operands) {
  Instruction ast;
  ast.location = from.location;
  ast.opcode = opcode;
  ast.modifiers = std::move(modifiers);
  ast.operands = std::move(operands);
  ast.scope = from.scope;
  ast.text = from.text;
  code.push_back(std::move(ast));
  return code.back();
}

void Expansion::expand(const Instruction &call, const Operand &address) {
  Scope &scope = function.scopes[call.scope];
  std::string_view end = newName("$end"), isOther = newName("%isOther");
  scope.registers[isOther] = Type::Pred;
  const Location at = call.location;
  if (!call.guard.empty()) {
    Instruction &skip = add(call, "bra", {}, {nameOf(end, at)});
    skip.guard = call.guard;
    skip.isGuardNegated = !call.isGuardNegated;
  }
  for (const Function *callee : candidates) {
    if (!fits(call, *callee))
      continue;
    std::string_view other = newName("$other");
    Operand value;
    value.kind = Operand::Kind::Integer;
    value.bits = functionAddress(module, callee->name);
    value.location = at;
    add(call, "setp", {"ne", "b64"}, {nameOf(isOther, at), address, value});
    add(call, "bra", {}, {nameOf(other, at)}).guard = isOther;
    CallOperands operands(call);
    std::vector<Operand> direct;
    if (operands.results)
      direct.push_back(*operands.results);
    direct.push_back(nameOf(callee->name, address.location));
    if (operands.arguments)
      direct.push_back(*operands.arguments);
    add(call, "call", call.modifiers, std::move(direct));
    add(call, "bra", {}, {nameOf(end, at)});
    scope.labels[other] = uint32_t(code.size());
  }
  add(call, "trap", {}, {});
  scope.labels[end] = uint32_t(code.size());
}

void Expansion::run() {
  const std::vector<Instruction> original = std::move(function.instructions);
  auto isIndirect = [&](const Instruction &ast) {
    return throughRegister(ast) != nullptr;
  };
  if (std::none_of(original.begin(), original.end(), isIndirect)) {
    function.instructions = original;
    return;
  }
  // Where each instruction comes to stand: labels follow, those of expansions
  // are there already.
  std::vector<Scope> before = function.scopes;
  std::vector<uint32_t> places;
  for (const Instruction &ast : original) {
    places.push_back(uint32_t(code.size()));
    if (const Operand *address = throughRegister(ast))
      expand(ast, *address);
    else
      code.push_back(ast);
  }
  places.push_back(uint32_t(code.size()));
  for (size_t i = 0; i < before.size(); ++i)
    for (const auto &[label, index] : before[i].labels)
      function.scopes[i].labels[label] = places[index];
  function.instructions = std::move(code);
}

void addNames(const std::vector<Operand> &operands,
              std::set<std::string_view> &names) {
  for (const Operand &operand : operands) {
    if (operand.kind == Operand::Kind::Name)
      names.insert(operand.name);
    addNames(operand.elements, names);
  }
}

} // namespace

void deplo::emulator::expandIndirectCalls(Module &module,
                                          std::deque<std::string> &names) {
  std::set<std::string_view> taken;
  for (const Variable &variable : module.variables)
    for (const InitialValue &value : variable.initial)
      taken.insert(value.symbol);
  for (const Function &function : module.functions) {
    for (const Variable &variable : function.variables)
      for (const InitialValue &value : variable.initial)
        taken.insert(value.symbol);
    for (const Instruction &ast : function.instructions)
      if (ast.opcode != "call")
        addNames(ast.operands, taken);
  }
  std::vector<const Function *> candidates;
  for (const Function &function : module.functions)
    if (!function.isKernel && function.hasBody && taken.count(function.name))
      candidates.push_back(&function);
  for (Function &function : module.functions)
    Expansion(module, function, candidates, names).run();
}
