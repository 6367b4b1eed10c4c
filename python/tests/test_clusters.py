# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that the blocks of a cluster share, in the emulator, which checks races and exits."""

import pytest
import torch
import torch.nn.functional as F

import deplo

pytestmark = pytest.mark.usefixtures("compiler")

KERNELS = {
    "softmax": lambda a: torch.softmax(a, -1),
    "log_softmax": lambda a: torch.log_softmax(a, -1),
    "rms_norm": lambda a: F.rms_norm(a, a.shape[-1:], torch.ones(a.shape[-1]).to(a) * 0.5),
    "layer_norm": lambda a: F.layer_norm(a, a.shape[-1:], eps=1e-5),
    "sum": lambda a: a.sum(-1),
}


def run(function, x, schedule):
    compiled = deplo.compile(function, (x,), device="emu", schedule=schedule)
    assert "cluster" in " ".join(
        str(kernel.get("schedule_reason") or kernel) for kernel in compiled.report["kernels"]
    )
    return compiled(x)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("length", "schedule"),
    [
        (4096, "cluster=4,warps=2,chunk=0"),
        (5004, "cluster=3,warps=2,chunk=0"),
        (6144, "cluster=3,warps=2,chunk=512"),
        (2500, "cluster=16,warps=1,chunk=0"),
        (4100, "cluster=2,warps=4,chunk=1024,stage_inputs=never"),
    ],
)
def test_long_rows(name, length, schedule):
    x = torch.randn((3, length), generator=torch.Generator().manual_seed(0))
    want = KERNELS[name](x.double())
    torch.testing.assert_close(run(KERNELS[name], x, schedule).double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_dtypes(dtype):
    x = torch.randn((2, 4096), generator=torch.Generator().manual_seed(0)).to(dtype)
    result = run(KERNELS["softmax"], x, "cluster=4,warps=2,chunk=0")
    torch.testing.assert_close(result.double(), torch.softmax(x.double(), -1), rtol=1e-2, atol=1e-5)


def test_what_all_blocks_know_is_stored_once():
    x = torch.randn((3, 4096), generator=torch.Generator().manual_seed(0))
    function = lambda a: (torch.softmax(a, -1), a.amax(-1), a.sum(-1))  # noqa: E731
    results = run(function, x, "cluster=4,warps=2,chunk=0")
    for got, want in zip(results, function(x.double()), strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-4)


def test_integers_are_exact():
    x = torch.randint(-1000, 1000, (2, 8192), generator=torch.Generator().manual_seed(0))
    assert torch.equal(run(lambda a: a.sum(-1), x, "cluster=8,warps=1,chunk=0"), x.sum(-1))


def test_two_runs_give_the_same_bits():
    x = torch.randn((3, 8192), generator=torch.Generator().manual_seed(0))
    first, second = (run(KERNELS["softmax"], x, "cluster=8,warps=1,chunk=0") for _ in range(2))
    assert torch.equal(first, second)
