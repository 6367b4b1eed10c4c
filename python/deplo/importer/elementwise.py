# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of elementwise operators that are a scalar function each.

A function computes in f32 where it is one of real numbers, in the result's
dtype where integers stay integers, and in the operands' common dtype where it
compares them.
"""

from collections.abc import Callable
from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS
from .formulas import (
    elu,
    float_floor_quotient,
    float_remainder,
    hypot,
    ignoring_nan,
    integer_fmod,
    integer_remainder,
    next_after,
    round_decimals,
    shift_left,
    shift_right,
    sign,
)
from .registry import Context, Unsupported, common_dtype, handles, number, wide
from .scalars import Region, Scalar
from .special import angle, bessel_i, digamma, erfinv, frexp, gcd, lcm, lgamma

aten = torch.ops.aten
Formula = Callable[..., Scalar]

# Of one real number: functions of the math dialect, by name.
_MATH = ("acos acosh asin asinh atan atanh cosh erfc exp2 expm1 log10 log1p log2 sinh tan").split()
# Of one real number: formulas.
_SPECIAL = {
    "angle": angle,
    "digamma": digamma,
    "erfinv": erfinv,
    "i0": lambda s, x: bessel_i(s, x, 0, is_scaled=False),
    "lgamma": lgamma,
    "special_i0e": lambda s, x: bessel_i(s, x, 0, is_scaled=True),
    "special_i1": lambda s, x: bessel_i(s, x, 1, is_scaled=False),
    "special_i1e": lambda s, x: bessel_i(s, x, 1, is_scaled=True),
}
_ROUNDING = {"ceil": "ceil", "floor": "floor", "round": "roundeven", "trunc": "trunc"}


def _packet(name: str) -> Any:
    return getattr(aten, name).default


def _register_real(name: str, formula: Formula) -> None:
    @handles(_packet(name))
    def real(c: Context, x: Value) -> Value:
        return c.map(formula, x, compute="f32")


def _register_rounding(name: str, op: str) -> None:
    @handles(_packet(name))
    def rounding(c: Context, x: Value) -> Value:
        if c.dtype not in FLOATS:
            return x
        return c.arithmetic(lambda s, a: s.unary(op, a), x)


def _named(name: str) -> Formula:
    return lambda s, x: s.unary(name, x)


for _name in _MATH:
    _register_real(_name, _named(_name))
for _name, _formula in _SPECIAL.items():
    _register_real(_name, _formula)
for _name, _op in _ROUNDING.items():
    _register_rounding(_name, _op)


@handles(aten.round.decimals)
def round_(c: Context, x: Value, *, decimals: int) -> Value:
    if c.dtype not in FLOATS:
        return x
    return c.arithmetic(lambda s, a: round_decimals(s, a, decimals), x)


def _of_both(reals: Formula, integers: Formula) -> Formula:
    """A function with one definition for real numbers and one for integers."""
    return lambda s, x, y: (reals if x.dtype == "f32" else integers)(s, x, y)


def _truncated(s: Region, x: Scalar, y: Scalar) -> Scalar:
    return s.unary("trunc", x / y)


_FLOOR_QUOTIENT = _of_both(float_floor_quotient, lambda s, x, y: s.floor_quotient(x, y))
_QUOTIENT = _of_both(_truncated, lambda s, x, y: s.quotient(x, y))

# In the result's dtype: operator -> formula.
_ARITHMETIC: dict[str, Formula] = {
    "atan2": lambda s, x, y: s.binary("atan2", x, y),
    "copysign": lambda s, x, y: s.binary("copysign", x, y),
    "floor_divide": _FLOOR_QUOTIENT,
    "fmax": ignoring_nan("max"),
    "fmin": ignoring_nan("min"),
    "gcd": gcd,
    "lcm": lcm,
    "fmod": _of_both(lambda s, x, y: s.binary("mod", x, y), integer_fmod),
    "hypot": hypot,
    "remainder": _of_both(float_remainder, integer_remainder),
    "bitwise_and": lambda s, x, y: x & y,
    "bitwise_or": lambda s, x, y: x | y,
    "bitwise_xor": lambda s, x, y: x ^ y,
    "bitwise_left_shift": shift_left,
    "bitwise_right_shift": shift_right,
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_LOGICAL: dict[str, Formula] = {
    "logical_and": lambda s, x, y: x & y,
    "logical_or": lambda s, x, y: x | y,
    "logical_xor": lambda s, x, y: x ^ y,
}


def _overloads(name: str) -> list[Any]:
    """The forms of an operator on tensors and numbers that return a tensor."""
    packet = getattr(aten, name)
    names = ("default", "Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar")
    return [getattr(packet, overload) for overload in names if overload in packet.overloads()]


def _register_arithmetic(name: str, formula: Formula) -> None:
    @handles(*_overloads(name))
    def arithmetic(c: Context, x: Any, y: Any) -> Value:
        return c.arithmetic(formula, x, y)


def _register_comparison(name: str) -> None:
    @handles(*_overloads(name))
    def comparison(c: Context, x: Any, y: Any) -> Value:
        """Of values rounded to the common dtype, as PyTorch compares."""
        dtype = common_dtype(x, y)

        def formula(s: Region, a: Scalar, b: Scalar) -> Scalar:
            return s.compare(name, s.convert(a, wide(dtype)), s.convert(b, wide(dtype)))

        return c.map(formula, x, y, compute=dtype)


def _register_logical(name: str, formula: Formula) -> None:
    @handles(_packet(name))
    def logical(c: Context, x: Value, y: Value) -> Value:
        return c.map(formula, x, y, compute="bool")


for _name, _formula in _ARITHMETIC.items():
    _register_arithmetic(_name, _formula)
for _name in _COMPARISONS:
    _register_comparison(_name)
for _name, _formula in _LOGICAL.items():
    _register_logical(_name, _formula)


@handles(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(c: Context, x: Any, y: Any, *, rounding_mode: str | None) -> Value:
    if rounding_mode is None:
        return c.binary("div", x, y)
    return c.arithmetic(_FLOOR_QUOTIENT if rounding_mode == "floor" else _QUOTIENT, x, y)


@handles(aten.nextafter.default)
def nextafter(c: Context, x: Value, y: Value) -> Value:
    return c.map(lambda s, a, b: next_after(s, a, b, c.dtype), x, y, compute="f32")


@handles(aten.frexp.Tensor)
def frexp_(c: Context, x: Value) -> tuple[Value, Value]:
    parts = [lambda s, a, i=i: frexp(s, s.convert(a, "f32"))[i] for i in range(2)]
    return c.b.map(parts[0], [x], c.dtype), c.b.map(parts[1], [x], "i32")


@handles(aten.ldexp.Tensor)
def ldexp(c: Context, x: Value, y: Value) -> Value:
    return c.map(lambda s, a, b: a * s.unary("exp2", b), x, y, compute="f32")


@handles(aten.logical_not.default)
def logical_not(c: Context, x: Value) -> Value:
    return c.map(lambda s, a: ~a, x, compute="bool")


@handles(aten.bitwise_not.default)
def bitwise_not(c: Context, x: Value) -> Value:
    return c.arithmetic(lambda s, a: ~a, x)


@handles(aten.sign.default)
def sign_(c: Context, x: Value) -> Value:
    return c.arithmetic(sign, x)


@handles(aten.isnan.default)
def isnan(c: Context, x: Value) -> Value:
    return c.map(lambda s, a: s.is_nan(a), x, compute=wide(x.dtype))


@handles(aten.isinf.default)
def isinf(c: Context, x: Value) -> Value:
    return c.map(lambda s, a: s.is_inf(a), x, compute=wide(x.dtype))


@handles(aten.signbit.default)
def signbit(c: Context, x: Value) -> Value:
    return c.map(lambda s, a: s.sign_bit(a), x, compute=wide(x.dtype))


@handles(aten.where.self)
def where(c: Context, condition: Value, x: Value, y: Value) -> Value:
    def formula(s: Region, m: Scalar, a: Scalar, b: Scalar) -> Scalar:
        return s.select(s.convert(m, "bool"), s.convert(a, c.dtype), s.convert(b, c.dtype))

    return c.b.map(formula, [condition, x, y], c.dtype)


@handles(aten.elu.default)
def elu_(c: Context, x: Value, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Value:
    factors = (number(alpha), number(scale), number(input_scale))
    return c.map(lambda s, a: elu(s, a, *factors), x, compute="f32")


@handles(aten.leaky_relu.default)
def leaky_relu(c: Context, x: Value, slope: Any = 0.01) -> Value:
    factor = number(slope)
    return c.map(lambda s, a: s.select(a > 0, a, a * factor), x, compute="f32")


@handles(aten.rrelu_with_noise_functional.default)
def rrelu(
    c: Context,
    x: Value,
    noise: Value,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> tuple[Value, Value]:
    """Outside of training the slope is the mean of the two."""
    if training:
        raise Unsupported("its slopes are random in training; call .eval() first")
    return leaky_relu(c, x, (number(lower) + number(upper)) / 2), noise


@handles(aten.arange.start_step)
def arange(c: Context, start: Any, end: Any, step: Any = 1, **_: Any) -> Value:
    """start + i * step, floats in f64 and rounded once."""
    compute = "f64" if c.dtype in FLOATS else "i64"
    first, distance = number(start), number(step)
    return c.b.generate(lambda s, i: s.convert(i, compute) * distance + first, c.shape, c.dtype)
