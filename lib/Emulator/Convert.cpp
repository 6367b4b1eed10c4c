// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt: between integers, floats and packed floats.

#include "Float.h"
#include "Lanes.h"

#include <algorithm>
#include <optional>

using namespace deplo::emulator;

namespace {

/// What a cvt does, packed into Inst::a.
struct Conversion {
  Rounding rounding = Rounding::NearestEven;
  /// Rounds to an integer: rni and the like.
  bool isIntegral = false;
  bool flushes = false, saturates = false, isRelu = false, isFinite = false;

  uint32_t pack() const {
    return uint32_t(rounding) | uint32_t(isIntegral) << 8 |
           uint32_t(flushes) << 9 | uint32_t(saturates) << 10 |
           uint32_t(isRelu) << 11 | uint32_t(isFinite) << 12;
  }
  static Conversion unpack(uint32_t bits) {
    Conversion result;
    result.rounding = Rounding(bits & 255);
    result.isIntegral = (bits >> 8) & 1;
    result.flushes = (bits >> 9) & 1;
    result.saturates = (bits >> 10) & 1;
    result.isRelu = (bits >> 11) & 1;
    result.isFinite = (bits >> 12) & 1;
    return result;
  }
};

bool isFloatType(Type type) {
  return type == Type::F64 || type == Type::F32 || type == Type::F16 ||
         type == Type::BF16;
}

unsigned bitsOf(Type type) { return 8 * typeSize(type); }

/// The integer in the low bits of a register, extended to 64.
uint64_t extend(uint64_t raw, Type type) {
  unsigned shift = 64 - bitsOf(type);
  if (shift == 0)
    return raw;
  return isSigned(type) ? uint64_t(int64_t(raw << shift) >> shift)
                        : raw << shift >> shift;
}

double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

double loadFloat(uint64_t raw, Type type, bool flushes) {
  switch (type) {
  case Type::F64:
    return asDouble(raw);
  case Type::F32: {
    float value = asFloat(uint32_t(raw));
    return flushes ? flush(value) : value;
  }
  case Type::F16:
    return halfToFloat(uint16_t(raw));
  default:
    return bfloatToFloat(uint16_t(raw));
  }
}

Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return f16Format;
  case Type::BF16:
  case Type::BF16x2:
    return bf16Format;
  case Type::TF32:
    return tf32Format;
  case Type::E4M3x2:
    return e4m3Format;
  case Type::E5M2x2:
    return e5m2Format;
  default:
    return f32Format;
  }
}

/// Rounds to `type`, any but f64, as bits.
uint64_t storeFloat(double value, Type type, const Conversion &how) {
  if (how.isRelu)
    value = value > 0 || value != value ? value : 0.0;
  if (how.saturates)
    value = value > 0 ? (value < 1 ? value : 1.0) : 0.0;
  Format format = formatOf(type);
  uint32_t bits = encode(format, value, how.rounding, how.isFinite);
  if (how.flushes && type == Type::F32)
    bits = asBits(flush(asFloat(bits)));
  if (type == Type::TF32) // Eleven bits of an f32 register.
    return uint64_t(bits) << 13;
  return bits;
}

