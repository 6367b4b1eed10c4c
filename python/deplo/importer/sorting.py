# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of topk, sort and median: by counting, and by merging what was counted.

Pieces of a row are sorted by counting: the rank of an element is how many of its piece
come before it; the element of rank r is then looked up. Neighbouring pieces are merged:
where the first k of a merged piece come from is found by bisection, for each k by itself.
Stable, with NaN as the largest.
"""

import math

import torch

from .builder import Value
from .gathers import Source, dims, full, gather
from .indexing import axis_of
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten

# Elements of a row that are sorted by counting.
PIECE = 1024


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
    if math.prod(x.shape) == 0 or count == 0:
        wanted = [count if i == axis else n for i, n in enumerate(x.shape)]
        return full(c.b, wanted, 0, x.dtype), full(c.b, wanted, 0, "i64")
    row = _Row(c, x, axis, descending)
    places = row.count(min(size, PIECE), count if size <= PIECE else size)
    length = PIECE
    while length < size:
        longer = 2 * length
        places = row.merge(places, length, count if longer >= size else size)
        length = longer
    return row.at(places), places


class _Row:
    """The rows of x along an axis. Places, in i64, say where in them elements were."""

    def __init__(self, c: Context, x: Value, axis: int, descending: bool) -> None:
        self.c, self.x, self.axis = c, x, axis
        self.descending = descending
        self.rank, self.size = len(x.shape), x.shape[axis]

    def shape(self, count: int) -> list[int]:
        return [count if i == self.axis else n for i, n in enumerate(self.x.shape)]

    def coordinates(self, place: str) -> list[str]:
        return [place if i == self.axis else d for i, d in enumerate(dims(self.rank))]

    def _source(self, values: Value) -> Source:
        return Source(values, self.coordinates("s0"))

    def at(self, places: Value) -> Value:
        return gather(self.c.b, places.shape, [self._source(self.x)], [places])

    def _pieces(self, values: Value, length: int, count: int, fill: int) -> Value:
        """A new last axis with all `values` of the element's piece."""
        b, axis = self.c.b, f"d{self.axis}"
        place = f"({axis} floordiv {length}) * {length} + d{self.rank}"
        guard = [f"{self.size - 1} - ({place})"]
        source = Source(values, self.coordinates(place), guard)
        return gather(b, [*self.shape(count), length], [source], fill=fill)

    def count(self, length: int, count: int) -> Value:
        """The first `count` places if each piece is sorted."""
        b, x, axis, last = self.c.b, self.x, self.axis, self.rank
        pairs = [*x.shape, length]
        mine = b.expand(b.reshape(x, [*x.shape, 1]), pairs)

        def precedes(s: Region, value: Scalar, other: Scalar) -> Scalar:
            here = s.index(axis)
            there = here / length * length + s.index(last)
            is_tie = ~_before(s, value, other, self.descending) & (there < here)
            is_before = _before(s, other, value, self.descending) | is_tie
            return s.convert(is_before & (there < self.size), "i64")

        others = self._pieces(x, length, self.size, 0)
        ranks = b.reduce("add", b.map(precedes, [mine, others], "i64"), [last], keepdims=False)

        # Where rank r is: the only place of its piece with that rank.
        def place(s: Region, rank: Scalar) -> Scalar:
            here = s.index(axis)
            start = here / length * length
            return s.select(rank.equals(here - start), start + s.index(last), -1)

        of_piece = self._pieces(ranks, length, count, -1)
        return b.reduce("max", b.map(place, [of_piece], "i64"), [last], keepdims=False)

    def merge(self, places: Value, length: int, count: int) -> Value:
        """The first `count` places if each two sorted pieces of `length` become one.

        The first k elements of the merged piece are i of the first and k - i of the second:
        i is the least for which element i of the first comes after element k - 1 - i of the
        second. Of equal ones those of the first piece come first.
        """
        b, shape = self.c.b, self.shape(count)
        values = self.at(places)

        def bounds(s: Region) -> tuple[Scalar, Scalar, Scalar, Scalar]:
            """Where the pieces start, k, and how long they are."""
            here = s.index(self.axis)
            start = here / (2 * length) * (2 * length)
            first = s.min(self.size - start, length)
            second = s.min(s.max(self.size - start - length, 0), length)
            return start, here - start, first, second

        def least(s: Region, *_: Scalar) -> Scalar:
            _, k, _, second = bounds(s)
            return s.max(k - second, 0)

        def most(s: Region, *_: Scalar) -> Scalar:
            _, k, first, _ = bounds(s)
            return s.min(k, first)

        def of_first(s: Region, i: Scalar) -> Scalar:
            return bounds(s)[0] + i

        def of_second(s: Region, i: Scalar, back: int) -> Scalar:
            start, k, _, _ = bounds(s)
            return start + length + k - i - back

        def is_first(i: Value, back: int) -> Value:
            """Whether element i of the first comes before element k - i - back of the second."""
            own = b.map(of_first, [i], "i64")
            other = b.map(lambda s, i: of_second(s, i, back), [i], "i64")
            pair = [gather(b, shape, [self._source(values)], [at]) for at in (own, other)]
            return b.map(lambda s, x, y: ~_before(s, y, x, self.descending), pair, "bool")

        low, high = b.generate(least, shape, "i64"), b.generate(most, shape, "i64")
        for _ in range(length.bit_length()):
            middle = b.map(lambda s, l, h: s.binary("shr", l + h, 1), [low, high], "i64")
            state = [is_first(middle, 1), middle, low, high]
            low = b.map(lambda s, f, m, l, h: s.select(f & (l < h), m + 1, l), state, "i64")
            high = b.map(lambda s, f, m, l, h: s.select(~f & (l < h), m, h), state, "i64")

        def place(s: Region, i: Scalar, is_first: Scalar) -> Scalar:
            _, k, first, second = bounds(s)
            takes_first = (k - i >= second) | ((i < first) & is_first)
            return s.select(takes_first, of_first(s, i), of_second(s, i, 0))

        found = b.map(place, [low, is_first(low, 0)], "i64")
        return gather(b, shape, [self._source(places)], [found])


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
