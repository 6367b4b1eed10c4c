// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers from scalar functions: loops over the 32 lanes of a warp that the
// compiler turns into vector code.

#ifndef DEPLO_LIB_EMULATOR_LANES_H
#define DEPLO_LIB_EMULATOR_LANES_H

#include "Definition.h"
#include "State.h"

#include <cstring>

namespace deplo::emulator {

/// Gives the lanes in `mask` of `row` the values of `function(lane)`, which is
/// called for all lanes.
template <typename T, typename Function>
inline void writeLanes(T *__restrict row, uint32_t mask, Function &&function) {
  if (mask == allLanes) {
    T values[lanesPerWarp];
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
      values[lane] = function(lane);
    std::memcpy(row, values, sizeof(values));
    return;
  }
  T values[lanesPerWarp];
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
    values[lane] = function(lane);
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
    row[lane] = (mask >> lane) & 1 ? values[lane] : row[lane];
}

inline void writePredicate(Warp &warp, const Ref &ref, uint32_t mask,
                           uint32_t value) {
  if (ref.bank != Ref::Predicate)
    return;
  uint32_t &word = warp.predicates[ref.offset];
  word = (word & ~mask) | (value & mask);
}

template <typename T>
inline void writeResult(Warp &warp, const Ref &ref, uint32_t mask,
                        const T *values) {
  if (ref.bank == Ref::Registers)
    writeLanes(warp.row<T>(ref), mask,
               [&](unsigned lane) { return values[lane]; });
}

/// A register of any width as numbers of 64 bits, not sign-extended.
inline uint64_t readLane(Warp &warp, const Ref &ref, unsigned lane) {
  switch (ref.bytes) {
  case 1:
    return warp.row<uint8_t>(ref)[lane];
  case 2:
    return warp.row<uint16_t>(ref)[lane];
  case 4:
    return warp.row<uint32_t>(ref)[lane];
  default:
    return warp.row<uint64_t>(ref)[lane];
  }
}

inline void writeLane(Warp &warp, const Ref &ref, unsigned lane,
                      uint64_t value) {
  if (ref.bank != Ref::Registers)
    return;
  switch (ref.bytes) {
  case 1:
    warp.row<uint8_t>(ref)[lane] = uint8_t(value);
    break;
  case 2:
    warp.row<uint16_t>(ref)[lane] = uint16_t(value);
    break;
  case 4:
    warp.row<uint32_t>(ref)[lane] = uint32_t(value);
    break;
  default:
    warp.row<uint64_t>(ref)[lane] = value;
  }
}

template <typename Op, typename D, typename A>
void unary(Warp &warp, const Inst &inst, uint32_t mask) {
  const A *a = warp.row<A>(inst.source(0));
  writeLanes(warp.row<D>(inst.result(0)), mask,
             [=](unsigned l) { return D(Op::run(a[l])); });
}

template <typename Op, typename D, typename A, typename B>
void binary(Warp &warp, const Inst &inst, uint32_t mask) {
  const A *a = warp.row<A>(inst.source(0));
  const B *b = warp.row<B>(inst.source(1));
  writeLanes(warp.row<D>(inst.result(0)), mask,
             [=](unsigned l) { return D(Op::run(a[l], b[l])); });
}

template <typename Op, typename D, typename A, typename B, typename C>
void ternary(Warp &warp, const Inst &inst, uint32_t mask) {
  const A *a = warp.row<A>(inst.source(0));
  const B *b = warp.row<B>(inst.source(1));
  const C *c = warp.row<C>(inst.source(2));
  writeLanes(warp.row<D>(inst.result(0)), mask,
             [=](unsigned l) { return D(Op::run(a[l], b[l], c[l])); });
}

template <typename Op, unsigned arity, typename T> Handler sameTypes() {
  if constexpr (arity == 1)
    return unary<Op, T, T>;
  else if constexpr (arity == 2)
    return binary<Op, T, T, T>;
  else
    return ternary<Op, T, T, T, T>;
}

/// The handler of `Op` on integers of the form's first type.
template <typename Op, unsigned arity>
Handler selectInteger(Form &form, Inst &) {
  switch (form.type()) {
  case Type::B16:
  case Type::U16:
    return sameTypes<Op, arity, uint16_t>();
  case Type::B32:
  case Type::U32:
    return sameTypes<Op, arity, uint32_t>();
  case Type::B64:
  case Type::U64:
    return sameTypes<Op, arity, uint64_t>();
  case Type::S16:
    return sameTypes<Op, arity, int16_t>();
  case Type::S32:
    return sameTypes<Op, arity, int32_t>();
  case Type::S64:
    return sameTypes<Op, arity, int64_t>();
  default:
    return nullptr;
  }
}

/// As unsigned, at least 32 bits wide: no overflow is undefined.
template <typename T> auto wide(T value) {
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) < 4)
    return uint32_t(U(value));
  else
    return U(value);
}

} // namespace deplo::emulator

#endif // DEPLO_LIB_EMULATOR_LANES_H
