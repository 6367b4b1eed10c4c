// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mov, packing and unpacking, and the conversions between address spaces.

#include "Lanes.h"

#include <chrono>

using namespace deplo::emulator;

namespace {

template <typename T> void mov(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *a = warp.row<T>(inst.source(0));
  writeLanes(warp.row<T>(inst.result(0)), mask,
             [=](unsigned l) { return a[l]; });
}

void movPredicate(Warp &warp, const Inst &inst, uint32_t mask) {
  writePredicate(warp, inst.result(0), mask, warp.predicate(inst.source(0)));
}

/// Bytes of all sources, in order, to bytes of all results: packing,
/// unpacking, and 128-bit moves.
void movBytes(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    uint8_t bytes[64];
    unsigned size = 0;
    for (unsigned i = 0; i < inst.sources; ++i) {
      const Ref &ref = inst.source(i);
      std::memcpy(bytes + size, warp.row<uint8_t>(ref) + l * ref.bytes,
                  ref.bytes);
      size += ref.bytes;
    }
    size = 0;
    for (unsigned i = 0; i < inst.results; ++i) {
      const Ref &ref = inst.result(i);
      if (ref.bank == Ref::Registers)
        std::memcpy(warp.row<uint8_t>(ref) + l * ref.bytes, bytes + size,
                    ref.bytes);
      size += ref.bytes;
    }
  });
}

/// %clock and the like: instructions that the warp executed, or nanoseconds.
void movClock(Warp &warp, const Inst &inst, uint32_t mask) {
  uint64_t value = warp.instructions;
  if (inst.a)
    value = uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::steady_clock::now().time_since_epoch())
                         .count());
  forLanes(mask, [&](unsigned l) {
    writeLane(warp, inst.result(0), l, value >> inst.b);
  });
}

bool selectClock(std::string_view name, Inst &inst) {
  inst.a = name.substr(0, 12) == "%globaltimer";
  inst.b = name == "%clock_hi" || name == "%globaltimer_hi" ? 32 : 0;
  return inst.a || name == "%clock" || name == "%clock64" ||
         name == "%clock_hi";
}

/// Checks that the elements of a vector have `bytes` in all, and adds them.
void addVector(Form &form, const Operand &vector, uint32_t bytes,
               bool isResult) {
  static constexpr std::pair<uint32_t, Type> types[] = {
      {1, Type::B8}, {2, Type::B16}, {4, Type::B32}, {8, Type::B64}};
  size_t count = vector.elements.size();
  for (auto [size, type] : types) {
    if (count * size != bytes)
      continue;
    for (const Operand &element : vector.elements)
      isResult ? form.decoder.addResult(element, type)
               : form.decoder.addSource(element, type);
    return;
  }
  form.decoder.fail(vector.location, "the vector must have " +
                                         std::to_string(bytes) +
                                         " bytes in all");
}

Handler selectMov(Form &form, Inst &inst) {
  const Operand &to = form.ast.operands[0], &from = form.ast.operands[1];
  Type type = form.type();
  uint32_t bytes = typeSize(type);
  bool isVector =
      to.kind == Operand::Kind::Vector || from.kind == Operand::Kind::Vector;
  if (type == Type::Pred) {
    form.decoder.addPredicate(to, true);
    form.decoder.addPredicate(from, false);
    return movPredicate;
  }
  if (to.kind == Operand::Kind::Vector)
    addVector(form, to, bytes, true);
  else
    form.decoder.addResult(to, type);
  if (!isVector && from.kind == Operand::Kind::Name &&
      selectClock(from.name, inst))
    return movClock;
  if (from.kind == Operand::Kind::Vector)
    addVector(form, from, bytes, false);
  else
    form.decoder.addSource(from, type);
  if (bytes == 4 && to.elements.size() == 2)
    inst.undefined = Undefined::PropagateHalves;
  else if (bytes == 4 && from.elements.size() == 2)
    inst.undefined = Undefined::Pack;
  return isVector ? movBytes : moveHandler(bytes);
}

//===----------------------------------------------------------------------===//
// Address spaces
//===----------------------------------------------------------------------===//

/// The tag of a generic address of `space`; 0 where addresses are the same.
uint64_t tagOf(Space space) {
  if (space == Space::Shared)
    return sharedTag << spaceTagShift;
  return space == Space::Local ? localTag << spaceTagShift : 0;
}

