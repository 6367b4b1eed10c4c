# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `torch.compile(f, backend="deplo", options={...})` may say."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from deplo.errors import Error


@dataclass(frozen=True)
class BackendOptions:
    """Attributes:
    fallback: leave operators that deplo doesn't have to PyTorch; False makes
        them an error.
    target: GPU to compile for, as "sm_90a"; "" for the one present.
    schedule: overrides of schedule decisions, "stage_inputs=always,warps=4".
    precision: what products of f32 may be computed in, "f32", "f32-fast",
        "ieee" or "tf32". Parameters and buffers that "f32-fast" doesn't suit are an error
        in the first call that has them, whatever `fallback` says: PyTorch would compute
        something else.
    prepare_weights: run kernels that depend on parameters and buffers alone once
        for all calls, and keep what they write.
    contractions: compile products of matrices too; False leaves them to PyTorch,
        whose libraries are faster at most sizes for now, unless `fallback` is False.
    cache: take kernels from memory or disk if they were compiled before.
    max_sizes: for a graph with dynamic shapes, how many ranges of sizes, or
        combinations of them, are compiled; further ones are run by PyTorch.
    """

    fallback: bool = True
    target: str = ""
    schedule: str = ""
    precision: str = "f32"
    prepare_weights: bool = False
    contractions: bool = False
    cache: bool = True
    max_sizes: int = 16

    @staticmethod
    def parse(given: Mapping[str, Any] | None) -> "BackendOptions":
        """Raises `Error` for an option that there is not, or one of another type."""
        known = {field.name: field.type for field in fields(BackendOptions)}
        for name, value in (given or {}).items():
            if name not in known:
                raise Error(
                    f"backend 'deplo' has no option '{name}'; its options are {', '.join(known)}"
                )
            if type(value) is not known[name]:
                raise Error(
                    f"option '{name}' of backend 'deplo' is {value!r}; "
                    f"pass a {known[name].__name__}"  # type: ignore[union-attr]
                )
        return BackendOptions(**(given or {}))
