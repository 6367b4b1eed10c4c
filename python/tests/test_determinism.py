# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two compilations give the same text; two runs give the same bits."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from numeric import randn, run

import deplo

PROGRAMS = {
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6),
    "softmax": lambda x: F.softmax(x, -1),
    "statistics": lambda x: (x.var(0), x.mean(), x.sum(-1)),
    "pointwise": lambda x: F.gelu(x) * torch.tanh(x) + 0.1,
    "product": lambda x: x @ x[:33].t(),
    "product in bf16": lambda x: x.bfloat16() @ x[:33].bfloat16().t(),
    # Few rows, whose sums are in parts.
    "product of few rows": lambda x: F.relu(x[:4] @ x[:64].t()),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("level", ["loop", "tile", "ptx"])
def test_two_compilations_give_the_same_text(name, level, compiler):
    texts = [
        deplo.compile(PROGRAMS[name], (randn(64, 1000),), device="cuda", target="sm_90a").ir(level)
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_another_process_gives_the_same_ptx(compiler):
    code = (
        "import torch, deplo, torch.nn.functional as F\n"
        "f = deplo.compile(lambda x: F.softmax(x, -1) * 0.5, (torch.ones(64, 1000),), "
        "device='cuda', target='sm_90a')\n"
        "print(f.ir('ptx'))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert texts[0] == texts[1] and ".entry" in texts[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_compilations_give_the_same_package(name, compiler):
    packages = [
        deplo.compile(PROGRAMS[name], (randn(64, 100),), device="host").package for _ in range(2)
    ]
    assert packages[0] == packages[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_runs_give_the_same_bits(name, device):
    x = randn(257, 1000)
    runs = [run(PROGRAMS[name], (x,), device) for _ in range(3)]
    for other in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], other, strict=True))
