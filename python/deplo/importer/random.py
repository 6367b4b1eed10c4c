# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout and uniform numbers, by a generator that is part of the kernel.

Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): its counter is the
element's number divided by 4, its key the seed and the number of the operator
in the program. The same program, seed and shape give the same mask on every
device; PyTorch's own sequence is another.
"""

from typing import Any

import torch

from .builder import Value
from .dtypes import FLOATS
from .registry import Context, Unsupported, handles
from .scalars import Region, Scalar

aten = torch.ops.aten

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_WORD = 0xFFFFFFFF


def _philox(s: Region, counter: Scalar, key: tuple[int, int]) -> list[Scalar]:
    """Four words of 32 bits, in i64, from a counter in i64."""

    def halves(product: Scalar) -> tuple[Scalar, Scalar]:
        high = s.emit(f"arith.shrui %{product.name}, %{thirty_two.name} : i64", "i64")
        return high, product & _WORD

    thirty_two = s.constant(32, "i64")
    zero = s.constant(0, "i64")
    high, low = halves(counter)
    words = [low, high, zero, zero]
    for round_ in range(_ROUNDS):
        key_now = [(k + round_ * w) & _WORD for k, w in zip(key, _WEYL, strict=True)]
        high0, low0 = halves(words[0] * _MULTIPLIERS[0])
        high1, low1 = halves(words[2] * _MULTIPLIERS[1])
        words = [
            high1 ^ words[1] ^ key_now[0],
            low1,
            high0 ^ words[3] ^ key_now[1],
            low0,
        ]
    return words


def _random_word(
    s: Region, coordinates: list[Scalar], shape: tuple[int, ...], key: tuple
) -> Scalar:
    """32 random bits for the element at `coordinates`, in i64."""
    number = s.constant(0, "i64")
    for coordinate, size in zip(coordinates, shape, strict=True):
        number = number * size + coordinate
    words = _philox(s, s.binary("shr", number, 2), key)
    which = number & 3
    word = words[3]
    for i in (2, 1, 0):
        word = s.select(which.equals(i), words[i], word)
    return word


def _next_key(c: Context) -> tuple[int, int]:
    return c.b.seed & _WORD, ((c.b.seed >> 32) + c.b.next_stream()) & _WORD


@handles(aten.rand.default, aten.rand_like.default)
def rand(c: Context, *_: Any, **__: Any) -> Value:
    """Multiples of 2^-24 in [0, 1), of 2^-11 in f16 and 2^-8 in bf16."""
    bits = {"f32": 24, "f16": 11, "bf16": 8}[c.dtype]
    key = _next_key(c)

    def formula(s: Region, *coordinates: Scalar) -> Scalar:
        word = _random_word(s, list(coordinates), c.shape, key)
        return s.convert(s.binary("shr", word, 32 - bits), "f32") * 2.0**-bits

    return c.b.generate(formula, c.shape, c.dtype)


@handles(aten.native_dropout.default)
def dropout(c: Context, x: Value, p: float, train: bool | None) -> tuple[Value | None, ...]:
    """Elements stay with probability 1 - p and are divided by it."""
    if x.dtype not in FLOATS:
        raise Unsupported(f"dropout is for floats, not {x.dtype}; convert the tensor first")
    if train is False:
        return x, c.b.generate(lambda s, *_: s.constant(True, "bool"), c.shape, "bool")
    key = _next_key(c)
    kept = round((1.0 - p) * 2.0**32)
    mask = c.b.generate(
        lambda s, *i: _random_word(s, list(i), c.shape, key) < kept, c.shape, "bool"
    )
    scale = 1.0 / (1.0 - p) if p < 1.0 else 0.0

    def formula(s: Region, element: Scalar, stays: Scalar) -> Scalar:
        return s.select(stays, s.convert(element, "f32") * scale, 0.0)

    return c.b.map(formula, [x, mask], c.dtype), mask
