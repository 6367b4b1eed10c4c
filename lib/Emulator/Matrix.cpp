// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix and mma.sync. With g = lane / 4 and t = lane %
// 4, register r of an operand whose registers hold e numbers has
//   A: row g + 8 (r & 1), columns (r >> 1) 4e + te and on;
//   B: rows 4er + te and on, column g;
//   C and D of 32 or 64 bits: row g + 8 (r >> 1), column 2t + (r & 1);
//   C and D of f16: row g + 8r, columns 2t and 2t + 1.

#include "Float.h"
#include "Lanes.h"
#include "Memory.h"
#include "TensorCore.h"

using namespace deplo::emulator;

namespace {

bool requireWholeWarp(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask == allLanes)
    return true;
  warp.fail(Fault::BarrierDivergence, inst, int(firstLane(~mask)),
            "all 32 threads of the warp must execute this instruction");
  return false;
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

constexpr uint32_t rowBytes = 16, matrixRows = 8;

/// Which 16-bit element of an 8x8 matrix is half `half` of a lane's register.
std::pair<unsigned, unsigned> elementOf(unsigned lane, unsigned half,
                                        bool isTransposed) {
  unsigned outer = lane / 4, inner = 2 * (lane % 4) + half;
  return isTransposed ? std::pair(inner, outer) : std::pair(outer, inner);
}

/// a: matrices; b: transposed.
void loadMatrix(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  uint64_t addresses[lanesPerWarp] = {};
  uint16_t rows[lanesPerWarp][8];
  uint32_t readers = inst.a == 4 ? allLanes : (1u << (8 * inst.a)) - 1;
  for (unsigned lane = 0; lane < matrixRows * inst.a; ++lane) {
    addresses[lane] = addressOf(warp, inst.source(0), lane);
    const uint8_t *memory =
        accessMemory(warp, inst, lane, inst.space, addresses[lane], rowBytes,
                     Access(), rowBytes);
    if (!memory)
      return;
    std::memcpy(rows[lane], memory, rowBytes);
  }
  for (unsigned matrix = 0; matrix < inst.a; ++matrix) {
    uint32_t *result = warp.row<uint32_t>(inst.result(matrix));
    if (inst.result(matrix).bank != Ref::Registers)
      continue;
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
      uint32_t word = 0;
      for (unsigned half = 0; half < 2; ++half) {
        auto [row, column] = elementOf(lane, half, inst.b);
        word |= uint32_t(rows[matrix * matrixRows + row][column])
                << (16 * half);
      }
      result[lane] = word;
    }
  }
  countAccess(warp, inst, inst.space, readers, addresses, rowBytes);
}

void storeMatrix(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  uint64_t addresses[lanesPerWarp] = {};
  uint16_t rows[lanesPerWarp][8];
  for (unsigned matrix = 0; matrix < inst.a; ++matrix) {
    const uint32_t *words = warp.row<uint32_t>(inst.source(1 + matrix));
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
      for (unsigned half = 0; half < 2; ++half) {
        auto [row, column] = elementOf(lane, half, inst.b);
        rows[matrix * matrixRows + row][column] =
            uint16_t(words[lane] >> (16 * half));
      }
  }
  uint32_t writers = inst.a == 4 ? allLanes : (1u << (8 * inst.a)) - 1;
  for (unsigned lane = 0; lane < matrixRows * inst.a; ++lane) {
    addresses[lane] = addressOf(warp, inst.source(0), lane);
    Access access;
    access.isWrite = true;
    access.value = reinterpret_cast<const uint8_t *>(rows[lane]);
    uint8_t *memory = accessMemory(warp, inst, lane, inst.space,
                                   addresses[lane], rowBytes, access, rowBytes);
    if (!memory)
      return;
    std::memcpy(memory, rows[lane], rowBytes);
  }
  ++warp.block->cluster->events;
  countAccess(warp, inst, inst.space, writers, addresses, rowBytes);
}

Handler selectMatrixMemory(Form &form, Inst &inst) {
  static constexpr uint32_t counts[] = {1, 2, 4};
  inst.a = counts[form.which({"x1", "x2", "x4"})];
  inst.b = form.has("trans");
  inst.space = form.which({"shared", "shared::cta"}) >= 0 ? Space::Shared
                                                          : Space::Generic;
  inst.undefined = Undefined::Reject;
  bool isLoad = form.ast.opcode == "ldmatrix";
  const Operand &vector = form.ast.operands[isLoad ? 0 : 1];
  std::vector<Operand> registers = vector.elements;
  if (vector.kind != Operand::Kind::Vector)
    registers = {vector};
  if (registers.size() != inst.a)
    form.decoder.fail(vector.location,
                      "expected " + std::to_string(inst.a) + " registers");
  if (!isLoad)
    form.decoder.addAddress(form.ast.operands[0]);
  for (const Operand &element : registers)
    isLoad ? form.decoder.addResult(element, Type::B32)
           : form.decoder.addSource(element, Type::B32);
  if (isLoad)
    form.decoder.addAddress(form.ast.operands[1]);
  form.decoder.noteAccess(inst.space, rowBytes);
  return isLoad ? loadMatrix : storeMatrix;
}

