# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as two contractions and a softmax.

Heads that share keys and values are an axis that only the query has, so that
both are read where they lie; scale and mask are maps of the first contraction's
result.
"""

import math
from collections.abc import Sequence

import torch

from .builder import Value
from .contractions import matrix_product
from .registry import Context, Unsupported, handles, number
from .scalars import Region, Scalar

aten = torch.ops.aten


def _split(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """A shape whose axis of heads is `groups` to each head of keys, or one for all."""
    *batch, heads, rows, columns = shape
    inner = groups if heads != 1 else 1
    return (*batch, heads // inner, inner, rows, columns)


def _masked(c: Context, scores: Value, mask: Value) -> Value:
    """With -inf where a mask of bools is false, or with the numbers of a mask added."""
    if mask.dtype == "bool":
        return c.b.map(
            lambda s, a, m: s.select(m, a, s.constant(-math.inf, "f32")), [scores, mask], "f32"
        )
    return c.b.binary("add", scores, c.b.cast(mask, "f32"))


def _softmax_or_zero(c: Context, scores: Value, axis: int) -> Value:
    """The softmax, and 0 in rows whose elements are all masked."""
    largest = c.b.reduce("max", scores, [axis], keepdims=True)
    return c.b.map(
        lambda s, p, m: s.select(s.compare("eq", m, -math.inf), s.constant(0.0, "f32"), p),
        [c.b.softmax("softmax", scores, axis), largest],
        "f32",
    )


@handles(aten.scaled_dot_product_attention.default)
def attention(
    c: Context,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    if dropout_p != 0.0:
        raise Unsupported("it drops elements at random; call it with dropout_p=0")
    factor = float(number(scale)) if scale is not None else 1 / math.sqrt(query.shape[-1])
    if enable_gqa:
        heads = key.shape[-3]
        if value.shape[-3] != heads:
            raise Unsupported("its keys and values differ in heads; repeat the fewer ones")
        groups = query.shape[-3] // heads
        query = c.b.reshape(
            query, (*query.shape[:-3], heads, groups, query.shape[-2], query.shape[-1])
        )
        key, value = (
            c.b.reshape(x, (*x.shape[:-2], 1, x.shape[-2], x.shape[-1])) for x in (key, value)
        )
        if attn_mask is not None and len(attn_mask.shape) >= 3:
            attn_mask = c.b.reshape(attn_mask, _split(attn_mask.shape, groups))
    product = matrix_product(c, query, key, "f32", is_transposed=True)
    last = len(product.shape) - 1

    def scaled(s: Region, a: Scalar) -> Scalar:
        a = a * factor
        if not is_causal:
            return a
        return s.select(s.index(last) <= s.index(last - 1), a, s.constant(-math.inf, "f32"))

    scores = c.b.map(scaled, [product], "f32")
    if attn_mask is None:
        # The first key is never masked.
        weights = c.b.softmax("softmax", scores, last)
    else:
        weights = _softmax_or_zero(c, _masked(c, scores, attn_mask), last)
    weights = c.b.cast(weights, value.dtype)
    return c.b.reshape(matrix_product(c, weights, value, c.dtype), c.shape)