uint64_t floatToInteger(double value, Type from, Type to,
                        const Conversion &how) {
  unsigned bits = bitsOf(to);
  if (value != value)
    return from == Type::F64 || bits == 64 ? uint64_t(1) << (bits - 1) : 0;
  value = roundToIntegral(value, how.rounding);
  if (isSigned(to)) {
    double limit = std::ldexp(1.0, int(bits) - 1);
    if (value >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (value < -limit)
      return uint64_t(-1) << (bits - 1);
    return uint64_t(int64_t(value));
  }
  if (value <= 0)
    return 0;
  if (value >= std::ldexp(1.0, int(bits)))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return uint64_t(value);
}

/// An integer as a double whose last bit holds what did not fit.
double integerToOdd(uint64_t raw, bool isSigned) {
  bool isNegative = isSigned && int64_t(raw) < 0;
  uint64_t magnitude = isNegative ? -raw : raw;
  if (magnitude >> 53) {
    unsigned drop = 64 - unsigned(__builtin_clzll(magnitude)) - 53;
    uint64_t rest = magnitude & ((uint64_t(1) << drop) - 1);
    magnitude = magnitude >> drop << drop;
    if (rest)
      magnitude |= uint64_t(1) << drop;
  }
  double value = double(magnitude);
  return isNegative ? -value : value;
}

/// Rounds a 64-bit integer to f64.
double integerToDouble(uint64_t raw, bool isSigned, Rounding rounding) {
  bool isNegative = isSigned && int64_t(raw) < 0;
  uint64_t magnitude = isNegative ? -raw : raw;
  double value;
  if (rounding == Rounding::NearestEven || !(magnitude >> 53)) {
    value = double(magnitude);
  } else {
    unsigned drop = 64 - unsigned(__builtin_clzll(magnitude)) - 53;
    uint64_t kept = magnitude >> drop;
    bool isExact = kept << drop == magnitude;
    bool up = !isExact && (isNegative ? rounding == Rounding::Down
                                      : rounding == Rounding::Up);
    value = std::ldexp(double(kept + up), int(drop));
  }
  return isNegative ? -value : value;
}

uint64_t clampInteger(uint64_t value, Type from, Type to) {
  unsigned bits = bitsOf(to);
  __int128 exact = isSigned(from) ? __int128(int64_t(value)) : __int128(value);
  __int128 low = isSigned(to) ? -(__int128(1) << (bits - 1)) : 0;
  __int128 high = (__int128(1) << (isSigned(to) ? bits - 1 : bits)) - 1;
  return uint64_t(std::clamp(exact, low, high));
}

bool isNanBits(Format format, uint64_t raw) {
  return (raw & (format.sign() - 1)) > format.infinity();
}

/// Conversions that the GPU does on the bits: those that keep the payload of a
/// NaN, and rounding to tf32 with ties away from zero.
std::optional<uint64_t> convertKept(uint64_t raw, Type from, Type to,
                                    const Conversion &how) {
  if (to == Type::TF32 && how.rounding == Rounding::NearestAway) {
    constexpr uint32_t keep = 0xffffe000, lastBit = 0x2000;
    auto bits = uint32_t(raw);
    bool isNan = isNanBits(f32Format, bits);
    bits = (isNan ? bits : bits + lastBit / 2) & keep;
    bool isFinite = (bits & f32Format.infinity()) != f32Format.infinity();
    return how.isFinite && !isFinite ? bits - lastBit : bits;
  }
  if (how.saturates || how.isRelu || how.isFinite)
    return std::nullopt;
  if (from == Type::F64 && to != Type::F64 && isFloatType(to)) {
    double value = asDouble(raw);
    if (value != value)
      return narrowNan(formatOf(to), value);
  }
  if (how.isIntegral || to == Type::TF32)
    return std::nullopt;
  if (from == Type::BF16 && to == Type::F32 && !how.flushes)
    return raw << 16;
  if (from == Type::F32 && to == Type::F32 && !how.flushes)
    return raw;
  if (from == Type::F16 && to == Type::F64 && isNanBits(f16Format, raw)) {
    uint64_t sign = raw >> 15 << 63, payload = (raw & 0x3ff) << 42;
    return asBits(quieted(asDouble(sign | uint64_t(0x7ff) << 52 | payload)));
  }
  if (from == Type::F32 && to == Type::F64 && how.flushes &&
      isNanBits(f32Format, raw))
    return asBits(double(asFloat(canonicalNan)));
  return std::nullopt;
}

/// One number. `raw` has the source's low bits.
uint64_t convert(uint64_t raw, Type from, Type to, const Conversion &how) {
  if (!isFloatType(from)) {
    uint64_t value = extend(raw, from);
    if (!isFloatType(to))
      return how.saturates ? clampInteger(value, from, to) : value;
    if (to == Type::F64)
      return asBits(integerToDouble(value, isSigned(from), how.rounding));
    return storeFloat(integerToOdd(value, isSigned(from)), to, how);
  }
  if (std::optional<uint64_t> kept = convertKept(raw, from, to, how))
    return *kept;
  double value = loadFloat(raw, from, how.flushes);
  if (!isFloatType(to) && to != Type::TF32)
    return floatToInteger(value, from, to, how);
  if (how.isIntegral)
    value = roundToIntegral(value, how.rounding);
  if (to == Type::F64) {
    if (how.saturates)
      value = value > 0 ? (value < 1 ? value : 1.0) : 0.0;
    return asBits(value);
  }
  return storeFloat(value, to, how);
}

void cvt(Warp &warp, const Inst &inst, uint32_t mask) {
  const Ref &result = inst.result(0), &source = inst.source(0);
  Conversion how = Conversion::unpack(inst.a);
  Type to = Type(inst.b), from = Type(inst.c);
  bool extends = !isFloatType(to) && to != Type::TF32;
  forLanes(mask, [&](unsigned l) {
    uint64_t value = convert(readLane(warp, source, l), from, to, how);
    writeLane(warp, result, l, extends ? extend(value, to) : value);
  });
}

template <typename D, typename S>
void cvtInteger(Warp &warp, const Inst &inst, uint32_t mask) {
  const S *a = warp.row<S>(inst.source(0));
  writeLanes(warp.row<D>(inst.result(0)), mask,
             [=](unsigned l) { return D(a[l]); });
}
void cvtToBfloat(Warp &warp, const Inst &inst, uint32_t mask) {
  const float *a = warp.row<float>(inst.source(0));
  writeLanes(warp.row<uint16_t>(inst.result(0)), mask,
             [=](unsigned l) { return floatToBfloat(a[l]); });
}
void cvtFromBfloat(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint16_t *a = warp.row<uint16_t>(inst.source(0));
  writeLanes(warp.row<float>(inst.result(0)), mask,
             [=](unsigned l) { return bfloatToFloat(a[l]); });
}
void cvtToHalf(Warp &warp, const Inst &inst, uint32_t mask) {
  const float *a = warp.row<float>(inst.source(0));
  writeLanes(warp.row<uint16_t>(inst.result(0)), mask,
             [=](unsigned l) { return floatToHalf(a[l]); });
}
void cvtFromHalf(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint16_t *a = warp.row<uint16_t>(inst.source(0));
  writeLanes(warp.row<float>(inst.result(0)), mask,
             [=](unsigned l) { return halfToFloat(a[l]); });
}

Conversion conversionOf(const Form &form, Type to) {
  Conversion how;
  static constexpr Rounding modes[] = {Rounding::NearestEven, Rounding::Zero,
                                       Rounding::Down, Rounding::Up};
  int integral = form.which({"rni", "rzi", "rmi", "rpi"});
  int rounding = form.which({"rn", "rz", "rm", "rp"});
  if (integral >= 0) {
    how.isIntegral = true;
    how.rounding = modes[integral];
  } else if (rounding >= 0) {
    how.rounding = modes[rounding];
  } else if (form.has("rna")) {
    how.rounding = Rounding::NearestAway;
  } else if (!isFloat(to)) {
    how.rounding = Rounding::Zero;
  }
  how.flushes = form.has("ftz");
  how.saturates = form.has("sat");
  how.isRelu = form.has("relu");
  how.isFinite = form.has("satfinite");
  return how;
}

Handler selectCvt(Form &form, Inst &inst) {
  Type to = form.type(0), from = form.type(1);
  inst.a = conversionOf(form, to).pack();
  inst.b = uint32_t(to);
  inst.c = uint32_t(from);
  const uint32_t plain = Conversion().pack();
  uint32_t resultBytes = form.decoder.registerBytes(form.ast.operands[0]);
  uint32_t sourceBytes = form.decoder.registerBytes(form.ast.operands[1]);
  if (resultBytes != typeSize(to) || sourceBytes != typeSize(from))
    return cvt;
  auto is = [&](Type t, Type f) { return to == t && from == f; };
  if (inst.a == plain) {
    if (is(Type::BF16, Type::F32))
      return cvtToBfloat;
    if (is(Type::F32, Type::BF16))
      return cvtFromBfloat;
    if (is(Type::F16, Type::F32))
      return cvtToHalf;
    if (is(Type::F32, Type::F16))
      return cvtFromHalf;
    if (is(Type::F32, Type::S32))
      return cvtInteger<float, int32_t>;
    if (is(Type::F32, Type::U32))
      return cvtInteger<float, uint32_t>;
  }
  if (form.has("sat"))
    return cvt;
  if (is(Type::U64, Type::U32) || is(Type::S64, Type::U32))
    return cvtInteger<uint64_t, uint32_t>;
  if (is(Type::S64, Type::S32) || is(Type::U64, Type::S32))
    return cvtInteger<int64_t, int32_t>;
  if (typeSize(to) == 4 && typeSize(from) == 8 && !isFloat(to) &&
      !isFloat(from))
    return cvtInteger<uint32_t, uint64_t>;
  return cvt;
}

//===----------------------------------------------------------------------===//
// Packed: the first source goes to the upper half
//===----------------------------------------------------------------------===//

void cvtPackFromF32(Warp &warp, const Inst &inst, uint32_t mask) {
  Conversion how = Conversion::unpack(inst.a);
  Type to = Type(inst.b);
  unsigned half = bitsOf(to) / 2;
  const uint32_t *a = warp.row<uint32_t>(inst.source(0)),
                 *b = warp.row<uint32_t>(inst.source(1));
  forLanes(mask, [&](unsigned l) {
    uint64_t high = storeFloat(asFloat(a[l]), to, how);
    uint64_t low = storeFloat(asFloat(b[l]), to, how);
    writeLane(warp, inst.result(0), l, high << half | low);
  });
}

Handler selectPackFromF32(Form &form, Inst &inst) {
  inst.a = conversionOf(form, form.type(0)).pack();
  inst.b = uint32_t(form.type(0));
  if (typeSize(form.type(0)) == 4)
    inst.undefined = Undefined::PackReversed;
  return cvtPackFromF32;
}

/// Two f16 to two of 8 bits.
void cvtNarrow(Warp &warp, const Inst &inst, uint32_t mask) {
  Conversion how = Conversion::unpack(inst.a);
  Type to = Type(inst.b);
  const uint32_t *a = warp.row<uint32_t>(inst.source(0));
  writeLanes(warp.row<uint16_t>(inst.result(0)), mask, [&](unsigned l) {
    uint64_t low = storeFloat(halfToFloat(uint16_t(a[l])), to, how);
    uint64_t high = storeFloat(halfToFloat(uint16_t(a[l] >> 16)), to, how);
    return uint16_t(high << 8 | low);
  });
}

Handler selectNarrow(Form &form, Inst &inst) {
  inst.a = conversionOf(form, form.type(0)).pack();
  inst.b = uint32_t(form.type(0));
  return cvtNarrow;
}

/// Two of 8 bits to two f16; exact.
void cvtWiden(Warp &warp, const Inst &inst, uint32_t mask) {
  Conversion how = Conversion::unpack(inst.a);
  Format format = formatOf(Type(inst.c));
  const uint16_t *a = warp.row<uint16_t>(inst.source(0));
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    uint64_t low = storeFloat(decode(format, a[l] & 255), Type::F16, how);
    uint64_t high = storeFloat(decode(format, a[l] >> 8), Type::F16, how);
    return uint32_t(high << 16 | low);
  });
}

