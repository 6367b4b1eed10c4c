# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend on a GPU: streams, graphs, devices, scalars of the CPU."""

import pytest
import torch
import torch.nn.functional as F

from deplo.backend import backend

pytestmark = [pytest.mark.cuda, pytest.mark.usefixtures("compiler")]


@pytest.fixture(autouse=True)
def inference():
    torch._dynamo.reset()
    with torch.no_grad():
        yield


def norm(x):
    return F.rms_norm(x, (x.shape[-1],)) * 2


compiled = torch.compile(norm, backend=backend, options={"fallback": False})


def test_the_current_stream_is_used():
    x = torch.randn(64, 4096, device="cuda")
    compiled(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        later = torch.full_like(x, 3.0)
        result = compiled(later)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(result, norm(torch.full_like(x, 3.0)))


def test_recorded_into_a_graph():
    x = torch.randn(64, 4096, device="cuda")
    compiled(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compiled(x)
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.testing.assert_close(result, norm(x))


def test_scalars_of_the_cpu_in_a_graph():
    run = torch.compile(lambda x, s: x * s + 1, backend=backend, options={"fallback": False})
    x, s = torch.randn(4096, device="cuda"), torch.tensor(2.5)
    torch.testing.assert_close(run(x, s), x * s + 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run(x, s)
    graph.replay()
    torch.testing.assert_close(result, x * s + 1)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_device_of_the_tensors_is_used():
    x = torch.randn(8, 512, device="cuda:1")
    assert torch.cuda.current_device() == 0
    result = compiled(x)
    assert result.device == x.device
    torch.testing.assert_close(result, norm(x))


def test_a_model_of_two_devices():
    def function(x, y):
        return x.exp() * 2, (y.exp() * 2).sum(0)

    run = torch.compile(function, backend=backend, options={"fallback": False})
    x, y = torch.randn(8, 16, device="cuda"), torch.randn(8, 16)
    for got, wanted in zip(run(x, y), function(x, y), strict=True):
        torch.testing.assert_close(got, wanted)
