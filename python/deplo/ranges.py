# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What precision "f32-fast" asks of weights."""

import math
import threading
from collections.abc import Sequence
from typing import Any

import torch

from .errors import Error
from .importer import Binding

# Of the largest number of a row, down to which others keep 22 bits.
LEAST = 2.0**-27


def check_ranges(bindings: Sequence[Binding], report: dict[str, Any]) -> None:
    """Looks at the weights that kernels multiply as pieces of rows with scales.

    Raises:
        Error: a number of a weight is too small beside the largest of its row.
    """
    for rows in report.get("scaled_rows", ()):
        binding = bindings[rows["input"]]
        if binding.fetch is not None:
            check_rows(binding.name, binding.fetch(), rows)


class RangeChecks:
    """Looks at weights that each call gives, once for each of them.

    Attributes:
        numbers: of the arguments that have to be looked at.
        known: addresses of those that were found to be right.
    """

    def __init__(self, names: Sequence[str | None], report: dict[str, Any]) -> None:
        """`names` are those of the arguments that are weights."""
        self._names = names
        self._rows = [r for r in report.get("scaled_rows", ()) if names[r["input"]] is not None]
        self.numbers = sorted({rows["input"] for rows in self._rows})
        self.known: set[tuple[int, ...]] = set()
        self._lock = threading.Lock()

    def check(self, key: tuple[int, ...], arguments: Sequence[torch.Tensor]) -> None:
        """Raises `Error` as `check_ranges` does. What a graph records can't wait for the
        answer: its weights are looked at in a call before."""
        if arguments[self.numbers[0]].is_cuda and torch.cuda.is_current_stream_capturing():
            return
        with self._lock:
            for rows in self._rows:
                number = rows["input"]
                check_rows(self._names[number] or "", arguments[number], rows)
            self.known.add(key)


def check_rows(name: str, weight: torch.Tensor, rows: dict[str, Any]) -> None:
    """The same for one weight, of which `rows` says how it is read."""
    weight = weight.detach()
    view = torch.as_strided(
        weight, rows["sizes"], rows["strides"], weight.storage_offset() + rows["offset"]
    )
    size = view.abs()
    largest = size.amax(rows["dim"], keepdim=True)
    is_small = (size > 0) & (size < LEAST * largest) & largest.isfinite()
    if is_small.any():
        place = is_small.nonzero()[0].tolist()
        number = size[tuple(place)].item()
        place[rows["dim"]] = 0
        exponent = math.log2(number) - math.log2(largest[tuple(place)].item())
        raise Error(
            f"kernel '{rows['kernel']}' multiplies '{name}', which has a number of "
            f"2**{exponent:.0f} times the largest in its row, and precision f32-fast keeps "
            f"the bits of those of 2**-27 times that and more: compile with precision f32"
        )