Space spaceOf(const Form &form) {
  static constexpr Space spaces[] = {
      Space::Shared, Space::Shared, Space::Shared, Space::Global,
      Space::Local,  Space::Const,  Space::Param,  Space::Param};
  int index = form.which({"shared", "shared::cta", "shared::cluster", "global",
                          "local", "const", "param", "param::entry"});
  return index < 0 ? Space::Generic : spaces[index];
}

/// wide: what is added.
void cvta(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    writeLane(warp, inst.result(0), l,
              readLane(warp, inst.source(0), l) + inst.wide);
  });
}

Handler selectCvta(Form &form, Inst &inst) {
  uint64_t tag = tagOf(spaceOf(form));
  inst.wide = form.has("to") ? -tag : tag;
  return cvta;
}

/// a: the space.
void isspacep(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t result = 0;
  forLanes(mask, [&](unsigned l) {
    uint64_t address = readLane(warp, inst.source(0), l);
    uint64_t tag = address >> spaceTagShift;
    bool isParameter = tag == 0 && address - warp.grid->parameterAddress <
                                       warp.grid->kernel->parameterBytes;
    bool isConstant = false;
    if (tag == 0)
      for (const GlobalRegion &region : warp.grid->regions)
        isConstant |= region.isConstant && address >= region.begin &&
                      address < region.end;
    bool value = false;
    switch (Space(inst.a)) {
    case Space::Shared:
      value = tag == sharedTag;
      if (inst.b)
        value &=
            ((address & 0xffffffff) >> sharedRankShift) == warp.block->rank;
      break;
    case Space::Local:
      value = tag == localTag;
      break;
    case Space::Param:
      value = isParameter;
      break;
    case Space::Const:
      value = isConstant;
      break;
    default:
      value = tag == 0 && !isParameter && !isConstant;
    }
    result |= uint32_t(value) << l;
  });
  writePredicate(warp, inst.result(0), mask, result);
}

Handler selectIsspacep(Form &form, Inst &inst) {
  inst.a = uint32_t(spaceOf(form));
  inst.b = !form.has("shared::cluster");
  return isspacep;
}

/// mapa: the shared address of the same byte in block `b` of the cluster.
void mapa(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t *rank = warp.row<uint32_t>(inst.source(1));
  uint64_t blocks = warp.block->cluster->blocks.size();
  constexpr uint64_t offsetMask = (uint64_t(1) << sharedRankShift) - 1;
  forLanes(mask, [&](unsigned l) {
    uint64_t address = readLane(warp, inst.source(0), l);
    if (rank[l] >= blocks)
      return warp.fail(Fault::OutOfBounds, inst, int(l),
                       "there is no block " + std::to_string(rank[l]) +
                           " in a cluster of " + std::to_string(blocks));
    uint64_t mapped = (address & offsetMask) |
                      uint64_t(rank[l]) << sharedRankShift |
                      (address >> spaceTagShift << spaceTagShift);
    writeLane(warp, inst.result(0), l, mapped);
  });
}

/// getctarank: the block that a shared address is of.
void getctarank(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    uint64_t address = readLane(warp, inst.source(0), l) & 0xffffffff;
    writeLane(warp, inst.result(0), l, address >> sharedRankShift);
  });
}

#define SPACE                                                                  \
  "const|global|local|param|param::entry|shared|shared::cta|shared::cluster"

const Definition table[] = {
    {"mov", "pred|" DEPLO_PTX_ANY "|b128", "...2", selectMov},
    {"cvta", SPACE " u64|u32", "=T T", selectCvta},
    {"cvta", "to " SPACE " u64|u32", "=T T", selectCvta},
    {"isspacep", SPACE, "=p b64", selectIsspacep},
    {"mapa", "shared::cluster? u32|u64", "=T T u32",
     [](Form &, Inst &) -> Handler { return mapa; }},
    {"getctarank", "shared::cluster? u32|u64", "=u32 T",
     [](Form &, Inst &) -> Handler { return getctarank; }},
};

} // namespace

DefinitionList deplo::emulator::moveDefinitions() { return listOf(table); }

Handler deplo::emulator::moveHandler(uint32_t bytes) {
  switch (bytes) {
  case 2:
    return mov<uint16_t>;
  case 4:
    return mov<uint32_t>;
  case 8:
    return mov<uint64_t>;
  default:
    return movBytes;
  }
}
