# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions that share an operand: one kernel, right values, what is shared read once."""

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, F32, UNIT, check, compile_for_gpu, randn, run

from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

# Rows, columns, what is summed over.
SIZES = [(1, 7, 15), (7, 33, 16), (31, 17, 33), (33, 1, 7), (65, 63, 127), (129, 65, 31)]
SMALL = [(7, 33, 16), (31, 17, 33)]
# One kernel each, of x [M, K], v and w [K, N], r [M, N] and b [N].
ONE_KERNEL = {
    "gate": lambda x, v, w, r, b: F.silu(x @ v) * (x @ w),
    "gate of linear layers": lambda x, v, w, r, b: (
        F.gelu(F.linear(x, v.t(), b)) * F.linear(x, w.t()) + r
    ),
    "two results": lambda x, v, w, r, b: (x @ v, x @ w),
    "two results with epilogues": lambda x, v, w, r, b: (F.silu(x @ v + b), (x @ w) * 0.5 + r),
}


def inputs_of(m, n, k, dtype):
    shapes = ((m, k), (k, n), (k, n), (m, n), (n,))
    return [randn(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]


def check_all(function, inputs, device, what):
    """Within a few roundings of what the magnitudes of all terms come to."""
    x, dtype = inputs[0], inputs[0].dtype
    wanted = function(*(t.double() for t in inputs))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    largest = sum((x.double().abs() @ t.double().abs()).max().item() for t in inputs[1:3]) + 4
    # A product in a half float is rounded before it goes on.
    units = 64 if dtype == torch.float32 else 4 * UNIT[dtype] / F32
    for got, want in zip(run(function, inputs, device), wanted, strict=True):
        check(got, want, units, scale=largest**2, what=what)


def kernels_of(function, inputs, level="loop", schedule=""):
    text = import_program(function, inputs).text
    options = Options(level=level, target="sm_90a", schedule=schedule, precision="ieee")
    return compile_ir(text, options).report["kernels"]


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
@pytest.mark.parametrize("name", ONE_KERNEL)
def test_values(name, dtype, device):
    for m, n, k in SMALL if device == "emu" else SIZES:
        inputs = inputs_of(m, n, k, dtype)
        check_all(ONE_KERNEL[name], inputs, device, f"{name} of {m}x{n}x{k}")


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel_reads_what_is_shared_once(name, compiler):
    inputs = inputs_of(512, 256, 384, torch.float32)
    (kernel,) = kernels_of(ONE_KERNEL[name], inputs, "tile", schedule="split_k=1")
    read = {buffer["name"]: buffer["bytes_read"] for buffer in kernel["traffic"]}
    assert read["x"] == 4 * 512 * 384 and read["v"] == read["w"] == 4 * 256 * 384
    assert "thread = [" in kernel["schedule"]


APART = {
    "nothing in common": (lambda x, v, w, r, b: (x @ v) * ((x * 2) @ w), 2),
    "one after the other": (lambda x, v, w, r, b: (x @ v) @ w.t(), 2),
    "more is summed over": (lambda x, v, w, r, b: x @ v + torch.cat((x, x), 1) @ w.repeat(2, 1), 4),
    "a product of all rows": (lambda x, v, w, r, b: F.softmax(x @ v, -1), 2),
}


@pytest.mark.parametrize("name", APART)
def test_what_shares_no_chunks_stays_apart(name, compiler, device):
    function, kernels = APART[name]
    inputs = inputs_of(31, 33, 17, torch.float32)
    assert len(kernels_of(function, inputs)) == kernels
    check_all(function, inputs, device, name)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_kernels_assemble(name, device):
    compile_for_gpu(ONE_KERNEL[name], inputs_of(300, 200, 100, torch.bfloat16), device)


def qkv(x, q, k, v, a, b, c):
    """Projections of grouped heads: fewer keys and values than queries."""
    return F.linear(x, q, a), F.linear(x, k, b), F.linear(x, v, c)


def inputs_of_qkv(m, n, few, k, dtype):
    weights = [randn(size, k, dtype=dtype, seed=i) for i, size in enumerate((n, few, few), 1)]
    biases = [randn(size, dtype=dtype, seed=i) for i, size in enumerate((n, few, few), 4)]
    return [randn(m, k, dtype=dtype), *weights, *biases]


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
@pytest.mark.parametrize("sizes", [(1, 96, 24, 64), (7, 33, 16, 40), (65, 130, 31, 72)])
def test_values_of_projections(sizes, dtype, device):
    inputs = inputs_of_qkv(*sizes, dtype)
    wanted = qkv(*(t.double() for t in inputs))
    for got, want in zip(run(qkv, inputs, device), wanted, strict=True):
        units = 64 if dtype == torch.float32 else 2 * UNIT[dtype] / F32
        check(got, want, units, scale=want.abs().max().item() + 4, what=f"qkv of {sizes}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 16, 512])
def test_projections_are_one_grid(rows, dtype, compiler):
    inputs = inputs_of_qkv(rows, 384, 64, 256, dtype)
    # Products by wgmma, which have roles of their own, are launched apart.
    schedule = "split_k=1" if dtype == torch.float32 or rows == 1 else "split_k=1,atom=mma_sync"
    (kernel,) = kernels_of(qkv, inputs, "kernel", schedule=schedule)
    assert "_and_" in kernel["name"] and kernel["launches"] == 1
    assert {b["name"] for b in kernel["traffic"]} >= {"x", "q", "k", "v"}


def test_layers_share_one_grid(compiler):
    def two_layers(x, *parameters):
        first = qkv(x, *parameters)
        return *first, *qkv(first[0], *parameters)

    inputs = inputs_of_qkv(16, 256, 64, 256, torch.float32)
    grids = [
        k
        for k in kernels_of(two_layers, inputs, "kernel", schedule="split_k=1")
        if "_and_" in k["name"]
    ]
    assert [grid["launches"] for grid in grids if "parts" not in grid["name"]] == [2]


def test_projections_assemble(device):
    compile_for_gpu(qkv, inputs_of_qkv(130, 384, 64, 520, torch.bfloat16), device)
    compile_for_gpu(qkv, inputs_of_qkv(1, 384, 64, 520, torch.float32), device)
