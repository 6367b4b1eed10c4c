// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom and red.

#include "Float.h"
#include "Lanes.h"
#include "Memory.h"

#include <algorithm>
#include <mutex>

using namespace deplo::emulator;

namespace {

enum class AtomicOp : uint32_t {
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exchange,
  CompareAndSwap
};

/// Inst::b
enum AtomicFlags : uint32_t { acquires = 1, releases = 2 };

/// Atomic accesses of the same memory exclude each other; there is one lock
/// for many addresses.
std::mutex &lockOf(const void *memory) {
  static std::mutex locks[64];
  return locks[(reinterpret_cast<uintptr_t>(memory) >> 4) % 64];
}

template <typename T> T combineIntegers(AtomicOp op, T old, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case AtomicOp::Add:
    return T(U(old) + U(a));
  case AtomicOp::Min:
    return std::min(old, a);
  case AtomicOp::Max:
    return std::max(old, a);
  case AtomicOp::Inc:
    return U(old) >= U(a) ? T(0) : T(U(old) + 1);
  case AtomicOp::Dec:
    return U(old) == 0 || U(old) > U(a) ? a : T(U(old) - 1);
  case AtomicOp::And:
    return T(old & a);
  case AtomicOp::Or:
    return T(old | a);
  case AtomicOp::Xor:
    return T(old ^ a);
  case AtomicOp::Exchange:
    return a;
  case AtomicOp::CompareAndSwap:
    return old == a ? b : old;
  }
  return old;
}

uint16_t combineHalf(AtomicOp op, Format format, uint16_t old, uint16_t a) {
  double x = decode(format, old), y = decode(format, a);
  double value = addToOdd(x, y);
  if (op == AtomicOp::Min)
    value = lesserOf(x, y);
  else if (op == AtomicOp::Max)
    value = greaterOf(x, y);
  return uint16_t(encode(format, value, Rounding::NearestEven));
}

/// f32 additions flush subnormal numbers in global memory only.
float addFloats(float a, float b, bool isGlobal) {
  float sum = isGlobal ? flush(flush(a) + flush(b)) : a + b;
  return sum != sum ? asFloat(canonicalNan) : sum;
}

double addDoubles(double a, double b, bool isGlobal) {
  double sum = addInMemory(a, b);
  return isGlobal || sum == sum ? sum : quieted(sum);
}

uint64_t combine(AtomicOp op, Type type, uint64_t old, uint64_t a, uint64_t b,
                 bool isGlobal) {
  switch (type) {
  case Type::S32:
    return uint32_t(
        combineIntegers<int32_t>(op, int32_t(old), int32_t(a), int32_t(b)));
  case Type::S64:
    return uint64_t(
        combineIntegers<int64_t>(op, int64_t(old), int64_t(a), int64_t(b)));
  case Type::B16:
    return combineIntegers<uint16_t>(op, uint16_t(old), uint16_t(a),
                                     uint16_t(b));
  case Type::B32:
  case Type::U32:
    return combineIntegers<uint32_t>(op, uint32_t(old), uint32_t(a),
                                     uint32_t(b));
  case Type::F32:
    return asBits(
        addFloats(asFloat(uint32_t(old)), asFloat(uint32_t(a)), isGlobal));
  case Type::F64:
    return asBits(addDoubles(asDouble(old), asDouble(a), isGlobal));
  case Type::F16:
    return combineHalf(op, f16Format, uint16_t(old), uint16_t(a));
  case Type::BF16:
    return combineHalf(op, bf16Format, uint16_t(old), uint16_t(a));
  case Type::F16x2:
  case Type::BF16x2: {
    Format format = type == Type::F16x2 ? f16Format : bf16Format;
    uint32_t low = combineHalf(op, format, uint16_t(old), uint16_t(a));
    uint32_t high =
        combineHalf(op, format, uint16_t(old >> 16), uint16_t(a >> 16));
    return low | high << 16;
  }
  default:
    return combineIntegers<uint64_t>(op, old, a, b);
  }
}

