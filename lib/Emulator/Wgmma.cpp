// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma. Each warp of the warpgroup multiplies 16 of the 64 rows, when it comes
// to the instruction; the accumulators may not be touched until its group has
// been waited for.

#include "Wgmma.h"
#include "Float.h"
#include "Lanes.h"
#include "Memory.h"
#include "TensorCore.h"
#include "Text.h"

#include "deplo/Emulator/TensorMap.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

constexpr unsigned rowsPerWarp = 16, warpsPerGroup = 4;

/// What one instruction does; made by the decoder.
struct Shape {
  Type d, a, b;
  unsigned n, k;
  bool isAShared, isATransposed, isBTransposed, negatesA, negatesB;

  /// Into Inst::a, b and c.
  void store(Inst &inst) const {
    inst.a = uint32_t(d) | uint32_t(a) << 8 | uint32_t(b) << 16;
    inst.b = n | k << 16;
    inst.c = uint32_t(isAShared) | uint32_t(isATransposed) << 1 |
             uint32_t(isBTransposed) << 2 | uint32_t(negatesA) << 3 |
             uint32_t(negatesB) << 4;
  }
  static Shape load(const Inst &inst) {
    auto flag = [&](unsigned bit) { return ((inst.c >> bit) & 1) != 0; };
    return {Type(inst.a & 255),
            Type((inst.a >> 8) & 255),
            Type((inst.a >> 16) & 255),
            inst.b & 0xffff,
            inst.b >> 16,
            flag(0),
            flag(1),
            flag(2),
            flag(3),
            flag(4)};
  }
  unsigned dRegisters() const { return d == Type::F16 ? n / 4 : n / 2; }
};

unsigned bytesOf(Type type) { return type == Type::TF32 ? 4 : typeSize(type); }

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

/// A matrix descriptor.
struct Descriptor {
  uint64_t start, leading, stride;
  TensorSwizzle swizzle;
  uint32_t baseOffset;

  static Descriptor parse(uint64_t bits) {
    static constexpr TensorSwizzle swizzles[] = {
        TensorSwizzle::None, TensorSwizzle::Bytes128, TensorSwizzle::Bytes64,
        TensorSwizzle::Bytes32};
    return {(bits & 0x3fff) << 4, ((bits >> 16) & 0x3fff) << 4,
            ((bits >> 32) & 0x3fff) << 4, swizzles[bits >> 62],
            uint32_t(bits >> 49) & 7};
  }

  /// What is wrong with its fields; empty if nothing is.
  std::string problem(uint64_t bits) const {
    constexpr uint64_t fields = 0xc00e3fff3fff3fff;
    if (bits & ~fields)
      return "bits that have no meaning are set: " + hex(bits & ~fields) +
             "; keep 14 bits of each address and offset";
    if (baseOffset != 0)
      return "a base offset can't be emulated";
    // The swizzle repeats after eight rows.
    uint64_t inPattern = start % (8 * rowBytes()) / 128 * 128;
    if (swizzle != TensorSwizzle::None && inPattern != 0)
      return "with a swizzle of " + std::to_string(rowBytes()) +
             " bytes the matrix must begin at a multiple of " +
             std::to_string(8 * rowBytes()) + ", it begins at " + hex(start);
    return "";
  }

  /// Bytes of a row of a swizzled core matrix.
  uint32_t rowBytes() const {
    static constexpr uint32_t bytes[] = {16, 32, 64, 128};
    return bytes[size_t(swizzle)];
  }

  /// The byte of element (outer, k); `outer` is the row of A, the column of B.
  uint64_t address(unsigned outer, unsigned k, unsigned bytes,
                   bool isOuterMajor) const {
    uint64_t row = rowBytes();
    uint64_t at = start;
    if (!isOuterMajor) {
      uint64_t kByte = uint64_t(k) * bytes;
      at += outer / 8 * stride + outer % 8 * row;
      if (swizzle == TensorSwizzle::None)
        at += kByte / 16 * leading + kByte % 16;
      else
        at += kByte;
    } else {
      uint64_t outerByte = uint64_t(outer) * bytes;
      // Without a swizzle the two strides change places.
      uint64_t across = swizzle == TensorSwizzle::None ? stride : leading;
      uint64_t along = swizzle == TensorSwizzle::None ? leading : stride;
      at += outerByte / row * across + outerByte % row + k / 8 * along +
            k % 8 * row;
    }
    return swizzled(swizzle, at);
  }
};

