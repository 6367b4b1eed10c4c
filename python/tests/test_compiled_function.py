# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`deplo.compile` and `deplo.load` as a user meets them."""

import threading

import pytest
import torch
import torch.nn.functional as F
from numeric import check, randn
from torch import nn

import deplo
from deplo.runtime import package_info


@pytest.fixture
def place(torch_device):
    return torch_device


def gate(a, b):
    return F.silu(a) * b


def test_returns_what_the_function_returns(device, place):
    def function(x):
        return {"y": (x + 1, None), "x": x, "n": 3}

    x = randn(3, 4).to(place)
    result = deplo.compile(function, (x,), device=device)(x)
    assert torch.equal(result["y"][0], x + 1) and result["y"][1] is None
    assert result["x"] is x and result["n"] == 3


def test_a_single_tensor_is_an_example(device, place):
    x = randn(3).to(place)
    assert torch.equal(deplo.compile(lambda x: x + 1, x, device=device)(x), x + 1)


def test_device_follows_the_inputs(device, place):
    function = deplo.compile(gate, (randn(3).to(place), randn(3).to(place)))
    assert function.device == ("cuda:0" if device == "cuda" else "host")
    assert function(randn(3).to(place), randn(3).to(place)).device.type == place


def test_updates_of_weights_are_seen(device, place):
    norm = nn.RMSNorm(64).to(place)
    x = randn(2, 64).to(place)
    function = deplo.compile(norm, (x,), device=device)
    before = function(x)
    with torch.no_grad():
        norm.weight.mul_(2)
    assert torch.equal(function(x), 2 * before)
    norm.weight = nn.Parameter(torch.zeros(64, device=place))
    assert torch.equal(function(x), torch.zeros_like(before))