/// a: the operation. c: elements of a vector. A red has no results.
void atomic(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t bytes = typeSize(inst.type), count = inst.c;
  const AtomicOp op = AtomicOp(inst.a);
  Access access;
  access.isWrite = access.isStrong = true;
  uint64_t addresses[lanesPerWarp] = {};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    uint64_t address = addresses[lane] = addressOf(warp, inst.source(0), lane);
    Space space = inst.space;
    if (space == Space::Generic)
      std::tie(space, address) = resolveGeneric(address);
    Access read = access;
    read.isWrite = false;
    uint8_t *memory = accessMemory(warp, inst, lane, space, address,
                                   bytes * count, read, bytes * count);
    if (!memory || !accessMemory(warp, inst, lane, space, address,
                                 bytes * count, access, bytes * count))
      return;
    std::lock_guard<std::mutex> lock(lockOf(memory));
    releaseAt(warp, lane, space, address, inst.b & releases);
    acquireAt(warp, lane, space, address);
    if (bytes == 16) {
      uint8_t old[16];
      std::memcpy(old, memory, 16);
      const uint8_t *a = warp.row<uint8_t>(inst.source(1)) + lane * 16;
      const uint8_t *swap = a;
      if (op == AtomicOp::CompareAndSwap)
        swap = std::memcmp(old, a, 16) == 0
                   ? warp.row<uint8_t>(inst.source(2)) + lane * 16
                   : old;
      std::memcpy(memory, swap, 16);
      if (inst.results && inst.result(0).bank == Ref::Registers)
        std::memcpy(warp.row<uint8_t>(inst.result(0)) + lane * 16, old, 16);
      continue;
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t old = 0;
      std::memcpy(&old, memory + i * bytes, bytes);
      uint64_t a = readLane(warp, inst.source(1 + i), lane);
      uint64_t b = op == AtomicOp::CompareAndSwap
                       ? readLane(warp, inst.source(2), lane)
                       : 0;
      uint64_t value =
          combine(op, inst.type, old, a, b, space == Space::Global);
      std::memcpy(memory + i * bytes, &value, bytes);
      if (inst.results)
        writeLane(warp, inst.result(i), lane, old);
    }
  }
  ++warp.strongAccesses;
  ++warp.block->cluster->events;
  countAccess(warp, inst, inst.space, mask, addresses, bytes * count);
}

Handler selectAtomic(Form &form, Inst &inst) {
  bool isReduction = form.ast.opcode == "red";
  int op = form.which(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  inst.a = uint32_t(op);
  inst.type = form.types.back();
  inst.undefined = Undefined::Reject;
  inst.space = form.has("global") ? Space::Global
               : form.has("shared") || form.has("shared::cta") ||
                       form.has("shared::cluster")
                   ? Space::Shared
                   : Space::Generic;
  inst.b =
      (form.has("acquire") || form.has("acq_rel") ? uint32_t(acquires) : 0) |
      (form.has("release") || form.has("acq_rel") ? uint32_t(releases) : 0);
  static constexpr uint32_t widths[] = {1, 2, 4, 8};
  inst.c = widths[form.which({"v2", "v4", "v8"}) + 1];
  const std::vector<Operand> &operands = form.ast.operands;
  size_t next = 0;
  size_t wanted = (isReduction ? 2 : 3) +
                  (AtomicOp(op) == AtomicOp::CompareAndSwap ? 1 : 0);
  if (operands.size() < wanted) {
    form.decoder.fail(form.ast.location,
                      "expected " + std::to_string(wanted) + " operands");
    return nullptr;
  }
  auto addAll = [&](const Operand &operand, bool isResult) {
    std::vector<Operand> elements = {operand};
    if (inst.c > 1)
      elements = operand.elements;
    if (elements.size() != inst.c)
      return form.decoder.fail(operand.location, "expected a vector of " +
                                                     std::to_string(inst.c) +
                                                     " registers");
    for (const Operand &element : elements)
      isResult ? form.decoder.addResult(element, inst.type)
               : form.decoder.addSource(element, inst.type);
  };
  if (!isReduction)
    addAll(operands[next++], true);
  form.decoder.addAddress(operands[next++]);
  addAll(operands[next++], false);
  if (AtomicOp(op) == AtomicOp::CompareAndSwap)
    addAll(operands[next++], false);
  form.decoder.noteAccess(inst.space, typeSize(inst.type) * inst.c);
  return atomic;
}

#define ORDER "relaxed|acquire|release|acq_rel?"
#define SCOPE "cta|cluster|gpu|sys?"
#define SPACE "global|shared|shared::cta|shared::cluster?"
#define CACHE "L1::*? L2::*?"

const Definition table[] = {
    {"atom",
     ORDER " " SCOPE " " SPACE " exch|cas|and|or|xor " CACHE
           " b16|b32|b64|b128",
     "...3", selectAtomic},
    {"atom",
     ORDER " " SCOPE " " SPACE " add|min|max|inc|dec " CACHE
           " u32|u64|s32|s64|f32|f64",
     "...3", selectAtomic},
    {"atom",
     ORDER " " SCOPE " " SPACE " add|min|max noftz? " CACHE
           " v2|v4|v8? f16|f16x2|bf16|bf16x2|f32",
     "...3", selectAtomic},
    {"red", ORDER " " SCOPE " " SPACE " and|or|xor " CACHE " b32|b64", "...2",
     selectAtomic},
    {"red",
     ORDER " " SCOPE " " SPACE " add|min|max|inc|dec " CACHE
           " u32|u64|s32|s64|f32|f64",
     "...2", selectAtomic},
    {"red",
     ORDER " " SCOPE " " SPACE " add|min|max noftz? " CACHE
           " v2|v4|v8? f16|f16x2|bf16|bf16x2|f32",
     "...2", selectAtomic},
};

} // namespace

DefinitionList deplo::emulator::atomicDefinitions() { return listOf(table); }