Actor groupActor(const Warp &warp) {
  Actor actor;
  actor.agent = Agent::Wgmma;
  actor.clock = warp.wgmmaGroups + 1;
  actor.isAsyncProxy = true;
  return actor;
}

/// Reads `outers` rows (or columns) from `first` on; false after a fault.
template <typename Store>
bool readShared(Warp &warp, const Inst &inst, uint64_t bits, unsigned first,
                unsigned outers, unsigned depth, unsigned bytes,
                bool isOuterMajor, Store &&store) {
  Descriptor descriptor = Descriptor::parse(bits);
  std::string problem = descriptor.problem(bits);
  if (!problem.empty()) {
    warp.fail(Fault::Matrix, inst, 0, "matrix descriptor: " + problem);
    return false;
  }
  uint64_t base = uint64_t(warp.block->rank) << sharedRankShift;
  Access access;
  access.actor = groupActor(warp);
  const unsigned perUnit = 16 / bytes;
  for (unsigned outer = 0; outer < outers; outer += isOuterMajor ? perUnit : 1)
    for (unsigned k = 0; k < depth; k += isOuterMajor ? 1 : perUnit) {
      uint64_t at = descriptor.address(first + outer, k, bytes, isOuterMajor);
      const uint8_t *memory =
          accessMemory(warp, inst, 0, Space::Shared, base | at, 16, access, 16);
      if (!memory)
        return false;
      for (unsigned i = 0; i < perUnit; ++i) {
        uint32_t value = 0;
        std::memcpy(&value, memory + i * bytes, bytes);
        isOuterMajor ? store(outer + i, k, value) : store(outer, k + i, value);
      }
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// Calls `set(is A, outer, k, bits)` for every factor; false after a fault.
template <typename Set>
bool gather(Warp &warp, const Inst &inst, const Shape &shape, Set &&set) {
  const unsigned bytes = bytesOf(shape.a);
  unsigned next = shape.dRegisters();
  if (shape.isAShared) {
    unsigned first = warp.index % warpsPerGroup * rowsPerWarp;
    if (!readShared(warp, inst, warp.row<uint64_t>(inst.source(next))[0], first,
                    rowsPerWarp, shape.k, bytes, shape.isATransposed,
                    [&](unsigned row, unsigned k, uint32_t bits) {
                      set(true, row, k, bits);
                    }))
      return false;
    ++next;
  } else {
    const unsigned e = 4 / bytes;
    const uint32_t keep = bytes == 4 ? ~0u : (1u << (8 * bytes)) - 1;
    for (unsigned r = 0; r < 4; ++r, ++next)
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
        uint32_t word = warp.row<uint32_t>(inst.source(next))[lane];
        for (unsigned i = 0; i < e; ++i)
          set(true, lane / 4 + 8 * (r & 1), (r >> 1) * 4 * e + lane % 4 * e + i,
              (word >> (8 * bytes * i)) & keep);
      }
  }
  return readShared(warp, inst, warp.row<uint64_t>(inst.source(next))[0], 0,
                    shape.n, shape.k, bytes, shape.isBTransposed,
                    [&](unsigned column, unsigned k, uint32_t bits) {
                      set(false, column, k, bits);
                    });
}

/// Calls `visit(register, half, lane, row, column)` for every accumulator.
template <typename Visit>
void forAccumulators(const Shape &shape, Visit &&visit) {
  unsigned halves = shape.d == Type::F16 ? 2 : 1;
  for (unsigned r = 0; r < shape.dRegisters(); ++r)
    for (unsigned half = 0; half < halves; ++half) {
      unsigned i = halves * r + half;
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
        visit(r, half, lane, lane / 4 + 8 * ((i >> 1) & 1),
              8 * (i >> 2) + 2 * (lane % 4) + (i & 1));
    }
}

bool multiplyIntegers(Warp &warp, const Inst &inst, const Shape &shape,
                      bool keeps) {
  std::vector<int32_t> a(rowsPerWarp * shape.k), b(size_t(shape.n) * shape.k);
  if (!gather(warp, inst, shape,
              [&](bool isA, unsigned outer, unsigned k, uint32_t bits) {
                (isA ? a : b)[outer * shape.k + k] =
                    isSigned(isA ? shape.a : shape.b) ? int32_t(int8_t(bits))
                                                      : int32_t(bits);
              }))
    return false;
  forAccumulators(shape, [&](unsigned r, unsigned, unsigned lane, unsigned row,
                             unsigned column) {
    int32_t &d = warp.row<int32_t>(inst.result(r))[lane];
    int64_t sum = keeps ? d : 0;
    for (unsigned k = 0; k < shape.k; ++k)
      sum += int64_t(a[row * shape.k + k]) * b[column * shape.k + k];
    d = int32_t(uint32_t(uint64_t(sum)));
  });
  return true;
}

bool multiplyFloats(Warp &warp, const Inst &inst, const Shape &shape,
                    bool keeps) {
  FactorRow a[rowsPerWarp];
  std::vector<FactorRow> b(shape.n);
  if (!gather(warp, inst, shape,
              [&](bool isA, unsigned outer, unsigned k, uint32_t bits) {
                if (isA)
                  a[outer].set(k, shape.a, bits, shape.negatesA);
                else
                  b[outer].set(k, shape.b, bits, shape.negatesB);
              }))
    return false;
  std::vector<float> sums(size_t(rowsPerWarp) * shape.n, 0.0f);
  bool isHalf = shape.d == Type::F16;
  if (keeps)
    forAccumulators(shape, [&](unsigned r, unsigned half, unsigned lane,
                               unsigned row, unsigned column) {
      uint32_t word = warp.row<uint32_t>(inst.result(r))[lane];
      sums[row * shape.n + column] =
          isHalf ? halfToFloat(uint16_t(word >> (16 * half))) : asFloat(word);
    });
  for (unsigned row = 0; row < rowsPerWarp; ++row) {
    float *sum = sums.data() + size_t(row) * shape.n;
    dotProducts(sum, sum, a[row], b.data(), shape.n, shape.k,
                precisionOf(shape.a, shape.d));
  }
  forAccumulators(shape, [&](unsigned r, unsigned half, unsigned lane,
                             unsigned row, unsigned column) {
    uint32_t &word = warp.row<uint32_t>(inst.result(r))[lane];
    float sum = sums[row * shape.n + column];
    if (!isHalf)
      word = asBits(sum);
    else
      word = (word & (half ? 0xffff : 0xffff0000)) | uint32_t(sumAsHalf(sum))
                                                         << (16 * half);
  });
  return true;
}

/// The registers may not be used before the group is waited for.
void markInFlight(Warp &warp, const Inst &inst, const Shape &shape) {
  uint32_t group = warp.wgmmaGroups + 1;
  for (unsigned r = 0; r < inst.results; ++r)
    warp.wgmmaRegisters[inst.result(r).id] = group;
  if (!shape.isAShared)
    for (unsigned r = 0; r < 4; ++r)
      warp.wgmmaRegisters.emplace(inst.source(shape.dRegisters() + r).id,
                                  group);
}

bool checkStart(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask != allLanes) {
    warp.fail(Fault::BarrierDivergence, inst, int(firstLane(~mask)),
              "all 32 threads of the warp must execute this instruction");
    return false;
  }
  unsigned first = warp.index / warpsPerGroup * warpsPerGroup;
  if (first + warpsPerGroup > warp.grid->warpsPerBlock) {
    warp.fail(Fault::Matrix, inst, 0,
              "wgmma needs a warpgroup: four warps from a multiple of four");
    return false;
  }
  if (!warp.isWgmmaFenced) {
    warp.fail(Fault::Matrix, inst, 0,
              "wgmma.fence must come before the first wgmma and after its "
              "registers are written");
    return false;
  }
  return true;
}

