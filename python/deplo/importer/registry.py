# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operator handlers and what a handler gets to work with."""

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from .builder import GraphBuilder, Value
from .dtypes import FLOATS, HALVES, NAMES, TORCH_DTYPES, is_exact
from .scalars import Region, Scalar, Unsupported

Handler = Callable[..., Value | tuple[Value | None, ...]]
HANDLERS: dict[OpOverload, Handler] = {}


def handles(*targets: OpOverload) -> Callable[[Handler], Handler]:
    """Registers a handler: `handler(context, *arguments, **keywords)` as in the
    operator's schema, tensors given as `Value`."""

    def register(handler: Handler) -> Handler:
        for target in targets:
            assert target not in HANDLERS, target
            HANDLERS[target] = handler
        return handler

    return register


class Context:
    """What a handler may use: the builder, and the type PyTorch gave the result.

    Attributes:
        b: where operations go.
        shape, dtype: of the (first) result.
        used: for operators with several results, which of them have users.
        storage: gives the tensor that the first operand is a view of, and where the
            view starts in its storage; none if that is not known.
    """

    storage: Callable[[], tuple[Value, int] | None]

    def __init__(
        self, b: GraphBuilder, shape: tuple[int, ...], dtype: str, used: frozenset[int]
    ) -> None:
        self.b = b
        self.shape = shape
        self.dtype = dtype
        self.used = used

    def tensor(self, operand: Any, dtype: str | None = None) -> Value:
        """A tensor or Python number in `dtype` (default: the result's)."""
        dtype = dtype or self.dtype
        if isinstance(operand, Value):
            return self.b.cast(operand, dtype)
        return self.b.constant(number(operand), dtype)

    def binary(self, op: str, x: Any, y: Any) -> Value:
        """A named operator on floats, rounded once to the result's dtype.

        PyTorch keeps a Python number in f32 beside f16 and bf16 tensors, so a
        number that those can't hold moves the arithmetic to f32.
        """
        scalars = [number(operand) for operand in (x, y) if not isinstance(operand, Value)]
        inexact = not all(is_exact(scalar, self.dtype) for scalar in scalars)
        dtype = "f32" if self.dtype in HALVES and inexact else self.dtype
        result = self.b.binary(op, self.tensor(x, dtype), self.tensor(y, dtype))
        return self.b.cast(result, self.dtype)

    def map(self, formula: Callable[..., Scalar], *operands: Any, compute: str) -> Value:
        """`formula(region, *elements)` with tensors and numbers converted to `compute`.

        The result is converted to the result's dtype and has its shape.
        """
        tensors = [operand for operand in operands if isinstance(operand, Value)]

        def body(s: Region, *elements: Scalar) -> Scalar:
            remaining = iter(elements)
            converted = [
                s.convert(next(remaining), compute)
                if isinstance(operand, Value)
                else s.constant(operand, compute)
                for operand in operands
            ]
            return formula(s, *converted)

        result = self.b.map(body, tensors, self.dtype)
        return self.b.expand(result, self.shape)

    def arithmetic(self, formula: Callable[..., Scalar], *operands: Any) -> Value:
        """In the result's dtype, floats in f32."""
        return self.map(formula, *operands, compute=wide(self.dtype))

    def f32(self, *operands: Any) -> list[Value]:
        """The operands in f32, for composites that PyTorch rounds only once."""
        return [self.tensor(operand, "f32") for operand in operands]

    def rounded(self, value: Value) -> Value:
        """`value` in the result's dtype and shape."""
        return self.b.expand(self.b.cast(value, self.dtype), self.shape)


def wide(dtype: str) -> str:
    """What PyTorch computes in for results of `dtype`: f32 for floats."""
    return "f32" if dtype in FLOATS else dtype


def common_dtype(*operands: Any) -> str:
    """The dtype to which PyTorch promotes tensors and Python numbers."""
    stand_ins = [
        torch.empty(operand.shape, dtype=TORCH_DTYPES[operand.dtype], device="meta")
        if isinstance(operand, Value)
        else number(operand)
        for operand in operands
    ]
    _, result = elementwise_dtypes(
        *stand_ins, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    )
    return NAMES[result]


def number(operand: Any) -> bool | int | float:
    """A Python number, or a clear refusal of anything else."""
    if isinstance(operand, (bool, int, float)):
        return operand
    raise Unsupported(f"the operand {operand!r} is a {type(operand).__name__}, not a real number")


def normalized_axes(axes: Any, rank: int) -> list[int]:
    """PyTorch's `dim` argument (None, int, list; negative counts back) as sorted axes."""
    if axes is None or (isinstance(axes, (list, tuple)) and not axes):
        return list(range(rank))
    axes = axes if isinstance(axes, (list, tuple)) else [axes]
    return sorted(axis % max(rank, 1) for axis in axes) if rank else []
