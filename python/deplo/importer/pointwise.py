# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of elementwise operators, casts and filled tensors."""

from typing import Any

import torch

from .builder import Value
from .dtypes import SUPPORTED, dtype_name
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


def _register_unary(op: str, target: Any) -> None:
    @handles(target)
    def unary(c: Context, x: Value) -> Value:
        return c.b.unary(op, c.tensor(x))


for _op, _target in _UNARY.items():
    _register_unary(_op, _target)


@handles(aten.gelu.default)
def gelu(c: Context, x: Value, *, approximate: str = "none") -> Value:
    return c.b.unary("gelu_tanh" if approximate == "tanh" else "gelu", x)


@handles(aten.mul.Tensor, aten.mul.Scalar)
def mul(c: Context, x: Any, y: Any) -> Value:
    return c.binary("mul", x, y)


@handles(aten.maximum.default)
def maximum(c: Context, x: Value, y: Value) -> Value:
    return c.binary("maximum", x, y)


@handles(aten.minimum.default)
def minimum(c: Context, x: Value, y: Value) -> Value:
    return c.binary("minimum", x, y)


@handles(aten.div.Tensor, aten.div.Scalar)
def div(c: Context, x: Any, y: Any) -> Value:
    return c.binary("div", x, y)


@handles(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(c: Context, x: Any, y: Any, *, rounding_mode: str | None) -> Value:
    if rounding_mode is not None:
        raise Unsupported(f"rounding_mode={rounding_mode!r}; write x / y without rounding")
    return div(c, x, y)


def _sum_with_factor(c: Context, op: str, x: Any, y: Any, alpha: Any) -> Value:
    """x + alpha * y or x - alpha * y, rounded once."""
    if number(alpha) == 1.0:
        return c.binary(op, x, y)
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
    x, power = c.tensor(x), number(exponent)
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
    return c.binary("pow", x, exponent)


@handles(aten.exp2.default)
def exp2(c: Context, x: Value) -> Value:
    return c.b.binary("pow", 2.0, c.tensor(x))


@handles(aten.square.default)
def square(c: Context, x: Value) -> Value:
    return c.b.binary("mul", x, x)


@handles(aten.tan.default)
def tan(c: Context, x: Value) -> Value:
    (a,) = c.f32(x)
    return c.rounded(c.b.binary("div", c.b.unary("sin", a), c.b.unary("cos", a)))


@handles(aten.clamp.default, aten.clamp.Tensor, aten.hardtanh.default)
def clamp(c: Context, x: Value, min: Any = None, max: Any = None) -> Value:
    """minimum(maximum(x, min), max): NaN in any of the three gives NaN, as in PyTorch."""
    result = c.tensor(x)
    if min is not None:
        result = c.binary("maximum", result, min)
    if max is not None:
        result = c.binary("minimum", result, max)
    return result


@handles(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(c: Context, x: Value, min: Any) -> Value:
    return clamp(c, x, min, None)


@handles(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(c: Context, x: Value, max: Any) -> Value:
    return clamp(c, x, None, max)


@handles(aten.addcmul.default)
def addcmul(c: Context, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
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


@handles(aten.scalar_tensor.default)
def scalar_tensor(c: Context, fill: Any, **_: Any) -> Value:
    return c.b.constant(number(fill), c.dtype)
