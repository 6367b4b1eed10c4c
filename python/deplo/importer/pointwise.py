# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of elementwise operators, casts and filled tensors."""

from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS, INTEGERS, SUPPORTED, TORCH_DTYPES, dtype_name
from .formulas import integer_power, integer_power_of
from .registry import Context, Unsupported, handles, number

aten = torch.ops.aten

_UNARY = {
    "neg": aten.neg.default,
    "abs": aten.abs.default,
    "exp": aten.exp.default,
    "log": aten.log.default,
    "sqrt": aten.sqrt.default,
    "rsqrt": aten.rsqrt.default,
    "reciprocal": aten.reciprocal.default,
    "sin": aten.sin.default,
    "cos": aten.cos.default,
    "tanh": aten.tanh.default,
    "erf": aten.erf.default,
    "sigmoid": aten.sigmoid.default,
    "relu": aten.relu.default,
    "silu": aten.silu.default,
}


# What the operators that keep integers do to them.
_OF_INTEGERS = {
    "neg": lambda s, x: -x,
    "abs": lambda s, x: s.abs(x),
    "relu": lambda s, x: s.max(x, 0),
}


def _register_unary(op: str, target: Any) -> None:
    @handles(target)
    def unary(c: Context, x: Value) -> Value:
        if c.dtype in FLOATS:
            return c.b.unary(op, c.tensor(x))
        return c.arithmetic(_OF_INTEGERS[op], x)


for _op, _target in _UNARY.items():
    _register_unary(_op, _target)


@handles(aten.gelu.default)
def gelu(c: Context, x: Value, *, approximate: str = "none") -> Value:
    return c.b.unary("gelu_tanh" if approximate == "tanh" else "gelu", x)


# The operation of a region that stands for a named operator.
_SCALAR_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "maximum": "max", "minimum": "min"}


def _binary(c: Context, op: str, x: Any, y: Any) -> Value:
    if c.dtype in FLOATS:
        return c.binary(op, x, y)
    return c.arithmetic(lambda s, a, b: s.binary(_SCALAR_NAMES[op], a, b), x, y)


@handles(aten.mul.Tensor, aten.mul.Scalar)
def mul(c: Context, x: Any, y: Any) -> Value:
    return _binary(c, "mul", x, y)


@handles(aten.maximum.default)
def maximum(c: Context, x: Value, y: Value) -> Value:
    return _binary(c, "maximum", x, y)


@handles(aten.minimum.default)
def minimum(c: Context, x: Value, y: Value) -> Value:
    return _binary(c, "minimum", x, y)


@handles(aten.div.Tensor, aten.div.Scalar)
def div(c: Context, x: Any, y: Any) -> Value:
    return c.binary("div", x, y)


def _sum_with_factor(c: Context, op: str, x: Any, y: Any, alpha: Any) -> Value:
    """x + alpha * y or x - alpha * y, rounded once."""
    if number(alpha) == 1:
        return _binary(c, op, x, y)
    if c.dtype not in FLOATS:
        name = _SCALAR_NAMES[op]
        return c.arithmetic(lambda s, a, b: s.binary(name, a, b * alpha), x, y)
    a, b = c.f32(x, y)
    return c.rounded(c.b.binary(op, a, c.b.binary("mul", b, number(alpha))))


@handles(aten.add.Tensor, aten.add.Scalar)
def add(c: Context, x: Any, y: Any, alpha: Any = 1) -> Value:
    return _sum_with_factor(c, "add", x, y, alpha)


@handles(aten.sub.Tensor, aten.sub.Scalar)
def sub(c: Context, x: Any, y: Any, alpha: Any = 1) -> Value:
    return _sum_with_factor(c, "sub", x, y, alpha)


