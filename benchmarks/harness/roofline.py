# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least time that a GPU takes for a case: what is measured below it is no time."""

from typing import Any

from deplo.compilation import targets

# Clocks and timers are as exact as this.
MARGIN = 0.02


def find_target(chip: str) -> dict[str, Any]:
    (found,) = (target for target in targets() if target["chip"] == chip)
    return found


def least_us(
    count_bytes: float | None, flops: float | None, dtype: str, chip: str, cold: bool = False
) -> float:
    """Of a call that reads and writes `count_bytes` and computes `flops`, in microseconds.

    Args:
        dtype: f32 is computed as f32, on no tensor cores.
        cold: all bytes come from memory; else as many as fit are in L2 and take no time.
    """
    target = find_target(chip)
    rates = [target["f32_flops_per_second"]]
    if dtype != "f32":
        rates += [target["mma_flops_per_second"], target["wgmma_flops_per_second"]]
    moved = max((count_bytes or 0) - (0 if cold else target["l2_bytes"]), 0)
    seconds = max(moved / target["dram_bytes_per_second"], (flops or 0) / max(rates))
    return seconds * 1e6 * (1 - MARGIN)
