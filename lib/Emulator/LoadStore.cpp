// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ld, st, prefetch and the like.

#include "Lanes.h"
#include "Memory.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

/// Inst::a of loads and stores.
enum MemoryFlags : uint32_t { isStrong = 1, acquires = 2, releases = 4 };

uint64_t loadBytes(const uint8_t *from, uint32_t bytes) {
  switch (bytes) {
  case 1:
    return *from;
  case 2:
    return *reinterpret_cast<const uint16_t *>(from);
  case 4:
    return *reinterpret_cast<const uint32_t *>(from);
  default:
    return *reinterpret_cast<const uint64_t *>(from);
  }
}

void storeBytes(uint8_t *to, uint64_t value, uint32_t bytes) {
  switch (bytes) {
  case 1:
    *to = uint8_t(value);
    break;
  case 2:
    *reinterpret_cast<uint16_t *>(to) = uint16_t(value);
    break;
  case 4:
    *reinterpret_cast<uint32_t *>(to) = uint32_t(value);
    break;
  default:
    *reinterpret_cast<uint64_t *>(to) = value;
  }
}

bool isLocal(Space space, uint64_t address) {
  return space == Space::Local ||
         (space == Space::Generic && address >> spaceTagShift == localTag);
}

uint64_t localAddress(uint64_t address) {
  return address & ((uint64_t(1) << spaceTagShift) - 1);
}

void load(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t bytes = typeSize(inst.type), count = inst.results;
  const unsigned shift = 64 - 8 * std::min(bytes, 8u);
  const bool extendsSign = isSigned(inst.type);
  const Ref &base = inst.source(0);
  uint64_t addresses[lanesPerWarp] = {};
  Access access;
  access.isStrong = inst.a & isStrong;
  const bool tracks = warp.grid->checksUninitialized;
  uint32_t undefined = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t address = addresses[lane] = addressOf(warp, base, lane);
    const uint8_t *memory = accessMemory(warp, inst, lane, inst.space, address,
                                         bytes * count, access, bytes * count);
    if (!memory)
      return;
    if (tracks && isLocal(inst.space, address) &&
        !isLocalWritten(warp, lane, localAddress(address), bytes * count))
      undefined |= 1u << lane;
    for (uint32_t i = 0; i < count; ++i) {
      const Ref &result = inst.result(i);
      if (bytes == 16) {
        if (result.bank == Ref::Registers)
          std::memcpy(warp.row<uint8_t>(result) + lane * 16, memory + i * 16,
                      16);
        continue;
      }
      uint64_t value = loadBytes(memory + i * bytes, bytes);
      if (extendsSign)
        value = uint64_t(int64_t(value << shift) >> shift);
      writeLane(warp, result, lane, value);
    }
    if (inst.a & isStrong)
      acquireAt(warp, lane, inst.space, address);
  }
  if (undefined)
    for (uint32_t i = 0; i < count; ++i)
      if (inst.result(i).id)
        warp.undefine(inst.result(i).id, undefined);
  warp.strongAccesses += inst.a & isStrong;
  countAccess(warp, inst, inst.space, mask, addresses, bytes * count);
}

void store(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t bytes = typeSize(inst.type), count = inst.b;
  const Ref &base = inst.source(0);
  uint64_t addresses[lanesPerWarp] = {};
  Access access;
  access.isWrite = true;
  access.isStrong = inst.a & isStrong;
  uint32_t undefined = 0;
  if (warp.grid->checksUninitialized) {
    if (uint32_t lanes = mask & ~warp.defined[base.id])
      return warp.fail(Fault::UndefinedRegister, inst, int(firstLane(lanes)),
                       "a register is used that nothing has written");
    for (unsigned i = 0; i < count; ++i)
      undefined |= mask & ~warp.defined[inst.source(1 + i).id];
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t address = addresses[lane] = addressOf(warp, base, lane);
    if (inst.a & isStrong)
      releaseAt(warp, lane, inst.space, address, inst.a & releases);
    alignas(16) uint8_t value[32];
    for (uint32_t i = 0; i < count; ++i) {
      const Ref &source = inst.source(1 + i);
      if (bytes == 16)
        std::memcpy(value + i * 16, warp.row<uint8_t>(source) + lane * 16, 16);
      else
        storeBytes(value + i * bytes, readLane(warp, source, lane), bytes);
    }
    bool isUndefined = (undefined >> lane) & 1;
    if (isUndefined && !isLocal(inst.space, address))
      return warp.failAt(Fault::UndefinedRegister, inst, int(lane), address,
                         "a register is stored that nothing has written");
    access.value = inst.a & isStrong ? nullptr : value;
    uint8_t *memory = accessMemory(warp, inst, lane, inst.space, address,
                                   bytes * count, access, bytes * count);
    if (!memory)
      return;
    if (isUndefined)
      forgetLocal(warp, lane, localAddress(address), bytes * count);
    if (count == 1 && bytes <= 8) // At once, for others that poll it.
      storeBytes(memory, readLane(warp, inst.source(1), lane), bytes);
    else
      std::memcpy(memory, value, bytes * count);
  }
  if (inst.space != Space::Local)
    ++warp.block->cluster->events;
  countAccess(warp, inst, inst.space, mask, addresses, bytes * count);
}