@handles(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(c: Context, x: Any, y: Any, alpha: Any = 1) -> Value:
    return _sum_with_factor(c, "sub", y, x, alpha)


@handles(aten.pow.Tensor_Scalar)
def pow_scalar(c: Context, x: Value, exponent: Any) -> Value:
    """The exponents that PyTorch computes without pow are computed without it here."""
    power = number(exponent)
    if c.dtype not in FLOATS:
        return c.arithmetic(lambda s, a: integer_power(s, a, power), x)
    x = c.tensor(x)
    if power == 0.0:
        return c.b.expand(c.b.constant(1.0, c.dtype), c.shape)
    if power == 1.0:
        return x
    if power == 2.0:
        return c.b.binary("mul", x, x)
    if power == 3.0:
        return c.b.binary("mul", c.b.binary("mul", x, x), x)
    special = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if power in special:
        return c.b.unary(special[power], x)
    if power == -2.0:
        return c.b.unary("reciprocal", c.b.binary("mul", x, x))
    return c.binary("pow", x, power)


@handles(aten.pow.Scalar, aten.pow.Tensor_Tensor)
def pow_tensor(c: Context, x: Any, exponent: Value) -> Value:
    if c.dtype in FLOATS:
        return c.binary("pow", x, exponent)
    return c.arithmetic(integer_power_of, x, exponent)


@handles(aten.square.default)
def square(c: Context, x: Value) -> Value:
    return _binary(c, "mul", x, x)


@handles(aten.clamp.default, aten.clamp.Tensor, aten.hardtanh.default)
def clamp(c: Context, x: Value, min: Any = None, max: Any = None) -> Value:
    """minimum(maximum(x, min), max): NaN in any of the three gives NaN, as in PyTorch."""
    result = c.tensor(x)
    if min is not None:
        result = _binary(c, "maximum", result, _nearest(min, c.dtype))
    if max is not None:
        result = _binary(c, "minimum", result, _nearest(max, c.dtype))
    return result


def _nearest(bound: Any, dtype: str) -> Any:
    """A number beyond the range of an integer dtype is no other bound than the range's end."""
    if isinstance(bound, Value) or dtype not in INTEGERS:
        return bound
    info = torch.iinfo(TORCH_DTYPES[dtype])
    return sorted((info.min, number(bound), info.max))[1]


@handles(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(c: Context, x: Value, min: Any) -> Value:
    return clamp(c, x, min, None)


@handles(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(c: Context, x: Value, max: Any) -> Value:
    return clamp(c, x, None, max)


@handles(aten.addcmul.default)
def addcmul(c: Context, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    if c.dtype not in FLOATS:
        return c.arithmetic(lambda s, x, a, b: x + a * b * number(value), x, a, b)
    x, a, b = c.f32(x, a, b)
    product = c.b.binary("mul", a, b)
    return c.rounded(c.b.binary("add", x, _scaled(c, product, value)))


@handles(aten.addcdiv.default)
def addcdiv(c: Context, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    x, a, b = c.f32(x, a, b)
    quotient = c.b.binary("div", a, b)
    return c.rounded(c.b.binary("add", x, _scaled(c, quotient, value)))


def _scaled(c: Context, x: Value, factor: Any) -> Value:
    return x if number(factor) == 1.0 else c.b.binary("mul", x, number(factor))


@handles(aten.hardsigmoid.default)
def hardsigmoid(c: Context, x: Value) -> Value:
    (a,) = c.f32(x)
    return c.rounded(c.b.binary("div", _relu6_of_plus_3(c, a), 6.0))


@handles(aten.hardswish.default)
def hardswish(c: Context, x: Value) -> Value:
    (a,) = c.f32(x)
    return c.rounded(c.b.binary("div", c.b.binary("mul", a, _relu6_of_plus_3(c, a)), 6.0))


def _relu6_of_plus_3(c: Context, x: Value) -> Value:
    positive = c.b.binary("maximum", c.b.binary("add", x, 3.0), 0.0)
    return c.b.binary("minimum", positive, 6.0)


@handles(aten._to_copy.default)
def to_copy(c: Context, x: Value, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return c.b.cast(x, _named(dtype) if dtype else x.dtype)


@handles(
    aten.clone.default,
    aten.contiguous.default,
    aten.alias.default,
    aten.detach.default,
    aten.lift_fresh_copy.default,
)
def identity(c: Context, x: Value, **_: Any) -> Value:
    return x


def _named(dtype: torch.dtype) -> str:
    name = dtype_name(dtype)
    if name is None:
        word = str(dtype).removeprefix("torch.")
        raise Unsupported(f"dtype {word}; supported are {SUPPORTED}")
    return name


@handles(aten.full.default, aten.full_like.default, aten.new_full.default)
def full(c: Context, like: Any, fill: Any, *rest: Any, **_: Any) -> Value:
    return c.b.expand(c.b.constant(number(rest[0] if rest else fill), c.dtype), c.shape)


@handles(aten.empty.memory_format, aten.empty_permuted.default, aten.empty_strided.default)
def empty(c: Context, *_: Any, **__: Any) -> Value:
    """Any value will do."""
    return c.b.expand(c.b.constant(0, c.dtype), c.shape)


@handles(aten.scalar_tensor.default)
def scalar_tensor(c: Context, fill: Any, **_: Any) -> Value:
    return c.b.constant(number(fill), c.dtype)
