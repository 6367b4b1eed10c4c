# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions of the input's windows and the weights.

Along an axis, result[d] sums x[d * stride + k * dilation - padding] * weight[k], with
zeros around x. A transposed convolution is one of x with stride - 1 zeros behind each
element, and of the weights from the last to the first.

Windows lie in memory so that what is summed over, channels and the places of a window,
is one dimension: in front of the plane, whose rows are then read and written side by
side, or, where a step is more than one element, behind it.
"""

import torch

from .builder import Value
from .contractions import with_bias
from .dtypes import FLOATS
from .gathers import Source, dims, gather
from .pooling import Windows, per_axis
from .registry import Context, Unsupported, handles

aten = torch.ops.aten


def _transposed_windows(
    c: Context,
    x: Value,
    size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> Value:
    """What each weight is multiplied by, [N, C, window, plane], of x with zeros between."""
    rank = len(size)
    coordinates, guard = dims(2), []
    for axis in range(rank):
        step, last = stride[axis], x.shape[2 + axis] - 1
        place = f"d{2 + rank + axis} + {padding[axis]} - d{2 + axis} * {dilation[axis]}"
        coordinates.append(f"({place}) floordiv {step}")
        guard += [place, f"{last * step} - ({place})"]
        if step != 1:
            guard.append(f"-(({place}) mod {step})")
    shape = [*x.shape[:2], *size, *c.shape[2:]]
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
    stride, padding, dilation = (per_axis(n, rank) for n in (stride, padding, dilation))
    window = weight.shape[2:]
    # Positions of the axes of N, C, the plane and the window.
    plane, size = range(2, 2 + rank), range(2 + rank, 2 + 2 * rank)
    is_behind = not transposed and stride[-1] > 1
    if transposed:
        x = _transposed_windows(c, x, list(window), stride, padding, dilation)
    else:
        shape = [*x.shape[:2], *c.shape[2:]]
        windows = Windows(x, shape, window, stride, padding, dilation, [1] * rank)
        x = windows.gather(c, 0, [0, *plane, 1, *size] if is_behind else [0, 1, *size, *plane])

    # Coordinates: N, group, O / groups, the plane; summed over: C / groups, the window.
    channels = 1 + rank if is_behind else 1
    outputs, inputs = c.shape[1] // groups, x.shape[channels] // groups
    channel = 3 + rank
    places = range(3, channel)
    offsets = range(channel + 1, channel + 1 + rank)
    weight = c.b.reshape(weight, [groups, weight.shape[0] // groups, *weight.shape[1:]])
    summed = [channel, *offsets]
    sums = c.b.contract(
        c.b.reshape(x, [*x.shape[:channels], groups, inputs, *x.shape[channels + 1 :]]),
        [0, *places, 1, *summed] if is_behind else [0, 1, *summed, *places],
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
