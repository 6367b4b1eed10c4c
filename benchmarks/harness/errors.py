# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a result is from float64, and what is still right."""

import math

import torch

# A result may be off by this much relative to the largest value, however
# exact PyTorch's own is: a rounding of the result, and for f32 of the sums.
FLOORS = {"f32": 2e-6, "bf16": 6e-3, "f16": 8e-4}
# How much worse than PyTorch's own error is still right.
FACTOR = 4.0


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    """max|got - want| / max|want| over the places where `want` is finite.

    Infinite if shape, NaNs or infinities differ.
    """
    if got.shape != want.shape:
        return math.inf
    finite = torch.isfinite(want)
    if not torch.equal(torch.isfinite(got), finite):
        return math.inf
    if not torch.equal(torch.isnan(got), torch.isnan(want)):
        return math.inf
    if not bool(finite.all()):
        infinite = torch.isinf(want)
        if not torch.equal(got[infinite].double(), want[infinite]):
            return math.inf
        got, want = got[finite], want[finite]
    if want.numel() == 0:
        return 0.0
    difference = (got.double() - want).abs_().max().item()
    scale = want.abs().max().item()
    return difference / scale if scale else difference


def is_right(error: float, peer: float, dtype: str) -> bool:
    """Whether an error is in order, given PyTorch's own on the same inputs."""
    return error <= max(FLOORS[dtype], FACTOR * peer)
