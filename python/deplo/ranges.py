# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What precision "f32-fast" asks of weights."""

import math
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
        if binding.fetch is None:
            continue
        weight = binding.fetch().detach()
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
                f"kernel '{rows['kernel']}' multiplies '{binding.name}', which has a number of "
                f"2**{exponent:.0f} times the largest in its row, and precision f32-fast keeps "
                f"the bits of those of 2**-27 times that and more: compile with precision f32"
            )
