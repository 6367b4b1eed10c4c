# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of poolings: windows are gathered, with a fill outside, and folded."""

import math
from collections.abc import Sequence

import torch

from .builder import Value
from .dtypes import FLOATS, INTEGERS, TORCH_DTYPES
from .gathers import Source, gather
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten


def per_axis(value: int | Sequence[int], count: int) -> list[int]:
    """PyTorch repeats a single number for each axis."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


class Windows:
    """The windows of a pooling over the last axes of `x`.

    Along an axis, the window at the result's coordinate d begins at
    (d * step) // over - before in `x`, and its elements are `dilation` apart. It
    ends after `size` elements or, where `over` is not 1, before that at
    ceil((d + 1) * step / over).

    Attributes:
        shape: of the windows: the result's, then that of one window.
        axes: the axes of one window in it.
    """

    def __init__(
        self,
        x: Value,
        shape: Sequence[int],
        size: Sequence[int],
        step: Sequence[int],
        before: Sequence[int],
        dilation: Sequence[int],
        over: Sequence[int],
    ) -> None:
        self.x = x
        self.batch = len(x.shape) - len(size)
        self.plane = x.shape[self.batch :]
        self.shape = [*shape, *size]
        self.axes = list(range(len(shape), len(self.shape)))
        self._places = list(zip(step, before, dilation, over, strict=True))

    def gather(
        self, c: Context, fill: bool | int | float, order: Sequence[int] | None = None
    ) -> Value:
        """The elements of the windows, `fill` outside of x; with axis order[i] of `shape`
        as axis i of the result."""
        order = order or range(len(self.shape))
        names = {axis: f"d{i}" for i, axis in enumerate(order)}
        places, guard = [], []
        for i, (step, before, dilation, over) in enumerate(self._places):
            d, k = names[self.batch + i], names[self.axes[i]]
            place = f"({d} * {step}) floordiv {over} + {k} * {dilation} - {before}"
            places.append(place)
            guard += [place, f"{self.plane[i] - 1} - ({place})"]
            if over != 1:
                guard.append(f"({d} * {step} + {step + over - 1}) floordiv {over} - 1 - ({place})")
        batch = [names[axis] for axis in range(self.batch)]
        source = Source(self.x, [*batch, *places], guard)
        return gather(c.b, [self.shape[axis] for axis in order], [source], fill=fill)

    def position(self, s: Region) -> tuple[Scalar, Scalar]:
        """Where an element of a window is in the plane, and whether it is there."""
        position, inside = s.constant(0, "i64"), s.constant(True, "bool")
        for i, (step, before, dilation, over) in enumerate(self._places):
            d, k = s.index(self.batch + i), s.index(self.axes[i])
            place = d * step
            if over != 1:
                inside = inside & (k < (place + (step + over - 1)) / over - place / over)
                place = place / over
            place = place + k * dilation - before
            inside = inside & (place >= 0) & (place < self.plane[i])
            position = position * self.plane[i] + place
        return position, inside


def _strided(
    c: Context,
    x: Value,
    kernel_size: int | list[int],
    stride: int | list[int] | None,
    padding: int | list[int],
    dilation: int | list[int] = 1,
) -> Windows:
    rank = 3 if "3d" in c.b.operator else 2
    kernel = per_axis(kernel_size, rank)
    return Windows(
        x,
        c.shape,
        kernel,
        per_axis(stride or kernel, rank),
        per_axis(padding, rank),
        per_axis(dilation, rank),
        [1] * rank,
    )


def _adaptive(c: Context, x: Value, size: Sequence[int]) -> Windows:
    """Window o of n along an axis of s is [floor(o s / n), ceil((o + 1) s / n))."""
    batch = len(x.shape) - len(size)
    plane, wanted = x.shape[batch:], c.shape[batch:]
    longest = [
        max((-(-(o + 1) * s // n) - o * s // n for o in range(n)), default=0)
        for s, n in zip(plane, wanted, strict=True)
    ]
    ones = [1] * len(size)
    return Windows(x, c.shape, longest, plane, [0] * len(size), ones, wanted)


def _least(dtype: str) -> int | float:
    return -math.inf if dtype in FLOATS else torch.iinfo(TORCH_DTYPES[dtype]).min


def _max_pool(c: Context, windows: Windows) -> tuple[Value, Value | None]:
    dtype = windows.x.dtype
    values = windows.gather(c, _least(dtype))
    best = c.b.reduce("max", values, windows.axes, keepdims=False)
    if 1 not in c.used:
        return best, None
    # The position of the best in the plane: the first, or the last NaN.
    size = math.prod(windows.plane)
    wide_best = c.b.reshape(best, [*best.shape, *([1] * len(windows.plane))])

    def first(s: Region, value: Scalar, wanted: Scalar) -> Scalar:
        position, inside = windows.position(s)
        return s.select(value.equals(wanted) & inside, position, size)

    def last_nan(s: Region, value: Scalar) -> Scalar:
        position, _ = windows.position(s)
        return s.select(s.is_nan(value), position, -1)

    found = c.b.map(first, [values, wide_best], "i64")
    place = c.b.reduce("min", found, windows.axes, keepdims=False)
    if dtype in FLOATS:
        nans = c.b.map(last_nan, [values], "i64")
        nan = c.b.reduce("max", nans, windows.axes, keepdims=False)
        place = c.b.map(lambda s, p, n: s.select(n >= 0, n, p), [place, nan], "i64")
    return best, place


@handles(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
def max_pool(
    c: Context,
    x: Value,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: int | list[int] = 0,
    dilation: int | list[int] = 1,
    ceil_mode: bool = False,
) -> tuple[Value, Value | None]:
    return _max_pool(c, _strided(c, x, kernel_size, stride, padding, dilation))


@handles(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(c: Context, x: Value, size: list[int]) -> tuple[Value, Value | None]:
    return _max_pool(c, _adaptive(c, x, size))


@handles(aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(
    c: Context,
    x: Value,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: int | list[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    windows = _strided(c, x, kernel_size, stride, padding)
    total = _total(c, windows)
    if divisor_override:
        return _divided(c, total, c.b.constant(divisor_override, total.dtype))
    kernel = windows.shape[len(c.shape) :]
    steps = per_axis(stride or kernel, len(kernel))
    before = per_axis(padding, len(kernel))

    def count(s: Region, *d: Scalar) -> Scalar:
        """Elements of the window, with those of the padding or without."""
        number = s.constant(1, "i64")
        for i, size in enumerate(windows.plane):
            first = d[windows.batch + i] * steps[i] - before[i]
            last = s.min(first + kernel[i], size + before[i])
            if not count_include_pad:
                first, last = s.max(first, 0), s.min(last, size)
            number = number * (last - first)
        return number

    shape = [*([1] * windows.batch), *c.shape[windows.batch :]]
    return _divided(c, total, c.b.generate(count, shape, total.dtype))


def _total(c: Context, windows: Windows) -> Value:
    values = windows.gather(c, 0)
    if values.dtype in FLOATS:
        values = c.b.cast(values, "f32")
    return c.b.reduce("add", values, windows.axes, keepdims=False)


def _divided(c: Context, total: Value, count: Value) -> Value:
    def quotient(s: Region, a: Scalar, b: Scalar) -> Scalar:
        return s.quotient(a, b) if a.dtype in INTEGERS else a / b

    return c.b.expand(c.b.map(quotient, [total, count], c.dtype), c.shape)


@handles(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool(c: Context, x: Value, size: list[int]) -> Value:
    batch = len(x.shape) - len(size)
    plane, wanted = x.shape[batch:], c.shape[batch:]
    if all(s % n == 0 for s, n in zip(plane, wanted, strict=True)):
        return _mean_of_blocks(c, x, batch)
    windows = _adaptive(c, x, size)

    def count(s: Region, *d: Scalar) -> Scalar:
        number = s.constant(1, "i64")
        for i, (length, n) in enumerate(zip(plane, wanted, strict=True)):
            o = d[batch + i] * length
            number = number * ((o + (length + n - 1)) / n - o / n)
        return number

    shape = [*([1] * batch), *wanted]
    return _divided(c, _total(c, windows), c.b.generate(count, shape, "f32"))


def _mean_of_blocks(c: Context, x: Value, batch: int) -> Value:
    """Windows that share nothing: a reshape and a mean."""
    blocks = list(x.shape[:batch])
    axes = []
    for s, n in zip(x.shape[batch:], c.shape[batch:], strict=True):
        axes.append(len(blocks) + 1)
        blocks += [n, s // n]
    mean = c.b.reduction("mean", c.tensor(c.b.reshape(x, blocks), "f32"), axes, False)
    return c.rounded(mean)
