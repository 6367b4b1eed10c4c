// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that a kernel calls, and calls of them.

#include "KernelDecoder.h"
#include "Stack.h"

#include <algorithm>

using namespace deplo::emulator;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

const Function *KernelDecoder::findFunction(std::string_view name) const {
  const Function *found = nullptr;
  for (const Function &function : module.functions)
    if (function.name == name && (!found || function.hasBody))
      found = &function;
  return found;
}

std::set<const Function *>
KernelDecoder::calleesOf(const Function &function) const {
  std::set<const Function *> callees;
  for (const Instruction &ast : function.instructions)
    forNames(ast.operands, [&](const Operand &operand) {
      if (ast.opcode != "call")
        return;
      const Function *callee = findFunction(operand.name);
      if (callee && callee->hasBody && !callee->isKernel)
        callees.insert(callee);
    });
  return callees;
}

/// The kernel first: it is entered at 0.
void KernelDecoder::collectFunctions(const Function &kernel) {
  auto add = [&](const Function &function) {
    if (!frames.emplace(&function, Frame()).second)
      return;
    frames[&function].function = &function;
    functions.push_back(&function);
  };
  add(kernel);
  for (size_t i = 0; i < functions.size(); ++i) {
    std::set<std::string_view> seen;
    for (const Instruction &ast : functions[i]->instructions)
      forNames(ast.operands, [&](const Operand &operand) {
        bool isRegister = operand.name[0] == '%' && ast.opcode != "call";
        if (isRegister || !seen.insert(operand.name).second)
          return;
        const Function *callee = findFunction(operand.name);
        if (callee && callee->hasBody && !callee->isKernel)
          add(*callee);
      });
  }
}

/// Those that are left when all that no function calls, and all that call no
/// function, are taken away until there are none: they are in a cycle of calls
/// or between two.
void KernelDecoder::findStackedFunctions() {
  std::map<const Function *, std::set<const Function *>> callees, callers;
  for (const Function *function : functions)
    for (const Function *callee : callees[function] = calleesOf(*function))
      callers[callee].insert(function);
  std::set<const Function *> left(functions.begin(), functions.end());
  auto peel = [&](auto &ahead, auto &behind) {
    std::vector<const Function *> work(left.begin(), left.end());
    while (!work.empty()) {
      const Function *function = work.back();
      work.pop_back();
      if (!left.count(function) || !ahead[function].empty())
        continue;
      left.erase(function);
      for (const Function *next : behind[function]) {
        ahead[next].erase(function);
        work.push_back(next);
      }
    }
  };
  peel(callers, callees);
  peel(callees, callers);
  for (const Function *function : functions) {
    if (!left.count(function))
      continue;
    stackedIndex[function] = uint32_t(kernel.stacked.size());
    kernel.stacked.emplace_back().name = std::string(function->name);
  }
}

StackedFunction *KernelDecoder::stackedFunction(const Function &function) {
  auto found = stackedIndex.find(&function);
  return found == stackedIndex.end() ? nullptr : &kernel.stacked[found->second];
}

/// Once all functions are decoded.
void KernelDecoder::measureFrames() {
  for (auto [function, index] : stackedIndex) {
    StackedFunction &stacked = kernel.stacked[index];
    for (const auto &[name, ref] : frames[function].registers) {
      stacked.registers.push_back(ref);
      stacked.bytes += std::max<uint32_t>(ref.bytes, 1);
    }
    for (const auto &[key, ref] : frames[function].addresses)
      stacked.addresses.push_back({ref, key.second});
    // Apart, so that an overrun is seen, and not without an end.
    stacked.bytes = (stacked.bytes + 31) / 16 * 16;
  }
}

