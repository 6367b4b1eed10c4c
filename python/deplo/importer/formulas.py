# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of more than a line, as PyTorch defines them."""

import math

from .scalars import Region, Scalar


def float_remainder(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """x - floor(x / y) * y: with the sign of the divisor."""
    rest = s.binary("mod", x, y)
    is_other_side = rest.differs(0) & ((rest < 0) ^ (y < 0))
    return s.select(is_other_side, rest + y, rest)


def float_floor_quotient(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """The largest integer not above x / y: x / y may round up to an integer."""
    rest = s.binary("mod", x, y)
    quotient = (x - rest) / y
    is_other_side = rest.differs(0) & ((rest < 0) ^ (y < 0))
    quotient = s.select(is_other_side, quotient - 1.0, quotient)
    below = s.unary("floor", quotient)
    nearest = s.select(quotient - below > 0.5, below + 1.0, below)
    zero = s.binary("copysign", s.constant(0.0, x.dtype), x / y)
    result = s.select(quotient.equals(0), zero, nearest)
    return s.select(y.equals(0), x / y, result)


def integer_remainder(s: Region, x: Scalar, y: Scalar) -> Scalar:
    return x - s.floor_quotient(x, y) * y


def integer_fmod(s: Region, x: Scalar, y: Scalar) -> Scalar:
    return x - s.quotient(x, y) * y


def integer_power(s: Region, x: Scalar, exponent: int) -> Scalar:
    """By squaring; wraps."""
    result = s.constant(1, x.dtype)
    while exponent > 0:
        if exponent & 1:
            result = result * x
        exponent >>= 1
        if exponent:
            x = x * x
    return result


def integer_power_of(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """By squaring over all bits of the exponent; below 0 only powers of 1 and -1 are not 0."""
    one = s.constant(1, x.dtype)
    result, base = one, x
    bits = {"i8": 7, "u8": 8, "i32": 31, "i64": 63, "bool": 1}[x.dtype]
    for bit in range(bits):
        is_set = (s.binary("shr", y, bit) & 1).differs(0)
        result = result * s.select(is_set, base, one)
        base = base * base
    if x.dtype in ("u8", "bool"):
        return result
    sign = s.select((y & 1).differs(0), x, one)
    inverse = s.select(x.equals(1) | x.equals(-1), sign, 0)
    return s.select(y < 0, inverse, result)


def sign(s: Region, x: Scalar) -> Scalar:
    """0 for NaN and both zeros."""
    if x.dtype == "u8" or x.dtype == "bool":
        return s.select(x.differs(0), 1, s.constant(0, x.dtype))
    return s.select(x > 0, 1, s.select(x < 0, -1, s.constant(0, x.dtype)))


def hypot(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """Without overflow in between; infinite beside an infinity, even if the other is NaN."""
    x, y = s.abs(x), s.abs(y)
    large, small = s.max(x, y), s.min(x, y)
    ratio = s.select(large.equals(0), 0.0, small / large)
    length = large * s.unary("sqrt", ratio * ratio + 1.0)
    return s.select(x.equals(math.inf) | y.equals(math.inf), math.inf, length)


def ignoring_nan(op: str):
    """max or min of what is not NaN."""

    def formula(s: Region, x: Scalar, y: Scalar) -> Scalar:
        if x.dtype not in ("f32", "f64"):
            return s.binary(op, x, y)
        return s.select(s.is_nan(x), y, s.select(s.is_nan(y), x, s.binary(op, x, y)))

    return formula


def shift_left(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """0 beyond the width, and for negative distances."""
    bits = _width(x)
    fits = (y >= 0) & (y < bits)
    return s.select(fits, s.binary("shl", x, s.select(fits, y, 0)), 0)


def shift_right(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """Copies of the sign beyond the width, and for negative distances."""
    bits = _width(x)
    fits = (y >= 0) & (y < bits)
    shifted = s.binary("shr", x, s.select(fits, y, bits - 1))
    return s.select(fits, shifted, 0) if x.dtype == "u8" else shifted


def _width(x: Scalar) -> int:
    return {"i8": 8, "u8": 8, "i32": 32, "i64": 64}[x.dtype]


# In the bits of an f32: the distance of neighbours, and the least number, of a dtype.
_STEPS = {"f32": 1, "bf16": 1 << 16, "f16": 1 << 13}
_LEAST = {"f32": 2.0**-149, "bf16": 2.0**-133, "f16": 2.0**-24}
_LEAST_NORMAL_F16, _LARGEST_F16 = 2.0**-14, 65504.0


def next_after(s: Region, x: Scalar, y: Scalar, dtype: str) -> Scalar:
    """The neighbour in `dtype` of x in the direction of y; both are given in f32."""
    is_up = y > x
    step = s.select(is_up ^ (x < 0), _STEPS[dtype], s.constant(-_STEPS[dtype], "i32"))
    moved = s.real(s.bits(x) + step)
    least = s.select(is_up, _LEAST[dtype], s.constant(-_LEAST[dtype], "f32"))
    if dtype == "f16":  # whose subnormal numbers are normal in f32
        is_even_spaced = s.abs(x) < _LEAST_NORMAL_F16
        is_even_spaced |= s.abs(x).equals(_LEAST_NORMAL_F16) & (is_up ^ (x > 0))
        near = s.binary("copysign", x + least, x)
        moved = s.select(is_even_spaced, near, moved)
        largest = s.binary("copysign", s.constant(_LARGEST_F16, "f32"), x)
        moved = s.select(s.abs(x).equals(math.inf), largest, moved)
    moved = s.select(x.equals(0), least, moved)
    return s.select(s.is_nan(x) | s.is_nan(y), x + y, s.select(x.equals(y), y, moved))


def elu(s: Region, x: Scalar, alpha: float, scale: float, input_scale: float) -> Scalar:
    below = s.unary("expm1", x * input_scale) * (alpha * scale)
    return s.select(x <= 0, below, x * scale)


def round_decimals(s: Region, x: Scalar, decimals: int) -> Scalar:
    power = 10.0 ** abs(decimals)
    if decimals < 0:
        return s.unary("roundeven", x / power) * power
    return s.unary("roundeven", x * power) / power