void moveMatrix(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  const uint32_t *source = warp.row<uint32_t>(inst.source(0));
  uint16_t matrix[8][8];
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
    for (unsigned half = 0; half < 2; ++half)
      matrix[lane / 4][2 * (lane % 4) + half] =
          uint16_t(source[lane] >> (16 * half));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned lane) {
    unsigned row = lane / 4, column = 2 * (lane % 4);
    return uint32_t(matrix[column][row]) | uint32_t(matrix[column + 1][row])
                                               << 16;
  });
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

struct Shape {
  std::string_view name;
  unsigned m, n, k;
};

constexpr Shape shapes[] = {{"m8n8k4", 8, 8, 4},     {"m8n8k16", 8, 8, 16},
                            {"m16n8k4", 16, 8, 4},   {"m16n8k8", 16, 8, 8},
                            {"m16n8k16", 16, 8, 16}, {"m16n8k32", 16, 8, 32},
                            {"m16n8k64", 16, 8, 64}};

unsigned elementBits(Type type) {
  return type == Type::TF32 ? 32 : 8 * typeSize(type);
}

/// The types and sizes of one mma, in Inst::a, b, c and wide.
struct Multiply {
  Type d, a, b;
  unsigned m, k;
  bool saturates;

  unsigned perRegister() const {
    return a == Type::F64 ? 1 : 32 / elementBits(a);
  }
  unsigned aRegisters() const { return m / 8 * k / (4 * perRegister()); }
  unsigned bRegisters() const { return k / (4 * perRegister()); }
  unsigned dRegisters() const { return d == Type::F16 ? m / 8 : 2 * (m / 8); }
};

Multiply multiplyOf(const Inst &inst) {
  return {Type(inst.a & 255),
          Type((inst.a >> 8) & 255),
          Type((inst.a >> 16) & 255),
          inst.b,
          inst.c,
          inst.wide != 0};
}

/// Element i of a register of `bits`-wide numbers.
uint32_t elementBitsOf(uint32_t word, unsigned i, unsigned bits) {
  return bits == 32 ? word : (word >> (i * bits)) & ((1u << bits) - 1);
}

/// Calls `set(is A, outer, k, register, lane, element)` for every factor.
template <typename Set>
void gatherOperands(const Inst &inst, const Multiply &mma, Set &&set) {
  const unsigned e = mma.perRegister();
  const unsigned aCount = mma.aRegisters(), bCount = mma.bRegisters();
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < aCount; ++r) {
      unsigned half = mma.m == 16 ? r & 1 : 0;
      unsigned step = mma.m == 16 ? r >> 1 : r;
      for (unsigned i = 0; i < e; ++i)
        set(true, g + 8 * half, step * 4 * e + t * e + i, inst.source(r), lane,
            i);
    }
    for (unsigned r = 0; r < bCount; ++r)
      for (unsigned i = 0; i < e; ++i)
        set(false, g, r * 4 * e + t * e + i, inst.source(aCount + r), lane, i);
  }
}

/// The row and column of a lane's accumulator.
std::pair<unsigned, unsigned> accumulatorOf(unsigned lane, unsigned r) {
  return {lane / 4 + 8 * (r >> 1), 2 * (lane % 4) + (r & 1)};
}

/// Calls `visit(register, half, lane, row, column)` for every accumulator.
template <typename Visit>
void forAccumulators(const Multiply &mma, Visit &&visit) {
  unsigned halves = mma.d == Type::F16 ? 2 : 1;
  for (unsigned r = 0; r < mma.dRegisters(); ++r)
    for (unsigned half = 0; half < halves; ++half)
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
        auto [row, column] = accumulatorOf(lane, halves * r + half);
        visit(r, half, lane, row, column);
      }
}

/// The rows of A and the columns of B, in steps that the hardware does after
/// each other.
struct Steps {
  static constexpr unsigned most = 2;
  FactorRow a[most][16], b[most][8];
};