Handler selectWiden(Form &form, Inst &inst) {
  inst.a = conversionOf(form, form.type(0)).pack();
  inst.c = uint32_t(form.type(1));
  return cvtWiden;
}

/// cvt.pack.sat: two s32 to 16 bits each; with a third, to 8 bits below the
/// lower half of that.
void cvtPackIntegers(Warp &warp, const Inst &inst, uint32_t mask) {
  Type to = Type(inst.b);
  unsigned bits = bitsOf(to);
  writeLanes(warp.row<uint32_t>(inst.result(0)), mask, [&](unsigned l) {
    auto piece = [&](unsigned n) {
      uint64_t value = extend(warp.row<uint32_t>(inst.source(n))[l], Type::S32);
      return uint32_t(clampInteger(value, Type::S32, to)) & ((1u << bits) - 1);
    };
    uint32_t pair = piece(0) << bits | piece(1);
    if (inst.sources > 2)
      pair |= warp.row<uint32_t>(inst.source(2))[l] << (2 * bits);
    return pair;
  });
}

Handler selectPackIntegers(Form &form, Inst &inst) {
  inst.b = uint32_t(form.type(0));
  return cvtPackIntegers;
}

#define ROUND "rn|rz|rm|rp|rni|rzi|rmi|rpi"
#define INTS "u8|u16|u32|u64|s8|s16|s32|s64"
#define NUMBERS INTS "|f16|bf16|f32|f64"

const Definition table[] = {
    {"cvt", ROUND "? relu? ftz? sat? " NUMBERS " " NUMBERS, "~=T ~U",
     selectCvt},
    {"cvt", "rn|rz relu? satfinite? f16|bf16 f32", "=T U", selectCvt},
    {"cvt", "rn|rz|rna relu? satfinite? tf32 f32", "=T U", selectCvt},
    {"cvt", "rn|rz satfinite relu tf32 f32", "=T U", selectCvt},
    {"cvt", "rn|rz relu? satfinite? f16x2|bf16x2 f32", "=T U U",
     selectPackFromF32},
    {"cvt", "rn|rz satfinite relu? f16x2|bf16x2 f32", "=T U U",
     selectPackFromF32},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f32", "=T U U",
     selectPackFromF32},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f16x2", "=T U", selectNarrow},
    {"cvt", "rn relu? f16x2 e4m3x2|e5m2x2", "=T U", selectWiden},
    {"cvt", "pack sat u16|s16 s32", "=b32 s32 s32", selectPackIntegers},
    {"cvt", "pack sat u8|s8 s32 b32", "=b32 s32 s32 b32", selectPackIntegers},
};

} // namespace

DefinitionList deplo::emulator::convertDefinitions() { return listOf(table); }
