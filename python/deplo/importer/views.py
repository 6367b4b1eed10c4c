# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of operators that only rename, reorder, repeat or select elements."""

from typing import Any

import torch

from .builder import Value
from .gathers import Source, dims, gather, wrapped
from .registry import Context, handles

aten = torch.ops.aten


@handles(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.flatten.using_ints,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
)
def reshape(c: Context, x: Value, *_: Any) -> Value:
    return c.b.reshape(x, c.shape)


@handles(aten.permute.default)
def permute(c: Context, x: Value, dims: list[int]) -> Value:
    return c.b.permute(x, [axis % len(dims) for axis in dims])


@handles(aten.transpose.int)
def transpose(c: Context, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(len(x.shape)))
    if not order:
        return x
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return c.b.permute(x, order)


@handles(aten.t.default)
def t(c: Context, x: Value) -> Value:
    return c.b.permute(x, [1, 0]) if len(x.shape) == 2 else x


@handles(aten.expand.default)
def expand(c: Context, x: Value, size: list[int], **_: Any) -> Value:
    return c.b.expand(x, c.shape)


@handles(aten.repeat.default)
def repeat(c: Context, x: Value, repeats: list[int]) -> Value:
    """Each axis of size s becomes r x s: a new axis, expanded and merged."""
    sizes = [1] * (len(repeats) - len(x.shape)) + list(x.shape)
    split = [part for size in sizes for part in (1, size)]
    grown = [part for r, size in zip(repeats, sizes, strict=True) for part in (r, size)]
    return c.b.reshape(c.b.expand(c.b.reshape(x, split), grown), c.shape)


@handles(aten.slice.Tensor)
def slice_(
    c: Context,
    x: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    axis = dim % len(x.shape)
    first, last, _ = slice(start, end, step).indices(x.shape[axis])
    return c.b.slice(x, axis, first, max(first, last), step)


@handles(aten.select.int)
def select(c: Context, x: Value, dim: int, index: int | Value) -> Value:
    """By a number, or by a number in a tensor."""
    axis = dim % len(x.shape)
    if isinstance(index, Value):
        rest = dims(len(c.shape))
        place = wrapped(c.b, index, x.shape[axis])
        return gather(c.b, c.shape, [Source(x, [*rest[:axis], "s0", *rest[axis:]])], [place])
    first = index % x.shape[axis]
    return c.b.reshape(c.b.slice(x, axis, first, first + 1), c.shape)


@handles(aten.split_with_sizes.default)
def split_with_sizes(
    c: Context, x: Value, sizes: list[int], dim: int = 0
) -> tuple[Value | None, ...]:
    """Emits only the parts that are used."""
    axis = dim % len(x.shape)
    parts: list[Value | None] = []
    start = 0
    for i, size in enumerate(sizes):
        parts.append(c.b.slice(x, axis, start, start + size) if i in c.used else None)
        start += size
    return tuple(parts)


@handles(aten.glu.default)
def glu(c: Context, x: Value, dim: int = -1) -> Value:
    """a * sigmoid(b) with the halves a and b of one axis."""
    axis = dim % len(x.shape)
    half = x.shape[axis] // 2
    a, b = c.f32(c.b.slice(x, axis, 0, half), c.b.slice(x, axis, half, 2 * half))
    return c.rounded(c.b.binary("mul", a, c.b.unary("sigmoid", b)))
