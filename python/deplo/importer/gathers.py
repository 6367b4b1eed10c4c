# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of `graph.index_map` and `graph.gather`: reads at affine coordinates.

Coordinates are affine expressions as text: `d0`, `d1`, ... are the result's
coordinates and, in a gather, `s0`, `s1`, ... the elements of its index tensors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .builder import GraphBuilder, Value
from .dtypes import element_literal, ir_type


@dataclass
class Source:
    """What a gather may read.

    Attributes:
        coordinates: one for each axis of `value`.
        guard: the source is read where none of these is negative.
    """

    value: Value
    coordinates: Sequence[str | int]
    guard: Sequence[str] = ()


def dims(rank: int) -> list[str]:
    return [f"d{i}" for i in range(rank)]


def _map(results: Sequence[str | int], rank: int, symbols: int) -> str:
    names = ", ".join(f"s{i}" for i in range(symbols))
    inputs = f"({', '.join(dims(rank))})" + (f"[{names}]" if symbols else "")
    return f"affine_map<{inputs} -> ({', '.join(str(r) for r in results)})>"


def full(b: GraphBuilder, shape: Sequence[int], value: bool | int | float, dtype: str) -> Value:
    """A tensor with `value` everywhere."""
    literal = "" if math.prod(shape) == 0 else element_literal(value, dtype)
    text = f"constant dense<{literal}> : {Value('', tuple(shape), dtype).type}"
    return b.emit([text], shape, dtype)


def index_map(
    b: GraphBuilder, x: Value, shape: Sequence[int], coordinates: Sequence[str | int]
) -> Value:
    """result[d] = x[coordinates], which must be within `x`."""
    if math.prod(shape) == 0:
        return full(b, shape, 0, x.dtype)
    result = Value("", tuple(shape), x.dtype).type
    text = f" by {_map(coordinates, len(shape), 0)} : {x.type} -> {result}"
    return b.emit(["index_map ", x, text], shape, x.dtype)


def gather(
    b: GraphBuilder,
    shape: Sequence[int],
    sources: Sequence[Source],
    indices: Sequence[Value] = (),
    fill: bool | int | float = 0,
) -> Value:
    """Elements of the first source whose guard holds, else `fill`.

    Index tensors are broadcast to `shape`. A source whose coordinates depend on
    them is not read where they are outside of it.
    """
    dtype = sources[0].value.dtype
    if math.prod(shape) == 0:
        return full(b, shape, 0, dtype)
    sources = [s for s in sources if math.prod(s.value.shape) != 0]
    if not sources:
        return full(b, shape, fill, dtype)
    indices = [b.expand(index, shape) for index in indices]
    pieces: list[str | Value] = ["gather "]
    for i, source in enumerate(sources):
        pieces += [", " if i else "", source.value]
        pieces.append(f" by {_map(source.coordinates, len(shape), len(indices))}")
        if source.guard:
            pieces.append(f" where {_map(source.guard, len(shape), len(indices))}")
    for i, index in enumerate(indices):
        pieces += [", " if i else " at ", index]
    literal = element_literal(fill, dtype)
    pieces.append(f" else {literal}" + ("" if dtype == "bool" else f" : {ir_type(dtype)}"))
    types = ", ".join(v.type for v in [*(s.value for s in sources), *indices])
    pieces.append(f" : ({types}) -> {Value('', tuple(shape), dtype).type}")
    return b.emit(pieces, shape, dtype)


def wrapped(b: GraphBuilder, index: Value, size: int) -> Value:
    """An index tensor with negative indices counted from the end, as PyTorch does."""
    return b.map(lambda s, i: s.select(i < 0, i + size, i), [index], index.dtype)
