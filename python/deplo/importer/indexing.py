# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of operators that join, pad, reorder or look up elements."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from .builder import Value
from .gathers import Source, dims, gather, index_map, wrapped
from .registry import Context, Unsupported, handles

aten = torch.ops.aten


def axis_of(dim: int, rank: int) -> int:
    return dim % max(rank, 1)


def within(coordinate: str, first: int, stop: int) -> list[str]:
    """The guard first <= coordinate < stop."""
    return [f"{coordinate} - {first}", f"{stop - 1} - {coordinate}"]


# Joining and padding


@handles(aten.cat.default)
def cat(c: Context, tensors: Sequence[Value], dim: int = 0) -> Value:
    """One source for each tensor, where the coordinate is in its part."""
    # PyTorch skips tensors of shape (0,), whatever the rank of the others.
    tensors = [c.tensor(x) for x in tensors if x.shape != (0,) or c.shape == (0,)]
    rank = len(c.shape)
    axis = axis_of(dim, rank)
    sources, start = [], 0
    for x in tensors:
        stop = start + x.shape[axis]
        coordinates = dims(rank)
        coordinates[axis] = f"d{axis} - {start}"
        sources.append(Source(x, coordinates, within(f"d{axis}", start, stop)))
        start = stop
    if len(sources) == 1:
        return tensors[0]
    return gather(c.b, c.shape, sources)


