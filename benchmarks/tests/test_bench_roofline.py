# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What no GPU can do is no measurement."""

import pytest

from harness.results import Row
from harness.roofline import least_us
from harness.runner import _plausible


def test_arithmetic_and_memory_take_time(compiler):
    flops = 2 * 4096.0**3
    in_f32 = least_us(0, flops, "f32", "sm_90a", precision="ieee")
    assert in_f32 == pytest.approx(flops / 67e12 * 0.98e6)
    # The default, in pieces of bf16.
    assert least_us(0, flops, "f32", "sm_90a") < in_f32 / 2
    assert least_us(0, flops, "bf16", "sm_90a") == pytest.approx(flops / 989e12 * 0.98e6)
    assert least_us(0, flops, "bf16", "sm_80") > least_us(0, flops, "bf16", "sm_90a")
    assert least_us(4.8e9, None, "f32", "sm_90a", cold=True) == pytest.approx(980)
    # 50 MB may be in L2 already.
    assert least_us(50e6, None, "f32", "sm_90a") == 0
    assert least_us(50e6, None, "f32", "sm_90a", cold=True) > 10


@pytest.mark.parametrize("name", ["deplo_us", "eager_us", "compile_us", "deplo_cold_us"])
def test_times_below_the_roofline_are_refused(name, compiler):
    row = Row("square", "square", "f32", "ieee", "ok")
    row.bytes, row.flops = 3 * 4 * 4096**2, 2 * 4096.0**3
    for key in ("deplo_us", "eager_us", "compile_us", "deplo_cold_us"):
        setattr(row, key, 2800.0)
    assert _plausible(row, "sm_90a") == "ok"
    setattr(row, name, 1900.0)
    assert _plausible(row, "sm_90a").startswith(f"refused: {name} is 1900.00")
