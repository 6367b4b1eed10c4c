// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of a kernel and the functions that it calls to instructions
// that can be interpreted.

#include "ControlFlow.h"
#include "KernelDecoder.h"

#include <algorithm>

using namespace deplo::emulator;
using deplo::runtime::Result;
using deplo::runtime::Status;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

void KernelDecoder::decodeOperands(const Definition &definition, Form &form) {
  const std::vector<Operand> &operands = form.ast.operands;
  std::string_view spec = definition.operands;
  size_t next = 0;
  while (!spec.empty() && !error) {
    size_t end = spec.find(' ');
    std::string_view word = spec.substr(0, end);
    spec = end == std::string_view::npos ? std::string_view()
                                         : spec.substr(end + 1);
    if (word.substr(0, 3) == "...") {
      size_t least = size_t(word[3] - '0');
      if (operands.size() - std::min(next, operands.size()) < least)
        fail(form.ast.location,
             "expected at least " + std::to_string(least) + " operands");
      return;
    }
    bool isOptional = word.back() == '?';
    if (isOptional)
      word.remove_suffix(1);
    if (next >= operands.size()) {
      if (isOptional)
        continue;
      return fail(form.ast.location, "too few operands for '" +
                                         std::string(form.ast.opcode) + "'");
    }
    const Operand *operand = &operands[next++];
    bool isLoose = word[0] == '~';
    if (isLoose)
      word.remove_prefix(1);
    bool isResult = word[0] == '=';
    if (isResult)
      word.remove_prefix(1);
    if (word == "@")
      continue;
    if (word == "[]") {
      addAddress(*operand);
      continue;
    }
    if (size_t bar = word.find('|'); bar != std::string_view::npos) {
      word = word.substr(0, bar);
      const Operand *second = nullptr;
      if (operand->kind == Operand::Kind::Pair) {
        second = &operand->elements[1];
        operand = &operand->elements[0];
      }
      if (word == "p")
        addPredicate(*operand, true);
      else
        addResult(*operand, word == "T" ? form.type() : *parseType(word),
                  false);
      if (second)
        addPredicate(*second, true);
      continue;
    }
    if (word == "p") {
      addPredicate(*operand, isResult);
      continue;
    }
    Type type = word == "T"   ? form.type(0)
                : word == "U" ? form.type(1)
                : word == "V" ? form.type(2)
                : word == "W" ? widened(form.type(0))
                              : *parseType(word);
    isResult ? addResult(*operand, type, isLoose)
             : addSource(*operand, type, isLoose);
  }
  if (!error && next < operands.size())
    fail(operands[next].location,
         "too many operands for '" + std::string(form.ast.opcode) + "'");
}

void KernelDecoder::emit(Inst inst, const Instruction &ast) {
  inst.results = uint16_t(results.size());
  inst.sources = uint16_t(sources.size());
  // An index for now: the vector moves as it grows.
  inst.op = reinterpret_cast<const Ref *>(kernel.refs.size());
  kernel.refs.insert(kernel.refs.end(), results.begin(), results.end());
  kernel.refs.insert(kernel.refs.end(), sources.begin(), sources.end());
  results.clear();
  sources.clear();
  if (!ast.guard.empty() && !isGuardTaken) {
    Operand guard;
    guard.kind = Operand::Kind::Name;
    guard.name = ast.guard;
    guard.location = ast.location;
    guard.isNegated = ast.isGuardNegated;
    addPredicate(guard, false);
    if (error)
      return;
    inst.guard = sources.back();
    inst.hasGuard = true;
    sources.clear();
  }
  inst.origin =
      uint32_t(&ast - current->function->instructions.data()) + originBase;
  kernel.code.push_back(inst);
}

