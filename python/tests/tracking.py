# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float64 values with a bound on the error of a computation in f32, f16 or bf16.

Each operator's rule gives the exact value and how far errors of the operands
and of its own f32 arithmetic can move it; then the result is rounded once to
the program's dtype. The bound holds for any order of summation.
"""

import math
from dataclasses import dataclass

import torch

F32 = 2.0**-24
UNIT = {torch.float32: F32, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
# Half the distance of the smallest subnormals.
_TINY = {torch.float32: 2.0**-150, torch.float16: 2.0**-25, torch.bfloat16: 2.0**-134}


@dataclass
class Tracked:
    """A float64 tensor and, element by element, the largest error it may have."""

    value: torch.Tensor
    error: torch.Tensor

    @staticmethod
    def exact(tensor: torch.Tensor) -> "Tracked":
        value = tensor.double()
        return Tracked(value, torch.zeros_like(value))

    @property
    def largest(self) -> float:
        """The largest magnitude that a computed element can have."""
        return (self.value.abs() + self.error).max().item() if self.value.numel() else 0.0


def rounded(x: Tracked, dtype: torch.dtype) -> Tracked:
    """`x` rounded to nearest in `dtype`."""
    moved = UNIT[dtype] * (x.value.abs() + x.error) + _TINY[dtype]
    return Tracked(x.value, x.error + moved)


def lipschitz(function, slope: float, ulps: float):
    """Rule of y = f(x) with |f'| <= slope, computed within `ulps` of f32."""

    def rule(x: Tracked) -> Tracked:
        value = function(x.value)
        return Tracked(value, slope * x.error + ulps * F32 * value.abs())

    return rule


def cancelling(function, slope: float, ulps: float):
    """Like `lipschitz`; the own error is relative to |x|, as of x * (1 + erf x)."""

    def rule(x: Tracked) -> Tracked:
        error = slope * x.error + ulps * F32 * (x.value.abs() + x.error)
        return Tracked(function(x.value), error)

    return rule


def exp(x: Tracked) -> Tracked:
    value = x.value.exp()
    return Tracked(value, value * (torch.expm1(x.error) + 4 * F32))


def log_from_1(x: Tracked) -> Tracked:
    """log of values that are 1 or more."""
    value = x.value.log()
    return Tracked(
        value, x.error / (x.value - x.error).clamp_min(0.5) + 4 * F32 * (1 + value.abs())
    )


def power(exponent: float):
    """Rule of x ** exponent for x well above 0."""

    def rule(x: Tracked) -> Tracked:
        value = x.value**exponent
        low = (x.value - x.error).clamp_min(1e-3)
        ratio = (1 + x.error / low) ** abs(exponent) - 1
        return Tracked(value, value * (ratio + 8 * F32))

    return rule


def add(x: Tracked, y: Tracked) -> Tracked:
    return Tracked(x.value + y.value, x.error + y.error + 0 * (x.value + y.value))


def sub(x: Tracked, y: Tracked) -> Tracked:
    return Tracked(x.value - y.value, x.error + y.error + 0 * (x.value - y.value))


def mul(x: Tracked, y: Tracked) -> Tracked:
    error = x.value.abs() * y.error + y.value.abs() * x.error + x.error * y.error
    return Tracked(x.value * y.value, error)


def transposed(x: Tracked) -> Tracked:
    return Tracked(x.value.t(), x.error.t())


def product(x: Tracked, y: Tracked) -> Tracked:
    """Of matrices, terms added in f32."""
    moved = x.value.abs() @ y.error + x.error @ y.value.abs() + x.error @ y.error
    terms = (x.value.abs() + x.error) @ (y.value.abs() + y.error)
    return Tracked(x.value @ y.value, moved + (x.value.shape[1] + 1) * F32 * terms)


def div(x: Tracked, y: Tracked) -> Tracked:
    """y is 1 or more."""
    low = (y.value - y.error).clamp_min(0.5)
    value = x.value / y.value
    return Tracked(value, (x.error + value.abs() * y.error) / low + F32 * value.abs())


def selecting(function):
    """Rule of maximum, minimum: no further from the truth than the worse operand."""

    def rule(x: Tracked, y: Tracked) -> Tracked:
        value = function(x.value, y.value)
        return Tracked(value, torch.maximum(x.error, y.error).expand_as(value))

    return rule


