# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least time that a GPU takes for a case: what is measured below it is no time."""

import math
from typing import Any

from deplo.compilation import targets

# Clocks and timers are as exact as this.
MARGIN = 0.02


def find_target(chip: str) -> dict[str, Any]:
    (found,) = (target for target in targets() if target["chip"] == chip)
    return found


def least_us(
    count_bytes: float | None,
    flops: float | None,
    dtype: str,
    chip: str,
    cold: bool = False,
    precision: str = "f32",
) -> float:
    """Of a call that reads and writes `count_bytes` and computes `flops`, in microseconds.

    Args:
        dtype: f32 is computed in `precision`, of which `ieee` knows no tensor cores.
        cold: all bytes come from memory; else as many as fit are in L2 and take no time.
    """
    target = find_target(chip)
    rates = [target["f32_flops_per_second"]]
    # Of one product of f32, tensor cores take six in bf16, three in f16, or one at half the
    # rate.
    of_f32 = {"ieee": math.inf, "f32": 6, "f32-fast": 3, "tf32": 2}
    products = of_f32[precision] if dtype == "f32" else 1
    for rate in ("mma_flops_per_second", "wgmma_flops_per_second"):
        rates.append(target[rate] / products)
    moved = max((count_bytes or 0) - (0 if cold else target["l2_bytes"]), 0)
    seconds = max(moved / target["dram_bytes_per_second"], (flops or 0) / max(rates))
    return seconds * 1e6 * (1 - MARGIN)