Space spaceOf(const Form &form) {
  static constexpr Space spaces[] = {
      Space::Global, Space::Shared, Space::Shared, Space::Shared, Space::Local,
      Space::Const,  Space::Param,  Space::Param,  Space::Param};
  int index =
      form.which({"global", "shared", "shared::cta", "shared::cluster", "local",
                  "const", "param", "param::entry", "param::func"});
  return index < 0 ? Space::Generic : spaces[index];
}

uint32_t strengthOf(const Form &form) {
  if (form.has("acquire"))
    return isStrong | acquires;
  if (form.has("release"))
    return isStrong | releases;
  return form.has("relaxed") || form.has("volatile") || form.has("mmio")
             ? isStrong
             : 0;
}

/// Checks the vector's width and gives its elements.
std::vector<Operand> elementsOf(Form &form, const Operand &operand) {
  static constexpr uint32_t widths[] = {2, 4, 8};
  int index = form.which({"v2", "v4", "v8"});
  if (index < 0) {
    if (operand.kind != Operand::Kind::Vector)
      return {operand};
    form.decoder.fail(operand.location, "expected one register");
    return {};
  }
  if (operand.kind == Operand::Kind::Vector &&
      operand.elements.size() == widths[index])
    return operand.elements;
  form.decoder.fail(operand.location, "expected a vector of " +
                                          std::to_string(widths[index]) +
                                          " registers");
  return {};
}

Handler selectLoad(Form &form, Inst &inst) {
  inst.type = form.types.back();
  inst.space = spaceOf(form);
  inst.a = strengthOf(form);
  inst.undefined = Undefined::Reject;
  std::vector<Operand> elements = elementsOf(form, form.ast.operands[0]);
  for (const Operand &element : elements)
    form.decoder.addResult(element, inst.type, true);
  form.decoder.addAddress(form.ast.operands[1]);
  form.decoder.noteAccess(inst.space,
                          typeSize(inst.type) * uint32_t(elements.size()));
  return load;
}

Handler selectStore(Form &form, Inst &inst) {
  inst.type = form.types.back();
  inst.space = spaceOf(form);
  inst.a = strengthOf(form);
  inst.undefined = Undefined::Ignore; // Looked at lane by lane.
  form.decoder.addAddress(form.ast.operands[0]);
  std::vector<Operand> elements = elementsOf(form, form.ast.operands[1]);
  for (const Operand &element : elements)
    form.decoder.addSource(element, inst.type, true);
  inst.b = uint32_t(elements.size());
  form.decoder.noteAccess(inst.space, typeSize(inst.type) * inst.b);
  return store;
}

void nothing(Warp &, const Inst &, uint32_t) {}

Handler selectNothing(Form &, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return nothing;
}

/// createpolicy: cache policies change nothing, but have a value.
void createPolicy(Warp &warp, const Inst &inst, uint32_t mask) {
  writeLanes(warp.row<uint64_t>(inst.result(0)), mask,
             [](unsigned) { return uint64_t(0); });
}

Handler selectPolicy(Form &form, Inst &) {
  form.decoder.addResult(form.ast.operands[0], Type::B64);
  return createPolicy;
}

#define SCOPE "cta|cluster|gpu|sys"
#define SPACE                                                                  \
  "const|global|local|param|param::entry|param::func|shared|shared::cta|"      \
  "shared::cluster"
#define CACHE "L1::*? L2::*? L2::*? L2::*?"

const Definition table[] = {
    {"ld",
     "mmio? weak|volatile|relaxed|acquire? " SCOPE "? " SPACE
     "? ca|cg|cs|lu|cv? nc? " CACHE " v2|v4|v8? " DEPLO_PTX_ANY "|b128",
     "...2", selectLoad},
    {"ldu", "global? v2|v4? " DEPLO_PTX_ANY, "...2", selectLoad},
    {"st",
     "mmio? weak|volatile|relaxed|release? " SCOPE "? " SPACE
     "? wb|cg|cs|wt? " CACHE " v2|v4|v8? " DEPLO_PTX_ANY "|b128",
     "...2", selectStore},
    {"prefetch", "global|local? L1|L2|L2::*", "...1", selectNothing},
    {"prefetch", "const|param? tensormap", "...1", selectNothing},
    {"prefetchu", "L1", "...1", selectNothing},
    {"applypriority", "global? L2::*", "...2", selectNothing},
    {"discard", "global? L2", "...2", selectNothing},
    {"createpolicy", "fractional L2::* L2::*? b64", "...1", selectPolicy},
    {"createpolicy", "range global? L2::* L2::*? b64", "...1", selectPolicy},
    {"createpolicy", "cvt L2 b64", "...1", selectPolicy},
};

} // namespace

DefinitionList deplo::emulator::memoryDefinitions() { return listOf(table); }