void multiply(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!checkStart(warp, inst, mask))
    return;
  Shape shape = Shape::load(inst);
  bool keeps = warp.predicate(inst.source(inst.sources - 1u)) & 1;
  bool good = shape.d == Type::S32 ? multiplyIntegers(warp, inst, shape, keeps)
                                   : multiplyFloats(warp, inst, shape, keeps);
  if (!good)
    return;
  for (unsigned r = 0; r < inst.results; ++r)
    warp.defined[inst.result(r).id] = allLanes;
  warp.hasLooseWgmma = true;
  markInFlight(warp, inst, shape);
  ++warp.block->cluster->events;
  countersOf(warp, inst).tensorOperations +=
      uint64_t(rowsPerWarp) * shape.n * shape.k;
}

Handler selectMultiply(Form &form, Inst &inst) {
  Shape shape = {};
  std::string_view name = form.modifiers[3];
  // "m64n256k16"
  size_t n = name.find('n'), k = name.find('k');
  auto number = [](std::string_view digits) {
    unsigned value = 0;
    for (char c : digits)
      value = c >= '0' && c <= '9' && value < 10000
                  ? value * 10 + unsigned(c - '0')
                  : 100000;
    return value;
  };
  bool isShape = name.substr(0, 4) == "m64n" && k != std::string_view::npos;
  if (isShape) {
    shape.n = number(name.substr(n + 1, k - n - 1));
    shape.k = number(name.substr(k + 1));
  }
  shape.d = form.type(0);
  shape.a = form.type(1);
  shape.b = form.type(2);
  if (!isShape || shape.n % 8 || shape.n < 8 || shape.n > 256 ||
      shape.k * bytesOf(shape.a) != 32) {
    form.decoder.fail(form.ast.location,
                      "there is no shape '." + std::string(name) + "' of '." +
                          std::string(typeName(shape.a)) + "'");
    return nullptr;
  }
  const std::vector<Operand> &operands = form.ast.operands;
  shape.isAShared = operands[1].kind != Operand::Kind::Vector;
  if (operands[0].elements.size() != shape.dRegisters()) {
    form.decoder.fail(operands[0].location,
                      "expected " + std::to_string(shape.dRegisters()) +
                          " registers");
    return nullptr;
  }
  if (!shape.isAShared && operands[1].elements.size() != 4) {
    form.decoder.fail(operands[1].location, "expected 4 registers");
    return nullptr;
  }
  // What follows scale-d: scales of A and B for floats, then transpositions
  // for 16-bit types, of A only where it is in shared memory.
  std::vector<int64_t> rest;
  for (size_t i = 4; i < operands.size(); ++i) {
    std::optional<int64_t> value = form.decoder.constant(operands[i]);
    if (!value)
      form.decoder.fail(operands[i].location, "expected a constant");
    rest.push_back(value.value_or(0));
  }
  bool isHalf = bytesOf(shape.a) == 2, isFloating = shape.d != Type::S32;
  size_t wanted =
      (isFloating ? 2 : 0) + (isHalf ? (shape.isAShared ? 2 : 1) : 0);
  if (rest.size() != wanted) {
    form.decoder.fail(form.ast.location,
                      "expected " + std::to_string(wanted) +
                          " constants after the scale of D, got " +
                          std::to_string(rest.size()));
    return nullptr;
  }
  if (isFloating) {
    shape.negatesA = rest[0] == -1;
    shape.negatesB = rest[1] == -1;
  }
  if (isHalf) {
    shape.isBTransposed = rest.back() == 1;
    shape.isATransposed = shape.isAShared && rest[2] == 1;
  }
  shape.store(inst);
  inst.isMatrix = true;
  inst.undefined = Undefined::Ignore;
  form.decoder.features().wgmma = true;
  for (const Operand &element : operands[0].elements)
    form.decoder.addResult(element, Type::B32);
  for (const Operand &element : operands[0].elements)
    form.decoder.addSource(element, Type::B32);
  if (shape.isAShared)
    form.decoder.addSource(operands[1], Type::B64);
  else
    for (const Operand &element : operands[1].elements)
      form.decoder.addSource(element, Type::B32);
  form.decoder.addSource(operands[2], Type::B64);
  form.decoder.addPredicate(operands[3], false);
  return multiply;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void fence(Warp &warp, const Inst &, uint32_t) { warp.isWgmmaFenced = true; }

void commit(Warp &warp, const Inst &, uint32_t) {
  ++warp.wgmmaGroups;
  warp.hasLooseWgmma = false;
}

/// a: groups that may stay in flight.
void waitGroup(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t done = warp.wgmmaGroups > inst.a ? warp.wgmmaGroups - inst.a : 0;
  // A group is the warpgroup's: it is done when all four warps' parts are.
  std::deque<Warp> &warps = warp.block->warps;
  const size_t first = warp.index / warpsPerGroup * warpsPerGroup;
  const size_t last = std::min<size_t>(first + warpsPerGroup, warps.size());
  for (size_t i = first; i < last; ++i)
    if (warps[i].live && warps[i].wgmmaGroups < done) {
      --warp.pc;
      warp.stop = Stop::Yield;
      return;
    }
  warp.wgmmaGroupsDone = std::max(warp.wgmmaGroupsDone, done);
  for (auto it = warp.wgmmaRegisters.begin(); it != warp.wgmmaRegisters.end();)
    it = it->second <= done ? warp.wgmmaRegisters.erase(it) : std::next(it);
  if (warp.wgmmaRegisters.empty())
    warp.isWgmmaFenced = false;
  if (ClusterClocks *clocks = warp.block->cluster->clocks.get()) {
    // The reads are those of each warp's lane 0; all lanes know them done.
    SyncPoint point;
    Actor actor;
    actor.agent = Agent::Wgmma;
    for (size_t i = first; i < last; ++i)
      clocks->releaseAgent(point, clocks->component(warps[i], 0, actor), done);
    clocks->complete(warp, 0, Agent::Wgmma, done);
    clocks->acquire(warp, mask, point);
  }
}

Handler selectWait(Form &form, Inst &inst) {
  form.decoder.features().wgmma = true;
  std::optional<int64_t> count = form.decoder.constant(form.ast.operands[0]);
  if (!count)
    form.decoder.fail(form.ast.operands[0].location,
                      "the number of groups must be a constant");
  inst.a = uint32_t(count.value_or(0));
  inst.isMatrix = true;
  return waitGroup;
}

template <Handler handler> Handler select(Form &form, Inst &inst) {
  form.decoder.features().wgmma = true;
  inst.isMatrix = true;
  return handler;
}

const Definition table[] = {
    {"wgmma", "fence sync aligned", "", select<fence>},
    {"wgmma", "commit_group sync aligned", "", select<commit>},
    {"wgmma", "wait_group sync aligned", "...1", selectWait},
    {"wgmma", "mma_async sync aligned m64* f16|f32 f16 f16", "...4",
     selectMultiply},
    {"wgmma", "mma_async sync aligned m64* f32 bf16 bf16", "...4",
     selectMultiply},
    {"wgmma", "mma_async sync aligned m64* f32 tf32 tf32", "...4",
     selectMultiply},
    {"wgmma", "mma_async sync aligned m64* f16|f32 e4m3|e5m2 e4m3|e5m2", "...4",
     selectMultiply},
    {"wgmma", "mma_async sync aligned m64* satfinite? s32 s8|u8 s8|u8", "...4",
     selectMultiply},
};

} // namespace

DefinitionList deplo::emulator::wgmmaDefinitions() { return listOf(table); }

bool deplo::emulator::checkWgmmaRegisters(Warp &warp, const Inst &inst,
                                          uint32_t mask) {
  if (inst.isMatrix)
    return true;
  for (unsigned i = 0; i < unsigned(inst.results) + inst.sources; ++i) {
    if (!warp.wgmmaRegisters.count(inst.op[i].id))
      continue;
    warp.fail(Fault::Matrix, inst, int(firstLane(mask)),
              "a register is used that a wgmma in flight reads or writes; wait "
              "for its group first");
    return false;
  }
  return true;
}