Ref KernelDecoder::frameRef(uint8_t bytes, uint64_t offset) {
  Ref &ref = current->addresses[{bytes, offset}];
  if (ref.bank != Ref::Registers)
    ref = newRow(bytes, instruction->location);
  return ref;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Ref KernelDecoder::formalRef(const CallSite &site, const Variable &formal) {
  Frame *caller = current;
  current = &frames[&site.callee];
  Entity entity;
  entity.type = formal.type;
  Ref ref = registerRef(entity, formal.name, site.ast.location);
  current = caller;
  return ref;
}

/// From the one source to the one result.
void KernelDecoder::emitMove(const CallSite &site, const Variable &formal) {
  Inst inst;
  inst.run = moveHandler(typeSize(formal.type));
  emit(inst, site.ast);
}

/// An argument into a callee's parameter, or a result out of it.
void KernelDecoder::emitParameterCopy(const CallSite &site,
                                      const Operand &argument,
                                      const Variable &formal, bool isIn) {
  const Variable *inner = nullptr;
  for (const Variable &variable : site.callee.variables)
    if (variable.name == formal.name)
      inner = &variable;
  Entity entity = argument.kind == Operand::Kind::Name
                      ? lookUp(argument.name, site.ast.scope)
                      : Entity();
  if (!inner || entity.kind != Entity::Kind::Variable ||
      localOffset(*entity.variable) == ~0u)
    return fail(argument.location, "expected a '.param' variable");
  if (entity.variable->bytes < formal.bytes)
    return fail(argument.location, "the argument is smaller than the "
                                   "parameter");
  FrameBase callee =
      stackedFunction(site.callee) ? FrameBase::Top : FrameBase::None;
  FrameBase caller = FrameBase::None;
  if (stackedFunction(*current->function))
    caller = callee == FrameBase::Top ? FrameBase::BelowTop : FrameBase::Top;
  Inst inst;
  inst.run = copyParameterHandler();
  inst.a = localOffset(*entity.variable);
  inst.b = localOffset(*inner);
  inst.wide = isIn ? packBases(caller, callee) : packBases(callee, caller);
  if (!isIn)
    std::swap(inst.a, inst.b);
  inst.c = uint32_t(formal.bytes);
  emit(inst, site.ast);
}

void KernelDecoder::emitCallTo(const CallSite &site) {
  Inst inst;
  inst.run = callHandler();
  calls.push_back({uint32_t(kernel.code.size()), &site.callee});
  emit(inst, site.ast);
}

void KernelDecoder::emitStaticCall(const CallSite &site) {
  const std::vector<Variable> &parameters = site.callee.parameters;
  const std::vector<Variable> &outcomes = site.callee.results;
  for (size_t i = 0; i < parameters.size() && !error; ++i) {
    if (parameters[i].space != Space::Register) {
      emitParameterCopy(site, site.arguments[i], parameters[i], true);
      continue;
    }
    results.push_back(formalRef(site, parameters[i]));
    addSource(site.arguments[i], parameters[i].type, false);
    emitMove(site, parameters[i]);
  }
  if (error)
    return;
  emitCallTo(site);
  for (size_t i = 0; i < outcomes.size() && !error; ++i) {
    if (outcomes[i].space != Space::Register) {
      emitParameterCopy(site, site.results[i], outcomes[i], false);
      continue;
    }
    sources.push_back(formalRef(site, outcomes[i]));
    addResult(site.results[i], outcomes[i].type, false);
    emitMove(site, outcomes[i]);
  }
}

/// See Stack.h. Lanes that don't call go around it all: what guards the call
/// may have another value when the function comes back to it.
void KernelDecoder::emitStackedCall(const CallSite &site) {
  const Instruction &ast = site.ast;
  const std::vector<Variable> &parameters = site.callee.parameters;
  const std::vector<Variable> &outcomes = site.callee.results;
  const auto around = uint32_t(kernel.code.size());
  if (!ast.guard.empty()) {
    Inst inst;
    inst.isBranch = true;
    inst.run = branchHandler();
    emit(inst, ast);
    if (error)
      return;
    kernel.code[around].guard.isNegated ^= true;
  }
  isGuardTaken = true;
  auto temporary = [&](const Variable &formal) {
    Ref ref = newRow(uint8_t(typeSize(formal.type)), ast.location);
    ref.id = kernel.ids++;
    return ref;
  };
  std::vector<Ref> values(parameters.size());
  for (size_t i = 0; i < parameters.size() && !error; ++i) {
    if (parameters[i].space != Space::Register)
      continue;
    values[i] = temporary(parameters[i]);
    results.push_back(values[i]);
    addSource(site.arguments[i], parameters[i].type, false);
    emitMove(site, parameters[i]);
  }
  Inst frame;
  frame.run = enterFrameHandler();
  frame.a = stackedIndex[&site.callee];
  if (stackedFunction(*current->function))
    frame.b = stackedIndex[current->function] + 1;
  emit(frame, ast);
  for (size_t i = 0; i < parameters.size() && !error; ++i) {
    if (parameters[i].space != Space::Register) {
      emitParameterCopy(site, site.arguments[i], parameters[i], true);
      continue;
    }
    results.push_back(formalRef(site, parameters[i]));
    sources.push_back(values[i]);
    emitMove(site, parameters[i]);
  }
  emitCallTo(site);
  values.assign(outcomes.size(), Ref());
  for (size_t i = 0; i < outcomes.size() && !error; ++i) {
    if (outcomes[i].space != Space::Register) {
      emitParameterCopy(site, site.results[i], outcomes[i], false);
      continue;
    }
    values[i] = temporary(outcomes[i]);
    results.push_back(values[i]);
    sources.push_back(formalRef(site, outcomes[i]));
    emitMove(site, outcomes[i]);
  }
  frame.run = leaveFrameHandler();
  emit(frame, ast);
  for (size_t i = 0; i < outcomes.size() && !error; ++i) {
    if (outcomes[i].space != Space::Register)
      continue;
    addResult(site.results[i], outcomes[i].type, false);
    sources.push_back(values[i]);
    emitMove(site, outcomes[i]);
  }
  isGuardTaken = false;
  if (!ast.guard.empty()) {
    kernel.code[around].target = uint32_t(kernel.code.size());
    branchTargets[around] = {uint32_t(kernel.code.size())};
  }
}

void KernelDecoder::decodeCall(const Instruction &ast) {
  static const std::vector<Operand> none;
  const std::vector<Operand> &operands = ast.operands;
  size_t next = 0;
  auto takeList = [&]() -> const std::vector<Operand> & {
    bool isThere =
        next < operands.size() && operands[next].kind == Operand::Kind::List;
    return isThere ? operands[next++].elements : none;
  };
  const std::vector<Operand> &resultList = takeList();
  if (next >= operands.size() || operands[next].kind != Operand::Kind::Name)
    return fail(ast.location, "expected a function to call");
  const Operand &name = operands[next++];
  const std::vector<Operand> &argumentList = takeList();
  Entity entity = lookUp(name.name, ast.scope);
  const Function *callee = entity.function;
  if (!callee || callee->isKernel)
    return fail(name.location,
                "there is no function '" + std::string(name.name) + "'");
  if (resultList.size() != callee->results.size() ||
      argumentList.size() != callee->parameters.size())
    return fail(ast.location, "'" + std::string(callee->name) + "' takes " +
                                  std::to_string(callee->parameters.size()) +
                                  " arguments and gives " +
                                  std::to_string(callee->results.size()) +
                                  " results, got " +
                                  std::to_string(argumentList.size()) +
                                  " and " + std::to_string(resultList.size()));
  if (!callee->hasBody) {
    Inst inst;
    inst.run = unknownCallHandler();
    return emit(inst, ast);
  }
  CallSite site = {ast, *callee, resultList, argumentList};
  stackedFunction(*callee) ? emitStackedCall(site) : emitStaticCall(site);
}