void KernelDecoder::decodeInstruction(const Instruction &ast) {
  instruction = &ast;
  target.reset();
  addressIsLocal = false;
  if (ast.opcode == "call")
    return decodeCall(ast);
  Form form = {*this, ast, {}, {}};
  std::string message;
  const Definition *definition = findDefinition(ast, form, message);
  if (!definition)
    return fail(ast.location, message + " in '" + std::string(ast.text) + "'");
  Inst inst;
  decodeOperands(*definition, form);
  if (error)
    return;
  inst.run = definition->select(form, inst);
  if (error)
    return;
  if (!inst.run)
    return fail(ast.location, "this form of '" + std::string(ast.opcode) +
                                  "' can't be emulated");
  if (addressIsLocal)
    inst.space = Space::Local;
  uint32_t pc = uint32_t(kernel.code.size());
  if (ast.opcode == "ret" && !current->function->isKernel) {
    // To the one return at the end.
    inst = Inst();
    inst.isBranch = true;
    inst.run = branchHandler();
    returnBranches.push_back(pc);
  }
  emit(inst, ast);
  if (target)
    fixups.push_back({pc, &ast, *target, targetLocation});
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void KernelDecoder::decodeFunction(Frame &frame) {
  current = &frame;
  const Function &function = *frame.function;
  frame.begin = uint32_t(kernel.code.size());
  originBase = uint32_t(kernel.origins.size());
  for (const Instruction &ast : function.instructions)
    kernel.origins.push_back({ast.location, ast.text, ast.opcode});
  fixups.clear();
  returnBranches.clear();
  tableUses.clear();
  tableNames.clear();
  branchTargets.clear();
  for (const Instruction &ast : function.instructions) {
    frame.pcs.push_back(uint32_t(kernel.code.size()));
    decodeInstruction(ast);
    if (error)
      return;
  }
  frame.pcs.push_back(uint32_t(kernel.code.size()));
  // What runs off the end returns.
  Inst last;
  last.run = returnHandler();
  last.isEnd = true;
  last.origin =
      kernel.origins.empty() ? 0 : uint32_t(kernel.origins.size() - 1);
  if (function.instructions.empty()) {
    kernel.origins.push_back({function.location, "ret", "ret"});
    last.origin = uint32_t(kernel.origins.size() - 1);
  }
  last.op = reinterpret_cast<const Ref *>(kernel.refs.size());
  kernel.code.push_back(last);
  frame.end = uint32_t(kernel.code.size());
  for (uint32_t pc : returnBranches) {
    kernel.code[pc].target = frame.end - 1;
    branchTargets[pc] = {frame.end - 1};
  }
  resolveBranches(frame);
  if (!error)
    analyzeControlFlow(kernel, frame.begin, frame.end, branchTargets);
}

void KernelDecoder::resolveBranches(Frame &frame) {
  const Function &function = *frame.function;
  auto find = [&](std::string_view label, uint32_t scope,
                  Location location) -> uint32_t {
    for (std::optional<uint32_t> at = scope; at;
         at = function.scopes[*at].parent) {
      auto found = function.scopes[*at].labels.find(label);
      if (found != function.scopes[*at].labels.end())
        return frame.pcs[found->second];
    }
    fail(location, "there is no label '" + std::string(label) + "'");
    return frame.begin;
  };
  for (const Fixup &fixup : fixups) {
    uint32_t pc = find(fixup.label, fixup.ast->scope, fixup.location);
    kernel.code[fixup.pc].target = pc;
    branchTargets[fixup.pc] = {pc};
  }
  for (size_t i = 0; i < tableUses.size(); ++i) {
    auto [number, ast] = tableUses[i];
    auto [scope, name] = tableNames[i];
    for (std::string_view label :
         function.scopes[scope].tables.find(name)->second)
      kernel.tables[number].push_back(find(label, scope, ast->location));
    uint32_t pc = frame.pcs[size_t(ast - function.instructions.data())];
    branchTargets[pc] = kernel.tables[number];
  }
}

Result<Kernel> KernelDecoder::decode(const Function &function) {
  kernel.name = std::string(function.name);
  kernel.function = &function;
  // The carry flag, one that is always true and one for results that nobody
  // wants.
  kernel.predicates = 3;
  collectFunctions(function);
  findStackedFunctions();
  for (const Variable &parameter : function.parameters) {
    uint64_t alignment = std::max<uint64_t>(parameter.alignment, 1);
    uint64_t offset =
        (kernel.parameterBytes + alignment - 1) / alignment * alignment;
    for (const Variable &variable : function.variables)
      if (variable.name == parameter.name && variable.space == Space::Param) {
        parameterOffsets[&variable] = offset;
        break;
      }
    kernel.parameterOffsets.push_back(uint32_t(offset));
    kernel.parameterBytes = offset + parameter.bytes;
  }
  placeVariables();
  for (const Function *each : functions) {
    decodeFunction(frames[each]);
    if (error)
      return Status::failure(*error);
  }
  for (auto [pc, callee] : calls)
    kernel.code[pc].target = frames[callee].begin;
  measureFrames();
  for (Inst &inst : kernel.code)
    inst.op = kernel.refs.data() + reinterpret_cast<uintptr_t>(inst.op);
  return std::move(kernel);
}

Result<Kernel> deplo::emulator::decodeKernel(const Module &module,
                                             const Function &function,
                                             const GlobalImage &image) {
  return KernelDecoder(module, image).decode(function);
}
