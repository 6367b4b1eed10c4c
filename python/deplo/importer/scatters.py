# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of scatters, in pull form: each element of the result finds its sources.

    out[i] = combine over k of (idx[k] == i ? src[k] : identity)
    out[i] = src[max over k of (idx[k] == i ? k : -1)], or x[i] if that is -1

Deterministic whatever the duplicates: sums are folded in a fixed order, and of
several writes the last wins. The cost is a comparison for each pair of a
position and an index along the scattered axis, so many indices into a long axis
are slow; the alternative, atomic adds, gives other bits from run to run.
"""

import math
from collections.abc import Sequence

import torch

from .builder import Value
from .dtypes import FLOATS, TORCH_DTYPES
from .gathers import Source, dims, gather, wrapped
from .indexing import axis_of
from .registry import Context, Unsupported, handles
from .scalars import Region, Scalar

aten = torch.ops.aten


class Pull:
    """Pairs of a position along `axis` of `x` and an entry k of an index tensor.

    Tensors of pairs have the shape of x, then the number of entries. Entry k at
    other coordinates than those of `axis` is index[..., k, ...] there.
    """

    def __init__(self, c: Context, x: Value, axis: int, index: Value) -> None:
        self.c, self.x, self.axis = c, x, axis
        self.rank = len(x.shape)
        self.count = index.shape[axis] if index.shape else 1
        self.shape = [*x.shape, self.count]
        self.index = self.pairs(wrapped(c.b, index, x.shape[axis]))

    def pairs(self, entries: Value) -> Value:
        """`entries`, of the index tensor's shape (or larger), for each pair; -1 (or 0)
        where the index tensor is smaller than `x`."""
        coordinates = [
            f"d{self.rank}" if i == self.axis else d for i, d in enumerate(dims(self.rank))
        ]
        guard = [
            f"{size - 1} - d{i}"
            for i, size in enumerate(entries.shape)
            if i != self.axis and size < self.x.shape[i]
        ]
        fill = -1 if entries.dtype in ("i64", "i32") else 0
        return gather(self.c.b, self.shape, [Source(entries, coordinates, guard)], fill=fill)

    def last(self) -> Value:
        """For each element of x, the last entry that leads to it, or -1."""

        def entry(s: Region, index: Scalar) -> Scalar:
            here = s.convert(s.index(self.axis), index.dtype)
            return s.select(index.equals(here), s.index(self.rank), -1)

        found = self.c.b.map(entry, [self.index], "i64")
        return self.c.b.reduce("max", found, [self.rank], keepdims=False)

    def fold(self, monoid: str, source: Value, identity: int | float) -> Value:
        """For each element of x, the fold of the entries of `source` that lead to it."""

        def term(s: Region, index: Scalar, value: Scalar) -> Scalar:
            here = s.convert(s.index(self.axis), index.dtype)
            return s.select(index.equals(here), value, identity)

        terms = self.c.b.map(term, [self.index, self.pairs(source)], source.dtype)
        return self.c.b.reduce(monoid, terms, [self.rank], keepdims=False)

    def put(self, source: Value) -> Value:
        """x with the entries of `source` where an entry leads."""
        last = self.last()
        coordinates = ["s0" if i == self.axis else d for i, d in enumerate(dims(self.rank))]
        inside = [
            f"{size - 1} - d{i}"
            for i, size in enumerate(source.shape)
            if i != self.axis and size < self.x.shape[i]
        ]
        pieces = [Source(source, coordinates, ["s0", *inside]), Source(self.x, dims(self.rank))]
        return gather(self.c.b, self.x.shape, pieces, [last])


def _pull(c: Context, x: Value, dim: int, index: Value) -> Pull:
    return Pull(c, x, axis_of(dim, len(x.shape)), index)


def _lifted(c: Context, *values: Value) -> list[Value]:
    """Tensors of rank 0 as tensors of one element."""
    return [v if v.shape else c.b.reshape(v, [1]) for v in values]


@handles(aten.scatter.src, aten.scatter.value)
def scatter(c: Context, x: Value, dim: int, index: Value, src: Value | float) -> Value:
    if not isinstance(src, Value):
        src = c.b.expand(c.b.constant(src, c.dtype), index.shape)
    x, index, src = _lifted(c, x, index, c.tensor(src))
    if math.prod(index.shape) == 0:
        return c.b.reshape(x, c.shape)
    return c.b.reshape(_pull(c, x, dim, index).put(src), c.shape)


@handles(aten.scatter_add.default)
def scatter_add(c: Context, x: Value, dim: int, index: Value, src: Value) -> Value:
    return _combined(c, x, dim, index, src, "add", include_self=True)


# PyTorch's names -> monoid, identity of floats
_REDUCTIONS = {
    "sum": ("add", 0),
    "prod": ("mul", 1),
    "amax": ("max", -math.inf),
    "amin": ("min", math.inf),
    "mean": ("add", 0),
    "add": ("add", 0),
    "multiply": ("mul", 1),
}


@handles(aten.scatter_reduce.two)
def scatter_reduce(
    c: Context,
    x: Value,
    dim: int,
    index: Value,
    src: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    return _combined(c, x, dim, index, src, reduce, include_self)


@handles(aten.index_reduce.default)
def index_reduce(
    c: Context,
    x: Value,
    dim: int,
    index: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    """A scatter in which all entries of a slice lead to the same place."""
    axis = axis_of(dim, len(source.shape))
    shape = [n if i == axis else 1 for i, n in enumerate(source.shape)]
    everywhere = c.b.expand(c.b.reshape(index, shape), source.shape)
    return _combined(c, x, dim, everywhere, source, reduce, include_self)


@handles(aten.scatter.reduce, aten.scatter.value_reduce)
def scatter_with(
    c: Context, x: Value, dim: int, index: Value, src: Value | float, *, reduce: str
) -> Value:
    if not isinstance(src, Value):
        src = c.b.expand(c.b.constant(src, c.dtype), index.shape)
    return _combined(c, x, dim, index, src, reduce, include_self=True)


def _wide(dtype: str) -> str:
    """What entries are combined in: unsigned bytes and bools have their order in i32."""
    return "f32" if dtype in FLOATS else "i32" if dtype in ("i8", "u8", "bool") else dtype


def _identity(name: str, dtype: str) -> int | float:
    identity = _REDUCTIONS[name][1]
    if dtype in FLOATS or math.isfinite(identity):
        return identity
    info = torch.iinfo(TORCH_DTYPES[dtype])
    return info.min if identity < 0 else info.max


def _combined(
    c: Context, x: Value, dim: int, index: Value, src: Value, name: str, include_self: bool
) -> Value:
    x, index, src = _lifted(c, x, index, c.tensor(src))
    if math.prod(index.shape) == 0:
        return c.b.reshape(x, c.shape)
    pull = _pull(c, x, dim, index)
    wide = _wide(c.dtype)
    monoid, _ = _REDUCTIONS[name]
    folded = pull.fold(monoid, c.b.cast(src, wide), _identity(name, wide))
    operands = [folded, c.b.cast(x, wide)]
    if name == "mean" or not include_self:
        ones = c.b.expand(c.b.constant(1, "i64"), index.shape)
        operands.append(pull.fold("add", ones, 0))

    def total(s: Region, new: Scalar, old: Scalar, *counts: Scalar) -> Scalar:
        both = s.binary(monoid, new, old)
        if not counts:
            return both
        (count,) = counts
        result = both if include_self else s.select(count.equals(0), old, new)
        if name == "mean":
            number = count + 1 if include_self else s.select(count.equals(0), 1, count)
            divisor = s.convert(number, wide)
            if wide == "f32":
                return result / divisor
            # PyTorch adds in the tensor's dtype, in which the sum may wrap.
            sum_ = s.convert(s.convert(result, c.dtype), wide)
            result = s.floor_quotient(sum_, divisor)
        return result

    return c.b.reshape(c.b.map(total, operands, c.dtype), c.shape)


# Putting at index tensors


@handles(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    c: Context,
    x: Value,
    indices: Sequence[Value | None],
    values: Value,
    accumulate: bool = False,
) -> Value:
    """x[indices] = values, or += values: the indexed axes as one flat axis."""
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype in ("bool", "u8"):
        return _masked_put(c, x, indices[0], values, accumulate)
    if any(i is not None and i.dtype in ("bool", "u8") for i in indices):
        raise Unsupported("an index of bools beside others; use torch.where")
    indexed = [axis for axis, i in enumerate(indices) if i is not None]
    common = torch.broadcast_shapes(*(indices[axis].shape for axis in indexed))  # type: ignore[union-attr]
    others = [axis for axis in range(len(x.shape)) if axis not in indexed]
    # The indexed axes first and flat, the index tensors as one flat list.
    sizes = [x.shape[axis] for axis in indexed]
    rest = [x.shape[axis] for axis in others]
    order = [*indexed, *others]
    flat = c.b.reshape(c.b.permute(x, order), [math.prod(sizes), *rest])
    wide = [c.b.cast(c.b.expand(indices[axis], common), "i64") for axis in indexed]  # type: ignore[arg-type]

    def position(s: Region, *numbers: Scalar) -> Scalar:
        number = s.constant(0, "i64")
        valid = s.constant(True, "bool")
        for i, size in zip(numbers, sizes, strict=True):
            i = s.select(i < 0, i + size, i)
            valid = valid & (i >= 0) & (i < size)
            number = number * size + i
        return s.select(valid, number, math.prod(sizes))

    entries = c.b.reshape(c.b.map(position, wide, "i64"), [math.prod(common)])
    # Values have the shape of x[indices]: bring its broadcast axes to the front.
    first = indexed[0] if indexed == list(range(indexed[0], indexed[-1] + 1)) else 0
    shape = [*rest[:first], *common, *rest[first:]]
    moved = c.b.expand(c.tensor(values), shape)
    places = list(range(first, first + len(common)))
    front = [*places, *(i for i in range(len(shape)) if i not in places)]
    source = c.b.reshape(c.b.permute(moved, front), [math.prod(common), *rest])
    result = _put_rows(c, flat, entries, source, accumulate)
    inverse = [order.index(axis) for axis in range(len(order))]
    return c.b.permute(c.b.reshape(result, [*sizes, *rest]), inverse)


def _put_rows(c: Context, x: Value, entries: Value, source: Value, accumulate: bool) -> Value:
    """Rows of `source` go to the rows of `x` that `entries` say."""
    count, rank = entries.shape[0], len(x.shape)
    if count == 0 or math.prod(x.shape) == 0:
        return x
    if not accumulate:

        def entry(s: Region, index: Scalar) -> Scalar:
            return s.select(index.equals(s.index(0)), s.index(1), -1)

        pairs = c.b.expand(c.b.reshape(entries, [1, count]), [x.shape[0], count])
        last = c.b.reduce("max", c.b.map(entry, [pairs], "i64"), [1], keepdims=False)
        row = c.b.reshape(last, [x.shape[0], *([1] * (rank - 1))])
        pieces = [Source(source, ["s0", *dims(rank)[1:]], ["s0"]), Source(x, dims(rank))]
        return gather(c.b, x.shape, pieces, [row])
    wide = _wide(c.dtype)
    shape = [x.shape[0], *x.shape[1:], count]
    pairs = c.b.expand(c.b.reshape(entries, [*([1] * rank), count]), shape)
    order = [*range(1, rank), 0]
    terms = c.b.reshape(c.b.permute(c.b.cast(source, wide), order), [1, *shape[1:]])

    def term(s: Region, index: Scalar, value: Scalar) -> Scalar:
        return s.select(index.equals(s.index(0)), value, 0)

    total = c.b.reduce("add", c.b.map(term, [pairs, terms], wide), [rank], keepdims=False)
    return c.b.map(lambda s, a, b: a + b, [total, c.b.cast(x, wide)], c.dtype)


def _masked_put(c: Context, x: Value, mask: Value, values: Value, accumulate: bool) -> Value:
    """x[mask] = a value: where the mask is true."""
    if math.prod(values.shape) != 1:
        raise Unsupported("a mask of bools takes a single value; use torch.where")
    value = c.b.reshape(c.tensor(values), [])
    wide_mask = c.b.reshape(mask, [*mask.shape, *([1] * (len(x.shape) - len(mask.shape)))])

    def choose(s: Region, chosen: Scalar, new: Scalar, old: Scalar) -> Scalar:
        return s.select(s.convert(chosen, "bool"), old + new if accumulate else new, old)

    return c.b.map(choose, [c.b.expand(wide_mask, x.shape), value, x], c.dtype)


@handles(aten.masked_scatter.default)
def masked_scatter(c: Context, x: Value, mask: Value, source: Value) -> Value:
    """The n-th place where the mask is true takes the n-th element of `source`."""
    if math.prod(c.shape) == 0 or math.prod(source.shape) == 0:
        return c.b.expand(x, c.shape)
    size = [math.prod(c.shape)]
    chosen = c.b.reshape(c.b.expand(mask, c.shape), size)
    counts = c.b.scan("add", c.b.cast(chosen, "i64"), 0)
    number = c.b.map(lambda s, m, n: s.select(m, n - 1, -1), [chosen, counts], "i64")
    flat = c.b.reshape(source, [math.prod(source.shape)])
    old = c.b.reshape(c.b.expand(x, c.shape), size)
    pieces = [Source(flat, ["s0"], ["s0"]), Source(old, ["d0"])]
    return c.b.reshape(gather(c.b, size, pieces, [number]), c.shape)


@handles(aten.as_strided_scatter.default)
def as_strided_scatter(
    c: Context,
    x: Value,
    source: Value,
    size: list[int],
    stride: list[int],
    storage_offset: int | None = None,
) -> Value:
    """The elements of `source` at their places in the storage of `x`."""
    first = storage_offset or 0
    last = first + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if last >= math.prod(x.shape) and 0 not in size:
        raise Unsupported("it reaches beyond the tensor; index the tensor that it is a view of")

    def place(s: Region, *coordinates: Scalar) -> Scalar:
        result = s.constant(first, "i64")
        for coordinate, distance in zip(coordinates, stride, strict=True):
            result = result + coordinate * distance
        return result

    count = math.prod(size)
    places = c.b.reshape(c.b.generate(place, size, "i64"), [count])
    flat = c.b.reshape(x, [math.prod(x.shape)])
    result = _put_rows(c, flat, places, c.b.reshape(c.tensor(source), [count]), False)
    return c.b.reshape(result, c.shape)
