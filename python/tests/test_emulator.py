# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator on PTX that deplo did not make: what nvcc makes of CUDA C++, and hand-built
Hopper kernels. Values against PyTorch; no kernel may have findings.
"""

import math
from ctypes import c_float, c_int32
from pathlib import Path

import pytest
import torch
from numeric import randn

import deplo
from deplo.emulator import Emulation, TensorMap, Uninitialized

PTX = Path(__file__).parent / "ptx"
pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(scope="module", params=["O0", "O3"])
def kernels(request):
    return Emulation((PTX / f"kernels.{request.param}.ptx").read_text())


def integers(low, high, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator, dtype=torch.int32)


def run(kernels, name, grid, block, *arguments, **options):
    outcome = kernels.run(name, grid=grid, block=block, arguments=arguments, **options)
    assert outcome.findings == []
    return outcome


def test_block_sum(kernels):
    x, y = randn(3, 1000), torch.empty(3)
    run(kernels, "block_sum", 3, 256, x, Uninitialized(y), c_int32(1000))
    torch.testing.assert_close(y, x.sum(1), rtol=1e-5, atol=1e-4)


def test_scan(kernels):
    x, y = integers(-100, 100, 256), torch.empty(256, dtype=torch.int32)
    run(kernels, "scan", 1, 256, x, Uninitialized(y))
    assert torch.equal(y, x.cumsum(0).int())


@pytest.mark.parametrize("m, n, k", [(16, 16, 16), (33, 20, 50)])
def test_gemm(kernels, m, n, k):
    a, b, c = randn(m, k), randn(k, n, seed=1), torch.empty(m, n)
    grid = (-(-n // 16), -(-m // 16))
    run(kernels, "gemm", grid, (16, 16), a, b, Uninitialized(c), c_int32(m), c_int32(n), c_int32(k))
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)


def test_histogram(kernels):
    x = integers(0, 256, 3000).to(torch.uint8)
    bins = torch.zeros(256, dtype=torch.int32)
    run(kernels, "histogram", 4, 128, x, bins, c_int32(3000))
    assert torch.equal(bins, torch.bincount(x.int(), minlength=256).int())


def test_grid_sum(kernels):
    x, parts, y = randn(1000), torch.empty(8), torch.empty(1)
    for _ in range(2):  # The counter is set back.
        run(kernels, "grid_sum", 8, 128, x, Uninitialized(parts), y, c_int32(1000))
        torch.testing.assert_close(y[0], x.sum(), rtol=1e-4, atol=1e-4)


def test_pipeline(kernels):
    x = randn(10, 64, 4)
    y = torch.empty_like(x)
    run(kernels, "pipeline", 1, 64, x, Uninitialized(y), c_int32(10))
    assert torch.equal(y, x.flip(1).flip(2))


def test_gelu(kernels):
    x, y = randn(300, dtype=torch.float16), torch.empty(300, dtype=torch.bfloat16)
    run(kernels, "gelu", 2, 128, x, Uninitialized(y), c_int32(150))
    want = torch.nn.functional.gelu(2 * x.double())
    torch.testing.assert_close(y.double(), want, rtol=2.0**-8, atol=1e-5)


def test_mathematics(kernels):
    x, u = randn(64), randn(64, seed=1).double()
    y, v = torch.empty(64), torch.empty(64, dtype=torch.float64)
    run(kernels, "mathematics", 1, 64, x, Uninitialized(y), u, Uninitialized(v))
    a, b = x.double(), u
    want = (
        a.exp()
        + (a.abs() + 1).log()
        + a.sin() * a.cos()
        + a.tanh()
        + a.abs().pow(1.5)
        + (a * a + 1).rsqrt()
        + torch.fmod(x, 0.7)
        + a / (1 + a * a)
    )
    torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-5)
    want = b.exp() + (b.abs() + 1).log() + b.sin() + b.abs().sqrt() + b / 3 + b.abs().pow(0.3)
    torch.testing.assert_close(v, want, rtol=1e-13, atol=1e-13)


def collatz(n):
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


def test_control(kernels):
    x, y = integers(0, 50, 96), torch.empty(96, dtype=torch.int32)
    run(kernels, "control", 1, 96, x, Uninitialized(y))
    for i, n in enumerate(x.tolist()):
        value = (n & 7) * n
        cases = [value + 1, value * 2, value - 3, value ^ 4, collatz(n + 1), value]
        assert y[i] == cases[i % 6]


def test_cooperative(kernels):
    x, y = integers(0, 100, 64), torch.empty(64, dtype=torch.int32)
    count = torch.zeros(1, dtype=torch.int32)
    run(kernels, "cooperative", 1, 64, x, Uninitialized(y), count)
    sums = x.view(8, 8).sum(1).int()
    assert torch.equal(y, (sums + torch.arange(8)).repeat_interleave(8).int())
    assert count[0] == 8 * (sums % 2).sum()


def test_tensor_cores(kernels):
    a, b = randn(16, 64, dtype=torch.float16), randn(16, 64, seed=1, dtype=torch.float16)
    c = torch.empty(16, 16)
    run(kernels, "tensor", 1, 32, a, b, Uninitialized(c))
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_calls(level):
    """Structures by value, calls through pointers, a dense switch."""
    calls = Emulation((PTX / f"calls.{level}.ptx").read_text())
    x, y = randn(64), torch.empty(64)
    run(calls, "structures", 1, 64, x, Uninitialized(y))
    i = torch.arange(64, dtype=torch.int32)
    torch.testing.assert_close(y, 3 * x + i + 1)
    x, y = integers(0, 9, 64), torch.empty(64, dtype=torch.int32)
    run(calls, "pointers", 1, 64, x, Uninitialized(y))
    assert torch.equal(y, torch.where(x % 3 == 0, 2 * i, torch.where(x % 3 == 1, i + 1, i * i)))
    run(calls, "cases", 1, 64, x, Uninitialized(y))
    for k, value in enumerate(x.tolist()):
        cases = [k, 3 * k, value ^ 77, k * k, value - 9, value << k % 8, -k, 1, value]
        assert y[k] == cases[value]


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_recursion(level):
    """Calls within calls to different depths, with variables that are written from further in."""
    module = Emulation((PTX / f"recursion.{level}.ptx").read_text())
    y, z = (torch.empty(64, dtype=torch.int32) for _ in range(2))
    run(module, "numbers", 1, 64, Uninitialized(y), Uninitialized(z))
    values, calls = [0, 1], [1, 1]
    for _ in range(10):
        values.append(values[-1] + values[-2])
        calls.append(calls[-1] + calls[-2] + 1)
    assert y.tolist() == [values[i % 12] for i in range(64)]
    assert z.tolist() == [calls[i % 12] for i in range(64)]
    x = integers(-50, 50, 40, 17)
    want = x.sort(1).values
    run(module, "rows", 1, 40, x, c_int32(17))
    assert torch.equal(x, want)
    run(module, "turns", 1, 64, Uninitialized(y))
    assert y.tolist() == [2 * i + i % 2 for i in range(64)]


def relative_error(got, want):
    return ((got.float() - want).norm() / want.norm()).item()


@pytest.mark.parametrize("blocks", [1, 2])
def test_warp_specialized_gemm(blocks):
    """TMA, memory barriers, wgmma, setmaxnreg, stmatrix; with two, clusters and multicast."""
    m, n, k = 256, 256, 128
    a = randn(m, k, dtype=torch.bfloat16)
    b = randn(n, k, seed=1, dtype=torch.bfloat16)
    c = torch.empty(m, n, dtype=torch.bfloat16)
    name = "gemm_tma.ptx" if blocks == 1 else "gemm_cluster.ptx"
    rows = m // (128 * blocks)
    outcome = Emulation((PTX / name).read_text()).run(
        "gemm",
        grid=rows * blocks,
        block=384,
        shared=229440,
        arguments=[
            TensorMap(a, (128, 64), 128),
            TensorMap(b, (256 // blocks, 64), 128),
            TensorMap(c, (64, 64), 128),
            *map(c_int32, (rows, 1, k // 64, rows)),
        ],
    )
    assert outcome.findings == []
    assert relative_error(c, a.float() @ b.float().T) < 2e-3
    assert outcome.counters["tensor_operations"] == m * n * k


def test_gemm_of_older_gpus():
    """cp.async, ldmatrix, mma.sync."""
    m, n, k = 128, 128, 128
    a = randn(m, k, dtype=torch.bfloat16)
    b = randn(n, k, seed=1, dtype=torch.bfloat16)
    c = torch.empty(m, n, dtype=torch.bfloat16)
    outcome = Emulation((PTX / "gemm_mma.ptx").read_text()).run(
        "gemm",
        grid=1,
        block=256,
        shared=65536,
        arguments=[a, b, Uninitialized(c), *map(c_int32, (1, 1, k // 32, 1))],
    )
    assert outcome.findings == []
    assert relative_error(c, a.float() @ b.float().T) < 2e-3


def attention(ptx):
    heads, length, width = 2, 256, 128
    q, k, v = (randn(heads, length, width, seed=i, dtype=torch.bfloat16) for i in range(3))
    out = torch.empty_like(q)
    outcome = Emulation(ptx).run(
        "attn",
        grid=length // 128 * heads,
        block=384,
        shared=196696,
        arguments=[
            *(TensorMap(x, (1, rows, 64), 128) for x, rows in ((q, 128), (k, 128), (v, 128))),
            TensorMap(out, (1, 64, 64), 128),
            *map(c_int32, (2, 2, heads, 1, 1, length)),
            c_float(math.log2(math.e) / math.sqrt(width)),
            torch.zeros(4, dtype=torch.int32),
        ],
    )
    q, k, v = q.float(), k.float(), v.float()
    want = (q @ k.transpose(1, 2) / math.sqrt(width)).softmax(-1) @ v
    return outcome, relative_error(out, want)


def test_attention():
    """Two warpgroups in turns, accumulators as operands, rings of K and V."""
    outcome, error = attention((PTX / "attention.ptx").read_text())
    assert outcome.findings == []
    assert error < 3e-3


@pytest.mark.parametrize(
    "piece, finding",
    [
        ("wgmma.wait_group.sync.aligned \t0;", "wgmma in flight"),
        ("fence.proxy.async.shared::cta;", "no fence.proxy.async"),
        ("wgmma.fence.sync.aligned;", "wgmma.fence must come before"),
    ],
)
def test_attention_without_a_piece(piece, finding):
    text = (PTX / "attention.ptx").read_text()
    assert piece in text
    outcome, _ = attention(text.replace(piece, ""))
    assert any(finding in text for text in outcome.findings), outcome.findings


def test_errors_are_sentences(kernels):
    with pytest.raises(deplo.Error, match="3:5: expected"):
        Emulation(".version 8.0\n.target sm_90\n    nonsense")
    with pytest.raises(deplo.Error, match="there is no kernel 'missing'"):
        kernels.run("missing", grid=1, block=1, arguments=[])
    with pytest.raises(deplo.Error, match="takes 2 arguments, got 0"):
        kernels.run("scan", grid=1, block=1, arguments=[])
    with pytest.raises(deplo.Error, match="multiple of 16 bytes"):
        TensorMap(torch.zeros(4, 4), (4, 3)).encode()


def test_deplo_kernels_are_checked():
    """A pass that leaves out a barrier is found on the way to the result."""
    compiled = deplo.compile(lambda x: x.sum(), (randn(64, 100),), device="emu")
    text = compiled.ir("ptx")
    assert "bar.sync" in text
    kernel = next(k["name"] for k in Emulation(text).kernels())
    x, y = randn(64, 100), torch.empty(1)
    launch = dict(grid=1, block=256, shared=4096, arguments=[x, Uninitialized(y)])
    broken = "\n".join(line for line in text.splitlines() if "bar.sync" not in line)
    if len(Emulation(text).kernels()) == 1:
        assert Emulation(text).run(kernel, **launch).findings == []
        assert Emulation(broken).run(kernel, **launch).findings != []


def scaled_by_a_sum(x, w):
    return x * w.sum()


def scaled_by_elements(x, w):
    return x * (w[0] + w[1] * w[2])


@pytest.mark.parametrize("function", [scaled_by_a_sum, scaled_by_elements])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("columns", [3, 6, 7, 11])
def test_no_kernel_reads_behind_an_input(function, columns, dtype):
    """Bounds are exact, also of tensors whose size is no multiple of what is read at once."""
    x, w = randn(5, columns, dtype=dtype), randn(columns, seed=1, dtype=dtype)
    program = deplo.compile(function, (x, w), device="emu")
    want = function(x.double(), w.double())
    torch.testing.assert_close(program(x, w).double(), want, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_no_kernel_reads_behind_a_part_of_a_tensor(dtype):
    """Lines of 15 that are 16 apart: accesses are wide, but the last line's last one."""
    x, w = (randn(15, 16, seed=seed, dtype=dtype)[:, :15] for seed in range(2))
    for schedule in ("", "atom=fma,block=16x16,thread=4x4"):
        program = deplo.compile(torch.matmul, (x, w.t()), device="emu", schedule=schedule)
        want = x.double() @ w.t().double()
        torch.testing.assert_close(program(x, w.t()).double(), want, rtol=1e-2, atol=1e-2)
