# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of reductions, normalisations and softmax."""

import math
from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS
from .registry import Context, Unsupported, handles, normalized_axes, number
from .scalars import Region, Scalar

aten = torch.ops.aten

_F32_MAX = torch.finfo(torch.float32).max


# How the named reductions fold integers and bools.
_MONOIDS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _reduce(c: Context, op: str, x: Value, dim: Any, keepdim: bool) -> Value:
    """`op` over `dim`, floats accumulated in f32; `x` is cast to the result's dtype first."""
    x = c.tensor(x)
    axes = normalized_axes(dim, len(x.shape))
    return _fold(c, op, x, axes, keepdim) if axes else x


def _fold(c: Context, op: str, x: Value, axes: list[int], keepdim: bool) -> Value:
    if x.dtype in FLOATS:
        return c.b.reduction(op, x, axes, keepdim)
    # In i32 unsigned numbers have their order.
    wide = "i32" if x.dtype in ("i8", "u8") else x.dtype
    if op in ("amax", "amin") and any(x.shape[axis] == 0 for axis in axes):
        raise Unsupported("an empty axis has no extreme element; give the tensor elements")
    return c.b.cast(c.b.reduce(_MONOIDS[op], c.b.cast(x, wide), axes, keepdim), x.dtype)


@handles(aten.sum.default, aten.sum.dim_IntList)
def sum_(c: Context, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(c, "sum", x, dim, keepdim)


@handles(aten.mean.default, aten.mean.dim)
def mean(c: Context, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(c, "mean", x, dim, keepdim)


@handles(aten.prod.default, aten.prod.dim_int)
def prod(c: Context, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(c, "prod", x, dim, keepdim)


@handles(aten.amax.default)
def amax(c: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _reduce(c, "amax", x, dim, keepdim)


@handles(aten.amin.default)
def amin(c: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _reduce(c, "amin", x, dim, keepdim)


@handles(aten.max.default)
def max_all(c: Context, x: Value) -> Value:
    return _reduce(c, "amax", x, None, False)


@handles(aten.min.default)
def min_all(c: Context, x: Value) -> Value:
    return _reduce(c, "amin", x, None, False)


@handles(aten.any.default, aten.any.dim, aten.any.dims)
def any_(c: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _quantifier(c, "max", x, dim, keepdim)


@handles(aten.all.default, aten.all.dim, aten.all.dims)
def all_(c: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _quantifier(c, "min", x, dim, keepdim)


def _quantifier(c: Context, monoid: str, x: Value, dim: Any, keepdim: bool) -> Value:
    axes = normalized_axes(dim, len(x.shape))
    bools = c.b.cast(x, "bool")
    result = c.b.reduce(monoid, bools, axes, keepdim) if axes else bools
    return c.b.cast(result, c.dtype)  # of u8 PyTorch makes u8


def _position(c: Context, x: Value, extreme: Value, axis: int, keepdim: bool) -> Value:
    """The lowest index of `extreme`, the result of a reduction that kept `axis`.

    NaN is where the element is NaN: the first NaN wins, as in PyTorch.
    """
    count = x.shape[axis]
    dtype = "i32" if count < 2**31 else "i64"

    def formula(s: Region, element: Scalar, wanted: Scalar) -> Scalar:
        is_there = element.equals(wanted)
        if x.dtype in FLOATS:
            is_there = is_there | (s.is_nan(element) & s.is_nan(wanted))
        index = s.convert(s.index(axis), dtype)
        return s.select(is_there, index, count)

    places = c.b.map(formula, [x, extreme], dtype)
    return c.b.cast(c.b.reduce("min", places, [axis], keepdim), "i64")


@handles(aten.max.dim)
def max_dim(c: Context, x: Value, dim: int, keepdim: bool = False) -> tuple[Value | None, ...]:
    return _with_position(c, "amax", x, dim, keepdim)


@handles(aten.min.dim)
def min_dim(c: Context, x: Value, dim: int, keepdim: bool = False) -> tuple[Value | None, ...]:
    return _with_position(c, "amin", x, dim, keepdim)


def _with_position(
    c: Context, op: str, x: Value, dim: int, keepdim: bool
) -> tuple[Value | None, ...]:
    """Emits the indices only if they are used."""
    if not x.shape:
        return x, c.b.constant(0, "i64")
    axis = dim % len(x.shape)
    if 1 not in c.used:
        return _fold(c, op, x, [axis], keepdim), None
    extreme = _fold(c, op, x, [axis], True)
    index = _position(c, x, extreme, axis, keepdim)
    return c.b.reshape(extreme, index.shape), index


@handles(aten.argmax.default)
def argmax(c: Context, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _extreme_index(c, "amax", x, dim, keepdim)


@handles(aten.argmin.default)
def argmin(c: Context, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _extreme_index(c, "amin", x, dim, keepdim)


def _extreme_index(c: Context, op: str, x: Value, dim: int | None, keepdim: bool) -> Value:
    """Without `dim`, in the flattened tensor."""
    if not x.shape:
        return c.b.expand(c.b.constant(0, "i64"), c.shape)
    if dim is None:
        x, axis = c.b.reshape(x, [math.prod(x.shape)]), 0
    else:
        axis = dim % len(x.shape)
    extreme = _fold(c, op, x, [axis], True)
    return c.b.reshape(_position(c, x, extreme, axis, keepdim and dim is not None), c.shape)


@handles(aten.var.correction)
def var(
    c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Value:
    axes = normalized_axes(dim, len(x.shape))
    return c.b.variance(x, axes, 1.0 if correction is None else number(correction), keepdim)


@handles(aten.std.correction)
def std(
    c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Value:
    (a,) = c.f32(x)
    variance = var(c, a, dim, correction=correction, keepdim=keepdim)
    return c.rounded(c.b.unary("sqrt", variance))


@handles(aten.var_mean.correction)
def var_mean(
    c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Value | None, Value | None]:
    """Emits only the results that are used."""
    spread = var(c, x, dim, correction=correction, keepdim=keepdim) if 0 in c.used else None
    return spread, mean(c, x, dim, keepdim) if 1 in c.used else None


@handles(aten.linalg_vector_norm.default)
def vector_norm(
    c: Context, x: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any
) -> Value:
    (a,) = c.f32(x)
    axes = normalized_axes(dim, len(x.shape))
    order = float(number(ord))
    magnitude = c.b.unary("abs", a)
    if not axes and order == 0.0:
        return c.rounded(c.b.map(lambda s, m: m.differs(0), [magnitude], "f32"))
    if not axes:
        return c.rounded(magnitude)
    if math.isinf(order):
        op = "amax" if order > 0 else "amin"
        return c.rounded(c.b.reduction(op, magnitude, axes, keepdim))
    if order == 1.0:
        return c.rounded(c.b.reduction("sum", magnitude, axes, keepdim))
    if order == 2.0:
        squares = c.b.reduction("sum", c.b.binary("mul", a, a), axes, keepdim)
        return c.rounded(c.b.unary("sqrt", squares))
    if order == 0.0:
        is_counted = c.b.map(lambda s, m: m.differs(0), [magnitude], "f32")
        return c.rounded(c.b.reduction("sum", is_counted, axes, keepdim))
    powers = c.b.reduction("sum", c.b.binary("pow", magnitude, order), axes, keepdim)
    return c.rounded(c.b.binary("pow", powers, 1.0 / order))


@handles(aten.logsumexp.default)
def logsumexp(c: Context, x: Value, dim: Any, keepdim: bool = False) -> Value:
    """log(sum(exp(x - m))) + m with m = max(x), clamped so that infinities stay right."""
    (a,) = c.f32(x)
    axes = normalized_axes(dim, len(x.shape))
    if not axes:
        return c.rounded(a)
    top = c.b.reduction("amax", a, axes, True)
    top = c.b.binary("minimum", c.b.binary("maximum", top, -_F32_MAX), _F32_MAX)
    shifted = c.b.unary("exp", c.b.binary("sub", a, top))
    total = c.b.unary("log", c.b.reduction("sum", shifted, axes, keepdim))
    return c.rounded(c.b.binary("add", total, c.b.reshape(top, total.shape)))


def _softmax(c: Context, op: str, x: Value, dim: int) -> Value:
    x = c.tensor(x)
    if not x.shape:
        return c.b.reshape(c.b.softmax(op, c.b.reshape(x, (1,)), 0), ())
    return c.b.softmax(op, x, dim % len(x.shape))


@handles(aten.softmax.int, aten._softmax.default)
def softmax(c: Context, x: Value, dim: int, dtype: Any = None) -> Value:
    return _softmax(c, "softmax", x, dim)


@handles(aten.log_softmax.int, aten._log_softmax.default)
def log_softmax(c: Context, x: Value, dim: int, dtype: Any = None) -> Value:
    return _softmax(c, "log_softmax", x, dim)


@handles(aten.layer_norm.default)
def layer_norm(
    c: Context,
    x: Value,
    normalized_shape: list[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    return c.b.norm("layer_norm", x, weight, bias, len(normalized_shape), eps)


@handles(aten.rms_norm.default)
def rms_norm(
    c: Context,
    x: Value,
    normalized_shape: list[int],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    """Without `eps` PyTorch takes f32's epsilon for every dtype (its arithmetic is f32)."""
    eps = torch.finfo(torch.float32).eps if eps is None else eps
    rank = len(normalized_shape)
    if weight is None or weight.dtype == x.dtype:
        return c.b.norm("rms_norm", x, weight, None, rank, eps)
    scaled = c.b.norm("rms_norm", c.tensor(x), c.tensor(weight), None, rank, eps)
    return c.rounded(scaled)


@handles(aten.native_layer_norm.default)
def native_layer_norm(
    c: Context,
    x: Value,
    normalized_shape: list[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple[Value | None, ...]:
    return _first(c, layer_norm(c, x, normalized_shape, weight, bias, eps), 3)


@handles(aten._fused_rms_norm.default)
def fused_rms_norm(
    c: Context,
    x: Value,
    normalized_shape: list[int],
    weight: Value | None,
    eps: float | None,
) -> tuple[Value | None, ...]:
    return _first(c, rms_norm(c, x, normalized_shape, weight, eps), 2)


def _first(c: Context, result: Value, count: int) -> tuple[Value | None, ...]:
    """`result`, and none of the statistics, which only training needs."""
    if c.used - {0}:
        raise Unsupported("its statistics are used; compute them with mean and var")
    return (result, *[None] * (count - 1))
