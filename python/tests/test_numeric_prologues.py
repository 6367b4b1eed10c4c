# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions of computed operands: one kernel where that pays, right values, each element
computed once where it is staged."""

import random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from numeric import DTYPE_IDS, DTYPES, F32, UNIT, check, compile_for_gpu, randn, run
from programs import random_programs

from deplo.compilation import Options, compile_ir
from deplo.emulator import counters_of_package
from deplo.importer import import_program


def quantised(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-127, 128, shape, dtype=torch.int8, generator=generator)


def dequantised(x, q, s):
    return F.linear(x, q.to(x.dtype) * s)


def inputs_of_dequantised(m, n, k, dtype):
    return randn(m, k, dtype=dtype), quantised(n, k), randn(n, 1, dtype=dtype, seed=1) / 64


def matrices(m, n, k, dtype):
    return randn(m, k, dtype=dtype), randn(k, n, dtype=dtype, seed=1)


# A function, and its inputs for M, N, K and a type. One kernel each.
PROLOGUES = {
    "dequantised weights": (dequantised, inputs_of_dequantised),
    "activation": (lambda x, w: F.silu(x) @ w, matrices),
    "gate": (
        lambda x, w, g: (F.silu(g) * x) @ w,
        lambda m, n, k, dtype: (*matrices(m, n, k, dtype), randn(m, k, dtype=dtype, seed=2)),
    ),
    "row factor": (
        lambda x, w, r, g: (x * r * g) @ w,
        lambda m, n, k, dtype: (
            *matrices(m, n, k, dtype),
            randn(m, 1, dtype=dtype, seed=2),
            randn(k, dtype=dtype, seed=3),
        ),
    ),
    "row mean and factor": (
        lambda x, w, u, r, g, b: ((x - u) * r * g + b) @ w,
        lambda m, n, k, dtype: (
            *matrices(m, n, k, dtype),
            *(randn(m, 1, dtype=dtype, seed=i) for i in (2, 3)),
            *(randn(k, dtype=dtype, seed=i) for i in (4, 5)),
        ),
    ),
    "both operands": (lambda x, w: torch.tanh(x) @ torch.cos(w), matrices),
    "zeros become ones": (lambda x, w: torch.exp(x) @ (w + 1), matrices),
    "zeros become infinite": (lambda x, w: (1 / (x * x + x.abs())) @ w, matrices),
    "with an epilogue": (lambda x, w: torch.relu(torch.sigmoid(x) @ w + 1), matrices),
    "gate and up": (
        lambda x, v, w: F.silu(torch.tanh(x) @ v) * (torch.tanh(x) @ w),
        lambda m, n, k, dtype: (*matrices(m, n, k, dtype), randn(k, n, dtype=dtype, seed=2)),
    ),
    "transposed": (
        lambda x, w: torch.tanh(x.t()) @ w.t(),
        lambda m, n, k, dtype: (randn(k, m, dtype=dtype), randn(n, k, dtype=dtype, seed=1)),
    ),
    "batches": (
        lambda x, w: torch.bmm(torch.tanh(x), w),
        lambda m, n, k, dtype: (
            randn(3, m, k, dtype=dtype),
            randn(3, k, n, dtype=dtype, seed=1),
        ),
    ),
}
# Rows, columns, what is summed over.
SIZES = [(1, 33, 64), (7, 1, 15), (33, 65, 100), (64, 32, 128), (129, 31, 63), (16, 48, 1024)]
SMALL = [(1, 33, 64), (33, 17, 40)]


def wanted(function, inputs):
    return function(*(t.double() if t.is_floating_point() else t for t in inputs))


def check_product(name, sizes, dtype, device, **options):
    function, make = PROLOGUES[name]
    inputs = make(*sizes, dtype)
    want = wanted(function, inputs)
    (got,) = run(function, inputs, device, **options)
    k = sizes[2]
    # Factors are rounded to the type several times on the way.
    units = 32 + k**0.5 if dtype == torch.float32 else 8 * UNIT[dtype] / F32
    terms = wanted(lambda *all: function(*(t.abs() for t in all)), inputs)
    scale = max(want.abs().max(), terms.abs()[terms.isfinite()].max()).item() + 1
    check(got, want, units, scale=scale, what=f"{name} of {sizes}")


def kernels_of(function, inputs, level="tile", **options):
    text = import_program(function, inputs).text
    return compile_ir(text, Options(level=level, target="sm_90a", **options)).report["kernels"]


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
@pytest.mark.parametrize("name", PROLOGUES)
def test_values(name, dtype, device):
    for sizes in SMALL if device == "emu" else SIZES:
        check_product(name, sizes, dtype, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", PROLOGUES)
def test_one_kernel_by_tiles(name, dtype, compiler):
    function, make = PROLOGUES[name]
    (kernel,) = kernels_of(function, make(64, 96, 256, dtype), schedule="split_k=1")
    assert ("thread = [" if dtype == torch.float32 else "atom = mma_sync") in kernel["schedule"]


def test_each_element_is_computed_once():
    """For all threads and all columns of a block. What is computed a chunk ahead is so for the
    one behind the last, too, of zeros."""
    inputs = matrices(64, 64, 64, torch.float32)
    for schedule, ahead in (
        ("block=64x64,thread=8x8,chunk=16,stages=2", 0),
        ("block=64x64,thread=4x4,chunk=32,stages=1", 0),
        ("block=64x64,thread=8x4,chunk=16,stages=3", 16),
    ):
        program = import_program(lambda x, w: torch.sqrt(x * x + 1) @ w, inputs)
        options = Options(device="emu", schedule=schedule, precision="ieee")
        ((_, counters),) = counters_of_package(compile_ir(program.text, options).package)
        roots = [i["warps"] for i in counters["instructions"] if i["text"].startswith("sqrt")]
        assert 32 * sum(roots) == 64 * (64 + ahead), schedule


def test_conversions_of_an_operand(device):
    x, w = randn(33, 100), randn(100, 65, dtype=torch.bfloat16, seed=1)
    down, up = (lambda x, w: x.to(w.dtype) @ w), (lambda x, w: x @ w.float())
    for function, want, units in (
        (down, x.to(w.dtype).double() @ w.double(), 2 * UNIT[w.dtype] / F32),
        (up, x.double() @ w.double(), 100),
    ):
        (kernel,) = kernels_of(function, (x, w))
        assert "chunk = " in kernel["schedule"]
        check(run(function, (x, w), device)[0], want, units, scale=want.abs().max().item() + 1)


def test_what_takes_long_and_many_blocks_share_is_stored(compiler):
    x = torch.empty(2048, 2048, dtype=torch.bfloat16)
    assert len(kernels_of(lambda x, w: F.gelu(x) @ w, (x, x.clone()))) == 2
    assert len(kernels_of(lambda x, w: F.gelu(x) @ w, (x, x[:, :64].clone()), "loop")) == 1


def test_a_map_joins_what_it_reads_first(compiler):
    x, v, w = torch.empty(32, 64), torch.empty(64, 64), torch.empty(64, 64)
    function = lambda x, v, w: F.silu(x @ v) @ w  # noqa: E731
    text = compile_ir(import_program(function, (x, v, w)).text, Options(level="tensor")).ir
    first, second = text.split("graph.fused")[1:]
    assert "math.exp" in first and "math.exp" not in second


@pytest.mark.parametrize("name", PROLOGUES)
def test_kernels_assemble(name, device):
    function, make = PROLOGUES[name]
    compile_for_gpu(function, make(300, 200, 520, torch.bfloat16), device)
    compile_for_gpu(function, make(300, 200, 520, torch.float32), device)


FMA = ["block=32x32,thread=4x4,chunk=8", "block=16x64,thread=2x8,stages=1", "stages=2,split_k=2"]
MMA = ["block=32x32,warp_tile=16x16,chunk=32,stages=2", "stages=1", "block=64x32,warp_tile=32x32"]


@random_programs(0.03)
@given(st.integers(0, 10**6))
def test_random_programs(device, seed):
    """Prologue, types, sizes and schedule at random."""
    choose = random.Random(seed)
    dtype = choose.choice(DTYPES)
    name = choose.choice([n for n in PROLOGUES if n != "batches"])
    sizes = tuple(choose.choice(c) for c in ((2, 5, 16, 31, 64), (3, 8, 33, 48), (16, 24, 63, 130)))
    schedule = choose.choice(["", *(FMA if dtype == torch.float32 else MMA)])
    options = {} if device == "host" else {"schedule": schedule}
    check_product(name, sizes, dtype, device, **options)
