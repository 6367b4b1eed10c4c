# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of cumulative sums, products, extremes and sums of exponentials."""

from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS
from .indexing import axis_of
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten


def _scan(c: Context, monoid: str, x: Value, dim: int) -> Value:
    """In the dtype of `x`, floats accumulated in f32."""
    if not x.shape:
        return x
    # In i32 unsigned numbers have their order.
    wide = c.b.cast(x, "i32") if x.dtype in ("i8", "u8") else x
    return c.b.cast(c.b.scan(monoid, wide, axis_of(dim, len(x.shape))), x.dtype)


@handles(aten.cumsum.default)
def cumsum(c: Context, x: Value, dim: int, dtype: Any = None) -> Value:
    return _scan(c, "add", c.tensor(x), dim)


@handles(aten.cumprod.default)
def cumprod(c: Context, x: Value, dim: int, dtype: Any = None) -> Value:
    return _scan(c, "mul", c.tensor(x), dim)


@handles(aten.logcumsumexp.default)
def logcumsumexp(c: Context, x: Value, dim: int) -> Value:
    return _scan(c, "logaddexp", c.tensor(x), dim)


@handles(aten.cummax.default)
def cummax(c: Context, x: Value, dim: int) -> tuple[Value | None, ...]:
    return _extremes(c, "max", x, dim)


@handles(aten.cummin.default)
def cummin(c: Context, x: Value, dim: int) -> tuple[Value | None, ...]:
    return _extremes(c, "min", x, dim)


def _extremes(c: Context, monoid: str, x: Value, dim: int) -> tuple[Value | None, ...]:
    """The extremes so far; the last place of each only if that is used.

    A place is where the element is the extreme so far. NaN is one: the last NaN
    wins, as in PyTorch.
    """
    extremes = _scan(c, monoid, x, dim)
    if 1 not in c.used:
        return extremes, None
    if not x.shape:
        return extremes, c.b.constant(0, "i64")
    axis = axis_of(dim, len(x.shape))
    dtype = "i32" if x.shape[axis] < 2**31 else "i64"

    def place(s: Region, element: Scalar, extreme: Scalar) -> Scalar:
        is_extreme = element.equals(extreme)
        if x.dtype in FLOATS:
            is_extreme = is_extreme | s.is_nan(element)
        return s.select(is_extreme, s.convert(s.index(axis), dtype), 0)

    places = c.b.map(place, [x, extremes], dtype)
    return extremes, c.b.cast(c.b.scan("max", places, axis), "i64")
