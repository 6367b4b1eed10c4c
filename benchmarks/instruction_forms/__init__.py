# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every instruction form that fits into a small kernel."""

from . import copies, floats, integers, matrices, warps
from .form import HEADER, Form, Map

GROUPS = {
    "integers": integers.arithmetic,
    "bits": integers.bits,
    "comparisons": integers.comparisons,
    "floats": floats.arithmetic,
    "halves": floats.halves,
    "approximations": floats.approximations,
    "conversions": floats.conversions,
    "warps": warps.exchanges,
    "moves": warps.moves,
    "clusters": warps.clusters,
    "registers": warps.special_registers,
    "accesses": warps.accesses,
    "atomics": warps.atomics,
    "copies": copies.runs,
    "tensor copies": copies.tensors,
    "matrix moves": matrices.moves,
    "mma": matrices.multiplications,
    "wgmma": matrices.wgmmas,
}

__all__ = ["GROUPS", "HEADER", "Form", "Map", "all_forms"]


def all_forms(group: str | None = None) -> list[Form]:
    """The forms of a group, or all, each once."""
    groups = [GROUPS[group]] if group else GROUPS.values()
    return list({form.name: form for make in groups for form in make()}.values())
