# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of matrix products: `graph.contract`, whatever the operator is called."""

from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS
from .registry import Context, Unsupported, handles, number

aten = torch.ops.aten

# Sums wrap as PyTorch's do; those of i8 are added in 32 bits.
INTEGERS = ("i8", "i32", "i64")
PRODUCTS = (
    aten.mm.default,
    aten.bmm.default,
    aten.mv.default,
    aten.dot.default,
    aten.vdot.default,
    aten._int_mm.default,
)
PRODUCTS_WITH_BIAS = (aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
CONTRACTIONS = frozenset(
    (
        *PRODUCTS,
        *PRODUCTS_WITH_BIAS,
        aten.matmul.default,
        aten.linear.default,
        aten.convolution.default,
        aten.scaled_dot_product_attention.default,
    )
)


def matrix_product(
    c: Context, x: Value, y: Value, dtype: str, is_transposed: bool = False
) -> Value:
    """`x @ y` as torch.matmul defines it; of `y` transposed if `is_transposed`.

    Batch axes of size 1 are read in place, not expanded.
    """
    for operand in (x, y):
        if operand.dtype not in (INTEGERS if dtype in INTEGERS else FLOATS):
            raise Unsupported(
                f"it multiplies matrices of {operand.dtype}; convert them to a float type, "
                "or to i32 and add a bias apart"
            )
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rank = len(batch)
    columns = -2 if is_transposed else -1
    rows = x.shape[-2:-1]  # none of a vector
    shape = [*batch, *rows, *([y.shape[columns]] if len(y.shape) > 1 else [])]
    depth = len(shape)

    def batches(operand: Value) -> list[int | None]:
        axes = range(rank - len(operand.shape[:-2]), rank)
        sizes = zip(axes, operand.shape[:-2], strict=True)
        return [axis if size == batch[axis] else None for axis, size in sizes]

    left = [*batches(x), *([rank] if rows else []), depth]
    right = [depth, depth - 1] if len(y.shape) > 1 else [depth]
    if is_transposed:
        right.reverse()
    return c.b.contract(x, left, y, [*batches(y), *right], shape, dtype)


def with_bias(
    c: Context, product: Value, bias: Any, beta: float = 1.0, alpha: float = 1.0
) -> Value:
    """beta * bias + alpha * product, rounded once; a beta of 0 takes nothing from the bias."""
    beta, alpha = number(beta), number(alpha)
    if alpha != 1.0:
        product = c.b.binary("mul", product, float(alpha))
    if bias is not None and beta != 0.0:
        (addend,) = c.f32(bias)
        if beta != 1.0:
            addend = c.b.binary("mul", addend, float(beta))
        product = c.b.binary("add", product, addend)
    return c.rounded(product)


@handles(*PRODUCTS)
def product(c: Context, x: Value, y: Value) -> Value:
    return matrix_product(c, x, y, c.dtype)


@handles(aten.matmul.default)
def matmul(c: Context, x: Value, y: Value) -> Value:
    return c.b.reshape(matrix_product(c, x, y, c.dtype), c.shape)


@handles(aten.linear.default)
def linear(c: Context, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """`x @ weight.T + bias`; a weight may be a vector."""
    if len(weight.shape) == 1:
        return with_bias(c, matrix_product(c, x, weight, "f32"), bias)
    if bias is None:
        return matrix_product(c, x, weight, c.dtype, is_transposed=True)
    return with_bias(c, matrix_product(c, x, weight, "f32", is_transposed=True), bias)


@handles(*PRODUCTS_WITH_BIAS)
def product_with_bias(
    c: Context, bias: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1
) -> Value:
    return with_bias(c, matrix_product(c, x, y, "f32"), bias, beta, alpha)
