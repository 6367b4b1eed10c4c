# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions of the input's windows and the weights.

Along an axis, result[d] sums x[d * stride + k * dilation - padding] * weight[k], with
zeros around x. A transposed convolution is one of x with stride - 1 zeros behind each
element, and of the weights from the last to the first.
"""

import torch

from .builder import Value
from .contractions import with_bias
from .dtypes import FLOATS
from .gathers import Source, dims, gather
from .registry import Context, Unsupported, handles

aten = torch.ops.aten


def _windows(
    c: Context,
    x: Value,
    size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
) -> Value:
    """[N, C, the result's plane, the window]: what each weight is multiplied by."""
    rank = len(size)
    coordinates, guard = dims(2), []
    for axis in range(rank):
        d, k = f"d{2 + axis}", f"d{2 + rank + axis} * {dilation[axis]}"
        step, spread = (1, stride[axis]) if transposed else (stride[axis], 1)
        place = f"{d} * {step} - {padding[axis]} + {k}"
        if transposed:
            place = f"{d} + {padding[axis]} - {k}"
        coordinates.append(f"({place}) floordiv {spread}")
        if transposed or padding[axis]:
            guard += [place, f"{(x.shape[2 + axis] - 1) * spread} - ({place})"]
        if spread != 1:
            guard.append(f"-(({place}) mod {spread})")
    shape = [*x.shape[:2], *c.shape[2:], *size]
    return gather(c.b, shape, [Source(x, coordinates, guard)])


@handles(aten.convolution.default)
def convolution(
    c: Context,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Value:
    """x [N, C, plane], weight [O, C / groups, window]; transposed: [C, O / groups, window]."""
    if x.dtype not in FLOATS:
        raise Unsupported(f"it convolves {x.dtype}; convert the operands to a float type")
    rank = len(weight.shape) - 2
    stride, padding, dilation = (
        list(values) * rank if len(values) == 1 else list(values)
        for values in (stride, padding, dilation)
    )
    x = _windows(c, x, list(weight.shape[2:]), stride, padding, dilation, transposed)

    # Coordinates: N, group, O / groups, the plane; summed over: C / groups, the window.
    outputs, inputs = c.shape[1] // groups, x.shape[1] // groups
    channel = 3 + rank
    places = range(3, channel)
    offsets = range(channel + 1, channel + 1 + rank)
    weight = c.b.reshape(weight, [groups, weight.shape[0] // groups, *weight.shape[1:]])
    sums = c.b.contract(
        c.b.reshape(x, [x.shape[0], groups, inputs, *x.shape[2:]]),
        [0, 1, channel, *places, *offsets],
        weight,
        [1, *((channel, 2) if transposed else (2, channel)), *offsets],
        [x.shape[0], groups, outputs, *c.shape[2:]],
        c.dtype if bias is None else "f32",
        sums=1 + rank,
    )
    sums = c.b.reshape(sums, c.shape)
    if bias is not None:
        bias = c.b.reshape(bias, [*bias.shape, *([1] * rank)])
    return with_bias(c, sums, bias)
