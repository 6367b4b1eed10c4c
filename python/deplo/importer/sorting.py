# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of topk, sort and median: by counting.

The rank of an element is how many of its row come before it; the element of
rank r is then looked up. Stable, with NaN as the largest, and n^2 comparisons
for a row of n: fast for rows of some hundred elements, refused for long ones.
"""

import math

import torch

from .builder import Value
from .gathers import Source, dims, gather
from .indexing import axis_of
from .registry import Context, Unsupported, handles
from .scalars import Region, Scalar

aten = torch.ops.aten

# Elements of the longest row that is sorted.
MAX_ROW = 4096


def _before(s: Region, a: Scalar, b: Scalar, descending: bool) -> Scalar:
    """Whether `a` comes before `b` for its value; NaN is the largest."""
    low, high = (b, a) if descending else (a, b)
    return (low < high) | (s.is_nan(high) & ~s.is_nan(low))


def _sorted(c: Context, x: Value, dim: int, descending: bool, count: int) -> tuple[Value, Value]:
    """The first `count` of each row along `dim`, and where they were."""
    rank = len(x.shape)
    if rank == 0:
        return x, c.b.constant(0, "i64")
    axis = axis_of(dim, rank)
    size = x.shape[axis]
    if size > MAX_ROW:
        raise Unsupported(
            f"the row has {size} elements, sorted are at most {MAX_ROW}; "
            "reduce it first, as by amax over pieces"
        )
    shape = [*x.shape, size]
    mine = c.b.expand(c.b.reshape(x, [*x.shape, 1]), shape)
    others = c.b.expand(_last_axis(c, x, axis), shape)

    def precedes(s: Region, value: Scalar, other: Scalar) -> Scalar:
        tie = ~_before(s, value, other, descending) & (s.index(rank) < s.index(axis))
        return s.convert(_before(s, other, value, descending) | tie, "i64")

    ranks = c.b.reduce("add", c.b.map(precedes, [mine, others], "i64"), [rank], keepdims=False)
    # Where rank r is: the only place k of its row with ranks[k] == r.
    wanted = list(x.shape)
    wanted[axis] = count
    if math.prod(wanted) == 0:
        return c.b.slice(x, axis, 0, count), c.b.slice(ranks, axis, 0, count)
    pairs = [*wanted, size]
    of_row = c.b.expand(_last_axis(c, ranks, axis), pairs)

    def place(s: Region, r: Scalar) -> Scalar:
        return s.select(r.equals(s.index(axis)), s.index(rank), -1)

    places = c.b.reduce("max", c.b.map(place, [of_row], "i64"), [rank], keepdims=False)
    coordinates = dims(rank)
    coordinates[axis] = "s0"
    return gather(c.b, wanted, [Source(x, coordinates)], [places]), places


def _last_axis(c: Context, x: Value, axis: int) -> Value:
    """x with `axis` moved to a new last axis and 1 in its place."""
    order = [i for i in range(len(x.shape)) if i != axis] + [axis]
    moved = c.b.permute(x, order)
    shape = [1 if i == axis else size for i, size in enumerate(x.shape)]
    return c.b.reshape(moved, [*shape, x.shape[axis]])


@handles(aten.sort.default)
def sort(
    c: Context, x: Value, dim: int = -1, descending: bool = False
) -> tuple[Value | None, Value | None]:
    return _sorted(c, x, dim, descending, x.shape[axis_of(dim, len(x.shape))] if x.shape else 1)


@handles(aten.sort.stable)
def sort_stable(
    c: Context, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Value | None, Value | None]:
    return sort(c, x, dim, descending)


@handles(aten.topk.default)
def topk(
    c: Context, x: Value, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
) -> tuple[Value | None, Value | None]:
    """Of equal elements the first; PyTorch leaves open which."""
    return _sorted(c, x, dim, largest, k)


@handles(aten.kthvalue.default)
def kthvalue(
    c: Context, x: Value, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Value | None, Value | None]:
    values, places = _sorted(c, x, dim, False, k)
    axis = axis_of(dim, len(x.shape))
    if not x.shape:
        return values, places
    return tuple(c.b.reshape(c.b.slice(v, axis, k - 1, k), c.shape) for v in (values, places))


@handles(aten.median.dim)
def median(
    c: Context, x: Value, dim: int, keepdim: bool = False
) -> tuple[Value | None, Value | None]:
    """The lower of two; NaN if there is one."""
    if not x.shape:
        return x, c.b.constant(0, "i64")
    axis = axis_of(dim, len(x.shape))
    size = x.shape[axis]
    middle = (size - 1) // 2
    values, places = _sorted(c, x, dim, False, size)

    def pick(v: Value, at: int) -> Value:
        return c.b.reshape(c.b.slice(v, axis, at, at + 1), c.shape)

    # NaN is last where there is one: its first place is the answer.
    return tuple(
        c.b.map(
            lambda s, m, last, a, b: s.select(s.is_nan(last), b, a),
            [pick(values, middle), pick(values, size - 1), pick(v, middle), pick(v, size - 1)],
            v.dtype,
        )
        for v in (values, places)
    )