@pytest.mark.parametrize("offset", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_inputs_at_any_alignment(offset, dtype, device, place):
    base = randn(2100, dtype=dtype).to(place)
    x = base[offset : offset + 2048].view(2, 1024)
    function = deplo.compile(lambda x: x * 2 + 1, (x.clone(),), device=device)
    assert torch.equal(function(x), x * 2 + 1)
    assert torch.equal(function(x.clone()), x * 2 + 1)


def test_example_that_is_not_aligned(device, place):
    x = randn(1025).to(place)[1:]
    assert torch.equal(deplo.compile(lambda x: -x, (x,), device=device)(x), -x)


@pytest.mark.parametrize(
    "change,message",
    [
        (lambda a, b: (a,), r"takes 2 tensors \(a, b\), but was called with 1"),
        (lambda a, b: (a[:1], b), r"argument 0 \('a'\) has shape \(1, 4\)"),
        (lambda a, b: (a, b.half()), r"argument 1 \('b'\) has dtype torch.float16"),
        (lambda a, b: (a.to("meta"), b), r"argument 0 \('a'\) is on meta"),
        (lambda a, b: (a.t().contiguous().t(), b), r"argument 0 \('a'\) has strides \(1, 3\)"),
    ],
)
def test_errors_at_call_time(change, message, device, place):
    a, b = randn(3, 4).to(place), randn(4).to(place)
    function = deplo.compile(gate, (a, b), device=device)
    with pytest.raises(deplo.Error, match=message):
        function(*change(a, b))
    assert torch.allclose(function(a, b), gate(a, b), atol=1e-6)


def test_package_runs_again_after_loading(device, place, tmp_path):
    a, b = randn(3, 4).to(place), randn(4).to(place)
    function = deplo.compile(gate, (a, b), device=device)
    (tmp_path / "gate.deplo").write_bytes(function.package)
    loaded = deplo.load((tmp_path / "gate.deplo").read_bytes(), device)
    assert torch.equal(loaded(a, b), function(a, b))
    with pytest.raises(deplo.Error, match=r"argument 0 \('a'\) has shape"):
        loaded(b, b)


def test_damaged_packages(device, place):
    package = deplo.compile(
        gate, (randn(3, 4).to(place), randn(4).to(place)), device=device
    ).package
    middle = len(package) // 2
    flipped = package[:middle] + bytes([package[middle] ^ 1]) + package[middle + 1 :]
    for damaged in (b"", b"text", package[:middle], package[:-1], flipped, package + b"x"):
        with pytest.raises(deplo.Error) as caught:
            deplo.load(damaged, device)
        assert len(str(caught.value)) > 10 and "\n" not in str(caught.value)


def test_package_of_another_device(compiler):
    package = deplo.compile(gate, (randn(3), randn(3)), device="cuda", target="sm_90a").package
    with pytest.raises(deplo.Error):
        deplo.load(package, "host")


@pytest.mark.parametrize(
    "level", ["torch", "graph", "tensor", "loop", "tile", "kernel", "llvm", "ptx"]
)
def test_ir_of_every_level(level, compiler):
    function = deplo.compile(gate, (randn(8, 64), randn(64)), device="cuda", target="sm_90a")
    assert len(function.ir(level)) > 50
    assert function.ir(level) == function.ir(level)


def test_unknown_level(compiler):
    function = deplo.compile(gate, (randn(3), randn(3)), device="host")
    with pytest.raises(deplo.Error, match="there is no level 'hlo'; levels are torch, graph"):
        function.ir("hlo")


def test_report_and_explanation(compiler):
    function = deplo.compile(gate, (randn(8, 64), randn(64)), device="cuda", target="sm_90a")
    (kernel,) = function.report["kernels"]
    assert kernel["bytes_read"] == 4 * (8 * 64 + 64) and kernel["bytes_written"] == 4 * 8 * 64
    assert f"kernel {kernel['name']}" in function.explain()


def test_no_gpu_is_needed_to_compile_for_one(compiler):
    assert deplo.compile(gate, (randn(3), randn(3)), device="cuda", target="sm_80").package


@pytest.mark.parametrize(
    "options,message",
    [
        ({"device": "tpu"}, "no device 'tpu'; use 'cuda'"),
        ({"device": "cuda", "target": "sm_12"}, "sm_12"),
        ({"device": "cuda", "schedule": "warps=many"}, "warps"),
        ({"device": "cuda", "schedule": "no_such_choice=1"}, "no_such_choice"),
        ({"device": "cuda", "passes": "no-such-pass"}, "no-such-pass"),
    ],
)
def test_wrong_options(options, message, compiler):
    with pytest.raises(deplo.Error, match=message):
        deplo.compile(gate, (randn(3), randn(3)), **options)


def test_calls_from_several_threads(device, place):
    function = deplo.compile(gate, (randn(64, 256).to(place), randn(256).to(place)), device=device)
    wrong = []

    def work(seed):
        a, b = randn(64, 256, seed=seed).to(place), randn(256, seed=seed + 1).to(place)
        for _ in range(20):
            if not torch.allclose(function(a, b), gate(a, b), atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.cuda
def test_current_stream_and_graph_capture(device):
    x = randn(64, 256).cuda()
    function = deplo.compile(lambda x: F.softmax(x, -1), (x,))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = function(x * 2)
    stream.synchronize()
    check(y.cpu(), F.softmax(2 * x.cpu().double(), -1), 40)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = function(x)
    x.copy_(randn(64, 256, seed=5))
    graph.replay()
    torch.cuda.synchronize()
    check(z.cpu(), F.softmax(x.cpu().double(), -1), 40)


def test_equal_kernels_are_compiled_once(device, place):
    def function(x):
        for layer in range(6):
            x = torch.softmax(x, layer % 2)
        return x

    x = randn(33, 65).to(place)
    compiled = deplo.compile(function, (x,), device=device)
    manifest = package_info(compiled.package)
    kernels = [launch["kernel"] for launch in manifest["launches"]]
    assert len(manifest["kernels"]) == 2 and kernels == [0, 1, 0, 1, 0, 1]
    assert torch.allclose(compiled(x), function(x), atol=1e-6)
