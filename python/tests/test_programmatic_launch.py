# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that start before those that they depend on are complete: the values are the same."""

import json

import pytest
import torch
import torch.nn.functional as F
from numeric import randn

import deplo
from deplo.runtime import Executable

WAIT, LAUNCH = "griddepcontrol.wait;", "griddepcontrol.launch_dependents;"


def several_kernels(x):
    """Two softmaxes of different axes: kernels that hand over temporaries."""
    for layer in range(4):
        x = torch.softmax(x, layer % 2) + 0.1 * x
    return x


def programmatic(package):
    """For each kernel, whether it is launched so."""
    end = 40 + int.from_bytes(package[16:24], "little")
    return [kernel.get("programmatic", False) for kernel in json.loads(package[40:end])["kernels"]]


def compiled(function, x, **options):
    return deplo.compile(function, (x,), device="cuda", **options)


@pytest.mark.parametrize(
    ("target", "schedule", "expected"),
    [
        ("sm_90a", "", True),
        ("sm_100a", "programmatic_launch=always", True),
        ("sm_90a", "programmatic_launch=never", False),
        ("sm_89", "", False),
        ("sm_89", "programmatic_launch=always", False),
    ],
)
def test_who_launches_so(target, schedule, expected, compiler):
    function = compiled(several_kernels, randn(64, 96), target=target, schedule=schedule)
    ptx = function.ir("ptx")
    kernels = ptx.count(".visible .entry")
    assert ptx.count(WAIT) == ptx.count(LAUNCH) == (kernels if expected else 0)
    assert programmatic(function.package) == [expected] * kernels
    assert kernels > 1


def test_loads_are_behind_the_wait_and_coherent(compiler):
    ptx = compiled(lambda x: F.rms_norm(x, x.shape[-1:]), randn(8, 512), target="sm_90a").ir("ptx")
    before, behind = ptx.split(WAIT)
    assert "ld.global" not in before and "ld.global" in behind
    assert ".nc" not in ptx


def chain(function, x, calls):
    for _ in range(calls):
        x = function(x)
    return x


CALLS = 40


def reference(function, x):
    """Each call after the one before it is complete."""
    for _ in range(CALLS):
        x = function(x)
        torch.cuda.synchronize()
    return x


CASES = {
    "several kernels": (several_kernels, (512, 512)),
    "many blocks": (lambda x: torch.softmax(x, -1) + x, (1 << 14, 512)),
    "few threads": (lambda x: x * 0.5 + 1, (33, 3)),
}


@pytest.mark.cuda
@pytest.mark.parametrize("case", CASES)
def test_each_call_sees_what_the_one_before_it_wrote(case, device):
    body, shape = CASES[case]
    x = randn(*shape).cuda()
    plain = compiled(body, x, schedule="programmatic_launch=never")
    function = compiled(body, x)
    want = reference(plain, x)
    assert torch.equal(chain(function, x, CALLS), want)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = chain(function, x, CALLS)
    for _ in range(5):
        got.fill_(float("nan"))
        graph.replay()
        assert torch.equal(got, want)


@pytest.mark.cuda
def test_other_work_on_the_stream_is_before_and_behind(device):
    """Copies, fills and PyTorch's kernels between calls, in a graph and without one."""
    x = randn(256, 1024).cuda()
    plain = compiled(several_kernels, x, schedule="programmatic_launch=never")
    function = compiled(several_kernels, x)

    def mixed(f, start):
        value = start.clone()
        for turn in range(8):
            value.copy_(f(value))
            value.add_(turn)
            other = f(value)
            value.zero_()
            value.add_(f(other))
        return value

    want = mixed(plain, x)
    torch.cuda.synchronize()
    assert torch.equal(mixed(function, x), want)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = mixed(function, x)
    for _ in range(5):
        graph.replay()
        assert torch.equal(got, want)


@pytest.mark.cuda
def test_a_buffer_that_is_read_is_overwritten_behind(device):
    """Two buffers in turn: each call overwrites what the one before it reads."""
    x = randn(1 << 13, 512).cuda()
    plain = compiled(CASES["many blocks"][0], x, schedule="programmatic_launch=never")
    want = reference(plain, x)
    function = Executable(compiled(CASES["many blocks"][0], x).package, "cuda")
    buffers = [x.clone(), torch.empty_like(x)]
    stream = torch.cuda.current_stream().cuda_stream
    for _ in range(CALLS):
        function.run([buffer.data_ptr() for buffer in buffers], stream)
        buffers.reverse()
    torch.cuda.synchronize()
    assert torch.equal(buffers[0], want)