def summed(x: Tracked, axis: int, mean: bool) -> Tracked:
    size = x.value.shape[axis]
    scale = 1.0 / size if mean else 1.0
    magnitude = (x.value.abs() + x.error).sum(axis, keepdim=True) * scale
    value = x.value.sum(axis, keepdim=True) * scale
    error = x.error.sum(axis, keepdim=True) * scale
    return Tracked(value, error + (size + 2) * F32 * magnitude)


def extreme(function):
    """Rule of amax, amin over an axis."""

    def rule(x: Tracked, axis: int) -> Tracked:
        value = function(x.value, axis, keepdim=True)
        return Tracked(value, x.error.amax(axis, keepdim=True))

    return rule


def variance(x: Tracked, axis: int) -> Tracked:
    """Biased variance by deviations from the mean."""
    center = summed(x, axis, mean=True)
    deviation = sub(x, center)
    deviation.error += F32 * (deviation.value.abs() + deviation.error)
    squares = mul(deviation, deviation)
    squares.error += F32 * (squares.value + squares.error)
    return summed(squares, axis, mean=True)


def normalized(x: Tracked, axis: int, eps: float, center: bool) -> Tracked:
    """layer_norm (`center`) or rms_norm without weights over one axis."""
    if center:
        spread = variance(x, axis)
        x = sub(x, summed(x, axis, mean=True))
        x.error = x.error + 2 * F32 * (x.value.abs() + x.error)
    else:
        squares = mul(x, x)
        squares.error = squares.error + F32 * (squares.value + squares.error)
        spread = summed(squares, axis, mean=True)
    root = power(-0.5)(Tracked(spread.value + eps, spread.error + 2 * F32 * (spread.value + eps)))
    result = mul(x, root)
    return Tracked(result.value, result.error + 4 * F32 * result.value.abs())


def softmax(x: Tracked, axis: int) -> Tracked:
    value = x.value.softmax(axis)
    spread = (x.value.amax(axis, keepdim=True) - x.value) + 1
    moved = 2 * x.error.amax(axis, keepdim=True) + F32 * spread.amax(axis, keepdim=True)
    ratio = torch.expm1(moved) + (x.value.shape[axis] + 16) * F32
    return Tracked(value, value * ratio * 1.01)


def log_softmax(x: Tracked, axis: int) -> Tracked:
    value = x.value.log_softmax(axis)
    own = (x.value.shape[axis] + 16) * F32 + 4 * F32 * value.abs().amax(axis, keepdim=True)
    return Tracked(value, 2 * x.error.amax(axis, keepdim=True) + own + 0 * value)


def leaky_relu(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x * 0.25)


def silu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


def gelu(x: torch.Tensor) -> torch.Tensor:
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def chosen(mask: torch.Tensor, x: Tracked, other: float) -> Tracked:
    """Elements where the mask, which is exact, is true."""
    return Tracked(torch.where(mask, x.value, other), torch.where(mask, x.error, 0.0))


def pooled(kind: str, size: int, step: int, before: int):
    """Maxima or means of windows; those of errors bound the windows' errors."""

    def pool(x: torch.Tensor, kind: str = kind) -> torch.Tensor:
        function = getattr(torch.nn.functional, f"{kind}_pool2d")
        return function(x[None], size, step, before)[0]

    def rule(x: Tracked) -> Tracked:
        error = pool(x.error)
        if kind == "avg":
            error = error + (size * size + 2) * F32 * pool(x.value.abs() + x.error)
        return Tracked(pool(x.value), error)

    return rule


def moved_along(text: str, name: str, x: Tracked, axis: int) -> Tracked:
    """Sorted: no element is further off than the worst of its row."""
    value = eval(text, {name: x.value, "torch": torch})
    return Tracked(value, x.error.amax(axis, keepdim=True).expand_as(value).clone())


def index_added(x: Tracked, index: torch.Tensor) -> Tracked:
    def added(values: torch.Tensor) -> torch.Tensor:
        return values.index_add(0, index, values[: len(index)])

    own = (len(index) + 1) * F32 * added(x.value.abs() + x.error)
    return Tracked(added(x.value), added(x.error) + own)