@handles(aten.constant_pad_nd.default)
def constant_pad_nd(c: Context, x: Value, pad: list[int], value: float = 0) -> Value:
    """`pad` lists (before, after) from the last axis on; negative sizes cut."""
    rank = len(x.shape)
    coordinates, guard = dims(rank), []
    for i in range(len(pad) // 2):
        axis, before = rank - 1 - i, pad[2 * i]
        coordinates[axis] = f"d{axis} - {before}"
        guard += within(f"d{axis}", before, before + x.shape[axis])
    return gather(c.b, c.shape, [Source(x, coordinates, guard)], fill=value)


@handles(
    aten.reflection_pad1d.default,
    aten.reflection_pad2d.default,
    aten.reflection_pad3d.default,
)
def reflection_pad(c: Context, x: Value, padding: list[int]) -> Value:
    """Before the first element come the second, third, ...; an axis at a time."""

    def pieces(d: str, size: int, before: int) -> list[tuple[str, list[str]]]:
        return [
            (f"{d} - {before}", within(d, before, before + size)),
            (f"{before} - {d}", [f"{before} - {d}"]),
            (f"{2 * (size - 1) + before} - {d}", [f"{d} - {before + size}"]),
        ]

    return _pad_axes(c, x, padding, pieces)


@handles(
    aten.replication_pad1d.default,
    aten.replication_pad2d.default,
    aten.replication_pad3d.default,
)
def replication_pad(c: Context, x: Value, padding: list[int]) -> Value:
    def pieces(d: str, size: int, before: int) -> list[tuple[str, list[str]]]:
        return [
            (f"{d} - {before}", within(d, before, before + size)),
            ("0", [f"{before} - {d}"]),
            (str(size - 1), []),
        ]

    return _pad_axes(c, x, padding, pieces)


def _pad_axes(c: Context, x: Value, padding: list[int], pieces: Any) -> Value:
    """Pads an axis after the other; the gathers become one."""
    rank = len(x.shape)
    for i in range(len(padding) // 2):
        before, after = padding[2 * i : 2 * i + 2]
        axis = rank - 1 - i
        shape = list(x.shape)
        shape[axis] += before + after
        sources = []
        for coordinate, guard in pieces(f"d{axis}", x.shape[axis], before):
            coordinates: list[str] = dims(rank)
            coordinates[axis] = coordinate
            sources.append(Source(x, coordinates, guard))
        x = gather(c.b, shape, sources)
    return x


# Views


@handles(aten.flip.default)
def flip(c: Context, x: Value, axes: list[int]) -> Value:
    flipped = {axis_of(axis, len(x.shape)) for axis in axes} if x.shape else set()
    coordinates = [
        f"{size - 1} - d{i}" if i in flipped else f"d{i}" for i, size in enumerate(x.shape)
    ]
    return index_map(c.b, x, c.shape, coordinates)


@handles(aten.roll.default)
def roll(
    c: Context, x: Value, shifts: list[int], dims_: list[int] | None = None, **kw: Any
) -> Value:
    """Two pieces for each axis: what moves on, and what wraps around."""
    axes = kw.get("dims", dims_) or []
    if not axes:
        flat = c.b.reshape(x, [math.prod(x.shape)])
        return c.b.reshape(_roll_axis(c, flat, shifts[0], 0), c.shape)
    for shift, axis in zip(shifts, axes, strict=True):
        x = _roll_axis(c, x, shift, axis_of(axis, len(x.shape)))
    return x


def _roll_axis(c: Context, x: Value, shift: int, axis: int) -> Value:
    size = x.shape[axis]
    shift = shift % size if size else 0
    if shift == 0:
        return x
    sources = []
    pieces = ((-shift, f"d{axis} - {shift}"), (size - shift, f"{shift - 1} - d{axis}"))
    for offset, guard in pieces:
        coordinates = dims(len(x.shape))
        coordinates[axis] = f"d{axis} + {offset}"
        sources.append(Source(x, coordinates, [guard]))
    return gather(c.b, x.shape, sources)


@handles(aten.diagonal.default)
def diagonal(c: Context, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonal is the last axis of the result."""
    rank = len(x.shape)
    first, second = axis_of(dim1, rank), axis_of(dim2, rank)
    coordinates: list[str] = []
    others = 0
    for axis in range(rank):
        if axis == first:
            coordinates.append(f"d{rank - 2} + {max(-offset, 0)}")
        elif axis == second:
            coordinates.append(f"d{rank - 2} + {max(offset, 0)}")
        else:
            coordinates.append(f"d{others}")
            others += 1
    return index_map(c.b, x, c.shape, coordinates)


@handles(aten.unfold.default)
def unfold(c: Context, x: Value, dimension: int, size: int, step: int) -> Value:
    """Windows of one axis, as a last axis."""
    rank = len(x.shape)
    coordinates = dims(rank)
    if not rank:
        return c.b.reshape(x, c.shape)
    axis = axis_of(dimension, rank)
    coordinates[axis] = f"d{axis} * {step} + d{rank}"
    return index_map(c.b, x, c.shape, coordinates)


@handles(aten.as_strided.default, aten.as_strided_copy.default)
def as_strided(
    c: Context, x: Value, size: list[int], stride: list[int], storage_offset: int | None = None
) -> Value:
    """Elements of the storage that `x` is a view of."""
    storage = c.storage()
    if storage is None:
        raise Unsupported("its operand is a view that an input came as; pass the whole tensor")
    whole, start = storage
    first = start if storage_offset is None else storage_offset
    last = first + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if last >= math.prod(whole.shape) and 0 not in size:
        raise Unsupported("it reaches beyond the tensor; index the tensor that it is a view of")
    position = " + ".join([str(first), *(f"d{i} * {s}" for i, s in enumerate(stride))])
    flat = c.b.reshape(whole, [math.prod(whole.shape)])
    return index_map(c.b, flat, c.shape, [position])


@handles(aten.copy.default)
def copy(c: Context, x: Value, source: Value, non_blocking: bool = False) -> Value:
    return c.b.expand(c.tensor(source), c.shape)


@handles(aten.slice_scatter.default)
def slice_scatter(
    c: Context,
    x: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    """`source` where a coordinate is in the slice, `x` elsewhere."""
    rank = len(x.shape)
    axis = axis_of(dim, rank)
    first, last, _ = slice(start, end, step).indices(x.shape[axis])
    count = max(0, math.ceil((last - first) / step))
    coordinates = dims(rank)
    coordinates[axis] = f"(d{axis} - {first}) floordiv {step}"
    guard = within(f"d{axis}", first, first + (count - 1) * step + 1)
    if step != 1:
        guard.append(f"-((d{axis} - {first}) mod {step})")
    if count == 0:
        return x
    return gather(
        c.b, c.shape, [Source(c.tensor(source), coordinates, guard), Source(x, dims(rank))]
    )


@handles(aten.select_scatter.default)
def select_scatter(c: Context, x: Value, source: Value, dim: int, index: int | Value) -> Value:
    rank = len(x.shape)
    axis = axis_of(dim, rank)
    coordinates = [d for i, d in enumerate(dims(rank)) if i != axis]
    if isinstance(index, Value):
        symbols = [wrapped(c.b, index, x.shape[axis])]
        guard = [f"s0 - d{axis}", f"d{axis} - s0"]
    else:
        symbols = []
        place = index % x.shape[axis]
        guard = within(f"d{axis}", place, place + 1)
    pieces = [Source(c.tensor(source), coordinates, guard), Source(x, dims(rank))]
    return gather(c.b, c.shape, pieces, symbols)


@handles(aten.diagonal_scatter.default)
def diagonal_scatter(
    c: Context, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    rank = len(x.shape)
    first, second = axis_of(dim1, rank), axis_of(dim2, rank)
    row, column = f"d{first}", f"d{second}"
    guard = [f"{column} - {row} - {offset}", f"{row} + {offset} - {column}"]
    others = [d for i, d in enumerate(dims(rank)) if i not in (first, second)]
    place = f"{row} - {max(-offset, 0)}"
    inside = [place, f"{source.shape[-1] - 1} - ({place})"]
    piece = Source(c.tensor(source), [*others, place], [*guard, *inside])
    return gather(c.b, c.shape, [piece, Source(x, dims(rank))])


# Looking up


@handles(aten.embedding.default)
def embedding(c: Context, weight: Value, indices: Value, *_: Any) -> Value:
    """Rows of `weight`; a row of zeros for an index that is out of range."""
    rank = len(indices.shape)
    index = _at(c, indices, rank, range(rank))
    return gather(c.b, c.shape, [Source(weight, ["s0", f"d{rank}"])], [index])


def _at(c: Context, x: Value, rank: int, axes: Sequence[int]) -> Value:
    """`x` broadcast over the result: its axis i is the result's axis axes[i]."""
    shape = [1] * len(c.shape)
    for i, axis in enumerate(axes):
        shape[axis] = x.shape[i]
    return c.b.expand(c.b.reshape(x, shape), c.shape)


@handles(aten.index_select.default)
def index_select(c: Context, x: Value, dim: int, index: Value) -> Value:
    rank = len(x.shape)
    if not rank:
        return x
    axis = axis_of(dim, rank)
    coordinates = dims(rank)
    coordinates[axis] = "s0"
    where = _at(c, c.b.reshape(index, [math.prod(index.shape)]), rank, [axis])
    return gather(c.b, c.shape, [Source(x, coordinates)], [where])


@handles(aten.gather.default)
def gather_(c: Context, x: Value, dim: int, index: Value, **_: Any) -> Value:
    rank = len(x.shape)
    if not rank:
        return c.b.reshape(x, c.shape)
    coordinates = dims(rank)
    coordinates[axis_of(dim, rank)] = "s0"
    return gather(c.b, c.shape, [Source(x, coordinates)], [index])


@handles(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(c: Context, x: Value, indices: Sequence[Value | None]) -> Value:
    """x[i, :, j]: index tensors broadcast together take the place of their axes."""
    if any(i is not None and i.dtype in ("bool", "u8") for i in indices):
        raise Unsupported(
            "an index of bools selects a number of elements that depends on data; "
            "use torch.where or masked_fill"
        )
    coordinates, symbols = index_coordinates(c, x.shape, indices, len(c.shape))
    return gather(c.b, c.shape, [Source(x, coordinates)], symbols)


def index_coordinates(
    c: Context, shape: Sequence[int], indices: Sequence[Value | None], rank: int
) -> tuple[list[str], list[Value]]:
    """Where x[indices] reads a tensor of `shape`, and its index tensors.

    The broadcast axes stand where the first index was, or first if the indexed
    axes are not neighbours.
    """
    indexed = [axis for axis, i in enumerate(indices) if i is not None]
    common = torch.broadcast_shapes(*(indices[axis].shape for axis in indexed))  # type: ignore[union-attr]
    first = indexed[0] if indexed == list(range(indexed[0], indexed[-1] + 1)) else 0
    places = list(range(first, first + len(common)))
    free = iter(i for i in range(rank) if i not in places)
    coordinates, symbols = [], []
    for axis, size in enumerate(shape):
        if axis not in indexed:
            coordinates.append(f"d{next(free)}")
            continue
        index = c.b.expand(indices[axis], common)  # type: ignore[arg-type]
        coordinates.append(f"s{len(symbols)}")
        symbols.append(_placed(c, wrapped(c.b, index, size), rank, places))
    return coordinates, symbols


def _placed(c: Context, index: Value, rank: int, places: Sequence[int]) -> Value:
    shape = [1] * rank
    for size, place in zip(index.shape, places, strict=True):
        shape[place] = size
    return c.b.reshape(index, shape)


# Triangles


@handles(aten.tril.default)
def tril(c: Context, x: Value, diagonal: int = 0) -> Value:
    rank = len(x.shape)
    guard = [f"d{rank - 2} + {diagonal} - d{rank - 1}"]
    return gather(c.b, c.shape, [Source(x, dims(rank), guard)])


@handles(aten.triu.default)
def triu(c: Context, x: Value, diagonal: int = 0) -> Value:
    rank = len(x.shape)
    guard = [f"d{rank - 1} - d{rank - 2} - {diagonal}"]
    return gather(c.b, c.shape, [Source(x, dims(rank), guard)])