/// Numbers of eight bits are multiplied as f16: first the lower halves of all
/// registers, then the upper ones.
unsigned gatherFloats(Warp &warp, const Inst &inst, const Multiply &mma,
                      Steps &steps) {
  unsigned bits = elementBits(mma.a);
  bool isWidened = bits == 8;
  gatherOperands(
      inst, mma,
      [&](bool isA, unsigned outer, unsigned k, const Ref &ref, unsigned lane,
          unsigned i) {
        Type type = isA ? mma.a : mma.b;
        uint32_t number = elementBitsOf(warp.row<uint32_t>(ref)[lane], i, bits);
        unsigned step = 0;
        if (isWidened) {
          step = i / 2;
          k = k / 4 * 2 + i % 2;
          Format format = type == Type::E4M3 ? e4m3Format : e5m2Format;
          number =
              encode(f16Format, decode(format, number), Rounding::NearestEven);
          type = Type::F16;
        }
        (isA ? steps.a[step][outer] : steps.b[step][outer])
            .set(k, type, number);
      });
  return isWidened ? Steps::most : 1;
}

/// sums = accumulators + A B.
void multiplySteps(const Multiply &mma, const Steps &steps, unsigned count,
                   float (&sums)[16][8]) {
  const bool isHalf = mma.d == Type::F16, isWidened = count > 1;
  const Precision precision = precisionOf(isWidened ? Type::F16 : mma.a, mma.d);
  for (unsigned row = 0; row < mma.m; ++row) {
    float products[8] = {};
    float *sum = isWidened ? products : sums[row];
    for (unsigned step = 0; step < count; ++step) {
      dotProducts(sum, sum, steps.a[step][row], steps.b[step], 8, mma.k / count,
                  precision);
      if (isHalf)
        for (unsigned column = 0; column < 8; ++column)
          sum[column] = halfToFloat(sumAsHalf(sum[column]));
    }
    if (!isWidened)
      continue;
    // The accumulators are added at the end, by an addition of their own.
    for (unsigned column = 0; column < 8; ++column) {
      float &sum = sums[row][column];
      double exact = addToOdd(sum, products[column]);
      Format format = isHalf ? f16Format : f32Format;
      sum = float(decode(format, encode(format, exact, Rounding::NearestEven)));
      sum = sum != sum ? asFloat(canonicalNan) : sum;
    }
  }
}

void multiplyFloats(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  Multiply mma = multiplyOf(inst);
  Steps steps;
  unsigned count = gatherFloats(warp, inst, mma, steps);
  unsigned first = mma.aRegisters() + mma.bRegisters();
  float sums[16][8];
  forAccumulators(mma, [&](unsigned r, unsigned half, unsigned lane,
                           unsigned row, unsigned column) {
    uint32_t word = warp.row<uint32_t>(inst.source(first + r))[lane];
    sums[row][column] = mma.d == Type::F16
                            ? halfToFloat(uint16_t(word >> (16 * half)))
                            : asFloat(word);
  });
  multiplySteps(mma, steps, count, sums);
  for (unsigned r = 0; r < mma.dRegisters(); ++r)
    if (inst.result(r).bank == Ref::Registers)
      std::memset(warp.row<uint32_t>(inst.result(r)), 0,
                  lanesPerWarp * sizeof(uint32_t));
  forAccumulators(mma, [&](unsigned r, unsigned half, unsigned lane,
                           unsigned row, unsigned column) {
    if (inst.result(r).bank != Ref::Registers)
      return;
    uint32_t &word = warp.row<uint32_t>(inst.result(r))[lane];
    word |= mma.d == Type::F16
                ? uint32_t(floatToHalf(sums[row][column])) << (16 * half)
                : asBits(sums[row][column]);
  });
  countersOf(warp, inst).tensorOperations += uint64_t(mma.m) * 8 * mma.k;
}

void multiplyIntegers(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  Multiply mma = multiplyOf(inst);
  int32_t a[16 * 64], b[8 * 64];
  gatherOperands(inst, mma,
                 [&](bool isA, unsigned outer, unsigned k, const Ref &ref,
                     unsigned lane, unsigned i) {
                   uint32_t byte =
                       elementBitsOf(warp.row<uint32_t>(ref)[lane], i, 8);
                   (isA ? a : b)[outer * mma.k + k] =
                       isSigned(isA ? mma.a : mma.b) ? int32_t(int8_t(byte))
                                                     : int32_t(byte);
                 });
  unsigned first = mma.aRegisters() + mma.bRegisters();
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
    for (unsigned r = 0; r < mma.dRegisters(); ++r) {
      auto [row, column] = accumulatorOf(lane, r);
      int64_t sum = warp.row<int32_t>(inst.source(first + r))[lane];
      for (unsigned k = 0; k < mma.k; ++k)
        sum += int64_t(a[row * mma.k + k]) * b[column * mma.k + k];
      if (mma.saturates)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      writeLane(warp, inst.result(r), lane, uint32_t(sum));
    }
  countersOf(warp, inst).tensorOperations += uint64_t(mma.m) * 8 * mma.k;
}

