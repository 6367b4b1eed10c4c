# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of the schedules that products in bf16 get by themselves on sm_90a.

A note of ptxas that it has serialised wgmma fails a compile; so do these tests where
registers spill or where a loop over chunks lacks the instructions that it is about.
"""

import re
import warnings

import pytest
import torch
import torch.nn.functional as F

import deplo

CASES = {
    "square": (2048, 2048, 2048, ""),
    "few_rows": (16, 5632, 2048, ""),
    "32_rows": (32, 18944, 3584, ""),
    "128_rows": (128, 5632, 2048, ""),
    "512_rows": (512, 18944, 3584, ""),
    "clusters_of_four": (128, 3584, 18944, ""),
    "packed": (1024, 2949, 1021, ""),
    "cluster": (128, 3584, 3584, "block=64x128,warp_tile=16x128,stages=6,cluster=2,split_k=1"),
    "columns_192": (512, 5632, 2048, "block=128x192,warp_tile=16x128,stages=4,split_k=1"),
    "columns_176": (2048, 5632, 2048, "block=256x176,warp_tile=32x128,stages=4,split_k=1"),
    "two_blocks": (512, 5632, 2048, "block=64x128,warp_tile=16x128,stages=4,split_k=1"),
}


def loops(sass: str) -> list[str]:
    """What is between a label and a branch back to it."""
    lines = sass.splitlines()
    labels = {}
    found = []
    for number, line in enumerate(lines):
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = number
        elif branch := re.search(r"\bBRA\b.*\((\.L_x_\d+)\)", line):
            if branch[1] in labels:
                found.append("\n".join(lines[labels[branch[1]] : number]))
    return found


def linear(x, w, bias):
    return F.gelu(F.linear(x, w, bias))


@pytest.mark.parametrize("name", CASES)
def test_loops_have_their_instructions(name, compiler):
    m, n, k, pins = CASES[name]
    inputs = [torch.empty(*shape, dtype=torch.bfloat16) for shape in ((m, k), (n, k), (n,))]
    schedule = f"atom=wgmma,{pins}".rstrip(",")
    compiled = deplo.compile(linear, inputs, target="sm_90a", device="cuda", schedule=schedule)
    assert not any(kernel["spill_bytes"] for kernel in compiled.report["kernels"])
    sass = compiled.ir("sass")
    assert any("HGMMA" in loop for loop in loops(sass))
    assert any("UTMALDG" in loop for loop in loops(sass))
    assert not re.search(r"\b(HMMA|LDL|STL)\b", sass)


def test_blocks_that_stay_have_theirs(compiler):
    """Where blocks run several tiles, all of that is in one loop, and stored by tensor maps."""
    inputs = [torch.empty(4096, 4096, dtype=torch.bfloat16)] * 2 + [
        torch.empty(4096, dtype=torch.bfloat16)
    ]
    compiled = deplo.compile(linear, inputs, target="sm_90a", device="cuda")
    assert not any(kernel["spill_bytes"] for kernel in compiled.report["kernels"])
    sass = compiled.ir("sass")
    assert any("HGMMA" in loop and "STSM" in loop and "UTMASTG" in loop for loop in loops(sass))
    assert "STG" not in sass.replace("UTMASTG", "")


@pytest.mark.parametrize("columns, depth", [(5632, 2048), (18944, 3584)])
def test_two_products_have_registers_for_their_pieces(columns, depth, compiler):
    """Gate and up of few rows: a kernel that spilled would be scheduled again without wgmma."""

    def gated(x, gate, up):
        return F.silu(F.linear(x, gate)) * F.linear(x, up)

    inputs = [torch.empty(*shape) for shape in ((128, depth), (columns, depth), (columns, depth))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", deplo.DeploWarning)
        compiled = deplo.compile(gated, inputs, target="sm_90a", device="cuda")
    schedules = [kernel["schedule"] for kernel in compiled.report["kernels"]]
    assert any("atom = wgmma" in schedule for schedule in schedules)
    assert not any(kernel["spill_bytes"] for kernel in compiled.report["kernels"])
