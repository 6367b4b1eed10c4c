// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands, as definitions and selectors ask for them.

#include "Float.h"
#include "IndirectCalls.h"
#include "KernelDecoder.h"

#include <algorithm>

using namespace deplo::emulator;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void KernelDecoder::addResult(const Operand &operand, Type type,
                              bool mayBeWider) {
  if (operand.kind == Operand::Kind::Sink) {
    Ref &sink = sinks[typeSize(type)];
    if (sink.bank == Ref::None)
      sink = newRow(uint8_t(typeSize(type)), operand.location);
    results.push_back(sink);
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a register for the result");
  Entity entity = lookUp(operand.name, instruction->scope);
  if (entity.kind != Entity::Kind::Register)
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not a register");
  uint32_t bytes = typeSize(entity.type), wanted = typeSize(type);
  if (mayBeWider ? bytes < wanted : bytes != wanted)
    return fail(operand.location, "'" + std::string(operand.name) + "' has " +
                                      std::to_string(8 * bytes) +
                                      " bits, expected " +
                                      std::to_string(8 * wanted) + " for '." +
                                      std::string(typeName(type)) + "'");
  results.push_back(registerRef(entity, operand.name, operand.location));
}

void KernelDecoder::addSource(const Operand &operand, Type type,
                              bool mayBeWider) {
  uint32_t wanted = typeSize(type);
  if (operand.kind == Operand::Kind::Integer ||
      operand.kind == Operand::Kind::Float) {
    sources.push_back(constantRef(wanted, immediateBits(operand, type)));
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a register or a constant");
  Entity entity = lookUp(operand.name, instruction->scope);
  switch (entity.kind) {
  case Entity::Kind::Register: {
    uint32_t bytes = typeSize(entity.type);
    if (mayBeWider ? bytes < wanted : bytes != wanted)
      return fail(operand.location, "'" + std::string(operand.name) + "' has " +
                                        std::to_string(8 * bytes) +
                                        " bits, expected " +
                                        std::to_string(8 * wanted) + " for '." +
                                        std::string(typeName(type)) + "'");
    sources.push_back(registerRef(entity, operand.name, operand.location));
    return;
  }
  case Entity::Kind::Special:
    sources.push_back(
        ambientRef(entity.special->kind,
                   uint8_t(mayBeWider ? entity.special->bytes : wanted),
                   entity.special->value));
    return;
  case Entity::Kind::Variable:
    if (wanted != 4 && wanted != 8)
      return fail(operand.location, "an address has 32 or 64 bits");
    sources.push_back(variableRef(*entity.variable, wanted, operand.bits));
    return;
  case Entity::Kind::Function:
    if (wanted != 8)
      return fail(operand.location, "the address of a function has 64 bits");
    sources.push_back(
        constantRef(wanted, functionAddress(module, entity.function->name)));
    return;
  default:
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not known here");
  }
}

void KernelDecoder::addAddress(const Operand &operand) {
  if (operand.kind != Operand::Kind::Address || operand.elements.empty())
    return fail(operand.location, "expected an address as '[register+4]'");
  const Operand &base = operand.elements[0];
  Ref ref;
  if (base.kind == Operand::Kind::Integer) {
    ref = constantRef(8, base.bits);
  } else if (base.kind != Operand::Kind::Name) {
    return fail(base.location, "expected a register or a variable");
  } else {
    Entity entity = lookUp(base.name, instruction->scope);
    uint32_t bytes =
        entity.kind == Entity::Kind::Register ? typeSize(entity.type) : 8;
    if (entity.kind == Entity::Kind::Register && (bytes == 4 || bytes == 8))
      ref = registerRef(entity, base.name, base.location);
    else if (entity.kind == Entity::Kind::Variable)
      ref = variableRef(*entity.variable, 8, 0);
    else
      return fail(base.location,
                  "'" + std::string(base.name) + "' is not an address");
    if (entity.variable)
      addressIsLocal = entity.variable->space == Space::Param &&
                       localOffsets.count(entity.variable);
  }
  ref.displacement = int64_t(operand.bits);
  sources.push_back(ref);
}

void KernelDecoder::addPredicate(const Operand &operand, bool isResult) {
  Ref ref;
  if (operand.kind == Operand::Kind::Sink && isResult) {
    ref.bank = Ref::Predicate;
    ref.offset = 2; // Which nothing reads.
    results.push_back(ref);
    return;
  }
  if (operand.kind == Operand::Kind::Integer && !isResult) {
    // A constant: predicates past the last are set up by the decoder.
    ref.bank = Ref::Predicate;
    ref.offset = 1; // Always true.
    ref.isNegated = operand.bits == 0;
    sources.push_back(ref);
    return;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail(operand.location, "expected a predicate");
  Entity entity = lookUp(operand.name, instruction->scope);
  if (entity.kind != Entity::Kind::Predicate)
    return fail(operand.location,
                "'" + std::string(operand.name) + "' is not a predicate");
  ref = registerRef(entity, operand.name, operand.location);
  ref.isNegated = operand.isNegated;
  if (isResult && operand.isNegated)
    return fail(operand.location, "a result can't be negated");
  (isResult ? results : sources).push_back(ref);
}

std::optional<int64_t> KernelDecoder::constant(const Operand &operand) {
  if (operand.kind == Operand::Kind::Integer)
    return int64_t(operand.bits);
  return std::nullopt;
}

void KernelDecoder::setTarget(const Operand &label) {
  if (label.kind != Operand::Kind::Name)
    return fail(label.location, "expected a label");
  target = label.name;
  targetLocation = label.location;
}

uint32_t KernelDecoder::table(const Operand &name) {
  const Function &function = *current->function;
  for (std::optional<uint32_t> at = instruction->scope; at;
       at = function.scopes[*at].parent) {
    auto found = function.scopes[*at].tables.find(name.name);
    if (found == function.scopes[*at].tables.end())
      continue;
    kernel.tables.emplace_back();
    tableUses.push_back({uint32_t(kernel.tables.size() - 1), instruction});
    tableNames.push_back({*at, found->first});
    return uint32_t(kernel.tables.size() - 1);
  }
  fail(name.location, "expected a table of labels");
  return 0;
}

void KernelDecoder::noteAccess(Space space, uint32_t bytes) {
  bytes = std::clamp(bytes, 1u, 16u);
  bytes &= -bytes;
  if (space == Space::Shared || space == Space::Generic)
    kernel.sharedGranule = std::min(kernel.sharedGranule, bytes);
  if (space == Space::Global || space == Space::Generic)
    kernel.globalGranule = std::min(kernel.globalGranule, bytes);
}