void multiplyDoubles(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!requireWholeWarp(warp, inst, mask))
    return;
  Multiply mma = multiplyOf(inst);
  double a[16 * 16], b[8 * 16];
  gatherOperands(inst, mma,
                 [&](bool isA, unsigned outer, unsigned k, const Ref &ref,
                     unsigned lane, unsigned) {
                   (isA ? a : b)[outer * mma.k + k] =
                       warp.row<double>(ref)[lane];
                 });
  unsigned first = mma.aRegisters() + mma.bRegisters();
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
    for (unsigned r = 0; r < mma.dRegisters(); ++r) {
      auto [row, column] = accumulatorOf(lane, r);
      double sum = warp.row<double>(inst.source(first + r))[lane];
      for (unsigned k = 0; k < mma.k; ++k)
        sum =
            handOnNan(std::fma(a[row * mma.k + k], b[column * mma.k + k], sum),
                      a[row * mma.k + k], b[column * mma.k + k], sum);
      writeLane(warp, inst.result(r), lane, asBits(sum));
    }
  countersOf(warp, inst).tensorOperations += uint64_t(mma.m) * 8 * mma.k;
}

Handler selectMultiply(Form &form, Inst &inst) {
  const Shape *shape = nullptr;
  for (const Shape &each : shapes)
    if (form.has(each.name))
      shape = &each;
  Multiply mma = {form.type(0), form.type(1), form.type(2),
                  shape->m,     shape->k,     form.has("satfinite")};
  unsigned step = 4 * mma.perRegister();
  if (shape->k % step || (mma.m == 8 && isFloat(mma.a) && mma.a != Type::F64)) {
    form.decoder.fail(form.ast.location,
                      "there is no " + std::string(shape->name) + " of '." +
                          std::string(typeName(mma.a)) + "'");
    return nullptr;
  }
  inst.a = uint32_t(mma.d) | uint32_t(mma.a) << 8 | uint32_t(mma.b) << 16;
  inst.b = mma.m;
  inst.c = mma.k;
  inst.wide = mma.saturates;
  Type operand = mma.a == Type::F64 ? Type::F64 : Type::B32;
  auto add = [&](const Operand &vector, unsigned count, bool isResult) {
    std::vector<Operand> elements = vector.elements;
    if (vector.kind != Operand::Kind::Vector)
      elements = {vector};
    if (elements.size() != count)
      return form.decoder.fail(
          vector.location, "expected " + std::to_string(count) + " registers");
    for (const Operand &element : elements)
      isResult ? form.decoder.addResult(element, operand)
               : form.decoder.addSource(element, operand);
  };
  const std::vector<Operand> &operands = form.ast.operands;
  add(operands[0], mma.dRegisters(), true);
  add(operands[1], mma.aRegisters(), false);
  add(operands[2], mma.bRegisters(), false);
  add(operands[3], mma.dRegisters(), false);
  if (mma.a == Type::F64)
    return multiplyDoubles;
  return isFloat(mma.a) ? multiplyFloats : multiplyIntegers;
}

const Definition table[] = {
    {"ldmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16",
     "...2", selectMatrixMemory},
    {"stmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16",
     "...2", selectMatrixMemory},
    {"movmatrix", "sync aligned m8n8 trans b16", "=b32 b32",
     [](Form &, Inst &) -> Handler { return moveMatrix; }},
    {"mma", "sync aligned m16n8k8|m16n8k16 row col f16|f32 f16 f16 f16|f32",
     "...4", selectMultiply},
    {"mma", "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32", "...4",
     selectMultiply},
    {"mma", "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32", "...4",
     selectMultiply},
    {"mma",
     "sync aligned m16n8k16|m16n8k32 row col f16|f32 e4m3|e5m2 e4m3|e5m2 "
     "f16|f32",
     "...4", selectMultiply},
    {"mma",
     "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 "
     "s8|u8 s32",
     "...4", selectMultiply},
    {"mma",
     "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col rn|rz? f64 f64 f64 "
     "f64",
     "...4", selectMultiply},
};

} // namespace

DefinitionList deplo::emulator::matrixDefinitions() { return listOf(table); }
